"""Where gradient descent goes from a random start: arXiv 2308.16898, section 5.

Runs on many random data sets (`local_convergence`), and how they align with the max-margin directions of the tokens
that they select in the end (`local_alignment`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.attention import attention_scores
from attsvm_lib.cache import cached
from attsvm_lib.data import TokenData, random_data, random_direction
from attsvm_lib.heads import LinearHead
from attsvm_lib.selection import correlation, locally_optimal, scores
from attsvm_lib.svm import att_svm
from attsvm_lib.sweep import sweep
from attsvm_lib.training import Run, random_start, train
from attsvm_lib.validation import choice, integer, seed_sequence

__all__ = [
    "CHECKPOINTS",
    "LocalAlignment",
    "LocalRuns",
    "local_alignment",
    "local_convergence",
    "local_problems",
    "rounding_error",
]

CHECKPOINTS = (0, 1, 2, 5, *range(10, 201, 10), *range(250, 1001, 50), *range(1100, 2001, 100))
"""Fifty step counts at which the runs are recorded: dense at first, where the directions turn."""

BLOCK = 100
"""Data sets a block of a sweep."""


class LocalRuns(NamedTuple):
    """Training runs on s random data sets, one for each seed.

    data : TokenData
        Batch axis (s,).
    head : LinearHead
        Batch axis (s,).
    run : Run
        Batch axis (s,): records have shape (c, s, ...) for c checkpoints.
    """

    data: TokenData
    head: LinearHead
    run: Run


class LocalAlignment(NamedTuple):
    """How s runs align with the SVM directions of the tokens alpha that they select at their last checkpoint.

    steps : array of int, shape (c,)
        Checkpoints.
    selected_probability : array, shape (s, c)
        Largest attention probability, averaged over the sequences.
    selection : array of int, shape (s, n)
        alpha.
    frobenius, nuclear : array, shape (s, c)
        corr(W, W_mm(alpha)) and corr(W, W*_mm(alpha)).
    optimal : array of bool, shape (s,)
        Whether alpha are the optimal tokens.
    local_frobenius, local_nuclear : array of bool, shape (s,)
        Whether alpha is locally optimal by the support of W_mm(alpha), or of W*_mm(alpha).
    """

    steps: np.ndarray
    selected_probability: np.ndarray
    selection: np.ndarray
    frobenius: np.ndarray
    nuclear: np.ndarray
    optimal: np.ndarray
    local_frobenius: np.ndarray
    local_nuclear: np.ndarray


def local_convergence(
    n=6,
    T=8,
    d=10,
    *,
    seeds=range(100),
    parameterization="W",
    steps=2000,
    step=0.1,
    arithmetic="paper",
    weight_decay=None,
    normalization="separate",
    attention="cross",
    checkpoints=None,
    progress=None,
):
    """Train on random data sets by normalized gradient descent, as in the paper's experiment on local convergence.

    Parameters
    ----------
    n, T, d : int
        Sequences, tokens, dimension.
    seeds : sequence of int
        One data set each. Tokens, queries and head v are uniform on the unit sphere, labels fair signs, entries of
        the start W0 (or of K0 and Q0, d columns wide) uniform in [-1/sqrt(d), 1/sqrt(d)].
    parameterization : {"W", "KQ"}
        What is trained. Data and head of a seed are the same for both.
    steps, step, arithmetic, weight_decay, normalization
        As in `train`; the defaults are the paper's.
    attention : {"cross", "self"}
        Free queries, or z_i = x_i1.
    checkpoints : sequence of int, optional
        Step counts to record, by default those of `CHECKPOINTS` below `steps`, and `steps`.
    progress : bool, optional
        As in `sweep`, which says also how to use several cores or a cluster and how a sweep resumes.

    Returns
    -------
    LocalRuns

    Raises
    ------
    ValueError
        When an argument does not fit.

    Notes
    -----
    Source: arXiv 2308.16898, section 5.
    """
    steps = integer("steps", steps, 1)
    checkpoints = _checkpoints(checkpoints, steps)
    arrays = sweep(
        _runs,
        seeds,
        size=BLOCK,
        progress=progress,
        name="local_convergence",
        sizes=(integer("n", n, 1), integer("T", T, 2), integer("d", d, 1)),
        attention=choice("attention", attention, ("cross", "self")),
        parameterization=choice("parameterization", parameterization, ("W", "KQ")),
        steps=steps,
        step=step,
        arithmetic=arithmetic,
        weight_decay=weight_decay,
        normalization=normalization,
        checkpoints=checkpoints,
    )
    return _whole(arrays, checkpoints)


def local_problems(seeds, n=6, T=8, d=10, *, attention="cross"):
    """The random data sets of `local_convergence`, one for each of s seeds, and where its runs start.

    Returns
    -------
    tuple
        TokenData and LinearHead with a batch axis (s,), and {"W": W0, "KQ": (K0, Q0)}, each matrix of shape (s, d, d).
    """
    drawn = []
    for seed in seed_sequence("seeds", seeds):
        rng = np.random.default_rng([seed, n, T, d])
        one = random_data(n, T, d, rng=rng, attention=attention)
        drawn.append((one.X, one.Z, one.Y, random_direction(d, rng=rng), random_start(d, rng=rng),
                      *random_start(d, d, rng=rng)))  # fmt: skip
    X, Z, Y, v, W, K, Q = (np.stack(u) for u in zip(*drawn))
    return TokenData(X, Z, Y), LinearHead(v), {"W": W, "KQ": (K, Q)}


def local_alignment(n=6, T=8, d=10, **settings):
    """How the runs of `local_convergence` align with the SVM directions of the tokens they select.

    Arguments are those of `local_convergence`.

    Returns
    -------
    LocalAlignment

    Notes
    -----
    alpha is the final argmax of the attention, as in the paper's experiment, also where attention is not one-hot yet.
    Att-SVM(alpha) is feasible: the final W itself, scaled up, satisfies its constraints.
    Source: arXiv 2308.16898, section 5.
    """
    runs = local_convergence(n, T, d, **settings)
    alpha = runs.run.selection[-1]
    found = _align(runs.data.X, runs.data.Z, runs.data.Y, runs.head.v, runs.run.W, alpha)
    return LocalAlignment(runs.run.steps, runs.run.selected_probability.mean(-1).T, alpha, *found)


def _checkpoints(checkpoints, steps):
    if checkpoints is None:
        return (*(k for k in CHECKPOINTS if k < steps), steps)
    return tuple(int(k) if isinstance(k, np.integer) else k for k in checkpoints)


@cached
def _runs(seeds, sizes, attention, parameterization, **options):
    """Data, head and records of the runs of a block, each with the seeds along its first axis."""
    data, head, starts = local_problems(seeds, *sizes, attention=attention)
    run = train(data, head, parameterization=parameterization, start=starts[parameterization], **options)
    weights = (run.W,) if parameterization == "W" else (run.W, run.K, run.Q)
    records = [np.moveaxis(u, 1, 0) for u in (run.loss, run.probabilities, *weights)]
    return data.X, data.Z, data.Y, head.v, run.status, run.stopped_at, *records


def _whole(arrays, checkpoints):
    X, Z, Y, v, status, stopped_at, *records = arrays
    risk, probabilities, *weights = (np.moveaxis(u, 0, 1) for u in records)
    W, K, Q = weights if len(weights) == 3 else (*weights, None, None)
    run = Run(np.array(checkpoints), W, K, Q, risk, probabilities, status, stopped_at)
    return LocalRuns(TokenData(X, Z, Y), LinearHead(v), run)


@cached
def _align(X, Z, Y, v, W, alpha):
    """The arrays of `LocalAlignment` from `frobenius` on."""
    rows = []
    for k in range(len(X)):
        data = TokenData(X[k], Z[k], Y[k])
        gamma = scores(data, v[k])
        solutions = [att_svm(data, alpha[k], norm=norm) for norm in ("frobenius", "nuclear")]
        curves = [correlation(W[:, k], solution.W) for solution in solutions]
        local = [locally_optimal(solution, gamma) for solution in solutions]
        rows.append((*curves, np.array_equal(alpha[k], gamma.argmax(-1)), *local))
    return tuple(np.array(column) for column in zip(*rows))


def rounding_error(data, head, W):
    """Error of the gradient's direction in ordinary arithmetic, and the smallest margin at which it is made.

    Parameters
    ----------
    data, head : TokenData, Head
    W : array, shape (..., d, d)

    Returns
    -------
    tuple of two arrays, each of shape (...)
        ||u - u_exact||_F of the unit directions of one step in both arithmetics of `train`; and
        min_it (x_ir - x_it)^T W z_i over the tokens t that are not selected, with r the selected one.
    """
    runs = [train(data, head, start=W, steps=1, step=1.0, arithmetic=kind) for kind in ("paper", "exact")]
    paper, exact = (run.W[1] - run.W[0] for run in runs)
    a = np.sort(attention_scores(data, W), axis=-1)
    return np.linalg.norm(paper - exact, axis=(-2, -1)), (a[..., -1] - a[..., -2]).min(-1)
