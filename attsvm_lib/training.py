r"""Gradient descent on the attention weights, for W directly or for the factors of W = K Q^T.

Plain and normalized steps of size eta,

.. math:: W(k+1) = W(k) - \eta \nabla L(W(k)) \qquad\text{or}\qquad
          W(k+1) = W(k) - \eta\, \frac{\nabla L(W(k))}{\|\nabla L(W(k))\|_F},

and the same for (K, Q), each factor divided by its own norm ("separate") or both by their common norm
("joint"). The head is fixed. Many data sets, or many starts, run at once along the leading axes.
Source: arXiv 2308.16898, sections 4 and 5 (gradient descent, normalized steps in the experiments).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attsvm_lib.attention import (
    attention_probabilities,
    check_head,
    descent_direction,
    frobenius,
    loss,
    output,
    product,
)
from attsvm_lib.data import check_data
from attsvm_lib.validation import (
    batch_axes,
    bounded,
    choice,
    common_batch,
    generator,
    integer,
    integer_array,
    not_a_pair,
    positive,
    real_array,
)

__all__ = ["Run", "random_start", "train"]

EPS = float(np.finfo(np.float64).eps)
HUGE = 1e150  # beyond it the square of a weight overflows


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A training run, recorded at c checkpoints. The batch axes `...` are those of data, head and start
    together.

    Attributes
    ----------
    steps : array of int, shape (c,)
        Checkpoints: entry j of every record is the value after `steps[j]` steps, so 0 is the start.
    W : array, shape (c, ..., d, d)
        Key-query matrix, W = K Q^T for the factored model.
    K, Q : array, shape (c, ..., d, m), or None when W is trained
        Factors.
    loss : array, shape (c, ...)
        Risk L(W).
    probabilities : array, shape (c, ..., n, T)
        Attention probabilities softmax(X_i W z_i).
    status : str, or array of str of shape (...)
        "finished", or "zero gradient" for a run that stopped at a stationary point (its later records
        repeat it).
    stopped_at : int, or array of int of shape (...)
        Steps taken: fewer than asked for where the gradient vanished.
    """

    steps: np.ndarray
    W: np.ndarray
    K: np.ndarray | None
    Q: np.ndarray | None
    loss: np.ndarray
    probabilities: np.ndarray
    status: np.ndarray
    stopped_at: np.ndarray

    @property
    def selection(self):
        """Token of largest attention, shape (c, ..., n)."""
        return self.probabilities.argmax(-1)

    @property
    def selected_probability(self):
        """Attention probability of the token selected at that checkpoint, shape (c, ..., n)."""
        return self.probabilities.max(-1)

    @property
    def norm(self):
        """||W||_F, shape (c, ...)."""
        return frobenius(self.W)

    def __repr__(self):
        model = "W" if self.K is None else f"(K, Q) of width {self.K.shape[-1]}"
        batch = f", batch={self.W.shape[1:-2]}" if self.W.ndim > 3 else ""
        stopped = int((np.asarray(self.status) != "finished").sum())
        ended = f"{stopped} of {np.size(self.status)} stopped at a zero gradient" if stopped else "finished"
        records = f"{len(self.steps)} checkpoints up to step {self.steps[-1]}"
        return f"Run({model}{batch}, {records}, {np.max(self.stopped_at)} steps taken, {ended})"


class _Rule(NamedTuple):
    """How a step is made from a gradient."""

    step: float
    normalized: bool
    joint: bool
    decay: float


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
    rule = _Rule(
        positive("step", step),
        bool(normalized),
        normalization == "joint",
        positive("weight_decay", weight_decay, zero=True),
    )
    checkpoints = _checkpoints(checkpoints, steps)
    weights = _start(data, head, parameterization, start)
    move = _exact_move if arithmetic == "exact" else _paper_move
    records, stopped_at = _descend(lambda w: move(data, head, w, rule), weights, steps, checkpoints)
    return _run(data, head, checkpoints, records, steps, stopped_at)


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


def _checkpoints(checkpoints, steps):
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


def _start(data, head, parameterization, start):
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
    batch = output(data, head, _product(weights)).shape[:-1]
    return tuple(np.broadcast_to(w, (*batch, *w.shape[-2:])).copy() for w in weights)


def _check_start(data, head, weights):
    shapes = {name: w.shape[:-2] for name, w in weights.items()}
    common_batch({**shapes, "data": data.batch_shape, "head": getattr(head, "batch_shape", ())})
    for name, w in weights.items():
        if np.abs(w).max() >= HUGE:
            raise ValueError(f"{name} must have entries below {HUGE:g} in size, got {np.abs(w).max():g}")


def _product(weights):
    return weights[0] if len(weights) == 1 else product(*weights)


def _descend(move, weights, steps, checkpoints):
    """Apply `steps` moves; return the weights at each checkpoint and the number of steps each run took."""
    stopped_at = np.full(weights[0].shape[:-2], steps)
    records, due, still = [], set(checkpoints.tolist()), False
    for k in range(steps + 1):
        if k in due:
            records.append(tuple(w.copy() for w in weights))
        if k == steps or still:
            continue
        moves, stopped = move(weights)
        weights = tuple(w + dw for w, dw in zip(weights, moves))
        if not all(np.abs(w).max() < HUGE for w in weights):
            raise FloatingPointError(f"the weights overflow at step {k + 1}: choose a smaller step")
        stopped_at = np.where(stopped, np.minimum(stopped_at, k), stopped_at)
        still = bool(np.all(stopped))
    return records, stopped_at


def _run(data, head, checkpoints, records, steps, stopped_at):
    stacked = [np.stack(w) for w in zip(*records)]
    W = _product(stacked)
    K, Q = stacked if len(stacked) == 2 else (None, None)
    status = np.where(stopped_at < steps, "zero gradient", "finished")
    risk, probabilities = loss(data, head, W), attention_probabilities(data, W)
    return Run(checkpoints, W, K, Q, risk, probabilities, status[()], stopped_at[()])


def _exact_move(data, head, weights, rule):
    """Moves by the saturation-proof gradient, and which runs stand still (zero gradient)."""
    pull = descent_direction(data, head, _product(weights))
    parts = _chain(pull.unit, weights)
    log_scale = pull.log_norm[..., None, None]
    floors = _rounding_floors(weights)
    if rule.decay:
        log_decay = np.log(2 * rule.decay)
        top = np.maximum(log_scale, log_decay)
        fade = np.exp(log_decay - top)
        risk = np.exp(log_scale - top)
        parts = tuple(p * risk - fade * w for p, w in zip(parts, weights))
        floors = [f * risk + EPS * fade * _norm(w) for f, w in zip(floors, weights)]
        log_scale = top
    sizes = [_norm(p) for p in parts]
    zero = [s <= f for s, f in zip(sizes, floors)]
    stopped = np.logical_and.reduce(zero)[..., 0, 0]
    if not rule.normalized:
        with np.errstate(over="ignore", invalid="ignore"):  # `_descend` reports the overflow
            return [rule.step * np.exp(log_scale) * p for p in parts], stopped
    if rule.joint:
        sizes = [np.hypot(*sizes) if len(sizes) == 2 else sizes[0]] * len(sizes)
    moves = [np.where(z, 0.0, rule.step * p / np.where(z, 1.0, s)) for p, s, z in zip(parts, sizes, zero)]
    return moves, stopped


def _paper_move(data, head, weights, rule):
    """Moves in the papers' arithmetic; rounding may freeze a run, but nothing detects it."""
    parts = _chain(-_plain_gradient(data, head, _product(weights)), weights)
    parts = [p - 2 * rule.decay * w for p, w in zip(parts, weights)]
    if rule.normalized:
        sizes = [_norm(p) for p in parts]
        if rule.joint:
            sizes = [np.hypot(*sizes) if len(sizes) == 2 else sizes[0]] * len(sizes)
        parts = [p / (s + EPS) for p, s in zip(parts, sizes)]
    with np.errstate(over="ignore", invalid="ignore"):  # `_descend` reports the overflow
        moves = [rule.step * p for p in parts]
    return moves, np.zeros(weights[0].shape[:-2], dtype=bool)


def _plain_gradient(data, head, W):
    """dL/dW by c_it = l' s_it (x_it^T g - s_i . (X_i g)), which cancels once s_i is one-hot."""
    s = attention_probabilities(data, W)
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
    return [K.shape[-2] * EPS * _norm(Q), K.shape[-2] * EPS * _norm(K)]


def _norm(p):
    return frobenius(p)[..., None, None]
