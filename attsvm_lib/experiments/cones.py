"""Does a max-margin direction attract? Starts far out, near one direction: arXiv 2308.16898, section 5."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.data import TokenData
from attsvm_lib.experiments.local import local_problems
from attsvm_lib.selection import correlation, locally_optimal, scores
from attsvm_lib.svm import att_svm
from attsvm_lib.sweep import sweep
from attsvm_lib.training import train
from attsvm_lib.validation import choice, integer, positive

__all__ = ["ConeRuns", "cone_runs"]

BLOCK = 50
"""Data sets a block of a sweep."""
DESCENT = 1000
"""Steps from a random start, to find a selection that descent makes."""


class ConeRuns(NamedTuple):
    """Runs from starts near W_mm(alpha), for two selections alpha of each of s data sets: arrays of shape (s, 2).

    The first selection is one that descent from a random start makes, the second is drawn at random.

    local : array of bool
        Whether alpha is locally optimal.
    start, end : array
        corr(W, W_mm(alpha)) at the first and at the last step.
    stayed : array of bool
        Whether attention selects alpha at the last step.
    """

    local: np.ndarray
    start: np.ndarray
    end: np.ndarray
    stayed: np.ndarray


def cone_runs(
    n=6, T=8, d=10, *, seeds=range(100), margin=10.0, spread=0.2, steps=3000, step=0.1, attention="cross", progress=None
):
    """Gradient descent on W from far out inside a cone around a max-margin direction, locally optimal or not.

    Parameters
    ----------
    n, T, d : int
        Sequences, tokens, dimension; data and head as in `local_convergence`.
    seeds : sequence of int
        One data set each.
    margin : float
        The run starts at `margin` times W_mm(alpha), plus a random matrix.
    spread : float
        Frobenius norm of the random matrix over that of `margin` times W_mm(alpha).
    steps, step : int, float
        Normalized steps with the saturation-proof gradient.
    attention : {"cross", "self"}
    progress : bool, optional
        As in `sweep`.

    Returns
    -------
    ConeRuns

    Raises
    ------
    InfeasibleError
        When a random selection is not separable: choose a larger d.

    Notes
    -----
    Source: arXiv 2308.16898, section 5, Theorem 7.
    """
    found = sweep(
        _cone_runs,
        seeds,
        size=BLOCK,
        progress=progress,
        name="cone_runs",
        sizes=(integer("n", n, 1), integer("T", T, 2), integer("d", d, 1)),
        margin=positive("margin", margin),
        spread=positive("spread", spread, zero=True),
        steps=integer("steps", steps, 1),
        step=positive("step", step),
        attention=choice("attention", attention, ("cross", "self")),
    )
    return ConeRuns(*found)


@cached
def _cone_runs(seeds, sizes, margin, spread, steps, step, attention):
    """The arrays of `ConeRuns` for a block of seeds."""
    data, head, starts = local_problems(seeds, *sizes, attention=attention)
    made = train(data, head, start=starts["W"], steps=DESCENT, checkpoints=[DESCENT]).selection[-1]
    rngs = [np.random.default_rng([seed, *sizes, 1]) for seed in seeds]
    alpha = np.stack([made, np.stack([rng.integers(sizes[1], size=sizes[0]) for rng in rngs])])
    gamma = scores(data, head.v)
    W_mm, local = np.empty((2, *starts["W"].shape)), np.empty((2, len(seeds)), dtype=bool)
    for kind, k in np.ndindex(local.shape):
        solution = att_svm(TokenData(data.X[k], data.Z[k], data.Y[k]), alpha[kind, k])
        W_mm[kind, k], local[kind, k] = solution.W, locally_optimal(solution, gamma[k])
    noise = np.stack([rng.standard_normal((2, sizes[2], sizes[2])) for rng in rngs], axis=1)
    noise *= spread * _norm(W_mm) / _norm(noise)
    run = train(data, head, start=margin * (W_mm + noise), steps=steps, step=step, checkpoints=[0, steps])
    ends = correlation(run.W, W_mm)
    stayed = (run.selection[-1] == alpha).all(-1)
    return local.T, ends[0].T, ends[1].T, stayed.T


def _norm(W):
    return np.linalg.norm(W, axis=(-2, -1), keepdims=True)
