"""What the viewer has to know about a scene besides its numbers, as plain JSON."""

from __future__ import annotations

from typing import Any

from attsvm_lib.explore.encode import Encoded
from attsvm_lib.scene.coordinates import Ranges, minus, texts, ticks
from attsvm_lib.scene.function import Scene, SceneFunction
from attsvm_lib.scene.marks import Bars, Heatmap, Line, Mark, Points
from attsvm_lib.scene.panels import Panel, Panel3D
from attsvm_lib.scene.parameters import Choice, Drag, Parameter, Pick, Slider, Toggle
from attsvm_lib.scene.styles import SCALES, STYLES


def spec(function: SceneFunction, encoded: Encoded) -> dict[str, Any]:
    """The scene's declaration: words, parameters with their grids, panels with ticks, marks with their
    storage.
    """
    sample, time = encoded.sample, function.time
    return {
        "scene": function.name,
        "title": function.title,
        "instruction": function.instruction,
        "caption": function.caption,
        "parameters": [
            {"name": name, "label": p.label} | _parameter(function, sample, p)
            for name, p in function.parameters.items()
        ],
        "panels": [_panel(name, p, encoded.ranges) for name, p in function.panels.items()],
        "time": time
        and {
            "label": time.label,
            "texts": texts(time.values, time.format, time.unit),
            "seconds": time.seconds,
            "frames": time.frames,
        },
        "marks": [_mark(function, encoded, name, mark) for name, mark in sample.marks.items()],
        "readouts": [{"name": name, "label": r.label, "frames": len(r.texts())} for name, r in sample.readouts.items()],
        "text": list(encoded.text),
    }


def _parameter(function: SceneFunction, sample: Scene, p: Parameter) -> dict[str, Any]:
    if isinstance(p, Slider):
        return {
            "kind": "slider",
            "values": list(p.values),
            "texts": texts(p.values, p.format, p.unit),
            "unit": p.unit,
            "onlyGrid": p.only_grid,
        }
    if isinstance(p, Choice):
        return {"kind": "choice", "values": list(p.options)}
    if isinstance(p, Toggle):
        return {"kind": "toggle", "values": [False, True]}
    if isinstance(p, Drag):
        return {
            "kind": "drag",
            "x": list(p.x),
            "y": list(p.y),
            "xtexts": texts(p.x, p.format),
            "ytexts": texts(p.y, p.format),
            "panel": p.panel or next(iter(function.panels)),
            "style": p.style,
        }
    assert isinstance(p, Pick)
    return {"kind": "pick", "mark": p.mark, "shape": list(p.shape)} | _cells(function, sample, p)


def _cells(function: SceneFunction, sample: Scene, p: Pick) -> dict[str, list[str]]:
    """What a heatmap's rows and columns are called: by the panel's ticks, else by their position."""
    mark = sample.marks[p.mark]
    panel = function.panel_of(p.mark, mark)
    x0, x1, y0, y1 = mark.extent

    def name(axis: str, a: float, b: float, k: int, count: int) -> str:
        center = a + (b - a) * (k + 0.5) / count
        own = getattr(panel, axis + "ticks") or {}
        text = next((t for v, t in own.items() if abs(v - center) < 1e-9), minus(f"{center:.4g}"))
        return f"{getattr(panel, axis + 'label') or axis} {text}"

    rows, columns = p.shape
    return {
        "rows": [name("y", y0, y1, i, rows) for i in range(rows)],
        "columns": [name("x", x0, x1, j, columns) for j in range(columns)],
    }


def _panel(name: str, panel: Panel | Panel3D, ranges: Ranges) -> dict[str, Any]:
    if isinstance(panel, Panel3D):
        return {
            "name": name,
            "kind": "3d",
            "title": panel.title,
            "camera": list(panel.camera),
            "half": panel.half_width,
            "sphere": panel.sphere,
        }
    x, y = ranges.axis(name, "x"), ranges.axis(name, "y")
    return {
        "name": name,
        "kind": "2d",
        "title": panel.title,
        "xlabel": panel.xlabel,
        "ylabel": panel.ylabel,
        "x": list(x),
        "y": list(y),
        "equal": panel.equal,
        "height": panel.height,
        "axes": panel.axes,
        "xlog": panel.xscale == "log",
        "ylog": panel.yscale == "log",
        "xticks": ticks(panel, "x", x),
        "yticks": ticks(panel, "y", y),
    }


def _mark(function: SceneFunction, encoded: Encoded, name: str, mark: Mark) -> dict[str, Any]:
    out = {
        "name": name,
        "kind": type(mark).__name__.lower(),
        "panel": mark.panel or next(iter(function.panels)),
        "style": mark.style,
        "label": mark.label,
        "channels": encoded.channels[name],
    }
    if isinstance(mark, Line):
        out["markers"] = mark.markers
    if isinstance(mark, Points):
        out["text"] = list(mark.text)
    if isinstance(mark, Bars):
        out["width"] = mark.width
    if isinstance(mark, Heatmap):
        low, high = encoded.ranges.color(name, mark)
        out |= {
            "limits": [low, high],
            "scale": SCALES[mark.scale],
            "extent": list(mark.extent),
            "shape": list(mark.values.shape[-2:]),
            "ends": texts((low, (low + high) / 2, high), mark.format),
        }
    return out


def styles_used(declaration: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows of the style table that this scene needs, for the viewer."""
    names = {m["style"] for m in declaration["marks"]} | {p["style"] for p in declaration["parameters"] if "style" in p}
    return {name: vars(STYLES[name]) | {"dash": list(STYLES[name].dash)} for name in sorted(names)}
