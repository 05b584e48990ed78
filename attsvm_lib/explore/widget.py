"""`Explorable`: a scene as an interactive widget."""

from __future__ import annotations

import functools
import re
from importlib import resources
from typing import Any

import anywidget
import traitlets

from attsvm_lib.explore import live
from attsvm_lib.explore.encode import BUDGET, encode
from attsvm_lib.explore.spec import spec, styles_used
from attsvm_lib.scene.checks import flag, whole
from attsvm_lib.scene.coordinates import Ranges
from attsvm_lib.scene.function import SceneFunction, is_scene
from attsvm_lib.scene.parameters import Parameter
from attsvm_lib.scene.styles import STYLES


class _Value(traitlets.TraitType):
    """A parameter of the scene as a trait: any value the parameter accepts, on the grid or not."""

    def __init__(self, parameter: Parameter, start: Any) -> None:
        super().__init__(default_value=start)
        self.parameter = parameter

    def validate(self, obj: Any, value: Any) -> Any:
        """The value in canonical form; TraitError, in the parameter's words, when it is refused."""
        try:
            return self.parameter.check(self.name, value)
        except ValueError as error:
            raise traitlets.TraitError(str(error)) from None


class Explorable(anywidget.AnyWidget):
    """The picture of a scene with its controls.

    On construction every grid point of the scene is evaluated and stored (at most ``budget`` characters of
    base64), so a page without a kernel shows all of them; with a live kernel any other value is computed on
    request.

    scene: a function made by `attsvm_lib.scene.scene`. start: parameter values (and ``frame``) to begin
    with; a page without a kernel shows the grid point nearest to them. progress: count grid points on
    stderr; default only on a terminal. Each parameter is a trait of the same name: ``w.beta = 4`` moves the
    slider, ``w.observe(f, "beta")`` and `traitlets.link` work; ``w.frame`` is the scrubber. ValueError for a
    bad start, frame or budget or an exceeded one, TraitError for a bad value later.
    """

    _spec = traitlets.Dict().tag(sync=True)
    _data = traitlets.Bytes().tag(sync=True)

    def __init__(
        self, scene: SceneFunction, *, progress: bool | None = None, budget: int = BUDGET, **start: Any
    ) -> None:
        is_scene("scene", scene)
        budget = whole("budget", budget, 1, 10**9, "a number of characters")
        if progress is not None:
            flag("progress", progress)
        frame = start.pop("frame", None)
        begin = scene.frame(scene.time.start if scene.time is not None and frame is None else frame)
        arguments = scene.arguments(**start)
        taken = [name for name in arguments if hasattr(type(self), name)]  # names new in the widget package
        if taken:
            raise ValueError(f"{scene.name}: a parameter cannot be called {taken[0]!r}, widgets use that name")
        encoded = encode(scene, budget=budget, progress=progress)
        declaration = spec(scene, encoded)
        self._scene, self._encoded = scene, encoded
        self._esm, self._css = viewer(), stylesheet()
        super().__init__(_spec=declaration | {"styles": styles_used(declaration)}, _data=encoded.data)
        self.add_traits(**{n: _Value(p, arguments[n]).tag(sync=True) for n, p in scene.parameters.items()})
        if scene.time is not None:
            last = scene.time.frames - 1
            self.add_traits(frame=traitlets.Int(begin, min=0, max=last).tag(sync=True))
        self.on_msg(self._answer)

    def __repr__(self) -> str:
        return f"Explorable({self._scene.name}): run this cell to interact"

    @property
    def scene(self) -> SceneFunction:
        """The scene shown."""
        return self._scene

    @property
    def ranges(self) -> Ranges:
        """The ranges of its axes and color scales, over the whole grid."""
        return self._encoded.ranges

    @property
    def size(self) -> int:
        """Characters of base64 its numbers take in a page."""
        return self._encoded.size

    def _answer(self, _: Any, content: Any, __: Any) -> None:
        reply = live.answer(self._scene, content)
        if reply is not None:
            self.send(*reply)


# A JavaScript string, template or regular expression (kept as it is), or a sign whose surrounding spaces
# mean nothing.
_SPACED = re.compile(r"""("(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`|/\\W/g)|[ ]*([=?:,;{}()\[\]<>|&*])[ ]*""")


@functools.cache
def viewer() -> str:
    """The viewer's source without comment lines and needless spaces, since each widget's state repeats it."""
    source = resources.files(__package__).joinpath("viewer.js").read_text(encoding="utf-8")
    lines = (line.strip() for line in source.splitlines())
    code = "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"
    return _SPACED.sub(lambda m: m[1] or m[2], code)


@functools.cache
def stylesheet() -> str:
    """viewer.css and the style table's colors."""
    source = resources.files(__package__).joinpath("viewer.css").read_text(encoding="utf-8")
    source = re.sub(r"/\*.*?\*/", "", source, flags=re.S)
    light = [f".ex-s-{name}{{--ex-c:{s.color}}}" for name, s in STYLES.items()]
    dark = [
        f"{d} .ex-s-{name}{{--ex-c:{s.dark}}}"
        for name, s in STYLES.items()
        if s.dark != s.color
        for d in ("html[data-theme=dark]", "[data-jp-theme-light=false]")
    ]
    return "\n".join(line.strip() for line in [*source.splitlines(), *light, *dark] if line.strip()) + "\n"
