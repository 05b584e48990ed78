r"""K and Q trained with a linear head, without forming W or its gradient.

With u_i = sum_t c_it x_it, -grad L = sum_i u_i z_i^T, and its two parts are

.. math:: -\nabla_K L = U^\top (Z Q),\qquad -\nabla_Q L = Z^\top (U K),

products of matrices with n, not d, rows; the attention scores are a_it = x_it^T K (Q^T z_i).
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.training.linear import runs_last
from attsvm_lib.training.weights import WeightDescent, add_decay, paper_stride, stride

__all__ = ["FactorDescent"]

CANCELS = 1e-8
"""Below this share of its terms' sizes a part of the gradient may be zero up to rounding."""


class FactorDescent:
    """Descent on (K, Q), each (r, d, m), for a block of runs (see `LinearRuns`)."""

    def __init__(self, runs, weights, rule):
        self.runs, self.rule, self.start = runs, rule, weights
        self.batch = weights[0].shape[:1]
        X = np.ascontiguousarray(runs.X.T)  # (d, T, n, r)
        self.X = np.broadcast_to(X, (*X.shape[:-1], *self.batch))
        self.move = self._exact_move if rule.exact else self._paper_move

    def weights(self, records):
        """The weights (K, Q) in records of the state, each stacked over the records."""
        return tuple(np.stack(w) for w in zip(*records))

    def _scores(self, K, Q):
        """a_it, shape (T, n, r), and Z Q."""
        R = self.runs.Z @ Q
        return np.einsum("dtnr,dnr->tnr", self.X, runs_last(R @ K.swapaxes(-1, -2))), R

    def _parts(self, c, R, K):
        """Both parts of sum_it c_it x_it z_i^T."""
        U = np.ascontiguousarray(np.einsum("dtnr,tnr->dnr", self.X, c).T)
        return [U.swapaxes(-1, -2) @ R, self.runs.Z.swapaxes(-1, -2) @ (U @ K)]

    def _paper_move(self, weights):
        a, R = self._scores(*weights)
        parts = self._parts(self.runs.paper_weights(a), R, weights[0])
        if self.rule.decay:
            for p, w in zip(parts, weights):
                p -= 2 * self.rule.decay * w
        return paper_stride(parts, [_norm(p) for p in parts], self.rule), np.zeros(self.batch, dtype=bool)

    def _exact_move(self, weights):
        K, Q = weights
        a, R = self._scores(K, Q)
        c, log_scale = self.runs.exact_weights(a)
        parts = self._parts(c, R, K)
        floors = [CANCELS * self.runs.extent(c) * _norm(w) for w in (Q, K)]
        parts, log_scale, floors = add_decay(parts, log_scale, floors, weights, self.rule)
        sizes = [_norm(p) for p in parts]
        doubtful = [size <= floor for size, floor in zip(sizes, floors)]
        moves = stride(parts, log_scale, sizes, doubtful, self.rule)
        return self._settle(weights, moves, doubtful[0] | doubtful[1])

    def _settle(self, weights, moves, doubtful):
        """The moves, and which runs stand still; doubtful runs are left to the careful `WeightDescent`."""
        stopped = np.zeros(len(doubtful), dtype=bool)
        if doubtful.any():
            careful = WeightDescent(*self.runs.part(doubtful), [w[doubtful] for w in weights], self.rule)
            sure, stopped[doubtful] = careful.move(careful.start)
            for move, part in zip(moves, sure):
                move[doubtful] = part
        return moves, stopped


def _norm(p):
    """||p||_F of moderate numbers, one a run."""
    flat = p.reshape(len(p), -1)
    return np.sqrt(np.einsum("rk,rk->r", flat, flat))
