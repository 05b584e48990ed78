"""Figures of chapter 2: ranks and regularization paths, from arrays of `attsvm_lib.experiments`.

Panels are stacked, so that a figure can be read on a telephone. Colors are the book's: black for SVM solutions,
blue for W, orange for (K, Q); sizes of the data differ by their markers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attsvm_lib.figures.style import book_figure, line, marker, panel_column
from attsvm_lib.scene.styles import STYLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["path_figure", "rank_figure", "width_figure"]

SHAPES = "os^D"


@book_figure
def rank_figure(dimensions, panels: Mapping[str, Mapping[str, Any]], *, width: float = 3.6) -> Figure:
    """Mean rank of the Frobenius and the nuclear solution against d.

    dimensions: the d, shape (k,). panels: title -> {curve's label -> k `RankStatistics`}, at most four
    curves a panel; a size without feasible problems is left out. Filled markers on solid lines: Frobenius;
    hollow markers on dotted lines: nuclear.
    """
    from matplotlib.lines import Line2D

    dress = {
        norm: line(STYLES[style]) | {"lw": 1.2, "ms": 6, "mec": "black", "mfc": face}
        for norm, style, face in (("frobenius", "svm", "black"), ("nuclear", "nuclear", "white"))
    }
    figure, axes = panel_column(len(panels), width, sharex=True, sharey=True)
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        for shape, (label, statistics) in zip(SHAPES, curves.items(), strict=False):
            for norm, look in dress.items():
                ranks = [np.mean(r) if len(r := getattr(s, norm)) else np.nan for s in statistics]
                ax.plot(dimensions, ranks, marker=shape, label=label if norm == "frobenius" else None, **look)
        ax.set(title=title, ylabel="mean rank", xticks=dimensions, ylim=(0, 18.5))
        ax.legend(loc="upper center", ncols=3, handlelength=1, columnspacing=1)
    axes[-1].set_xlabel("dimension d")
    names = {"frobenius": "Frobenius, W_mm", "nuclear": "nuclear, W*_mm"}
    handles = [Line2D([], [], marker="o", label=names[norm], **look) for norm, look in dress.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


@book_figure
def path_figure(radii, panels: Mapping[str, Mapping[str, Any]], *, width: float = 3.6) -> Figure:
    """Distance of regularization paths to their limits, each over its predicted constant C, against the
    radius.

    radii: shape (r,). panels: title -> {"W" or "KQ": `PathStatistics`}. One thin curve a problem; in black the
    prediction 1/R.
    """
    figure, axes = panel_column(len(panels), width, sharex=True, sharey=True)
    for ax, (title, paths) in zip(axes, panels.items(), strict=True):
        for name, path in paths.items():
            curves = (path.distance / path.constant[:, None]).T
            lines = ax.plot(radii, curves, **line(STYLES[name]) | {"lw": 1.2, "alpha": 0.8})
            lines[0].set_label("W" if name == "W" else "(K, Q)")
        ax.plot(radii, 1 / np.asarray(radii), color="black", lw=1.0, label="1/R, predicted")
        ax.set(title=title, ylabel="distance / C", xscale="log", yscale="log")
    axes[-1].set_xlabel("radius R")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, columnspacing=1)
    return figure


@book_figure
def width_figure(widths, statistics: Mapping[tuple[str, int, int], Any], *, width: float = 3.6) -> Figure:
    """Distance to the nuclear direction and share of the best margin against m minus the rank of W*_mm.

    widths: the m, shape (w,). statistics: ("cross" or "self", n, T) -> `WidthStatistics`, at most four sizes
    (n, T). One mark a problem and width, hollow for self-attention; shares below 0 (a token is not selected) are
    left out of the picture.
    """
    figure, (top, bottom) = panel_column(2, width, sharex=True)
    shapes = dict(zip(dict.fromkeys((n, T) for _, n, T in statistics), SHAPES, strict=False))
    for k, ((attention, n, T), found) in enumerate(statistics.items()):
        face = {} if attention == "cross" else {"mfc": "white"}
        look = marker(STYLES["KQ"]) | {"marker": shapes[n, T], "ms": 5, "ls": "None", "alpha": 0.8} | face
        surplus = np.asarray(widths) - found.rank[:, None] + 0.1 * (k - len(statistics) // 2)
        top.plot(surplus.ravel(), found.distance.ravel(), label=f"{attention}, n = {n}, T = {T}", **look)
        bottom.plot(surplus.ravel(), found.margin.ravel(), **look)
    for ax in (top, bottom):
        ax.axvline(0, **line(STYLES["boundary"]))
    top.set(yscale="log", title="distance to the nuclear direction", ylabel="distance")
    bottom.set(ylim=(0, 1.05), title="share of the best margin", ylabel="share", xlabel="m minus the rank of W*_mm")
    figure.legend(loc="outside lower center", ncols=2, columnspacing=1)
    return figure
