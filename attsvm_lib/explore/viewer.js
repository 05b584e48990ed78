// The viewer of explorables: it draws numbers that Python computed. All mathematics is Python's, except the
// rotation of three-dimensional points (`rotation`). The parts, in order: numbers out of the widget's state;
// hosts that compute other values; panels and marks; controls; `render`, which ties them together.

const SVG = "http://www.w3.org/2000/svg";
const STORED = "precomputed values";
const MOMENT = 150; // ms in which the exact picture may come before what is shown is marked
let views = 0;

function node(tag, attributes = {}, ...children) {
  const out = document.createElement(tag);
  return dress(out, attributes, children);
}

function draw(tag, attributes = {}, ...children) {
  return dress(document.createElementNS(SVG, tag), attributes, children);
}

function dress(out, attributes, children) {
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined) out.setAttribute(key, value);
  out.append(...children);
  return out;
}

const clamp = (v, lo, hi) => Math.min(hi, Math.max(lo, v));
const px = (v) => v.toFixed(2);
const nearest = (grid, v) =>
  grid.reduce((best, g, k) => (Math.abs(g - v) < Math.abs(grid[best] - v) ? k : best), 0);
const close = (grid, k, v) => Math.abs(grid[k] - v) <= 1e-9 * (grid[grid.length - 1] - grid[0]);

// ---- numbers out of the state -------------------------------------------------------------------------

async function inflate(view) {
  const stream = new Blob([view]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function unpack(bytes, { at, shape, deltas }) {
  const n = shape[0] * shape[1] * shape[2];
  const q = new Uint16Array(n);
  for (let i = 0; i < n; i++) q[i] = bytes[at + i] | (bytes[at + n + i] << 8);
  for (const [stride, length] of deltas)
    for (let i = stride; i < n; i++) if (Math.floor(i / stride) % length) q[i] += q[i - stride];
  return q;
}

// The precomputed scenes. A scene is {channel(mark, name) -> {values, frames, items}, readouts, message}.
class Grid {
  constructor(spec, bytes) {
    this.spec = spec;
    this.packed = {};
    for (const mark of spec.marks)
      for (const [name, how] of Object.entries(mark.channels))
        this.packed[mark.name + "\n" + name] = { ...how, q: unpack(bytes, how) };
    this.text = JSON.parse(new TextDecoder().decode(bytes.subarray(...spec.text)));
  }

  at(g) {
    const { spec, text } = this,
      cache = {};
    const readouts = spec.readouts.map((r, i) => text.readouts[i].slice(g * r.frames, (g + 1) * r.frames));
    const channel = (mark, name) =>
      (cache[mark + "\n" + name] ??= this.values(this.packed[mark + "\n" + name], g));
    return { channel, readouts, message: text.messages[text.message[g]], source: "grid" };
  }

  values({ q, shape: [points, frames, items], lo, hi }, g) {
    const n = frames * items,
      start = points > 1 ? g * n : 0,
      values = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const v = q[start + i];
      values[i] = v === 65535 ? NaN : lo + v * ((hi - lo) / 65534);
    }
    return { values, frames, items };
  }
}

// ---- hosts: host.request(scene, parameters) -> Promise of [reply, buffers], see live.py ---------------------

const WAIT = 30000;

class KernelHost {
  constructor(model, id) {
    this.waiting = new Map();
    this.count = 0;
    Object.assign(this, { model, id, label: "live kernel" });
  }

  // Resolves when a kernel answers, which may be never.
  hello() {
    return new Promise((resolve) => {
      this.listener = (message, buffers) => {
        if (message.kind === "alive") resolve(this);
        const pending = this.waiting.get(message.id);
        if (!pending) return;
        this.waiting.delete(message.id);
        clearTimeout(pending.timer);
        if (message.kind === "error") pending.reject(new Error(message.text));
        else pending.resolve([message, buffers]);
      };
      this.model.on("msg:custom", this.listener);
      this.model.send({ kind: "hello" });
    });
  }

  request(scene, parameters) {
    return new Promise((resolve, reject) => {
      const id = `${this.id}-${this.count++}`;
      const timer = setTimeout(() => {
        this.waiting.delete(id);
        reject(new Error("the kernel does not answer; is it running?"));
      }, WAIT);
      this.waiting.set(id, { resolve, reject, timer });
      this.model.send({ kind: "request", id, scene, parameters });
    });
  }

  close() {
    this.model.off("msg:custom", this.listener);
    for (const { timer } of this.waiting.values()) clearTimeout(timer);
  }
}

// A host's answer as a scene.
function liveScene(message, buffers) {
  const found = {};
  message.marks.forEach(([mark, name, frames, items], i) => {
    const b = buffers[i];
    const values =
      b instanceof Float64Array
        ? b
        : new Float64Array(b.buffer.slice(b.byteOffset, b.byteOffset + b.byteLength));
    found[mark + "\n" + name] = { values, frames, items };
  });
  const channel = (mark, name) => found[mark + "\n" + name];
  return {
    channel,
    readouts: message.readouts,
    message: message.message,
    source: "live",
  };
}

// One request in flight; of those that arrive meanwhile only the newest is kept. `slow`: the last one took longer than
// a step of a control should.
const PROMPT = 100; // ms
class Newest {
  constructor(done, failed) {
    Object.assign(this, { done, failed, busy: false, slow: false, next: null, epoch: 0 });
  }

  drop() {
    this.next = null;
    this.epoch++;
  }

  async ask(host, scene, parameters) {
    this.next = { host, scene, parameters };
    if (this.busy) return;
    this.busy = true;
    while (this.next) {
      const { host, scene, parameters } = this.next,
        epoch = this.epoch,
        begin = performance.now();
      this.next = null;
      try {
        const answer = await host.request(scene, parameters);
        this.slow = performance.now() - begin > PROMPT;
        if (epoch === this.epoch) this.done(liveScene(...answer));
      } catch (error) {
        if (epoch === this.epoch) this.failed(error);
      }
    }
    this.busy = false;
  }
}

// ---- parameters: a value's place on the grid ---------------------------------------------------------

const KINDS = {
  slider: {
    count: (p) => p.values.length,
    locate: (p, v) => {
      const k = nearest(p.values, v);
      return [k, close(p.values, k, v)];
    },
    value: (p, k) => p.values[k],
    text: (p, k) => p.texts[k],
  },
  choice: {
    count: (p) => p.values.length,
    locate: (p, v) => [p.values.indexOf(v), true],
    value: (p, k) => p.values[k],
    text: (p, k) => p.values[k],
  },
  toggle: {
    count: () => 2,
    locate: (p, v) => [v ? 1 : 0, true],
    value: (p, k) => k === 1,
    text: (p, k) => (k ? "on" : "off"),
  },
  drag: {
    count: (p) => p.x.length * p.y.length,
    locate: (p, [x, y]) => {
      const i = nearest(p.x, x),
        j = nearest(p.y, y);
      return [i * p.y.length + j, close(p.x, i, x) && close(p.y, j, y)];
    },
    value: (p, k) => [p.x[Math.floor(k / p.y.length)], p.y[k % p.y.length]],
    text: (p, k) => `(${p.xtexts[Math.floor(k / p.y.length)]}, ${p.ytexts[k % p.y.length]})`,
  },
  pick: {
    count: (p) => p.shape[0] * p.shape[1],
    locate: (p, [i, j]) => [i * p.shape[1] + j, true],
    value: (p, k) => [Math.floor(k / p.shape[1]), k % p.shape[1]],
    text: (p, k) => `${p.columns[k % p.shape[1]]}, ${p.rows[Math.floor(k / p.shape[1])]}`,
  },
};

// ---- marks ---------------------------------------------------------------------------------------------

function polygon(corners, outer, inner = outer, turn = -Math.PI / 2) {
  const at = (k, r) =>
    `${px(r * Math.cos(turn + (2 * Math.PI * k) / corners))},${px(r * Math.sin(turn + (2 * Math.PI * k) / corners))}`;
  let d = "";
  for (let k = 0; k < corners; k++) d += `${k ? "L" : "M"}${at(k, outer)}L${at(k + 0.5, inner)}`;
  return d + "Z";
}

function outline(marker, size) {
  const r = size / 2;
  if (marker === "square") return `M${-r},${-r}H${r}V${r}H${-r}Z`;
  if (marker === "star") return polygon(5, r, 0.45 * r);
  if (marker === "diamond") return `M0,${-r * 1.2}L${r * 1.2},0L0,${r * 1.2}L${-r * 1.2},0Z`;
  if (marker === "triangle") return `M0,${-r * 1.1}L${r},${r * 0.8}L${-r},${r * 0.8}Z`;
  if (marker === "cross") return `M${-r},${-r}L${r},${r}M${-r},${r}L${r},${-r}`;
  return `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`;
}

function marker(style) {
  const hollow = !style.filled || style.marker === "cross";
  return draw("path", {
    class: hollow ? "ex-marker ex-hollow" : "ex-marker",
    d: outline(style.marker, style.size),
  });
}

function curve(style) {
  return draw("path", {
    class: "ex-curve",
    "stroke-width": style.width,
    "stroke-dasharray": style.dash.join(" ") || undefined,
  });
}

// Enough copies of an element in a group; `place(k, transform or null)` moves the k-th or hides it.
function copies(group, make) {
  const made = [];
  return {
    made,
    place(k, transform) {
      while (made.length <= k) group.append(made[made.push(make()) - 1]);
      if (transform === null) made[k].setAttribute("display", "none");
      else {
        made[k].removeAttribute("display");
        made[k].setAttribute("transform", transform);
      }
    },
  };
}

// The values of a channel at a frame, as a function of the item.
function slice({ values, frames, items }, frame) {
  const start = frames > 1 ? Math.min(frame, frames - 1) * items : 0;
  return { n: items, at: (k) => values[start + k] };
}

function joined(n, x, y, box) {
  let d = "",
    pen = "M";
  for (let k = 0; k < n; k++) {
    const a = x(k),
      b = y(k);
    if (Number.isNaN(a) || Number.isNaN(b)) pen = "M";
    else {
      d += pen + px(box.x(a)) + "," + px(box.y(b));
      pen = "L";
    }
  }
  return d;
}

const moved = (x, y, box) =>
  Number.isNaN(x) || Number.isNaN(y) ? null : `translate(${px(box.x(x))},${px(box.y(y))})`;

// Each drawer: (group, mark, style, view) -> function(scene, frame, box) that draws.
const DRAWERS = {
  line(group, mark, style) {
    const path = curve(style),
      dots = copies(group, () => marker(style));
    group.append(path);
    return (scene, frame, box) => {
      const x = slice(scene.channel(mark.name, "x"), frame),
        y = slice(scene.channel(mark.name, "y"), frame);
      path.setAttribute("d", joined(x.n, x.at, y.at, box));
      if (mark.markers) for (let k = 0; k < x.n; k++) dots.place(k, moved(x.at(k), y.at(k), box));
    };
  },
  path(group, mark, style, view) {
    const path = curve(style),
      heads = copies(group, () => marker(style));
    group.append(path);
    return (scene, frame, box) => {
      const x = scene.channel(mark.name, "x"),
        y = scene.channel(mark.name, "y"),
        n = x.items;
      const last = view.spec.time ? frame : x.frames - 1;
      let d = "";
      for (let k = 0; k < n; k++) {
        d += joined(
          last + 1,
          (f) => x.values[f * n + k],
          (f) => y.values[f * n + k],
          box,
        );
        if (style.marker !== "none")
          heads.place(k, moved(x.values[last * n + k], y.values[last * n + k], box));
      }
      path.setAttribute("d", d);
    };
  },
  points(group, mark, style) {
    const dots = copies(group, () => marker(style));
    const words = copies(group, () =>
      draw("text", { class: "ex-word", x: style.size / 2 + 3, y: -style.size / 2 }),
    );
    return (scene, frame, box) => {
      const x = slice(scene.channel(mark.name, "x"), frame),
        y = slice(scene.channel(mark.name, "y"), frame);
      for (let k = 0; k < x.n; k++) {
        dots.place(k, moved(x.at(k), y.at(k), box));
        if (!mark.text.length) continue;
        words.place(k, moved(x.at(k), y.at(k), box));
        words.made[k].textContent = mark.text[k];
      }
    };
  },
  arrows: (group, mark, style) => spans(group, mark, style, true),
  segments: (group, mark, style) => spans(group, mark, style, false),
  bars(group, mark, style) {
    const boxes = copies(group, () => draw("rect", { class: style.filled ? "ex-bar" : "ex-bar ex-hollow" }));
    return (scene, frame, box) => {
      const x = slice(scene.channel(mark.name, "x"), frame),
        y = slice(scene.channel(mark.name, "y"), frame);
      for (let k = 0; k < x.n; k++) {
        const a = x.at(k),
          b = y.at(k),
          absent = Number.isNaN(a) || Number.isNaN(b);
        boxes.place(k, absent ? null : "");
        if (absent) continue;
        const left = Math.min(box.x(a - mark.width / 2), box.x(a + mark.width / 2)),
          zero = box.y(0),
          top = box.y(b);
        dress(
          boxes.made[k],
          {
            x: px(left),
            width: px(Math.abs(box.x(mark.width) - box.x(0))),
            y: px(Math.min(zero, top)),
            height: px(Math.abs(top - zero)),
            "data-up": top <= zero ? 1 : 0,
          },
          [],
        );
      }
    };
  },
  heatmap(group, mark, style, view) {
    const [rows, columns] = mark.shape,
      [x0, x1, y0, y1] = mark.extent,
      [lo, hi] = mark.limits;
    const cells = copies(group, () => draw("rect", { "shape-rendering": "crispEdges" }));
    const colors = colorTable(mark.scale),
      hatch = `url(#${view.id}-hatch)`;
    return (scene, frame, box) => {
      const v = slice(scene.channel(mark.name, "v"), frame);
      const w = (x1 - x0) / columns,
        h = (y1 - y0) / rows;
      for (let k = 0; k < v.n; k++) {
        const i = Math.floor(k / columns),
          j = k % columns;
        // rounded first, so that a cell ends exactly where its neighbor begins
        const [ax, bx] = [j, j + 1].map((k) => Number(px(box.x(x0 + k * w))));
        const [ay, by] = [i, i + 1].map((k) => Number(px(box.y(y0 + k * h))));
        if (!cells.made[k] || cells.width !== box.width) {
          cells.place(k, "");
          dress(
            cells.made[k],
            {
              x: px(Math.min(ax, bx)),
              y: px(Math.min(ay, by)),
              width: px(Math.abs(bx - ax)),
              height: px(Math.abs(by - ay)),
            },
            [],
          );
        }
        const t = (v.at(k) - lo) / (hi - lo);
        cells.made[k].setAttribute(
          "fill",
          Number.isNaN(t) ? hatch : colors[Math.round(255 * clamp(t, 0, 1))],
        );
      }
      cells.width = box.width;
    };
  },
  points3d(group, mark, style) {
    const dots = copies(group, () => marker(style));
    return (scene, frame, box) => {
      const c = ["x", "y", "z"].map((name) => slice(scene.channel(mark.name, name), frame));
      const seen = [];
      for (let k = 0; k < c[0].n; k++)
        seen.push([
          k,
          ...rotate(
            box.rotation,
            c.map((a) => a.at(k)),
          ),
        ]);
      // absent points first: a comparison with NaN would leave the others out of order
      seen.sort((a, b) => Number.isNaN(b[3]) - Number.isNaN(a[3]) || a[3] - b[3]);
      seen.forEach(([k, x, y, depth], place) => {
        const at = moved(x, y, box),
          near = clamp((depth / box.half + 1) / 2, 0, 1);
        dots.place(place, at && `${at} scale(${px(0.65 + 0.45 * near)})`);
        dress(dots.made[place], { opacity: px(0.35 + 0.65 * near), "data-item": k }, []);
      });
    };
  },
};

function spans(group, mark, style, arrow) {
  const path = curve(style),
    heads = copies(group, () => draw("path", { class: "ex-head", d: "M0,0L-12,-5L-9,0L-12,5Z" }));
  group.append(path);
  return (scene, frame, box) => {
    const [x0, y0, x1, y1] = ["x0", "y0", "x1", "y1"].map((name) =>
      slice(scene.channel(mark.name, name), frame),
    );
    let d = "";
    for (let k = 0; k < x0.n; k++) {
      const a = box.x(x0.at(k)),
        b = box.y(y0.at(k));
      let u = box.x(x1.at(k)),
        v = box.y(y1.at(k));
      const absent = Number.isNaN(a + b + u + v),
        length = Math.hypot(u - a, v - b);
      if (arrow)
        heads.place(
          k,
          absent || length < 1
            ? null
            : `translate(${px(u)},${px(v)}) rotate(${px((Math.atan2(v - b, u - a) * 180) / Math.PI)})`,
        );
      if (absent) continue;
      // the shaft ends inside the head, so that the tip stays sharp
      const cut = arrow ? Math.max(0, 1 - 9 / Math.max(length, 9)) : 1;
      [u, v] = [a + (u - a) * cut, b + (v - b) * cut];
      d += `M${px(a)},${px(b)}L${px(u)},${px(v)}`;
    }
    path.setAttribute("d", d);
  };
}

function colorTable(stops) {
  const rgb = stops.map((s) => [1, 3, 5].map((k) => parseInt(s.slice(k, k + 2), 16)));
  return Array.from({ length: 256 }, (_, i) => {
    const t = (i / 255) * (stops.length - 1),
      k = Math.min(Math.floor(t), stops.length - 2);
    return `rgb(${rgb[k].map((c, j) => Math.round(c + (t - k) * (rgb[k + 1][j] - c)))})`;
  });
}

// ---- panels --------------------------------------------------------------------------------------------

// Rows: right, up, toward the viewer; as Panel3D.rotation in Python.
function rotation(azimuth, elevation) {
  const a = (azimuth * Math.PI) / 180,
    e = (elevation * Math.PI) / 180;
  const [ca, sa, ce, se] = [Math.cos(a), Math.sin(a), Math.cos(e), Math.sin(e)];
  return [
    [-sa, ca, 0],
    [-se * ca, -se * sa, ce],
    [ce * ca, ce * sa, se],
  ];
}

const rotate = (matrix, v) => matrix.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]);

class Panel {
  constructor(spec, view) {
    Object.assign(this, { spec, view, drawers: [], layers: {} });
    this.svg = draw("svg", { class: "ex-svg", role: "group", "aria-label": spec.title || view.spec.title });
    const clip = `${view.id}-${spec.name.replace(/\W/g, "-")}-clip`;
    this.clip = draw("rect");
    this.svg.append(draw("defs", {}, draw("clipPath", { id: clip }, this.clip)));
    this.surface = draw("rect", { class: "ex-surface" });
    this.svg.append(this.surface);
    for (const layer of ["under", "marks", "over", "handles"])
      this.svg.append((this.layers[layer] = draw("g", { class: `ex-${layer}` })));
    this.layers.under.setAttribute("aria-hidden", "true");
    dress(
      this.layers.marks,
      { "clip-path": `url(#${clip})`, role: "img", "aria-label": view.spec.caption },
      [],
    );
    this.element = node("div", { class: "ex-panel" });
    if (view.spec.panels.some((p) => p.title))
      this.element.append(node("div", { class: "ex-panel-title" }, spec.title));
    this.element.append(this.svg);
    for (const mark of view.spec.marks.filter((m) => m.panel === spec.name)) this.add(mark);
    if (spec.kind === "3d") this.camera();
  }

  add(mark) {
    const overMap = mark.kind !== "heatmap" && this.layers.marks.querySelector(".ex-map");
    const extra = mark.kind === "heatmap" ? " ex-map" : overMap ? " ex-outlined" : "";
    const group = draw("g", { class: `ex-s-${mark.style}${extra}`, "data-mark": mark.name });
    this.layers.marks.append(group);
    this.drawers.push(DRAWERS[mark.kind](group, mark, this.view.spec.styles[mark.style], this.view));
  }

  // Maps and axes for the width the page gives.
  layout(width) {
    const { spec } = this,
      flat = spec.kind === "2d",
      axes = flat && spec.axes;
    const longest = axes ? Math.max(0, ...spec.yticks.map(([, t]) => t.length)) : 0;
    let left = axes ? 12 + 7.2 * longest + (spec.ylabel ? 20 : 0) : 8,
      right = axes ? 12 : 8;
    const top = 10,
      bottom = axes ? (spec.xlabel ? 44 : 26) : 8;
    const [x0, x1] = flat ? spec.x : [-spec.half, spec.half],
      [y0, y1] = flat ? spec.y : [-spec.half, spec.half];
    let w = Math.max(60, width - left - right),
      h = w * (!flat || spec.equal ? Math.abs((y1 - y0) / (x1 - x0)) : spec.height);
    const tallest = 420;
    if (h > tallest) {
      if (!flat || spec.equal) {
        const spare = w * (1 - tallest / h);
        w -= spare;
        left += spare / 2;
      }
      h = tallest;
    }
    const total = top + h + bottom;
    dress(this.svg, { width, height: px(total), viewBox: `0 0 ${width} ${px(total)}` }, []);
    const frame = { x: px(left), y: top, width: px(w), height: px(h) };
    dress(this.surface, frame, []);
    dress(this.clip, { x: px(left - 9), y: top - 9, width: px(w + 18), height: px(h + 18) }, []);
    this.box = {
      width,
      left,
      top,
      w,
      h,
      half: spec.half,
      x: (v) => left + ((v - x0) / (x1 - x0)) * w,
      y: (v) => top + h - ((v - y0) / (y1 - y0)) * h,
      back: (u, v) => [x0 + ((u - left) / w) * (x1 - x0), y0 + ((top + h - v) / h) * (y1 - y0)],
    };
    this.svg.dataset.map = JSON.stringify([x0, x1, left, left + w, y0, y1, top + h, top]);
    this.layers.under.replaceChildren();
    if (axes) this.axes();
    if (!flat) this.turn(0, 0);
  }

  axes() {
    const { spec, box } = this,
      under = this.layers.under,
      floor = box.top + box.h;
    const every = (ticks, place, need) => {
      const gaps = ticks.slice(1).map(([v], k) => Math.abs(place(v) - place(ticks[k][0])));
      return Math.max(1, Math.ceil(need / Math.max(1, Math.min(...gaps, 1e9))));
    };
    const write = (x, y, anchor, text, extra = {}) =>
      under.append(
        draw("text", { x: px(x), y: px(y), "text-anchor": anchor, class: "ex-tick", ...extra }, text),
      );
    const widest = 7 * Math.max(0, ...spec.xticks.map(([, t]) => t.length)) + 12;
    const ex = every(spec.xticks, box.x, widest),
      ey = every(spec.yticks, box.y, 17);
    // thinned so that zero, if there is one, keeps its label
    const kept = (ticks, step) => {
      const zero = Math.max(
        0,
        ticks.findIndex(([v]) => Math.abs(v) < 1e-12),
      );
      return ticks.filter((_, k) => (k - zero) % step === 0);
    };
    for (const [v, text] of kept(spec.xticks, ex)) {
      under.append(draw("path", { class: "ex-gridline", d: `M${px(box.x(v))},${box.top}V${px(floor)}` }));
      write(box.x(v), floor + 17, "middle", text);
    }
    for (const [v, text] of kept(spec.yticks, ey)) {
      under.append(
        draw("path", { class: "ex-gridline", d: `M${px(box.left)},${px(box.y(v))}h${px(box.w)}` }),
      );
      write(box.left - 7, box.y(v) + 4, "end", text);
    }
    under.append(
      draw("rect", { class: "ex-frame", x: px(box.left), y: box.top, width: px(box.w), height: px(box.h) }),
    );
    if (spec.xlabel) write(box.left + box.w / 2, floor + 38, "middle", spec.xlabel, { class: "ex-axis" });
    const middle = box.top + box.h / 2,
      side = Math.max(13, box.left - 12 - 7.2 * Math.max(0, ...spec.yticks.map(([, t]) => t.length)));
    if (spec.ylabel)
      write(side, middle, "middle", spec.ylabel, {
        class: "ex-axis",
        transform: `rotate(-90 ${px(side)} ${px(middle)})`,
      });
  }

  // The reader turns a three-dimensional panel: by dragging it, or by arrow keys on it.
  camera() {
    this.angles = [...this.spec.camera];
    const handle = dress(
      this.surface,
      {
        tabindex: 0,
        role: "slider",
        "aria-label": `View of ${this.spec.title || this.view.spec.title}: turn with the arrow keys`,
        "aria-roledescription": "camera",
        "data-lm-suppress-shortcuts": "true",
        "data-control": `camera:${this.spec.name}`,
        class: "ex-surface ex-camera",
      },
      [],
    );
    let from = null;
    handle.addEventListener("pointerdown", (e) => {
      from = [e.clientX, e.clientY];
      handle.setPointerCapture(e.pointerId);
    });
    handle.addEventListener("pointermove", (e) => {
      if (!from) return;
      this.turn(-0.5 * (e.clientX - from[0]), 0.5 * (e.clientY - from[1]));
      from = [e.clientX, e.clientY];
      this.paint();
    });
    for (const end of ["pointerup", "pointercancel"]) handle.addEventListener(end, () => (from = null));
    onArrows(
      handle,
      (dx, dy) => {
        this.turn(-5 * dx, 5 * dy);
        this.paint();
      },
      () => {
        this.angles = [...this.spec.camera];
        this.turn(0, 0);
        this.paint();
      },
    );
  }

  turn(da, de) {
    this.angles = [((((this.angles[0] + da) % 360) + 540) % 360) - 180, clamp(this.angles[1] + de, -90, 90)];
    const [a, e] = this.angles,
      r = (this.box.rotation = rotation(a, e)),
      { box } = this;
    dress(
      this.surface,
      {
        "aria-valuenow": Math.round(a),
        "aria-valuemin": -180,
        "aria-valuemax": 180,
        "aria-valuetext": `azimuth ${Math.round(a)}°, elevation ${Math.round(e)}°`,
        "data-angles": JSON.stringify(this.angles),
      },
      [],
    );
    if (!this.spec.sphere) return;
    const parts = { front: "", back: "" };
    let last = null;
    for (let k = 0; k <= 96; k++) {
      const t = (2 * Math.PI * k) / 96,
        [x, y, depth] = rotate(r, [Math.cos(t), Math.sin(t), 0]);
      const side = depth >= 0 ? "front" : "back",
        at = `${px(box.x(x))},${px(box.y(y))}`;
      parts[side] += (last === side ? "L" : "M") + at;
      last = side;
    }
    const radius = px(box.x(1) - box.x(0));
    this.layers.under.replaceChildren(
      draw("circle", { class: "ex-sphere", cx: px(box.x(0)), cy: px(box.y(0)), r: radius }),
      draw("path", { class: "ex-equator ex-faint", d: parts.back }),
      draw("path", { class: "ex-equator", d: parts.front }),
    );
  }

  paint() {
    const { scene, frame } = this.view;
    if (scene && this.box) for (const drawer of this.drawers) drawer(scene, frame, this.box);
  }
}

// Arrow keys as steps (up is +1); Shift or Page keys step by five; Home calls `home`.
function onArrows(element, step, home) {
  element.addEventListener("keydown", (e) => {
    const far = e.shiftKey ? 5 : 1;
    const moves = {
      ArrowLeft: [-far, 0],
      ArrowRight: [far, 0],
      ArrowUp: [0, far],
      ArrowDown: [0, -far],
      PageUp: [0, 5],
      PageDown: [0, -5],
    };
    if (e.ctrlKey || e.metaKey || e.altKey || !(e.key in moves || e.key === "Home")) return;
    e.preventDefault();
    e.stopPropagation();
    e.key === "Home" ? home() : step(...moves[e.key]);
  });
}

// ---- controls: each makes its elements and returns {element, show(k, text, live)} ---------------------------

const quiet = { "data-lm-suppress-shortcuts": "true" };

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

function slider(view, p) {
  const id = view.unique(),
    n = p.values.length,
    [lowest, highest] = [p.values[0], p.values[n - 1]];
  const input = node("input", {
    type: "range",
    id,
    min: 0,
    max: n - 1,
    step: 1,
    ...quiet,
    "data-control": p.name,
  });
  const output = node("output", { for: id, class: "ex-value" });
  const refusal = node("p", { id: view.unique(), class: "ex-refusal ex-error", role: "alert", hidden: "" });
  const exact = node("input", {
    type: "text",
    inputmode: lowest < 0 ? "text" : "decimal", // a phone's decimal keys have no minus
    autocomplete: "off",
    class: "ex-exact",
    "aria-label": `${p.label}: any value`,
    "aria-describedby": refusal.id,
    hidden: "",
    ...quiet,
  });
  const place = (v) => {
    const k = clamp(p.values.findIndex((g) => g > v) - 1, 0, n - 2),
      i = v >= p.values[n - 1] ? n - 2 : k;
    return i + (v - p.values[i]) / (p.values[i + 1] - p.values[i]);
  };
  const between = (t) => {
    const k = Math.min(Math.floor(t), n - 2);
    const v = p.values[k] + (t - k) * (p.values[k + 1] - p.values[k]);
    return clamp(Number(v.toPrecision(6)), lowest, highest);
  };
  const free = () => view.host && !p.onlyGrid;
  const judge = (fine) => {
    refusal.hidden = fine;
    refusal.textContent = fine ? "" : `${p.label}: a number from ${p.texts[0]} to ${p.texts[n - 1]}`;
    fine ? exact.removeAttribute("aria-invalid") : exact.setAttribute("aria-invalid", "true");
  };
  let used = null; // the value that the box shows, unless what was typed is refused
  const restore = () => {
    exact.value = Number(used.toPrecision(12));
    judge(true);
  };
  const choose = (v) => {
    view.choose(p.name, v);
    restore();
  };
  input.addEventListener("input", () => {
    const t = Number(input.value);
    choose(Number.isInteger(t) ? p.values[t] : free() ? between(t) : p.values[Math.round(t)]);
  });
  input.addEventListener("keydown", (e) => {
    const page = Math.max(1, Math.round(n / 10)),
      k = place(view.model.get(p.name));
    const up = (s) => (s > 0 ? Math.floor(k + 1e-6) + s : Math.ceil(k - 1e-6) + s);
    const to = {
      ArrowRight: up(1),
      ArrowUp: up(1),
      ArrowLeft: up(-1),
      ArrowDown: up(-1),
      PageUp: up(page),
      PageDown: up(-page),
      Home: 0,
      End: n - 1,
    }[e.key];
    if (to === undefined || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    choose(p.values[clamp(to, 0, n - 1)]);
  });
  // A number as readers write it, within the range or as one of the stored values is printed; else undefined.
  const plain = (text) => text.replace(p.unit, "").trim().replaceAll("−", "-").replace(",", ".");
  const read = (text) => {
    const v = NUMBER.test(text) ? Number(text) : NaN;
    return v >= lowest && v <= highest ? v : p.values[p.texts.findIndex((t) => plain(t) === text)];
  };
  const typed = () => {
    const v = read(plain(exact.value));
    v === undefined ? judge(false) : choose(v);
  };
  exact.addEventListener("change", typed);
  exact.addEventListener("keydown", (e) => {
    if (e.key === "Enter") typed();
    if (e.key === "Escape") restore();
  });
  const element = node(
    "div",
    { class: "ex-control ex-slider" },
    node("label", { for: id }, p.label),
    input,
    output,
    exact,
    refusal,
  );
  return {
    element,
    show(k, text, value) {
      input.step = free() ? "any" : 1;
      input.value = value === undefined ? k : place(value);
      input.setAttribute("aria-valuetext", (output.value = text));
      exact.hidden = !free();
      const now = value ?? p.values[k];
      if (now === used && free()) return;
      used = now;
      restore();
    },
  };
}

function choice(view, p) {
  const name = view.unique();
  if (p.values.length > 4) {
    const select = node(
      "select",
      { id: name, ...quiet, "data-control": p.name },
      ...p.values.map((v) => node("option", { value: v }, v)),
    );
    select.addEventListener("change", () => view.choose(p.name, select.value));
    return {
      element: node("div", { class: "ex-control" }, node("label", { for: name }, p.label), select),
      show: (k) => (select.selectedIndex = k),
    };
  }
  const radios = p.values.map((v, k) =>
    node("input", { type: "radio", id: `${name}-${k}`, name, value: v, ...quiet, "data-control": p.name }),
  );
  radios.forEach((r, k) => r.addEventListener("change", () => view.choose(p.name, p.values[k])));
  const options = radios.flatMap((r, k) => [r, node("label", { for: r.id }, p.values[k])]);
  const element = node(
    "fieldset",
    { class: "ex-control ex-choice" },
    node("legend", {}, p.label),
    node("div", { class: "ex-options" }, ...options),
  );
  return { element, show: (k) => (radios[k].checked = true) };
}

function toggle(view, p) {
  const id = view.unique(),
    input = node("input", { type: "checkbox", role: "switch", id, ...quiet, "data-control": p.name });
  input.addEventListener("change", () => view.choose(p.name, input.checked));
  return {
    element: node("div", { class: "ex-control ex-toggle" }, input, node("label", { for: id }, p.label)),
    show: (k) => (input.checked = k === 1),
  };
}

// The line that says where a dragged point or a picked cell is; the control itself sits in the panel.
function place(p, id, hint) {
  const output = node("output", { class: "ex-value" });
  return {
    output,
    element: node(
      "div",
      { class: "ex-control ex-place" },
      node("span", { id }, p.label),
      output,
      node("span", { class: "ex-hint" }, hint),
    ),
  };
}

function drag(view, p) {
  const panel = view.panels.find((q) => q.spec.name === p.panel),
    style = view.spec.styles[p.style],
    id = view.unique();
  const { output, element } = place(p, id, "drag it, or focus it and use the arrow keys");
  const chevrons = [0, 90, 180, 270].map((t) =>
    draw("path", { class: "ex-chevron", d: "M13,-3.5L17,0L13,3.5", transform: `rotate(${t})` }),
  );
  const handle = draw(
    "g",
    {
      class: `ex-handle ex-s-${p.style}`,
      tabindex: 0,
      role: "slider",
      "aria-labelledby": id,
      "aria-roledescription": "movable point",
      "aria-valuemin": 0,
      "aria-valuemax": p.x.length * p.y.length - 1,
      ...quiet,
      "data-control": p.name,
    },
    draw("circle", { class: "ex-hit", r: 22 }),
    ...chevrons,
    marker(style),
  );
  panel.layers.handles.append(handle);
  const go = (x, y) => {
    const inside = [
      [x, p.x],
      [y, p.y],
    ].map(([v, grid]) => clamp(v, grid[0], grid[grid.length - 1]));
    view.choose(p.name, view.host ? inside : [p.x[nearest(p.x, x)], p.y[nearest(p.y, y)]]);
  };
  const at = (e) => {
    const { left, top } = panel.svg.getBoundingClientRect(),
      [u, v] = panel.box.back(e.clientX - left, e.clientY - top);
    return [panel.spec.xlog ? 10 ** u : u, panel.spec.ylog ? 10 ** v : v];
  };
  let held = false;
  // the style touch-action is not enough on an element inside an SVG: the browser would scroll and take the finger away
  handle.addEventListener("touchstart", (e) => e.preventDefault(), { passive: false });
  handle.addEventListener("pointerdown", (e) => {
    held = true;
    handle.setPointerCapture(e.pointerId);
    handle.focus();
    e.preventDefault();
  });
  handle.addEventListener("pointermove", (e) => held && go(...at(e)));
  for (const end of ["pointerup", "pointercancel"]) handle.addEventListener(end, () => (held = false));
  panel.surface.addEventListener("click", (e) => go(...at(e)));
  onArrows(
    handle,
    (dx, dy) => {
      const [x, y] = view.model.get(p.name),
        [sx, sy] = [p.x, p.y].map((_, k) =>
          panel.spec[k ? "y" : "x"][0] < panel.spec[k ? "y" : "x"][1] ? 1 : -1,
        );
      const i = clamp(nearest(p.x, x) + sx * dx, 0, p.x.length - 1),
        j = clamp(nearest(p.y, y) + sy * dy, 0, p.y.length - 1);
      view.choose(p.name, [p.x[i], p.y[j]]);
    },
    () => view.choose(p.name, view.starts[p.name]),
  );
  return {
    element,
    show(k, text, value) {
      const [x, y] = value ?? KINDS.drag.value(p, k),
        { box, spec } = panel;
      if (box)
        handle.setAttribute(
          "transform",
          moved(spec.xlog ? Math.log10(x) : x, spec.ylog ? Math.log10(y) : y, box),
        );
      dress(handle, { "aria-valuenow": k, "aria-valuetext": text }, []);
      output.value = text;
    },
  };
}

function pick(view, p) {
  const mark = view.spec.marks.find((m) => m.name === p.mark),
    panel = view.panels.find((q) => q.spec.name === mark.panel),
    id = view.unique();
  const { output, element } = place(p, id, "click a cell, or focus it and use the arrow keys");
  const cursor = [draw("rect", { class: "ex-cell-outer" }), draw("rect", { class: "ex-cell-inner" })];
  const handle = draw(
    "g",
    {
      class: "ex-pick",
      tabindex: 0,
      role: "slider",
      "aria-labelledby": id,
      "aria-roledescription": "cell",
      "aria-valuemin": 0,
      "aria-valuemax": p.shape[0] * p.shape[1] - 1,
      ...quiet,
      "data-control": p.name,
    },
    ...cursor,
  );
  panel.layers.over.append(handle);
  const [rows, columns] = p.shape,
    [x0, x1, y0, y1] = mark.extent;
  const go = (i, j) => view.choose(p.name, [clamp(i, 0, rows - 1), clamp(j, 0, columns - 1)]);
  panel.svg.addEventListener("click", (e) => {
    const { left, top } = panel.svg.getBoundingClientRect(),
      [u, v] = panel.box.back(e.clientX - left, e.clientY - top);
    const i = Math.floor(((v - y0) / (y1 - y0)) * rows),
      j = Math.floor(((u - x0) / (x1 - x0)) * columns);
    if (i < 0 || j < 0 || i >= rows || j >= columns) return;
    go(i, j);
    handle.focus({ preventScroll: true });
  });
  onArrows(
    handle,
    (dx, dy) => {
      const [i, j] = view.model.get(p.name),
        { x, y } = panel.spec;
      go(i + dy * Math.sign((y[1] - y[0]) * (y1 - y0)), j + dx * Math.sign((x[1] - x[0]) * (x1 - x0)));
    },
    () => go(...view.starts[p.name]),
  );
  return {
    element,
    show(k, text) {
      const [i, j] = KINDS.pick.value(p, k),
        { box } = panel;
      dress(handle, { "aria-valuenow": k, "aria-valuetext": text }, []);
      output.value = text;
      if (!box) return;
      const a = box.x(x0 + ((x1 - x0) * j) / columns),
        b = box.x(x0 + ((x1 - x0) * (j + 1)) / columns);
      const c = box.y(y0 + ((y1 - y0) * i) / rows),
        d = box.y(y0 + ((y1 - y0) * (i + 1)) / rows);
      for (const r of cursor)
        dress(
          r,
          {
            x: px(Math.min(a, b)),
            y: px(Math.min(c, d)),
            width: px(Math.abs(b - a)),
            height: px(Math.abs(d - c)),
          },
          [],
        );
    },
  };
}

const CONTROLS = { slider, choice, toggle, drag, pick };

// Play button and scrubber.
function timeline(view, time) {
  const id = view.unique(),
    still = matchMedia("(prefers-reduced-motion: reduce)");
  const play = node("button", { type: "button", class: "ex-play", ...quiet, "data-control": "play" });
  const input = node("input", {
    type: "range",
    id,
    min: 0,
    max: time.frames - 1,
    step: 1,
    ...quiet,
    "data-control": "frame",
  });
  const output = node("output", { for: id, class: "ex-value" });
  let timer = 0,
    begun = null,
    first = 0;
  const label = () => {
    play.textContent = timer ? "❚❚" : "▶";
    play.setAttribute("aria-label", timer ? "Pause" : "Play");
  };
  const stop = () => {
    cancelAnimationFrame(timer);
    timer = 0;
    label();
    view.hush(false);
  };
  // Counted from the first tick, whose time may lie before the click's. With reduced motion: ten steps at most, two a
  // second.
  const tick = (now) => {
    begun ??= now;
    const span = time.frames - 1,
      part = (now - begun) / 1000,
      stride = Math.max(1, Math.ceil(span / 10));
    const moved = still.matches ? stride * Math.floor(2 * part) : Math.floor((part / time.seconds) * span);
    view.choose("frame", Math.min(span, first + moved));
    if (first + moved >= span) stop();
    else timer = requestAnimationFrame(tick);
  };
  play.addEventListener("click", () => {
    if (timer) return stop();
    first = view.frame >= time.frames - 1 ? 0 : view.frame;
    begun = null;
    view.hush(true);
    timer = requestAnimationFrame(tick);
    label();
  });
  input.addEventListener("input", () => {
    stop();
    view.choose("frame", Number(input.value));
  });
  label();
  return {
    stop,
    element: node(
      "div",
      { class: "ex-control ex-slider ex-time" },
      node("label", { for: id }, time.label),
      play,
      input,
      output,
    ),
    show(frame) {
      input.value = frame;
      input.setAttribute("aria-valuetext", (output.value = time.texts[frame]));
    },
  };
}

// ---- legend --------------------------------------------------------------------------------------------

// Its entries are those of the marks that the scene draws at some time: `show` hides the others.
function legend(view) {
  const entries = [];
  for (const mark of view.spec.marks) {
    if (mark.kind === "heatmap") entries.push([mark, scaleBar(mark)]);
    else if (mark.label)
      entries.push([mark, node("li", {}, sample(mark, view.spec.styles[mark.style]), mark.label)]);
  }
  const present = (scene, mark) =>
    Object.keys(mark.channels).every((name) =>
      scene.channel(mark.name, name).values.some((v) => !Number.isNaN(v)),
    );
  return {
    element: node("ul", { class: "ex-legend" }, ...entries.map(([, entry]) => entry)),
    show(scene) {
      for (const [mark, entry] of entries) entry.hidden = mark.kind !== "heatmap" && !present(scene, mark);
    },
  };
}

function sample(mark, style) {
  const out = draw("svg", {
    class: `ex-s-${mark.style}`,
    width: 36,
    height: 18,
    viewBox: "-18 -9 36 18",
    "aria-hidden": "true",
  });
  const long = ["line", "path", "arrows", "segments"].includes(mark.kind);
  if (mark.kind === "bars")
    return dress(out, {}, [
      draw("rect", {
        class: style.filled ? "ex-bar" : "ex-bar ex-hollow",
        x: -7,
        y: -6,
        width: 14,
        height: 12,
      }),
    ]);
  if (long) out.append(dress(curve(style), { d: mark.kind === "arrows" ? "M-17,0H9" : "M-17,0H17" }, []));
  if (mark.kind === "arrows") out.append(draw("path", { class: "ex-head", d: "M17,0L5,-5L8,0L5,5Z" }));
  const dotted =
    mark.kind.startsWith("points") || (mark.kind === "path" && style.marker !== "none") || mark.markers;
  if (dotted)
    out.append(dress(marker(style), { transform: mark.kind === "path" ? "translate(12,0)" : "" }, []));
  return out;
}

function scaleBar(mark) {
  const bar = node("span", {
    class: "ex-scale",
    style: `background:linear-gradient(to right,${mark.scale.join(",")})`,
  });
  const [lo, , hi] = mark.ends;
  return node(
    "li",
    { class: "ex-scale-row" },
    ...(mark.label ? [node("span", {}, mark.label)] : []),
    node("span", { class: "ex-tick" }, lo),
    bar,
    node("span", { class: "ex-tick" }, hi),
  );
}

// ---- the view --------------------------------------------------------------------------------------------

class View {
  constructor(model, element) {
    Object.assign(this, {
      model,
      spec: model.get("_spec"),
      id: `ex-${Date.now().toString(36)}-${views++}`,
      ids: 0,
      host: null,
      frame: 0,
      scene: null,
      waiting: false,
    });
    this.starts = Object.fromEntries(this.spec.parameters.map((p) => [p.name, model.get(p.name)]));
    this.newest = new Newest(
      (scene) => {
        // of a slow scene an older answer is farther from what is asked for than the nearest stored picture
        this.display(this.newest.slow && this.newest.next ? this.grid.at(this.place) : scene);
        this.heard();
      },
      (error) => {
        this.say(`Not computed: ${error.message}`, true);
        this.heard();
      },
    );
    this.build(element);
  }

  unique() {
    return `${this.id}-${this.ids++}`;
  }

  build(element) {
    const { spec } = this,
      title = this.unique();
    this.panels = spec.panels.map((p) => new Panel(p, this));
    this.controls = spec.parameters.map((p) => CONTROLS[p.kind](this, p));
    this.time = spec.time && timeline(this, spec.time);
    this.readouts = spec.readouts.map((r) =>
      node("output", { class: "ex-number", "data-readout": r.name, "aria-live": "polite" }),
    );
    this.message = node("p", { class: "ex-message", role: "status" });
    this.badge = node("span", { class: "ex-badge", tabindex: "-1" }, STORED);
    const hatch = draw(
      "svg",
      { width: 0, height: 0, class: "ex-defs", "aria-hidden": "true" },
      draw(
        "defs",
        {},
        draw(
          "pattern",
          {
            id: `${this.id}-hatch`,
            width: 6,
            height: 6,
            patternUnits: "userSpaceOnUse",
            patternTransform: "rotate(45)",
          },
          draw("rect", { class: "ex-hatch", width: 2, height: 6 }),
        ),
      ),
    );
    this.numbers = node(
      "div",
      { class: "ex-readouts" },
      ...spec.readouts.map((r, i) =>
        node(
          "div",
          { class: "ex-readout" },
          node("span", { class: "ex-readout-label" }, r.label),
          this.readouts[i],
        ),
      ),
    );
    this.legend = legend(this);
    this.picture = node("div", { class: "ex-panels" }, ...this.panels.map((p) => p.element));
    const side = node(
      "div",
      { class: "ex-side" },
      ...(this.readouts.length ? [this.numbers] : []),
      this.message,
      node(
        "div",
        { class: "ex-controls" },
        ...(this.time ? [...this.controls, this.time] : this.controls).map((c) => c.element),
      ),
    );
    this.root = node(
      "div",
      {
        class: `ex-root ex-${this.panels.length}-panel`,
        role: "group",
        "aria-labelledby": title,
        "data-scene": spec.scene,
        "data-ready": "false",
        "data-waiting": "false",
      },
      hatch,
      node(
        "div",
        { class: "ex-header" },
        node("div", { class: "ex-title", id: title }, spec.title),
        this.badge,
      ),
      node("p", { class: "ex-instruction" }, spec.instruction),
      node(
        "div",
        { class: "ex-body" },
        node("div", { class: "ex-picture" }, this.picture, this.legend.element),
        side,
      ),
      node("p", { class: "ex-caption" }, spec.caption),
    );
    Object.assign(this.root, {
      exView: this,
      exState: () => this.state(),
      exSet: (name, value) => this.choose(name, value),
    });
    element.append(this.root);
  }

  // What tests and the curious may read: exactly the numbers that are drawn, in axis coordinates.
  state() {
    const marks = {};
    for (const mark of this.spec.marks) {
      marks[mark.name] = {};
      for (const name of Object.keys(mark.channels)) {
        const c = this.scene.channel(mark.name, name),
          s = slice(c, this.frame);
        marks[mark.name][name] =
          mark.kind === "path" ? Array.from(c.values) : Array.from({ length: s.n }, (_, k) => s.at(k));
      }
    }
    return {
      scene: this.spec.scene,
      source: this.scene.source,
      waiting: this.waiting,
      frame: this.frame,
      parameters: this.values(),
      marks,
      readouts: Object.fromEntries(this.spec.readouts.map((r, i) => [r.name, this.readouts[i].value])),
      message: this.message.textContent,
    };
  }

  values() {
    return Object.fromEntries(this.spec.parameters.map((p) => [p.name, this.model.get(p.name)]));
  }

  // A control was moved. Saved at once: ipywidgets itself keeps one message in flight and ignores late echoes.
  choose(name, value) {
    this.model.set(name, value);
    this.model.save_changes();
  }

  // Moves the parameters to their nearest stored values, which need no host.
  toStored() {
    for (const p of this.spec.parameters) {
      const { locate, value } = KINDS[p.kind],
        [k, on] = locate(p, this.model.get(p.name));
      if (!on) this.choose(p.name, value(p, k));
    }
  }

  async start() {
    const grid = await inflate(this.model.get("_data"));
    if (this.closed) return;
    this.grid = new Grid(this.spec, grid);
    this.listeners = Object.entries({
      ...Object.fromEntries(this.spec.parameters.map((p) => [p.name, () => this.update()])),
      ...(this.time ? { frame: () => this.move() } : {}),
    });
    for (const [name, f] of this.listeners) this.model.on(`change:${name}`, f);
    this.frame = this.time ? this.model.get("frame") : 0;
    this.resize = new ResizeObserver(() => this.layout());
    this.resize.observe(this.picture);
    this.layout();
    this.update();
    this.root.dataset.ready = "true";
    this.connect();
  }

  // A kernel may answer, and a page may offer a host of its own: it hears `ex-ready` and calls `use`.
  connect() {
    this.kernel = new KernelHost(this.model, this.id);
    this.kernel.hello().then((host) => this.use(host));
    this.root.dispatchEvent(new Event("ex-ready", { bubbles: true }));
  }

  // Takes values from a host from now on; null: from the grid only.
  use(host) {
    if (host === this.host || this.closed) return;
    this.host = host;
    this.name();
    this.root.dataset.live = String(Boolean(host));
    this.update();
  }

  layout() {
    const width = this.picture.clientWidth;
    if (!width) return;
    const beside = this.panels.length > 1 && width >= 520;
    for (const panel of this.panels) panel.layout(Math.floor(beside ? (width - 12) / 2 : width));
    this.picture.classList.toggle("ex-beside", beside);
    if (this.scene) this.paint();
  }

  update() {
    let g = 0,
      exact = true;
    for (const p of this.spec.parameters) {
      const [k, on] = KINDS[p.kind].locate(p, this.model.get(p.name));
      g = g * KINDS[p.kind].count(p) + k;
      exact &&= on;
    }
    this.place = g;
    if (exact || !this.host) {
      this.newest.drop();
      this.display(this.grid.at(g));
      this.heard();
    } else {
      this.expect();
      // A slow scene shows the nearest stored picture until the exact one is there.
      if (this.newest.slow) this.display(this.grid.at(g));
      this.showControls();
      this.newest.ask(this.host, this.spec.scene, this.values());
    }
  }

  // The exact picture is asked for: if it takes a moment, what is shown until then is marked.
  expect() {
    if (this.newest.slow) this.wait(true);
    else this.moment ||= setTimeout(() => this.wait(true), MOMENT);
  }

  // An answer has come, or none is wanted any more.
  heard() {
    clearTimeout(this.moment);
    this.moment = 0;
    this.newest.next ? this.expect() : this.wait(false);
  }

  wait(yes) {
    if (yes === this.waiting) return;
    this.waiting = yes;
    this.root.dataset.waiting = String(yes);
    for (const part of [this.picture, this.numbers]) part.setAttribute("aria-busy", yes);
    this.badge.style.minWidth = yes ? `${this.badge.offsetWidth}px` : ""; // the header stays as it is
    this.name();
  }

  // The badge: where the numbers come from.
  name() {
    this.badge.textContent = this.waiting ? "computing…" : (this.host?.label ?? STORED);
  }

  display(scene) {
    this.scene = scene;
    this.say(scene.message);
    this.legend.show(scene);
    this.paint();
  }

  move() {
    this.frame = this.model.get("frame");
    this.paint();
  }

  paint() {
    for (const panel of this.panels) panel.paint();
    this.scene.readouts.forEach((texts, i) => {
      const text = texts[Math.min(this.frame, texts.length - 1)];
      if (this.readouts[i].value !== text) this.readouts[i].value = text;
    });
    this.showControls();
  }

  showControls() {
    this.spec.parameters.forEach((p, i) => {
      const value = this.model.get(p.name),
        [k, on] = KINDS[p.kind].locate(p, value);
      if (on || !this.host) return this.controls[i].show(k, KINDS[p.kind].text(p, k));
      const rough = [value].flat().map((v) => String(Number(v.toPrecision(4))).replaceAll("-", "−"));
      this.controls[i].show(k, p.kind === "drag" ? `(${rough.join(", ")})` : rough[0] + p.unit, value);
    });
    this.time?.show(this.frame);
  }

  say(text, error = false) {
    if (this.message.textContent !== text) this.message.textContent = text;
    this.message.classList.toggle("ex-error", error);
    this.message.hidden = !text;
  }

  // While playing, the numbers change too fast to be read aloud.
  hush(yes) {
    for (const r of this.readouts) r.setAttribute("aria-live", yes ? "off" : "polite");
  }

  close() {
    this.closed = true;
    for (const [name, f] of this.listeners ?? []) this.model.off(`change:${name}`, f);
    this.resize?.disconnect();
    this.time?.stop();
    this.newest.drop();
    clearTimeout(this.moment);
    this.kernel?.close();
    this.root.remove();
  }
}

export default {
  render({ model, el }) {
    const view = new View(model, el);
    view.start().catch((error) => view.say(`This explorable cannot be shown: ${error.message}`, true));
    return () => view.close();
  },
};
