"""When are random tokens separable? The share of feasible problems, and the size at which it falls to one half.

Source: arXiv 2308.16898, section 2; the experiments are ours.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.data import TokenData
from attsvm_lib.experiments.problems import random_problem
from attsvm_lib.svm import InfeasibleError, gen_svm, separable
from attsvm_lib.validation import integer, integer_array

__all__ = ["feasible_sequences", "half_feasible", "separability", "separability_threshold", "set_separability"]


def separability(n, T, d, *, draws=200, seed=0, attention="cross", law="sphere", selection="random"):
    """Fraction of random problems, with randomly chosen tokens alpha, for which Att-SVM is feasible.

    Parameters
    ----------
    n, T, d : int
        Sequences, tokens, dimension.
    draws : int
        Random problems; the standard error is at most 1 / (2 sqrt(draws)).
    seed : int
    attention, law : str
        As in `random_data`.
    selection : {"random", "optimal"}
        Tokens drawn at random, or the optimal tokens of a random head.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    TieError
        With `selection` "optimal", when the optimal token of a problem is not unique. Random tokens tie almost
        never, except in d = 1, where unit tokens are +-1.

    Notes
    -----
    Source: arXiv 2308.16898, section 2 (separability); the experiment is ours.
    """
    return _separability(n, T, d, integer("draws", draws, 1), seed, attention, law, selection)


@cached
def _separability(n, T, d, draws, seed, attention, law, selection):
    kind = {"attention": attention, "law": law, "selection": selection}
    problems = (random_problem(n, T, d, seed=seed, index=k, **kind) for k in range(draws))
    return sum(separable(data, alpha) for data, alpha in problems) / draws


def set_separability(n, T, d, *, draws=200, seed=0, attention="cross"):
    """Fraction of random problems, with random sets of tokens to keep, for which Gen-SVM is feasible.

    Parameters
    ----------
    n, T, d, draws, seed, attention
        As in `separability`; each token of unit data is kept with probability 1/2, at least one in each sequence.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    Source: arXiv 2308.16898, section 6, Theorem 8; the experiment is ours.
    """
    return _set_separability(n, T, d, integer("draws", draws, 1), seed, attention)


@cached
def _set_separability(n, T, d, draws, seed, attention):
    return sum(_sets_separate(n, T, d, seed, k, attention) for k in range(draws)) / draws


def _sets_separate(n, T, d, seed, index, attention):
    data, first = random_problem(n, T, d, seed=seed, index=index, selection="random", attention=attention)
    selected = np.random.default_rng([seed, n, T, d, index, 1]).random((n, T)) < 0.5
    selected[np.arange(n), first] = True
    try:
        gen_svm(data, selected)
    except InfeasibleError:
        return False
    return True


def feasible_sequences(T, d, *, most, draws=100, seed=0):
    """How many sequences random problems bear: the largest n whose first n sequences are feasible together.

    Parameters
    ----------
    T, d : int
        Tokens and dimension; unit tokens and queries, tokens to select drawn at random.
    most : int
        Sequences of each problem, the largest answer.
    draws, seed : int
        As in `separability`.

    Returns
    -------
    array of int, shape (draws,)
        In 0..most. The share of entries of at least n estimates the probability that n sequences are feasible.

    Notes
    -----
    Feasibility can only be lost when sequences are added, so each answer is found by bisection.
    Source: arXiv 2308.16898, section 2 (separability); the experiment is ours.
    """
    most, draws = integer("most", most, 1), integer("draws", draws, 1)
    return _feasible_sequences(integer("T", T, 2), integer("d", d, 1), most, draws, seed)


@cached
def _feasible_sequences(T, d, most, draws, seed):
    return np.array([_bisect(most, T, d, seed, k) for k in range(draws)])


def _bisect(most, T, d, seed, index):
    data, alpha = random_problem(most, T, d, seed=seed, index=index, selection="random")
    holds, fails = 0, most + 1
    while fails - holds > 1:
        n = (holds + fails) // 2
        first = TokenData(data.X[:n], data.Z[:n], data.Y[:n])
        holds, fails = (n, fails) if separable(first, alpha[:n]) else (holds, n)
    return holds


def separability_threshold(T, d, *, draws=100, seed=0):
    """Number of sequences n* at which half of the random problems are still feasible, by linear interpolation.

    Parameters
    ----------
    T, d : int
        Tokens (at least 2) and dimension.
    draws, seed : int
        As in `separability`.

    Returns
    -------
    float
        n*.

    Raises
    ------
    ArithmeticError
        When more than half of the problems are feasible with 4 d^2 / ln T sequences.
    """
    T, d = integer("T", T, 2), integer("d", d, 1)
    most = int(np.ceil(4 * d**2 / np.log(T)))
    return half_feasible(feasible_sequences(T, d, most=most, draws=draws, seed=seed), most=most)


def half_feasible(reached, *, most):
    """Number of sequences n* at which half of the problems are feasible, from what `feasible_sequences` returned.

    Linear interpolation between whole n. ValueError when `reached` does not hold integers in 0..most, at least one;
    ArithmeticError when more than half bear all `most` sequences.
    """
    most = integer("most", most, 1)
    reached = integer_array("reached", reached, (None,), 0, most + 1, axes="(draws,)")
    if not reached.size:
        raise ValueError("reached must hold at least one count, got none")
    share = (reached >= np.arange(most + 1)[:, None]).mean(1)
    if share[-1] > 0.5:
        raise ArithmeticError(f"more than half of the problems are feasible with {most} sequences, the most tried")
    n = int(np.argmax(share <= 0.5))
    return float(n - (0.5 - share[n]) / (share[n - 1] - share[n]))
