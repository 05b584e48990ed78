"""Figures of chapter 2: ranks and regularization paths, from arrays of `attsvm_lib.experiments`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attsvm_lib.figures.style import book_figure, line, marker
from attsvm_lib.scene.styles import STYLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["path_figure", "rank_figure", "width_figure"]

def _panels(count: int, width: float, **options: Any) -> tuple[Figure, np.ndarray]:
    """A figure with one row of panels."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, count, figsize=(width, 0.36 * width + 0.5), squeeze=False, **options)
    return figure, axes[0]


@book_figure
def rank_figure(dimensions, panels: Mapping[str, Mapping[str, Any]], *, width: float = 7.0) -> Figure:
    """Mean rank of the Frobenius and the nuclear solution against d.

    dimensions: the d, shape (k,). panels: title -> {curve's label -> k `RankStatistics`}, at most three
    curves a panel; a size without feasible problems is left out. Filled markers on solid lines: Frobenius;
    hollow markers on dotted lines: nuclear.
    """
    from matplotlib.lines import Line2D

    figure, axes = _panels(len(panels), width, sharey=True)
    for ax, (title, curves) in zip(axes, panels.items(), strict=True):
        for name, (label, statistics) in zip(
            ("series-1", "series-2", "series-3"), curves.items(), strict=False
        ):
            look = marker(STYLES[name]) | {"ms": 5}
            for norm, dress in (("frobenius", {"ls": "-"}), ("nuclear", {"ls": ":", "mfc": "white"})):
                ranks = [np.mean(r) if len(r := getattr(s, norm)) else np.nan for s in statistics]
                ax.plot(dimensions, ranks, label=label if norm == "frobenius" else None, **look | dress)
        ax.set(title=title, xlabel="dimension d", xticks=dimensions, ylim=(0, 18.5))
        ax.legend(loc="upper center", ncols=3)
    axes[0].set_ylabel("mean rank")
    kinds = [("-", "0.2", "Frobenius, W_mm"), (":", "white", "nuclear, W*_mm")]
    handles = [
        Line2D([], [], color="0.2", ls=ls, marker="o", mfc=face, label=text) for ls, face, text in kinds
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    return figure


@book_figure
def path_figure(radii, panels: Mapping[str, Mapping[str, Any]], *, width: float = 7.0) -> Figure:
    """Distance of regularization paths to their limits, each over its predicted constant C, against the
    radius.

    radii: shape (r,). panels: title -> {"W" or "KQ": `PathStatistics`}. One thin curve a problem; in black the
    prediction 1/R.
    """
    figure, axes = _panels(len(panels), width, sharey=True)
    for ax, (title, paths) in zip(axes, panels.items(), strict=True):
        for name, path in paths.items():
            curves = (path.distance / path.constant[:, None]).T
            lines = ax.plot(radii, curves, **line(STYLES[name]) | {"lw": 1.2, "alpha": 0.8})
            lines[0].set_label("paths of W" if name == "W" else "paths of (K, Q)")
        ax.plot(radii, 1 / np.asarray(radii), color="black", lw=1.0, label="1/R, predicted")
        ax.set(title=title, xlabel="radius R", xscale="log", yscale="log")
    axes[0].set_ylabel("distance / C")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@book_figure
def width_figure(widths, statistics: Mapping[str, Any], *, width: float = 7.0) -> Figure:
    """Distance to the nuclear direction and share of the best margin against m minus the rank of W*_mm.

    widths: the m, shape (w,). statistics: label -> `WidthStatistics`, at most four. One mark a problem and
    width; shares below 0 (a token is not selected) are left out of the picture.
    """
    figure, (left, right) = _panels(2, width)
    for k, (label, found) in enumerate(statistics.items()):
        look = marker(STYLES[f"series-{k + 1}"]) | {"ms": 5, "ls": "None", "alpha": 0.8}
        surplus = np.asarray(widths) - found.rank[:, None] + 0.12 * (k - 1)
        left.plot(surplus.ravel(), found.distance.ravel(), label=label, **look)
        right.plot(surplus.ravel(), found.margin.ravel(), **look)
    for ax in (left, right):
        ax.axvline(0, color="0.4", lw=1.0, ls="--")
        ax.set_xlabel("m minus the rank of W*_mm")
    left.set(yscale="log", title="distance to the nuclear direction", ylabel="distance")
    right.set(ylim=(0, 1.05), title="share of the best margin", ylabel="share")
    figure.legend(loc="outside lower center", ncols=3)
    return figure
