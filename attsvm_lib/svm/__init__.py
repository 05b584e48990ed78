r"""Support vector machines of attention: the largest-margin W that selects given tokens.

`att_svm` is the door. Solvers take rows (d_k, z_k) only (`attsvm_lib.constraints`), one solver per file:
`frobenius` for W trained directly, `nuclear` for the factored W = K Q^T.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.constraints import token_rows
from attsvm_lib.svm import frobenius, nuclear
from attsvm_lib.svm.least_distance import Infeasible, Undecided
from attsvm_lib.svm.solution import (
    RANK_TOLERANCE,
    ConvergenceError,
    InfeasibleError,
    Solution,
    certified_gap,
    matrix_norm,
)
from attsvm_lib.validation import choice

__all__ = ["ConvergenceError", "InfeasibleError", "Solution", "att_svm", "separable"]

SOLVERS = {"frobenius": frobenius.solve, "nuclear": nuclear.solve}
REQUIRED_GAP = 1e-3
"""A larger certified gap raises `ConvergenceError`; generic data reach 1e-14, near duplicates at 1e-10 reach 1e-6."""


TIGHT = 1e-9
"""Margins up to 1 + TIGHT count as equality."""


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
    choice("norm", norm, tuple(SOLVERS))
    rows = token_rows(data, alpha)
    alpha = np.array(alpha, dtype=np.intp)
    if len(rows) == 0:
        W, empty = np.zeros((data.d, data.d)), np.zeros(0)
        return Solution(W, empty, rows.index, alpha, norm, 0.0, np.inf, 0.0, empty > 0, 0)
    _refuse_zero_rows(rows, alpha)
    try:
        with np.errstate(all="ignore"):  # what overflows here is not certified below
            W, lam = SOLVERS[norm](rows.D, rows.Z)
    except Infeasible as verdict:
        raise InfeasibleError(verdict.args[0], rows.index) from None
    except (Undecided, np.linalg.LinAlgError):
        raise ConvergenceError from None
    return _certified(rows, alpha, norm, W, lam)


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


def _certified(rows, alpha, norm, W, lam):
    if not (np.isfinite(W).all() and np.isfinite(lam).all()):
        raise ConvergenceError
    gap = certified_gap(rows, W, lam, norm)
    if not gap <= REQUIRED_GAP:
        raise ConvergenceError(gap)
    objective = matrix_norm(W, norm)
    sigma = np.linalg.svd(W, compute_uv=False)
    # a gap of g leaves singular values up to about sqrt(g) undetermined
    tolerance = max(RANK_TOLERANCE, np.sqrt(max(gap - 1e-12, 0.0)))
    rank = int((sigma > tolerance * sigma[0]).sum())
    support = (lam > 0) | (rows.margins(W) <= 1 + TIGHT)
    return Solution(W, lam, rows.index, alpha, norm, objective, 1 / objective, gap, support, rank)


def _refuse_zero_rows(rows, alpha):
    same, silent = ~rows.D.any(1), ~rows.Z.any(1)
    if not (same | silent).any():
        return
    k = int(np.flatnonzero(same | silent)[0])
    i, t = rows.index[k]
    y = np.zeros(len(rows))
    y[k] = 1.0
    if silent[k]:
        reason = f"the query of sequence {i} is zero, so no W can select a token there"
    else:
        reason = f"token {t} duplicates the selected token {alpha[i]} in sequence {i}"
    raise InfeasibleError(y, rows.index, reason)
