"""Drives every control of an explorable in a real browser and compares what is drawn with the library.

`drive(explorable, how)` does it for one explorable on an open page and one way of input ("keyboard", "mouse" or
"touch"): after each step the picture's own attributes (path data, positions, sizes, colors), the numbers behind it
and the readouts are compared with a fresh call of the scene. Any page will do: a chapter, a test page, JupyterLab.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

from attsvm_lib.explore import Explorable as Widget
from attsvm_lib.scene import SCALES, STYLES, Choice, Drag, Panel3D, Pick, Scene, SceneFunction, Slider, Toggle
from attsvm_lib.scene.coordinates import Ranges, coordinates

WAYS = ("keyboard", "mouse", "touch")
TOLERANCE = 1e-4  # of the axis range
READY = (
    "() => document.querySelectorAll('.ex-root').length >= {0} && !document.querySelector('.ex-root[data-ready=false]')"
)

DRAWN = """root => {
  const numbers = (d) => (d.match(/-?[0-9.]+(?:e-?[0-9]+)?/g) || []).map(Number);
  const shown = (e) => e.getAttribute('display') !== 'none';
  const marks = {};
  for (const g of root.querySelectorAll('[data-mark]')) {
    const all = (s) => [...g.querySelectorAll(s)].filter(shown);
    const svg = g.closest('svg');
    marks[g.dataset.mark] = {
      map: JSON.parse(svg.dataset.map),
      angles: JSON.parse(svg.querySelector('[data-angles]')?.dataset.angles ?? 'null'),
      curve: numbers(g.querySelector('.ex-curve')?.getAttribute('d') ?? ''),
      markers: all('.ex-marker').map((e) => numbers(e.getAttribute('transform'))),
      heads: all('.ex-head').map((e) => numbers(e.getAttribute('transform'))),
      items: all('[data-item]').map((e) => Number(e.dataset.item)),
      boxes: all('rect').map((e) => ['x', 'y', 'width', 'height'].map((k) => Number(e.getAttribute(k)))),
      fills: all('rect').map((e) => e.getAttribute('fill')),
    };
  }
  return { state: root.exState(), marks };
}"""


@dataclass
class Explorable:
    """One view on a page: ``root`` is its element's locator, ``scene`` what it shows."""

    root: Any
    scene: SceneFunction

    @property
    def page(self):
        return self.root.page

    def control(self, name: str):
        """Elements of a control: one, or a choice's radio buttons."""
        return self.root.locator(f"[data-control='{name}']")

    def state(self) -> dict[str, Any]:
        return self.root.evaluate("root => root.exState()")

    def value(self, name: str) -> Any:
        """A parameter as Python has it."""
        state = self.state()
        v = state["frame"] if name == "frame" else state["parameters"][name]
        return tuple(v) if isinstance(v, list) else v


def compare(explorable: Explorable, ranges: Ranges) -> dict[str, Any]:
    """Everything drawn now against the library; returns the state. ``ranges``: of the whole grid, see `whole_grid`."""
    drawn, scene = explorable.root.evaluate(DRAWN), explorable.scene
    state = drawn["state"]
    params = {k: tuple(v) if isinstance(v, list) else v for k, v in state["parameters"].items()}
    exact = grid_of(scene).get(tuple(params[name] for name in scene.parameters)) or scene(**params)
    frame = state["frame"]
    for name, r in exact.readouts.items():
        texts = r.texts()
        assert state["readouts"][name] == texts[min(frame, len(texts) - 1)], (scene.name, params, frame, name)
    assert state["message"] == (exact.message or "")
    for name, mark in exact.marks.items():
        placed = coordinates(scene, name, mark)
        kind = type(mark).__name__
        for channel, array in placed.items():
            low, high = sorted(_range(scene, ranges, name, mark, channel))
            now = array.ravel() if kind == "Path" else array[min(frame, len(array) - 1)]
            got = np.array(state["marks"][name][channel], dtype=float)
            np.testing.assert_allclose(got, now, rtol=0, atol=TOLERANCE * (high - low), err_msg=f"{name} {channel}")
        _compare_picture(
            kind,
            scene,
            mark,
            placed,
            frame,
            drawn["marks"][name],
            ranges.color(name, mark) if kind == "Heatmap" else None,
        )
    return state


@functools.cache
def grid_of(scene: SceneFunction) -> dict[tuple, Scene]:
    """The library's scenes by their arguments, evaluated once in a test run."""
    return {tuple(arguments.values()): picture for arguments, picture in scene.over_grid()}


@functools.cache
def widget_of(scene: SceneFunction) -> Widget:
    """The scene's widget, made once in a test run."""
    pairs = [(dict(zip(scene.parameters, key, strict=True)), picture) for key, picture in grid_of(scene).items()]
    with mock.patch.object(scene, "over_grid", lambda: iter(pairs)):
        return Widget(scene)


def whole_grid(scene: SceneFunction) -> Ranges:
    """The ranges of a scene's axes."""
    return widget_of(scene).ranges


def _range(scene, ranges, name, mark, channel):
    if channel == "v":
        return ranges.color(name, mark)
    return ranges.axis(mark.panel or next(iter(scene.panels)), channel[0])


def _compare_picture(kind, scene, mark, placed, frame, drawn, colors):
    """Pixels in the page against pixels computed here; a pixel's hundredths are rounded by the viewer."""
    x0, x1, left, right, y0, y1, bottom, top = drawn["map"]
    style = STYLES[mark.style]

    def to_x(v):
        return left + (v - x0) / (x1 - x0) * (right - left)

    def to_y(v):
        return bottom + (v - y0) / (y1 - y0) * (top - bottom)

    def near(got, want, slack=1.0):
        want = np.asarray(want, dtype=float).reshape(-1)
        got = np.asarray(got, dtype=float).reshape(-1)
        wide = TOLERANCE * max(abs(right - left), abs(bottom - top))
        np.testing.assert_allclose(got, want, rtol=0, atol=0.006 + slack * wide, err_msg=kind)

    now = {k: a if kind == "Path" else a[min(frame, len(a) - 1)] for k, a in placed.items()}
    if kind == "Line":
        xy = np.column_stack([to_x(now["x"]), to_y(now["y"])])
        near(drawn["curve"], xy[np.isfinite(xy).all(axis=1)])
        if mark.markers:
            near(drawn["markers"], xy[np.isfinite(xy).all(axis=1)])
    elif kind == "Path":
        last = frame + 1 if scene.time else len(now["x"])
        xy = np.stack([to_x(now["x"][:last]), to_y(now["y"][:last])], axis=2).transpose(1, 0, 2)
        near(drawn["curve"], xy[np.isfinite(xy).all(axis=2)])
        heads = xy[:, -1][np.isfinite(xy[:, -1]).all(axis=1)]
        near(drawn["markers"], heads if style.marker != "none" else [])
    elif kind == "Points":
        xy = np.column_stack([to_x(now["x"]), to_y(now["y"])])
        near(drawn["markers"], xy[np.isfinite(xy).all(axis=1)])
    elif kind in ("Arrows", "Segments"):
        span = np.column_stack([to_x(now["x0"]), to_y(now["y0"]), to_x(now["x1"]), to_y(now["y1"])])
        span = span[np.isfinite(span).all(axis=1)]
        got = np.reshape(drawn["curve"], (-1, 4))
        near(got[:, :2], span[:, :2])
        if kind == "Segments":
            near(got[:, 2:], span[:, 2:])
        else:
            long = span[np.hypot(span[:, 2] - span[:, 0], span[:, 3] - span[:, 1]) >= 1]
            near([h[:2] for h in drawn["heads"]], long[:, 2:])
    elif kind == "Bars":
        present = np.isfinite(now["x"]) & np.isfinite(now["y"])
        a, b = to_x(now["x"] - mark.width / 2), to_x(now["x"] + mark.width / 2)
        zero, end = to_y(np.zeros_like(now["y"])), to_y(now["y"])
        want = np.column_stack([np.minimum(a, b), np.minimum(zero, end), abs(b - a), abs(end - zero)])
        near(drawn["boxes"], want[present], slack=2)
    elif kind == "Heatmap":
        _compare_colors(mark, now["v"], drawn["fills"], colors)
    elif kind == "Points3D":
        _compare_turned(scene, mark, now, drawn, to_x, to_y, near)
    else:
        raise AssertionError(f"no comparison for {kind}")


def _compare_colors(mark, values, fills, limits):
    """A cell's color is that of its value, among 256 steps; a neighbor where the value is on the border of two."""
    stops = np.array([[int(s[k : k + 2], 16) for k in (1, 3, 5)] for s in SCALES[mark.scale]], dtype=float)
    table = np.column_stack([np.interp(np.linspace(0, len(stops) - 1, 256), range(len(stops)), c) for c in stops.T])
    for value, fill in zip(values, fills, strict=True):
        if np.isnan(value):
            assert fill.startswith("url("), fill
            continue
        step = 255 * np.clip((value - limits[0]) / (limits[1] - limits[0]), 0, 1)
        got = np.array([int(c) for c in re.findall(r"\d+", fill)])
        steps = {int(np.floor(step + 0.47)), int(np.floor(step + 0.53))}
        assert any(abs(got - table[min(k, 255)]).max() <= 0.51 for k in steps), (value, fill)


def _compare_turned(scene, mark, now, drawn, to_x, to_y, near):
    panel = scene.panel_of("", mark)
    azimuth, elevation = drawn["angles"]
    xyz = np.array([now["x"], now["y"], now["z"]])
    x, y, depth = Panel3D(half_width=panel.half_width, camera=(azimuth, elevation)).rotation() @ xyz
    order = [k for k in drawn["items"] if np.isfinite(depth[k])]
    assert len(order) == np.isfinite(depth).sum()
    near([m[:2] for m in drawn["markers"]], np.column_stack([to_x(x[order]), to_y(y[order])]))
    assert (np.diff(depth[order]) >= -1e-3).all(), "nearer points are drawn later"


# ------------------------------------------------------------------------------------------ ways of input


def drive(explorable: Explorable, how: str) -> int:
    """Move each control in one way, comparing after each step; returns the number of comparisons."""
    ranges = whole_grid(explorable.scene)
    explorable.root.scroll_into_view_if_needed()
    compare(explorable, ranges)
    count = 1
    names = list(explorable.scene.parameters) + (["frame"] if explorable.scene.time else [])
    for name in names:
        before = explorable.value(name)
        seen = []
        for _ in STEPS[how, _kind(explorable, name)](explorable, name):
            compare(explorable, ranges)
            seen.append(explorable.value(name))
            count += 1
        assert len({before, *seen}) > 1, f"{how} did not move {name}: {before} {seen}"
    for panel in explorable.root.locator("[data-control^='camera:']").all():
        before = panel.get_attribute("data-angles")
        for _ in TURNS[how](explorable, panel):
            compare(explorable, ranges)
            count += 1
        assert panel.get_attribute("data-angles") != before
    return count


def _kind(explorable, name):
    return "Slider" if name == "frame" else type(explorable.scene.parameters[name]).__name__


def _grid(explorable, name):
    return list(range(explorable.scene.time.frames)) if name == "frame" else explorable.scene.parameters[name].grid


def keys_on_slider(e, name):
    grid, box = _grid(e, name), e.control(name)
    box.focus()
    for key, want in [
        ("Home", grid[0]),
        ("ArrowRight", grid[1]),
        ("ArrowUp", grid[min(2, len(grid) - 1)]),
        ("ArrowLeft", grid[1] if len(grid) > 2 else grid[0]),
        ("End", grid[-1]),
        ("ArrowDown", grid[-2]),
        ("PageUp", grid[-1]),
    ]:
        e.page.keyboard.press(key)
        assert e.value(name) == want, (name, key)
        yield
    e.page.keyboard.press("PageDown")
    assert e.value(name) < grid[-1]
    yield


def keys_on_choice(e, name):
    box = e.control(name)
    if box.count() > 1:
        e.root.locator(f"[data-control='{name}']:checked").focus()
    else:
        box.focus()
    options = e.scene.parameters[name].options
    start = options.index(e.value(name))
    for k in range(1, len(options)):
        wrapped = (start + k) % len(options)
        e.page.keyboard.press("ArrowDown" if box.count() > 1 or wrapped > 0 else "Home")
        assert e.value(name) == options[wrapped]
        yield


def keys_on_toggle(e, name):
    e.control(name).focus()
    for _ in range(2):
        before = e.value(name)
        e.page.keyboard.press("Space")
        assert e.value(name) is not before
        yield


def keys_on_drag(e, name):
    p, box = e.scene.parameters[name], e.control(name)
    box.focus()
    for key, axis in [
        ("ArrowRight", 0),
        ("ArrowUp", 1),
        ("ArrowLeft", 0),
        ("ArrowDown", 1),
        ("Shift+ArrowRight", 0),
        ("PageDown", 1),
        ("Home", None),
    ]:
        before = e.value(name)
        e.page.keyboard.press(key)
        after = e.value(name)
        assert after[0] in p.x and after[1] in p.y
        if axis is not None and len(p.x) > 2 and len(p.y) > 2:
            assert after[1 - axis] == before[1 - axis]
        assert box.get_attribute("aria-valuetext")
        yield


def keys_on_pick(e, name):
    e.control(name).focus()
    for key in ["ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown", "Shift+ArrowRight", "Shift+ArrowUp", "Home"]:
        e.page.keyboard.press(key)
        rows, columns = e.scene.parameters[name].shape
        i, j = e.value(name)
        assert 0 <= i < rows and 0 <= j < columns
        yield


class Pointer:
    """Mouse or finger: press, move, release at page positions."""

    def __init__(self, page, finger):
        self.page, self.finger = page, finger
        self.wire = page.context.new_cdp_session(page) if finger else None

    def _touch(self, kind, *points):
        where = [{"x": x, "y": y} for x, y in points]
        self.wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": where})

    def tap(self, x, y):
        if self.finger:
            self.page.touchscreen.tap(x, y)
        else:
            self.page.mouse.click(x, y)

    def drag(self, start, *stops):
        """Press at ``start``, stop at each of ``stops`` (yielding there), release."""
        if self.finger:
            self._touch("touchStart", start)
        else:
            self.page.mouse.move(*start)
            self.page.mouse.down()
        for stop in stops:
            if self.finger:
                self._touch("touchMove", stop)
            else:
                self.page.mouse.move(*stop, steps=2)
            self.page.evaluate("() => new Promise(requestAnimationFrame)")
            yield
        if self.finger:
            self._touch("touchEnd")
        else:
            self.page.mouse.up()


def pointing(finger):
    def center(locator):
        locator.scroll_into_view_if_needed()
        box = locator.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, box

    def on_slider(e, name):
        pointer, grid = Pointer(e.page, finger), _grid(e, name)
        box = e.control(name)
        for share in (0.2, 0.8, 0.5):
            _, y, b = center(box)
            pointer.tap(b["x"] + 9 + share * (b["width"] - 18), y)
            assert e.value(name) in grid
            yield
        if not finger:
            x, y, b = center(box)
            at = b["x"] + 9 + (b["width"] - 18) * grid.index(e.value(name)) / (len(grid) - 1)
            yield from pointer.drag((at, y), (b["x"] + 9 + 0.3 * (b["width"] - 18), y), (b["x"] + b["width"] + 30, y))
            assert e.value(name) == grid[-1]

    def on_choice(e, name):
        pointer, box = Pointer(e.page, finger), e.control(name)
        options = e.scene.parameters[name].options
        for option in [*options[1:], options[0]]:
            if box.count() > 1:
                id_ = e.root.locator(f"[data-control='{name}'][value='{option}']").get_attribute("id")
                x, y, _ = center(e.root.locator(f"label[for='{id_}']"))
                pointer.tap(x, y)
            else:
                box.select_option(option)  # its list is the system's, outside the page
            assert e.value(name) == option
            yield

    def on_toggle(e, name):
        pointer, box = Pointer(e.page, finger), e.control(name)
        for target in (box, e.root.locator(f"label[for='{box.get_attribute('id')}']")):
            before = e.value(name)
            x, y, _ = center(target)
            pointer.tap(x, y)
            assert e.value(name) is not before
            yield

    def on_drag(e, name):
        p, pointer = e.scene.parameters[name], Pointer(e.page, finger)
        handle = e.control(name)
        svg = handle.locator("xpath=ancestor::*[local-name()='svg']")
        x, y, _ = center(handle.locator(".ex-hit"))
        x0, x1, left, right, y0, y1, bottom, top = json.loads(svg.get_attribute("data-map"))
        frame = svg.bounding_box()

        def at(value):
            return (
                frame["x"] + left + (value[0] - x0) / (x1 - x0) * (right - left),
                frame["y"] + bottom + (value[1] - y0) / (y1 - y0) * (top - bottom),
            )

        targets = [(p.x[0], p.y[0]), (p.x[-1], p.y[len(p.y) // 2]), (p.x[len(p.x) // 3], p.y[-1])]
        steps = pointer.drag((x, y), *map(at, targets))
        for target, _ in zip(targets, steps, strict=False):
            np.testing.assert_allclose(e.value(name), target)
            yield
        for _ in steps:
            pass
        pointer.tap(*at((p.x[1], p.y[1])))
        np.testing.assert_allclose(e.value(name), (p.x[1], p.y[1]))
        yield

    def on_pick(e, name):
        p, pointer = e.scene.parameters[name], Pointer(e.page, finger)
        mark = e.scene().marks[p.mark]
        svg = e.control(name).locator("xpath=ancestor::*[local-name()='svg']")
        svg.scroll_into_view_if_needed()
        frame = svg.bounding_box()
        x0, x1, left, right, y0, y1, bottom, top = json.loads(svg.get_attribute("data-map"))
        a, b, c, d = mark.extent
        for i, j in [(0, 0), (p.shape[0] - 1, p.shape[1] - 1), (p.shape[0] // 2, 0), (0, p.shape[1] // 2)]:
            u, v = a + (b - a) * (j + 0.5) / p.shape[1], c + (d - c) * (i + 0.5) / p.shape[0]
            pointer.tap(
                frame["x"] + left + (u - x0) / (x1 - x0) * (right - left),
                frame["y"] + bottom + (v - y0) / (y1 - y0) * (top - bottom),
            )
            assert e.value(name) == (i, j)
            yield

    def turn(e, panel):
        x, y, _ = center(panel)
        yield from Pointer(e.page, finger).drag((x, y), (x + 40, y + 10), (x + 90, y - 35))

    return {Slider: on_slider, Choice: on_choice, Toggle: on_toggle, Drag: on_drag, Pick: on_pick, "turn": turn}


def keys_turn(e, panel):
    panel.focus()
    for key in ["ArrowRight", "ArrowUp", "Shift+ArrowLeft", "ArrowDown"]:
        e.page.keyboard.press(key)
        assert "azimuth" in panel.get_attribute("aria-valuetext")
        yield


KEYS = {
    Slider: keys_on_slider,
    Choice: keys_on_choice,
    Toggle: keys_on_toggle,
    Drag: keys_on_drag,
    Pick: keys_on_pick,
    "turn": keys_turn,
}
MEANS = {"keyboard": KEYS, "mouse": pointing(False), "touch": pointing(True)}
STEPS = {(how, kind.__name__): f for how, means in MEANS.items() for kind, f in means.items() if kind != "turn"}
TURNS = {how: means["turn"] for how, means in MEANS.items()}


def tab_order(explorable: Explorable) -> list[str]:
    """Names of the controls that the Tab key visits, in order, from just before the explorable on."""
    explorable.root.evaluate("root => { root.tabIndex = -1; root.focus(); }")
    seen: list[str] = []
    for _ in range(40):
        explorable.page.keyboard.press("Tab")
        name = explorable.root.evaluate(
            "root => root.contains(document.activeElement) ? document.activeElement.dataset.control ?? '' : null"
        )
        if name is None:
            break
        if name and name not in seen:
            seen.append(name)
    return seen
