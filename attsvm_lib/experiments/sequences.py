"""Sequential prediction with and without a causal mask, trained and regularized: arXiv 2308.16898, section 7."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from attsvm_lib.attention import LinearHead, frobenius
from attsvm_lib.cache import cached
from attsvm_lib.data import random_direction
from attsvm_lib.excess import head_scores
from attsvm_lib.experiments.paths import PathStatistics, path_measures
from attsvm_lib.selection import correlation, locally_optimal, optimal_tokens
from attsvm_lib.sequences import PositionHead, sequence_data
from attsvm_lib.svm import sequential_svm
from attsvm_lib.sweep import sweep
from attsvm_lib.training import random_start, train
from attsvm_lib.validation import choice, integer, integer_array, positive, real_array

__all__ = [
    "SequentialCones",
    "SequentialRuns",
    "sequential_cones",
    "sequential_descent",
    "sequential_path",
    "sequential_problem",
]

NORMS = {"W": "frobenius", "KQ": "nuclear"}
SETTINGS = {"labels": ("sequence", "position"), "heads": ("shared", "position")}
BLOCK = 25
"""Runs a block of `sequential_descent`: their arrays fit the processor's cache."""


class SequentialRuns(NamedTuple):
    """Descent runs of several seeds, recorded at c checkpoints.

    steps : array of int, shape (c,)
    correlation : array, shape (seeds, c)
        corr(W(k), W_mm), with the SVM of the tokens selected at the end.
    probability : array, shape (seeds, c)
        Least attention that a position gives the token selected at the end.
    norm : array, shape (seeds, c)
        ||W(k)||_F.
    optimal : array of bool, shape (seeds,)
        Whether each position selects its optimal token at the end.
    locally_optimal : array of bool, shape (seeds,)
        Whether the final selection is locally optimal.
    """

    steps: np.ndarray
    correlation: np.ndarray
    probability: np.ndarray
    norm: np.ndarray
    optimal: np.ndarray
    locally_optimal: np.ndarray


class SequentialCones(NamedTuple):
    """Descent from near every SVM direction of several problems; s selections each.

    correlation : array, shape (seeds, s)
        corr of the final W with the solution W_mm(alpha) near which the run began.
    kept : array of bool, shape (seeds, s)
        Whether attention still selects alpha at the end.
    locally_optimal : array of bool, shape (seeds, s)
        Whether alpha is locally optimal.
    """

    correlation: np.ndarray
    kept: np.ndarray
    locally_optimal: np.ndarray


def sequential_problem(n, T, d, *, seed, causal=True, labels="sequence", heads="shared"):
    """Unit tokens and heads and fair labels, drawn from the generator of (seed, n, T, d).

    Parameters
    ----------
    n, T, d : int
        Sequences, tokens, dimension.
    seed : int
    causal : bool
    labels : {"sequence", "position"}
        One label Y_i, or one for each position, Y_ij.
    heads : {"shared", "position"}
        One linear head, or one for each position.

    Returns
    -------
    (TokenData, LinearHead or PositionHead)
        Settings of one seed share tokens and the labels and head of their last position.
    """
    choice("labels", labels, SETTINGS["labels"])
    choice("heads", heads, SETTINGS["heads"])
    X, Y, v = _draw(integer("n", n, 1), integer("T", T, 1), integer("d", d, 1), integer("seed", seed, 0))
    return _assemble(X, Y, v, causal, labels, heads)


def sequential_descent(
    n=3,
    T=4,
    d=8,
    *,
    seeds=range(10),
    causal=True,
    labels="sequence",
    heads="shared",
    parameterization="W",
    checkpoints=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 4000),
    step=0.1,
    progress=None,
):
    """Normalized gradient descent on the sequential risk, against the SVM of what it selects.

    Parameters
    ----------
    n, T, d : int
        Sequences, tokens (at least 2), dimension.
    seeds : sequence of int
        One run for each.
    causal, labels, heads
        As in `sequential_problem`.
    parameterization : {"W", "KQ"}
        W from 0, or K and Q of d columns from entries uniform in +-1/sqrt(d), steps normalized by their common norm.
    checkpoints : array_like of int, shape (c,)
        Increasing step counts to record; the last one ends the run.
    step : float
        Length of a step.
    progress : bool, optional
        As in `sweep`.

    Returns
    -------
    SequentialRuns

    Raises
    ------
    InfeasibleError
        When no W makes each position prefer the token of its largest attention: more steps, or a larger d.

    Notes
    -----
    Source: arXiv 2308.16898, section 7 and Theorem 11; sizes and steps are ours.
    """
    settings = _settings(n, T, d, causal, labels, heads, parameterization)
    steps = integer_array("checkpoints", list(checkpoints), (None,), 0, 10**7, axes="(c,)")
    settings |= {"checkpoints": tuple(steps.tolist()), "step": positive("step", step)}
    return SequentialRuns(steps, *sweep(_descent, seeds, size=BLOCK, progress=progress, **settings))


def sequential_cones(
    T=4,
    d=8,
    *,
    seeds=range(10),
    causal=True,
    labels="position",
    heads="shared",
    steps=1000,
    step=1.0,
    radius=100.0,
    spread=0.2,
    progress=None,
):
    """Descent on one sequence from near W_mm(alpha), far out, for every selection alpha that the mask allows.

    Parameters
    ----------
    T, d : int
        Tokens (at least 2) and dimension: T! selections if causal, else T^T.
    seeds, causal, labels, heads, progress
        As in `sequential_descent`.
    steps, step
        Normalized steps and their length.
    radius, spread : float
        The start is radius ||W_mm|| (W_mm / ||W_mm||_F + spread E) with a random matrix E of norm 1.

    Returns
    -------
    SequentialCones

    Raises
    ------
    InfeasibleError
        When a selection is not separable: choose a larger d.

    Notes
    -----
    Source: arXiv 2308.16898, Theorem 11 (locally optimal directions within cones); the experiment is ours.
    """
    settings = _settings(1, T, d, causal, labels, heads, "W")
    settings |= {"steps": integer("steps", steps, 1), "step": positive("step", step)}
    settings |= {"radius": positive("radius", radius), "spread": positive("spread", spread, zero=True)}
    return SequentialCones(*sweep(_cones, seeds, size=1, progress=progress, **settings))


def sequential_path(
    n=3,
    T=4,
    d=8,
    radii=(10.0, 100.0, 1e3, 1e4),
    *,
    seeds=range(5),
    causal=True,
    labels="sequence",
    heads="shared",
    parameterization="W",
    starts=2,
    progress=None,
):
    """Regularization paths of the sequential risk, with the rate predicted for each.

    Parameters
    ----------
    n, T, d, seeds, causal, labels, heads, progress
        As in `sequential_descent`.
    radii : array_like, shape (r,)
        Positive, increasing radii.
    parameterization : {"W", "KQ"}
        K and Q are d columns wide.
    starts : int
        Random starts at each radius, beside the SVM direction and the continued path.

    Returns
    -------
    PathStatistics

    Raises
    ------
    InfeasibleError
        When the optimal tokens of a problem are not separable: choose a larger d.

    Notes
    -----
    Source: arXiv 2308.16898, section 7; the rate is ours (`predicted_constant`).
    """
    settings = _settings(n, T, d, causal, labels, heads, parameterization)
    radii = real_array("radii", radii, (None,), axes="(r,)")
    settings |= {"radii": tuple(radii.tolist()), "starts": integer("starts", starts, 0)}
    return PathStatistics(*sweep(_path, seeds, size=1, progress=progress, **settings))


def _settings(n, T, d, causal, labels, heads, parameterization):
    return {
        "shape": (integer("n", n, 1), integer("T", T, 2), integer("d", d, 1)),
        "causal": causal,
        "labels": choice("labels", labels, SETTINGS["labels"]),
        "heads": choice("heads", heads, SETTINGS["heads"]),
        "parameterization": choice("parameterization", parameterization, tuple(NORMS)),
    }


def _draw(n, T, d, seed):
    rng = np.random.default_rng([seed, n, T, d])
    X = random_direction(d, rng=rng, batch=(n, T))
    return X, rng.choice([-1.0, 1.0], size=(n, T)), random_direction(d, rng=rng, batch=(T,))


def _assemble(X, Y, v, causal, labels, heads):
    """Data and head of tokens (..., n, T, d), labels (..., n, T) and heads (..., T, d)."""
    data = sequence_data(X, Y[..., -1] if labels == "sequence" else Y, causal=causal)
    return data, LinearHead(v[..., -1, :]) if heads == "shared" else PositionHead(v)


@cached
def _descent(seeds, shape, causal, labels, heads, parameterization, checkpoints, step):
    n, T, d = shape
    X, Y, v = (np.stack(arrays) for arrays in zip(*(_draw(*shape, seed) for seed in seeds), strict=True))
    data, head = _assemble(X, Y, v, causal, labels, heads)
    options = {"steps": checkpoints[-1], "step": step, "checkpoints": checkpoints}
    if parameterization == "KQ":
        starts = [random_start(d, d, rng=np.random.default_rng([seed, *shape, 1])) for seed in seeds]
        options |= {"start": tuple(map(np.stack, zip(*starts, strict=True))), "normalization": "joint"}
    run = train(data, head, parameterization=parameterization, **options)
    gamma = head_scores(data, head).reshape(-1, n, T, T)
    alpha = run.selection[-1].reshape(-1, n, T)
    solutions = [sequential_svm(x, a, causal=causal, norm=NORMS[parameterization]) for x, a in zip(X, alpha)]
    W_mm = np.stack([solution.W for solution in solutions])
    selected = np.take_along_axis(run.probabilities, run.selection[-1:, ..., None], -1)
    return (
        correlation(run.W, W_mm).T,
        selected.min((-2, -1)).T,
        run.norm.T,
        (alpha == optimal_tokens(gamma.reshape(-1, n * T, T)).reshape(alpha.shape)).all((-2, -1)),
        np.array([locally_optimal(solution, g) for solution, g in zip(solutions, gamma)]),
    )


@cached
def _cones(seeds, shape, causal, labels, heads, parameterization, steps, step, radius, spread):
    return tuple(np.array(values) for values in zip(*(
        _cones_of_one(seed, shape, causal, labels, heads, steps, step, radius, spread) for seed in seeds
    ), strict=True))  # fmt: skip


def _cones_of_one(seed, shape, causal, labels, heads, steps, step, radius, spread):
    _, T, d = shape
    data, head = _assemble(*_draw(*shape, seed), causal, labels, heads)
    choices = itertools.product(*(range(j + 1 if causal else T) for j in range(T)))
    alphas = np.array(list(choices))[:, None]
    solutions = [sequential_svm(data.X[:1], alpha, causal=causal) for alpha in alphas]
    W_mm = np.stack([solution.W for solution in solutions])
    noise = np.random.default_rng([seed, *shape, 3]).standard_normal(W_mm.shape)
    size = frobenius(W_mm)[:, None, None]
    start = radius * (W_mm + spread * size * noise / frobenius(noise)[:, None, None])
    run = train(data, head, start=start, steps=steps, step=step, checkpoints=[steps])
    gamma = head_scores(data, head)[None]
    kept = (run.selection[-1] == alphas[:, 0]).all(1)
    return correlation(run.W[-1], W_mm), kept, [locally_optimal(solution, gamma) for solution in solutions]


@cached
def _path(seeds, shape, causal, labels, heads, parameterization, radii, starts):
    found = []
    for seed in seeds:
        data, head = _assemble(*_draw(*shape, seed), causal, labels, heads)
        rng = np.random.default_rng([seed, *shape, 2])
        found.append(path_measures(data, head, radii, parameterization=parameterization, starts=starts, rng=rng))
    return tuple(np.array(values) for values in zip(*found, strict=True))
