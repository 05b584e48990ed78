r"""Tokens off the sphere: self-attention without normalization, and the leaders it selects.

.. math:: x_i' = \sum_j P_{ij} V x_j, \qquad
          P_{ij} = \frac{e^{\langle Q x_i, K x_j\rangle}}{\sum_k e^{\langle Q x_i, K x_k\rangle}}

Tokens grow like exp(tV), so the equation is solved for the rescaled ones :math:`z_i = e^{-tV} x_i`,

.. math:: z_i' = V \sum_j P_{ij} (z_j - z_i),

with P from :math:`\langle Q e^{tV} z_i, K e^{tV} z_j\rangle` in log-sum-exp form: the largest score of each row is
taken off before exponentiating. As the scores grow, the rows of P become 0-1; the tokens they point at are the leaders.

Source: arXiv 2305.05465 (the equations and the rescaling).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.meanfield.field import scores_matrix
from attsvm_lib.meanfield.particles import check_times
from attsvm_lib.validation import bounded, positive, real_array

__all__ = ["UnprojectedTrajectory", "attention_rank", "leaders", "simulate_unprojected"]

TAYLOR_TERMS = 18


@dataclass(frozen=True, eq=False)
class UnprojectedTrajectory:
    """Rescaled tokens and their attention at the requested times.

    Attributes
    ----------
    times : array, shape (times,)
    z : array, shape (times, ..., n, d)
        Rescaled tokens exp(-tV) x.
    attention : array, shape (times, ..., n, n)
        The attention matrix P; each row sums to 1.
    growth : array, shape (times, d, d)
        exp(tV), so that x = z @ growth^T.
    """

    times: np.ndarray
    z: np.ndarray
    attention: np.ndarray
    growth: np.ndarray


def simulate_unprojected(x0, times, *, Q=None, K=None, V=None, step=0.02):
    """Move tokens by self-attention without projection on the sphere.

    Parameters
    ----------
    x0 : array_like, shape (..., n, d)
        Tokens at time 0, of any length.
    times : array_like, shape (times,)
        Where to record, non-negative and in order.
    Q, K : array_like, shape (m, d), optional
        Query and key matrices, the identity by default.
    V : array_like, shape (d, d), optional
        Value matrix, the identity by default.
    step : float
        Largest step of the classical Runge-Kutta method of order four.

    Returns
    -------
    UnprojectedTrajectory

    Raises
    ------
    ValueError
        When an argument does not fit.
    FloatingPointError
        When a score overflows although tokens are rescaled: shorten times.

    Notes
    -----
    Source: arXiv 2305.05465.
    """
    x0 = real_array("x0", x0, (..., None, None), axes="(..., n, d)")
    times, step, d = check_times(times), positive("step", step), x0.shape[-1]
    V = np.eye(d) if V is None else real_array("V", V, (d, d))
    flow = _Rescaled(V, scores_matrix(Q, K, d))
    z, growth, begin, states = x0, np.eye(d), 0.0, []
    for end in times:
        count = int(np.ceil((end - begin) / step - 1e-9))
        h = (end - begin) / max(count, 1)
        half = _exponential(h / 2 * V)
        for _ in range(count):
            z, growth = flow.step(z, growth, half, h)
        states.append((z, flow.attention(z, growth), growth))
        begin = end
    return UnprojectedTrajectory(times, *(np.stack(part) for part in zip(*states)))


def leaders(attention, *, tol=1e-3):
    """Which tokens lead: token j leads when some row of the attention matrix is 0-1 up to `tol`, with its 1 at j.

    Parameters
    ----------
    attention : array_like, shape (..., n, n)
        Rows that sum to 1.
    tol : float
        Between 0 and 1/2.

    Returns
    -------
    array of bool, shape (..., n)
        `leaders(P).sum(-1)` is their number.

    Notes
    -----
    Source: arXiv 2305.05465, where the attention matrix of tokens on a line tends to a 0-1 matrix; the tolerance is
    ours.
    """
    return (_check_attention(attention) > 1 - _tolerance(tol)).any(-2)


def attention_rank(attention, *, tol=1e-3):
    """Numerical rank of attention matrices: singular values above `tol` of the largest.

    Parameters
    ----------
    attention : array_like, shape (..., n, n)
    tol : float
        Between 0 and 1/2.

    Returns
    -------
    array of int or int, shape (...)
    """
    values = np.linalg.svd(_check_attention(attention), compute_uv=False)
    return (values > _tolerance(tol) * values[..., :1]).sum(-1)[()]


class _Rescaled:
    """The field z' = V sum_j P_ij (z_j - z_i) at a given growth exp(tV)."""

    def __init__(self, V, B):
        self.V, self.B = V, B

    def attention(self, z, growth):
        """P, from scores less the largest of their row."""
        with np.errstate(over="ignore", invalid="ignore"):
            x = z @ growth.T
            keys = x if self.B is None else x @ self.B
            scores = bounded("the attention scores <Qx, Kx>", keys @ x.swapaxes(-1, -2))
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True)

    def field(self, z, growth):
        return (self.attention(z, growth) @ z - z) @ self.V.T

    def step(self, z, growth, half, h):
        """One Runge-Kutta step of order four; `half` is exp(h V / 2)."""
        middle = growth @ half
        end = middle @ half
        k1 = self.field(z, growth)
        k2 = self.field(z + h / 2 * k1, middle)
        k3 = self.field(z + h / 2 * k2, middle)
        k4 = self.field(z + h * k3, end)
        return z + h / 6 * (k1 + 2 * (k2 + k3) + k4), end


def _exponential(A):
    """exp(A) of a small matrix: Taylor series of A / 2^s, squared s times."""
    size = np.abs(A).sum(-1).max()
    squarings = max(0, int(np.ceil(np.log2(size))) + 1) if size > 0 else 0
    A = A / 2**squarings
    out = np.eye(len(A))
    for k in range(TAYLOR_TERMS, 0, -1):
        out = np.eye(len(A)) + A @ out / k
    for _ in range(squarings):
        out = out @ out
    return out


def _check_attention(attention):
    P = real_array("attention", attention, (..., None, None), axes="(..., n, n)")
    if P.shape[-1] != P.shape[-2]:
        raise ValueError(f"attention must have shape (..., n, n), got {P.shape}")
    if (P < 0).any() or (np.abs(P.sum(-1) - 1) > 1e-6).any():
        raise ValueError("attention must have non-negative rows that sum to 1")
    return P


def _tolerance(tol):
    tol = positive("tol", tol)
    if tol >= 0.5:
        raise ValueError(f"tol must be below 1/2, got {tol:g}")
    return tol
