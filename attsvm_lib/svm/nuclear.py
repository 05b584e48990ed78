r"""Nuclear-norm Att-SVM, certified, in NumPy alone.

.. math:: \min_W \|W\|_* \quad \text{s.t.}\quad d_k^\top W z_k \ge 1,\; k = 1..m .

Its dual is :math:`\max_{\lambda \ge 0} 1^\top\lambda` subject to
:math:`\|M(\lambda)\|_2 \le 1,\; M(\lambda) = \sum_k \lambda_k d_k z_k^\top`. Rows are normalized first, which
turns the right-hand sides into :math:`h_k = 1/(\|d_k\| \|z_k\|)`.

1. Written with the block matrix :math:`P = [[I, -M], [-M^\top, I]] \succeq 0`, the dual is a semidefinite program
   with rank-two coefficients. A primal-dual predictor-corrector method (HKM direction) follows its central path:
   each step costs one m x m linear system, whose entries are products of m x m Gram matrices.
2. The path shows the rank r of W (as many singular values as dominate :math:`1 - \sigma(M)`) and the support S.
   With both fixed, Newton's method on :math:`K = M Q,\; Q = M^\top K,\; d_k^\top K Q^\top z_k = h_k` for k in S
   gives :math:`W = K Q^\top` to machine precision, of rank exactly r. Its certificate decides whether to stop.

Source: arXiv 2308.16898, section 2 (Att-SVM with the nuclear norm).
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.svm import frobenius
from attsvm_lib.svm.frobenius import unit_rows
from attsvm_lib.svm.solution import ConvergenceError

__all__ = ["solve"]

ACCEPT = 2e-13
"""Relative duality gap at which a polished pair is accepted at once."""
CHECKPOINTS = (1e-6, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12)
"""Relative gaps of the central path at which the polish is tried."""


def solve(D, Z):
    """Solve min ||W||_* s.t. d_k^T W z_k >= 1.

    Parameters
    ----------
    D, Z : array, shape (m, d)
        Non-zero rows d_k and z_k, m >= 1.

    Returns
    -------
    W : array, shape (d, d)
    lam : array, shape (m,)
        lam >= 0 with ||sum_k lam_k d_k z_k^T||_2 = 1.

    Raises
    ------
    Infeasible
        With a Farkas vector y (shape (m,), sum 1) of the given rows.
    """
    W, _ = frobenius.solve(D, Z)  # decides feasibility, and gives the start
    U, V, logs = unit_rows(D, Z)
    shift = logs.min()
    left, right = _span(U), _span(V)
    problem = _Problem(U @ left, V @ right, np.exp(shift - logs))
    W, mu = _follow(problem, left.T @ W @ right)
    return np.exp(-shift) * left @ W @ right.T, mu * np.exp(-logs)


def _span(rows):
    _, sigma, basis = np.linalg.svd(rows, full_matrices=False)
    return basis[sigma > 1e-14 * sigma[0] * max(rows.shape)].T


class _Problem:
    """Unit rows (U, V) in bases of their spans, right-hand sides h in (0, 1]."""

    def __init__(self, U, V, h):
        self.U, self.V, self.h = U, V, h

    def M(self, mu):
        return (self.U * mu[:, None]).T @ self.V

    def margins(self, W):
        return ((self.U @ W) * self.V).sum(1)

    def embed(self, M):
        """The symmetric matrix [[0, M], [M^T, 0]]."""
        return np.block([[np.zeros((len(M),) * 2), M], [M.T, np.zeros((M.shape[1],) * 2)]])

    def pair(self, X):
        """<E_k, X> = 2 u_k^T X_12 v_k."""
        p = self.U.shape[1]
        return 2 * self.margins(X[:p, p:])

    def forms(self, X):
        """The m x m matrices u_k^T X u_l, u_k^T X v_l, v_k^T X v_l."""
        p = self.U.shape[1]
        return self.U @ X[:p, :p] @ self.U.T, self.U @ X[:p, p:] @ self.V.T, self.V @ X[p:, p:] @ self.V.T

    def feasible_pair(self, W, mu):
        """Scale (W, mu) to feasibility; return them with their relative gap."""
        least = (self.margins(W) / self.h).min()
        mu = np.maximum(mu, 0.0)
        size = np.linalg.norm(self.M(mu), 2)
        if not least > 0 or not size > 0:
            return W, mu, np.inf
        W, mu = W / least, mu / size
        return W, mu, np.linalg.norm(W, "nuc") / (self.h @ mu) - 1


class _Iterate:
    """Primal X = [[., W/2], [W^T/2, .]] > 0 and slack s > 0; dual mu > 0 and P = [[I, -M], [-M^T, I]] > 0."""

    def __init__(self, problem, X, s, mu):
        self.problem, self.X, self.s, self.mu = problem, X, s, mu
        p = problem.U.shape[1]
        self.W = 2 * X[:p, p:]
        self.P = problem.embed(-problem.M(mu)) + np.eye(len(X))
        self.inverse = np.linalg.inv(self.P)
        self.inverse = (self.inverse + self.inverse.T) / 2

    @property
    def nu(self):
        """Mean complementarity, which goes to 0."""
        return ((self.X * self.P).sum() + self.s @ self.mu) / (len(self.X) + len(self.s))

    def gap(self):
        """Relative complementarity, an estimate of the relative duality gap."""
        return self.nu * (len(self.X) + len(self.s)) / (self.problem.h @ self.mu)

    def schur(self):
        """<E_k, X E_l P^-1> for the rank-two E_k = [[0, u_k v_k^T], [v_k u_k^T, 0]], plus diag(s / mu)."""
        a, b, c = self.problem.forms(self.X)
        e, f, g = self.problem.forms(self.inverse)
        B = a * g + c * e + b * f.T + b.T * f
        B = (B + B.T) / 2
        B[np.diag_indices_from(B)] += self.s / self.mu
        return B

    def direction(self, B, nu, second=None):
        """Changes (X, s, mu, P) that aim at complementarity nu, by the HKM linearization."""
        problem, s, mu = self.problem, self.s, self.mu
        target = nu * self.inverse - self.X
        target_s = nu / mu - s
        if second is not None:
            dX, ds, dmu, dP = second
            target = target - _sym(dX @ dP @ self.inverse)
            target_s = target_s - ds * dmu / mu
        residual = problem.h + s + target_s - problem.pair(self.X + target)
        dmu = np.linalg.solve(B, residual)
        dP = problem.embed(-problem.M(dmu))
        return target - _sym(self.X @ dP @ self.inverse), target_s - s / mu * dmu, dmu, dP

    def advance(self):
        """One predictor-corrector step of Mehrotra."""
        B = self.schur()
        predictor = self.direction(B, 0.0)
        primal, dual = self.lengths(predictor, 1.0)
        dX, ds, dmu, dP = predictor
        left = ((self.X + primal * dX) * (self.P + dual * dP)).sum() + (self.s + primal * ds) @ (self.mu + dual * dmu)
        nu = self.nu
        ratio = left / (nu * (len(self.X) + len(self.s)))
        step = self.direction(B, nu * min(1.0, max(ratio, 0.0)) ** 3, predictor)
        primal, dual = self.lengths(step, 0.95)
        dX, ds, dmu, _ = step
        return _Iterate(self.problem, self.X + primal * dX, self.s + primal * ds, self.mu + dual * dmu)

    def lengths(self, step, fraction):
        """Longest primal and dual steps that keep a `fraction` of the way to the boundary, at most 1."""
        dX, ds, dmu, dP = step
        primal = max(_shrink(self.X, dX), (-ds / self.s).max())
        dual = max(_shrink(self.P, dP), (-dmu / self.mu).max())
        return min(1.0, fraction / max(primal, 1e-300)), min(1.0, fraction / max(dual, 1e-300))


def _sym(A):
    return (A + A.T) / 2


def _shrink(A, dA):
    """Largest eigenvalue of -A^-1 dA."""
    L = np.linalg.cholesky(A)
    half = np.linalg.solve(L, dA)
    return -np.linalg.eigvalsh(_sym(np.linalg.solve(L, half.T)))[0]


def _start(problem, W):
    """Strictly feasible pair from any W that satisfies the constraints."""
    with np.errstate(all="ignore"):
        W = 2 * W / (problem.margins(W) / problem.h).min()
    if not np.isfinite(W).all():  # rows of such sizes leave no margin in double precision
        raise ConvergenceError(np.inf)
    size = np.linalg.norm(W, 2)
    X = size * np.eye(sum(W.shape)) + problem.embed(W / 2)
    mu = 1 / problem.h
    mu *= 0.5 / np.linalg.norm(problem.M(mu), 2)
    return _Iterate(problem, X, problem.margins(W) - problem.h, mu)


def _follow(problem, W):
    point, targets = _start(problem, W), list(CHECKPOINTS)
    best = (W, point.mu, np.inf)
    for _ in range(80):
        if point.gap() <= targets[0]:
            targets = [target for target in targets if target < point.gap()]
            best = min(best, _polish(point), key=lambda pair: pair[2])
            if best[2] < ACCEPT or not targets:
                return best[:2]
        try:
            point = point.advance()
        except np.linalg.LinAlgError:
            break
    return min(best, _polish(point), key=lambda pair: pair[2])[:2]


def _polish(point):
    """The pair of rank r and support S read off the central path, polished by Newton's method where that helps."""
    problem, mu, W = point.problem, point.mu, point.W
    left, sigma, right = np.linalg.svd(W, full_matrices=False)
    room = 1 - np.linalg.svd(problem.M(mu), compute_uv=False)
    r = max(1, int((sigma > sigma[0] * room).sum()))
    slack = problem.margins(W) / problem.h - 1
    S = mu * problem.h > slack * (problem.h @ mu)
    plain = min((problem.feasible_pair(W, m) for m in (np.where(S, mu, 0.0), mu)), key=lambda pair: pair[2])
    root = np.sqrt(sigma[:r])
    polished = _newton(problem, left[:, :r] * root, right[:r].T * root, mu, S) if S.any() else plain
    return polished if polished[2] < max(plain[2], 1e-9) else plain


def _newton(problem, K, Q, mu, S):
    lam, size = mu[S], 1 + np.linalg.norm(K)
    a, b = K.size, K.size + Q.size
    for _ in range(12):
        F, J = _stationarity(problem, K, Q, lam, S)
        if not np.abs(F).max() < 1e3 * size:
            return None, None, np.inf  # diverged: the rank or the support is not yet right
        try:  # minimum norm: the kernel is the gauge freedom of K Q^T
            step = np.linalg.lstsq(J, F, rcond=1e-11)[0]
        except (np.linalg.LinAlgError, ValueError):  # the SVD gives up on some Jacobians of a wrong rank or support;
            return None, None, np.inf  # a browser's NumPy, without LAPACK, says so by a ValueError
        K, Q, lam = K - step[:a].reshape(K.shape), Q - step[a:b].reshape(Q.shape), lam - step[b:]
        if np.abs(step[:b]).max() < 1e-15 * size:
            break
    full = np.zeros_like(mu)
    full[S] = lam
    return problem.feasible_pair(K @ Q.T, full)


def _stationarity(problem, K, Q, lam, S):
    """Residual and symmetric Jacobian of (K - M Q, Q - M^T K, h - margins); the gauge K A, Q A^-T is its kernel."""
    U, V, h = problem.U[S], problem.V[S], problem.h[S]
    r = K.shape[1]
    M = (U * lam[:, None]).T @ V
    UK, VQ = U @ K, V @ Q
    F = np.concatenate([(K - M @ Q).ravel(), (Q - M.T @ K).ravel(), h - (UK * VQ).sum(1)])
    a, b = K.size, K.size + Q.size
    J = np.zeros((len(F), len(F)))
    J[:b, :b] = np.eye(b)
    J[:a, a:b] = -np.kron(M, np.eye(r))
    J[:a, b:] = -(U[:, :, None] * VQ[:, None, :]).reshape(len(U), -1).T
    J[a:b, b:] = -(V[:, :, None] * UK[:, None, :]).reshape(len(U), -1).T
    J[a:, :a] = J[:a, a:].T
    J[b:, a:b] = J[a:b, b:].T
    return F, J
