"""In a real JupyterLab: the kernel computes values that are not on the grid, and the notebook's keys stay
away.
"""

import contextlib
import re
import secrets
import sys

import nbformat
import numpy as np
import pytest
from driving import TOLERANCE, Explorable, compare, coordinates, whole_grid
from jupyter_servers import jupyter
from notebook_in_jupyter import wait_for_kernel
from playwright.sync_api import TimeoutError
from python_in_pages import choose

from attsvm_lib.scene import Choice, Drag, Panel, Path, Points, Readout, Scene, Slider, Time, scene

TOKEN = secrets.token_hex(16)
STEPS = np.arange(21)
SOURCE = """
@scene(
    title="Bowl", instruction="Move the step.", caption="A path.",
    parameters={
        "step": Slider("step", [0.25, 0.5, 1.0, 1.5]),
        "start": Drag("start", [-1, 0, 1], [-1, 0, 1], start=(1, 1)),
        "kind": Choice("kind", ["a", "b", "c", "x", "y"]),
    },
    panels={"plane": Panel(xlim=(-2, 2), ylim=(-2, 2), equal=True)},
    time=Time("iteration", STEPS),
)
def bowl(step, start, kind):
    if 1.2 < step < 1.3:
        raise RuntimeError("this step is broken")
    w = np.array(start) * (1 - step) ** STEPS[:, None]
    return Scene({"path": Path(w, style="W"), "goal": Points([[0, 0]])},
                 {"norm": Readout(np.linalg.norm(w, axis=1), "norm", ".6f")})
"""
IMPORTS = """
import numpy as np
from attsvm_lib.explore import Explorable
from attsvm_lib.scene import Choice, Drag, Panel, Path, Points, Readout, Scene, Slider, Time, scene
STEPS = np.arange(21)
"""
names = {
    "np": np,
    "STEPS": STEPS,
    "__name__": "__main__",
    "scene": scene,
    "Choice": Choice,
    "Drag": Drag,
    "Panel": Panel,
    "Path": Path,
    "Points": Points,
    "Readout": Readout,
    "Scene": Scene,
    "Slider": Slider,
    "Time": Time,
}
exec(SOURCE, names)
bowl = names["bowl"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab server with one notebook; yields the notebook's address."""
    root = tmp_path_factory.mktemp("lab")
    notebook = nbformat.v4.new_notebook(
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    )
    cells = [
        IMPORTS + SOURCE + "w = Explorable(bowl)\nw",
        "print('moved to', w.step, w.start)",
        "w.step = 0.77",
    ]
    notebook.cells = [nbformat.v4.new_code_cell(c.strip()) for c in cells]
    nbformat.write(notebook, root / "live.ipynb")
    command = [
        sys.executable,
        "-m",
        "jupyterlab",
        "--no-browser",
        "--ip=127.0.0.1",
        "--allow-root",
        "--LabApp.expose_app_in_browser=True",
        f"--IdentityProvider.token={TOKEN}",
        f"--ServerApp.root_dir={root}",
    ]
    with jupyter(command, root, TOKEN) as url:
        yield f"{url}lab/tree/live.ipynb?token={TOKEN}"


@pytest.fixture(scope="module")
def live(chromium, lab):
    """The explorable in its notebook, run, with its kernel."""
    context = chromium.new_context(viewport={"width": 1200, "height": 1100})
    tab = context.new_page()
    foreign = []
    tab.on(
        "request",
        lambda r: foreign.append(r.url) if r.url.startswith("http") and "://127.0.0.1" not in r.url else None,
    )
    tab.goto(lab)
    wait_for_kernel(tab, "live.ipynb")
    run_cell(tab, 0)
    tab.locator(".ex-root[data-live=true]").wait_for(timeout=60_000)
    yield Explorable(tab.locator(".ex-root").first, bowl)
    context.close()
    assert foreign == []


def run_cell(tab, k):
    """Run the k-th code cell; again if JupyterLab, still starting, dropped the request."""
    cell = tab.locator(".jp-Notebook .jp-CodeCell").nth(k)
    for _ in range(10):
        cell.locator(".jp-InputArea-editor").click()
        tab.keyboard.press("Control+Enter")
        with contextlib.suppress(TimeoutError):
            cell.locator(".jp-InputArea-prompt", has_text=re.compile(r"\[(\d+|\*)\]")).wait_for(timeout=5_000)
            return cell
    raise AssertionError(f"cell {k} did not run")


def wait_until(explorable, condition):
    """Wait for a condition in JavaScript on the drawn state ``s``."""
    explorable.page.wait_for_function(
        f"() => {{ const s = document.querySelector('.ex-root').exState(); return {condition}; }}",
        timeout=30_000,
    )


@pytest.fixture(scope="module")
def ranges():
    return whole_grid(bowl)


def type_exactly(live, value):
    box = live.root.locator(".ex-exact")
    box.click()
    live.page.keyboard.press("ControlOrMeta+a")
    live.page.keyboard.type(value)
    live.page.keyboard.press("Enter")
    wait_until(live, f"s.parameters.step === {value}")


def set_on_the_grid(live, **values):
    """Set parameters and wait until the stored picture is shown and the kernel has nothing left to answer."""
    choose(live.root, values)
    wait_until(live, "s.source === 'grid' && !document.querySelector('.ex-root').exView.newest.busy")


def test_a_typed_value_is_computed_by_the_kernel_and_drawn(live, ranges):
    assert live.state()["source"] == "grid"
    type_exactly(live, "0.3141")
    wait_until(live, "s.source === 'live' && s.parameters.step === 0.3141")
    state = compare(live, ranges)
    assert state["readouts"]["norm"] == f"{np.sqrt(2) * (1 - 0.3141) ** 20:.6f}"


def test_a_dragged_point_is_free_of_the_grid(live, ranges):
    live.root.scroll_into_view_if_needed()
    box = live.control("start").locator(".ex-hit").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    live.page.mouse.move(x, y)
    live.page.mouse.down()
    live.page.mouse.move(x - 31, y + 47, steps=25)
    live.page.mouse.up()
    wanted = live.value("start")
    assert wanted[0] not in (-1, 0, 1)
    wait_until(
        live,
        f"s.source === 'live' && s.marks.path.x[0].toFixed(9) === '{wanted[0]:.9f}'",
    )
    compare(live, ranges)


def test_a_value_set_in_python_moves_the_slider(live, ranges):
    run_cell(live.page, 2)
    wait_until(live, "s.source === 'live' && s.parameters.step === 0.77")
    live.root.locator(".ex-slider .ex-value", has_text="0.77").first.wait_for()
    compare(live, ranges)


def test_a_value_moved_in_the_page_reaches_python(live):
    live.control("step").focus()
    live.page.keyboard.press("End")
    live.page.wait_for_timeout(300)
    cell = run_cell(live.page, 1)
    cell.locator(".jp-OutputArea-output", has_text="moved to 1.5").wait_for(timeout=30_000)


def test_an_error_in_the_kernel_is_shown_and_the_widget_goes_on(live, ranges):
    type_exactly(live, "1.25")
    live.root.locator(".ex-error", has_text="Not computed: RuntimeError: this step is broken").wait_for(timeout=30_000)
    type_exactly(live, "0.9")
    wait_until(live, "s.source === 'live' && s.parameters.step === 0.9 && s.message === ''")
    compare(live, ranges)


def test_the_notebook_does_not_take_the_keys(live):
    set_on_the_grid(live, step=1.0, start=[0, 0])
    cells = live.page.locator(".jp-Notebook .jp-Cell")
    count, active = (
        cells.count(),
        "document.querySelector('.jp-Notebook .jp-mod-active')?.dataset.windowedListIndex",
    )
    live.control("step").focus()
    before, where = live.value("step"), live.page.evaluate(active)
    for key in ("Home", "ArrowRight", "ArrowDown", "ArrowRight"):
        live.page.keyboard.press(key)
    assert live.value("step") == 0.5 != before
    live.control("kind").focus()
    for key in ("x", "y", "a", "b"):
        live.page.keyboard.press(key)
    live.control("start").focus()
    for key in ("ArrowUp", "ArrowLeft", "x", "d", "d"):
        live.page.keyboard.press(key)
    assert live.value("start") == (-1, 1)
    live.control("play").focus()
    live.page.keyboard.press("x")
    assert cells.count() == count and live.page.evaluate(active) == where


def test_a_slow_answer_is_preceded_by_the_nearest_stored_picture(live, ranges):
    set_on_the_grid(live, step=0.5, start=[1, 0])
    meanwhile = live.root.evaluate(
        """async (root) => {
          const view = root.exView, real = view.host.request.bind(view.host);
          const after = (ms) => new Promise((r) => setTimeout(r, ms));
          view.host.request = async (...a) => { await after(200); return real(...a); };
          view.choose("step", 0.31);
          while (view.newest.busy) await after(20);
          view.choose("step", 1.47);
          view.host.request = real;
          return root.exState();
        }"""
    )
    assert (meanwhile["source"], meanwhile["parameters"]["step"]) == ("grid", 1.47)
    stored = bowl(step=1.5, start=(1, 0), kind=meanwhile["parameters"]["kind"]).marks["path"]
    x = coordinates(bowl, "path", stored)["x"].ravel()
    np.testing.assert_allclose(meanwhile["marks"]["path"]["x"], x, rtol=0, atol=4 * TOLERANCE)
    wait_until(live, "s.source === 'live' && s.parameters.step === 1.47")
    compare(live, ranges)


def test_only_the_newest_of_many_values_is_computed(live, ranges):
    set_on_the_grid(live, step=0.5, start=[1, 0])
    sent = live.root.evaluate(
        """async (root) => {
          const view = root.exView, real = view.host.request.bind(view.host);
          let sent = 0;
          view.host.request = (...a) => { sent++; return real(...a); };
          for (let k = 0; k < 60; k++) view.choose("step", 0.3 + 0.001 * k);
          while (view.newest.busy) await new Promise((r) => setTimeout(r, 20));
          view.host.request = real;
          return sent;
        }"""
    )
    assert sent == 2
    wait_until(live, "s.source === 'live' && Math.abs(s.parameters.step - 0.359) < 1e-12")
    compare(live, ranges)
