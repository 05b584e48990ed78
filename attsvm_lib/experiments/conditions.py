"""The two conditions for global convergence, tested on random data: arXiv 2308.16898, section 4.

Equal scores: the non-optimal tokens of a sequence all have the same score. First gradient: the first step from
W = 0 raises the margin of every optimal token over every other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.attention import attention_scores, descent_direction
from attsvm_lib.cache import cached
from attsvm_lib.data import TokenData, check_data, random_direction
from attsvm_lib.excess import head_scores
from attsvm_lib.experiments.overparameterization import ONE_HOT, outcomes
from attsvm_lib.experiments.paths import path_problem
from attsvm_lib.experiments.problems import stacked
from attsvm_lib.heads import LinearHead
from attsvm_lib.selection import correlation, optimal_tokens
from attsvm_lib.svm import att_svm
from attsvm_lib.sweep import sweep
from attsvm_lib.training import random_start, train
from attsvm_lib.validation import choice, integer, positive

__all__ = [
    "EqualScoreRuns",
    "FirstGradientRuns",
    "equal_score_problem",
    "equal_scores",
    "first_gradient",
    "first_margin",
]

STEP = 0.1
LONG = 3.0
"""Least margin after a long first step."""


class EqualScoreRuns(NamedTuple):
    """Runs on s data sets with equal non-optimal scores.

    decided : array of bool, shape (s,)
        Whether each sequence gives one token an attention of at least 0.99 at the end.
    reached : array of bool, shape (s,)
        Whether these are the optimal tokens.
    lost : array, shape (s,)
        1 - corr(W, W_mm), with W_mm of the optimal tokens.
    """

    decided: np.ndarray
    reached: np.ndarray
    lost: np.ndarray


class FirstGradientRuns(NamedTuple):
    """Runs from W = 0 on s data sets.

    margin : array, shape (s,)
        Least margin of the first unit step (`first_margin`); the condition holds where it is positive.
    short, long : array of int, shape (s,)
        Where the run ends, an index into `overparameterization.KINDS`: with steps of 0.1 throughout, and with a first
        step so long that its least margin is 3. Where the condition fails, both are the same run.
    """

    margin: np.ndarray
    short: np.ndarray
    long: np.ndarray

    @property
    def holds(self):
        """Whether the condition holds, shape (s,)."""
        return self.margin > 0


def equal_score_problem(n, T, d, *, seed=0, attention="cross"):
    """Unit tokens and queries whose non-optimal scores are exactly equal in each sequence: (data, head).

    Parameters
    ----------
    n, T, d : int
        Sequences, tokens (at least 2), dimension (at least 2).
    seed : int
        Seeds the generator, together with the sizes.
    attention : {"cross", "self"}

    Returns
    -------
    TokenData, LinearHead
        v = e_1, so that a score is a coordinate. The common score of a sequence is uniform in [-0.6, 0.2], that of its
        optimal token larger by a gap uniform in [0.1, 0.4]; the rest of a token is uniform on a sphere.
    """
    n, T, d = integer("n", n, 1), integer("T", T, 2), integer("d", d, 2)
    choice("attention", attention, ("cross", "self"))
    rng = np.random.default_rng([integer("seed", seed, 0), n, T, d])
    gamma = np.repeat(rng.uniform(-0.6, 0.2, (n, 1)), T, axis=1)
    gamma[np.arange(n), rng.integers(T, size=n)] += rng.uniform(0.1, 0.4, n)
    Y = rng.choice([-1.0, 1.0], size=n)
    X = np.empty((n, T, d))
    X[..., 0] = Y[:, None] * gamma
    X[..., 1:] = np.sqrt(1 - gamma**2)[..., None] * random_direction(d - 1, rng=rng, batch=(n, T))
    Z = X[:, 0] if attention == "self" else random_direction(d, rng=rng, batch=(n,))
    return TokenData(X, Z, Y), LinearHead(np.eye(d)[0])


def equal_scores(n, T, d, *, seeds=range(50), scale=1.0, steps=3000, attention="cross", progress=None):
    """Train on data with equal non-optimal scores, from starts of any size.

    Parameters
    ----------
    n, T, d : int
        As in `equal_score_problem`.
    seeds : sequence of int
        One data set and one start each.
    scale : float
        The start has entries uniform in [-scale/sqrt(d), scale/sqrt(d)]; 0 is the start W = 0.
    steps : int
        Normalized steps of 0.1, with the exact gradient.
    attention : {"cross", "self"}
    progress : bool, optional
        As in `sweep`.

    Returns
    -------
    EqualScoreRuns

    Raises
    ------
    InfeasibleError
        When the optimal tokens of a data set are not separable: choose a larger d.

    Notes
    -----
    Source: arXiv 2308.16898, section 4; the experiment is ours.
    """
    settings = {
        "sizes": (n, T, d),
        "scale": positive("scale", scale, zero=True),
        "steps": integer("steps", steps, 1),
        "attention": attention,
    }
    return EqualScoreRuns(*sweep(_equal_scores, seeds, size=50, progress=progress, name="equal_scores", **settings))


@cached
def _equal_scores(seeds, sizes, scale, steps, attention):
    problems = [equal_score_problem(*sizes, seed=seed, attention=attention) for seed in seeds]
    data, head = stacked(problems)
    d = sizes[-1]
    start = scale * np.stack([random_start(d, rng=np.random.default_rng([seed, d])) for seed in seeds])
    run = train(data, head, start=start, step=STEP, steps=steps, checkpoints=[steps])
    best = optimal_tokens(head_scores(data, head))
    decided = run.selected_probability[-1].min(-1) >= ONE_HOT
    W_mm = np.stack([att_svm(one, alpha).W for (one, _), alpha in zip(problems, best, strict=True)])
    return decided, decided & (run.selection[-1] == best).all(-1), 1 - correlation(run.W[-1], W_mm)


def first_margin(data, head, W):
    r"""Least margin of the unit descent direction at W over all optimal-token differences.

    .. math:: \iota = \min_{i,\, t \ne \mathrm{opt}_i} (x_{i\,\mathrm{opt}_i} - x_{it})^\top D z_i, \qquad
              D = -\nabla L(W) / \|\nabla L(W)\|_F .

    Parameters
    ----------
    data : TokenData
        Batch axes allowed.
    head : LinearHead
    W : array, shape (..., d, d)

    Returns
    -------
    array or float, shape (...)
        Positive exactly when the first step raises every margin: the condition on the first gradient.

    Raises
    ------
    TieError
        When an optimal token is not unique.
    ValueError
        When an argument does not fit.

    Notes
    -----
    Source: arXiv 2308.16898, section 4.
    """
    best = optimal_tokens(head_scores(check_data(data), head))[..., None]
    a = attention_scores(data, descent_direction(data, head, W).unit)
    margins = np.take_along_axis(a, best, -1) - a
    np.put_along_axis(margins, best, np.inf, -1)
    return margins.min((-2, -1))


def first_gradient(n, T, d, *, seeds=range(400), steps=2000, attention="cross", progress=None):
    """Train from W = 0 on random data, and say for which data the first gradient satisfies the condition.

    Parameters
    ----------
    n, T, d : int
        Sequences, tokens (at least 2), dimension.
    seeds : sequence of int
        One data set each, drawn as in `path_problem`.
    steps : int
        Normalized steps of 0.1 (beside the long first one).
    attention : {"cross", "self"}
    progress : bool, optional
        As in `sweep`.

    Returns
    -------
    FirstGradientRuns

    Notes
    -----
    Source: arXiv 2308.16898, section 4; the experiment is ours.
    """
    settings = {"sizes": (n, T, d), "steps": integer("steps", steps, 1), "attention": attention}
    found = sweep(_first_gradient, seeds, size=100, progress=progress, name="first_gradient", **settings)
    return FirstGradientRuns(*found)


@cached
def _first_gradient(seeds, sizes, steps, attention):
    data, head = stacked([path_problem(*sizes, index=seed, attention=attention) for seed in seeds])
    zero = np.zeros((len(seeds), data.d, data.d))
    margin = first_margin(data, head, zero)
    short = _ends(data, head, zero, steps)
    long, holds = short.copy(), np.flatnonzero(margin > 0)
    if len(holds):
        some = TokenData(data.X[holds], data.Z[holds], data.Y[holds])
        v = LinearHead(head.v[holds])
        first = (LONG / margin[holds])[:, None, None] * descent_direction(some, v, zero[holds]).unit
        long[holds] = _ends(some, v, first, steps)
    return margin, short, long


def _ends(data, head, start, steps):
    run = train(data, head, start=start, step=STEP, steps=steps, checkpoints=[steps])
    return outcomes(data, head, run.probabilities[-1])
