r"""Weights of the tokens in -grad L for a ReLU head, from the attention scores alone, in the papers' arithmetic.

Hidden unit j of an output is a mixture of those of the tokens, :math:`u_{ij} = \sum_t s_{it} V_j^\top x_{it}`, so
that the score of a token is :math:`\gamma_{it} = Y_i \sum_{j:\, u_{ij} > 0} V_j^\top x_{it}` and the output is the
mean score, as for a linear head. What the tokens give to the hidden units is computed once.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.training.linear import LinearRuns, runs_last

__all__ = ["ReluRuns"]


class ReluRuns(LinearRuns):
    """A block of runs with ReLU heads, V (r, d, p) or (1, d, p): as `LinearRuns`, for the papers' arithmetic only."""

    def __init__(self, X, Z, Y, head, allowed=None):
        super().__init__(X, Z, Y, head, allowed)
        self._units = np.ascontiguousarray((X @ head.V[:, None]).T)  # (p, T, n, r)
        self._labels = runs_last(Y)

    def scores(self, s):
        """gamma_it, shape (T, n, r), at the attention probabilities s."""
        active = np.einsum("ptnr,tnr->pnr", self._units, s) > 0
        return self._labels * np.einsum("ptnr,pnr->tnr", self._units, active.astype(float))
