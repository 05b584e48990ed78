r"""Sequential prediction: each position of a sequence is a query and has a loss of its own.

Position j of sequence i attends from the query x_ij, under a causal mask to the tokens t <= j only:

.. math::
    f_{ij} = h_j\bigl(X_i^\top \mathrm{softmax}(X_i W x_{ij} + \text{mask}_j)\bigr),\qquad
    L(W) = \frac{1}{nT} \sum_{ij} \log(1 + e^{-Y_{ij} f_{ij}}) .

This is cross-attention with n T queries, in which a masked token has score -inf. So `sequence_data` makes a
`TokenData` of n T samples, query (i, j) at place i T + j, and training, regularization path and solvers take it as any
other. Source: arXiv 2308.16898, section 7.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.data import TokenData
from attsvm_lib.heads import LinearHead, check_output
from attsvm_lib.validation import real_array

__all__ = ["PositionHead", "sequence_data"]


def sequence_data(X, Y, *, causal=True):
    """The n T queries of n sequences, as one data set.

    Parameters
    ----------
    X : array_like, shape (..., n, T, d)
        Tokens; leading axes are batch axes.
    Y : array_like, shape (..., n) or (..., n, T)
        Labels, -1 or +1: one per sequence, shared by its positions, or one per position.
    causal : bool
        Whether position j may attend to the tokens 0..j only, or to all.

    Returns
    -------
    TokenData
        n T samples of T tokens, ordered by sequence, then position: reshape an axis of n T to (n, T) to read it. The
        first position of a causal sequence sees itself only, so its loss is constant.

    Raises
    ------
    ValueError
        When an argument does not fit.
    """
    X = real_array("X", X, (..., None, None, None), axes="(..., n, T, d)")
    *batch, n, T, d = X.shape
    if not isinstance(causal, (bool, np.bool_)):
        raise ValueError(f"causal must be True or False, got {causal!r}")
    shared = np.ndim(Y) == X.ndim - 2
    Y = real_array("Y", Y, (*batch, n) if shared else (*batch, n, T))
    labels = np.broadcast_to(Y[..., None] if shared else Y, (*batch, n, T)).reshape(*batch, n * T)
    tokens = np.repeat(X, T, axis=-3)
    allowed = np.broadcast_to(np.tile(np.tri(T, dtype=bool), (n, 1)), tokens.shape[:-1]) if causal else None
    return TokenData(tokens, X.reshape(*batch, n * T, d), labels, allowed)


class PositionHead(LinearHead):
    """One linear head per position, h_j(o) = v_j^T o, for the data of `sequence_data`.

    Parameters
    ----------
    v : array_like, shape (..., T, d)
        Weights v_j; leading axes are batch axes.

    Raises
    ------
    ValueError
        When v is not a finite real array with at least two axes. The methods raise when the outputs are not those of
        whole sequences.
    """

    def __init__(self, v):
        self.v = real_array("v", v, (..., None, None), axes="(..., T, d)")

    @property
    def batch_shape(self):
        """The leading axes: () for one head per position."""
        return self.v.shape[:-2]

    def __repr__(self):
        return f"PositionHead(T={self.v.shape[-2]}, d={self.v.shape[-1]})"

    def value(self, o):
        """v_j^T o_ij, shape (..., n T)."""
        return (o * self.gradient(o)).sum(-1)

    def gradient(self, o):
        """v_j for every output, shape (..., n T, d)."""
        check_output(self, o, "v", self.v.shape[-1])
        T = self.v.shape[-2]
        if o.shape[-2] % T:
            raise ValueError(f"v must have one row for each position, but {o.shape[-2]} queries are no multiple of {T}")
        v = np.tile(self.v, (o.shape[-2] // T, 1))
        return np.broadcast_to(v, np.broadcast_shapes(o.shape, v.shape))
