"""Scenes: what an explorable and a figure draw, as plain NumPy data.

A *scene function* is a pure function from parameters to a `Scene` (named marks and readouts). The decorator
`scene` gives it its parameters (each with a finite grid), its panels and its words. The same function is
shown by `attsvm_lib.explore.Explorable` (widget), by `attsvm_lib.figures.draw` (Matplotlib), and can simply
be called::

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

    bowl(step=0.4).marks["path"].xy   # still a function: arguments are checked, left out ones start

Rules
-----
* A mark's arrays may have one more, leading, axis: time (its length is that of the scene's `Time`). `Path`
  has it always.
* NaN means *absent* (infeasible, not yet there): it is not drawn. Say why in ``Scene(message=...)``.
  Infinities are refused.
* Each call must return the same structure: the same names, types, shapes, labels and styles. Pad with NaN.
* A mark goes to its ``panel`` (default: the first). Draw directions as unit vectors and give norms as
  readouts.
* Limits left out of a `Panel` are taken from all values on the grid; give them, so that figures agree with
  the explorable.
* ``vectorized=True``: the function gets arrays with one entry for each grid point, (G,) for a slider, (G, 2)
  for `Drag` and `Pick` (`Choice` and `Toggle` stay single values), and each array it returns, readouts
  included, has a leading axis G, or 1 where it is the same for all. ``message`` may then be a sequence of G.
  Called directly it still takes and returns single values.
* A log axis (``yscale="log"``) needs positive values.
"""

from attsvm_lib.scene.function import Readout, Scene, SceneFunction, scene
from attsvm_lib.scene.marks import Arrows, Bars, Heatmap, Line, Mark, Path, Points, Points3D, Segments
from attsvm_lib.scene.panels import Panel, Panel3D
from attsvm_lib.scene.parameters import Choice, Drag, Parameter, Pick, Slider, Time, Toggle
from attsvm_lib.scene.styles import SCALES, STYLES, Style

__all__ = [
    "SCALES",
    "STYLES",
    "Arrows",
    "Bars",
    "Choice",
    "Drag",
    "Heatmap",
    "Line",
    "Mark",
    "Panel",
    "Panel3D",
    "Parameter",
    "Path",
    "Pick",
    "Points",
    "Points3D",
    "Readout",
    "Scene",
    "SceneFunction",
    "Segments",
    "Slider",
    "Style",
    "Time",
    "Toggle",
    "scene",
]
