r"""Regularization path of attention: the risk minimized over growing balls, and the direction it converges
to.

.. math:: W_R = \arg\min_{\|W\|_F \le R} L(W)
          \qquad\text{or}\qquad
          (K_R, Q_R) = \arg\min_{\|K\|_F^2 + \|Q\|_F^2 \le 2R} L(K Q^\top) .

W_R / R tends to W_mm / ||W_mm||_F, and K_R Q_R^T / R to W*_mm / ||W*_mm||_*, the max-margin directions of the
optimal tokens in the Frobenius and in the nuclear norm (arXiv 2308.16898, section 3, Theorem 2). The
constraint is active, so we minimize log(L - L_*) over the sphere: the same minimizers, without the flatness
that stops descent on L itself at radii of about 30.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.attention import frobenius
from attsvm_lib.constraints import token_rows
from attsvm_lib.data import check_data
from attsvm_lib.excess import head_scores, log_excess_gradient
from attsvm_lib.lbfgs import minimize
from attsvm_lib.selection import check_solution, correlation, optimal_tokens
from attsvm_lib.svm import Solution, att_svm
from attsvm_lib.svm.solution import certified_gap
from attsvm_lib.validation import choice, generator, integer, real_array

__all__ = ["Path", "predicted_constant", "regularization_path"]

NORMS = {"W": "frobenius", "KQ": "nuclear"}
RANGE = (1e-8, 1e8)
"""Radii over ||W_mm|| at which double precision tells one risk of the sphere from another: at the lower end
log(L - L_*) varies by 1e-8 over the sphere, at the upper end its size of 1e8 hides what is below 1e-8."""


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """A regularization path at r radii.

    Attributes
    ----------
    radii : array, shape (r,)
    W : array, shape (r, d, d)
        W_R, or K_R Q_R^T.
    K, Q : array, shape (r, d, m), or None when W is optimized
    log_excess : array, shape (r,)
        log(L(W_R) - L_*).
    residual : array, shape (r,)
        Optimality residual: sine of the angle between the weights and minus the gradient of the risk, 0 at a
        stationary point of the constrained problem. It is 1 when that angle is a right angle or more, so that
        the risk falls toward the inside of the ball, or when the gradient is zero up to rounding: then nothing
        is claimed. Expect at most 1e-6, and 1e-5 at the largest radii.
    ends : array, shape (r, 2 + starts)
        log(L - L_*) reached from each start: the SVM direction, the continuation of the path from smaller
        radii, random ones; `log_excess` is the least. Ends that differ show that the problem is not convex.
    solution : Solution
        Att-SVM of the optimal tokens, in the Frobenius norm (W) or the nuclear norm ((K, Q)).
    """

    radii: np.ndarray
    W: np.ndarray
    K: np.ndarray | None
    Q: np.ndarray | None
    log_excess: np.ndarray
    residual: np.ndarray
    ends: np.ndarray
    solution: Solution

    @property
    def distance(self):
        """||W_R / R - W_mm / ||W_mm|| ||_F, shape (r,), where ||W_mm|| is the norm that defines the limit."""
        limit = self.solution.W / self.solution.objective
        return frobenius(self.W / self.radii[:, None, None] - limit)

    @property
    def correlation(self):
        """Correlation of W_R with the SVM solution, shape (r,)."""
        return correlation(self.W, self.solution.W)

    def __repr__(self):
        model = "W" if self.K is None else f"(K, Q) of width {self.K.shape[-1]}"
        return (
            f"Path({model}, {len(self.radii)} radii up to {self.radii.max():g}, "
            f"distance {self.distance[self.radii.argmax()]:.3g} there)"
        )


def regularization_path(data, head, radii, *, rng, parameterization="W", width=None, starts=10):
    """Minimize the risk over balls of the given radii (linear head), for W or for (K, Q).

    Parameters
    ----------
    data : TokenData
        One data set (no batch axes).
    head : LinearHead
    radii : array_like, shape (r,)
        Positive, increasing radii R: ||W||_F <= R, or ||K||_F^2 + ||Q||_F^2 <= 2 R. Each must lie within 1e-8
        and 1e8 times ||W_mm||, the norm of the solution of Att-SVM, where double precision can tell the risks
        of the sphere apart.
    rng : numpy.random.Generator
        For the random starts.
    parameterization : {"W", "KQ"}
    width : int, optional
        Columns m of K and Q, by default d; for "KQ" only.
    starts : int
        Random starts at each radius, beside the SVM direction and the continuation of the path from smaller
        radii.

    Returns
    -------
    Path
        At each radius the best end over all starts. The problem is not convex, so this is a minimizer as
        far as the starts can tell: see `Path.ends`.

    Raises
    ------
    TieError
        When the optimal token of a sequence is not unique; the limit direction is then not defined by scores.
    InfeasibleError
        When the optimal tokens are not separable.
    ValueError
        When another argument does not fit.
    FloatingPointError
        When a score of the tokens overflows.

    Notes
    -----
    L-BFGS (`attsvm_lib.lbfgs`) on the scaled weights, from each start. Source: arXiv 2308.16898, section 3, Theorem 2.
    """
    choice("parameterization", parameterization, tuple(NORMS))
    radii = real_array("radii", radii, (None,), axes="(r,)")
    if radii[0] <= 0 or (np.diff(radii) <= 0).any():
        raise ValueError(f"radii must be positive and increasing, got {radii.tolist()}")
    starts = integer("starts", starts, 0)
    generator("rng", rng)
    shape = _shape(data, parameterization, width)
    solution = _limit(data, head, NORMS[parameterization])
    _check_range(radii, solution)
    weights, ends, residual = [], [], []
    follow, reached = rng.standard_normal(shape), solution.objective
    for R in radii:
        follow = _continue(data, head, follow, reached, R, solution.margin)
        random = [rng.standard_normal(shape) for _ in range(starts)]
        candidates = [_svm_start(solution, shape, rng), _shaken(follow, rng), *random]
        found = [_minimize(data, head, R, V, solution.margin) for V in candidates]
        ends.append([f for _, f, _ in found])
        best = found[int(np.argmin(ends[-1]))]
        weights.append(best[0])
        residual.append(best[2])
        follow, reached = best[0], 10 * R
    weights, ends = np.stack(weights), np.array(ends)
    K, Q = (None, None) if parameterization == "W" else (weights[:, 0], weights[:, 1])
    W = np.stack([_product(w) for w in weights])
    return Path(radii, W, K, Q, ends.min(1), np.array(residual), ends, solution)


def predicted_constant(data, head, solution):
    r"""Constant C of the path's rate: the distance of W_R / R to its limit is C / R to first order.

    On the support of the solution the path satisfies

    .. math:: d_k^\top W_R z_k = \log w_k - \log \lambda_k + \mathrm{const},\qquad
              w_k = \sigma(-\gamma_{i\alpha_i})\,(\gamma_{i\alpha_i} - \gamma_{it}),

    so that W_R = (R / ||W_mm||) W_mm + B + o(1), with B fixed by these equations, the optimality conditions
    to first order and <B, W_mm> = 0 (for the nuclear norm <B, U V^T> = 0, with W*_mm = U S V^T). Then C =
    ||B||_F.

    Parameters
    ----------
    data : TokenData
        One data set.
    head : LinearHead
    solution : Solution
        `att_svm` of the optimal tokens, in either norm.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        When the solution is degenerate: a row at margin 1 with a zero multiplier, or multipliers that are not
        unique. Also when it does not belong to the optimal tokens of these data, or T = 1 (no row, no rate).

    Notes
    -----
    Our derivation, from the stationarity of log(L - L_*) on the sphere; for (K, Q) it holds for widths of
    at least the rank of the solution.
    """
    _check_one_problem(data)
    check_solution(solution)
    gamma = head_scores(data, head)
    alpha = _unique_optimum(gamma)
    rows = token_rows(data, alpha)
    if not _solves(solution, rows, alpha):
        raise ValueError("solution must be att_svm of the optimal tokens of these data")
    on = solution.support
    active = rows.margins(solution.W) < 1 + 1e-7
    if not on.any() or (active != on).any():
        raise ValueError("solution must be non-degenerate: here a row at margin 1 has a zero multiplier")
    i, t = rows.index[on].T
    best = gamma[i, solution.alpha[i]]
    target = np.log(best - gamma[i, t]) - np.logaddexp(0.0, best) - np.log(solution.multipliers[on])
    D, Z = rows.D[on], rows.Z[on]
    if np.linalg.matrix_rank((D @ D.T) * (Z @ Z.T)) < len(D):
        raise ValueError("solution must have unique multipliers: its support rows are linearly dependent")
    offset = _frobenius_offset if solution.norm == "frobenius" else _nuclear_offset
    return float(np.linalg.norm(offset(solution, D, Z, target)))


def _shape(data, parameterization, width):
    """Shape of the stack of weights: W alone, or K and Q."""
    _check_one_problem(data)
    if parameterization == "KQ":
        return 2, data.d, integer("width", data.d if width is None else width, 1)
    if width is not None:
        raise ValueError(f"width must be left out for parameterization 'W', which has no factors, got {width!r}")
    return 1, data.d, data.d


def _check_range(radii, solution):
    low, high = (end * solution.objective for end in RANGE)
    if radii[0] < low or radii[-1] > high:
        raise ValueError(
            f"radii must lie within 1e-8 and 1e8 times ||W_mm|| = {solution.objective:.3g}, that is {low:.3g} and "
            f"{high:.3g}, where double precision can tell the risks apart, got {radii[0]:g} to {radii[-1]:g}"
        )


def _check_one_problem(data):
    if check_data(data).batch_shape:
        raise ValueError(f"data must be one data set without batch axes, got batch shape {data.batch_shape}")
    if data.T == 1:
        raise ValueError("data must have at least two tokens per sequence: with T = 1, L does not depend on W")


def _solves(solution, rows, alpha):
    """Whether the solution is that of these rows: its margins are 1, and its certified gap is reproduced."""
    d = rows.D.shape[1]
    if not np.array_equal(solution.alpha, alpha) or solution.W.shape != (d, d) or len(solution.support) != len(rows):
        return False
    if not abs(rows.margins(solution.W).min() - 1) < 1e-6:
        return False
    return certified_gap(rows, solution.W, solution.multipliers, solution.norm) <= 1e-9 + 2 * solution.gap


def _limit(data, head, norm):
    return att_svm(data, _unique_optimum(head_scores(data, head)), norm=norm)


def _unique_optimum(gamma):
    # equal tokens may differ in the last digits of their scores
    return optimal_tokens(gamma, tol=1e-12 * np.abs(gamma[np.isfinite(gamma)]).max())


def _svm_start(solution, shape, rng):
    """The SVM solution, or its balanced factors cut to the width or padded by small random columns."""
    if shape[0] == 1:
        return solution.W[None]
    U, s, Vt = np.linalg.svd(solution.W)
    rank = min(solution.rank, shape[-1])
    V = np.zeros(shape)
    V[0, :, :rank] = U[:, :rank] * np.sqrt(s[:rank])
    V[1, :, :rank] = Vt[:rank].T * np.sqrt(s[:rank])
    return _shaken(V, rng)


def _continue(data, head, V, reached, R, margin):
    """Follow the path in steps of a factor 10 from radius `reached` to below R.

    At a large radius the softmax is one-hot at a random point, and the risk flat; at ||W_mm|| it is neither.
    """
    while reached < R:
        V = _minimize(data, head, reached, V, margin)[0]
        reached *= 10
    return V


def _shaken(V, rng):
    """V, rescaled, with a small random part, so that a factor with a zero column can leave that saddle."""
    V = V / np.abs(V).max()
    return V + 1e-3 * np.sqrt((V * V).mean()) * rng.standard_normal(V.shape)


def _product(weights):
    return weights[0] if len(weights) == 1 else weights[0] @ weights[1].T


def _minimize(data, head, R, start, margin):
    """Minimize log(L - L_*) over the sphere from one start; return weights, value and residual.

    log(L - L_*) falls like -R margin: divided by that, it has the same slopes at every radius and in every unit.
    """
    shape = start.shape
    radius = R if shape[0] == 1 else np.sqrt(2 * R)
    fall = R * margin
    stretch = (R if shape[0] == 1 else 2 * R) / fall

    def on_sphere(flat):
        size = np.linalg.norm(flat)
        unit = flat.reshape(shape) / size
        value, G = log_excess_gradient(data, head, _product(radius * unit))
        G = stretch * G
        slope = G[None] if shape[0] == 1 else np.stack([G @ unit[1], G.T @ unit[0]])
        tangent = slope - (slope * unit).sum() * unit
        return value / fall, tangent.ravel() / size, unit, slope, tangent

    start = start / np.abs(start).max()
    flat = (start / np.linalg.norm(start)).ravel()
    value, _, unit, slope, tangent = on_sphere(minimize(lambda x: on_sphere(x)[:2], flat))
    size = np.linalg.norm(slope)
    residual = np.linalg.norm(tangent) / size if size > 0 and (slope * unit).sum() < 0 else 1.0
    return radius * unit, float(value * fall), float(residual)


def _frobenius_offset(solution, D, Z, target):
    """B in span{d_k z_k^T} with d_k^T B z_k = target up to a constant and <B, W_mm> = 0."""
    y = np.linalg.solve((D @ D.T) * (Z @ Z.T), target)
    B = (D * y[:, None]).T @ Z
    W = solution.W
    return B - (B * W).sum() / (W * W).sum() * W


def _nuclear_offset(solution, D, Z, target):
    """B from the optimality conditions K = M(lam) Q, Q = M(lam)^T K, d_k^T K Q^T z_k = target, linearized."""
    d, r, m = len(solution.W), solution.rank, len(D)
    U, s, Vt = np.linalg.svd(solution.W)
    U, s, V = U[:, :r], s[:r], Vt[:r].T
    K, Q = U * np.sqrt(s), V * np.sqrt(s)
    M = (D * solution.multipliers[solution.support][:, None]).T @ Z
    eye = np.eye(d * r)
    DK, ZQ = D @ K, Z @ Q
    # unknowns (dK, dQ, dlam), matrices flattened row by row
    system = np.block(
        [
            [eye, -np.kron(M, np.eye(r)), -np.einsum("kd,kr->drk", D, ZQ).reshape(d * r, m)],
            [-np.kron(M.T, np.eye(r)), eye, -np.einsum("kd,kr->drk", Z, DK).reshape(d * r, m)],
            [
                np.einsum("kd,kr->kdr", D, ZQ).reshape(m, -1),
                np.einsum("kd,kr->kdr", Z, DK).reshape(m, -1),
                np.zeros((m, m)),
            ],
        ]
    )
    right = np.concatenate([np.zeros(2 * d * r), target])
    answer = np.linalg.lstsq(system, right)[0]
    dK, dQ = answer[: 2 * d * r].reshape(2, d, r)
    B = dK @ Q.T + K @ dQ.T
    return B - (B * (U @ V.T)).sum() / s.sum() * solution.W
