"""Two time scales on the circle: tokens form a few clusters fast, which then merge at exponentially long times.

Source: arXiv 2312.10794, sections 4 to 6 (metastability is described and shown there; rates are measured here).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.data import random_direction
from attsvm_lib.meanfield import cluster_labels, meeting_time, scaled_energy, simulate, simulate_circle
from attsvm_lib.meanfield.clusters import THRESHOLD
from attsvm_lib.sweep import sweep
from attsvm_lib.validation import integer, positive, real_array

__all__ = ["EarlyClusters", "Staircase", "early_clusters", "log_times", "staircase"]

WIDTH = np.arccos(THRESHOLD)
"""Angle below which two tokens are joined."""

LATEST = 60
"""Early clusters that have not formed by this time raise."""


class Staircase(NamedTuple):
    """Clusters and energy of several starts over time.

    clusters : array of int, shape (seeds, times)
        Number of clusters, inner products above 0.999 joined.
    energy : array, shape (seeds, times)
        Scaled energy 2 beta exp(-beta) E, in (0, 1]; on a plateau the sum of the squared masses of the clusters.
    squared_masses : array, shape (seeds, times)
        Sum of the squared masses of the clusters, in [1/n, 1].
    last_angle : array, shape (seeds,)
        Angle between the last two clusters when they are first recorded, in radians; 0 where no record has two.
    predicted : array, shape (seeds,)
        When these two are to meet by `meeting_time`, from their angle and masses at that record alone; SA only; inf
        where no record has two clusters.
    times : array
    """

    clusters: np.ndarray
    energy: np.ndarray
    squared_masses: np.ndarray
    last_angle: np.ndarray
    predicted: np.ndarray
    times: np.ndarray

    @property
    def last_merger(self):
        """First recorded time at which each start is one cluster, inf where that is later; shape (seeds,)."""
        alone = self.clusters == 1
        return np.where(alone.any(1), self.times[alone.argmax(1)], np.inf)

    @property
    def plateau(self):
        """Records with as many clusters at t as at t / 10 and at 10 t, both within the times; shape (seeds, times)."""
        before, after = (np.searchsorted(self.times, factor * self.times * (1 - 1e-9)) for factor in (0.1, 10))
        inside = (self.times >= 10 * self.times[self.times > 0][0]) & (after < len(self.times))
        early, late = self.clusters[:, before], self.clusters[:, np.minimum(after, len(self.times) - 1)]
        return inside & (early == self.clusters) & (late == self.clusters)


class EarlyClusters(NamedTuple):
    """The first clusters of several starts.

    count : array of int, shape (seeds,)
    time : array, shape (seeds,)
        When they were first complete.
    """

    count: np.ndarray
    time: np.ndarray


def log_times(T, *, first=0.1, per_decade=20):
    """0, and times from `first` to T spaced evenly in log t, about `per_decade` a decade."""
    T, first = positive("T", T), positive("first", first)
    if not first < T:
        raise ValueError(f"first must lie below T, got {first:g} and {T:g}")
    count = round(np.log10(T / first) * integer("per_decade", per_decade, 1)) + 1
    return np.append(0.0, np.geomspace(first, T, max(count, 2)))


def staircase(beta, times, *, n=64, d=2, model="sa", seeds=range(32), progress=None):
    """Number of clusters and scaled energy over time, from uniform starts.

    Parameters
    ----------
    beta : float
        Inverse temperature.
    times : array_like, shape (times,)
        In the paper's time, in order: up to 1e4, 1e8 and 1e14 for beta = 4, 9 and 16 on the circle.
    n, d : int
        Tokens and dimension.
    model : {"sa", "usa"}
    seeds : sequence of int
        Each start is drawn from the generator of (seed, n, d).
    progress : bool, optional
        Count finished seeds on stderr; by default where that is a terminal.

    Returns
    -------
    Staircase

    Raises
    ------
    ValueError, FloatingPointError, ArithmeticError
        As `meanfield.simulate`, whose adaptive method is used.

    Notes
    -----
    Source: arXiv 2312.10794, sections 4 to 6 (metastability).
    """
    times = real_array("times", times, (None,))
    settings = {"n": integer("n", n, 1), "d": integer("d", d, 1), "model": model, "progress": progress}
    beta, name = positive("beta", beta, zero=True), f"staircase, beta = {beta:g}"
    found = sweep(_staircase, seeds, size=4, name=name, beta=beta, times=tuple(times.tolist()), **settings)
    return Staircase(*found, times)


@cached
def _staircase(seeds, beta, times, n, d, model):
    found = []
    for seed in seeds:
        x0 = random_direction(d, rng=np.random.default_rng([seed, n, d]), batch=(n,))
        x = simulate(x0, times, beta=beta, model=model).x
        labels = cluster_labels(x)
        squared = ((labels[..., None] == np.arange(n)).mean(1) ** 2).sum(-1)
        found.append((labels.max(1) + 1, scaled_energy(x, beta=beta), squared, *_last_pair(x, labels, times, beta)))
    return tuple(np.array(values) for values in zip(*found, strict=True))


def _last_pair(x, labels, times, beta):
    """Angle of the last two clusters when first recorded, and the time at which they are to meet."""
    two = labels.max(1) == 1
    if not two.any():
        return 0.0, np.inf
    k = int(two.argmax())
    means = np.stack([x[k][labels[k] == which].mean(0) for which in (0, 1)])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    angle = float(np.arctan2(np.linalg.norm(means[0] - means[1]), np.linalg.norm(means[0] + means[1])) * 2)
    return angle, times[k] + meeting_time(angle, beta, mass=float((labels[k] == 0).mean()))


def early_clusters(beta, *, n=64, seeds=range(96), progress=None):
    """How many clusters form first on the circle, and when, from uniform starts under SA.

    The first clusters are complete at the first time t >= 2 (in steps of 0.1) at which the tokens form groups that
    are all of diameter below arccos(0.999) and further apart than that: the graph that joins tokens with inner
    products above 0.999 is a union of cliques.

    Parameters
    ----------
    beta : float
        Inverse temperature.
    n : int
        Tokens.
    seeds : sequence of int
        Each start is drawn from the generator of (seed, n).
    progress : bool, optional
        As for `staircase`.

    Returns
    -------
    EarlyClusters

    Raises
    ------
    ArithmeticError
        When a start has no such time up to 60.

    Notes
    -----
    Source: arXiv 2312.10794 states that early clusters grow like sqrt(beta); the criterion is ours.
    """
    beta, name = positive("beta", beta, zero=True), f"early clusters, beta = {beta:g}"
    return EarlyClusters(*sweep(_early_clusters, seeds, size=16, name=name, progress=progress, beta=beta, n=n))


@cached
def _early_clusters(seeds, beta, n):
    theta = np.stack([np.random.default_rng([seed, n]).uniform(0, 2 * np.pi, n) for seed in seeds])
    count, time = np.zeros(len(seeds), int), np.zeros(len(seeds))
    theta = simulate_circle(theta, [1.9], beta=beta, step=0.1).theta[0]
    for t in np.arange(20, 10 * LATEST + 1) / 10:
        waiting = np.flatnonzero(count == 0)
        theta[waiting] = simulate_circle(theta[waiting], [0.1], beta=beta, step=0.1).theta[0]
        count[waiting] = [_cliques(angles) for angles in theta[waiting]]
        time[waiting] = t
        if count.all():
            return count, time
    raise ArithmeticError(f"{(count == 0).sum()} of {len(seeds)} starts have no complete clusters by t = {LATEST}")


def _cliques(theta):
    """Number of groups when all are of diameter below WIDTH and further apart than WIDTH, else 0."""
    theta = np.sort(theta % (2 * np.pi))
    gaps = np.diff(theta, append=theta[0] + 2 * np.pi)
    last = np.flatnonzero(gaps > WIDTH)
    if not len(last):
        return 0
    first = (np.roll(last, 1) + 1) % len(theta)
    diameter = (theta[last] - theta[first]) % (2 * np.pi)
    return len(last) if (diameter < WIDTH).all() else 0
