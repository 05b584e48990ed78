"""From rows to a certified solution: solve in a norm, check the duality gap, name what makes rows contradict."""

from __future__ import annotations

import numpy as np

from attsvm_lib.svm import frobenius, nuclear
from attsvm_lib.svm.least_distance import Infeasible, Undecided
from attsvm_lib.svm.solution import (
    RANK_TOLERANCE,
    ConvergenceError,
    InfeasibleError,
    Solution,
    certified_gap,
    matrix_norm,
    place,
)

__all__ = ["NORMS", "certified_fields", "empty_fields", "refuse_zero_rows", "solve_rows"]

SOLVERS = {"frobenius": frobenius.solve, "nuclear": nuclear.solve}
NORMS = tuple(SOLVERS)
REQUIRED_GAP = 1e-3
"""A larger certified gap raises `ConvergenceError`; generic data reach 1e-14, near duplicates at 1e-10 reach 1e-6."""
TIGHT = 1e-9
"""Margins up to 1 + TIGHT count as equality."""


def solve_rows(rows, alpha, norm):
    """Certified `Solution` of min ||W|| s.t. d_k^T W z_k >= 1 for the rows; errors as `att_svm`.

    `alpha` are the selected tokens, for the record and the messages.
    """
    if len(rows) == 0:
        return Solution(**empty_fields(rows, alpha, norm))
    refuse_zero_rows(rows, alpha)
    try:
        with np.errstate(all="ignore"):  # what overflows here is not certified below
            W, lam = SOLVERS[norm](rows.D, rows.Z)
    except Infeasible as verdict:
        raise InfeasibleError(verdict.args[0], rows.index) from None
    except (Undecided, np.linalg.LinAlgError):
        raise ConvergenceError from None
    return Solution(**certified_fields(rows, alpha, norm, W, lam))


def empty_fields(rows, alpha, norm):
    """Fields of the `Solution` of a problem without rows: W = 0, of margin inf."""
    W, none = np.zeros((rows.D.shape[1],) * 2), np.zeros(0)
    return _fields(rows, alpha, norm, W, none, objective=0.0, margin=np.inf, gap=0.0, support=none > 0, rank=0)


def certified_fields(rows, alpha, norm, W, lam, ties=None, mu=None):
    """Fields of the `Solution` with this W and these multipliers; ConvergenceError when the gap is too large.

    `ties` and `mu`: equality rows and their multipliers, see `certified_gap`.
    """
    if not (np.isfinite(W).all() and np.isfinite(lam).all()):
        raise ConvergenceError
    gap = certified_gap(rows, W, lam, norm, ties, mu)
    if not gap <= REQUIRED_GAP:
        raise ConvergenceError(gap)
    objective = matrix_norm(W, norm)
    sigma = np.linalg.svd(W, compute_uv=False)
    # a gap of g leaves singular values up to about sqrt(g) undetermined
    tolerance = max(RANK_TOLERANCE, np.sqrt(max(gap - 1e-12, 0.0)))
    rank = int((sigma > tolerance * sigma[0]).sum())
    support = (lam > 0) | (rows.margins(W) <= 1 + TIGHT)
    sizes = {"objective": objective, "margin": 1 / objective, "gap": gap, "support": support, "rank": rank}
    return _fields(rows, alpha, norm, W, lam, **sizes)


def _fields(rows, alpha, norm, W, lam, **others):
    return {"W": W, "multipliers": lam, "rows": rows.index, "alpha": alpha, "norm": norm} | others


def refuse_zero_rows(rows, alpha, ties=0, problem="Att-SVM"):
    """Raise `InfeasibleError` when a row is zero: a duplicate of the selected token, or a zero query."""
    same, silent = ~rows.D.any(1), ~rows.Z.any(1)
    if not (same | silent).any():
        return
    k = int(np.flatnonzero(same | silent)[0])
    *at, t = rows.index[k].tolist()
    y = np.zeros(len(rows))
    y[k] = 1.0
    if silent[k]:
        reason = f"the query of {place(at)} is zero, so no W can select a token there"
    else:
        reason = f"token {t} duplicates the selected token {alpha[tuple(at)]} in {place(at[:1])}"
    raise InfeasibleError(y, rows.index, reason, np.zeros(ties), problem)
