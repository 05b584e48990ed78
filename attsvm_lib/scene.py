"""Scenes: what an explorable and a figure draw, as plain NumPy data.

A *scene function* is a pure function from parameters to a `Scene` (named marks and readouts). The decorator `scene`
gives it its parameters (each with a finite grid), its panels and its words. The same function is shown by
`attsvm_lib.explore.Explorable` (widget), by `attsvm_lib.figures.draw` (Matplotlib), and can simply be called::

    import numpy as np
    from attsvm_lib.scene import Panel, Path, Points, Readout, Scene, Slider, Time, scene

    STEPS = np.arange(41)

    @scene(
        title="Gradient descent on a bowl",
        instruction="Raise the step until the path jumps across the valley.",
        caption="The path of gradient descent; beyond a step of 1 it overshoots at each iteration.",
        parameters={"step": Slider("step η", np.linspace(0.1, 1.9, 19), start=0.5)},
        panels={"plane": Panel(xlabel="w₁", ylabel="w₂", xlim=(-1.5, 1.5), ylim=(-1.5, 1.5), equal=True)},
        time=Time("iteration", STEPS),
    )
    def bowl(step):
        \"""w(k) = (1 - step)^k w(0) on the loss ||w||²/2.\"""
        w = np.array([1.0, 0.8]) * (1 - step) ** STEPS[:, None]        # (frames, 2)
        return Scene(
            marks={"path": Path(w, style="W", label="gradient descent"),
                   "minimum": Points([[0, 0]], style="reference", label="minimum")},
            readouts={"norm": Readout(np.linalg.norm(w, axis=1), "distance to the minimum", ".3f")},
        )

    bowl(step=0.4).marks["path"].xy          # still a function: arguments are checked, defaults are the starts

Rules
-----
* A mark's arrays may have one more, leading, axis: time (its length is that of the scene's `Time`). `Path` has it always.
* NaN means *absent* (infeasible, not yet there): it is not drawn. Say why in ``Scene(message=...)``. Infinities are refused.
* Each call must return the same structure: the same names, types, shapes, labels and styles. Pad with NaN.
* A mark goes to its ``panel`` (default: the first). Draw directions as unit vectors and give norms as readouts.
* Limits left out of a `Panel` are taken from all values on the grid; give them, so that figures agree with the explorable.
* ``vectorized=True``: the function gets arrays with one entry for each grid point, (G,) for a slider, (G, 2) for `Drag`
  and `Pick` (`Choice` and `Toggle` stay single values), and each array it returns, readouts included, has a leading axis
  G, or 1 where it is the same for all. ``message`` may then be a sequence of G. Called directly it still takes and
  returns single values.
* A log axis (``yscale="log"``) needs positive values.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from attsvm_lib.styles import SCALES, STYLES

__all__ = [
    "Arrows", "Bars", "Choice", "Drag", "Heatmap", "Line", "Mark", "Panel", "Panel3D", "Parameter", "Path", "Pick",
    "Points", "Points3D", "Readout", "Scene", "SceneFunction", "Segments", "Slider", "Time", "Toggle", "scene",
]


def _numbers(name: str, values: Any, *, nan: bool = False) -> np.ndarray:
    """A read-only float64 copy of ``values``; NaN only if allowed, infinities never."""
    try:
        out = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of real numbers, got {values!r}") from None
    bad = np.isinf(out) if nan else ~np.isfinite(out)
    if bad.any():
        raise ValueError(f"{name} must be finite{' or NaN (absent)' if nan else ''}, got {out[bad].ravel()[0]}")
    out.flags.writeable = False
    return out


def _grid(name: str, values: Any) -> tuple[float, ...]:
    """A strictly increasing grid of at least two values."""
    out = _numbers(name, values)
    if out.ndim != 1 or out.size < 2 or (np.diff(out) <= 0).any():
        raise ValueError(f"{name} must be at least two strictly increasing numbers, got {values!r}")
    return tuple(out.tolist())


def _nearest(grid: tuple[float, ...], start: float | None) -> float:
    """The grid value nearest to ``start`` (the middle one when it is None)."""
    return grid[len(grid) // 2] if start is None else min(grid, key=lambda v: abs(v - start))


def _between(name: str, value: Any, grid: tuple[float, ...]) -> float:
    """``value`` as a float within the range of ``grid``."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, str) or not grid[0] <= number <= grid[-1]:
        raise ValueError(f"{name} must be a number from {grid[0]:g} to {grid[-1]:g}, got {value!r}")
    return number


# ---------------------------------------------------------------------------------------------------- parameters


class Parameter:
    """A named input of a scene: ``grid`` (what is precomputed), ``start``, and ``check`` (what is accepted live)."""

    label: str
    start: Any
    stays_scalar: ClassVar[bool] = False  # not turned into an array for a vectorized scene

    @property
    def grid(self) -> tuple:
        """All precomputed values, in the order of the explorable's storage."""
        raise NotImplementedError

    def check(self, name: str, value: Any) -> Any:
        """``value`` in canonical form; a ValueError that names ``name`` otherwise."""
        raise NotImplementedError


@dataclass(frozen=True)
class Slider(Parameter):
    """A number. ``values``: the grid, increasing; ``start``: moved to the nearest grid value (default: the middle one).

    ``format`` (a Python format) and ``unit`` show the value. ``only_grid=True`` for numbers that have no values in
    between (a width, a rank): a live kernel is then never asked for others. Passed to the scene as a float.
    """

    label: str
    values: Sequence[float]
    _: KW_ONLY
    start: float | None = None
    format: str = ".2f"
    unit: str = ""
    only_grid: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _grid("Slider.values", self.values))
        object.__setattr__(self, "start", _nearest(self.values, self.start))

    @property
    def grid(self) -> tuple[float, ...]:
        return self.values

    def check(self, name: str, value: Any) -> float:
        number = _between(name, value, self.values)
        if self.only_grid and number not in self.values:
            raise ValueError(f"{name} must be one of {', '.join(f'{v:g}' for v in self.values)}, got {value!r}")
        return number


@dataclass(frozen=True)
class Choice(Parameter):
    """One of a few words. ``options``: the strings shown and passed to the scene; ``start``: default the first."""

    label: str
    options: Sequence[str]
    _: KW_ONLY
    start: str | None = None
    stays_scalar: ClassVar[bool] = True

    def __post_init__(self) -> None:
        options = tuple(self.options)
        if isinstance(self.options, str) or len(set(options)) < 2 or len(set(options)) < len(options):
            raise ValueError(f"Choice.options must be at least two different strings, got {self.options!r}")
        object.__setattr__(self, "options", options)
        object.__setattr__(self, "start", options[0] if self.start is None else self.check("start", self.start))

    @property
    def grid(self) -> tuple[str, ...]:
        return self.options

    def check(self, name: str, value: Any) -> str:
        if value not in self.options:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, self.options))}, got {value!r}")
        return str(value)


@dataclass(frozen=True)
class Toggle(Parameter):
    """A yes/no switch, passed to the scene as a bool."""

    label: str
    _: KW_ONLY
    start: bool = False
    stays_scalar: ClassVar[bool] = True

    @property
    def grid(self) -> tuple[bool, bool]:
        return (False, True)

    def check(self, name: str, value: Any) -> bool:
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"{name} must be True or False, got {value!r}")
        return bool(value)


@dataclass(frozen=True)
class Drag(Parameter):
    """A point moved over the grid ``x`` times ``y`` in a panel; passed to the scene as a tuple (x, y) of floats.

    ``panel``: where it is drawn (default: the first). ``style``: the handle's look; the handle is part of the viewer,
    the scene need not draw it.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    _: KW_ONLY
    start: tuple[float, float] | None = None
    panel: str = ""
    style: str = "handle"
    format: str = ".2f"

    def __post_init__(self) -> None:
        x, y = _grid("Drag.x", self.x), _grid("Drag.y", self.y)
        sx, sy = (None, None) if self.start is None else self.start
        for key, value in {"x": x, "y": y, "start": (_nearest(x, sx), _nearest(y, sy))}.items():
            object.__setattr__(self, key, value)
        _known("Drag.style", self.style, STYLES)

    @property
    def grid(self) -> tuple[tuple[float, float], ...]:
        return tuple(itertools.product(self.x, self.y))

    def check(self, name: str, value: Any) -> tuple[float, float]:
        if np.shape(value) != (2,):
            raise ValueError(f"{name} must be a pair (x, y), got {value!r}")
        return _between(f"{name}[0]", value[0], self.x), _between(f"{name}[1]", value[1], self.y)


@dataclass(frozen=True)
class Pick(Parameter):
    """A cell of the heatmap mark named ``mark``, of ``shape`` (rows, columns); passed to the scene as (row, column)."""

    label: str
    mark: str
    shape: tuple[int, int]
    _: KW_ONLY
    start: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        if len(self.shape) != 2 or min(self.shape) < 1:
            raise ValueError(f"Pick.shape must be (rows, columns), got {self.shape!r}")
        object.__setattr__(self, "start", self.check("start", self.start))

    @property
    def grid(self) -> tuple[tuple[int, int], ...]:
        return tuple(itertools.product(range(self.shape[0]), range(self.shape[1])))

    def check(self, name: str, value: Any) -> tuple[int, int]:
        rows, columns = self.shape
        if np.shape(value) == (2,) and 0 <= value[0] < rows and 0 <= value[1] < columns:
            if int(value[0]) == value[0] and int(value[1]) == value[1]:
                return int(value[0]), int(value[1])
        raise ValueError(f"{name} must be a cell (row, column) of a {rows} x {columns} heatmap, got {value!r}")


@dataclass(frozen=True)
class Time:
    """The scrubber: ``values`` (frames,) is what each frame is called (iteration, time). Not passed to the scene.

    ``start``: first frame shown (an index; negative counts from the end). ``seconds``: how long playing takes.
    """

    label: str
    values: Sequence[float]
    _: KW_ONLY
    start: int = -1
    format: str = "g"
    unit: str = ""
    seconds: float = 5.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _grid("Time.values", self.values))
        if not -self.frames <= self.start < self.frames:
            raise ValueError(f"Time.start must be a frame from {-self.frames} to {self.frames - 1}, got {self.start}")
        object.__setattr__(self, "start", self.start % self.frames)

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.values)


# -------------------------------------------------------------------------------------------------------- panels


def _limits(name: str, limits: Any) -> tuple[float, float] | None:
    """Two different finite numbers; reversed limits turn the axis round."""
    if limits is None:
        return None
    out = _numbers(name, limits)
    if out.shape != (2,) or out[0] == out[1]:
        raise ValueError(f"{name} must be two different numbers, got {limits!r}")
    return float(out[0]), float(out[1])


def _known(name: str, value: str, allowed: Any) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


@dataclass(frozen=True)
class Panel:
    """A pair of axes. Limits may be reversed. ``xticks``/``yticks``: {position: text} in place of numbers.

    ``equal=True``: one unit has the same length on both axes. ``height``: height over width of the drawing area when
    not equal. ``axes=False`` draws marks only.
    """

    title: str = ""
    _: KW_ONLY
    xlabel: str = ""
    ylabel: str = ""
    xlim: tuple[float, float] | None = None
    ylim: tuple[float, float] | None = None
    xscale: str = "linear"
    yscale: str = "linear"
    xticks: Mapping[float, str] | None = None
    yticks: Mapping[float, str] | None = None
    equal: bool = False
    height: float = 0.75
    axes: bool = True

    def __post_init__(self) -> None:
        for axis in ("x", "y"):
            limits = _limits(f"Panel.{axis}lim", getattr(self, axis + "lim"))
            object.__setattr__(self, axis + "lim", limits)
            _known(f"Panel.{axis}scale", getattr(self, axis + "scale"), ("linear", "log"))
            if getattr(self, axis + "scale") == "log" and limits and min(limits) <= 0:
                raise ValueError(f"Panel.{axis}lim must be positive on a log axis, got {limits}")


@dataclass(frozen=True)
class Panel3D:
    """Three-dimensional points seen by an orthographic camera that the reader turns; for `Points3D` only.

    ``half_width``: the view shows [-half_width, half_width] in each direction. ``camera``: azimuth and elevation in
    degrees. ``sphere=True`` draws the outline and the equator of the unit sphere.
    """

    title: str = ""
    _: KW_ONLY
    half_width: float = 1.15
    camera: tuple[float, float] = (35.0, 20.0)
    sphere: bool = True


# --------------------------------------------------------------------------------------------------------- marks


@dataclass(frozen=True, eq=False)
class Mark:
    """Something drawn in one panel. ``style``: a name in `attsvm_lib.styles.STYLES`. ``label``: its legend entry, if any.

    Each array may have one leading time axis.
    """

    style: str = field(default="series-1", kw_only=True)
    label: str = field(default="", kw_only=True)
    panel: str = field(default="", kw_only=True)

    # field -> (axes without time, names of the channels along its last axis, or the one channel it is)
    arrays: ClassVar[dict[str, tuple[int, tuple[str, ...]]]] = {}

    def __post_init__(self) -> None:
        kind = type(self).__name__
        _known(f"{kind}.style", self.style, STYLES)
        for name, (ndim, channels) in self.arrays.items():
            array = _numbers(f"{kind}.{name}", getattr(self, name), nan=True)
            wanted = "(..., " + ", ".join(["N"] * (ndim - 1) + [str(len(channels))]) + ")"
            if array.ndim < ndim or (len(channels) > 1 and array.shape[-1] != len(channels)):
                raise ValueError(f"{kind}.{name} must have shape {wanted if len(channels) > 1 else f'with {ndim} axes'}"
                                 f", got {array.shape}")
            object.__setattr__(self, name, array)

    def lead(self) -> int:
        """Number of axes before the mark's own ones (0, or 1 with time; one more while vectorized)."""
        extra = {getattr(self, name).ndim - ndim for name, (ndim, _) in self.arrays.items()}
        return max(extra)

    def channels(self) -> dict[str, np.ndarray]:
        """Each coordinate as its own array, time (if any) first; the first letter of a name is its axis (x, y, z, v)."""
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
        object.__setattr__(self, "text", tuple(self.text))
        if self.text and len(self.text) != self.xy.shape[-2]:
            raise ValueError(f"Points.text must have {self.xy.shape[-2]} labels, got {len(self.text)}")


@dataclass(frozen=True, eq=False)
class _Spans(Mark):
    begin: Any
    end: Any
    arrays: ClassVar = {"begin": (2, ("x0", "y0")), "end": (2, ("x1", "y1"))}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.begin.shape[-2] != self.end.shape[-2]:
            raise ValueError(f"{type(self).__name__}.begin and .end must have the same number of points, "
                             f"got {self.begin.shape[-2]} and {self.end.shape[-2]}")


class Arrows(_Spans):
    """N arrows from ``begin`` (N, 2) to ``end`` (N, 2), both positions in the panel."""


class Segments(_Spans):
    """N straight segments from ``begin`` (N, 2) to ``end`` (N, 2)."""


@dataclass(frozen=True, eq=False)
class Heatmap(Mark):
    """``values`` (R, C) as colored cells; row 0 at the first y of ``extent`` (bottom, unless ylim is reversed).

    ``limits``: values at both ends of the color scale (default: smallest and largest on the grid). ``scale``: a name in
    `attsvm_lib.styles.SCALES`. ``extent`` (x0, x1, y0, y1): outer edges, default: cell (i, j) is centered at (x=j, y=i).
    ``format``: how a cell's value is written (in its tooltip and where the color scale ends). Absent cells are hatched.
    """

    values: Any
    limits: tuple[float, float] | None = field(default=None, kw_only=True)
    scale: str = field(default="sequential", kw_only=True)
    extent: tuple[float, float, float, float] | None = field(default=None, kw_only=True)
    format: str = field(default=".2f", kw_only=True)
    arrays: ClassVar = {"values": (2, ("v",))}

    def __post_init__(self) -> None:
        super().__post_init__()
        _known("Heatmap.scale", self.scale, SCALES)
        object.__setattr__(self, "limits", _limits("Heatmap.limits", self.limits))
        rows, columns = self.values.shape[-2:]
        extent = (-0.5, columns - 0.5, -0.5, rows - 0.5) if self.extent is None else tuple(map(float, self.extent))
        object.__setattr__(self, "extent", extent)


@dataclass(frozen=True, eq=False)
class Bars(Mark):
    """K vertical bars at ``x`` (K,) of height ``y`` (K,) above zero; ``width`` in units of the x axis."""

    x: Any
    y: Any
    width: float = field(default=0.7, kw_only=True)
    arrays: ClassVar = {"x": (1, ("x",)), "y": (1, ("y",))}


@dataclass(frozen=True, eq=False)
class Points3D(Mark):
    """N points ``xyz`` (N, 3) in a `Panel3D`; those behind the center are drawn fainter and smaller."""

    xyz: Any
    arrays: ClassVar = {"xyz": (2, ("x", "y", "z"))}


# -------------------------------------------------------------------------------------------------------- scenes


@dataclass(frozen=True, eq=False)
class Readout:
    """A number shown beside the picture: ``value`` is one number, (frames,) numbers, or a string.

    ``format``: a Python format; ``unit`` is appended. NaN is shown as "–" (absent).
    """

    value: Any
    label: str
    format: str = ".3f"
    unit: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.value, str):
            array = np.asarray(self.value)
            if array.dtype.kind not in "US":
                array = _numbers(f"readout {self.label!r}", self.value, nan=True)
            object.__setattr__(self, "value", array)

    def texts(self) -> tuple[str, ...]:
        """What is shown: one string, or one for each frame."""
        return tuple(self._text(v) for v in np.atleast_1d(self.value).tolist())

    def _text(self, value: float | str) -> str:
        if isinstance(value, str):
            return value
        return "–" if math.isnan(value) else f"{value:{self.format}}{self.unit}"


@dataclass(frozen=True, eq=False)
class Scene:
    """One picture: marks and readouts by name, and a message when something in it is absent."""

    marks: Mapping[str, Mark]
    readouts: Mapping[str, Readout] = field(default_factory=dict)
    message: Any = None

    def structure(self) -> dict[str, Any]:
        """Names, types, shapes and words: what must not change from call to call."""
        out: dict[str, Any] = {}
        for name, mark in self.marks.items():
            shapes = {key: getattr(mark, key).shape for key in mark.arrays}
            out[f"mark {name!r}"] = (type(mark).__name__, shapes, mark.static())
        for name, r in self.readouts.items():
            out[f"readout {name!r}"] = (np.shape(r.value), r.label, r.format, r.unit)
        return out

    def at(self, g: int, size: int) -> Scene:
        """Grid point ``g`` of a vectorized scene of ``size`` points."""
        def pick(name: str, array: np.ndarray) -> np.ndarray:
            if np.ndim(array) == 0 or len(array) not in (1, size):
                raise ValueError(f"{name} of a vectorized scene must have a first axis of {size} or 1, "
                                 f"got shape {np.shape(array)}")
            return array[g if len(array) == size else 0]

        marks = {name: replace(mark, **{key: pick(f"mark {name!r}", getattr(mark, key)) for key in mark.arrays})
                 for name, mark in self.marks.items()}
        readouts = {name: replace(r, value=pick(f"readout {name!r}", r.value)) for name, r in self.readouts.items()}
        message = self.message
        return Scene(marks, readouts, message if message is None or isinstance(message, str) else message[g])


class SceneFunction:
    """What the decorator `scene` makes: still a function of its parameters, with the words and the grid around it.

    Attributes: ``name`` (dotted; relative to `attsvm_lib.scenes` for the book's own scenes), ``title``, ``instruction``,
    ``caption``, ``parameters``, ``panels``, ``time``, ``vectorized``, ``function``.
    """

    def __init__(self, function: Callable[..., Scene], *, title: str, instruction: str, caption: str,
                 parameters: Mapping[str, Parameter], panels: Mapping[str, Panel | Panel3D],
                 time: Time | None = None, vectorized: bool = False) -> None:
        functools.update_wrapper(self, function)
        self.function, self.time, self.vectorized = function, time, bool(vectorized)
        self.title, self.instruction, self.caption = title, instruction, caption
        self.parameters, self.panels = dict(parameters), dict(panels)
        self.name = f"{function.__module__}.{function.__qualname__}".removeprefix("attsvm_lib.scenes.")
        self._structure: dict[str, Any] | None = None
        self._check_declaration()

    def __repr__(self) -> str:
        return f"<scene {self.name}({', '.join(self.parameters)})>"

    @property
    def starts(self) -> dict[str, Any]:
        """Each parameter's first value."""
        return {name: p.start for name, p in self.parameters.items()}

    @property
    def shape(self) -> tuple[int, ...]:
        """Grid points of each parameter."""
        return tuple(len(p.grid) for p in self.parameters.values())

    def arguments(self, **params: Any) -> dict[str, Any]:
        """The checked arguments of a call: ``params`` over the starts."""
        unknown = set(params) - set(self.parameters)
        if unknown:
            raise ValueError(f"{self.name} has no parameter {min(unknown)!r}; it has {', '.join(self.parameters)}")
        return {name: p.check(name, params.get(name, p.start)) for name, p in self.parameters.items()}

    def __call__(self, **params: Any) -> Scene:
        """The scene at these parameters (left out: their starts). ValueError when one is outside its range."""
        arguments = self.arguments(**params)
        if not self.vectorized:
            return self._checked(self.function(**arguments))
        batch = {name: v if self.parameters[name].stays_scalar else np.array([v]) for name, v in arguments.items()}
        return self._checked(self._scene(self.function(**batch)).at(0, 1))

    def over_grid(self) -> Iterator[tuple[dict[str, Any], Scene]]:
        """(arguments, scene) at each grid point, the last parameter varying fastest."""
        if not self.vectorized:
            for values in itertools.product(*(p.grid for p in self.parameters.values())):
                arguments = dict(zip(self.parameters, values, strict=True))
                yield arguments, self._checked(self.function(**arguments))
            return
        names, points = list(self.parameters), list(itertools.product(*(p.grid for p in self.parameters.values())))
        scalar = [k for k, p in enumerate(self.parameters.values()) if p.stays_scalar]
        done: dict[tuple, Iterator[Scene]] = {}
        for values in points:
            key = tuple(values[k] for k in scalar)
            if key not in done:
                done[key] = self._batch(names, scalar, key, [v for v in points if tuple(v[k] for k in scalar) == key])
            yield dict(zip(names, values, strict=True)), next(done[key])

    def _batch(self, names: list[str], scalar: list[int], key: tuple, points: list[tuple]) -> Iterator[Scene]:
        """All grid points that share their Choice and Toggle values, from one call."""
        arguments = {name: key[scalar.index(k)] if k in scalar else np.array([v[k] for v in points])
                     for k, name in enumerate(names)}
        batch = self._scene(self.function(**arguments))
        for g in range(len(points)):
            yield self._checked(batch.at(g, len(points)))

    def _scene(self, result: Any) -> Scene:
        if not isinstance(result, Scene):
            raise ValueError(f"{self.name} must return a Scene, got {type(result).__name__}")
        return result

    def _checked(self, result: Any) -> Scene:
        """``result`` after a look at panels, time axes and structure."""
        structure = self._scene(result).structure()
        if self._structure is None:
            self._check_scene(result)
            self._structure = structure
        elif structure != self._structure:
            both = {*structure, *self._structure}
            odd = next(k for k in sorted(both) if structure.get(k) != self._structure.get(k))
            raise ValueError(f"{self.name}: {odd} must have the same structure in each scene; "
                             f"first {self._structure.get(odd)}, now {structure.get(odd)}")
        return result

    def _check_scene(self, result: Scene) -> None:
        for name, mark in result.marks.items():
            panel = self.panel_of(name, mark)
            if isinstance(panel, Panel3D) != isinstance(mark, Points3D):
                raise ValueError(f"{self.name}: mark {name!r} ({type(mark).__name__}) cannot be in a "
                                 f"{type(panel).__name__}")
            self._check_frames(name, mark)
        for name, r in result.readouts.items():
            if np.ndim(r.value) > (self.time is not None) or (np.ndim(r.value) and len(r.value) != self.time.frames):
                raise ValueError(f"{self.name}: readout {name!r} must be one number"
                                 f"{'' if self.time is None else f' or {self.time.frames} (one a frame)'}, "
                                 f"got shape {np.shape(r.value)}")
        for name, p in self.parameters.items():
            mark = result.marks.get(p.mark) if isinstance(p, Pick) else None
            if isinstance(p, Pick) and (not isinstance(mark, Heatmap) or mark.values.shape[-2:] != p.shape):
                raise ValueError(f"{self.name}: parameter {name!r} picks a cell of a Heatmap {p.mark!r} of shape "
                                 f"{p.shape}, which the scene does not have")

    def _check_frames(self, name: str, mark: Mark) -> None:
        for key, (ndim, _) in mark.arrays.items():
            shape = getattr(mark, key).shape
            lead = len(shape) - ndim
            timed = self.time is not None and (lead == 1 or isinstance(mark, Path))
            allowed = lead == 0 or (lead == 1 and (timed or isinstance(mark, Path)))
            if not allowed or (timed and shape[0] != self.time.frames):
                frames = "without time" if self.time is None else f"with {self.time.frames} frames"
                raise ValueError(f"{self.name}: mark {name!r} has {key} of shape {shape} in a scene {frames}")

    def panel_of(self, name: str, mark: Mark) -> Panel | Panel3D:
        """The panel a mark is drawn in."""
        key = mark.panel or next(iter(self.panels))
        if key not in self.panels:
            raise ValueError(f"{self.name}: mark {name!r} names a panel {key!r}; there are {', '.join(self.panels)}")
        return self.panels[key]

    def _check_declaration(self) -> None:
        if not 1 <= len(self.panels) <= 2:
            raise ValueError(f"panels must be one or two, got {len(self.panels)}")
        for key in ("title", "instruction", "caption"):
            if not isinstance(getattr(self, key), str) or not getattr(self, key).strip():
                raise ValueError(f"{key} must be a sentence, got {getattr(self, key)!r}")
        for name, p in self.parameters.items():
            if not isinstance(p, Parameter):
                raise ValueError(f"parameters[{name!r}] must be a Slider, Choice, Toggle, Drag or Pick, got {p!r}")
            if isinstance(p, Drag) and p.panel and p.panel not in self.panels:
                raise ValueError(f"parameter {name!r} names a panel {p.panel!r}; there are {', '.join(self.panels)}")


def scene(*, title: str, instruction: str, caption: str, parameters: Mapping[str, Parameter],
          panels: Mapping[str, Panel | Panel3D], time: Time | None = None,
          vectorized: bool = False) -> Callable[[Callable[..., Scene]], SceneFunction]:
    """Decorator: declare a function of ``parameters`` as a scene. See the module's example and rules.

    title: a few words. instruction: what to do, in one sentence. caption: what is seen, also the picture's alternative
    text. panels: one or two, by name.
    """
    return lambda function: SceneFunction(function, title=title, instruction=instruction, caption=caption,
                                          parameters=parameters, panels=panels, time=time, vectorized=vectorized)
