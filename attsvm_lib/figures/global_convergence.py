"""Figures of chapter 3: paths in the plane, how fast runs turn, and what they select against the dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from attsvm_lib.experiments.overparameterization import KINDS
from attsvm_lib.figures.style import book_figure, line, marker
from attsvm_lib.scene import Arrows, Path, Points, Scene
from attsvm_lib.scene.styles import STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["outcome_figure", "plane_figure", "rate_figure"]

WIDTH = 3.9  # inches: on a phone of 360 px the figure is hardly scaled down, so its words stay legible


@book_figure
def outcome_figure(panels: Mapping[str, Mapping[int, Any]], *, frame: int = -1) -> Figure:
    """Share of runs of each kind against the dimension, with binomial standard errors; one panel below the other.

    panels: title -> {d: `Outcomes`}. frame: index of the checkpoint.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(panels), 1, figsize=(WIDTH, 0.7 + 2.6 * len(panels)), squeeze=False)
    for ax, (title, found) in zip(axes[:, 0], panels.items(), strict=True):
        for kind, name in zip(KINDS, ("series-1", "series-3", "series-4", "reference"), strict=True):
            shares = [100 * o.share(kind)[frame] for o in found.values()]
            errors = [100 * o.error(kind)[frame] for o in found.values()]
            look = line(STYLES[name]) | marker(STYLES[name]) | {"ms": 5, "lw": 1.4}
            ax.errorbar(list(found), shares, errors, label=kind, capsize=2, elinewidth=1, **look)
        ax.set(title=title, xlabel="dimension d", ylabel="runs in percent", ylim=(-3, 103), xscale="log")
        ticks = [d for d in (2, 3, 4, 6, 10, 15, 20, 30) if min(found) <= d <= max(found)]
        ax.set_xticks(ticks, map(str, ticks))
        ax.minorticks_off()
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


@book_figure
def rate_figure(panels: Mapping[str, Sequence[Any]]) -> Figure:
    """Direction error of single runs against the step, with the prediction from the SVM; one panel below the other.

    panels: title -> `RateRuns` of normalized and of plain steps. Solid and dash-dotted thin curves: the runs. Black:
    the median of the predicted error, ``constant / norm**2``, of each rule.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(panels), 1, figsize=(WIDTH, 0.7 + 2.6 * len(panels)), squeeze=False)
    for ax, (title, rules) in zip(axes[:, 0], panels.items(), strict=True):
        for runs, name, label in zip(rules, ("series-1", "series-4"), ("normalized", "plain"), strict=True):
            curves = ax.plot(runs.steps, runs.lost.T, **line(STYLES[name]) | {"lw": 0.9, "alpha": 0.7})
            curves[0].set_label(f"{label} steps")
            predicted = np.median(runs.constant[:, None] / runs.norm**2, axis=0)
            late = predicted < 0.3
            black = ax.plot(runs.steps[late], predicted[late], **line(STYLES["svm"]))
        black[0].set_label("predicted, median")
        ax.set(title=title, xlabel="step k", ylabel="1 − corr", xscale="log", yscale="log")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


@book_figure
def plane_figure(pictures: Mapping[str, Scene]) -> Figure:
    """Tokens, paths and SVM directions of `paths_in_the_plane`, as in the paper's Figures 1 and 2; one below the other.

    pictures: title -> what the scene returned.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(pictures), 1, figsize=(WIDTH, 0.9 + 3.5 * len(pictures)), squeeze=False)
    for ax, (title, picture) in zip(axes[:, 0], pictures.items(), strict=True):
        for mark in picture.marks.values():
            if not mark.panel:
                _draw_mark(ax, mark)
        ax.set(title=title, xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _draw_mark(ax: Axes, mark: Points | Arrows | Path) -> None:
    """One mark of the plane, in its style, with its label for the legend."""
    style, label = STYLES[mark.style], mark.label or None
    if isinstance(mark, Points):
        ax.plot(*mark.xy.T, ls="None", label=label, **marker(style))
    elif isinstance(mark, Path):
        for k in range(mark.xy.shape[1]):
            ax.plot(*mark.xy[:, k].T, label=None if k else label, **line(style))
    else:
        ax.plot([], [], label=label, **line(style))
        for start, end in zip(mark.begin, mark.end, strict=True):
            arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 12} | line(style)
            ax.annotate("", end, start, arrowprops=arrow)
