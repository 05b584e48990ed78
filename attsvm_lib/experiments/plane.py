"""Training paths in the plane, as in Figures 1 and 2 of arXiv 2308.16898: n = 2 sequences, d = 2, T = 3 and T = 5."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.experiments.paths import path_problem
from attsvm_lib.experiments.problems import stacked
from attsvm_lib.selection import correlation, scores
from attsvm_lib.svm import InfeasibleError, att_svm
from attsvm_lib.training import train
from attsvm_lib.validation import choice, integer

__all__ = ["PlaneRuns", "plane_paths", "train_plane"]

STEP = 0.1
START = 0.3 * np.eye(2)
"""K(0) = Q(0), and W(0) is their product: a small start, the same for both models."""
LARGEST = 30.0
"""Problems with a longer W_mm turn too slowly for a picture; they are left out, with the infeasible ones."""


class PlaneRuns(NamedTuple):
    """Runs of W and of (K, Q) on s feasible problems in the plane.

    tried : int
        Problems drawn until s were feasible, with ||W_mm||_F at most 30.
    optimal : array of bool, shape (s,)
        Whether both runs select the optimal tokens at the end.
    lost_W : array, shape (s,)
        1 - corr(W, W_mm) at the end of the run of W.
    lost_KQ : array, shape (s,)
        1 - corr(K Q^T, W*_mm) at the end of the run of (K, Q).
    apart : array, shape (s,)
        1 - corr(W_mm, W*_mm): how far the two limits are apart.
    """

    tried: int
    optimal: np.ndarray
    lost_W: np.ndarray
    lost_KQ: np.ndarray
    apart: np.ndarray


def train_plane(data, head, *, steps, checkpoints):
    """The runs of W and of (K, Q) from K(0) = Q(0) = 0.3 I: normalized steps of 0.1, one common norm for K and Q."""
    options = {"step": STEP, "steps": steps, "checkpoints": checkpoints}
    W = train(data, head, start=START @ START.T, **options)
    factors = train(data, head, parameterization="KQ", start=(START, START), normalization="joint", **options)
    return W, factors


def plane_paths(T, *, problems=20, steps=5000, attention="cross", seed=0):
    """Train W and (K, Q) on random problems with n = 2 and d = 2, and compare each with its SVM direction.

    Parameters
    ----------
    T : int
        Tokens, at least 2.
    problems : int
        Feasible problems wanted, drawn as in `path_problem`.
    steps : int
        Normalized steps of 0.1.
    attention : {"cross", "self"}
    seed : int

    Returns
    -------
    PlaneRuns

    Notes
    -----
    Source: arXiv 2308.16898, section 4, Figures 1 and 2 (plots of single runs).
    """
    choice("attention", attention, ("cross", "self"))
    return PlaneRuns(*_plane_paths(integer("T", T, 2), integer("problems", problems, 1), steps, attention, seed))


@cached
def _plane_paths(T, problems, steps, attention, seed):
    chosen, tried = [], 0
    while len(chosen) < problems:
        data, head = path_problem(2, T, 2, seed=seed, index=tried, attention=attention)
        tried += 1
        best = scores(data, head.v).argmax(-1)
        try:
            pair = [att_svm(data, best, norm=norm) for norm in ("frobenius", "nuclear")]
        except InfeasibleError:
            continue
        if pair[0].objective <= LARGEST:
            chosen.append((data, head, best, *(solution.W for solution in pair)))
    data, head = stacked([(one, v) for one, v, *_ in chosen])
    best, W_mm, W_star = (np.stack(u) for u in list(zip(*chosen, strict=True))[2:])
    W, factors = train_plane(data, head, steps=steps, checkpoints=[steps])
    optimal = np.logical_and.reduce([(run.selection[-1] == best).all(-1) for run in (W, factors)])
    lost_W, lost_KQ = 1 - correlation(W.W[-1], W_mm), 1 - correlation(factors.W[-1], W_star)
    return tried, optimal, lost_W, lost_KQ, 1 - correlation(W_mm, W_star)
