"""Figure of chapter 1: when random tokens are separable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from attsvm_lib.figures.style import book_figure, line
from attsvm_lib.scene.checks import number
from attsvm_lib.scene.styles import STYLES
from attsvm_lib.validation import integer, integer_array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["separability_curves"]

NARROW = (3.9, 6.0)  # inches: on a phone of 360 px the figure is hardly scaled down, so its words stay legible


@book_figure
def separability_curves(reached: Mapping[tuple[int, int], np.ndarray], law: float = 0.8) -> Figure:
    """Shares of feasible problems: against n for the largest d (top), for all sizes against n ln T / d^2 (bottom).

    reached: (T, d) -> what `attsvm_lib.experiments.feasible_sequences` returned for that size. law: the
    constant of d* = sqrt(law n ln T), drawn at 1 / law in the lower panel. At most four different T. ValueError for
    counts that are no integers of at least 0, sizes that are none, or a law outside 1e-3 to 1e3.
    """
    import matplotlib.pyplot as plt

    reached, law = _reached(reached), number("law", law, 1e-3, 1e3)
    tokens, largest = sorted({T for T, _ in reached}), max(d for _, d in reached)
    styles = dict(zip(tokens, ("series-1", "series-2", "series-3", "series-4"), strict=False))
    figure, (top, bottom) = plt.subplots(2, 1, figsize=NARROW)
    for (T, d), counts in reached.items():
        n = np.arange(counts.max() + 2)
        share = (counts >= n[:, None]).mean(1)
        look = line(STYLES[styles[T]])
        bottom.plot(n * np.log(T) / d**2, share, **look | {"alpha": 1.0 if d == largest else 0.45})
        if d == largest:
            top.plot(n, share, label=f"T = {T}", **look)
    top.axvline(largest, label=f"n = d = {largest}", **line(STYLES["boundary"]))
    bottom.axvline(1 / law, label=f"d² = {law} n ln T", **line(STYLES["svm"]))
    top.set(xlabel=f"sequences n (d = {largest})", ylabel="feasible share")
    bottom.set(xlabel=f"n ln T / d² (pale: d < {largest})", ylabel="feasible share")
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _reached(reached: Mapping[tuple[int, int], np.ndarray]) -> dict[tuple[int, int], np.ndarray]:
    """The checked argument of `separability_curves`, ordered by size."""
    if not isinstance(reached, Mapping) or not reached:
        raise ValueError(f"reached must map at least one size (T, d) to counts, got {reached!r}")
    out = {}
    for size, counts in reached.items():
        if not isinstance(size, tuple) or len(size) != 2:
            raise ValueError(f"reached must have sizes (T, d) as keys, got {size!r}")
        key = integer("T in reached", size[0], 2), integer("d in reached", size[1], 1)
        out[key] = integer_array(f"reached[{key}]", counts, (None,), 0, 10**6)
        if not out[key].size:
            raise ValueError(f"reached[{key}] must hold at least one count, got none")
    if len({T for T, _ in out}) > 4:
        raise ValueError(f"reached must have at most four different T, got {sorted({T for T, _ in out})}")
    return dict(sorted(out.items()))
