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
from attsvm_lib.training.linear import runs_first, runs_last
from attsvm_lib.training.weights import EPS

__all__ = ["ScoreDescent"]

CANCELS = 1e-2
"""Below this share of its terms' sizes, ||grad L|| is not taken from the kernel: squaring loses half the digits."""


class ScoreDescent:
    """Descent on W for a block of runs (see `LinearRuns`) from the weights (W0,), W0 (r, d, d).

    The state (a, C) has the runs last, (T, n, r).
    """

    def __init__(self, runs, weights, rule):
        self.runs, self.rule = runs, rule
        (self.W0,) = weights
        self.batch = self.W0.shape[:1]
        n, T, d = runs.X.shape[1:]
        X = runs.X.swapaxes(1, 2).reshape(-1, T * n, d)
        Z = np.tile(runs.Z, (1, T, 1))
        self.kernel = (X @ X.swapaxes(-1, -2)) * (Z @ Z.swapaxes(-1, -2))
        a = runs_last((runs.X @ (runs.Z @ self.W0.swapaxes(-1, -2))[..., None])[..., 0])
        self.start = a, np.zeros_like(a)
        self.none = np.zeros(self.batch, dtype=bool)
        self.move = self._exact_move if rule.exact else self._paper_move

    def weights(self, records):
        """The weights (W,) in records of the state, stacked over the records."""
        return (np.stack([self._W(C) for _, C in records]),)

    def _W(self, C):
        U = (runs_first(C)[..., None, :] @ self.runs.X)[..., 0, :]
        return self.W0 + U.swapaxes(-1, -2) @ self.runs.Z

    def _pull(self, c):
        """Gamma c, shape (T, n, r), and the norms of sum_it c_it x_it z_i^T, shape (r,)."""
        flat = np.ascontiguousarray(c.reshape(-1, c.shape[-1]).T)
        p = (self.kernel @ flat[..., None])[..., 0]
        size = np.sqrt(np.maximum(np.einsum("rk,rk->r", flat, p), 0.0))
        return np.ascontiguousarray(p.T).reshape(c.shape), size

    def _paper_move(self, state):
        c = self.runs.paper_weights(state[0])
        p, size = self._pull(c)
        factor = self.rule.step / (size + EPS) if self.rule.normalized else self.rule.step
        return (factor * p, factor * c), self.none

    def _exact_move(self, state):
        a, C = state
        c, log_scale = self.runs.exact_weights(a)
        p, size = self._pull(c)
        zero, doubtful = self.none, size <= CANCELS * self.runs.extent(c)
        if doubtful.any():
            direction = descent_direction(*self.runs.part(doubtful), self._W(C)[doubtful])
            size[doubtful] = np.exp(direction.log_norm - log_scale[doubtful])
            zero = self.none.copy()
            zero[doubtful] = direction.is_zero
            size[zero] = np.inf
        factor = self.rule.step / size if self.rule.normalized else self.rule.step * np.exp(log_scale)
        factor[zero] = 0.0
        return (factor * p, factor * c), zero
