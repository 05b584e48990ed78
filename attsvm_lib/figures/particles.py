"""Figures of the chapter on tokens as particles, from arrays of `attsvm_lib.experiments`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from attsvm_lib.figures.style import book_figure, line, marker
from attsvm_lib.scene.styles import STYLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["energy_figure", "layers_figure", "limit_figure"]

WIDTH = 4.6
"""In inches: text of 9 points stays readable on a phone."""


@book_figure
def layers_figure(steps, errors: Any, *, width: float = WIDTH) -> Figure:
    """Errors of residual layers and of Runge-Kutta steps (a `LayerErrors`) against the step, with slopes 1 and 4."""
    import matplotlib.pyplot as plt

    steps = np.asarray(steps, float)
    figure, ax = plt.subplots(figsize=(width, 0.75 * width))
    curves = (("series-1", errors.layers, 1, "residual layers"), ("series-2", errors.rk4, 4, "Runge-Kutta, order 4"))
    for name, values, order, label in curves:
        guide = values[-1] * (steps / steps[-1]) ** order
        ax.plot(steps, guide, label=f"slope {order}", **line(STYLES["reference" if order == 1 else "boundary"]))
        ax.plot(steps, values, label=label, ls="none", **marker(STYLES[name]))
    ax.set(xscale="log", yscale="log", xlabel="step h of one layer", ylabel="largest distance from the flow")
    ax.set_xticks(steps, [f"{h:.3g}" for h in steps])
    ax.minorticks_off()
    ax.legend()
    return figure


@book_figure
def energy_figure(panels: Mapping[str, Mapping[str, Any]], *, width: float = WIDTH) -> Figure:
    """Scaled energy along runs (lines), and its first value plus the integrated dissipation (markers).

    panels: title -> {label -> `EnergyBalance`}, at most four curves a panel; the panels are stacked.
    """
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(panels), 1, figsize=(width, 0.62 * width * len(panels)), squeeze=False, sharex=True)
    names = ("series-1", "series-2", "series-3", "series-4")
    for ax, (title, runs) in zip(axes[:, 0], panels.items(), strict=True):
        for name, (label, run) in zip(names, runs.items(), strict=False):
            ax.plot(run.times[1:], run.energy[1:], **line(STYLES[name]))
            some = slice(1, None, 6)
            ax.plot(run.times[some], run.expected[some], label=label, **marker(STYLES[name]) | {"ls": "none", "ms": 5})
        ax.set(title=title, xscale="log", ylim=(0, 1.05), ylabel="scaled energy")
    axes[0, 0].legend(loc="upper left")
    axes[-1, 0].set_xlabel("time")
    return figure


@book_figure
def limit_figure(curves: Mapping[str, tuple[Any, Any]], *, width: float = WIDTH) -> Figure:
    """Error of the order parameter of n tokens on the circle against n, with the slope -1/2 through the first curve.

    curves: label -> (sizes, errors), at most four.
    """
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(width, 0.85 * width))
    names = ("series-1", "series-2", "series-3", "series-4")
    for name, (label, (sizes, errors)) in zip(names, curves.items(), strict=False):
        ax.plot(sizes, errors, label=label, **line(STYLES[name]) | marker(STYLES[name]) | {"ms": 5})
    sizes, errors = (np.asarray(values, float) for values in next(iter(curves.values())))
    ax.plot(sizes, errors[0] * np.sqrt(sizes[0] / sizes), label="slope −1/2", **line(STYLES["svm"]))
    ax.set(xscale="log", yscale="log", xlabel="tokens n", ylabel="error of the order parameter")
    figure.legend(loc="outside lower center", ncols=2)
    return figure
