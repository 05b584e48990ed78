r"""Support vector machines of attention: the largest-margin W that selects given tokens.

`att_svm` is the door, `gen_svm` that for sets of tokens, `sequential_svm` that for one token per position. Solvers take
rows (d_k, z_k) only (`attsvm_lib.constraints`), one solver per file: `frobenius` for W trained directly, `nuclear` for
the factored W = K Q^T, `generalized` for sets.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.constraints import sequential_rows, token_rows
from attsvm_lib.svm import frobenius
from attsvm_lib.svm.certified import NORMS, solve_rows
from attsvm_lib.svm.generalized import gen_svm
from attsvm_lib.svm.least_distance import Undecided
from attsvm_lib.svm.solution import ConvergenceError, InfeasibleError, Solution
from attsvm_lib.validation import choice

__all__ = ["ConvergenceError", "InfeasibleError", "Solution", "att_svm", "gen_svm", "separable", "sequential_svm"]


def att_svm(data, alpha, *, norm="frobenius"):
    r"""Solve Att-SVM(alpha), the hard-margin problem of attention.

    .. math:: \min_W \|W\| \quad \text{s.t.}\quad (x_{i\alpha_i} - x_{it})^\top W z_i \ge 1
              \quad\text{for all } i \text{ and } t \ne \alpha_i .

    Parameters
    ----------
    data : TokenData
        One data set: X (n, T, d), Z (n, d).
    alpha : array_like of int, shape (n,)
        Selected token of each sequence, counted from 0.
    norm : {"frobenius", "nuclear"}
        Frobenius norm (the bias of training W) or nuclear norm (the bias of training W = K Q^T).

    Returns
    -------
    Solution
        With its certified duality gap. T = 1 gives W = 0 and margin inf.

    Raises
    ------
    InfeasibleError
        When no W satisfies the constraints; `.certificate` is a Farkas vector and the message names the
        sequences and tokens to blame.
    ConvergenceError
        When neither a solution (certified gap at most 1e-3) nor a Farkas vector can be certified in double
        precision: nearly contradictory data, or sizes that span too many orders of magnitude.
    ValueError
        When an argument does not fit.

    Notes
    -----
    Source: arXiv 2308.16898, section 2, (Att-SVM) and (Att-SVM with the nuclear norm), Lemma 1.
    """
    choice("norm", norm, NORMS)
    return solve_rows(token_rows(data, alpha), np.array(alpha, dtype=np.intp), norm)


def sequential_svm(X, alpha, *, causal=True, norm="frobenius"):
    r"""Solve the SVM of sequential prediction: each position j of each sequence selects one token alpha_ij.

    .. math:: \min_W \|W\| \quad \text{s.t.}\quad (x_{i\alpha_{ij}} - x_{it})^\top W x_{ij} \ge 1
              \quad\text{for all } i, j \text{ and } t \ne \alpha_{ij}\ (t \le j \text{ if causal}) .

    Parameters
    ----------
    X : array_like, shape (n, T, d)
        Tokens of n sequences; x_ij is also the query of position j.
    alpha : array_like of int, shape (n, T)
        Selected token of each position, counted from 0; alpha_ij <= j if causal.
    causal : bool
        Whether position j sees the tokens 0..j only, or all.
    norm : {"frobenius", "nuclear"}
        As in `att_svm`.

    Returns
    -------
    Solution
        Its `rows` hold (i, j, t). Without any row (T = 1) W = 0 and the margin is inf.

    Raises
    ------
    InfeasibleError, ConvergenceError
        As `att_svm`; the message names positions and tokens.
    ValueError
        When an argument does not fit, among them a selected token outside the causal window.

    Notes
    -----
    It is Att-SVM of n T queries (`attsvm_lib.sequences.sequence_data`). Source: arXiv 2308.16898, section 7 and
    Theorem 11.
    """
    choice("norm", norm, NORMS)
    return solve_rows(sequential_rows(X, alpha, causal=causal), np.array(alpha, dtype=np.intp), norm)


def separable(data, alpha):
    """Whether Att-SVM(alpha) is feasible: can any W make attention select these tokens?

    Parameters
    ----------
    data : TokenData
        One data set (no batch axes).
    alpha : array_like of int, shape (n,)
        Selected tokens.

    Returns
    -------
    bool
        The same verdict as `att_svm`, without computing the solution.

    Raises
    ------
    ConvergenceError
        When double precision cannot decide.

    Notes
    -----
    Source: arXiv 2308.16898, section 2 (separability).
    """
    rows = token_rows(data, alpha)
    if not (rows.D.any(1) & rows.Z.any(1)).all():
        return False
    try:
        return len(rows) == 0 or bool(frobenius.separable(rows.D, rows.Z))
    except Undecided:
        raise ConvergenceError from None
