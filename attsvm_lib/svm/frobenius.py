r"""Frobenius-norm Att-SVM, exact and scale-free.

.. math:: \min_W \tfrac12 \|W\|_F^2 \quad \text{s.t.}\quad d_k^\top W z_k \ge 1,\; k = 1..m .

Its dual is :math:`\max_{\lambda \ge 0} 1^\top\lambda - \tfrac12 \lambda^\top G \lambda` with the Gram matrix
:math:`G_{kl} = \langle d_k, d_l\rangle \langle z_k, z_l\rangle`; the solution is
:math:`W = \sum_k \lambda_k d_k z_k^\top`, of rank at most n. Nothing here costs more than :math:`m^2 d`: the
:math:`d \times d` unknown is never formed before the end.

Rows are normalized first (:math:`G_{kk} = 1`, right-hand sides :math:`h_k = 1/(\|d_k\| \|z_k\|)`). When the
Cholesky factorization of G succeeds, the rows are linearly independent, the problem is feasible and block
principal pivoting solves it in a few linear systems. Otherwise the least-distance method decides feasibility and
gives the solution or a Farkas vector. `solve_vectors` does the same for rows that are vectors of any kind.

Sources: arXiv 2308.16898, section 2 (problem, Lemma 1); Judice and Pires 1994 (block principal pivoting).
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.svm.least_distance import Infeasible, least_distance
from attsvm_lib.svm.least_distance import separable as _separable

__all__ = ["separable", "solve", "solve_vectors", "unit_rows", "unit_vectors"]

PIVOT = 1e-5
"""Least Cholesky pivot of the unit-diagonal Gram matrix that counts as independent rows."""


def unit_rows(D, Z):
    """Split rows into directions and sizes: unit d_k, unit z_k, and log(||d_k|| ||z_k||), shape (m,)."""
    (U, u), (V, v) = unit_vectors(D), unit_vectors(Z)
    return U, V, u + v


def unit_vectors(A):
    """Split non-zero rows a_k into unit vectors (m, p) and log ||a_k|| (m,), without overflow."""
    largest = np.abs(A).max(1, keepdims=True)
    A = A / largest
    size = np.linalg.norm(A, axis=1, keepdims=True)
    return A / size, (np.log(largest) + np.log(size))[:, 0]


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
    G = (U @ U.T) * (V @ V.T)
    w, mu, scale, lam = _solve(G, lambda: _outer(U, V), logs)
    W = (U * mu[:, None]).T @ V if w is None else w.reshape(D.shape[1], -1)
    return scale * W, lam


def solve_vectors(A, noise=1.0):
    """Solve min ||w|| s.t. a_k^T w >= 1.

    Parameters
    ----------
    A : array, shape (m, p)
        Non-zero rows a_k, m >= 1.
    noise : float or array, shape (m,)
        Relative rounding error of each row, in units of the machine's: more than 1 for rows left by cancellation.

    Returns
    -------
    w : array, shape (p,)
    lam : array, shape (m,)
        w = sum_k lam_k a_k, lam >= 0.

    Raises
    ------
    Infeasible
        With a Farkas vector y (shape (m,), sum 1) of the given rows.
    """
    U, logs = unit_vectors(A)
    w, mu, scale, lam = _solve(U @ U.T, lambda: U, logs, noise)
    return scale * (mu @ U if w is None else w), lam


def separable(D, Z):
    """Whether some W satisfies d_k^T W z_k > 0 for all rows (non-zero d_k and z_k)."""
    U, V, _ = unit_rows(D, Z)
    return _independent((U @ U.T) * (V @ V.T)) or _separable(_outer(U, V))


def _solve(G, vectors, logs, noise=1.0):
    """Solution for unit rows of Gram matrix G and sizes exp(logs): (w, mu, scale, lam), w = None for rows' mu.

    The solution is scale * w, or scale * sum_k mu_k u_k over the unit rows u_k that `vectors` returns.
    """
    shift = logs.min()
    h = np.exp(shift - logs)
    w, mu = None, _block_pivoting(G, h) if _independent(G) else None
    if mu is None:
        try:
            w, mu = least_distance(vectors(), h, noise)
        except Infeasible as verdict:
            y = verdict.args[0] * h
            raise Infeasible(y / y.sum()) from None
    # W scales as 1 / (||d_k|| ||z_k||) and lam as its square
    return w, mu, np.exp(-shift), np.exp(-shift) * mu * np.exp(-logs)


def _outer(U, V):
    """The constraints as vectors vec(d_k z_k^T), shape (m, d^2)."""
    return (U[:, :, None] * V[:, None, :]).reshape(len(U), -1)


def _independent(G):
    try:
        return np.diag(np.linalg.cholesky(G)).min() > PIVOT
    except np.linalg.LinAlgError:
        return False


def _block_pivoting(G, h):
    """mu with mu >= 0, G mu >= h, mu^T (G mu - h) = 0 for positive definite G; None if rounding defeats it."""
    m = len(h)
    passive = np.ones(m, dtype=bool)
    fewest, patience = m + 1, 3
    for _ in range(20 * m + 50):
        mu, slack = _complementary(G, h, passive)
        infeasible = np.where(passive, mu < 0, slack < -1e-13 * h)
        count = int(infeasible.sum())
        if count == 0:
            return _refined(G, h, mu, passive)
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
