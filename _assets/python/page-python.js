// Offers each explorable of the page Python itself: a button, and one worker that answers for all of them. Nothing
// is loaded before the click. Explorables say `ex-ready` when they stand; `view.use(host)` gives them a host of
// values, as a kernel would be. Load with `async`.
(() => {
  const here = document.currentScript.src;
  const OFFER = "Run the real library here (about 9 MB)";
  const FILE = "Python cannot run in a page that was opened as a file: serve the book (make serve) and open it there.";
  const BROKEN = "Python could not be started.";

  // An error in plain words; `detail`: as the browser or Python put it.
  const failure = (text, detail) => Object.assign(new Error(text), { detail });
  const unloaded = (url, detail) =>
    failure(
      `Python could not be loaded: the network or the address ${new URL(url).host} cannot be reached,` +
        " or a file arrived broken.",
      detail,
    );

  // One worker. When it fails, is stopped or gives no answer, it is ended; the next start makes another one.
  class PagePython {
    label = "the real library, in this page";
    stalled = 60000; // ms without a sign of progress while starting
    silent = 60000; // ms a request may take
    long = 1000; // ms after which it can be stopped
    state = "off";
    waiting = new Map();
    heard = new Set();
    count = 0;

    // What happens, for the buttons: "starting" with a text, "on", "busy" with a long request, or with a text when
    // a package has to be loaded for one, "off" with a reason and its detail.
    tell(state, text = "", detail = "") {
      Object.assign(this, { state, text });
      for (const f of this.heard) f(state, text, detail);
    }

    start() {
      if (!this.started) {
        const turn = (this.turn = {});
        this.started = this.boot(turn).catch((error) => {
          if (this.turn === turn) this.end(error.message, error.detail);
          throw error;
        });
      }
      return this.started;
    }

    // A start that was canceled while it waited must not go on.
    async boot(turn) {
      const current = () => {
        if (this.turn !== turn) throw new Error("stopped");
      };
      if (location.protocol === "file:") throw failure(FILE);
      this.tell("starting", "");
      const response = await fetch(new URL("python.json", here)).catch((error) => {
        throw unloaded(here, error.message);
      });
      if (!response.ok) throw unloaded(here, `python.json: HTTP ${response.status}`);
      const { pyodide, wheel } = await response.json();
      current();
      const worker = (this.worker = new Worker(new URL("worker.mjs", here), { type: "module" }));
      await new Promise((resolve, reject) => {
        const late = () => reject(failure("Python could not be loaded: nothing has arrived for a minute."));
        let timer = setTimeout(late, this.stalled);
        this.abort = () => {
          clearTimeout(timer);
          reject(failure("stopped"));
        };
        // without a message: the worker's own file did not arrive
        worker.onerror = (e) => reject(e.message ? failure(BROKEN, e.message) : unloaded(here));
        worker.onmessage = ({ data: { kind, text, url } }) => {
          clearTimeout(timer);
          if (kind === "alive") return resolve();
          if (kind === "failed") return reject(url ? unloaded(url, text) : failure(BROKEN, text));
          timer = setTimeout(late, this.stalled);
          this.tell("starting", text);
        };
        worker.postMessage({ kind: "start", pyodide, wheel: new URL(wheel, here).href });
      });
      current();
      this.abort = null;
      worker.onmessage = ({ data }) => this.settle(data);
      worker.onerror = (e) => this.end("Python stopped.", e.message);
      this.tell("on");
    }

    // A host's answer to an explorable: [reply, buffers], see attsvm_lib/explore/live.py.
    async request(scene, parameters) {
      await this.start();
      const id = this.count++;
      return new Promise((resolve, reject) => {
        this.waiting.set(id, { resolve, reject });
        this.watch(id);
        this.worker.postMessage({ kind: "request", id, scene, parameters });
      });
    }

    // Restarts the clocks of a request.
    watch(id) {
      const pending = this.waiting.get(id);
      pending.timers?.forEach(clearTimeout);
      pending.timers = [
        setTimeout(() => this.tell("busy"), this.long),
        setTimeout(() => this.end("Python stopped: no answer for a minute."), this.silent),
      ];
    }

    settle(data) {
      const pending = this.waiting.get(data.id);
      if (!pending) return;
      if (data.kind === "progress") {
        this.watch(data.id);
        if (data.text) pending.timers.forEach(clearTimeout); // as long as it takes to load, or until it is canceled
        return this.tell("busy", data.text);
      }
      this.waiting.delete(data.id);
      pending.timers.forEach(clearTimeout);
      if (this.state === "busy") this.tell(this.waiting.size ? "busy" : "on");
      if (data.kind === "error") pending.reject(new Error(data.text));
      else pending.resolve([data, data.buffers]);
    }

    // Ends the worker; whoever waits hears why.
    end(reason, detail) {
      this.worker?.terminate();
      this.abort?.();
      this.worker = this.started = this.abort = this.turn = null;
      for (const { reject, timers } of this.waiting.values()) {
        timers.forEach(clearTimeout);
        reject(new Error(reason || "stopped"));
      }
      this.waiting.clear();
      this.tell("off", reason, detail);
    }
  }

  const python = new PagePython();

  addEventListener("pagehide", () => python.state !== "off" && python.end(""));

  // The explorables that wait for an answer go to their nearest stored values: what was stopped is not asked again.
  function back() {
    for (const { exView: view } of document.querySelectorAll(".ex-root[data-python=busy]"))
      if (view.newest.busy) view.toStored();
  }

  // The button of one explorable: it offers Python, then shows the progress and cancels, or stops a long computation.
  // Below it is said why Python does not run.
  function offer(root) {
    if (root.querySelector(".ex-python")) return;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "ex-python" });
    const note = Object.assign(document.createElement("p"), { className: "ex-python-note" });
    note.setAttribute("role", "status");
    const begin = () => python.start().catch(() => {}); // the reason has been told
    button.addEventListener("click", ({ detail }) => {
      if (detail > 1) return; // of a double click, which would cancel what it started
      const { state } = python;
      if (state === "busy") back();
      if (state !== "off") python.end("");
      if (state !== "starting") begin();
    });
    const show = (state, text, detail) => {
      root.dataset.python = state;
      const held = document.activeElement === button;
      button.hidden = state === "on";
      if (held && button.hidden) root.exView.badge.focus(); // it says what is on now
      const loading = text && `Cancel (loading ${text})`;
      button.textContent =
        { off: OFFER, starting: loading || "Cancel", busy: loading || "Stop computing" }[state] ?? "";
      root.exView.use(state === "on" || state === "busy" ? python : null);
      note.textContent = state === "off" && text ? `${text} The stored values go on working.` : "";
      if (detail) note.append(Object.assign(document.createElement("small"), { textContent: ` (${detail})` }));
    };
    root.exPython = python;
    root.querySelector(".ex-header").append(button, note);
    python.heard.add(show);
    show(python.state, "");
  }

  for (const root of document.querySelectorAll(".ex-root[data-ready=true]")) offer(root);
  document.addEventListener("ex-ready", (e) => offer(e.target));
})();
