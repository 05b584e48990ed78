r"""Gen-SVM: the largest-margin W that keeps a set of tokens in each sequence, all of them alike.

.. math:: \min_W \|W\|_F \quad \text{s.t.}\quad (x_{it} - x_{is})^\top W z_i
          \begin{cases} = 0 & t, s \in O_i, \\ \ge 1 & t \in O_i,\ s \notin O_i . \end{cases}

Given the equalities, one inequality for each masked token is enough, from any selected one. So the rows (d_k, z_k)
of the inequalities are projected off the span of the equality rows e_l, and the Frobenius solver sees what is left.
The dual bound, for any :math:`\lambda \ge 0` and :math:`\mu`, is
:math:`\|W\|_F \ge 1^\top\lambda \,/\, \|\sum_k \lambda_k d_k z_k^\top + \sum_l \mu_l E_l\|_F`, and
:math:`\lambda \ge 0`, :math:`1^\top \lambda = 1` with a vanishing denominator proves infeasibility.
Source: arXiv 2308.16898, section 6 (Gen-SVM).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.constraints import set_rows
from attsvm_lib.svm import frobenius
from attsvm_lib.svm.certified import certified_fields, empty_fields, refuse_zero_rows
from attsvm_lib.svm.least_distance import FARKAS, Infeasible, Undecided
from attsvm_lib.svm.solution import ConvergenceError, InfeasibleError, Solution
from attsvm_lib.validation import real_array

__all__ = ["GeneralizedSolution", "equality_projection", "finite_part", "gen_svm"]

RESIDUAL = 1e-6
"""An equality left open by more, beside margins of 1, raises `ConvergenceError`; generic data reach 1e-15."""


@dataclass(frozen=True, eq=False, repr=False)
class GeneralizedSolution(Solution):
    """Solution of Gen-SVM: as `Solution`, with one row and multiplier for each masked token, and

    Attributes
    ----------
    alpha : array of int, shape (n,)
        The first selected token of each sequence, from which the rows are taken.
    selected : array of bool, shape (n, T)
        The selected tokens.
    equality_rows : array of int, shape (e, 2)
        The (i, t) of each equality: selected token t against alpha_i.
    equality_multipliers : array, shape (e,)
        mu, of any sign: W = sum_k lam_k d_k z_k^T + sum_l mu_l e_l z_l^T.
    """

    selected: np.ndarray
    equality_rows: np.ndarray
    equality_multipliers: np.ndarray


def gen_svm(data, selected):
    r"""Solve Gen-SVM, the hard-margin problem of attention that keeps sets of tokens.

    Parameters
    ----------
    data : TokenData
        One data set: X (n, T, d), Z (n, d).
    selected : array_like of bool, shape (n, T)
        The set O_i of each sequence, at least one token in each. With one token each this is `att_svm`.

    Returns
    -------
    GeneralizedSolution
        With its certified duality gap. When every token is selected nothing separates: W = 0 and margin inf.

    Raises
    ------
    InfeasibleError
        When no W satisfies the constraints; `.certificate` and `.equality_certificate` are a Farkas vector
        (y >= 0, sum(y) = 1, sum_k y_k d_k z_k^T + sum_l mu_l e_l z_l^T = 0).
    ConvergenceError
        When double precision can certify neither.
    ValueError
        When an argument does not fit, or a sequence has no selected token.

    Notes
    -----
    Source: arXiv 2308.16898, section 6 (Gen-SVM; Theorem 8 on feasibility).
    """
    masked, tied, selected = set_rows(data, selected)
    alpha = selected.argmax(1)
    if len(masked) == 0:
        fields, mu = empty_fields(masked, alpha, "frobenius"), np.zeros(len(tied))
    else:
        refuse_zero_rows(masked, alpha, len(tied), "Gen-SVM")
        with np.errstate(all="ignore"):  # what overflows here is not certified below
            W, lam, mu = _solve(masked, tied, alpha)
        fields = certified_fields(masked, alpha, "frobenius", W, lam, tied, mu)
        if np.abs(tied.margins(W)).max(initial=0) > RESIDUAL:
            raise ConvergenceError(fields["gap"])
    return GeneralizedSolution(**fields, selected=selected, equality_rows=tied.index, equality_multipliers=mu)


def equality_projection(data, selected, W):
    """Part of W in the span of the equalities (x_it - x_is) z_i^T, t and s selected: the finite part of section 6.

    Parameters
    ----------
    data, selected
        As in `gen_svm`.
    W : array_like, shape (..., d, d)

    Returns
    -------
    array, shape (..., d, d)
        The orthogonal projection W_fin. It reproduces every log ratio of selected tokens' softmax probabilities
        under W exactly, and so predicts nothing: the ratios are read off W, not known beforehand. The Gen-SVM
        solution is orthogonal to it.

    Notes
    -----
    Source: arXiv 2308.16898, section 6 (W_fin).
    """
    _, tied, _ = set_rows(data, selected)
    W = real_array("W", W, (..., data.d, data.d), axes=f"(..., {data.d}, {data.d})")
    B = _span(_vectors(tied))
    flat = W.reshape(*W.shape[:-2], -1)
    return ((flat @ B.T) @ B).reshape(W.shape)


def finite_part(data, selected, probabilities):
    """Least W under which attention, among the selected tokens of each sequence, has the given ratios of probabilities.

    Parameters
    ----------
    data, selected
        As in `gen_svm`.
    probabilities : array_like, shape (n, T)
        Positive on selected tokens (their sum there does not matter), any on others.

    Returns
    -------
    array, shape (d, d)
        W_fin in the span of the equalities, with (x_it - x_is)^T W_fin z_i = log(p_it / p_is). With the probabilities
        of some W it is the `equality_projection` of that W; with optimal ones known beforehand it is a prediction.

    Raises
    ------
    ValueError
        When an argument does not fit, a selected probability is not positive, or no W has these ratios.

    Notes
    -----
    Source: arXiv 2308.16898, section 6 (W_fin).
    """
    _, tied, selected = set_rows(data, selected)
    p = real_array("probabilities", probabilities, selected.shape)
    if not (p[selected] > 0).all():
        raise ValueError(f"probabilities must be positive on selected tokens, got {p[selected].min():g}")
    i, t = tied.index.T
    ratios = np.log(p[i, selected.argmax(1)[i]]) - np.log(p[i, t])
    w = _least_solution(_vectors(tied), ratios)
    W = w.reshape(data.d, data.d)
    if np.abs(tied.margins(W) - ratios).max(initial=0) > RESIDUAL:
        raise ValueError("probabilities must be those of some W: the equalities depend on each other and contradict")
    return W


def _solve(masked, tied, alpha):
    """W, the multipliers lam of the masked rows and mu of the tied ones."""
    A, E = _vectors(masked), _vectors(tied)
    B = _span(E)
    try:
        P, left = _projected(A, B, masked.index, alpha)
        w, lam = frobenius.solve_vectors(P, noise=1 / left)
        w = _refined(w, A, P, B, lam > 0)
    except Infeasible as verdict:
        y, *reason = verdict.args
        raise InfeasibleError(
            y, masked.index, *reason, equality_certificate=_completion(E, A.T @ y), problem="Gen-SVM"
        ) from None
    except (Undecided, np.linalg.LinAlgError):
        raise ConvergenceError from None
    return w.reshape(masked.D.shape[1], -1), lam, _completion(E, A.T @ lam)


def _vectors(rows):
    """The rows as vectors vec(d_k z_k^T), shape (m, d^2)."""
    return (rows.D[:, :, None] * rows.Z[:, None, :]).reshape(len(rows), rows.D.shape[1] ** 2)


def _span(E):
    """Orthonormal basis of the span of the rows of E, as rows; the rows may depend on each other or be zero."""
    E = E[E.any(1)]
    if not len(E):
        return E
    unit, _ = frobenius.unit_vectors(E)
    _, sigma, basis = np.linalg.svd(unit, full_matrices=False)
    return basis[sigma > np.finfo(float).eps * max(E.shape) * sigma[0]]


def _projected(A, B, index, alpha):
    """The rows of A off the span of B, and the share of their length left; a row inside it is infeasible on its own."""
    if not len(B):
        return A, 1.0
    unit, logs = frobenius.unit_vectors(A)
    for _ in range(2):  # the second pass removes what rounding left of the first
        unit = unit - (unit @ B.T) @ B
    left = np.linalg.norm(unit, axis=1)
    inside = left <= FARKAS
    if inside.any():
        k = int(inside.argmax())
        i, t = index[k]
        y = np.zeros(len(A))
        y[k] = 1.0
        raise Infeasible(y, f"the equalities of the selected tokens tie token {t} of sequence {i} to token {alpha[i]}")
    return unit * np.exp(logs)[:, None], left


def _refined(w, A, P, B, support):
    """w with margins of 1 on the support for the rows A as they are: their projections P carry its rounding."""
    w = w - (w @ B.T) @ B
    return w + np.linalg.lstsq(P[support], 1 - A[support] @ w)[0]


def _completion(E, a):
    """mu that brings a + E^T mu nearest to 0."""
    return -_least_solution(E.T, a)


def _least_solution(A, b):
    """Least-squares solution of A x = b, the least of them; 0 where A is zero or empty."""
    if not A.any():
        return np.zeros(A.shape[1])
    return np.linalg.lstsq(A, b, rcond=np.finfo(float).eps * max(A.shape))[0]
