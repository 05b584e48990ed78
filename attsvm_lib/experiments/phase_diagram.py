"""The phase diagrams of clustering: how many pairs of tokens have met, over time and inverse temperature.

Source: arXiv 2312.10794, section 5, figures of phase diagrams; n = 32, d in {2, 8, 32, 128, 512, 1024}.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.data import random_direction
from attsvm_lib.experiments.problems import how_many
from attsvm_lib.meanfield import pair_fraction, pair_fraction_gram, random_gram
from attsvm_lib.sweep import sweep
from attsvm_lib.validation import integer, positive, real_array

__all__ = ["PhaseDiagram", "phase_diagram"]

BLOCK = 32


class PhaseDiagram(NamedTuple):
    """Pairs of tokens that have met, over independent uniform starts.

    fraction : array, shape (betas, times)
        Fraction of ordered pairs i != j with <x_i, x_j> > 1 - eps, mean over the systems.
    error : array, shape (betas, times)
        Standard error of that mean; 0 where all systems agree.
    betas, times : arrays
    systems : int
        Starts, of n (n - 1) / 2 pairs each.
    """

    fraction: np.ndarray
    error: np.ndarray
    betas: np.ndarray
    times: np.ndarray
    systems: int


def phase_diagram(d, betas, times, size=None, *, n=32, model="sa", eps=1e-3, step=0.2, seed=0, progress=None):
    """Fraction of pairs with inner product above 1 - eps from uniform starts, for each beta at each time.

    Parameters
    ----------
    d : int
        Dimension. Tokens move when d < n, their Gram matrices otherwise, at a cost that does not depend on d.
    betas : array_like, shape (betas,)
        Inverse temperatures; all see the same starts, which keeps the picture smooth.
    times : array_like, shape (times,)
        Non-negative, in order, in the paper's time.
    size : int or {"quick", "full"}, optional
        Independent systems (at least 2), or the size of the experiment: 8 systems, or 64 for d <= 32 and 32 above;
        `default_size()` by default.
    n : int
        Tokens, at least 2.
    model : {"sa", "usa"}
    eps, step : float
        As in `meanfield.pair_fraction`; steps are Runge-Kutta of order 4, in float32.
    seed : int
        System k draws its start from the generator of (seed, n, d, k).
    progress : bool, optional
        Count finished blocks of systems on stderr; by default where that is a terminal.

    Returns
    -------
    PhaseDiagram

    Raises
    ------
    ValueError, FloatingPointError
        When an argument does not fit; when t exp(beta) overflows (USA).

    Notes
    -----
    Source: arXiv 2312.10794, section 5. The statistic is that of the paper's experiments; their normalized Euler steps
    of 0.1 show pairs meeting 5 to 10 % late.
    """
    d, n, seed = integer("d", d, 1), integer("n", n, 2), integer("seed", seed, 0)
    betas, times = real_array("betas", betas, (None,)), real_array("times", times, (None,))
    (met,) = sweep(
        _pairs_met,
        range(how_many(size, quick=8, full=64 if d <= 32 else 32, least=2)),
        size=BLOCK,
        progress=progress,
        name=f"phase diagram, d = {d}",
        d=d,
        n=n,
        betas=tuple(betas.tolist()),
        times=tuple(times.tolist()),
        model=model,
        eps=positive("eps", eps),
        step=positive("step", step),
        seed=seed,
    )
    return PhaseDiagram(met.mean(0), met.std(0, ddof=1) / np.sqrt(len(met)), betas, times, len(met))


@cached
def _pairs_met(seeds, d, n, betas, times, model, eps, step, seed):
    """Fractions of pairs, shape (systems, betas, times)."""
    rngs = [np.random.default_rng([seed, n, d, k]) for k in seeds]
    if d < n:
        run, start = pair_fraction, [random_direction(d, rng=rng, batch=(n,)) for rng in rngs]
    else:
        run, start = pair_fraction_gram, [random_gram(n, d, (), rng) for rng in rngs]
    start = np.array(start, dtype=np.float32)
    met = [run(start, times, beta=beta, model=model, step=step, eps=eps).T for beta in betas]
    return (np.stack(met, axis=1),)
