"""Steps on the weights themselves: for every head, every batch and every size of numbers.

A step is made from the parts of -grad L, one for each trained matrix (W; or K and Q), which carry a common factor
exp(log_scale) so that they cannot underflow.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.attention import SteepestDescent, frobenius, product, softmax, token_scores
from attsvm_lib.validation import bounded

__all__ = ["EPS", "Rule", "WeightDescent", "add_decay", "stride"]

EPS = float(np.finfo(np.float64).eps)


class Rule(NamedTuple):
    """How a step is made from a gradient."""

    step: float
    normalized: bool
    joint: bool
    decay: float
    exact: bool


class WeightDescent:
    """Descent whose state is the trained weights: (W,), or (K, Q)."""

    def __init__(self, data, head, weights, rule):
        self.data, self.head, self.start, self.rule = data, head, weights, rule
        self.batch = weights[0].shape[:-2]
        self.move = self._exact_move if rule.exact else self._paper_move
        self.steepest = SteepestDescent(data, head)

    def weights(self, records):
        """The weights in records of the state, each stacked over the records."""
        return tuple(np.stack(w) for w in zip(*records))

    def _exact_move(self, weights):
        """Moves by the saturation-proof gradient, and which runs stand still (zero gradient)."""
        pull = self.steepest.at(_product(weights))
        parts, floors = _chain(pull.unit, weights), _rounding_floors(weights)
        parts, log_scale, floors = add_decay(parts, pull.log_norm, floors, weights, self.rule)
        sizes = [frobenius(p) for p in parts]
        zero = [size <= floor for size, floor in zip(sizes, floors)]
        return stride(parts, log_scale, sizes, zero, self.rule), np.logical_and.reduce(zero)

    def _paper_move(self, weights):
        """Moves in the papers' arithmetic; rounding may freeze a run, but nothing detects it."""
        parts = _chain(-_plain_gradient(self.data, self.head, _product(weights)), weights)
        parts = [p - 2 * self.rule.decay * w for p, w in zip(parts, weights)]
        return paper_stride(parts, [frobenius(p) for p in parts], self.rule), np.zeros(self.batch, dtype=bool)


def add_decay(parts, log_scale, floors, weights, rule):
    """Parts, logarithm of their scale and floors, with the pull -2 mu w of the weight decay added."""
    if not rule.decay:
        return parts, log_scale, floors
    log_decay = np.log(2 * rule.decay)
    top = np.maximum(log_scale, log_decay)
    fade, risk = np.exp(log_decay - top), np.exp(log_scale - top)
    parts = [p * per_run(risk) - per_run(fade) * w for p, w in zip(parts, weights)]
    return parts, top, [f * risk + EPS * fade * frobenius(w) for f, w in zip(floors, weights)]


def stride(parts, log_scale, sizes, zero, rule):
    """The moves: parts of the given sizes (Frobenius norms) times the step, divided as the rule says; 0 where zero."""
    if not rule.normalized:
        with np.errstate(over="ignore", invalid="ignore"):  # `descend` reports the overflow
            return [rule.step * per_run(np.exp(log_scale)) * p for p in parts]
    sizes = _common(sizes) if rule.joint else sizes
    return [
        np.where(per_run(z), 0.0, rule.step * p / per_run(np.where(z, 1.0, s))) for p, s, z in zip(parts, sizes, zero)
    ]


def paper_stride(parts, sizes, rule):
    """The moves in the papers' arithmetic, which adds 2.2e-16 to the norm that divides."""
    if rule.normalized:
        sizes = _common(sizes) if rule.joint else sizes
        return [per_run(rule.step / (s + EPS)) * p for p, s in zip(parts, sizes)]
    with np.errstate(over="ignore", invalid="ignore"):  # `descend` reports the overflow
        return [rule.step * p for p in parts]


def per_run(u):
    """One number a run, as a factor of its matrices: shape (..., 1, 1)."""
    return np.asarray(u)[..., None, None]


def _common(sizes):
    return [np.hypot(*sizes) if len(sizes) == 2 else sizes[0]] * len(sizes)


def _product(weights):
    return weights[0] if len(weights) == 1 else product(*weights)


def _plain_gradient(data, head, W):
    """dL/dW by c_it = l' s_it (x_it^T g - s_i . (X_i g)), which cancels once s_i is one-hot."""
    s = softmax(token_scores(data, W))
    o = (s[..., None, :] @ data.X)[..., 0, :]
    with np.errstate(over="ignore", invalid="ignore"):
        gamma = bounded("the scores x^T grad h of the tokens", (data.X @ head.gradient(o)[..., None])[..., 0])
        f = bounded("the outputs h(o) of the head", head.value(o))
        slope = -data.Y * np.exp(-np.logaddexp(0.0, data.Y * f)) / data.n
        c = slope[..., None] * s * (gamma - (s * gamma).sum(-1, keepdims=True))
        return bounded("the entries of the gradient", (c[..., None, :] @ data.X)[..., 0, :].swapaxes(-1, -2) @ data.Z)


def _chain(G, weights):
    """Chain rule from W to the trained weights: (G,) or (G Q, G^T K)."""
    if len(weights) == 1:
        return (G,)
    K, Q = weights
    return G @ Q, G.swapaxes(-1, -2) @ K


def _rounding_floors(weights):
    """Rounding error of the parts of `_chain` for a unit G; a part below it is zero."""
    if len(weights) == 1:
        return [EPS]
    K, Q = weights
    return [K.shape[-2] * EPS * frobenius(Q), K.shape[-2] * EPS * frobenius(K)]
