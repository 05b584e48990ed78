r"""W trained in attention scores: a step costs the same for every dimension d (linear heads, no weight decay).

Every step adds a multiple of sum_it c_it x_it z_i^T, so that

.. math::
    W = W_0 + \sum_{it} C_{it}\, x_{it} z_i^\top,\qquad
    a = a_0 + \Gamma C,\qquad
    \|\textstyle\sum_{it} c_{it} x_{it} z_i^\top\|_F^2 = c^\top \Gamma c,

with the kernel Gamma_{(it),(ju)} = <x_it, x_ju> <z_i, z_j>, computed once. The state is (a, C); W is put together
at the checkpoints.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.attention import descent_direction
from attsvm_lib.training.weights import EPS, per_run

__all__ = ["ScoreDescent"]

CANCELS = 1e-2
"""Below this share of its terms' sizes, ||grad L|| is not taken from the kernel: squaring loses half the digits."""


class ScoreDescent:
    """Descent on W for a block of runs (see `LinearRuns`) from the weights (W0,), W0 (r, d, d)."""

    def __init__(self, runs, weights, rule):
        self.runs, self.rule = runs, rule
        (self.W0,) = weights
        r, n, T = len(self.W0), *runs.X.shape[-3:-1]
        X, Z = runs.X.reshape(len(runs.X), n * T, -1), np.repeat(runs.Z, T, axis=-2)
        self.kernel = (X @ X.swapaxes(-1, -2)) * (Z @ Z.swapaxes(-1, -2))
        a = (runs.X @ (runs.Z @ self.W0.swapaxes(-1, -2))[..., None])[..., 0]
        self.start = a, np.zeros((r, n, T))
        self.move = self._exact_move if rule.exact else self._paper_move

    def weights(self, records):
        """The weights (W,) in records of the state, stacked over the records."""
        return (np.stack([self._W(C) for _, C in records]),)

    def _W(self, C):
        return self.W0 + (C[..., None, :] @ self.runs.X)[..., 0, :].swapaxes(-1, -2) @ self.runs.Z

    def _pull(self, c):
        """Gamma c and the norm of sum_it c_it x_it z_i^T."""
        flat = c.reshape(len(c), -1)
        p = (self.kernel @ flat[..., None])[..., 0]
        return p.reshape(c.shape), np.sqrt(np.maximum(np.einsum("rk,rk->r", flat, p), 0.0))

    def _paper_move(self, state):
        c = self.runs.paper_weights(state[0])
        p, size = self._pull(c)
        factor = per_run(self.rule.step / (size + EPS) if self.rule.normalized else self.rule.step)
        return (factor * p, factor * c), np.zeros(len(c), dtype=bool)

    def _exact_move(self, state):
        a, C = state
        c, log_scale = self.runs.exact_weights(a)
        p, size = self._pull(c)
        zero = np.zeros(len(c), dtype=bool)
        doubtful = size <= CANCELS * self.runs.extent(c)
        if doubtful.any():
            direction = descent_direction(*self.runs.part(doubtful), self._W(C)[doubtful])
            zero[doubtful] = direction.is_zero
            size[doubtful] = np.exp(direction.log_norm - log_scale[doubtful])
        if self.rule.normalized:
            factor = self.rule.step / np.where(zero, 1.0, size)
        else:
            factor = self.rule.step * np.exp(log_scale)
        factor = per_run(np.where(zero, 0.0, factor))
        return (factor * p, factor * c), zero
