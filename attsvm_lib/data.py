"""Token sequences, queries and labels: the data of one attention layer.

A data set holds n sequences. Sequence i has T tokens x_i1 .. x_iT in R^d (the rows of X_i), one query z_i
in R^d and one label Y_i in {-1, +1}. In cross-attention z_i is free, in self-attention it is a token of the
sequence, by convention z_i = x_i1 (arXiv 2308.16898, section 1). A mask may forbid query i some of the tokens, as in
causal attention (`attsvm_lib.sequences`). Leading batch axes hold independent data sets.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.validation import batch_axes, boolean_array, choice, generator, integer, real_array

__all__ = ["TokenData", "check_data", "random_data", "random_direction"]


@dataclass(frozen=True, eq=False, repr=False)
class TokenData:
    """Validated, immutable data set (X, Z, Y) of one attention layer.

    Parameters
    ----------
    X : array_like, shape (..., n, T, d)
        Tokens: `X[..., i, t, :]` is x_it.
    Z : array_like, shape (..., n, d)
        Queries: `Z[..., i, :]` is z_i.
    Y : array_like, shape (..., n)
        Labels, each -1 or +1.
    allowed : array_like of bool, shape (..., n, T), optional
        Which tokens query z_i may attend to, by default all.

    Raises
    ------
    ValueError
        When a shape does not fit, an entry is not finite, a label is neither -1 nor +1, or a query may attend to no
        token.

    Notes
    -----
    Arrays are stored as read-only float64 copies. Source: arXiv 2308.16898, section 1.
    """

    X: np.ndarray
    Z: np.ndarray
    Y: np.ndarray
    allowed: np.ndarray | None = None

    def __post_init__(self):
        X = real_array("X", self.X, (..., None, None, None), axes="(..., n, T, d)")
        *batch, n, T, d = X.shape
        Z = real_array("Z", self.Z, (*batch, n, d))
        Y = real_array("Y", self.Y, (*batch, n))
        bad = np.abs(Y) != 1
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            raise ValueError(f"Y must hold labels -1 or +1, got {Y[where]:g} at index {where}")
        allowed = None if self.allowed is None else boolean_array("allowed", self.allowed, (*batch, n, T))
        if allowed is not None and not allowed.any(-1).all():
            where = tuple(int(i) for i in np.argwhere(~allowed.any(-1))[0])
            raise ValueError(f"allowed must leave each query at least one token, got none at index {where}")
        for name, value in (("X", X), ("Z", Z), ("Y", Y), ("allowed", allowed)):
            object.__setattr__(self, name, value)

    @property
    def batch_shape(self):
        """The leading axes: () for one data set."""
        return self.X.shape[:-3]

    @property
    def n(self):
        """Number of sequences."""
        return self.X.shape[-3]

    @property
    def T(self):
        """Tokens per sequence."""
        return self.X.shape[-2]

    @property
    def d(self):
        """Dimension of tokens and queries."""
        return self.X.shape[-1]

    def __repr__(self):
        batch = f"batch={self.batch_shape}, " if self.batch_shape else ""
        masked = "" if self.allowed is None else ", masked"
        return f"TokenData({batch}n={self.n}, T={self.T}, d={self.d}{masked})"


def check_data(data):
    """Return `data` when it is a `TokenData`, or raise ValueError: the check of every function that takes data."""
    if not isinstance(data, TokenData):
        raise ValueError(f"data must be a TokenData, got {type(data).__name__}")
    return data


def random_direction(d, *, rng, batch=()):
    """Draw unit vectors uniformly on the sphere of R^d.

    Parameters
    ----------
    d : int
        Dimension, at least 1.
    rng : numpy.random.Generator
    batch : tuple of int
        Leading axes.

    Returns
    -------
    array, shape (*batch, d)
        Normalized Gaussian vectors.
    """
    d = integer("d", d, 1)
    v = generator("rng", rng).standard_normal((*batch_axes("batch", batch), d))
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def random_data(n, T, d, *, rng, batch=(), attention="cross", law="sphere", labels="random"):
    """Draw the random data sets of the papers' experiments.

    Parameters
    ----------
    n, T, d : int
        Sequences, tokens per sequence, dimension; each at least 1.
    rng : numpy.random.Generator
    batch : tuple of int
        Leading axes: that many independent data sets.
    attention : {"cross", "self"}
        Free queries, or z_i = x_i1.
    law : {"sphere", "gaussian"}
        Tokens and queries uniform on the unit sphere, or standard normal.
    labels : {"random", "positive"}
        Fair signs, or all +1.

    Returns
    -------
    TokenData

    Notes
    -----
    Unit-norm tokens, queries and head are the setting of the experiments of arXiv 2308.16898.
    """
    n, T, d = integer("n", n, 1), integer("T", T, 1), integer("d", d, 1)
    generator("rng", rng)
    batch = batch_axes("batch", batch)
    choice("attention", attention, ("cross", "self"))
    choice("law", law, ("sphere", "gaussian"))
    choice("labels", labels, ("random", "positive"))
    tokens = rng.standard_normal((*batch, n, T + 1, d))
    if law == "sphere":
        tokens /= np.linalg.norm(tokens, axis=-1, keepdims=True)
    X = tokens[..., :T, :]
    Z = X[..., 0, :] if attention == "self" else tokens[..., T, :]
    Y = rng.choice([-1.0, 1.0], size=(*batch, n)) if labels == "random" else np.ones((*batch, n))
    return TokenData(X, Z, Y)
