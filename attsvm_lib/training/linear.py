r"""Weights of the tokens in -grad L for a linear head, from the attention scores alone.

A linear head has one score gamma_it = Y_i v^T x_it per token, so that the weights c_it of

.. math:: -\nabla L(W) = \sum_{it} c_{it}\, x_{it} z_i^\top

depend on W through a_it = x_it^T W z_i only. Both arithmetics of `train` are here; formulas as in
`attsvm_lib.attention`, which serves every head. Runs are the first axis of all arrays; a first axis of length 1
stands for data that all runs share.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.attention import EPS
from attsvm_lib.data import TokenData

__all__ = ["LinearRuns", "is_moderate"]

SMALL, LARGE = 1e-50, 1e50
"""Sizes between which squares and products of a few numbers neither overflow nor underflow."""
SILENT = -1e300
"""Logarithm of a pull that is zero: finite, so that differences of two are defined."""


def is_moderate(data, parameters, weights, rule):
    """Whether all numbers, among them the head's parameters, are of a size for which no step needs rescaling."""
    sizes = [np.abs(data.X).max((-2, -1)), np.abs(data.Z).max(-1), np.abs(parameters).max(-1), np.asarray(rule.step)]
    fits = all(((SMALL < size) & (size < LARGE) | (size == 0)).all() for size in sizes)
    return bool(fits and all(np.abs(w).max() < LARGE for w in weights))


class LinearRuns:
    """A block of runs with linear heads, one after the other along the first axis.

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
        self.g = head.gradient(np.zeros((1, *Z.shape[1:])))  # of a linear head, the same for every output
        self.gamma = Y[..., None] * np.einsum("rntd,rnd->rnt", X, self.g)
        self.reach = (np.linalg.norm(X, axis=-1) * np.linalg.norm(Z, axis=-1)[..., None])[..., None]
        self._r = None

    def part(self, runs):
        """Data and head of some of the runs, given by a boolean mask."""
        count = int(runs.sum())
        fixed = (self.X, self.Z, self.Y, self.allowed)
        part = [None if u is None else np.broadcast_to(*_some(u, runs, count)) for u in fixed]
        v = self.head.v
        return TokenData(*part), type(self.head)(v if len(v) == 1 else v[runs])

    def _seen(self, a):
        return a if self.allowed is None else np.where(self.allowed, a, -np.inf)

    def paper_weights(self, a):
        """c_it (r, n, T) by c_it = w_it (gamma_it - s_i . gamma_i), which cancels once s_i is one-hot."""
        a = self._seen(a)
        s = np.exp(a - a.max(-1, keepdims=True))
        s /= s.sum(-1, keepdims=True)
        gamma = self.scores(s)
        f = (s * gamma).sum(-1, keepdims=True)
        s *= np.exp(-np.logaddexp(0.0, f)) / a.shape[-2]
        return s * (gamma - f)

    def scores(self, s):
        """gamma_it (r, n, T), the same at all attention probabilities s."""
        return self.gamma

    def exact_weights(self, a):
        """c_it / exp(log_scale) and log_scale, (r, n, T) and (r,): saturation-proof, as `descent_direction`."""
        a = self._seen(a)
        r = a.argmax(-1)
        delta, sign, log_size = self._relative_scores(r)
        b = a - a.max(-1, keepdims=True)
        s = np.exp(b)
        total = s.sum(-1, keepdims=True)
        s /= total
        f = self._gamma_r + (s * delta).sum(-1)
        b += log_size
        top = b.max(-1, keepdims=True)
        top[~np.isfinite(top)] = SILENT  # every token of the sequence scores alike: it must not set the scale
        b -= top
        log_weight = (top - np.log(total))[..., 0] - np.logaddexp(0.0, f) - np.log(a.shape[-2])
        log_scale = log_weight.max(-1)
        pull = np.exp(b, out=b)
        pull *= sign * np.exp(log_weight - log_scale[..., None])[..., None]
        return pull - s * pull.sum(-1, keepdims=True), log_scale

    def _relative_scores(self, r):
        """delta_it = gamma_it - gamma_ir, 0 where rounding swallows it, its sign and log |delta_it|.

        The tokens r of largest attention seldom change, so the last answer is kept.
        """
        if self._r is None or not np.array_equal(r, self._r):
            gamma = np.broadcast_to(self.gamma, (*r.shape, self.gamma.shape[-1]))
            self._gamma_r = np.take_along_axis(gamma, r[..., None], -1)
            delta = gamma - self._gamma_r
            size = np.abs(self.X).max((-2, -1)) * np.sqrt(self.X.shape[-1])
            error = 2 * self.X.shape[-1] * EPS * size * np.linalg.norm(self.g, axis=-1)
            delta = np.where(np.abs(delta) <= error[..., None], 0.0, delta)
            with np.errstate(divide="ignore"):
                self._relative = delta, np.sign(delta), np.log(np.abs(delta))
            self._gamma_r, self._r = self._gamma_r[..., 0], r
        return self._relative

    def extent(self, c):
        """Upper bound of ||sum_it c_it x_it z_i^T||_F that no cancellation lowers, shape (r,)."""
        flat = np.abs(c).reshape(len(c), 1, -1)
        return (flat @ self.reach.reshape(len(self.reach), -1, 1))[:, 0, 0]


def _some(u, runs, count):
    """Those runs of u, and the shape to which they broadcast."""
    return u if len(u) == 1 else u[runs], (count, *u.shape[1:])
