r"""Weights of the tokens in -grad L for a linear head, from the attention scores alone.

A linear head has one score gamma_it = Y_i v^T x_it per token, so that the weights c_it of

.. math:: -\nabla L(W) = \sum_{it} c_{it}\, x_{it} z_i^\top

depend on W through a_it = x_it^T W z_i only. Both arithmetics of `train` are here; formulas as in
`attsvm_lib.attention`, which serves every head.

Many runs are worked on at once. What depends on the tokens has shape (T, n, r): with the r runs last, sums over
tokens add long rows, several times as fast as adding T numbers often. A last axis of length 1 stands for what all
runs share.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.attention import EPS
from attsvm_lib.data import TokenData

__all__ = ["LinearRuns", "is_moderate", "runs_first", "runs_last"]

SMALL, LARGE = 1e-50, 1e50
"""Sizes between which squares and products of a few numbers neither overflow nor underflow."""
SILENT = -1e300
"""Logarithm of a pull that is zero: finite, so that differences of two are defined."""


def is_moderate(data, parameters, weights, rule):
    """Whether all numbers, among them the head's parameters, are of a size for which no step needs rescaling."""
    sizes = [np.abs(data.X).max((-2, -1)), np.abs(data.Z).max(-1), np.abs(parameters).max(-1), np.asarray(rule.step)]
    fits = all(((SMALL < size) & (size < LARGE) | (size == 0)).all() for size in sizes)
    return bool(fits and all(np.abs(w).max() < LARGE for w in weights))


def runs_last(u):
    """(r, n, T) or (r, n) as (T, n, r) or (n, r)."""
    return np.ascontiguousarray(u.T)


def runs_first(u):
    """(T, n, r) as (r, n, T)."""
    return np.ascontiguousarray(u.T)


class LinearRuns:
    """A block of runs with linear heads.

    Parameters
    ----------
    X, Z, Y : arrays (r, n, T, d), (r, n, d), (r, n)
        Tokens, queries, labels; r is the number of runs, or 1 where all runs share them.
    head : LinearHead
        Batch axis (r,) or (1,).
    allowed : array of bool (r, n, T), optional
        Tokens that attention may use.
    """

    def __init__(self, X, Z, Y, head, allowed=None):
        self.X, self.Z, self.Y, self.head, self.allowed = X, Z, Y, head, allowed
        g = head.gradient(np.zeros((1, *Z.shape[1:])))  # of a linear head, the same for every output
        self.gamma = runs_last(Y[..., None] * np.einsum("rntd,rnd->rnt", X, g))
        self._forbidden = None if allowed is None else runs_last(~allowed)
        self._extents = runs_last(np.linalg.norm(X, axis=-1) * np.linalg.norm(Z, axis=-1)[..., None])
        self._lost = runs_last(2 * EPS * X.shape[-1] ** 1.5 * np.abs(X).max((-2, -1)) * np.linalg.norm(g, axis=-1))
        self._selected = None

    def part(self, runs):
        """Data and head of some of the runs, given by a boolean mask."""
        count = int(runs.sum())
        fixed = (self.X, self.Z, self.Y, self.allowed)
        part = [None if u is None else np.broadcast_to(*_some(u, runs, count)) for u in fixed]
        v = self.head.v
        return TokenData(*part), type(self.head)(v if len(v) == 1 else v[runs])

    def paper_weights(self, a):
        """c_it, shape (T, n, r), by c_it = w_it (gamma_it - s_i . gamma_i), which cancels once s_i is one-hot."""
        s = self._seen(a)
        s = np.exp(s - s.max(0))
        s /= s.sum(0)
        gamma = self.scores(s)
        f = (s * gamma).sum(0)
        s *= np.exp(-np.logaddexp(0.0, f)) / a.shape[1]
        s *= gamma - f
        return s

    def scores(self, s):
        """gamma_it, shape (T, n, r), the same at all attention probabilities s."""
        return self.gamma

    def exact_weights(self, a):
        """c_it / exp(log_scale) and log_scale, (T, n, r) and (r,): saturation-proof, as `descent_direction`."""
        a = self._seen(a)
        gamma_r, delta, sign, log_size = self._relative_scores(a.argmax(0))
        b = a - a.max(0)
        s = np.exp(b)
        total = s.sum(0)
        s /= total
        f = gamma_r + (s * delta).sum(0)
        b += log_size
        top = b.max(0)
        np.maximum(top, SILENT, out=top)  # -inf: every token of the sequence scores alike, it must not set the scale
        b -= top
        log_weight = top - np.log(total * a.shape[1]) - np.logaddexp(0.0, f)
        log_scale = log_weight.max(0)
        pull = np.exp(b, out=b)
        pull *= sign
        pull *= np.exp(log_weight - log_scale)
        return pull - s * pull.sum(0), log_scale

    def extent(self, c):
        """Upper bound of ||sum_it c_it x_it z_i^T||_F that no cancellation lowers, shape (r,)."""
        return (np.abs(c) * self._extents).sum((0, 1))

    def _seen(self, a):
        return a if self._forbidden is None else np.where(self._forbidden, -np.inf, a)

    def _relative_scores(self, selected):
        """gamma_ir of the tokens r of largest attention, and delta_it = gamma_it - gamma_ir, its sign and logarithm.

        delta is 0 where rounding swallows it. The selected tokens seldom change, so the last answer is kept.
        """
        if self._selected is None or (selected != self._selected).any():
            gamma = np.broadcast_to(self.gamma, (len(self.gamma), *selected.shape))
            gamma_r = np.take_along_axis(gamma, selected[None], 0)[0]
            delta = gamma - gamma_r
            delta = np.where(np.abs(delta) <= self._lost, 0.0, delta)
            with np.errstate(divide="ignore"):
                self._relative = gamma_r, delta, np.sign(delta), np.log(np.abs(delta))
            self._selected = selected
        return self._relative


def _some(u, runs, count):
    """Those runs of u, and the shape to which they broadcast."""
    return u if len(u) == 1 else u[runs], (count, *u.shape[1:])
