"""Figures of chapter 4: learning curves over many data sets, what rounding does, and what drives (K, Q)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attsvm_lib.figures.style import book_figure, line, panel_column
from attsvm_lib.scene.styles import STYLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["factor_figure", "local_figure", "rounding_figure"]

ARITHMETICS = ("series-3", "series-4")
"""Saturation-proof and ordinary: not the styles of W and (K, Q), which are objects."""
FACTORED = ("series-4", "boundary", "series-3", "guide")
"""Ordinary with and without decay, saturation-proof, and that with one common norm."""


@book_figure
def local_figure(runs: Mapping[str, Mapping[str, Any]], *, width: float = 3.6) -> Figure:
    """Attention of the selected token, and correlation with the max-margin directions, against the step.

    runs: panel's title -> {"W" or "KQ": `LocalAlignment`}. The top panel shows the probabilities of the first entry;
    then one panel each shows means over the data sets: thick with the solution in the norm that belongs to the model,
    thin with that in the other norm. Bands hold 80 percent of the data sets.
    """
    figure, (top, *others) = panel_column(1 + len(runs), width, sharex=True)
    for name, found in next(iter(runs.values())).items():
        _mean(top, found.steps, found.selected_probability, name, "W" if name == "W" else "(K, Q)")
    top.set(title="attention of the selected token", ylabel="probability", ylim=(0, 1.05))
    for ax, (title, pair) in zip(others, runs.items(), strict=True):
        for name, found in pair.items():
            own, other = found.frobenius, found.nuclear
            if name == "KQ":
                own, other = other, own
            _mean(ax, found.steps, own, name)
            ax.plot(found.steps, other.mean(0), **line(STYLES[name]) | {"lw": 0.8})
        ax.set(title=title, ylabel="correlation", ylim=(0, 1.05), xscale="log", xlim=(1, found.steps[-1]))
    others[-1].set_xlabel("step")
    figure.legend(*top.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def _mean(ax, steps, curves, name, label=None):
    """Mean over the data sets (s, c), and the band between the 10th and the 90th percentile."""
    look = line(STYLES[name])
    ax.fill_between(steps, *np.quantile(curves, [0.1, 0.9], axis=0), color=look["color"], alpha=0.15, lw=0)
    ax.plot(steps, curves.mean(0), label=label, **look)


@book_figure
def rounding_figure(margin, error, curves: Mapping[str, tuple[Any, Any]], *, width: float = 3.6) -> Figure:
    """Error of the gradient's direction against the smallest margin, and learning curves in both arithmetics.

    margin, error: arrays of one shape, as from `rounding_error`. curves: label -> (steps, 1 - corr), in the order
    saturation-proof, ordinary.
    """
    figure, (top, bottom) = panel_column(2, width)
    shown = np.ravel(margin) > 0.1
    look = {"marker": ".", "ms": 3, "ls": "None", "color": line(STYLES["W"])["color"], "alpha": 0.4, "rasterized": True}
    top.plot(np.ravel(margin)[shown], np.maximum(np.ravel(error)[shown], 1e-16), **look)
    top.axvline(35, **line(STYLES["boundary"]))
    top.set(yscale="log", xlim=(0, 60), title="error of the direction", xlabel="smallest margin", ylabel="error")
    for style, (label, (steps, lost)) in zip(ARITHMETICS, curves.items(), strict=True):
        bottom.plot(steps, lost, label=label, **line(STYLES[style]))
    bottom.set(xscale="log", yscale="log", title="direction, median", xlabel="step", ylabel="1 − corr")
    bottom.legend()
    return figure


@book_figure
def factor_figure(curves: Mapping[str, tuple[Any, Any]], *, width: float = 3.6) -> Figure:
    """1 - corr of (K, Q) with the nuclear direction against the step: label -> (steps, 1 - corr), as `FACTORED`."""
    figure, (ax,) = panel_column(1, width)
    figure.set_figheight(width)
    for style, (label, (steps, lost)) in zip(FACTORED, curves.items(), strict=True):
        ax.plot(steps, lost, label=label, **line(STYLES[style]))
    ax.set(xscale="log", yscale="log", xlabel="step", ylabel="1 − corr, median")
    figure.legend(loc="outside lower center", ncols=1)
    return figure
