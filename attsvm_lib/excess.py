r"""The risk above its infimum, L(W) - L_*, and its logarithm, without cancellation (linear head).

With the optimal token of each sequence, gamma*_i = max_t gamma_it, the risk tends to
L_* = (1/n) sum_i log(1 + exp(-gamma*_i)) and never reaches it. Subtracting the two is useless once they agree
to 16 digits, which happens at margins of about 35. Instead, with sigma the logistic function,

.. math::
    \delta_i = \sum_t s_{it} (\gamma^*_i - \gamma_{it}),\qquad
    L_i - L^*_i = \log\bigl(1 + \sigma(-\gamma^*_i)\,(e^{\delta_i} - 1)\bigr),

where log(delta_i) is a difference of two log-sum-exp, so that the logarithm of the excess is accurate at
every size of W: -34396 is as good as -3. Source: arXiv 2308.16898, section 3 (risk of the regularization
path).
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.attention import attention_scores, descent_direction, log_softmax
from attsvm_lib.data import check_data
from attsvm_lib.heads import LinearHead, check_head
from attsvm_lib.selection import token_scores
from attsvm_lib.validation import bounded

__all__ = ["excess_loss", "head_scores", "infimum_loss", "log_excess_gradient", "log_excess_loss"]


def head_scores(data, head):
    """Scores gamma_it = Y_i v^T x_it of the tokens under a linear head, shape (..., n, T); -inf where masked.

    With one head per position (`attsvm_lib.sequences.PositionHead`) v is that of the query.

    Raises
    ------
    ValueError
        When the head is not a `LinearHead`, or does not fit the data.
    FloatingPointError
        When a score overflows.
    """
    if not isinstance(check_head(head), LinearHead):
        kind = type(head).__name__
        raise ValueError(f"head must be a LinearHead, the only kind with a score per token, got {kind}")
    return token_scores(data, head.gradient(np.zeros(check_data(data).Z.shape)))


def infimum_loss(data, head):
    """Infimum of the risk over W, L_* = (1/n) sum_i log(1 + exp(-max_t gamma_it)) (linear head).

    Parameters
    ----------
    data : TokenData
    head : LinearHead

    Returns
    -------
    array or float, shape (...)

    Raises
    ------
    ValueError
        When the head is not a `LinearHead` or does not fit the data.

    Notes
    -----
    It is the infimum when the selection of optimal tokens is separable (`att_svm` finds a solution), and a
    lower bound otherwise.
    """
    return np.logaddexp(0.0, -head_scores(data, head).max(-1)).mean(-1)


def excess_loss(data, head, W):
    """L(W) - L_*, relatively accurate until it underflows; arguments and errors as `log_excess_loss`."""
    return np.exp(log_excess_loss(data, head, W))


def log_excess_loss(data, head, W):
    """Logarithm of the excess risk, log(L(W) - L_*), accurate at every margin.

    Parameters
    ----------
    data : TokenData
    head : LinearHead
    W : array_like, shape (..., d, d)

    Returns
    -------
    array or float, shape (...)
        -inf where every token of every sequence is optimal (then L = L_* for every W).

    Raises
    ------
    ValueError
        When the head is not a `LinearHead`, or W or the head does not fit the data.
    FloatingPointError
        When the attention scores or the scores of the tokens overflow.
    """
    gamma = head_scores(data, head)
    best = gamma.max(-1)
    gap = np.where(np.isneginf(gamma), 0.0, best[..., None] - gamma)
    log_gap = np.log(gap, out=np.full(gap.shape, -np.inf), where=gap > 0)
    log_delta = _log_sum_exp(log_gap + log_softmax(attention_scores(data, W)))
    log_ratio = _log_expm1_exp(log_delta) - np.logaddexp(0.0, best)
    return (_log_sum_exp(_log_softplus(log_ratio)) - np.log(data.n))[()]


def log_excess_gradient(data, head, W):
    """Value and gradient in W of log(L(W) - L_*); arguments and errors as `log_excess_loss`.

    Returns
    -------
    tuple
        log(L - L_*), shape (...), and its gradient, shape (..., d, d): dL/dW divided by L - L_*, of moderate
        size at every margin.

    Raises
    ------
    ValueError
        Also when every token of every sequence is optimal, so that L = L_* for every W.
    FloatingPointError
        Also when the gradient overflows.
    """
    value = log_excess_loss(data, head, W)
    if np.isneginf(value).any():
        raise ValueError("data must hold a token that is not optimal: here L = L_* for every W")
    step = descent_direction(data, head, W)
    with np.errstate(over="ignore", invalid="ignore"):
        G = -np.exp(step.log_norm - value)[..., None, None] * step.unit
    return value, bounded("the entries of the gradient of log(L - L_*)", G)


def _log_sum_exp(u):
    """log sum exp over the last axis; -inf where all entries are -inf."""
    return np.logaddexp.reduce(u, axis=-1)


def _log_expm1_exp(u):
    """log(exp(delta) - 1) for delta = exp(u), without underflow or overflow."""
    delta = np.exp(np.minimum(u, 700.0))
    small = u < -40.0  # there exp(delta) - 1 = delta to machine precision
    safe = np.where(small, 1.0, delta)
    return np.where(small, u, safe + np.log(-np.expm1(-safe)))


def _log_softplus(u):
    """log log(1 + exp(u)), without underflow."""
    small = u < -40.0
    return np.where(small, u, np.log(np.logaddexp(0.0, np.where(small, 0.0, u))))
