"""A scene, and the function that makes it from parameters."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from attsvm_lib.scene.checks import flag, mapping, number_format, numbers, text
from attsvm_lib.scene.marks import Heatmap, Mark, Path, Points3D
from attsvm_lib.scene.panels import Panel, Panel3D
from attsvm_lib.scene.parameters import Drag, Parameter, Pick, Time
from attsvm_lib.scene.reserved import parameter_name


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
        text("Readout.label", self.label)
        text("Readout.unit", self.unit)
        number_format("Readout.format", self.format)
        if not isinstance(self.value, str):
            array = np.asarray(self.value)
            if array.dtype.kind not in "US":
                array = numbers(f"readout {self.label!r}", self.value, nan=True)
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

    def __post_init__(self) -> None:
        mapping("Scene.marks", self.marks, Mark, "a mark such as Points")
        mapping("Scene.readouts", self.readouts, Readout, "a Readout")
        several = [self.message] if self.message is None or isinstance(self.message, str) else self.message
        if not np.iterable(several) or not all(m is None or isinstance(m, str) for m in several):
            raise ValueError(f"Scene.message must be a string, None, or (vectorized) a list of them, got {several!r}")

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
                raise ValueError(
                    f"{name} of a vectorized scene must have a first axis of {size} or 1, got shape {np.shape(array)}"
                )
            return array[g if len(array) == size else 0]

        marks = {
            name: replace(mark, **{key: pick(f"mark {name!r}", getattr(mark, key)) for key in mark.arrays})
            for name, mark in self.marks.items()
        }
        readouts = {name: replace(r, value=pick(f"readout {name!r}", r.value)) for name, r in self.readouts.items()}
        message = self.message
        if message is not None and not isinstance(message, str):
            if len(message) != size:
                raise ValueError(f"message of a vectorized scene must have {size} entries, got {len(message)}")
            message = message[g]
        return Scene(marks, readouts, message)


class SceneFunction:
    """What the decorator `scene` makes: still a function of its parameters, with the words and the grid
    around it.

    Attributes: ``name`` (dotted; relative to `attsvm_lib.scenes` for the book's own scenes), ``title``,
    ``instruction``, ``caption``, ``parameters``, ``panels``, ``time``, ``vectorized``, ``function``.
    """

    def __init__(
        self,
        function: Callable[..., Scene],
        *,
        title: str,
        instruction: str,
        caption: str,
        parameters: Mapping[str, Parameter],
        panels: Mapping[str, Panel | Panel3D],
        time: Time | None = None,
        vectorized: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function, self.time, self.vectorized = function, time, flag("vectorized", vectorized)
        self.title, self.instruction, self.caption = title, instruction, caption
        self.parameters = mapping("parameters", parameters, Parameter, "a Slider, Choice, Toggle, Drag or Pick")
        self.panels = mapping("panels", panels, (Panel, Panel3D), "a Panel or Panel3D")
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

    def frame(self, frame: Any) -> int:
        """Index of a frame, default the last one; ValueError when there is none of that number, or no time."""
        if self.time is None and frame is not None:
            raise ValueError(f"{self.name} has no time, so frame must be left out, got {frame!r}")
        if self.time is None:
            return 0
        return self.time.frame("frame", -1 if frame is None else frame)

    def arguments(self, **params: Any) -> dict[str, Any]:
        """The checked arguments of a call: ``params`` over the starts."""
        unknown = set(params) - set(self.parameters)
        if unknown:
            raise ValueError(f"{self.name} has no parameter {min(unknown)!r}; it has {', '.join(self.parameters)}")
        return {name: p.check(name, params.get(name, p.start)) for name, p in self.parameters.items()}

    def __call__(self, **params: Any) -> Scene:
        """The scene at these parameters (left out: their starts). ValueError when one is outside its
        range.
        """
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
        names, points = (
            list(self.parameters),
            list(itertools.product(*(p.grid for p in self.parameters.values()))),
        )
        scalar = [k for k, p in enumerate(self.parameters.values()) if p.stays_scalar]
        done: dict[tuple, Iterator[Scene]] = {}
        for values in points:
            key = tuple(values[k] for k in scalar)
            if key not in done:
                done[key] = self._batch(names, scalar, key, [v for v in points if tuple(v[k] for k in scalar) == key])
            yield dict(zip(names, values, strict=True)), next(done[key])

    def _batch(self, names: list[str], scalar: list[int], key: tuple, points: list[tuple]) -> Iterator[Scene]:
        """All grid points that share their Choice and Toggle values, from one call."""
        arguments = {
            name: key[scalar.index(k)] if k in scalar else np.array([v[k] for v in points])
            for k, name in enumerate(names)
        }
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
            raise ValueError(
                f"{self.name}: {odd} must have the same structure in each scene; "
                f"first {self._structure.get(odd)}, now {structure.get(odd)}"
            )
        return result

    def _check_scene(self, result: Scene) -> None:
        if result.message is not None and not isinstance(result.message, str):
            raise ValueError(f"{self.name}: message must be one string or None, got {result.message!r}")
        for name, mark in result.marks.items():
            panel = self.panel_of(name, mark)
            if isinstance(panel, Panel3D) != isinstance(mark, Points3D):
                raise ValueError(
                    f"{self.name}: mark {name!r} ({type(mark).__name__}) cannot be in a {type(panel).__name__}"
                )
            self._check_frames(name, mark)
        for name, r in result.readouts.items():
            if np.ndim(r.value) > (self.time is not None) or (np.ndim(r.value) and len(r.value) != self.time.frames):
                raise ValueError(
                    f"{self.name}: readout {name!r} must be one number"
                    f"{'' if self.time is None else f' or {self.time.frames} (one a frame)'}, "
                    f"got shape {np.shape(r.value)}"
                )
        for name, p in self.parameters.items():
            mark = result.marks.get(p.mark) if isinstance(p, Pick) else None
            if isinstance(p, Pick) and (not isinstance(mark, Heatmap) or mark.values.shape[-2:] != p.shape):
                raise ValueError(
                    f"{self.name}: parameter {name!r} picks a cell of a Heatmap {p.mark!r} of shape "
                    f"{p.shape}, which the scene does not have"
                )

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
        if self.time is not None and not isinstance(self.time, Time):
            raise ValueError(f"time must be a Time or None, got {self.time!r}")
        for name, p in self.parameters.items():
            parameter_name(name)
            if isinstance(p, Drag) and p.panel and p.panel not in self.panels:
                raise ValueError(f"parameter {name!r} names a panel {p.panel!r}; there are {', '.join(self.panels)}")


def is_scene(name: str, value: Any) -> SceneFunction:
    """``value`` when it was made by `scene`; a ValueError that names ``name`` otherwise."""
    if not isinstance(value, SceneFunction):
        raise ValueError(f"{name} must be a function decorated with @scene, got {value!r}")
    return value


def scene(
    *,
    title: str,
    instruction: str,
    caption: str,
    parameters: Mapping[str, Parameter],
    panels: Mapping[str, Panel | Panel3D],
    time: Time | None = None,
    vectorized: bool = False,
) -> Callable[[Callable[..., Scene]], SceneFunction]:
    """Decorator: declare a function of ``parameters`` as a scene. See the module's example and rules.

    title: a few words. instruction: what to do, in one sentence. caption: what is seen, also the picture's
    alternative text. panels: one or two, by name. ValueError for anything that is not what it should be, among
    it a parameter whose name a widget or a figure uses (``width``, ``frame``, ``layout``, ...).
    """
    return lambda function: SceneFunction(
        function,
        title=title,
        instruction=instruction,
        caption=caption,
        parameters=parameters,
        panels=panels,
        time=time,
        vectorized=vectorized,
    )
