r"""From a scene's numbers to axis coordinates: what is drawn, and over which range.

On a linear axis a coordinate is the value; on a log axis it is :math:`\log_{10}` of it. Both the widget and
the Matplotlib figure place marks and ticks by these functions. Coordinates outside the range that
`attsvm_lib.scene.checks` documents are refused: a ValueError names the scene and the mark.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from attsvm_lib.scene.checks import LARGEST, LARGEST_EXPONENT, wide_enough
from attsvm_lib.scene.function import Scene, SceneFunction
from attsvm_lib.scene.marks import Bars, Heatmap, Mark, Path
from attsvm_lib.scene.panels import Panel, Panel3D

PADDING = 0.06  # of the data's range, on each side, where a panel gives no limits


def coordinates(function: SceneFunction, name: str, mark: Mark) -> dict[str, np.ndarray]:
    """Channel -> array (frames or 1, items) in axis coordinates. A path's first axis is always its
    curve's. ValueError for values outside the range that can be drawn.
    """
    panel, out = function.panel_of(name, mark), {}
    for channel, array in mark.channels().items():
        own_axes = next(n for n, channels in mark.arrays.values() if channel in channels)
        own_axes -= len(mark.channels()) > 1 and own_axes == 2
        lead = array.ndim - own_axes
        if isinstance(mark, Path):
            array = array.reshape(array.shape[0], -1)
        else:
            array = array.reshape(array.shape[0] if lead else 1, -1)
        out[channel] = _on_axis(f"{function.name}: mark {name!r}", panel, channel[0], array)
    return out


def _on_axis(name: str, panel: Panel | Panel3D, axis: str, array: np.ndarray) -> np.ndarray:
    """``array`` itself, or its log10 where that axis of the panel is logarithmic."""
    log = axis in "xy" and isinstance(panel, Panel) and getattr(panel, axis + "scale") == "log"
    if log and (array <= 0).any():
        raise ValueError(f"{name} has {axis} = {np.nanmin(array):g} on a log axis; make it NaN (absent)")
    placed, largest = (np.log10(array), LARGEST_EXPONENT) if log else (array, LARGEST)
    outside = np.abs(placed) > largest
    if outside.any():
        allowed = f"1e-{largest} to 1e{largest}" if log else f"{-largest:g} to {largest:g}"
        raise ValueError(
            f"{name} has {axis} = {array[outside][0]:g}, but an axis shows {allowed}; "
            "rescale it or make it NaN (absent)"
        )
    return placed


class Ranges:
    """The range of each axis and color scale, over all scenes it has seen.

    ``add`` each scene, then ask ``axis(panel, "x" | "y")`` and ``color(mark)`` for (low, high).
    """

    def __init__(self, function: SceneFunction) -> None:
        self.function = function
        self.seen: dict[tuple[str, str], tuple[float, float]] = {}
        self.tight: set[str] = set()  # panels with a heatmap, whose cells reach the axes

    def add(self, scene: Scene) -> dict[str, dict[str, np.ndarray]]:
        """Take in a scene; returns its `coordinates` by mark name."""
        out = {}
        for name, mark in scene.marks.items():
            out[name] = coordinates(self.function, name, mark)
            panel = mark.panel or next(iter(self.function.panels))
            for channel, array in out[name].items():
                self._widen((name, "v") if channel == "v" else (panel, channel[0]), array)
            if isinstance(mark, Heatmap):
                self.tight.add(panel)
                self._widen((panel, "x"), np.array(mark.extent[:2]))
                self._widen((panel, "y"), np.array(mark.extent[2:]))
            if isinstance(mark, Bars):
                self._widen((panel, "x"), mark.channels()["x"] + mark.width / 2)
                self._widen((panel, "x"), mark.channels()["x"] - mark.width / 2)
                self._widen((panel, "y"), np.zeros(1))
        return out

    def _widen(self, key: tuple[str, str], array: np.ndarray) -> None:
        present = array[np.isfinite(array)]
        if present.size:
            low, high = self.seen.get(key, (math.inf, -math.inf))
            self.seen[key] = min(low, float(present.min())), max(high, float(present.max()))

    def axis(self, panel: str, axis: str) -> tuple[float, float]:
        """Limits of an axis in axis coordinates: the panel's own, else of what was seen, padded."""
        box = self.function.panels[panel]
        if isinstance(box, Panel3D):
            return -box.half_width, box.half_width
        limits = getattr(box, axis + "lim")
        if limits is not None:
            return tuple(math.log10(v) for v in limits) if getattr(box, axis + "scale") == "log" else limits
        low, high = self.seen.get((panel, axis), (0.0, 1.0))
        if not wide_enough(low, high):
            return _around(low, high)
        pad = 0.0 if panel in self.tight else PADDING * (high - low)
        return low - pad, high + pad

    def color(self, name: str, mark: Heatmap) -> tuple[float, float]:
        """Values at both ends of a heatmap's color scale."""
        if mark.limits is not None:
            return mark.limits
        low, high = self.seen.get((name, "v"), (0.0, 1.0))
        return (low, high) if wide_enough(low, high) else _around(low, high)


def _around(low: float, high: float) -> tuple[float, float]:
    """Limits about a number that is constant but for rounding."""
    pad = max(0.5, 1e-3 * abs(low))
    return low - pad, high + pad


def ticks(panel: Panel, axis: str, limits: tuple[float, float]) -> list[tuple[float, str]]:
    """(axis coordinate, text) of each tick within ``limits``."""
    own, log = getattr(panel, axis + "ticks"), getattr(panel, axis + "scale") == "log"
    low, high = sorted(limits)
    slack = 1e-9 * (high - low)
    if own is not None:
        placed = [(math.log10(v) if log else float(v), text) for v, text in own.items()]
    else:
        placed = _log_ticks(low, high) if log and high - low >= 1 else _linear_ticks(low, high, log)
    return [(v, text) for v, text in placed if low - slack <= v <= high + slack]


def _linear_ticks(low: float, high: float, log: bool) -> list[tuple[float, str]]:
    """About five round numbers; within one decade of a log axis they are labeled by their powers."""
    raw = (high - low) / 4.5
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((m * power for m in (1, 2, 2.5, 5, 10)), key=lambda s: abs(math.log(s / raw)))
    digits = max(0, 1 - math.floor(math.log10(step) + 1e-9)) if step == 2.5 * power else None
    digits = max(0, -math.floor(math.log10(step) + 1e-9)) if digits is None else digits
    values = np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1) * step
    return [(v, minus(f"{10**v:.3g}" if log else f"{v + 0.0:.{digits}f}")) for v in values.tolist()]


def _log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Powers of ten, at most about seven of them."""
    every = max(1, round((high - low) / 6))
    return [(float(k), "10" + _superscript(k)) for k in range(math.ceil(low), math.floor(high) + 1, every)]


def _superscript(k: int) -> str:
    return str(k).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def minus(text: str) -> str:
    """``text`` with a typographic minus, and no minus before zero."""
    return text.lstrip("-") if not any(c in "123456789" for c in text) else text.replace("-", "−")


def texts(values: Iterable[float], spec: str, unit: str = "") -> list[str]:
    """Numbers as written beside a control."""
    return [minus(f"{v:{spec}}") + unit for v in values]
