"""Runs a chapter in a Jupyter that a real browser shows, and compares what its explorable computes with the library."""

from python_in_pages import answer, check, choose, off_grid

from attsvm_lib import scenes

WHOLE = 900_000  # ms for a chapter; one or two minutes on an idle machine
SHOWN = """path => {
  const widget = window.jupyterapp?.shell.currentWidget;  // another notebook's at first, where one was open before
  return widget?.context?.path === path && widget.node.querySelector('.jp-Cell');
}"""
KERNEL = """async () => {
  const { sessionContext } = jupyterapp.shell.currentWidget;
  await sessionContext.ready;
  while (!sessionContext.session?.kernel) await new Promise((f) => setTimeout(f, 200));
}"""
RUN = """async () => {
  await jupyterapp.commands.execute('notebook:clear-all-cell-outputs');
  jupyterapp.commands.execute('notebook:run-all-cells');
}"""
CELLS = """() => [...jupyterapp.shell.currentWidget.content.model.cells].filter((c) => c.type === 'code').map((c) => ({
  source: c.sharedModel.getSource(), outputs: c.outputs.toJSON(),
  done: Boolean(c.executionCount) && c.executionState !== 'running',
}))"""
TO_EXPLORABLE = """() => {
  const { content } = jupyterapp.shell.currentWidget;
  const shows = (c) => c.outputs?.toJSON().some((o) => o.data?.['application/vnd.jupyter.widget-view+json']);
  return content.scrollToItem([...content.model.cells].findIndex(shows), 'start');
}"""
ENDED = f"""() => {{
  const cells = ({CELLS})();
  return cells.every((c) => c.done) || cells.some((c) => c.outputs.some((o) => o.ename));
}}"""


def wait_for_kernel(tab, path):
    """Until the tab shows the notebook at `path` and it has its kernel: a cell run before makes Jupyter ask for one."""
    tab.wait_for_function(SHOWN, arg=path, timeout=WHOLE)
    tab.evaluate(KERNEL)


def run_all(tab, path):
    """Runs every cell of the notebook at `path`, which the tab opens; its code cells: source, outputs, done."""
    wait_for_kernel(tab, path)
    tab.evaluate(RUN)
    tab.wait_for_function(ENDED, timeout=WHOLE, polling=1000)
    return tab.evaluate(CELLS)


def errors(cells):
    """What went wrong, one text for each cell that raised an error."""
    return [f"{o['ename']}: {o['evalue']}\n{c['source']}" for c in cells for o in c["outputs"] if "ename" in o]


def printed(cells):
    """All that the cells printed."""
    texts = (o["text"] for c in cells for o in c["outputs"] if o["output_type"] == "stream")
    return "".join(text if isinstance(text, str) else "".join(text) for text in texts)


def check_first_explorable(tab):
    """The first explorable of the notebook computes values off its grid as the library does here."""
    tab.evaluate(TO_EXPLORABLE)
    root = tab.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .ex-root[data-live=true]").first
    root.wait_for(timeout=60_000)
    scene = scenes.get(root.get_attribute("data-scene"))
    choose(root, off_grid(scene))
    check(answer(root, WHOLE), scene)
