"""Figures of the chapter on the circle, repulsion and leaders, from arrays of `attsvm_lib.experiments`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attsvm_lib.figures.style import book_figure, color, line, marker
from attsvm_lib.meanfield import touching_polynomial
from attsvm_lib.scene.styles import SCALES, STYLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["attention_figure", "bound_figure", "leader_figure", "order_figure", "settling_figure"]

SERIES = ("series-1", "series-2", "series-3", "series-4")
WIDTH = 3.9
"""In inches: on a phone of 360 px the figure is hardly scaled down, so its words stay legible."""
FLOOR = 1e-16


@book_figure
def order_figure(times, curves: Mapping[str, tuple[Any, Any]]) -> Figure:
    """Order parameters against time (markers) and their closed form (lines).

    times: shape (times,). curves: label -> (measured, closed form), each of shape (times,); at most four.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(WIDTH, 3.2))
    times = np.asarray(times, float)
    for style, (label, (measured, law)) in zip(SERIES, curves.items(), strict=False):
        ax.plot(times, law, color=color(STYLES["svm"]), lw=1.2, ls="-")
        ax.plot(times[::4], measured[::4], label=label, ls="None", **marker(STYLES[style]) | {"ms": 5})
    ax.plot([], [], color=color(STYLES["svm"]), lw=1.2, ls="-", label="closed form")
    ax.set(xlabel="time t", ylabel="order parameter R", ylim=(0, 1.05))
    figure.legend(loc="outside lower center", ncols=3)
    return figure


@book_figure
def bound_figure(touches, beta: float) -> Figure:
    """The energy of a pair, exp(beta (u - 1)), and the `touching_polynomial` below it, against the inner product u.

    touches: the inner products where they touch, marked.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(WIDTH, 3.0))
    u, touches = np.linspace(-1, 1, 201), np.asarray(touches, float)
    ax.plot(u, np.exp(beta * (u - 1)), label="energy f of a pair", **line(STYLES["series-1"]))
    ax.plot(u, touching_polynomial(touches, beta=beta)(u), label="polynomial h", **line(STYLES["series-2"]))
    ax.plot(touches, np.exp(beta * (touches - 1)), label="touches", ls="None", **marker(STYLES["highlight"]))
    ax.set(xlabel="inner product u", ylabel="energy of a pair")
    figure.legend(loc="outside lower center", ncols=3)
    return figure


@book_figure
def settling_figure(times, runs: Mapping[str, tuple[Any, float]]) -> Figure:
    """Energy of repelling tokens above the least one, relative to it: median over starts, and the band of all.

    times: shape (times,). runs: label -> (energies (times, starts), least energy); at most four.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(WIDTH, 3.5))
    times = np.asarray(times, float)
    for style, (label, (energy, least)) in zip(SERIES, runs.items(), strict=False):
        excess = np.maximum(np.asarray(energy) / least - 1, FLOOR)
        look = line(STYLES[style])
        ax.fill_between(times, excess.min(1), excess.max(1), color=look["color"], alpha=0.15, lw=0)
        ax.plot(times, np.median(excess, axis=1), label=label, **look)
    ax.set(xscale="log", yscale="log", xlabel="time t", ylabel="energy above the least", ylim=(FLOOR / 2, 10))
    ax.minorticks_off()
    figure.legend(loc="outside lower center", ncols=1)
    return figure


@book_figure
def attention_figure(panels: Mapping[str, Any]) -> Figure:
    """Attention matrices on one color scale from 0 to 1, two in a row; the scale is a power, so that 1/n shows.

    panels: title -> matrix (n, n), an even number of them.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import LinearSegmentedColormap, PowerNorm

    colors = LinearSegmentedColormap.from_list("attention", SCALES["attention"])
    rows = len(panels) // 2
    figure, axes = plt.subplots(rows, 2, figsize=(WIDTH, 2.0 * rows + 0.6), squeeze=False)
    for ax, (title, matrix) in zip(axes.ravel(), panels.items(), strict=True):
        image = ax.imshow(matrix, cmap=colors, norm=PowerNorm(0.4, 0, 1), interpolation="nearest")
        ax.set(title=title, xticks=[], yticks=[])
        ax.grid(False)
    figure.supxlabel("attended token", fontsize=9)
    figure.supylabel("token", fontsize=9)
    ticks = [0, 0.02, 0.1, 0.3, 1]
    figure.colorbar(image, ax=axes, location="bottom", aspect=30, shrink=0.8, label="attention", ticks=ticks)
    return figure


@book_figure
def leader_figure(times, runs: Mapping[str, Any]) -> Figure:
    """Mean rank of the attention matrix, number of leaders and of clusters against time, one panel a run, stacked.

    times: shape (times,). runs: title -> `LeaderRuns`.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(runs), 1, figsize=(WIDTH, 2.3 * len(runs) + 0.4), squeeze=False, sharex=True)
    curves = (("series-1", "clusters"), ("series-2", "rank"), ("series-3", "leaders"))
    for ax, (title, run) in zip(axes[:, 0], runs.items(), strict=True):
        for style, name in curves:
            ax.plot(times, getattr(run, name).mean(1), label=name, **line(STYLES[style]))
        ax.set(title=title, ylabel="mean number", ylim=(0, None))
    axes[-1, 0].set_xlabel("time t")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure
