"""Inputs of a scene: each has a finite grid, which a page without a kernel has precomputed."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from attsvm_lib.scene.checks import known, numbers
from attsvm_lib.scene.styles import STYLES


def grid(name: str, values: Any) -> tuple[float, ...]:
    """A strictly increasing grid of at least two values."""
    out = numbers(name, values)
    if out.ndim != 1 or out.size < 2 or (np.diff(out) <= 0).any():
        raise ValueError(f"{name} must be at least two strictly increasing numbers, got {values!r}")
    return tuple(out.tolist())


def nearest(grid: tuple[float, ...], start: float | None) -> float:
    """The grid value nearest to ``start`` (the middle one when it is None)."""
    return grid[len(grid) // 2] if start is None else min(grid, key=lambda v: abs(v - start))


def between(name: str, value: Any, grid: tuple[float, ...]) -> float:
    """``value`` as a float within the range of ``grid``."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if isinstance(value, str) or not grid[0] <= number <= grid[-1]:
        raise ValueError(f"{name} must be a number from {grid[0]:g} to {grid[-1]:g}, got {value!r}")
    return number


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
        object.__setattr__(self, "start", nearest(self.values, self.start))

    @property
    def grid(self) -> tuple[float, ...]:
        return self.values

    def check(self, name: str, value: Any) -> float:
        number = between(name, value, self.values)
        if self.only_grid and number not in self.values:
            raise ValueError(f"{name} must be one of {', '.join(f'{v:g}' for v in self.values)}, got {value!r}")
        return number


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
        sx, sy = (None, None) if self.start is None else self.start
        for key, value in {"x": x, "y": y, "start": (nearest(x, sx), nearest(y, sy))}.items():
            object.__setattr__(self, key, value)
        known("Drag.style", self.style, STYLES)

    @property
    def grid(self) -> tuple[tuple[float, float], ...]:
        return tuple(itertools.product(self.x, self.y))

    def check(self, name: str, value: Any) -> tuple[float, float]:
        if np.shape(value) != (2,):
            raise ValueError(f"{name} must be a pair (x, y), got {value!r}")
        return between(f"{name}[0]", value[0], self.x), between(f"{name}[1]", value[1], self.y)


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
    """The scrubber: ``values`` (frames,) is what each frame is called (iteration, time). Not passed to the
    scene.

    ``start``: first frame shown (an index; negative counts from the end). ``seconds``: how long playing
    takes.
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
        if not -self.frames <= self.start < self.frames:
            raise ValueError(f"Time.start must be a frame from {-self.frames} to {self.frames - 1}, got {self.start}")
        object.__setattr__(self, "start", self.start % self.frames)

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.values)
