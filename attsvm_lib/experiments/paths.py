"""Experiments on the regularization path: how fast it turns to the max-margin direction, and how wide K and Q
must be.

Source: arXiv 2308.16898, section 3, Theorem 2; the rates and the widths are measured here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.constraints import token_rows
from attsvm_lib.data import random_data, random_direction
from attsvm_lib.heads import LinearHead
from attsvm_lib.regularization import predicted_constant, regularization_path
from attsvm_lib.validation import choice, integer, integer_array, positive, real_array

__all__ = ["PathStatistics", "WidthStatistics", "path_measures", "path_problem", "path_statistics", "width_statistics"]

TRAPPED = 1e-3
"""An end counts as worse when its log(L - L_*) lies this much above the best one."""


class PathStatistics(NamedTuple):
    """Regularization paths of several problems at r radii.

    distance : array, shape (problems, r)
        ||W_R / R - limit||_F.
    lost : array, shape (problems, r)
        1 - corr(W_R, limit).
    constant : array, shape (problems,)
        Predicted constant C of the rate distance ~ C / R.
    trapped : array, shape (problems, r)
        Fraction of the random starts that ended at a worse risk than the best start.
    first_best : array of bool, shape (problems, r)
        Whether no start ended below the end from the SVM direction.
    followed : array of bool, shape (problems, r)
        Whether the continuation from smaller radii, which knows nothing of the SVM, ended at the same risk.
    """

    distance: np.ndarray
    lost: np.ndarray
    constant: np.ndarray
    trapped: np.ndarray
    first_best: np.ndarray
    followed: np.ndarray


class WidthStatistics(NamedTuple):
    """Paths of (K, Q) of w widths m, at one radius.

    distance : array, shape (problems, w)
        ||K_R Q_R^T / R - W*_mm / ||W*_mm||_* ||_F.
    margin : array, shape (problems, w)
        Least margin of K_R Q_R^T / R over the largest possible one, 1 / ||W*_mm||_*; at most 1, and negative when a
        token is not selected.
    rank : array of int, shape (problems,)
        Rank of W*_mm.
    """

    distance: np.ndarray
    margin: np.ndarray
    rank: np.ndarray


def path_problem(n, T, d, *, seed=0, index=0, attention="cross"):
    """Unit tokens, queries and head drawn from the generator of (seed, n, T, d, index): (data, head)."""
    n, T, d = integer("n", n, 1), integer("T", T, 2), integer("d", d, 1)
    rng = np.random.default_rng([integer("seed", seed, 0), n, T, d, integer("index", index, 0)])
    data = random_data(n, T, d, rng=rng, attention=attention)
    return data, LinearHead(random_direction(d, rng=rng))


def path_statistics(n, T, d, radii, *, parameterization="W", attention="cross", problems=3, starts=2, seed=0):
    """Regularization paths of random problems, with the rate predicted for each.

    Parameters
    ----------
    n, T, d : int
        Sequences, tokens (at least 2), dimension.
    radii : array_like, shape (r,)
        Positive, increasing radii.
    parameterization : {"W", "KQ"}
        K and Q are d columns wide.
    attention : {"cross", "self"}
    problems, starts, seed : int
        Problems, random starts at each radius beside the SVM direction, seed.

    Returns
    -------
    PathStatistics

    Raises
    ------
    InfeasibleError
        When the optimal tokens of a problem are not separable: choose a larger d.

    Notes
    -----
    Source: arXiv 2308.16898, section 3, Theorem 2; the rate is ours (`predicted_constant`).
    """
    radii = real_array("radii", radii, (None,), axes="(r,)")
    choice("parameterization", parameterization, ("W", "KQ"))
    problems, starts = integer("problems", problems, 1), integer("starts", starts, 0)
    settings = (parameterization, attention, problems, starts, seed)
    return PathStatistics(*_path_statistics(n, T, d, tuple(radii.tolist()), *settings))


@cached
def _path_statistics(n, T, d, radii, parameterization, attention, problems, starts, seed):
    found = []
    for index in range(problems):
        data, head = path_problem(n, T, d, seed=seed, index=index, attention=attention)
        rng = np.random.default_rng([seed, index])
        found.append(path_measures(data, head, radii, parameterization=parameterization, starts=starts, rng=rng))
    return tuple(np.array(values) for values in zip(*found, strict=True))


def path_measures(data, head, radii, *, starts, **options):
    """The fields of `PathStatistics` for one problem; arguments as `regularization_path`."""
    path = regularization_path(data, head, radii, starts=starts, **options)
    worse = path.ends - path.log_excess[:, None] > TRAPPED
    trapped = worse[:, 2:].mean(1) if starts else np.zeros(len(radii))
    constant = predicted_constant(data, head, path.solution)
    return path.distance, 1 - path.correlation, constant, trapped, ~worse[:, 0], ~worse[:, 1]


def width_statistics(n, T, d, widths, *, radius=1e3, attention="cross", problems=5, starts=3, seed=0):
    """How near (K, Q) of width m comes to the nuclear direction, for several widths at one large radius.

    Parameters
    ----------
    n, T, d : int
        Sequences, tokens (at least 2), dimension.
    widths : array_like of int, shape (w,)
        Columns m of K and Q.
    radius : float
        Bound R: ||K||_F^2 + ||Q||_F^2 <= 2 R.
    attention : {"cross", "self"}
    problems, starts, seed : int
        As in `path_statistics`; the first start is the SVM solution cut to its m largest singular values.

    Returns
    -------
    WidthStatistics
        Below the rank the search is local: the margin found is a lower bound.

    Raises
    ------
    InfeasibleError
        When the optimal tokens of a problem are not separable: choose a larger d.

    Notes
    -----
    Source: arXiv 2308.16898, section 3 (the condition on m in Theorem 2); the experiment is ours.
    """
    widths = integer_array("widths", widths, (None,), 1, 10**6, axes="(w,)")
    problems, starts = integer("problems", problems, 1), integer("starts", starts, 0)
    settings = (positive("radius", radius), attention, problems, starts, seed)
    return WidthStatistics(*_width_statistics(n, T, d, tuple(widths.tolist()), *settings))


@cached
def _width_statistics(n, T, d, widths, radius, attention, problems, starts, seed):
    distance, margin, rank = np.zeros((problems, len(widths))), np.zeros((problems, len(widths))), []
    for index in range(problems):
        data, head = path_problem(n, T, d, seed=seed, index=index, attention=attention)
        for j, m in enumerate(widths):
            rng = np.random.default_rng([seed, index, m])
            path = regularization_path(data, head, [radius], parameterization="KQ", width=m, starts=starts, rng=rng)
            rows = token_rows(data, path.solution.alpha)
            distance[index, j] = path.distance[0]
            margin[index, j] = rows.margins(path.W[0] / radius).min() * path.solution.objective
        rank.append(path.solution.rank)
    return distance, margin, np.array(rank)
