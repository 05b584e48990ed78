"""Figures of the chapter on metastability, from arrays of `attsvm_lib.experiments`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attsvm_lib.figures.style import book_figure, color, line, marker
from attsvm_lib.scene.styles import STYLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["cluster_curves", "early_cluster_figure", "energy_staircase", "merger_figure"]

SERIES = ("series-1", "series-2", "series-3", "series-4")
WIDTH = 3.9  # inches: on a phone of 360 px the figure is hardly scaled down, so its words stay legible


def _one_panel(height: float = 3.4) -> tuple[Figure, Axes]:
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(WIDTH, height))


@book_figure
def cluster_curves(runs: Mapping[str, Any], ends: Mapping[str, float] | None = None) -> Figure:
    """Mean number of clusters against log time, with a band of two standard errors.

    runs: label -> `Staircase`, at most four. ends: label -> a time to mark by a thin vertical line of the same
    color, such as exp(2 beta).
    """
    figure, ax = _one_panel()
    for style, (label, run) in zip(SERIES, runs.items(), strict=False):
        look, later = line(STYLES[style]), run.times > 0
        mean = run.clusters.mean(0)[later]
        error = 2 * run.clusters.std(0)[later] / np.sqrt(len(run.clusters))
        ax.plot(run.times[later], mean, label=label, **look)
        ax.fill_between(run.times[later], mean - error, mean + error, color=look["color"], alpha=0.18, lw=0)
        if ends and label in ends:
            ax.axvline(ends[label], color=look["color"], lw=1.0, ls=look["ls"])
    counts = [1, 2, 4, 8, 16, 32, 64]
    ax.set(xscale="log", yscale="log", xlabel="time t", ylabel="mean number of clusters", ylim=(0.85, 80))
    ax.set_yticks(counts, [str(k) for k in counts])
    ax.minorticks_off()
    figure.legend(loc="outside lower center", ncols=min(len(runs), 3))
    return figure


@book_figure
def merger_figure(runs: Mapping[str, Any]) -> Figure:
    """Recorded time of the last merger against the one predicted from the last two clusters; the diagonal is equality.

    runs: label -> `Staircase`, at most four. Starts that have not merged are left out.
    """
    figure, ax = _one_panel()
    shown = []
    for style, (label, run) in zip(SERIES, runs.items(), strict=False):
        merged = np.isfinite(run.last_merger) & np.isfinite(run.predicted)
        points = run.predicted[merged], run.last_merger[merged]
        ax.plot(*points, label=label, ls="None", **marker(STYLES[style]) | {"ms": 5, "alpha": 0.8})
        shown.extend(points[0])
    ends = np.array([0.3 * min(shown), 3 * max(shown)])
    ax.plot(ends, ends, color="0.4", lw=1.0, ls="--", label="equal")
    ax.set(xscale="log", yscale="log", xlabel="predicted time", ylabel="recorded time")
    ax.minorticks_off()
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@book_figure
def energy_staircase(run: Any, starts: int = 3) -> Figure:
    """Scaled energy of the first starts of a `Staircase` against log time, and in black the sums of squared masses."""
    figure, ax = _one_panel()
    later = run.times > 0
    for style, energy, squared in zip(SERIES[:starts], run.energy, run.squared_masses, strict=False):
        ax.plot(run.times[later], squared[later], color="black", lw=1.0, ls=":")
        ax.plot(run.times[later], energy[later], **line(STYLES[style]))
    ax.plot([], [], color="black", lw=1.0, ls=":", label="sum of squared masses")
    ax.plot([], [], color="0.4", label="scaled energy, one line a start")
    ax.set(xscale="log", xlabel="time t", ylabel="scaled energy", ylim=(0, 1.04))
    ax.minorticks_off()
    figure.legend(loc="outside lower center", ncols=1)
    return figure


@book_figure
def early_cluster_figure(betas, counts: Mapping[str, Any], fastest) -> Figure:
    """Mean number of early clusters against beta on log axes, between sqrt(beta) and sqrt(2 beta).

    betas: shape (k,). counts: label -> k arrays of counts, one entry a start; at most three; bars are two
    standard errors. fastest: the wave number of the fastest ripple at each beta.
    """
    figure, ax = _one_panel()
    betas = np.asarray(betas, dtype=float)
    for style, (label, found) in zip(SERIES, counts.items(), strict=False):
        mean = [np.mean(count) for count in found]
        error = [2 * np.std(count) / np.sqrt(len(count)) for count in found]
        look = marker(STYLES[style]) | {"ms": 5}
        ax.errorbar(betas, mean, error, label=label, ls="None", elinewidth=1.2, **look)
    ax.plot(betas, fastest, ls="None", label="fastest ripple", **marker(STYLES["highlight"]) | {"ms": 10})
    ax.plot(betas, np.sqrt(2 * betas), color=color(STYLES["svm"]), lw=1.2, label="√(2β)")
    ax.plot(betas, np.sqrt(betas), color="0.4", lw=1.2, ls=":", label="√β")
    ax.set(xscale="log", yscale="log", xlabel="β", ylabel="early clusters")
    ax.set_xticks(betas, [f"{beta:g}" for beta in betas])
    ax.set_yticks([2, 3, 4, 6, 8, 12], ["2", "3", "4", "6", "8", "12"])
    ax.minorticks_off()
    figure.legend(loc="outside lower center", ncols=3)
    return figure
