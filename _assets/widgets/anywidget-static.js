// Starts the page's anywidgets without a kernel and without require.js: reads the widget state that the build
// put in the page and calls each widget's own module. Load with `async`.
(() => {
  const bytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const modules = new Map();

  // The part of a widget model that a page without a kernel can offer; nothing is saved or sent.
  class Model {
    constructor({ state, buffers = [] }) {
      this.state = { ...state };
      this.heard = new Map();
      for (const { path, data } of buffers) this.state[path[0]] = bytes(data);
    }
    get(key) {
      return this.state[key];
    }
    set(key, value) {
      const changes = typeof key === "string" ? { [key]: value } : key;
      for (const [k, v] of Object.entries(changes)) {
        if (this.state[k] === v) continue;
        this.state[k] = v;
        this.tell(`change:${k}`, v);
      }
      this.tell("change");
    }
    tell(name, value) {
      for (const f of [...(this.heard.get(name) ?? [])]) f(this, value);
    }
    on(name, f) {
      this.heard.set(name, [...(this.heard.get(name) ?? []), f]);
    }
    off(name, f) {
      this.heard.set(name, f ? (this.heard.get(name) ?? []).filter((g) => g !== f) : []);
    }
    save_changes() {}
    send() {}
  }

  function load(source) {
    if (!modules.has(source)) {
      const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
      modules.set(source, import(url));
    }
    return modules.get(source);
  }

  async function show(script, models, states) {
    const { model_id: id } = JSON.parse(script.textContent);
    if (!states[id]?.state._esm) return;
    const model = (models[id] ??= new Model(states[id]));
    const { _css: css, _esm: source } = model.state;
    if (css && !modules.has(css)) {
      modules.set(css, true);
      document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
    }
    const el = document.createElement("div");
    script.after(el);
    const widget = (await load(source)).default;
    model.ready ??= Promise.resolve(widget.initialize?.({ model }));
    await model.ready;
    await widget.render({ model, el });
  }

  function start() {
    const states = {},
      models = {},
      kind = (name) => `script[type="application/vnd.jupyter.widget-${name}+json"]`;
    for (const s of document.querySelectorAll(kind("state")))
      Object.assign(states, JSON.parse(s.textContent).state);
    for (const s of document.querySelectorAll(kind("view")))
      show(s, models, states).catch((e) => console.error(e));
  }

  if (document.readyState === "loading") document.addEventListener("readystatechange", start, { once: true });
  else start();
})();
