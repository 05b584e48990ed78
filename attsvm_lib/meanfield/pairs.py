r"""The statistic of the phase diagrams: how many pairs of tokens have met, over time, for many starts at once.

A pair has met when <x_i, x_j> > 1 - eps. Trajectories are not kept, and a system whose pairs have all met is done:
its tokens lie in a small cap, which they never leave. Source: arXiv 2312.10794, section on phase diagrams.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.meanfield.field import Flow, check_start
from attsvm_lib.meanfield.gram import GramFlow, check_gram
from attsvm_lib.meanfield.integrate import rk4_step, rk4_steps
from attsvm_lib.meanfield.particles import check_times
from attsvm_lib.validation import positive

__all__ = ["pair_fraction", "pair_fraction_gram"]

CHUNK = 64
"""Systems that move together: their arrays stay in the processor's cache."""


def pair_fraction(x0, times, *, beta, model="sa", step=0.2, eps=1e-3):
    """Fraction of pairs i != j of tokens with <x_i, x_j> > 1 - eps, by RK4 steps, with Q = K = V = I.

    Parameters
    ----------
    x0 : array_like, shape (..., n, d)
        Unit vectors; n at least 2. float32 is enough for this statistic and twice as fast.
    times : array_like, shape (times,)
        Non-negative, in order, in the papers' time.
    beta, model, step
        As in `simulate`.
    eps : float

    Returns
    -------
    array, shape (times, ...)
        In [0, 1], for each system.

    Raises
    ------
    ValueError, FloatingPointError
        As `simulate`. Symmetric starts are not warned about.
    """
    x0 = check_start("x0", x0)
    return _fraction(Flow(x0.shape[-1], beta=beta, model=model), x0, times, step, eps)


def pair_fraction_gram(G0, times, *, beta, model="sa", step=0.2, eps=1e-3):
    """The same from Gram matrices G0 (..., n, n), at a cost that does not depend on d."""
    return _fraction(GramFlow(beta=beta, model=model), check_gram(G0), times, step, eps)


def _fraction(flow, y0, times, step, eps):
    times, step, eps = check_times(times), positive("step", step), positive("eps", eps)
    n, batch = y0.shape[-2], y0.shape[:-2]
    if n < 2:
        raise ValueError("n must be at least 2: one token makes no pair")
    steps, systems = rk4_steps(flow.inner_times(times), step), y0.reshape(-1, *y0.shape[-2:])
    chunks = [_chunk(flow, systems[k : k + CHUNK], steps, eps) for k in range(0, len(systems), CHUNK)]
    return np.concatenate(chunks, axis=1).reshape(len(times), *batch)


def _chunk(flow, y, steps, eps):
    """Fractions (times, systems) of systems that move together until they are done."""
    fractions, alive = np.ones((len(steps), len(y))), np.arange(len(y))
    n, slope, level = y.shape[-2], flow.field(y), y.dtype.type(1 - eps)
    for k, (count, h) in enumerate(steps):
        h = y.dtype.type(h)
        for _ in range(count):
            y, slope, _ = rk4_step(flow, y, slope, h)
        met = np.array([np.count_nonzero(system) for system in flow.gram(y) > level]) - n
        fractions[k, alive] = met / (n * (n - 1))
        apart = met < n * (n - 1)
        if not apart.all():
            y, slope, alive = y[apart], slope[apart], alive[apart]
        if not len(alive):
            break
    return fractions
