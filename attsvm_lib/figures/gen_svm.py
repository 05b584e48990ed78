"""Figures of chapter 5: Gen-SVM with a ReLU and with a quadratic head, from arrays of `attsvm_lib.experiments`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attsvm_lib.figures.style import book_figure, line, marker
from attsvm_lib.scene.styles import STYLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["curvature_figure", "masked_figure", "multi_token_figure"]

DIRECTIONS = {
    "lost_one_token": ("0.5", (0, (1.5, 1.5)), "^", "one-token SVM"),
    "lost_mm": ("0.3", (0, (5, 2)), "s", "W_mm"),
    "lost_svmeq": ("black", "-", "D", "W_fin + R W_mm"),
}
"""Gray level, dash, marker and label of each direction: SVM directions are black in this book, here in shades."""


def _look(shade: str, dash: Any, symbol: str) -> dict[str, Any]:
    """Arguments of ``Axes.plot`` for the curve of one SVM direction."""
    shades = dict.fromkeys(("color", "mfc", "mec"), shade)
    return line(STYLES["svm"]) | marker(STYLES["svm"]) | shades | {"ls": dash, "marker": symbol, "ms": 6}


@book_figure
def multi_token_figure(dimensions, panels: Mapping[str, Any], *, width: float = 4.2) -> Figure:
    """1 - corr of the trained W with three directions against d, one panel below the other.

    dimensions: the d, shape (k,). panels: title -> k `MultiTokenStatistics`. Filled markers on lines: means, with
    their standard errors; hollow markers: medians.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(panels), 1, figsize=(width, 0.4 + 2.5 * len(panels)), sharex=True, squeeze=False)
    for ax, (title, statistics) in zip(axes[:, 0], panels.items(), strict=True):
        for name, (*look, label) in DIRECTIONS.items():
            lost = [getattr(s, name) for s in statistics]
            mean, error = (np.array([f(v) for v in lost]) for f in (np.mean, lambda v: v.std() / np.sqrt(len(v))))
            ax.errorbar(dimensions, mean, error, label=label, capsize=3, elinewidth=1, **_look(*look))
            ax.plot(dimensions, [np.median(v) for v in lost], **_look(*look) | {"ls": "None", "mfc": "white"})
        ax.set(title=title, ylabel="1 − corr", yscale="log", xticks=dimensions)
    axes[-1, 0].set_xlabel("dimension d")
    axes[0, 0].plot([], [], ls="None", marker="o", color="0.3", mfc="white", label="hollow: medians")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


@book_figure
def masked_figure(statistics: Mapping[str, Any], *, level: float = 0.01, width: float = 4.2) -> Figure:
    """1 - corr with W_fin + R W_mm of each data set against its largest masked probability.

    statistics: label -> `MultiTokenStatistics`, at most two. level: dashed line at this 1 - corr.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(width, 0.8 * width))
    for style, (label, found) in zip(("series-2", "series-1"), statistics.items(), strict=False):
        look = marker(STYLES[style]) | {"ms": 3.5, "ls": "None", "alpha": 0.6}
        ax.plot(found.masked, found.lost_svmeq, label=label, **look)
    ax.axhline(level, **line(STYLES["boundary"]))
    ax.set(xscale="log", yscale="log", xlabel="largest masked probability", ylabel="1 − corr, W_fin + R W_mm")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@book_figure
def curvature_figure(lams, statistics, *, width: float = 4.2) -> Figure:
    """Tokens kept by descent and by the best attention, and 1 - corr with three directions, against the curvature.

    lams: the curvatures, shape (k,). statistics: k `QuadraticStatistics`. Means above, medians below.
    """
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(width, 1.35 * width), sharex=True)
    above.plot(lams, [s.best.mean() for s in statistics], label="best attention", **line(STYLES["svm"]))
    dots = marker(STYLES["series-1"]) | {"ms": 6, "ls": "None"}
    above.plot(lams, [s.kept.mean() for s in statistics], label="kept by descent", **dots)
    above.set(ylabel="tokens kept", xscale="log")
    above.legend(loc="upper left")
    for name, (*look, label) in DIRECTIONS.items():
        if name == "lost_svmeq":
            name, label = "lost_predicted", f"{label}, predicted"
        below.plot(lams, [np.median(getattr(s, name)) for s in statistics], label=label, **_look(*look))
    below.set(xlabel="curvature λ", ylabel="1 − corr, median", yscale="log")
    below.legend(loc="lower right")
    return figure
