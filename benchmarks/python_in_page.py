"""Python in the page: the time from a step of a control to the picture of its exact value. Needs `make book pyodide`.

The steps go to values off the grid, so that the library computes each of them in the browser. The number on record is
the median of the slowest explorable of the book.
"""

import statistics
import sys
from pathlib import Path

from attsvm_lib import scenes

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests")]

import page_python  # noqa: E402
import pyodide_files  # noqa: E402
from local_site import HTML, find_browser, launch, serve  # noqa: E402
from pages import READY  # noqa: E402
from python_in_pages import answer_from_files, off_grid  # noqa: E402

STEPS = 20
START = 180_000  # ms
TIMES = """async (root, steps) => {
  const { exView: view } = root, times = [];
  for (const [name, value] of steps) {
    const begin = performance.now();
    root.exSet(name, value);
    do await new Promise(requestAnimationFrame); while (view.newest.busy || view.scene.source !== 'live');
    times.push(performance.now() - begin);
  }
  return times;
}"""


def steps_of(scene):
    """STEPS settings of the explorable's continuous controls in turn, all of them off the grid."""
    names = list(off_grid(scene))
    shares = [(k + 1) / (STEPS + 1) for k in range(STEPS)] if names else []
    turns = zip(shares, names * STEPS, strict=False)
    return [[name, off_grid(scene, share)[name]] for share, name in turns]


def run():
    """`page_python_step_ms`: the slowest explorable's median time of a step."""
    if find_browser() is None or not HTML.is_dir() or not pyodide_files.complete():
        raise SystemExit("the benchmark of Python in the page needs the built book, Chromium and `make pyodide`")
    medians = {}
    with serve() as base, launch(find_browser()) as browser:
        for path in sorted((HTML / "book").glob("*.html")):
            if "widget-view+json" not in path.read_text(encoding="utf-8"):
                continue
            context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
            context.route(page_python.PYODIDE + "**", answer_from_files)
            tab = context.new_page()
            tab.goto(base + path.relative_to(HTML).as_posix())
            tab.wait_for_function(READY)
            tab.locator(".ex-python").first.click()
            tab.locator(".ex-root[data-python=on]").first.wait_for(timeout=START)
            for root in tab.locator(".ex-root").all():
                name = root.get_attribute("data-scene")
                if steps := steps_of(scenes.get(name)):
                    medians[name] = statistics.median(root.evaluate(TIMES, steps))
                    print(f"a step of {name} in the page: {medians[name]:.0f} ms")
            context.close()
    return {"page_python_step_ms": max(medians.values())}
