r"""The velocity of tokens on the sphere, self-attention (SA) and its unnormalized variant (USA).

.. math::
    \dot x_i = P_{x_i}\Bigl(\frac1{Z_i} \sum_j m_j e^{\beta\langle Q x_i, K x_j\rangle} V x_j\Bigr),\qquad
    P_x y = y - \langle x, y\rangle x,

with Z_i = sum_j m_j exp(beta <Q x_i, K x_j>) for SA and Z_i = 1 for USA; the masses m_j are 1/n unless tokens
have merged. USA is computed in the time s = t exp(beta), in which its weights exp(beta (<Q x_i, K x_j> - 1)) are at
most 1 for Q = K = I. Source: arXiv 2312.10794, (SA) and (USA).
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.validation import choice, positive, real_array

__all__ = ["Flow", "check_start", "scores_matrix", "velocity"]

OFF_SPHERE = 1e-6
"""A start may differ from unit norm by this much; nothing is renormalized silently."""

LARGEST_BETA = 1e30
"""A larger inverse temperature overflows in float32; nothing has moved for long then."""


def velocity(x, *, beta, model="sa", Q=None, K=None, V=None):
    """Velocity dx_i/dt of every token.

    Parameters
    ----------
    x : array_like, shape (..., n, d)
        Tokens on the unit sphere, to 1e-6.
    beta : float
        Inverse temperature, at least 0.
    model : {"sa", "usa"}
    Q, K : array_like, shape (m, d), optional
        Query and key matrices; None stands for the identity.
    V : array_like, shape (d, d), optional
        Value matrix; None stands for the identity.

    Returns
    -------
    array, shape (..., n, d)
        Tangent to the sphere, in the dtype of x (float32 or float64), per unit of the papers' time t.

    Raises
    ------
    ValueError
        When an argument does not fit.
    FloatingPointError
        When the velocity overflows: exp(beta) for USA beyond beta = 709.

    Notes
    -----
    Source: arXiv 2312.10794, (SA) and (USA).
    """
    x = check_start("x", x)
    flow = Flow(x.shape[-1], beta=beta, model=model, Q=Q, K=K, V=V)
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite("the velocity", flow.field(x) * x.dtype.type(flow.rate), flow.beta)


def check_start(name, x0):
    """Return tokens as a finite array (..., n, d), float32 when they were, or raise ValueError off the unit sphere."""
    dtype = np.float32 if getattr(x0, "dtype", None) == np.float32 else np.float64
    x = real_array(name, x0, (..., None, None), axes="(..., n, d)")
    with np.errstate(over="ignore"):
        off = np.abs(np.linalg.norm(x, axis=-1) - 1)
    if (off > OFF_SPHERE).any():
        where = tuple(int(i) for i in np.unravel_index(off.argmax(), off.shape))
        raise ValueError(
            f"{name} must hold unit vectors, got norm {np.linalg.norm(x[where]):.8g} at index {where}; "
            f"divide by np.linalg.norm({name}, axis=-1, keepdims=True) if that is meant"
        )
    return x.astype(dtype)


class Flow:
    """The vector field on tokens, in the time in which it is integrated: t for SA, s = t exp(beta) for USA.

    Parameters are those of `velocity`; d is the dimension of the tokens.
    """

    def __init__(self, d, *, beta, model, Q=None, K=None, V=None):
        self.beta = positive("beta", beta, zero=True)
        if self.beta > LARGEST_BETA:
            raise ValueError(f"beta must be at most {LARGEST_BETA:g}, got {self.beta:g}")
        self.model = choice("model", model, ("sa", "usa"))
        self.B, self.V = scores_matrix(Q, K, d), V if V is None else real_array("V", V, (d, d)).T
        self.attracts = self.B is None and V is None

    @property
    def rate(self):
        """ds/dt: exp(beta) for USA (inf when that overflows), 1 for SA."""
        with np.errstate(over="ignore"):
            return np.exp(self.beta) if self.model == "usa" else 1.0

    def inner_times(self, times):
        """The papers' times in the time of integration; FloatingPointError when s = t exp(beta) overflows."""
        half = np.exp(min(self.beta / 2, 700.0)) if self.model == "usa" else 1.0
        with np.errstate(over="ignore"):
            inner = half * times * half
        if self.model == "usa" and not (np.isfinite(inner).all() and (self.beta <= 1400 or not times.any())):
            raise FloatingPointError(f"t exp(beta) overflows at t = {times[-1]:g}, beta = {self.beta:g}: shorten times")
        return inner

    def normalize(self, y):
        """Every token back on the sphere."""
        return y / np.sqrt(np.vecdot(y, y))[..., None]

    def field(self, y, masses=None):
        """Velocity at y / |y|, shape (..., n, d), for masses (n,), 1/n by default.

        Constant along rays: a solver with coordinates would otherwise keep small steps for ever, because of a
        decay of the norms at rate 2 that is no part of the flow.
        """
        x = self.normalize(y)
        weights = self.exponentials(self._keys(x) @ x.swapaxes(-1, -2))
        total = self.normalizer(weights, masses)
        carried = x if self.V is None else x @ self.V.astype(x.dtype, copy=False)
        pull = weights @ (carried if masses is None else masses[:, None] * carried)
        pull -= np.vecdot(pull, x)[..., None] * x
        pull /= total
        return pull

    def exponentials(self, scores):
        """Turn scores beta <Q x_i, K x_j> into exp(score - shift) in place and return them.

        The shift is beta in USA and for Q = K = I, whose largest score it is, else the largest score of a row.
        """
        row_shift = self.B is not None and self.model == "sa"
        scores -= scores.max(-1, keepdims=True) if row_shift else scores.dtype.type(self.beta)
        if self.B is None:
            return np.exp(scores, out=scores)
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite("exp(beta (<Qx, Ky> - 1))", np.exp(scores, out=scores), self.beta)

    def normalizer(self, weights, masses):
        """Z_i in units of exp(shift), shape (..., n, 1), or the constant n of USA; with V = I it clears the diagonal.

        A token does not pull itself, P_x x = 0. Leaving it out keeps the pull of others, which may be exp(-2 beta),
        from being lost in the rounding of a weight of 1.
        """
        n = weights.shape[-1]
        if self.model == "sa":  # a matrix product, for NumPy sums short rows slowly
            total = weights @ (np.ones((n, 1), weights.dtype) if masses is None else masses[:, None])
        else:
            total = weights.dtype.type(n if masses is None else 1)
        if self.V is None:
            weights.reshape(*weights.shape[:-2], n * n)[..., :: n + 1] = 0
        return total

    def gram(self, y):
        """Inner products of all pairs of tokens on the sphere."""
        return y @ y.swapaxes(-1, -2)

    def approach(self, y, slope, i, j):
        """Squared distances of tokens i and j, and half the rates at which these change."""
        gap = y[i] - y[j]
        return np.vecdot(gap, gap), np.vecdot(gap, slope[i] - slope[j])

    def combine(self, mix, y):
        """Tokens replaced by the normalized mixtures mix @ y."""
        return self.normalize(mix @ y)

    def expand(self, y, label):
        """All tokens, from one row for each merged group."""
        return y[label]

    def _keys(self, x):
        """beta B^T x_i: the scores are these times the tokens."""
        if self.B is None:
            return x.dtype.type(self.beta) * x
        with np.errstate(over="ignore", invalid="ignore"):
            return _finite("a score beta <Qx, Ky>", x @ (self.beta * self.B).astype(x.dtype, copy=False), self.beta)


def scores_matrix(Q, K, d):
    """B with <Qx, Ky> = x^T B y, or None for the identity."""
    if Q is None and K is None:
        return None
    Q, K = (np.eye(d) if M is None else real_array(name, M, (None, d)) for name, M in (("Q", Q), ("K", K)))
    if len(Q) != len(K):
        raise ValueError(f"Q and K must have equally many rows, got {len(Q)} and {len(K)}")
    with np.errstate(over="ignore", invalid="ignore"):
        return _finite("an entry of Q^T K", Q.T @ K)


def _finite(what, array, beta=None):
    if not np.isfinite(array).all():
        raise FloatingPointError(f"{what} overflows" + ("" if beta is None else f" at beta = {beta:g}"))
    return array
