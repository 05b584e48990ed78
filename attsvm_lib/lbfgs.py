r"""Minimization of a smooth function by L-BFGS, with NumPy alone, down to the rounding of the function.

The step is x - s H g, where H, built from the last few changes of x and of the gradient g, approximates the
inverse Hessian. The step length s satisfies the Wolfe conditions: enough descent, and a slope that has risen.
Near the minimum, where f no longer changes in floating point, the gradient still does; there a step counts as
descent when f has not grown by more than its rounding and the slope along the step has fallen in size (the
"approximate Wolfe" conditions). Source: Nocedal & Wright, Numerical Optimization, 2nd ed., Algorithm 7.4 (the
two-loop recursion); Hager & Zhang 2005 (the approximate conditions).
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.validation import integer, positive, real_array

__all__ = ["minimize"]

DESCENT, CURVATURE = 1e-4, 0.9
ROUNDING = 4 * np.finfo(np.float64).eps
TRIALS = 40
IDLE = 20
"""Steps in a row without descent of f, and without a gradient of half the size, after which we stop."""


def minimize(function, x, *, memory=30, steps=20000, tolerance=1e-10):
    """A local minimizer of a smooth function of d real variables.

    Parameters
    ----------
    function : callable
        x -> (f(x), gradient of f at x), with x and the gradient of shape (d,).
    x : array, shape (d,)
        Start.
    memory : int
        Changes of x and the gradient that are kept.
    steps : int
        Steps at most.
    tolerance : float
        Stop where no entry of the gradient is larger in absolute value.

    Returns
    -------
    array, shape (d,)
        The end: a point of small gradient, or, where f has stopped to fall in floating point, the point of the
        least gradient found there. Judge it by that gradient.

    Raises
    ------
    ValueError
        When an argument does not fit, or f or its gradient is not finite at the start. Later points at which f is
        not finite count as too far away.
    """
    x, tolerance = real_array("x", x, (None,), axes="(d,)"), positive("tolerance", tolerance)
    memory, steps = integer("memory", memory, 1), integer("steps", steps, 0)
    value, slope = function(x)
    if not (np.isfinite(value) and np.isfinite(slope).all()):
        raise ValueError(f"function and its gradient must be finite at the start, got a value of {value}")
    best, least, idle, changes = x, np.linalg.norm(slope), 0, []
    for _ in range(steps):
        if np.abs(slope).max() <= tolerance or idle == IDLE:
            break
        found = _line_search(function, x, value, slope, _direction(slope, changes))
        if found is None and not changes:
            break
        if found is None:  # the curvature learned elsewhere misleads here
            changes = []
            continue
        dx, dg, fell = found[0] - x, found[2] - slope, found[1] < value - ROUNDING * abs(value)
        if (dx * dg).sum() > 0:
            changes = [*changes[1 - memory :], (dx, dg)]
        x, value, slope = found
        size = np.linalg.norm(slope)
        idle = 0 if fell or size < least / 2 else idle + 1
        if fell or size < least:
            best, least = x, size
    return best


def _direction(slope, changes):
    """-H g by the two-loop recursion; without changes, steepest descent by a step of unit length at most."""
    if not changes:
        return -slope / max(1.0, np.linalg.norm(slope))
    step, weights = -slope, []
    for dx, dg in reversed(changes):
        weights.append((dx @ step) / (dx @ dg))
        step = step - weights[-1] * dg
    dx, dg = changes[-1]
    step = (dx @ dg) / (dg @ dg) * step
    for (dx, dg), weight in zip(changes, reversed(weights), strict=True):
        step = step + (weight - (dg @ step) / (dx @ dg)) * dx
    return step


def _line_search(function, x, value, slope, step):
    """First (x, f, gradient) found along the step that satisfies the conditions; None when there is none.

    The length is doubled until it is too long, then bisected between a length that is too short and one that
    is too long.
    """
    fall = slope @ step
    if not fall < 0:
        return None
    short, long, length = 0.0, np.inf, 1.0
    for _ in range(TRIALS):
        y = x + length * step
        new, gradient = function(y)
        rise = gradient @ step
        enough = new <= value + DESCENT * length * fall
        flat = new <= value + ROUNDING * abs(value) and rise <= (2 * DESCENT - 1) * fall
        if not (enough or flat):
            long = length
        elif rise < CURVATURE * fall:
            short = length
        else:
            return y, new, gradient
        length = 2 * length if np.isinf(long) else (short + long) / 2
    return None
