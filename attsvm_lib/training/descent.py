"""`train`, the door of this package: it checks, cuts the runs into blocks, descends and records."""

from __future__ import annotations

import numpy as np

from attsvm_lib.data import check_data
from attsvm_lib.heads import LinearHead, ReluHead, check_head
from attsvm_lib.training.factors import FactorDescent
from attsvm_lib.training.linear import LinearRuns, is_moderate
from attsvm_lib.training.relu import ReluRuns
from attsvm_lib.training.run import record
from attsvm_lib.training.scores import ScoreDescent
from attsvm_lib.training.start import HUGE, checked_checkpoints, checked_start
from attsvm_lib.training.weights import EPS, Rule, WeightDescent
from attsvm_lib.validation import choice, integer, positive

__all__ = ["train"]

CACHE = 2**22
"""Bytes of a block of runs: about what a processor core keeps close at hand."""


def train(
    data,
    head,
    *,
    parameterization="W",
    start=None,
    steps=1000,
    step=0.1,
    normalized=True,
    normalization="separate",
    weight_decay=None,
    arithmetic="exact",
    checkpoints=None,
):
    """Train the attention weights by gradient descent.

    Parameters
    ----------
    data : TokenData
        Data sets, batch axes allowed.
    head : Head
        Fixed head.
    parameterization : {"W", "KQ"}
        Train W (d, d), or its factors K and Q (d, m).
    start : array (..., d, d) for "W", pair of arrays (..., d, m) for "KQ"
        Starting weights (see `random_start`); zero by default for W. The factored model has no default: K =
        Q = 0 is a stationary point.
    steps : int
        Number of steps, at least 0.
    step : float
        Step size eta, positive; with normalized steps the length of each step.
    normalized : bool
        Divide the gradient by its norm.
    normalization : {"separate", "joint"}
        For "KQ": K and Q by their own norms, or both by their common norm (which keeps the factors balanced).
    weight_decay : float, optional
        Coefficient mu >= 0 of a penalty added to the risk, mu ||W||_F^2 or mu (||K||_F^2 + ||Q||_F^2). By
        default 0, except with arithmetic="paper" for "KQ": there 2.2e-16.
    arithmetic : {"exact", "paper"}
        "exact": saturation-proof gradient (`descent_direction`), and a zero gradient ends the run. "paper":
        the arithmetic of the papers' experiments, in which c_it is formed by subtraction and 2.2e-16 is
        added to the norm that divides; rounding ends such a run at margins of about 35.
    checkpoints : array_like of int, shape (c,), optional
        Increasing step counts in 0..steps to record; by default 0 and about 50 counts in geometric
        progression up to `steps`. Use range(steps + 1) for a whole path.

    Returns
    -------
    Run
        A run whose gradient vanishes is not an error: see `Run.status`.

    Raises
    ------
    ValueError
        When an argument does not fit.
    FloatingPointError
        When the weights overflow (plain steps that are far too long), or the scores or outputs do (data, head
        or start of an extreme size); the message says which.

    Notes
    -----
    Source: arXiv 2308.16898, sections 4 and 5.
    """
    check_data(data)
    check_head(head)
    choice("parameterization", parameterization, ("W", "KQ"))
    choice("normalization", normalization, ("separate", "joint"))
    choice("arithmetic", arithmetic, ("exact", "paper"))
    steps = integer("steps", steps, 0)
    if not isinstance(normalized, (bool, np.bool_)):
        raise ValueError(f"normalized must be True or False, got {normalized!r}")
    if weight_decay is None:
        weight_decay = EPS if (arithmetic, parameterization) == ("paper", "KQ") else 0.0
    rule = Rule(
        positive("step", step),
        bool(normalized),
        normalization == "joint",
        positive("weight_decay", weight_decay, zero=True),
        arithmetic == "exact",
    )
    checkpoints = checked_checkpoints(checkpoints, steps)
    weights = checked_start(data, head, parameterization, start)
    if _is_fast(data, head, weights, rule):
        weights, stopped_at = _descend_in_blocks(data, head, weights, rule, steps, checkpoints)
    else:
        weights, stopped_at = _descend(WeightDescent(data, head, weights, rule), steps, checkpoints)
    return record(data, head, checkpoints, weights, steps, stopped_at)


def _is_fast(data, head, weights, rule):
    """Whether `_descend_in_blocks` knows the head, and is accurate for numbers of these sizes."""
    if isinstance(head, ReluHead) and (rule.exact or not _in_scores(data, weights, rule)):
        return False
    return isinstance(head, (LinearHead, ReluHead)) and is_moderate(data, _parameter(head), weights, rule)


def _parameter(head):
    return head.V if isinstance(head, ReluHead) else head.v


def _in_scores(data, weights, rule):
    return len(weights) == 1 and not rule.decay and data.n * data.T <= max(64, 4 * data.d + 2 * data.n)


def _descend_in_blocks(data, head, weights, rule, steps, checkpoints):
    """`_descend` for heads with scores: the batch axes as one axis of runs, cut into blocks that fit a core's cache."""
    batch = weights[0].shape[:-2]
    fixed = [_along_runs(u, axes, batch) for u, axes in ((data.X, 3), (data.Z, 2), (data.Y, 1), (data.allowed, 2))]
    v = _along_runs(_parameter(head), _parameter(head).ndim - len(head.batch_shape), batch)
    kind = ReluRuns if isinstance(head, ReluHead) else LinearRuns
    weights = [w.reshape(-1, *w.shape[-2:]) for w in weights]
    in_scores = _in_scores(data, weights, rule)
    found = []
    for block in _blocks(data, weights, in_scores):
        X, Z, Y, allowed = (u if u is None or len(u) == 1 else u[block] for u in fixed)
        runs = kind(X, Z, Y, type(head)(v if len(v) == 1 else v[block]), allowed)
        part = [w[block] for w in weights]
        if in_scores:
            descent = ScoreDescent(runs, part, rule)
        elif len(weights) == 2:
            descent = FactorDescent(runs, part, rule)
        else:
            descent = WeightDescent(*runs.part(np.ones(len(part[0]), dtype=bool)), part, rule)
        found.append(_descend(descent, steps, checkpoints))
    stacks, stopped_at = zip(*found)
    whole = [np.concatenate(w, axis=1) for w in zip(*stacks)]
    return [w.reshape(len(w), *batch, *w.shape[-2:]) for w in whole], np.concatenate(stopped_at).reshape(batch)


def _along_runs(u, axes, batch):
    """The batch axes of u as one: as many runs as `batch` holds, or 1 when u has none of its own; None stays."""
    if u is None:
        return None
    shape = u.shape[u.ndim - axes :]
    if u.size == np.prod(shape):
        return u.reshape(1, *shape)
    return np.broadcast_to(u, (*batch, *shape)).reshape(-1, *shape)


def _blocks(data, weights, in_scores):
    """Slices of runs, about equally many; what a step of all runs in one reads fits into CACHE bytes."""
    tokens, runs = data.n * data.T, len(weights[0])
    numbers = tokens**2 if in_scores else tokens * data.d + sum(w[0].size for w in weights)
    most = max(1, CACHE // (8 * (numbers + 8 * tokens)))
    size = -(-runs // -(-runs // most))
    return [slice(k, k + size) for k in range(0, runs, size)]


def _descend(descent, steps, checkpoints):
    """Apply `steps` moves; return the weights stacked over the checkpoints, and the steps each run took."""
    state = descent.start
    stopped_at = np.full(descent.batch, steps)
    records, due, still = [], set(checkpoints.tolist()), False
    for k in range(steps + 1):
        if k in due:
            records.append(state)
        if k == steps or still:
            continue
        moves, stopped = descent.move(state)
        state = tuple(u + move for u, move in zip(state, moves))
        if not all(np.vdot(u, u) < HUGE**2 for u in state):
            raise FloatingPointError(f"the weights overflow at step {k + 1}: choose a smaller step")
        if stopped.any():
            stopped_at = np.where(stopped, np.minimum(stopped_at, k), stopped_at)
            still = bool(np.all(stopped))
    return descent.weights(records), stopped_at
