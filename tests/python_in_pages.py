"""Shared by the tests of Python in the page and of Jupyter in the browser: Pyodide's files, values off the grid."""

import os

import numpy as np
import pyodide_files
from driving import coordinates, whole_grid

from attsvm_lib.scene import Drag, Slider

TYPES = {".mjs": "text/javascript", ".js": "text/javascript", ".wasm": "application/wasm", ".json": "application/json"}
ACCURACY = 1e-6  # of the axis range
IDLE = "root => root.exView.scene.source === 'live' && !root.exView.newest.busy"


def answer_from_files(route, fault=None):
    """Answers a request to Pyodide's host from a local file, or as a fault says: down, never, missing, corrupt."""
    path = pyodide_files.FOLDER / route.request.url.rsplit("/", 1)[1].partition("?")[0]
    if fault == "down":
        return route.abort()
    if fault == "never":
        return None
    data = path.read_bytes() if path.is_file() else b""
    if fault == "corrupt":
        data = data[:1000] + bytes([data[1000] ^ 1]) + data[1001:]
    kind = TYPES.get(os.path.splitext(path.name)[1], "application/octet-stream")
    head = {"Access-Control-Allow-Origin": "*", "Content-Type": kind}
    return route.fulfill(status=200 if data and fault != "missing" else 404, headers=head, body=data)


def off_grid(scene, share=0.37):
    """Values between grid points, for the parameters that take any value: at this share of a step of the grid."""
    values = {}
    for name, p in scene.parameters.items():
        if isinstance(p, Slider) and not p.only_grid:
            values[name] = between(p.grid, share)
        elif isinstance(p, Drag):
            values[name] = [between(p.x, share), between(p.y, share)]
    return values


def between(grid, share):
    k = len(grid) // 3
    return float(grid[k] + share * (grid[k + 1] - grid[k]))


def choose(root, values):
    """Sets the parameters of the explorable `root` (a locator)."""
    root.evaluate("(root, all) => Object.entries(all).forEach(([name, v]) => root.exSet(name, v))", values)


def answer(root, timeout):
    """Waits for the exact picture of what was chosen; the state then."""
    root.page.wait_for_function(IDLE, arg=root.element_handle(), timeout=timeout)
    return root.evaluate("root => root.exState()")


def check(state, scene):
    """What the page computed against the library here."""
    params = {k: tuple(v) if isinstance(v, list) else v for k, v in state["parameters"].items()}
    exact, ranges, frame = scene(**params), whole_grid(scene), state["frame"]
    for name, mark in exact.marks.items():
        panel = mark.panel or next(iter(scene.panels))
        for channel, array in coordinates(scene, name, mark).items():
            low, high = ranges.color(name, mark) if channel == "v" else ranges.axis(panel, channel[0])
            now = array.ravel() if type(mark).__name__ == "Path" else array[min(frame, len(array) - 1)]
            got = np.array(state["marks"][name][channel], dtype=float)
            atol = ACCURACY * abs(high - low)
            np.testing.assert_allclose(got, now, rtol=0, atol=atol, err_msg=f"{scene.name}: {name} {channel}")
