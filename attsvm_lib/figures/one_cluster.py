"""Figures of the chapter on one cluster, from arrays of `attsvm_lib.experiments`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attsvm_lib.figures.style import book_figure, color, line, marker
from attsvm_lib.scene.styles import SCALES, STYLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["concentration_figure", "contraction_figure", "half_space_figure", "histogram_figure", "phase_figure"]

SERIES = ("series-1", "series-2", "series-3", "series-4")
WIDTH = 3.9  # inches: on a phone of 360 px the figure is hardly scaled down, so its words stay legible
HISTOGRAM_BINS = np.linspace(-1, 1, 81)


@book_figure
def half_space_figure(curves: Mapping[str, Any], measured: Mapping[str, Any]) -> Figure:
    """Chance that n points lie in a half-space, against n/d.

    curves, measured: label -> (n / d, probability); the exact values as lines, shares of draws as markers. At most
    four labels, those of `measured` among those of `curves`.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(WIDTH, 3.4))
    for style, (label, (ratio, chance)) in zip(SERIES, curves.items(), strict=False):
        ax.plot(ratio, chance, label=label, **line(STYLES[style]))
        if label in measured:
            ax.plot(*measured[label], ls="None", **marker(STYLES[style]) | {"ms": 5})
    ax.axvline(2, color="0.4", lw=1.0)
    ax.set(xlabel="tokens over dimension, n/d", ylabel="chance of a half-space", xlim=(0.5, 5), ylim=(-0.03, 1.03))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@book_figure
def contraction_figure(runs: Mapping[str, Any], rate: float = 2.0) -> Figure:
    """Largest distance 1 - <x_i, x_j> of a pair over time on a log axis, every system a thin line.

    runs: label -> `ProductRanges`, at most four. rate: slope of the dotted reference lines, through the first record
    at which the median is below 0.1.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(WIDTH, 3.4))
    for style, (label, run) in zip(SERIES, runs.items(), strict=False):
        look, gap = line(STYLES[style]), np.maximum(1 - run.smallest, 1e-12)
        ax.plot(run.times, gap.T, **look | {"lw": 0.5, "alpha": 0.35})
        middle = np.median(gap, axis=0)
        ax.plot(run.times, middle, label=label, **look)
        k = int(np.argmax(middle < 0.1))
        later = run.times[k:]
        ax.plot(later, 0.3 * middle[k] * np.exp(-rate * (later - later[0])), color="black", lw=1.0, ls=":")
    ax.plot([], [], color="black", lw=1.0, ls=":", label=f"slope −{rate:g}")
    ax.set(yscale="log", xlabel="time t", ylabel="largest 1 − ⟨xᵢ, xⱼ⟩", ylim=(1e-9, 4))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@book_figure
def histogram_figure(times, gamma, products: Mapping[str, Any]) -> Figure:
    """Histograms of the inner products of all pairs, one panel a time, with gamma(t) as a vertical line.

    times, gamma: shape (k,). products: label -> array (systems, k, pairs), at most four.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(times), 1, figsize=(WIDTH, 1.05 * len(times) + 0.9), sharex=True)
    for k, (ax, t, now) in enumerate(zip(np.atleast_1d(axes), times, gamma, strict=True)):
        for style, (label, found) in zip(SERIES, products.items(), strict=False):
            values = found[:, k].ravel().clip(-1, 1)
            shares = np.histogram(values, HISTOGRAM_BINS)[0] / values.size
            ax.stairs(shares, HISTOGRAM_BINS, label=label, **line(STYLES[style]))
        ax.axvline(now, color="black", lw=1.0, label="orthogonal start")
        ax.set(ylim=(0, None), yticks=[], ylabel=f"t = {t:g}")
    ax.set(xlabel="inner product of a pair", xlim=(-1.03, 1.03))
    figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


@book_figure
def concentration_figure(dimensions, deviations: Mapping[str, Any]) -> Figure:
    """Mean largest deviation from gamma(t) against d on log axes, with a line of slope -1/2.

    dimensions: shape (k,). deviations: label -> (k, systems), at most three; bars are two standard errors.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(WIDTH, 3.4))
    dimensions = np.asarray(dimensions, dtype=float)
    for style, (label, found) in zip(SERIES, deviations.items(), strict=False):
        found = np.asarray(found)
        error = 2 * found.std(1) / np.sqrt(found.shape[1])
        ax.errorbar(dimensions, found.mean(1), error, label=label, lw=0.8, **marker(STYLES[style]) | {"ms": 5})
    last = min(np.mean(found[-1]) for found in deviations.values())
    ax.plot(
        dimensions, 0.6 * last * np.sqrt(dimensions[-1] / dimensions), color="black", lw=1.0, ls=":", label="slope −1/2"
    )
    ax.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="largest deviation")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


@book_figure
def phase_figure(diagrams: Mapping[str, Any], curves: Mapping[str, Any]) -> Figure:
    """Phase diagrams, two a row, on one color scale, with curves of transition times over each.

    diagrams: label -> `PhaseDiagram`. curves: label -> (betas, times); the first is solid, the second dashed.
    """
    import matplotlib.pyplot as plt
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import MaxNLocator

    rows = -(-len(diagrams) // 2)
    figure, axes = plt.subplots(rows, 2, figsize=(WIDTH, 1.75 * rows + 0.9), sharex=True, sharey=True, squeeze=False)
    colors = LinearSegmentedColormap.from_list("book", SCALES["sequential"])
    for ax, (label, diagram) in zip(axes.flat, diagrams.items(), strict=False):
        cells = ax.pcolormesh(
            diagram.times, diagram.betas, diagram.fraction, cmap=colors, vmin=0, vmax=1, rasterized=True
        )
        for dash, (name, (betas, times)) in zip(("-", (0, (3, 2))), curves.items(), strict=False):
            ax.plot(times, betas, color="white", lw=2.6)
            ax.plot(times, betas, color=color(STYLES["svm"]), lw=1.3, ls=dash, label=name)
        ax.set(xlim=(diagram.times[0], diagram.times[-1]), ylim=(diagram.betas[0], diagram.betas[-1]))
        ax.set_title(label, fontsize="medium")
        ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    for ax in axes.flat[len(diagrams) :]:
        ax.set_axis_off()
    for ax in axes[-1]:
        ax.set_xlabel("time t")
    for ax in axes[:, 0]:
        ax.set_ylabel("β")
    figure.colorbar(cells, ax=axes, location="top", label="share of pairs that have met", aspect=40)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure
