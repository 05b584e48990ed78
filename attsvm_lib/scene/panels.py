"""Where marks are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np

from attsvm_lib.scene.checks import flag, known, limits, number, numbers, text, tick_texts


@dataclass(frozen=True)
class Panel:
    """A pair of axes. Limits may be reversed. ``xticks``/``yticks``: {position: text} in place of numbers.

    ``equal=True``: one unit has the same length on both axes. ``height``: height over width of the drawing
    area when not equal, from 0.05 to 20. ``axes=False`` draws marks only.
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
        text("Panel.title", self.title)
        for axis in ("x", "y"):
            text(f"Panel.{axis}label", getattr(self, axis + "label"))
            log = known(f"Panel.{axis}scale", getattr(self, axis + "scale"), ("linear", "log")) == "log"
            for key, check in (("lim", limits), ("ticks", tick_texts)):
                value = check(f"Panel.{axis}{key}", getattr(self, axis + key), log=log)
                object.__setattr__(self, axis + key, value)
        object.__setattr__(self, "height", number("Panel.height", self.height, 0.05, 20))
        flag("Panel.equal", self.equal)
        flag("Panel.axes", self.axes)


@dataclass(frozen=True)
class Panel3D:
    """Three-dimensional points seen by an orthographic camera that the reader turns; for `Points3D` only.

    ``half_width``: the view shows [-half_width, half_width] in each direction, from 1e-6 to 1e6. ``camera``: azimuth
    and elevation in degrees. ``sphere=True`` draws the outline and the equator of the unit sphere.
    """

    title: str = ""
    _: KW_ONLY
    half_width: float = 1.15
    camera: tuple[float, float] = (35.0, 20.0)
    sphere: bool = True

    def __post_init__(self) -> None:
        text("Panel3D.title", self.title)
        flag("Panel3D.sphere", self.sphere)
        object.__setattr__(self, "half_width", number("Panel3D.half_width", self.half_width, 1e-6, 1e6))
        camera = numbers("Panel3D.camera", self.camera, shape=(2,), largest=360).tolist()
        object.__setattr__(self, "camera", tuple(camera))

    def rotation(self) -> np.ndarray:
        """(3, 3) matrix whose rows are right, up and toward the viewer, for the camera's angles (a, e).

        right = (-sin a, cos a, 0), up = (-sin e cos a, -sin e sin a, cos e), toward = right x up.
        """
        a, e = np.radians(self.camera)
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        up = np.array([-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)])
        return np.array([right, up, np.cross(right, up)])
