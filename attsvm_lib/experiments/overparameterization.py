"""What gradient descent selects as the dimension grows: arXiv 2308.16898, section 4 (over-parameterization).

Runs on random data sets are sorted by where they are: at the optimal tokens, at a locally optimal selection, at a
selection that is neither, or not yet at one token a sequence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.data import TokenData, check_data
from attsvm_lib.experiments.local import local_convergence
from attsvm_lib.selection import locally_optimal, scores
from attsvm_lib.svm import InfeasibleError, att_svm, separable
from attsvm_lib.training import train
from attsvm_lib.validation import real_array

__all__ = ["KINDS", "ONE_HOT", "Followed", "Outcomes", "follow", "outcomes", "overparameterization"]

KINDS = ("global", "local", "neither", "undecided")
"""Where a run can be, in the order of the numbers in `Outcomes.kind`."""

ONE_HOT = 0.99
"""A run has decided when each sequence gives one token at least this attention."""


class Outcomes(NamedTuple):
    """Where s runs are at c checkpoints.

    steps : array of int, shape (c,)
    kind : array of int, shape (s, c)
        Index into `KINDS`.
    feasible : array of bool, shape (s,)
        Whether the optimal tokens are separable, that is, whether a run can reach them at all.
    """

    steps: np.ndarray
    kind: np.ndarray
    feasible: np.ndarray

    def share(self, name):
        """Fraction of the runs of that kind at each checkpoint, shape (c,)."""
        return (self.kind == KINDS.index(name)).mean(0)

    def error(self, name):
        """Binomial standard error of `share`, shape (c,)."""
        p = self.share(name)
        return np.sqrt(p * (1 - p) / len(self.kind))


def overparameterization(d, *, n=4, T=6, seeds=range(200), steps=3000, checkpoints=None, **settings):
    """Train on random data sets of dimension d and say what each run selects.

    Parameters
    ----------
    d : int
        Dimension of tokens and queries.
    n, T : int
        Sequences, tokens.
    seeds : sequence of int
        One data set and one start each, drawn as in `local_convergence`.
    steps : int
        Normalized steps of 0.1, with the exact gradient.
    checkpoints : sequence of int, optional
        Step counts at which to look; by default the last.
    **settings
        Other settings of `local_convergence`: attention, parameterization, progress, ...

    Returns
    -------
    Outcomes
        The supports are those of the Frobenius solution for W and of the nuclear one for (K, Q).

    Notes
    -----
    Source: arXiv 2308.16898, section 4. The paper's own sizes are not known to us; ours are the defaults here.
    """
    checkpoints = (steps,) if checkpoints is None else tuple(checkpoints)
    settings = {"arithmetic": "exact", "steps": steps, "checkpoints": checkpoints, **settings}
    runs = local_convergence(n, T, d, seeds=seeds, **settings)
    norm = "nuclear" if settings.get("parameterization") == "KQ" else "frobenius"
    kind = np.stack([outcomes(runs.data, runs.head, p, norm=norm) for p in runs.run.probabilities], axis=1)
    return Outcomes(runs.run.steps, kind, _feasible(runs.data.X, runs.data.Z, runs.data.Y, runs.head.v))


class Followed(NamedTuple):
    """Where s runs get to when they are followed further.

    kind : array of int, shape (s,)
        Index into `KINDS`.
    norm : array, shape (s,)
        ||W||_F. It stays bounded where a run has met a finite stationary point.
    feasible : array of bool, shape (s,)
        Whether the optimal tokens are separable.
    """

    kind: np.ndarray
    norm: np.ndarray
    feasible: np.ndarray


def follow(d, *, seeds, n=4, T=6, first=3000, steps=10000, step=1.0, attention="cross"):
    """Follow runs of `overparameterization` on W beyond their end, with longer steps.

    Parameters
    ----------
    d, n, T, seeds, attention
        As in `overparameterization`.
    first : int
        Normalized steps of 0.1 before.
    steps, step : int, float
        Normalized steps after; once the norm is large a step of 1 still turns the direction little.

    Returns
    -------
    Followed
    """
    settings = {"arithmetic": "exact", "steps": first, "checkpoints": (first,), "attention": attention}
    runs = local_convergence(n, T, d, seeds=seeds, **settings)
    run = train(runs.data, runs.head, start=runs.run.W[-1], step=step, steps=steps, checkpoints=[steps])
    kind = outcomes(runs.data, runs.head, run.probabilities[-1])
    return Followed(kind, run.norm[-1], _feasible(runs.data.X, runs.data.Z, runs.data.Y, runs.head.v))


def outcomes(data, head, probabilities, *, norm="frobenius"):
    """Where each of s runs is, from its attention probabilities.

    Parameters
    ----------
    data : TokenData
        Batch axis (s,).
    head : LinearHead
        Batch axis (s,).
    probabilities : array, shape (s, n, T)
        Attention.
    norm : {"frobenius", "nuclear"}
        Norm whose support tokens decide about local optimality.

    Returns
    -------
    array of int, shape (s,)
        Index into `KINDS`. A selection that no W can select is "neither".
    """
    shape = check_data(data).X.shape[:-1]
    probabilities = real_array("probabilities", probabilities, shape)
    return _kinds(data.X, data.Z, data.Y, head.v, probabilities, norm)


@cached
def _kinds(X, Z, Y, v, probabilities, norm):
    return np.array([_kind(TokenData(X[k], Z[k], Y[k]), v[k], probabilities[k], norm) for k in range(len(X))])


def _kind(data, v, probabilities, norm):
    if probabilities.max(-1).min() < ONE_HOT:
        return KINDS.index("undecided")
    gamma, alpha = scores(data, v), probabilities.argmax(-1)
    if (alpha == gamma.argmax(-1)).all():
        return KINDS.index("global")
    try:
        return KINDS.index("local" if locally_optimal(att_svm(data, alpha, norm=norm), gamma) else "neither")
    except InfeasibleError:
        return KINDS.index("neither")


@cached
def _feasible(X, Z, Y, v):
    problems = [TokenData(*arrays) for arrays in zip(X, Z, Y, strict=True)]
    return np.array([separable(data, scores(data, head).argmax(-1)) for data, head in zip(problems, v, strict=True)])
