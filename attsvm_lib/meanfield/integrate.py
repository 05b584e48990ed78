"""Two integrators for flows on the sphere: fixed-step RK4, and the adaptive Dormand-Prince pair with merging.

They serve tokens (`field.Flow`) and Gram matrices (`gram.GramFlow`) alike: a flow offers `field`, `normalize`, `gram`,
`approach`, `combine` and `expand`. The state is normalized after every step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Run", "adaptive", "integrate", "rk4", "rk4_step", "rk4_steps"]

MOST_STEPS = 5_000_000
"""Fixed steps; a run that needs more raises at once."""

MOST_ADAPTIVE_STEPS = 1_000_000
"""Adaptive steps, tried ones included, after which a run gives up: some minutes."""

TOO_FAST = "a step overflows: the tokens are too fast for it; choose a smaller step"

BRIDGE = 30
"""Tokens are united at most this many tolerances apart: merging spoils the accuracy no more than the steps do."""

# Dormand and Prince (1980), order 5 with an embedded order 4; the last stage is the first of the next step.
STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
STAGES = tuple(np.array(row) for row in STAGES)
ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])


class Run(NamedTuple):
    """States at the requested times.

    states : array, shape (times, ...)
    labels : array of int, shape (times, ..., n)
        The first token of the merged group that token i belongs to.
    error : array, shape (...)
        Sum of the estimated local errors, largest coordinate.
    evaluations : array of int, shape (...)
        Evaluations of the field.
    """

    states: np.ndarray
    labels: np.ndarray
    error: np.ndarray
    evaluations: np.ndarray


def integrate(flow, y0, times, method, step, tol, merge_tol):
    """Run by `rk4` in the dtype of y0 or by `adaptive` in float64; a step that overflows raises FloatingPointError."""
    try:
        with np.errstate(over="raise", invalid="raise"):
            if method == "rk4":
                run = rk4(flow, y0, times, step)
            else:
                run = adaptive(flow, y0.astype(np.float64), times, tol, merge_tol)
    except FloatingPointError as error:
        if "encountered" not in str(error):  # one of ours, which says what overflows
            raise
        raise FloatingPointError(TOO_FAST) from None
    if not (np.isfinite(run.states).all() and np.isfinite(run.error).all()):
        raise FloatingPointError(TOO_FAST)  # a browser's arithmetic raises no flags
    return run


def rk4(flow, y0, times, step):
    """Classical Runge-Kutta steps of at most `step` that land on each time; y0 (..., n, k), a batch moves together.

    The error is estimated by the embedded third-order formula, (h/6) |k4 - k1 of the next step|, so it is pessimistic.
    """
    states, n = np.empty((len(times), *y0.shape), y0.dtype), y0.shape[-2]
    y, slope, error, evaluations = y0, flow.field(y0), np.zeros(y0.shape[:-2]), 1
    for k, (count, h) in enumerate(rk4_steps(times, step)):
        h = y0.dtype.type(h)
        for _ in range(count):
            y, slope, last = rk4_step(flow, y, slope, h)
            last -= slope
            error += float(h) / 6 * np.abs(last, out=last).max((-2, -1))
        states[k] = y
        evaluations += 4 * count
    labels = np.broadcast_to(np.arange(n), (*states.shape[:-2], n))
    return Run(states, labels, error, np.full(error.shape, evaluations))


def rk4_steps(times, step):
    """For each time, how many equal steps of at most `step` lead there from the time before, and their length."""
    spans = np.diff(times, prepend=0.0)
    counts = np.ceil(spans / step - 1e-9)
    if counts.sum() > MOST_STEPS:
        raise ValueError(f"step must be larger, or method 'adaptive': {counts.sum():.3g} steps of {step:g} are needed")
    return [(int(count), span / max(count, 1.0)) for count, span in zip(counts, spans)]


def rk4_step(flow, y, k1, h):
    """New state, its slope, and the slope of the last stage; h in the dtype of y."""
    k2 = flow.field(y + h / 2 * k1)
    k3 = flow.field(y + h / 2 * k2)
    k4 = flow.field(y + h * k3)
    k2 += k3
    k2 *= 2
    k2 += k1
    k2 += k4
    k2 *= h / 6
    k2 += y
    y = flow.normalize(k2)
    return y, flow.field(y), k4


def adaptive(flow, y0, times, tol, merge_tol):
    """Dormand-Prince steps with local error at most `tol`, for each system of the batch y0 (..., n, k) by itself.

    Tokens closer than `merge_tol` that approach each other continue as one token with their common mass.
    """
    batch, n = y0.shape[:-2], y0.shape[-2]
    runs = [_Adaptive(flow, y, tol, merge_tol).run(times) for y in y0.reshape(-1, *y0.shape[-2:])]
    states, labels, error, evaluations = (np.stack(parts) for parts in zip(*runs))
    return Run(
        np.moveaxis(states, 0, 1).reshape(len(times), *y0.shape),
        np.moveaxis(labels, 0, 1).reshape(len(times), *batch, n),
        error.reshape(batch),
        evaluations.reshape(batch),
    )


class _Adaptive:
    """One system on its way: the state of the distinct tokens, their masses and whom each of the n tokens joined."""

    def __init__(self, flow, y0, tol, merge_tol):
        n = len(y0)
        self.flow, self.tol, self.merge_tol = flow, tol, min(merge_tol, BRIDGE * tol)
        self.y, self.masses, self.label, self.first = y0, np.full(n, 1 / n), np.arange(n), np.arange(n)
        self.error, self.bridged, self.evaluations, self.steps = 0.0, 0.0, 0, 0

    def run(self, times):
        states, labels = np.empty((len(times), *self.y.shape)), np.empty((len(times), len(self.y)), int)
        self.slope = self._field(self.y)
        self.h, begin = 0.01 / (1 + np.abs(self.slope).max()), 0.0
        for k, end in enumerate(times):
            self._advance(end - begin)
            states[k], labels[k], begin = self.flow.expand(self.y, self.label), self.first[self.label], end
        return states, labels, self.error + self.bridged, self.evaluations

    def _field(self, y):
        self.evaluations += 1
        return self.flow.field(y, self.masses)

    def _advance(self, left):
        """Move on by the time `left`."""
        while left > 0:
            if len(self.y) == 1 and self.flow.attracts:
                return
            h = min(self.h, left)
            y, slope, error = self._step(h)
            grow = min(5.0, max(0.2, 0.9 * (self.tol / max(error, 1e-300)) ** 0.2))
            if error <= self.tol:
                self.y, self.slope, left = self.flow.normalize(y), slope, left - h
                self.error += error
                self.h = max(self.h, h * grow) if h < self.h else h * grow  # a step cut short to land says little
                self._merge()
            else:
                self.h = h * grow
            self.steps += 1
            if self.steps > MOST_ADAPTIVE_STEPS:
                raise ArithmeticError(
                    f"{MOST_ADAPTIVE_STEPS} steps did not reach the last time: shorten times or raise tol"
                )

    def _step(self, h):
        """State after h, its slope (the field is constant along rays) and the largest local error."""
        shape, slopes = self.y.shape, np.empty((7, self.y.size))
        slopes[0] = self.slope.ravel()
        for k, row in enumerate(STAGES, 1):
            y = self.y + ((h * row) @ slopes[:k]).reshape(shape)
            slopes[k] = self._field(y).ravel()
        return y, slopes[6].reshape(shape), h * float(np.abs(ERROR @ slopes).max())

    def _merge(self):
        """Unite tokens that are closer than merge_tol and approach each other."""
        if not (self.merge_tol and self.flow.attracts):
            return
        close = self.flow.gram(self.y) > 1 - self.merge_tol**2 - 1e-15
        if np.count_nonzero(close) <= len(self.y):
            return
        i, j = np.nonzero(np.triu(close, 1))
        squared, rate = self.flow.approach(self.y, self.slope, i, j)
        unite = (squared <= self.merge_tol**2) & (rate <= 0)
        if not unite.any():
            return
        root = np.arange(len(self.y))
        for a, b in zip(i[unite], j[unite]):
            low, high = sorted((root[a], root[b]))
            root[root == high] = low
        kept, group = np.unique(root, return_inverse=True)
        mix = np.zeros((len(kept), len(root)))
        mix[group, np.arange(len(root))] = self.masses
        self.masses = mix.sum(1)
        self.y = self.flow.combine(mix / self.masses[:, None], self.y)
        self.bridged = max(self.bridged, float(np.sqrt(np.abs(squared[unite]).max())))
        self.label, self.first = group[self.label], self.first[kept]
        self.slope = self._field(self.y)
