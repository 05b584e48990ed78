r"""Frobenius-norm Att-SVM, exact and scale-free.

.. math:: \min_W \tfrac12 \|W\|_F^2 \quad \text{s.t.}\quad d_k^\top W z_k \ge 1,\; k = 1..m .

Its dual is :math:`\max_{\lambda \ge 0} 1^\top\lambda - \tfrac12 \lambda^\top G \lambda` with the Gram matrix
:math:`G_{kl} = \langle d_k, d_l\rangle \langle z_k, z_l\rangle`; the solution is
:math:`W = \sum_k \lambda_k d_k z_k^\top`, of rank at most n. Nothing here costs more than :math:`m^2 d`: the
:math:`d \times d` unknown is never formed before the end.

Rows are normalized first (:math:`G_{kk} = 1`, right-hand sides :math:`h_k = 1/(\|d_k\| \|z_k\|)`). When the
Cholesky factorization of G succeeds, the rows are linearly independent, the problem is feasible and block
principal pivoting solves it in a few linear systems. Otherwise the least-distance method decides feasibility and
gives the solution or a Farkas vector.

Sources: arXiv 2308.16898, section 2 (problem, Lemma 1); Judice and Pires 1994 (block principal pivoting).
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.svm.least_distance import Infeasible, least_distance
from attsvm_lib.svm.least_distance import separable as _separable

__all__ = ["separable", "solve", "unit_rows"]

PIVOT = 1e-5
"""Least Cholesky pivot of the unit-diagonal Gram matrix that counts as independent rows."""


def unit_rows(D, Z):
    """Split rows into directions and sizes: unit d_k, unit z_k, and log(||d_k|| ||z_k||), shape (m,)."""
    parts, logs = [], 0.0
    for V in (D, Z):
        largest = np.abs(V).max(1, keepdims=True)
        V = V / largest
        size = np.linalg.norm(V, axis=1, keepdims=True)
        parts.append(V / size)
        logs = logs + np.log(largest[:, 0]) + np.log(size[:, 0])
    return parts[0], parts[1], logs


def solve(D, Z):
    """Solve min ||W||_F s.t. d_k^T W z_k >= 1.

    Parameters
    ----------
    D, Z : array, shape (m, d)
        Non-zero rows d_k and z_k, m >= 1.

    Returns
    -------
    W : array, shape (d, d)
    lam : array, shape (m,)
        W = sum_k lam_k d_k z_k^T, lam >= 0.

    Raises
    ------
    Infeasible
        With a Farkas vector y (shape (m,), sum 1) of the given rows.
    """
    U, V, logs = unit_rows(D, Z)
    shift = logs.min()
    h = np.exp(shift - logs)
    G = (U @ U.T) * (V @ V.T)
    pair = _block_pivoting(U, V, G, h) if _independent(G) else None
    if pair is None:
        try:
            w, mu = least_distance(_outer(U, V), h)
        except Infeasible as verdict:
            y = verdict.args[0] * h
            raise Infeasible(y / y.sum()) from None
        pair = w.reshape(D.shape[1], -1), mu
    W, mu = pair
    # W scales as 1 / (||d_k|| ||z_k||) and lam as its square
    return np.exp(-shift) * W, np.exp(-shift) * mu * np.exp(-logs)


def separable(D, Z):
    """Whether some W satisfies d_k^T W z_k > 0 for all rows (non-zero d_k and z_k)."""
    U, V, _ = unit_rows(D, Z)
    return _independent((U @ U.T) * (V @ V.T)) or _separable(_outer(U, V))


def _outer(U, V):
    """The constraints as vectors vec(d_k z_k^T), shape (m, d^2)."""
    return (U[:, :, None] * V[:, None, :]).reshape(len(U), -1)


def _independent(G):
    try:
        return np.diag(np.linalg.cholesky(G)).min() > PIVOT
    except np.linalg.LinAlgError:
        return False


def _block_pivoting(U, V, G, h):
    """W and mu with mu >= 0, G mu >= h, mu^T (G mu - h) = 0 for positive definite G; None if rounding defeats it."""
    m = len(h)
    passive = np.ones(m, dtype=bool)
    fewest, patience = m + 1, 3
    for _ in range(20 * m + 50):
        mu, slack = _complementary(G, h, passive)
        infeasible = np.where(passive, mu < 0, slack < -1e-13 * h)
        count = int(infeasible.sum())
        if count == 0:
            mu = _refined(G, h, mu, passive)
            return (U * mu[:, None]).T @ V, mu
        if count < fewest:
            fewest, patience = count, 3
        elif patience > 0:
            patience -= 1
        else:
            # one exchange at a time, the largest index, cannot cycle (Murty's rule)
            infeasible[: np.flatnonzero(infeasible)[-1]] = False
        passive ^= infeasible
    return None


def _complementary(G, h, passive):
    mu = np.zeros(len(h))
    k = np.flatnonzero(passive)
    if len(k):
        mu[k] = np.linalg.solve(G[k[:, None], k], h[k])
    return mu, G @ mu - h


def _refined(G, h, mu, passive):
    k = np.flatnonzero(passive)
    better = mu.copy()
    better[k] += np.linalg.solve(G[k[:, None], k], h[k] - G[k] @ mu)
    return better if (better >= 0).all() else mu
