r"""Least-distance programming: the point of a polyhedron nearest to 0, or the proof that it is empty.

.. math:: \min_w \tfrac12 \|w\|^2 \quad \text{s.t.}\quad a_k^\top w \ge h_k,\; k = 1..m .

Lawson and Hanson reduce it to non-negative least squares, :math:`u = \arg\min_{u \ge 0} \|E u - f\|^2` with
:math:`E = [A^\top; h^\top]` and :math:`f = (0, .., 0, 1)`. With :math:`s = h^\top u`, the residual is
:math:`1 - s = 1/(1 + \|w\|^2)` and :math:`w = A^\top u / (1 - s)`. When :math:`s = 1` the problem is infeasible
and u is a Farkas vector. Source: Lawson and Hanson, Solving Least Squares Problems, chapter 23.
"""

from __future__ import annotations

import numpy as np

__all__ = ["Infeasible", "Undecided", "least_distance", "nnls", "separable"]

FARKAS = 3e-13
"""||A^T y|| below which y (y >= 0, sum 1) proves infeasibility, for unit rows; rounding leaves 1e-15."""


class Infeasible(Exception):
    """Raised with the Farkas vector y >= 0 of unit rows, A^T y = 0, as its only argument."""


class Undecided(ArithmeticError):
    """Rows that contradict each other to within rounding: neither a w nor a Farkas vector can be certified."""


def nnls(E, f):
    """Non-negative least squares by the active-set method of Lawson and Hanson.

    Parameters
    ----------
    E : array, shape (p, m)
    f : array, shape (p,)

    Returns
    -------
    array, shape (m,)
        u >= 0 minimizing ||E u - f||.

    Raises
    ------
    ArithmeticError
        When 10 m + 100 changes of the active set do not reach a solution.
    """
    m, gram = E.shape[1], E.T @ E
    u, passive, refused = np.zeros(m), np.zeros(m, dtype=bool), np.zeros(m, dtype=bool)
    tol = 10 * np.finfo(float).eps * max(E.shape) * np.abs(E).sum(0).max() * max(1.0, np.abs(f).max())
    for _ in range(10 * m + 100):
        slope = E.T @ (f - E @ u)
        slope[passive | refused] = -np.inf
        entering = int(slope.argmax())
        if not slope[entering] > tol:
            return u
        passive[entering] = True
        trial = _solve_on(E, f, gram, passive)
        if trial[entering] <= 0:
            # rounding made the entering column look useful: it depends on the passive ones
            passive[entering], refused[entering] = False, True
            continue
        refused[:] = False
        while trial[passive].min() <= 0:
            blocked = passive & (trial <= 0)
            step = (u[blocked] / (u[blocked] - trial[blocked])).min()
            u += step * (trial - u)
            passive &= u > tol * u.max()
            u[~passive] = 0
            trial = _solve_on(E, f, gram, passive)
        u = trial
    raise ArithmeticError(f"non-negative least squares did not settle in {10 * m + 100} steps")


def _solve_on(E, f, gram, passive):
    """Least squares on the passive columns: normal equations, corrected once with the residual of E itself."""
    k, columns = np.flatnonzero(passive), E[:, passive]
    full = np.zeros(E.shape[1])
    try:
        inverse = np.linalg.inv(gram[np.ix_(k, k)])
        u = inverse @ (columns.T @ f)
        full[k] = u + inverse @ (columns.T @ (f - columns @ u))
    except np.linalg.LinAlgError:
        full[k] = np.linalg.lstsq(columns, f, rcond=None)[0]
    return full


def least_distance(A, h, noise=1.0):
    """Minimize ||w||^2 / 2 s.t. A w >= h; scale-free in h.

    Parameters
    ----------
    A : array, shape (m, p)
        Rows of norm 1.
    h : array, shape (m,)
        Positive right-hand sides.
    noise : float or array, shape (m,)
        Rounding error of each row, in units of the machine's.

    Returns
    -------
    w : array, shape (p,)
    mu : array, shape (m,)
        Multipliers mu >= 0 with w = A^T mu.

    Raises
    ------
    Infeasible
        With the Farkas vector, when no w satisfies A w >= h (equivalently A w > 0).
    Undecided
        When the largest margin A w over unit w is positive at most to within rounding (below about 1e-8).

    Notes
    -----
    The first stage takes h = 1: its verdict does not depend on the scale of h. Its w gives an upper bound c of
    the optimal norm, so in the second stage, with h / c, 1 - s is at least 1/2 and nothing cancels.
    """
    R = _reduced(A)
    w = _separating(R, noise)
    c = np.linalg.norm(w) * (h / (R.T @ w)).max()
    u, residual = _stage(R, h / c)
    mu = c * u / residual
    # on the support the solution interpolates: w = A_S^+ h_S, by QR, which does not square the conditioning
    S = mu > 0
    Q, triangle = np.linalg.qr(A[S].T)
    y = np.linalg.solve(triangle.T, h[S])
    polished = np.linalg.solve(triangle, y)
    if not (polished > 0).all():
        return A.T @ mu, mu
    mu[S] = polished
    return Q @ y, mu


def separable(A):
    """Whether some w satisfies A w > 0, for rows of norm 1: the first stage of `least_distance` alone."""
    try:
        _separating(_reduced(A))
    except Infeasible:
        return False
    return True


def _separating(R, noise=1.0):
    """Some w with R^T w > 0; raises Infeasible or Undecided."""
    u, _ = _stage(R, np.ones(R.shape[1]))
    w = R @ u
    if np.linalg.norm(w) <= FARKAS * (noise * u).sum():
        raise Infeasible(u / u.sum())
    if not (R.T @ w).min() > 0:
        raise Undecided
    return w


def _reduced(A):
    """R with R^T R = A A^T and as few rows as possible."""
    return np.linalg.qr(A.T, mode="r") if A.shape[0] < A.shape[1] else A.T


def _stage(R, h):
    f = np.zeros(len(R) + 1)
    f[-1] = 1.0
    E = np.vstack([R, h])
    u = nnls(E, f)
    return u, float(((E @ u - f) ** 2).sum())
