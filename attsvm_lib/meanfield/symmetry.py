"""Starts at a symmetry that exact arithmetic keeps for ever, and floating-point arithmetic leaves by rounding."""

from __future__ import annotations

import warnings

import numpy as np

__all__ = ["SymmetricStartWarning", "gram_symmetry", "token_symmetry", "warn_of_symmetry"]


class SymmetricStartWarning(UserWarning):
    """The start is exactly symmetric: rounding decides where its tokens go."""


def warn_of_symmetry(name, reason):
    """Warn when there is a `reason`, on behalf of the caller's caller."""
    if reason:
        message = f"{name} {reason}: rounding decides where the tokens go; perturb the start if that matters"
        warnings.warn(message, SymmetricStartWarning, stacklevel=3)


def token_symmetry(flow, x0):
    """What makes tokens (..., n, d) exactly symmetric, or None: antipodes, a balanced start, canceling pulls."""
    eps = np.finfo(x0.dtype).eps
    G = x0 @ x0.swapaxes(-1, -2)
    for *batch, i, j in np.argwhere(G < -1 + 8 * eps):
        if np.linalg.norm(x0[(*batch, i)] + x0[(*batch, j)]) < 8 * eps:
            return f"holds exact antipodes, tokens {i} and {j}"
    if (np.linalg.norm(x0.mean(-2), axis=-1) < 4 * eps).any():
        return "is balanced, the mean of the tokens of a system is zero"
    if flow.attracts:
        speed = np.linalg.norm(flow.field(x0), axis=-1)
        weights = flow.exponentials(x0.dtype.type(flow.beta) * G)
        total = flow.normalizer(weights, None)
        pull = (weights * np.sqrt(np.maximum(1 - G**2, 0)) / total).sum(-1)
        stuck = (speed < 8 * eps * pull) & (pull > 1e3 * eps)
        if stuck.any():
            return f"holds a token, {int(np.argwhere(stuck)[0][-1])}, at which the pulls of the others cancel"
    return None


def gram_symmetry(G0):
    """What makes tokens with inner products (..., n, n) exactly symmetric, or None: antipodes, a balanced start."""
    eps = np.finfo(G0.dtype).eps
    antipodes = np.argwhere(G0 < -1 + 2 * eps)
    if len(antipodes):
        return f"holds exact antipodes, tokens {antipodes[0][-2]} and {antipodes[0][-1]}"
    if (G0.mean((-2, -1)) < eps).any():
        return "is balanced, the mean of the tokens of a system is zero"
    return None
