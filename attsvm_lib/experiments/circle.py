r"""Beyond one attracting flow: oscillators (beta = 0), repelling tokens (V = -I) and random matrices.

Source: arXiv 2312.10794, Part 3 (dynamics on the circle, general matrices).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.data import random_direction
from attsvm_lib.meanfield import clusters, order_parameter, scaled_energy, simulate, simulate_circle, velocity
from attsvm_lib.validation import integer, positive, real_array, seed_sequence

__all__ = [
    "Oscillators",
    "RandomMatrices",
    "Repulsion",
    "cross_ratios",
    "gaussian_system",
    "kuramoto_law",
    "leading_space",
    "moebius_start",
    "oscillator_runs",
    "random_matrices",
    "repulsion",
]


class Oscillators(NamedTuple):
    """Tokens on the circle from uniform starts.

    order : array, shape (times, seeds)
        Modulus of the order parameter.
    theta : array, shape (times, seeds, n)
        Angles in radians.
    """

    order: np.ndarray
    theta: np.ndarray


@cached
def oscillator_runs(times, *, beta=0.0, n=32, seeds=range(64), step=0.1):
    """Order parameter and cross-ratios of tokens on the circle, from independent uniform starts.

    Parameters
    ----------
    times : sequence of float
        Non-negative, in order, in the paper's time.
    beta : float
        Inverse temperature; 0 is the Kuramoto model.
    n : int
        Tokens, at least 4.
    seeds : sequence of int
        Start k draws its angles from the generator of (k, n).
    step : float
        Largest Runge-Kutta step.

    Returns
    -------
    Oscillators
    """
    n, seeds = integer("n", n, 4), seed_sequence("seeds", seeds)
    theta0 = np.stack([np.sort(np.random.default_rng([k, n]).uniform(0, 2 * np.pi, n)) for k in seeds])
    theta = simulate_circle(theta0, times, beta=beta, step=step).theta
    return Oscillators(np.abs(order_parameter(theta)), theta)


def cross_ratios(theta):
    r"""Cross-ratios of each four consecutive tokens, constants of the Kuramoto model.

    .. math:: \frac{\sin\frac{\theta_1 - \theta_3}2 \sin\frac{\theta_2 - \theta_4}2}
                   {\sin\frac{\theta_1 - \theta_4}2 \sin\frac{\theta_2 - \theta_3}2}

    Parameters
    ----------
    theta : array_like, shape (..., n)
        Angles in radians, n at least 4, no two of them equal.

    Returns
    -------
    array, shape (..., n - 3)
    """
    theta = real_array("theta", theta, (..., None), axes="(..., n)")
    if theta.shape[-1] < 4:
        raise ValueError(f"theta must hold at least 4 angles, got {theta.shape[-1]}")
    a, b, c, d = (theta[..., k : theta.shape[-1] - 3 + k] for k in range(4))
    return np.sin((a - c) / 2) * np.sin((b - d) / 2) / (np.sin((a - d) / 2) * np.sin((b - c) / 2))


def moebius_start(n, order):
    """Angles of n equally spaced tokens after the Möbius map of the disk that takes 0 to `order`, shape (n,).

    Their order parameter is `order` up to order^n, and no token stands at the angle pi, where the pull vanishes.
    """
    n, order = integer("n", n, 2), _share("order", order)
    w = np.exp(2j * np.pi * (np.arange(n) + 0.5) / n)
    return np.angle((w + order) / (1 + order * w))


def kuramoto_law(times, order, *, sign=1):
    r"""Order parameter R(t) of infinitely many oscillators from a Möbius image of the uniform density.

    .. math:: R' = \pm\tfrac12 R (1 - R^2), \qquad \frac{R^2}{1 - R^2} = e^{\pm t} \frac{R_0^2}{1 - R_0^2}

    Parameters
    ----------
    times : array_like, shape (times,)
    order : float
        R_0, strictly between 0 and 1.
    sign : {1, -1}
        -1 for tokens that repel.

    Returns
    -------
    array, shape (times,)
    """
    times, order = real_array("times", times, (None,)), _share("order", order)
    if sign not in (1, -1):
        raise ValueError(f"sign must be 1 or -1, got {sign!r}")
    odds = np.exp(sign * times) * order**2 / (1 - order**2)
    return np.sqrt(odds / (1 + odds))


class Repulsion(NamedTuple):
    """Repelling tokens from uniform starts, at the requested times.

    energy : array, shape (times, seeds)
        Scaled energy, which falls.
    mean : array, shape (times, seeds)
        Norm of the mean token.
    x : array, shape (seeds, n, d)
        Tokens at the last time.
    """

    energy: np.ndarray
    mean: np.ndarray
    x: np.ndarray


@cached
def repulsion(n, d, times, *, beta, seeds=range(32), step=0.5):
    """Tokens that repel each other, SA with V = -I and Q = K = I.

    Parameters
    ----------
    n, d : int
        Tokens, at least 2, and their dimension, at least 2.
    times : sequence of float
        Non-negative, in order, in the paper's time.
    beta : float
        Inverse temperature, at least 0.
    seeds : sequence of int
        Start k draws its tokens from the generator of (k, n, d).
    step : float
        Largest Runge-Kutta step; where tokens come to rest does not depend on it.

    Returns
    -------
    Repulsion

    Notes
    -----
    Source: arXiv 2312.10794, Part 3 (general matrices), V = -I.
    """
    n, d, seeds = integer("n", n, 2), integer("d", d, 2), seed_sequence("seeds", seeds)
    x0 = np.stack([random_direction(d, rng=np.random.default_rng([k, n, d]), batch=(n,)) for k in seeds])
    x = simulate(x0, times, beta=beta, V=-np.eye(d), method="rk4", step=step).x
    return Repulsion(scaled_energy(x, beta=beta), np.linalg.norm(x.mean(-2), axis=-1), x[-1])


class RandomMatrices(NamedTuple):
    """Tokens under Gaussian matrices, one entry a seed.

    clusters : array of int
        At the last time.
    speed : array
        Largest speed of a token at the last time.
    leading : array of complex
        The leading eigenvalue of V, that of the largest real part (of a pair, that of positive imaginary part).
    alignment : array
        Smallest norm of a token's projection on the leading eigenvector of V, or on the plane of the leading pair.
    """

    clusters: np.ndarray
    speed: np.ndarray
    leading: np.ndarray
    alignment: np.ndarray


@cached
def random_matrices(*, which="QKV", n=24, d=3, beta=1.0, until=100.0, seeds=range(16), step=0.2):
    """Where tokens end when some of Q, K, V are drawn with independent N(0, 1/d) entries and the others are I.

    Parameters
    ----------
    which : str
        Those of the letters Q, K, V that are random; the same draw of a matrix serves every choice.
    n, d : int
        Tokens and dimension.
    beta, until, step : float
        Inverse temperature, last time and largest Runge-Kutta step.
    seeds : sequence of int
        System k draws tokens and matrices from the generator of (k, n, d).

    Returns
    -------
    RandomMatrices

    Notes
    -----
    Source: arXiv 2312.10794, Part 3 (general matrices).
    """
    if not isinstance(which, str) or not which or set(which) - set("QKV"):
        raise ValueError(f"which must be some of the letters of 'QKV', got {which!r}")
    n, d, until = integer("n", n, 1), integer("d", d, 2), positive("until", until)
    rows = [_one_random(k, which, n, d, beta, until, step) for k in seed_sequence("seeds", seeds)]
    return RandomMatrices(*(np.array(column) for column in zip(*rows, strict=True)))


def gaussian_system(seed, which, n, d):
    """Uniform tokens (n, d), and the matrices Q, K, V: N(0, 1/d) entries for those named in `which`, else I."""
    rng = np.random.default_rng([seed, n, d])
    x0 = random_direction(d, rng=rng, batch=(n,))
    drawn = dict(zip("QKV", rng.standard_normal((3, d, d)) / np.sqrt(d), strict=True))
    return x0, {name: drawn[name] if name in which else np.eye(d) for name in "QKV"}


def leading_space(V):
    """Eigenvalue of V of the largest real part, and an orthonormal basis (d, 1 or 2) of its real invariant space.

    Of a complex pair, the eigenvalue of positive imaginary part.
    """
    values, vectors = np.linalg.eig(V)
    lead = max(range(len(values)), key=lambda k: (values[k].real, values[k].imag))
    v = vectors[:, lead]
    parts = np.stack([v.real, v.imag], axis=1) if values[lead].imag else v.real[:, None]
    return complex(values[lead]), np.linalg.qr(parts)[0]


def _one_random(seed, which, n, d, beta, until, step):
    x0, matrices = gaussian_system(seed, which, n, d)
    x = simulate(x0, [until], beta=beta, method="rk4", step=step, **matrices).x[0]
    leading, basis = leading_space(matrices["V"])
    speed = np.linalg.norm(velocity(x, beta=beta, **matrices), axis=1).max()
    return clusters(x), speed, leading, np.linalg.norm(x @ basis, axis=1).min()


def _share(name, value):
    number = positive(name, value)
    if number >= 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}")
    return number
