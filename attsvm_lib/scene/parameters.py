"""Inputs of a scene: each has a finite grid, which a page without a kernel has precomputed."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from attsvm_lib.scene.checks import LARGEST, flag, known, number, number_format, numbers, text, whole, words
from attsvm_lib.scene.styles import STYLES


def grid(name: str, values: Any) -> tuple[float, ...]:
    """A strictly increasing grid of at least two values."""
    out = numbers(name, values, largest=LARGEST)
    if out.ndim != 1 or out.size < 2 or (np.diff(out) <= 0).any():
        raise ValueError(f"{name} must be at least two strictly increasing numbers, got {values!r}")
    return tuple(out.tolist())


def nearest(name: str, grid: tuple[float, ...], start: Any) -> float:
    """The grid value nearest to ``start`` (the middle one when it is None)."""
    if start is None:
        return grid[len(grid) // 2]
    wanted = number(name, start)
    return min(grid, key=lambda v: abs(v - wanted))


def _pair(value: Any) -> tuple[Any, Any] | None:
    """Both entries of a pair; None for anything else."""
    try:
        first, second = value if isinstance(value, (tuple, list, np.ndarray)) else ()
    except (TypeError, ValueError):
        return None
    return first, second


class Parameter:
    """A named input of a scene: ``grid`` (what is precomputed), ``start``, and ``check`` (what is accepted
    live).
    """

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
    """A number. ``values``: the grid, increasing; ``start``: moved to the nearest grid value (default: the
    middle one).

    ``format`` (a Python format) and ``unit`` show the value. ``only_grid=True`` for numbers that have no
    values in between (a width, a rank): a live kernel is then never asked for others. Passed to the scene as
    a float.
    """

    label: str
    values: Sequence[float]
    _: KW_ONLY
    start: float | None = None
    format: str = ".2f"
    unit: str = ""
    only_grid: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", grid("Slider.values", self.values))
        object.__setattr__(self, "start", nearest("Slider.start", self.values, self.start))
        text("Slider.label", self.label)
        text("Slider.unit", self.unit)
        flag("Slider.only_grid", self.only_grid)
        number_format("Slider.format", self.format)

    @property
    def grid(self) -> tuple[float, ...]:
        return self.values

    def check(self, name: str, value: Any) -> float:
        accepted = number(name, value, self.values[0], self.values[-1])
        if self.only_grid and accepted not in self.values:
            raise ValueError(f"{name} must be one of {', '.join(f'{v:g}' for v in self.values)}, got {value!r}")
        return accepted


@dataclass(frozen=True)
class Choice(Parameter):
    """One of a few words. ``options``: the strings shown and passed to the scene; ``start``: default the
    first.
    """

    label: str
    options: Sequence[str]
    _: KW_ONLY
    start: str | None = None
    stays_scalar: ClassVar[bool] = True

    def __post_init__(self) -> None:
        text("Choice.label", self.label)
        options = words("Choice.options", self.options)
        if len(set(options)) < 2 or len(set(options)) < len(options):
            raise ValueError(f"Choice.options must be at least two different strings, got {self.options!r}")
        object.__setattr__(self, "options", options)
        object.__setattr__(self, "start", options[0] if self.start is None else self.check("Choice.start", self.start))

    @property
    def grid(self) -> tuple[str, ...]:
        return self.options

    def check(self, name: str, value: Any) -> str:
        return known(name, value, self.options)


@dataclass(frozen=True)
class Toggle(Parameter):
    """A yes/no switch, passed to the scene as a bool."""

    label: str
    _: KW_ONLY
    start: bool = False
    stays_scalar: ClassVar[bool] = True

    def __post_init__(self) -> None:
        text("Toggle.label", self.label)
        object.__setattr__(self, "start", flag("Toggle.start", self.start))

    @property
    def grid(self) -> tuple[bool, bool]:
        return (False, True)

    def check(self, name: str, value: Any) -> bool:
        return flag(name, value)


@dataclass(frozen=True)
class Drag(Parameter):
    """A point moved over the grid ``x`` times ``y`` in a panel; passed to the scene as a tuple (x, y) of
    floats.

    ``panel``: where it is drawn (default: the first). ``style``: the handle's look; the handle is part of
    the viewer, the scene need not draw it.
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
        x, y = grid("Drag.x", self.x), grid("Drag.y", self.y)
        start = (None, None) if self.start is None else numbers("Drag.start", self.start, shape=(2,)).tolist()
        place = nearest("Drag.start[0]", x, start[0]), nearest("Drag.start[1]", y, start[1])
        for key, value in {"x": x, "y": y, "start": place}.items():
            object.__setattr__(self, key, value)
        text("Drag.label", self.label)
        text("Drag.panel", self.panel)
        known("Drag.style", self.style, STYLES)
        number_format("Drag.format", self.format)

    @property
    def grid(self) -> tuple[tuple[float, float], ...]:
        return tuple(itertools.product(self.x, self.y))

    def check(self, name: str, value: Any) -> tuple[float, float]:
        pair = _pair(value)
        if pair is None:
            raise ValueError(f"{name} must be a pair (x, y), got {value!r}")
        return (
            number(f"{name}[0]", pair[0], self.x[0], self.x[-1]),
            number(f"{name}[1]", pair[1], self.y[0], self.y[-1]),
        )


@dataclass(frozen=True)
class Pick(Parameter):
    """A cell of the heatmap mark named ``mark``, of ``shape`` (rows, columns); passed to the scene as (row,
    column).
    """

    label: str
    mark: str
    shape: tuple[int, int]
    _: KW_ONLY
    start: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        text("Pick.label", self.label)
        text("Pick.mark", self.mark)
        object.__setattr__(self, "shape", self._cell("Pick.shape must be (rows, columns)", self.shape, 1, (10**6,) * 2))
        object.__setattr__(self, "start", self.check("Pick.start", self.start))

    @property
    def grid(self) -> tuple[tuple[int, int], ...]:
        return tuple(itertools.product(range(self.shape[0]), range(self.shape[1])))

    def check(self, name: str, value: Any) -> tuple[int, int]:
        rows, columns = self.shape
        expected = f"{name} must be a cell (row, column) of a {rows} x {columns} heatmap"
        return self._cell(expected, value, 0, (rows - 1, columns - 1))

    @staticmethod
    def _cell(expected: str, value: Any, low: int, high: tuple[int, int]) -> tuple[int, int]:
        """Two integers from ``low`` to ``high``."""
        try:
            row, column = _pair(value) or (None, None)
            return whole("", row, low, high[0]), whole("", column, low, high[1])
        except ValueError:
            raise ValueError(f"{expected}, got {value!r}") from None


@dataclass(frozen=True)
class Time:
    """The scrubber: ``values`` (frames,) is what each frame is called (iteration, time). Not passed to the
    scene.

    ``start``: first frame shown (an index; negative counts from the end). ``seconds``: how long playing
    takes, from 0.1 to 3600.
    """

    label: str
    values: Sequence[float]
    _: KW_ONLY
    start: int = -1
    format: str = "g"
    unit: str = ""
    seconds: float = 5.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", grid("Time.values", self.values))
        object.__setattr__(self, "start", self.frame("Time.start", self.start))
        object.__setattr__(self, "seconds", number("Time.seconds", self.seconds, 0.1, 3600))
        text("Time.label", self.label)
        text("Time.unit", self.unit)
        number_format("Time.format", self.format)

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.values)

    def frame(self, name: str, value: Any) -> int:
        """A frame's index, counted from the start; a ValueError that names ``name`` when there is no such frame."""
        return whole(name, value, -self.frames, self.frames - 1, "a frame") % self.frames
