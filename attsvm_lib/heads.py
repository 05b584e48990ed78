r"""Heads h: R^d -> R, what reads the output of an attention layer. They are fixed; only attention is trained.

Linear :math:`v^\top x`, ReLU :math:`1^\top \mathrm{relu}(V^\top x)` and quadratic :math:`v^\top x - \lambda \|x\|^2`.
A linear head wants one token; the other two may want several at once (arXiv 2308.16898, section 6).
"""

from __future__ import annotations

from itertools import combinations
from typing import Protocol, runtime_checkable

import numpy as np

from attsvm_lib.data import check_data
from attsvm_lib.validation import common_batch, real_array

__all__ = [
    "Head",
    "LinearHead",
    "QuadraticHead",
    "ReluHead",
    "check_head",
    "check_output",
    "hull_projection",
    "optimal_attention",
    "simplex_projection",
]

ORTHONORMAL = 1e-10
"""Largest entry of X_i X_i^T - I for tokens that count as orthonormal."""


@runtime_checkable
class Head(Protocol):
    """What a head h: R^d -> R must offer; its parameters may carry leading batch axes.

    A head with batch axes should also have `batch_shape`, their shape, so that a misfit is named early.

    The rest of the library does not ask what kind of head it is, except where a formula holds for linear
    heads only.
    """

    def value(self, o):
        """h(o) for attention outputs o (..., n, d), shape (..., n)."""

    def gradient(self, o):
        """Gradient of h at o (..., n, d), shape (..., n, d)."""


def check_head(head):
    """Return `head` when it follows the `Head` protocol, or raise ValueError: a vector v is not yet a head."""
    if isinstance(head, type) or not isinstance(head, Head):
        given = head.__name__ if isinstance(head, type) else type(head).__name__
        raise ValueError(f"head must be a head, such as LinearHead(v), got {given}")
    return head


class LinearHead:
    """Linear head h(o) = v^T o.

    Parameters
    ----------
    v : array_like, shape (..., d)
        Weights; leading axes are batch axes.

    Raises
    ------
    ValueError
        When v is not a finite real array with at least one axis.
    """

    def __init__(self, v):
        self.v = real_array("v", v, (..., None), axes="(..., d)")

    @property
    def batch_shape(self):
        """The leading axes: () for one head."""
        return self.v.shape[:-1]

    def __repr__(self):
        return f"LinearHead(d={self.v.shape[-1]})"

    def value(self, o):
        """v^T o, shape (..., n)."""
        check_output(self, o, "v", self.v.shape[-1])
        return (o @ self.v[..., None])[..., 0]

    def gradient(self, o):
        """v for every output, shape (..., n, d)."""
        check_output(self, o, "v", self.v.shape[-1])
        v = self.v[..., None, :]
        return np.broadcast_to(v, np.broadcast_shapes(o.shape, v.shape))


class ReluHead:
    """One hidden layer, h(o) = 1^T relu(V^T o) = sum_j max(0, V_j^T o) over the columns V_j.

    Parameters
    ----------
    V : array_like, shape (..., d, p)
        Weights of p hidden units; leading axes are batch axes.

    Raises
    ------
    ValueError
        When V is not a finite real array with at least two axes.

    Notes
    -----
    Source: arXiv 2308.16898, section 6 (experiment: p = d, V Gaussian of Frobenius norm 1).
    """

    def __init__(self, V):
        self.V = real_array("V", V, (..., None, None), axes="(..., d, p)")

    @property
    def batch_shape(self):
        """The leading axes: () for one head."""
        return self.V.shape[:-2]

    def __repr__(self):
        return f"ReluHead(d={self.V.shape[-2]}, p={self.V.shape[-1]})"

    def value(self, o):
        """sum_j max(0, V_j^T o), shape (..., n)."""
        check_output(self, o, "V", self.V.shape[-2])
        return np.maximum(o @ self.V, 0.0).sum(-1)

    def gradient(self, o):
        """Sum of the columns V_j with V_j^T o > 0 (at the kink V_j^T o = 0 the left slope, 0), shape (..., n, d)."""
        check_output(self, o, "V", self.V.shape[-2])
        active = (o @ self.V > 0).astype(float)
        return active @ self.V.swapaxes(-1, -2)


class QuadraticHead:
    """Quadratic head h(o) = v^T o - lam ||o||^2.

    Parameters
    ----------
    v : array_like, shape (..., d)
        Linear part; leading axes are batch axes.
    lam : array_like, shape (...)
        Curvature, at least 0; its axes broadcast against the batch axes of v.

    Raises
    ------
    ValueError
        When v or lam is not finite, lam is negative, or their batch axes do not fit.

    Notes
    -----
    Source: arXiv 2308.16898, section 6, Lemma 6.
    """

    def __init__(self, v, lam):
        self.v = real_array("v", v, (..., None), axes="(..., d)")
        self.lam = real_array("lam", lam)
        if (self.lam < 0).any():
            raise ValueError(f"lam must be at least 0, got {self.lam.min():g}")
        self.batch_shape = common_batch({"v": self.v.shape[:-1], "lam": self.lam.shape})

    def __repr__(self):
        return f"QuadraticHead(d={self.v.shape[-1]})"

    def value(self, o):
        """v^T o - lam ||o||^2, shape (..., n)."""
        check_output(self, o, "v", self.v.shape[-1])
        return (o @ self.v[..., None])[..., 0] - self.lam[..., None] * (o * o).sum(-1)

    def gradient(self, o):
        """v - 2 lam o, shape (..., n, d)."""
        check_output(self, o, "v", self.v.shape[-1])
        return self.v[..., None, :] - 2 * self.lam[..., None, None] * o


def check_output(head, o, name, d):
    """Raise ValueError when outputs o (..., n, d) do not fit a head's parameter of that name and length."""
    if o.shape[-1] != d:
        raise ValueError(f"{name} must have the length of a token, d = {o.shape[-1]}, got {d}")
    common_batch({name: head.batch_shape, "o": o.shape[:-2]})


def simplex_projection(y):
    r"""Euclidean projection on the probability simplex along the last axis, also called sparsemax.

    .. math:: \arg\min_{s \ge 0,\ 1^\top s = 1} \|s - y\|^2 = \max(y - \tau, 0),

    with the threshold tau that makes the sum 1.

    Parameters
    ----------
    y : array_like, shape (..., T)

    Returns
    -------
    array, shape (..., T)
        At least 0, with sum 1 along the last axis, and exact zeros.

    Notes
    -----
    Source: Martins and Astudillo 2016 (sparsemax); by sorting, exact.
    """
    y = real_array("y", y, (..., None), axes="(..., T)")
    y = y - y.max(-1, keepdims=True)
    down = -np.sort(-y, axis=-1)
    count = np.arange(1, y.shape[-1] + 1)
    tau = (down.cumsum(-1) - 1) / count
    last = (down > tau).sum(-1, keepdims=True) - 1
    return np.maximum(y - np.take_along_axis(tau, last, -1), 0.0)


def hull_projection(X, u):
    r"""Point of the convex hull of tokens nearest to u, as probabilities: what a quadratic head wants of any tokens.

    .. math:: v^\top o - \lambda \|o\|^2 = \lambda \|u\|^2 - \lambda \|o - u\|^2 ,\qquad u = v / (2\lambda),

    so that the best output is the point :math:`o = X^\top s` of the hull nearest to u, and the tokens to keep are the
    vertices of the face that it lies in.

    Parameters
    ----------
    X : array_like, shape (T, d)
        Tokens, at most 12 (all subsets are tried).
    u : array_like, shape (d,)

    Returns
    -------
    array, shape (T,)
        Probabilities s, with as few positive ones as possible; unique for affinely independent tokens.

    Raises
    ------
    ValueError
        When an argument does not fit, or there are more than 12 tokens.
    """
    X = real_array("X", X, (None, None), axes="(T, d)")
    u = real_array("u", u, (X.shape[1],))
    if len(X) > 12:
        raise ValueError(f"X must have at most 12 tokens, got {len(X)}")
    faces = [list(S) for k in range(1, len(X) + 1) for S in combinations(range(len(X)), k)]
    corners = [(S, _affine_projection(X[S], u)) for S in faces]
    inside = [(S, s) for S, s in corners if s.min() >= 0]
    distances = np.array([np.linalg.norm(s @ X[S] - u) for S, s in inside])
    # a larger face counts as nearer only beyond rounding
    S, s = inside[int(np.argmax(distances <= distances.min() + 1e-12 * (1 + np.abs(X).max())))]
    out = np.zeros(len(X))
    out[S] = s / s.sum()
    return out


def _affine_projection(X, u):
    """Weights, of sum 1 and any sign, of the point nearest to u in the plane through the tokens."""
    t = np.linalg.lstsq((X[1:] - X[0]).T, u - X[0], rcond=None)[0] if len(X) > 1 else np.zeros(0)
    return np.concatenate([[1 - t.sum()], t])


def optimal_attention(data, head):
    r"""Attention that minimizes the risk over all probability vectors, for orthonormal tokens and a quadratic head.

    With :math:`X_i X_i^\top = I` the output :math:`X_i^\top s` gives
    :math:`h = (X_i v)^\top s - \lambda \|s\|^2`. For Y_i = +1 its maximum is the projection of
    :math:`X_i v / (2 \lambda)` on the simplex, for Y_i = -1 its minimum is the vertex of least :math:`x_{it}^\top v`.

    Parameters
    ----------
    data : TokenData
        Orthonormal tokens in each sequence; batch axes allowed.
    head : QuadraticHead
        lam > 0.

    Returns
    -------
    array, shape (..., n, T)
        Probabilities; the positive ones are the tokens to keep.

    Raises
    ------
    ValueError
        When tokens are not orthonormal (to 1e-10) or masked, the head is of another kind or lam = 0, or batch axes do
        not fit.

    Notes
    -----
    Source: arXiv 2308.16898, section 6, Lemma 6.
    """
    X = check_data(data).X
    if not isinstance(head, QuadraticHead) or not (head.lam > 0).all():
        raise ValueError(f"head must be a QuadraticHead with lam > 0, got {head!r}")
    common_batch({"data": data.batch_shape, "head": head.batch_shape})
    if data.allowed is not None:
        raise ValueError("data must have no mask: the closed form is for attention over all tokens")
    if np.abs(X @ X.swapaxes(-1, -2) - np.eye(data.T)).max() > ORTHONORMAL:
        raise ValueError("data must have orthonormal tokens in each sequence, X_i X_i^T = I")
    scores = (X @ head.v[..., None, :, None])[..., 0]
    best = simplex_projection(scores / (2 * head.lam[..., None, None]))
    vertex = np.arange(data.T) == scores.argmin(-1)[..., None]
    return np.where(data.Y[..., None] > 0, best, vertex)
