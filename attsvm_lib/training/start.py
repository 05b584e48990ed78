"""Where a run begins and when it is recorded: starting weights and checkpoints, checked at the door."""

from __future__ import annotations

import numpy as np

from attsvm_lib.attention import output, product
from attsvm_lib.validation import (
    batch_axes,
    common_batch,
    generator,
    integer,
    integer_array,
    not_a_pair,
    real_array,
)

__all__ = ["HUGE", "checked_checkpoints", "checked_start", "random_start"]

HUGE = 1e150
"""Beyond it the square of a weight overflows."""


def random_start(d, m=None, *, rng, batch=()):
    """Random starting weights with entries uniform in [-1/sqrt(d), 1/sqrt(d)], as in the papers' experiments.

    Parameters
    ----------
    d : int
        Dimension of the tokens.
    m : int, optional
        Width of the factors; without it a start for W is drawn.
    rng : numpy.random.Generator
    batch : tuple of int
        Leading axes.

    Returns
    -------
    array (*batch, d, d), or a pair (K0, Q0) of arrays (*batch, d, m)
    """
    d = integer("d", d, 1)
    generator("rng", rng)
    batch = batch_axes("batch", batch)
    bound = d**-0.5
    if m is None:
        return rng.uniform(-bound, bound, (*batch, d, d))
    m = integer("m", m, 1)
    return tuple(rng.uniform(-bound, bound, (*batch, d, m)) for _ in range(2))


def checked_checkpoints(checkpoints, steps):
    """Increasing step counts in 0..steps; by default 0 and about 50 in geometric progression."""
    if checkpoints is None:
        geometric = np.rint(np.geomspace(1, max(steps, 1), 50)).astype(int)
        return np.unique(np.concatenate([[0], np.minimum(geometric, steps)]))
    if isinstance(checkpoints, str) or not np.iterable(checkpoints):
        raise ValueError(f"checkpoints must be a sequence of step counts in 0..{steps}, got {checkpoints!r}")
    counts = list(checkpoints)
    if not counts:
        raise ValueError("checkpoints must be a non-empty increasing sequence, got []")
    checkpoints = integer_array("checkpoints", counts, (None,), 0, steps + 1, axes="(c,)")
    if (np.diff(checkpoints) <= 0).any():
        raise ValueError(f"checkpoints must be a non-empty increasing sequence, got {checkpoints.tolist()}")
    return checkpoints


def checked_start(data, head, parameterization, start):
    """Tuple of writable weight arrays with the full batch shape: (W,) or (K, Q)."""
    d = data.d
    if parameterization == "W":
        not_a_pair("start", start, "use parameterization='KQ' for factors (K0, Q0), or np.stack for two starts")
        start = np.zeros((d, d)) if start is None else start
        weights = {"start": real_array("start", start, (..., d, d), axes=f"(..., {d}, {d})")}
    else:
        if start is None:
            raise ValueError("start must be a pair (K0, Q0), such as random_start(d, m, rng=rng)")
        if not isinstance(start, (tuple, list)) or len(start) != 2:
            given = type(start).__name__
            raise ValueError(f"start must be a pair (K0, Q0) of arrays (..., {d}, m), got {given}")
        K = real_array("start[0]", start[0], (..., d, None), axes=f"(..., {d}, m)")
        Q = real_array("start[1]", start[1], (..., d, K.shape[-1]))
        weights = {"start[0]": K, "start[1]": Q}
    _check_start(data, head, weights)
    weights = tuple(weights.values())
    batch = output(data, head, weights[0] if len(weights) == 1 else product(*weights)).shape[:-1]
    return tuple(np.broadcast_to(w, (*batch, *w.shape[-2:])).copy() for w in weights)


def _check_start(data, head, weights):
    shapes = {name: w.shape[:-2] for name, w in weights.items()}
    common_batch({**shapes, "data": data.batch_shape, "head": getattr(head, "batch_shape", ())})
    for name, w in weights.items():
        if np.abs(w).max() >= HUGE:
            raise ValueError(f"{name} must have entries below {HUGE:g} in size, got {np.abs(w).max():g}")
