"""Experiments of the chapter on tokens as particles: layers as time, the energy's balance, the continuous limit.

Source: arXiv 2312.10794, sections 2 and 3; sizes and measurements are ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.data import random_direction
from attsvm_lib.meanfield import (
    circle_distance,
    circle_energy,
    circle_grid,
    circle_quantiles,
    density_energy,
    mean_field,
    order_parameter,
    scaled_dissipation,
    scaled_energy,
    simulate,
    simulate_circle,
)
from attsvm_lib.validation import choice, integer, integer_array, positive, real_array

__all__ = [
    "EnergyBalance",
    "LayerErrors",
    "LimitErrors",
    "energy_balance",
    "layer_errors",
    "limit_errors",
    "residual_layers",
    "smooth_start",
]

GRID, START_GRID = 192, 16
"""Points for the density as it sharpens, and for its start, which has three modes."""
NODES = 10
"""Gauss-Legendre nodes between two recorded times: exact for polynomials of degree 19."""


class LayerErrors(NamedTuple):
    """Largest distance of a token from the exact flow, at several step sizes.

    layers : array, shape (steps,)
        Of residual layers with normalization.
    rk4 : array, shape (steps,)
        Of Runge-Kutta steps of order four.
    """

    layers: np.ndarray
    rk4: np.ndarray


class EnergyBalance(NamedTuple):
    """Scaled energy along one run, and what the dissipation identity says it should be.

    times : array, shape (times,)
        t for SA, s = t exp(beta) for USA.
    energy : array, shape (times,)
        `scaled_energy`.
    expected : array, shape (times,)
        First energy plus the integral of `scaled_dissipation` up to each time.
    """

    times: np.ndarray
    energy: np.ndarray
    expected: np.ndarray


class LimitErrors(NamedTuple):
    """How far n tokens are from the continuous limit, for several n and seeds; each array (sizes, seeds).

    start : array
        Wasserstein distance W1 at time 0.
    distance : array
        W1 at the end.
    energy : array
        Difference of the scaled energies at the end.
    order : array
        Difference of the order parameters at the end, in modulus.
    """

    start: np.ndarray
    distance: np.ndarray
    energy: np.ndarray
    order: np.ndarray


def residual_layers(x0, layers, *, beta, step=1.0):
    """Tokens after each of several identical attention layers: add step times the attention, then normalize.

    Parameters
    ----------
    x0 : array_like, shape (n, d)
        Unit vectors.
    layers : int
        Number of layers.
    beta : float
        Inverse temperature, at least 0; Q = K = V = I.
    step : float
        Weight of attention against the residual branch.

    Returns
    -------
    array, shape (layers + 1, n, d)

    Notes
    -----
    Source: arXiv 2312.10794, section 2 (the discrete model).
    """
    x = real_array("x0", x0, (None, None), axes="(n, d)")
    beta, step = positive("beta", beta, zero=True), positive("step", step)
    states = [x]
    for _ in range(integer("layers", layers, 0)):
        weights = np.exp(beta * (x @ x.T - 1))
        x = x + step * (weights / weights.sum(1, keepdims=True)) @ x
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        states.append(x)
    return np.stack(states)


def layer_errors(steps, *, n=32, d=3, beta=4.0, until=4.0, seed=0):
    """Error at one time of layers of several sizes, against the exact flow of SA.

    Parameters
    ----------
    steps : array_like, shape (steps,)
        Sizes of a layer; each should divide `until`.
    n, d, beta, until, seed
        Tokens, dimension, inverse temperature, time, seed of the start (uniform on the sphere).

    Returns
    -------
    LayerErrors
    """
    steps, until = real_array("steps", steps, (None,), axes="(steps,)"), positive("until", until)
    x0 = random_direction(d, rng=np.random.default_rng(seed), batch=(integer("n", n, 1),))
    exact = simulate(x0, [until], beta=beta, tol=1e-12, merge_tol=0.0).x[0]
    errors = []
    for step in steps:
        ends = (
            residual_layers(x0, round(until / step), beta=beta, step=step)[-1],
            simulate(x0, [until], beta=beta, method="rk4", step=step).x[0],
        )
        errors.append([np.linalg.norm(end - exact, axis=1).max() for end in ends])
    return LayerErrors(*np.array(errors).T)


def energy_balance(*, beta, model, n=32, d=3, until=30.0, points=80, seed=0):
    """Energy along one run from a uniform start, and the integral of the dissipation identity beside it.

    Parameters
    ----------
    beta : float
        Inverse temperature, at least 0.
    model : {"sa", "usa"}
    n, d : int
        Tokens and dimension.
    until : float
        Last time: t for SA, s = t exp(beta) for USA.
    points : int
        Recorded times, spaced evenly in the logarithm from 0.05.
    seed : int

    Returns
    -------
    EnergyBalance

    Notes
    -----
    Source: arXiv 2312.10794, section 3. Both sides come from the same accurate trajectory (tolerance 1e-12, no
    merging), but from different functions of its states.
    """
    x0 = random_direction(d, rng=np.random.default_rng(seed), batch=(integer("n", n, 1),))
    beta, points = positive("beta", beta, zero=True), integer("points", points, 2)
    times = np.append(0, np.geomspace(0.05, positive("until", until), points))
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    between = times[:-1, None] + np.diff(times)[:, None] * (nodes + 1) / 2
    every, where = np.unique(np.concatenate([times, between.ravel()]), return_inverse=True)
    unit = _paper_time(beta, choice("model", model, ("sa", "usa")))
    x = simulate(x0, every * unit, beta=beta, model=model, tol=1e-12, merge_tol=0.0).x
    rates = scaled_dissipation(x, beta=beta, model=model)[where[len(times) :]].reshape(between.shape)
    gained = np.cumsum(rates @ weights * np.diff(times) / 2)
    energy = scaled_energy(x[where[: len(times)]], beta=beta)
    return EnergyBalance(times, energy, energy[0] + np.append(0, gained))


def smooth_start(theta):
    """A smooth, positive density on the circle without symmetry, at angles theta."""
    return (1 + 0.5 * np.cos(theta) + 0.3 * np.sin(2 * theta) + 0.15 * np.cos(3 * theta - 1)) / (2 * np.pi)


def limit_errors(sizes, *, beta=4.0, model="sa", until=1.0, start="independent", seeds=64, seed=0):
    """Distance of n tokens on the circle from the solution of the mean-field equation, for several n.

    Parameters
    ----------
    sizes : array_like of int, shape (sizes,)
        Numbers of tokens.
    beta : float
        Inverse temperature.
    model : {"sa", "usa"}
    until : float
        Time: t for SA, s = t exp(beta) for USA.
    start : {"independent", "quantiles"}
        Draws from `smooth_start`, or its quantiles (i + 1/2) / n; these are the same for every seed.
    seeds : int
        Independent starts.
    seed : int

    Returns
    -------
    LimitErrors

    Notes
    -----
    Source: arXiv 2312.10794, section 3 (the limit); sizes and distances are ours.
    """
    sizes = integer_array("sizes", sizes, (None,), 1, 10**6, axes="(sizes,)")
    choice("start", start, ("independent", "quantiles"))
    settings = positive("beta", beta, zero=True), choice("model", model, ("sa", "usa")), positive("until", until)
    return LimitErrors(*_limit_errors(tuple(sizes.tolist()), *settings, start, integer("seeds", seeds, 1), seed))


@cached
def _limit_errors(sizes, beta, model, until, start, seeds, seed):
    first, t = smooth_start(circle_grid(START_GRID)), until * _paper_time(beta, model)
    density = mean_field(smooth_start(circle_grid(GRID)), [t], beta=beta, model=model).density[0]
    energy = density_energy(density, beta=beta)
    order = 2 * np.pi * (density * np.exp(1j * circle_grid(GRID))).mean()
    errors, step = np.empty((4, len(sizes), seeds)), 0.02 if start == "quantiles" else 0.1
    for i, n in enumerate(sizes):
        if start == "quantiles":
            shares = np.tile((np.arange(n) + 0.5) / n, (seeds, 1))
        else:
            shares = np.stack([np.random.default_rng([seed, n, j]).random(n) for j in range(seeds)])
        theta0 = circle_quantiles(first, shares)
        theta = np.stack([simulate_circle(row, [t], beta=beta, model=model, step=step).theta[0] for row in theta0])
        errors[:, i] = (
            circle_distance(theta0, first),
            circle_distance(theta, density),
            np.abs(circle_energy(theta, beta=beta) - energy),
            np.abs(order_parameter(theta) - order),
        )
    return errors


def _paper_time(beta, model):
    """Length in the paper's time t of one unit of time here: s = t exp(beta) for USA."""
    return np.exp(-beta) if model == "usa" else 1.0
