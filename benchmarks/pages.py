"""The built book in a real browser: the time of one redraw, and the weight of a first visit. Needs `make book`.

A redraw is one step of a control: script, style and layout, timed in the page from the new value to the moment the
layout is known. The number on record is the median of the slowest explorable of the book.
"""

import statistics
import sys
from pathlib import Path

from attsvm_lib import scenes

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))

from local_site import HTML, find_browser, launch, serve
from page_weight import measure, summary, write_report

STEPS = 40
READY = "() => document.querySelector('.ex-root') && !document.querySelector('.ex-root[data-ready=false]')"
REDRAW = """(root, steps) => steps.map(([name, value]) => {
  const begin = performance.now();
  root.exSet(name, value);
  root.getBoundingClientRect();
  return performance.now() - begin;
})"""


def steps_of(scene):
    """About STEPS settings of an explorable's controls, each a neighbor of the one before on its grid."""
    grids = {name: list(parameter.grid) for name, parameter in scene.parameters.items()}
    share = max(1, STEPS // len(grids))
    return [[name, value] for name, grid in grids.items() for value in (grid * share)[:share]]


def redraw_times(tab):
    """Median redraw in ms of each explorable on the open page, by scene name."""
    times = {}
    for root in tab.locator(".ex-root").all():
        name = root.get_attribute("data-scene")
        times[name] = statistics.median(root.evaluate(REDRAW, steps_of(scenes.get(name))))
    return times


def run():
    """`explorable_redraw_ms` and `chapter_first_visit_gzip_kB` (the heaviest chapter, everything it loads)."""
    executable = find_browser()
    if executable is None or not HTML.is_dir():
        raise SystemExit("the page benchmarks need the built book (make book) and an installed Chromium")
    pages = [path.relative_to(HTML).as_posix() for path in sorted((HTML / "book").glob("*.html"))]
    redraws = {}
    with serve() as base, launch(executable) as browser:
        weights = measure(browser, base, pages)
        tab = browser.new_page(viewport={"width": 1280, "height": 900})
        for page in pages:
            tab.goto(base + page, wait_until="load")
            if tab.locator("script[type='application/vnd.jupyter.widget-view+json']").count():
                tab.wait_for_function(READY)
                redraws |= redraw_times(tab)
    write_report(weights)
    print(summary(weights))
    for name, milliseconds in sorted(redraws.items()):
        print(f"redraw of {name}: {milliseconds:.1f} ms")
    heaviest = max(weight["total_kB"] for weight in weights.values())
    return {"explorable_redraw_ms": max(redraws.values()), "chapter_first_visit_gzip_kB": heaviest}
