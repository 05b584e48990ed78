"""What is drawn: arrays with a style name. NaN is absent."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from attsvm_lib.scene.checks import flag, known, limits, number, number_format, numbers, text, words
from attsvm_lib.scene.styles import SCALES, STYLES


@dataclass(frozen=True, eq=False)
class Mark:
    """Something drawn in one panel; each array may have one leading time axis.

    ``style``: a name in `attsvm_lib.scene.styles.STYLES`. ``label``: its legend entry, if any. ``panel``: its
    panel's name, default the first.
    """

    style: str = field(default="series-1", kw_only=True)
    label: str = field(default="", kw_only=True)
    panel: str = field(default="", kw_only=True)

    # field -> (axes without time, names of the channels along its last axis, or the one channel it is)
    arrays: ClassVar[dict[str, tuple[int, tuple[str, ...]]]] = {}

    def __post_init__(self) -> None:
        kind = type(self).__name__
        known(f"{kind}.style", self.style, STYLES)
        text(f"{kind}.label", self.label)
        text(f"{kind}.panel", self.panel)
        counts: dict[str, int] = {}
        for name, (ndim, channels) in self.arrays.items():
            array = numbers(f"{kind}.{name}", getattr(self, name), nan=True)
            wanted = "(..., " + ", ".join(["N"] * (ndim - 1) + [str(len(channels))]) + ")"
            if array.ndim < ndim or (len(channels) > 1 and array.shape[-1] != len(channels)):
                raise ValueError(
                    f"{kind}.{name} must have shape {wanted if len(channels) > 1 else f'with {ndim} axes'}"
                    f", got {array.shape}"
                )
            object.__setattr__(self, name, array)
            counts[name] = array.shape[-min(ndim, 2) if len(channels) > 1 else -1]
        if len(set(counts.values())) > 1:
            raise ValueError(
                f"{kind}.{' and .'.join(counts)} must have the same number of points, "
                f"got {' and '.join(map(str, counts.values()))}"
            )

    def channels(self) -> dict[str, np.ndarray]:
        """Each coordinate as its own array, time (if any) first; a name begins with its axis (x, y, z, v)."""
        out = {}
        for name, (_, channels) in self.arrays.items():
            array = getattr(self, name)
            parts = [array] if len(channels) == 1 else [array[..., k] for k in range(len(channels))]
            out.update(zip(channels, parts, strict=True))
        return out

    def static(self) -> dict[str, Any]:
        """Everything but the arrays: must be the same on the whole grid."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in self.arrays}


@dataclass(frozen=True, eq=False)
class Line(Mark):
    """A curve through (x, y), each (K,); drawn whole. NaN breaks it. ``markers=True`` shows the points."""

    x: Any
    y: Any
    markers: bool = field(default=False, kw_only=True)
    arrays: ClassVar = {"x": (1, ("x",)), "y": (1, ("y",))}

    def __post_init__(self) -> None:
        super().__post_init__()
        flag("Line.markers", self.markers)


@dataclass(frozen=True, eq=False)
class Path(Mark):
    """A trajectory ``xy`` (frames, 2), drawn up to the current frame with a marker at its head.

    (frames, N, 2) draws N of them. In a scene without time it is drawn whole.
    """

    xy: Any
    arrays: ClassVar = {"xy": (2, ("x", "y"))}


@dataclass(frozen=True, eq=False)
class Points(Mark):
    """N points ``xy`` (N, 2). ``text``: a tuple of N short labels drawn beside them."""

    xy: Any
    text: tuple[str, ...] = field(default=(), kw_only=True)
    arrays: ClassVar = {"xy": (2, ("x", "y"))}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "text", words("Points.text", self.text))
        if self.text and len(self.text) != self.xy.shape[-2]:
            raise ValueError(f"Points.text must have {self.xy.shape[-2]} labels, got {len(self.text)}")


@dataclass(frozen=True, eq=False)
class _Spans(Mark):
    begin: Any
    end: Any
    arrays: ClassVar = {"begin": (2, ("x0", "y0")), "end": (2, ("x1", "y1"))}


class Arrows(_Spans):
    """N arrows from ``begin`` (N, 2) to ``end`` (N, 2), both positions in the panel."""


class Segments(_Spans):
    """N straight segments from ``begin`` (N, 2) to ``end`` (N, 2)."""


@dataclass(frozen=True, eq=False)
class Heatmap(Mark):
    """``values`` (R, C) as colored cells; row 0 at the first y of ``extent`` (bottom, unless ylim is
    reversed).

    ``limits``: values at both ends of the color scale (default: smallest and largest on the grid).
    ``scale``: a name in `attsvm_lib.scene.styles.SCALES`. ``extent`` (x0, x1, y0, y1): outer edges, default:
    cell (i, j) is centered at (x=j, y=i). ``format``: how a cell's value is written (in its tooltip and
    where the color scale ends). Absent cells are hatched.
    """

    values: Any
    limits: tuple[float, float] | None = field(default=None, kw_only=True)
    scale: str = field(default="sequential", kw_only=True)
    extent: tuple[float, float, float, float] | None = field(default=None, kw_only=True)
    format: str = field(default=".2f", kw_only=True)
    arrays: ClassVar = {"values": (2, ("v",))}

    def __post_init__(self) -> None:
        super().__post_init__()
        known("Heatmap.scale", self.scale, SCALES)
        number_format("Heatmap.format", self.format)
        object.__setattr__(self, "limits", limits("Heatmap.limits", self.limits))
        rows, columns = self.values.shape[-2:]
        extent = (-0.5, columns - 0.5, -0.5, rows - 0.5) if self.extent is None else self.extent
        edges = numbers("Heatmap.extent (x0, x1, y0, y1)", extent, shape=(4,)).tolist()
        across = limits("Heatmap.extent[:2]", edges[:2]), limits("Heatmap.extent[2:]", edges[2:])
        object.__setattr__(self, "extent", across[0] + across[1])


@dataclass(frozen=True, eq=False)
class Bars(Mark):
    """K vertical bars at ``x`` (K,) of height ``y`` (K,) above zero; ``width`` in units of the x axis."""

    x: Any
    y: Any
    width: float = field(default=0.7, kw_only=True)
    arrays: ClassVar = {"x": (1, ("x",)), "y": (1, ("y",))}

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", number("Bars.width", self.width, 1e-12))


@dataclass(frozen=True, eq=False)
class Points3D(Mark):
    """N points ``xyz`` (N, 3) in a `Panel3D`; those behind the center are drawn fainter and smaller."""

    xyz: Any
    arrays: ClassVar = {"xyz": (2, ("x", "y", "z"))}
