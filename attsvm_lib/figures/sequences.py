"""Figures of chapter 6: sequential prediction, from arrays of `attsvm_lib.experiments`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attsvm_lib.figures.style import book_figure, line, marker
from attsvm_lib.scene.styles import STYLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["alignment_figure"]

SHAPES = {"W": ("o", "^", "D", "v"), "KQ": ("s", "P", "X", "*")}


@book_figure
def alignment_figure(panels: Mapping[str, Mapping[tuple[str, str], Any]], *, width: float = 3.8) -> Figure:
    """Median of 1 - corr with the SVM solution against the step, one panel above the other, and the slope -2.

    panels: title -> {("W" or "KQ", label): `SequentialRuns`}, at most four curves a model.
    """
    import matplotlib.pyplot as plt

    size = (width, 2.1 * len(panels) + 0.7)
    figure, axes = plt.subplots(len(panels), 1, figsize=size, squeeze=False, sharex=True, sharey=True)
    for ax, (title, curves) in zip(axes[:, 0], panels.items(), strict=True):
        shapes = {model: iter(marks) for model, marks in SHAPES.items()}
        for (model, label), runs in curves.items():
            look = line(STYLES[model]) | marker(STYLES[model]) | {"marker": next(shapes[model]), "ms": 4}
            ax.plot(runs.steps, np.median(1 - runs.correlation, axis=0), label=label, **look)
        steps = runs.steps[runs.steps >= 100]
        ax.plot(steps, (steps[0] / steps) ** 2.0, label="slope −2", **line(STYLES["boundary"]))
        ax.set(title=title, ylabel="1 − corr", xscale="log", yscale="log")
    axes[-1, 0].set_xlabel("step")
    handles = {label: h for ax in axes[:, 0] for h, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2, columnspacing=1)
    return figure
