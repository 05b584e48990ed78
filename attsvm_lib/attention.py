r"""One attention layer with one query: forward pass, risk and its gradients, exact at every saturation.

.. math::
    a_{it} = x_{it}^\top W z_i,\quad s_i = \mathrm{softmax}(a_i),\quad f_i = h(X_i^\top s_i),\quad
    L(W) = \frac1n \sum_i \log(1 + e^{-Y_i f_i}).

With g_i the gradient of the head at X_i^T s_i and w_it = -l'(Y_i f_i) s_it / n, descent moves W along

.. math::
    -\nabla L(W) = \sum_{it} c_{it}\, x_{it} z_i^\top,\qquad
    c_{it} = w_{it}\, \Bigl(\delta_{it} - \sum_u s_{iu} \delta_{iu}\Bigr),\qquad
    \delta_{it} = Y_i (x_{it} - x_{ir})^\top g_i ,

where r is the token of largest attention. Measuring against r, and not against the mean, is what keeps the
direction accurate once the softmax is one-hot in floating point; the usual form then subtracts equal numbers.
Source: arXiv 2308.16898, sections 1 and 2 (model and risk); a linear head has g_i = v.

Leading axes of the data, the head and W are batch axes and broadcast against each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.data import check_data
from attsvm_lib.heads import Head, LinearHead, check_head
from attsvm_lib.validation import bounded, common_batch, not_a_pair, real_array

__all__ = [
    "Direction",
    "Head",
    "LinearHead",
    "attention_probabilities",
    "attention_scores",
    "descent_direction",
    "gradient",
    "gradient_kq",
    "log_softmax",
    "loss",
    "output",
    "softmax",
]

EPS = np.finfo(np.float64).eps


def log_softmax(a, axis=-1):
    """Logarithm of the softmax, a - log sum exp(a), without overflow; arguments and errors as `softmax`."""
    a = _below_zero(a, axis)
    return a - np.log(np.exp(a).sum(axis=axis, keepdims=True))


def softmax(a, axis=-1):
    """Softmax exp(a) / sum exp(a) along `axis`, without overflow.

    Entries may be -inf (masked). ValueError for NaN, +inf, or where all entries along the axis are masked.
    """
    a = np.exp(_below_zero(a, axis))
    return a / a.sum(axis=axis, keepdims=True)


def _below_zero(a, axis):
    """a minus its maximum along `axis`, which must be finite."""
    top = np.max(a, axis=axis, keepdims=True)
    if not np.isfinite(top).all():
        bad = top[~np.isfinite(top)][0]
        raise ValueError(f"a must be finite or -inf, with a finite entry along axis {axis}, got a maximum of {bad}")
    return a - top


class Direction(NamedTuple):
    """A descent direction, its length kept apart so that neither can underflow.

    Attributes
    ----------
    unit : array, shape (..., d, d)
        -grad L / ||grad L||_F, or 0 where `is_zero`.
    log_norm : array, shape (...)
        log ||grad L||_F, or -inf where `is_zero`.
    is_zero : array of bool, shape (...)
        Whether the gradient is zero, or too small to be told from its own rounding error.
    """

    unit: np.ndarray
    log_norm: np.ndarray
    is_zero: np.ndarray


def attention_scores(data, W):
    """Attention scores a_it = x_it^T W z_i (before the softmax), -inf where query i may not attend to token t.

    Parameters
    ----------
    data : TokenData
    W : array_like, shape (..., d, d)
        Key-query matrix, W = K Q^T; leading axes broadcast against the data's.

    Returns
    -------
    array, shape (..., n, T)

    Raises
    ------
    ValueError
        When W is not finite or does not fit the data.
    FloatingPointError
        When a score overflows.
    """
    return token_scores(data, _matrix("W", W, data, check_data(data).d))


def attention_probabilities(data, W):
    """Attention probabilities softmax(X_i W z_i), shape (..., n, T); arguments as `attention_scores`."""
    return softmax(attention_scores(data, W))


def output(data, head, W):
    """Model output f_i = h(X_i^T softmax(X_i W z_i)).

    Parameters
    ----------
    data : TokenData
    head : Head
    W : array_like, shape (..., d, d)

    Returns
    -------
    array, shape (..., n)

    Raises
    ------
    ValueError
        When W or the head does not fit the data.
    FloatingPointError
        When the attention scores or the output overflow.
    """
    W = _weights(data, head, W)
    return _value(head, _mix(softmax(token_scores(data, W)), data.X))


def loss(data, head, W):
    """Empirical logistic risk L(W) = (1/n) sum_i log(1 + exp(-Y_i f_i)); arguments and errors as `output`.

    Returns
    -------
    array or float, shape (...)
        Accurate for every sign and size of Y_i f_i; for L - inf L see `attsvm_lib.excess`.
    """
    f = output(data, head, W)
    return np.logaddexp(0.0, -data.Y * f).mean(-1)


def gradient(data, head, W):
    """Gradient dL/dW of the risk; arguments and errors as `output`.

    Returns
    -------
    array, shape (..., d, d)
        Relatively accurate until the gradient itself underflows (below 1e-308); `descent_direction` gives its
        direction beyond. A gradient too large for a double raises FloatingPointError.
    """
    step = descent_direction(data, head, W)
    with np.errstate(over="ignore", invalid="ignore"):
        return bounded("the entries of the gradient", -np.exp(step.log_norm)[..., None, None] * step.unit)


def gradient_kq(data, head, K, Q):
    """Gradients (dL/dK, dL/dQ) of the risk at W = K Q^T, with G = dL/dW: dL/dK = G Q and dL/dQ = G^T K.

    Parameters
    ----------
    data : TokenData
    head : Head
    K, Q : array_like, shape (..., d, m)
        Key and query weights of width m.

    Returns
    -------
    tuple of two arrays, each of shape (..., d, m)

    Raises
    ------
    ValueError
        When K, Q or the head does not fit the data, or K and Q differ in width.
    FloatingPointError
        When K Q^T, the attention scores, the output or a gradient overflow.
    """
    check_head(head)
    K = _matrix("K", K, data, None)
    Q = _matrix("Q", Q, data, K.shape[-1])
    _common_batch(data, head, {"K": K.shape[:-2], "Q": Q.shape[:-2]})
    G = gradient(data, head, product(K, Q))
    with np.errstate(over="ignore", invalid="ignore"):
        parts = G @ Q, G.swapaxes(-1, -2) @ K
    return tuple(bounded("the entries of the gradient", part) for part in parts)


def product(K, Q):
    """W = K Q^T of validated factors, shape (..., d, d); an overflow raises FloatingPointError."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bounded("the entries of K Q^T", K @ Q.swapaxes(-1, -2))


def descent_direction(data, head, W):
    """Direction of steepest descent, -dL/dW scaled to unit Frobenius norm, accurate at every saturation.

    Parameters
    ----------
    data : TokenData
    head : Head
    W : array_like, shape (..., d, d)

    Returns
    -------
    Direction
        `.unit` (..., d, d), `.log_norm` (...), `.is_zero` (...). A gradient that is zero up to rounding is
        reported by `.is_zero` and never divided.

    Raises
    ------
    ValueError
        When W or the head does not fit the data.
    FloatingPointError
        When the attention scores, the output or the scores of the tokens overflow.

    Notes
    -----
    The weights w_it are kept as logarithms and scaled by their largest contribution before they are
    exponentiated, so that nothing is lost at margins of hundreds, where all softmax entries but one
    underflow.
    """
    W = _weights(data, head, W)
    return SteepestDescent(data, head).at(W)


class SteepestDescent:
    """`descent_direction` of one problem at many W: what does not depend on W is computed once, nothing is checked."""

    def __init__(self, data, head):
        self.data, self.head = data, head
        self.token_error = _size(EPS * data.X).max(-1)
        (self.X, x_exponent), (self.Z, z_exponent) = _unit_scale(data.X, 3), _unit_scale(data.Z, 2)
        self.log_unit = (x_exponent + z_exponent) * np.log(2.0)
        self.sizes = _size(self.X).max(-1), _size(self.Z)
        self.log_n = np.log(data.n)

    def at(self, W):
        """The `Direction` at W (..., d, d)."""
        c, noise, log_scale = self._coefficients(W)
        G = _mix(c, self.X).swapaxes(-1, -2) @ self.Z
        length = frobenius(G)[..., None, None]
        x_size, z_size = self.sizes
        bound = (self.data.d * noise * x_size * z_size).sum(-1)
        is_zero = length[..., 0, 0] <= bound
        safe = np.where(is_zero[..., None, None], 1.0, length)
        unit = np.where(is_zero[..., None, None], 0.0, G / safe)
        log_norm = np.where(is_zero, -np.inf, log_scale + self.log_unit + np.log(safe[..., 0, 0]))
        return Direction(unit, log_norm[()], is_zero[()])

    def _coefficients(self, W):
        """c_it of the module's formula divided by exp(log_scale), and the relative rounding of sum_t c_it x_it.

        Shapes (..., n, T), (..., n) and (...); the rounding is in units of d times the largest token.
        """
        data, head = self.data, self.head
        a = token_scores(data, W)
        log_s = log_softmax(a)
        s = np.exp(log_s)
        o = _mix(s, data.X)
        with np.errstate(over="ignore", invalid="ignore"):
            g = head.gradient(o)
        delta, error = self._relative_scores(g, s.argmax(-1))
        log_slope = -np.logaddexp(0.0, data.Y * _value(head, o)) - self.log_n
        size = np.abs(delta)
        log_delta = np.log(size, out=np.full(delta.shape, -np.inf), where=delta != 0)
        # the slope of a wrong output of 1e20 is about -1e20 in logarithm: added to log_s it would swallow it
        log_pull = log_s + log_delta
        top = log_pull.max(-1, keepdims=True)
        log_size = log_slope[..., None] + top
        log_scale = log_size.max((-2, -1), keepdims=True)
        top, log_scale = (np.where(np.isfinite(u), u, 0.0) for u in (top, log_scale))
        pull = np.exp(log_pull - top) * np.exp(log_size - log_scale)
        relative = np.divide(error[..., None], size, out=np.zeros(delta.shape), where=delta != 0)
        doubt = (pull * relative).sum(-1)
        pull *= np.sign(delta)
        c = pull - s * pull.sum(-1, keepdims=True)
        seen = a if data.allowed is None else np.where(data.allowed, a, 0.0)
        noise = (np.abs(c) + np.abs(pull)).sum(-1) * (1.0 + np.abs(seen).max(-1)) * EPS + 2 * doubt
        return c, noise, log_scale[..., 0, 0]

    def _relative_scores(self, g, r):
        """delta_it = Y_i (x_it - x_ir)^T g_i, zero where rounding swallows it, and its rounding error over d."""
        with np.errstate(over="ignore", invalid="ignore"):
            gamma = bounded("the scores x^T grad h of the tokens", (self.data.X @ g[..., None])[..., 0])
        r = np.broadcast_to(r, gamma.shape[:-1])[..., None]
        delta = gamma - np.take_along_axis(gamma, r, -1)
        error = 2 * self.token_error * frobenius(g[..., None, :])
        lost = np.abs(delta) <= self.data.d * error[..., None]
        return np.where(lost, 0.0, self.data.Y[..., None] * delta), error


def frobenius(M):
    """||M||_F over the last two axes, shape (...), without overflow or underflow of the squares."""
    peak = np.abs(M).max((-2, -1), keepdims=True)
    unit = M / np.where(peak > 0, peak, 1.0)
    return np.sqrt((unit * unit).sum((-2, -1))) * peak[..., 0, 0]


def _size(x):
    """Upper bound of the Euclidean norm over the last axis that cannot underflow."""
    return np.abs(x).max(-1) * np.sqrt(x.shape[-1])


def _unit_scale(x, axes):
    """x divided by the power of two above its largest entry over the last `axes` axes (exact), and the exponent."""
    last = tuple(range(-axes, 0))
    exponent = np.frexp(np.abs(x).max(last, keepdims=True))[1]
    return np.ldexp(x, -exponent), exponent.squeeze(last)


def token_scores(data, W):
    """`attention_scores` of a W that has been checked."""
    with np.errstate(over="ignore", invalid="ignore"):
        a = (data.X @ (data.Z @ W.swapaxes(-1, -2))[..., None])[..., 0]
    a = bounded("the attention scores x^T W z", a)
    return a if data.allowed is None else np.where(data.allowed, a, -np.inf)


def _value(head, o):
    with np.errstate(over="ignore", invalid="ignore"):
        return bounded("the outputs h(o) of the head", head.value(o))


def _mix(weights, X):
    """sum_t weights_it x_it, shape (..., n, d)."""
    return (weights[..., None, :] @ X)[..., 0, :]


def _weights(data, head, W):
    """Validate W (..., d, d) against data and head."""
    check_head(head)
    W = _matrix("W", W, data, check_data(data).d)
    _common_batch(data, head, {"W": W.shape[:-2]})
    return W


def _common_batch(data, head, shapes):
    return common_batch({**shapes, "data": data.batch_shape, "head": getattr(head, "batch_shape", ())})


def _matrix(name, value, data, columns):
    """Validate a (..., d, columns) weight matrix whose batch axes must broadcast against the data's."""
    check_data(data)
    not_a_pair(name, value, "for factors K and Q pass K @ Q.T, for a batch np.stack")
    axes = f"(..., {data.d}, {'m' if columns is None else columns})"
    value = real_array(name, value, (..., data.d, columns), axes=axes)
    common_batch({name: value.shape[:-2], "data": data.batch_shape})
    return value
