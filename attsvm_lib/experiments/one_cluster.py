"""One cluster: when a half-space holds all tokens, and how a random start follows the orthogonal one.

Source: arXiv 2312.10794, sections 4 and 5.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.data import random_direction
from attsvm_lib.experiments.problems import how_many
from attsvm_lib.meanfield import equiangular, random_gram, simulate_gram
from attsvm_lib.svm.least_distance import separable
from attsvm_lib.sweep import sweep
from attsvm_lib.validation import choice, integer, positive, real_array

__all__ = ["ProductRanges", "half_space_share", "pair_products", "product_ranges"]


class ProductRanges(NamedTuple):
    """Extreme inner products over all pairs of tokens, beside the common one of the orthogonal start.

    smallest, largest : arrays, shape (systems, times)
        Over the pairs i < j of one system.
    gamma : array, shape (times,)
        Common inner product of the orthogonal start with as many tokens, the same beta and the same model.
    times : array, shape (times,)
    """

    smallest: np.ndarray
    largest: np.ndarray
    gamma: np.ndarray
    times: np.ndarray

    @property
    def deviation(self):
        """max over pairs of |<x_i, x_j> - gamma(t)|, shape (systems, times)."""
        return np.maximum(self.largest - self.gamma, self.gamma - self.smallest)

    def contraction(self, high=1e-3, low=1e-8):
        """Rate at which 1 - smallest falls from `high` to `low`, per unit of time; shape (systems,).

        The slope of a least-squares line through the logarithms at the recorded times in between. ValueError when a
        system has fewer than three of these.
        """
        rates = []
        for gap in 1 - self.smallest:
            inside = (gap < high) & (gap > low)
            if inside.sum() < 3:
                raise ValueError(f"times must hold at least 3 with gaps from {low:g} to {high:g}, got {inside.sum()}")
            rates.append(-np.polyfit(self.times[inside], np.log(gap[inside]), 1)[0])
        return np.array(rates)


def half_space_share(n, d, size=None, *, seed=0):
    """Which of `size` independent draws of n uniform points of the sphere of R^d lie in an open half-space.

    Parameters
    ----------
    n, d : int
    size : int or {"quick", "full"}, optional
        Draws: 100 or 1000 by name; `default_size()` by default.
    seed : int
        Draws come from the generator of (seed, n, d).

    Returns
    -------
    array of bool, shape (size,)

    Raises
    ------
    ValueError
        When an argument does not fit.

    Notes
    -----
    Decided by non-negative least squares: either a w with <x_i, w> > 0 for all i is found, or weights y >= 0 with
    sum y_i x_i = 0. Source: Wendel (1962), as used in arXiv 2312.10794, section 4.
    """
    n, d, seed = integer("n", n, 1), integer("d", d, 1), integer("seed", seed, 0)
    return _half_spaces(n, d, how_many(size, quick=100, full=1000), seed)


@cached
def _half_spaces(n, d, size, seed):
    points = random_direction(d, rng=np.random.default_rng([seed, n, d]), batch=(size, n))
    return np.array([separable(x) for x in points])


def pair_products(d, beta, times, size=None, *, n=32, model="sa", seed=0):
    """Inner products of all pairs of tokens over time, from uniform starts.

    Parameters
    ----------
    d : int
        Dimension; the cost does not depend on it.
    beta : float
    times : array_like, shape (times,)
        Non-negative, in order, in the paper's time.
    size : int or {"quick", "full"}, optional
        Independent systems: 8 or 32 by name; `default_size()` by default.
    n : int
        Tokens, at least 2.
    model : {"sa", "usa"}
    seed : int
        System k draws its start from the generator of (seed, n, d, k).

    Returns
    -------
    array, shape (systems, times, n (n - 1) / 2)
        <x_i, x_j> for i < j, by Runge-Kutta steps of order 4 of 0.2 on the Gram matrices.

    Raises
    ------
    ValueError, FloatingPointError
        As `meanfield.simulate_gram`.
    """
    seeds, settings = _settings(d, beta, times, size, n, model, seed)
    return _products(seeds, **settings)


def product_ranges(d, beta, times, size=None, *, n=32, model="sa", seed=0, progress=None):
    """Smallest and largest inner product over time, from the starts and with the arguments of `pair_products`.

    progress : bool, optional
        Count finished blocks of systems on stderr; by default where that is a terminal.

    Returns
    -------
    ProductRanges
    """
    seeds, settings = _settings(d, beta, times, size, n, model, seed)
    name = f"products, d = {d}, beta = {beta:g}"
    smallest, largest = sweep(_ranges, seeds, size=32, progress=progress, name=name, **settings)
    gamma = equiangular(settings["times"], n=n, beta=beta, model=model)
    return ProductRanges(smallest, largest, gamma, np.array(settings["times"]))


def _settings(d, beta, times, size, n, model, seed):
    """The systems' numbers, and validated settings of a block of them."""
    settings = {
        "d": integer("d", d, 1),
        "n": integer("n", n, 2),
        "beta": positive("beta", beta, zero=True),
        "times": tuple(real_array("times", times, (None,)).tolist()),
        "model": choice("model", model, ("sa", "usa")),
        "seed": integer("seed", seed, 0),
    }
    return range(how_many(size, quick=8, full=32)), settings


@cached
def _ranges(seeds, **settings):
    products = _products(seeds, **settings)
    return products.min(-1), products.max(-1)


def _products(seeds, d, n, beta, times, model, seed):
    start = np.stack([random_gram(n, d, (), np.random.default_rng([seed, n, d, k])) for k in seeds])
    gram = simulate_gram(start, times, beta=beta, model=model, method="rk4").gram
    return np.moveaxis(gram[..., *np.triu_indices(n, 1)], 0, 1)
