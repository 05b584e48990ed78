"""What a solver returns: a certified solution, or an error that carries the proof of infeasibility."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.constraints import Rows

__all__ = ["ConvergenceError", "InfeasibleError", "Solution", "certified_gap", "matrix_norm", "place"]

RANK_TOLERANCE = 1e-9
"""Singular values below this fraction of the largest count as zero in `Solution.rank`."""


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    r"""Solution of Att-SVM with its dual certificate.

    Attributes
    ----------
    W : array, shape (d, d)
        The minimizer, written W_mm for the Frobenius and W*_mm for the nuclear norm.
    multipliers : array, shape (m,)
        lam >= 0, in row order (i, then t != alpha_i; with positions i, j, t). Dual feasible up to scale: the dual
        norm of sum_k lam_k d_k z_k^T is ||W||_F (Frobenius) or 1 (nuclear).
    rows : array of int, shape (m, 2)
        The (i, t) of each row; (m, 3) and (i, j, t) for `sequential_svm`.
    alpha : array of int, shape (n,)
        The selected tokens; (n, T) for `sequential_svm`.
    norm : {"frobenius", "nuclear"}
    objective : float
        ||W|| in that norm.
    margin : float
        1 / ||W||, the largest margin over the unit ball of the norm (inf when there is no row).
    gap : float
        Certified relative duality gap UB / LB - 1, with UB = ||W|| / min_k d_k^T W z_k and
        LB = sum(lam) / ||sum_k lam_k d_k z_k^T||_dual. A proof of optimality that needs no trust in the solver.
    support : array of bool, shape (m,)
        Support tokens: rows with equality (margin 1, to 1e-9). Generically these are the rows with a positive
        multiplier; when multipliers are not unique, a support token's multiplier may be 0.
    rank : int
        Number of singular values of W above 1e-9 of the largest (above the root of the gap, if that is larger).

    Notes
    -----
    Source: arXiv 2308.16898, section 2 and Lemma 1.
    """

    W: np.ndarray
    multipliers: np.ndarray
    rows: np.ndarray
    alpha: np.ndarray
    norm: str
    objective: float
    margin: float
    gap: float
    support: np.ndarray
    rank: int

    @property
    def direction(self):
        """W / ||W||_F, shape (d, d); the zero matrix when there is no row."""
        if not self.W.any():
            return self.W
        W = self.W / np.abs(self.W).max()
        return W / np.linalg.norm(W)

    def __repr__(self):
        # digits below the certificate's accuracy differ between machines, and notebooks compare this text
        gap = "gap <= 1e-12" if self.gap <= 1e-12 else f"gap = {self.gap:.0e}"
        return (
            f"Solution({self.norm}, ||W|| = {self.objective:.6g}, margin = {self.margin:.6g}, rank = {self.rank}, "
            f"support = {int(self.support.sum())} of {len(self.support)}, {gap})"
        )


class InfeasibleError(ValueError):
    """No W satisfies the constraints.

    Attributes
    ----------
    certificate : array, shape (m,)
        Farkas vector: y >= 0, sum(y) = 1, sum_k y_k d_k z_k^T = 0. Any W would give 0 = sum_k y_k d_k^T W z_k >= 1.
    equality_certificate : array, shape (e,)
        Multipliers mu of the equalities of Gen-SVM, to be added: sum_l mu_l e_l z_l^T. Empty for Att-SVM.
    rows : array of int, shape (m, 2)
        The (i, t) of each row; (m, 3) and (i, j, t) for `sequential_svm`.
    blame : list of tuples of int
        The rows with y_k > 0: these constraints contradict each other.
    """

    def __init__(self, certificate, rows, reason=None, equality_certificate=(), problem="Att-SVM"):
        self._arguments = (certificate, rows, reason, equality_certificate, problem)
        self.certificate = certificate
        self.equality_certificate = np.asarray(equality_certificate, dtype=float)
        self.rows = rows
        self.blame = [tuple(map(int, row)) for row in rows[certificate > 0]]
        super().__init__(f"{problem} is infeasible: {reason or self._contradiction()}")

    def __reduce__(self):
        return type(self), self._arguments

    def _contradiction(self):
        by_place = {}
        for *at, t in self.blame:
            by_place.setdefault(place(at), []).append(t)
        parts = [f"{where} (tokens {', '.join(map(str, t))})" for where, t in by_place.items()]
        return "the constraints of " + ", ".join(parts) + " contradict each other"


def place(at):
    """Words for the query of a row: its sequence (i,), or position and sequence (i, j)."""
    return f"sequence {at[0]}" if len(at) == 1 else f"position {at[1]} of sequence {at[0]}"


class ConvergenceError(ArithmeticError):
    """A solver could certify neither a solution nor infeasibility; `.gap` is the relative gap it reached, or inf."""

    def __init__(self, gap=np.inf):
        self.gap = gap
        super().__init__(
            f"no certificate within double precision (relative duality gap {gap:.0e}): the constraints are nearly "
            "contradictory, or their sizes ||d_k|| ||z_k|| span too many orders of magnitude"
        )

    def __reduce__(self):
        return type(self), (self.gap,)


def matrix_norm(W, norm):
    """||W||_F ("frobenius"), the sum of singular values ("nuclear") or the largest one ("spectral")."""
    return float(np.linalg.norm(W, {"frobenius": "fro", "nuclear": "nuc", "spectral": 2}[norm]))


def certified_gap(rows, W, lam, norm, ties=None, mu=None):
    """Relative duality gap UB / LB - 1 of any pair (W, lam) with positive margins and lam >= 0.

    `ties` and `mu`: equality rows e_l^T W z_l = 0, which W satisfies, and their multipliers of any sign; they add
    sum_l mu_l e_l z_l^T to the matrix whose dual norm divides LB.

    The gap does not depend on the scale of W, (lam, mu), D or Z, so each is brought to size 1: nothing overflows.
    """
    if ties is None:
        ties, mu = Rows(rows.D[:0], rows.Z[:0], rows.index[:0]), lam[:0]
    (W,) = _unit_size(W)
    (D, ties_D), (Z, ties_Z), (lam, mu) = (
        _unit_size(*pair) for pair in ((rows.D, ties.D), (rows.Z, ties.Z), (lam, mu))
    )
    rows, ties = Rows(D, Z, rows.index), Rows(ties_D, ties_Z, ties.index)
    least = rows.margins(W).min()
    if not least > 0 or not lam.any():
        return np.inf
    dual = {"frobenius": "frobenius", "nuclear": "spectral"}[norm]
    upper = matrix_norm(W, norm) / least
    lower = lam.sum() / matrix_norm(rows.combine(lam) + ties.combine(mu), dual)
    return float(upper / lower - 1)


def _unit_size(*arrays):
    """The arrays over their largest entry."""
    largest = max(np.abs(array).max(initial=0) for array in arrays) or 1.0
    return tuple(array / largest for array in arrays)
