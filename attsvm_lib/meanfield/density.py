r"""The continuous limit on the circle: a density of tokens instead of n of them.

.. math:: \partial_t \rho + \partial_\theta(\rho v) = 0, \qquad
          \text{SA:}\ v = \frac1\beta \partial_\theta \log(e^{\beta\cos} * \rho), \qquad
          \text{USA:}\ v = \frac1\beta \partial_\theta (e^{\beta\cos} * \rho)

solved on M equidistant points by FFT, with the upper third of the modes kept at zero (products of modes would fold
into the wrong ones) and Runge-Kutta steps of order four. While the density is smooth the error falls exponentially
in M. A density that clusters becomes a sum of spikes in finite resolution; then the solver stops, and particles from
`circle_quantiles` take over.

Source: the equation is in arXiv 2312.10794, section 3; the solver is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.meanfield.circle import CircleFlow, angle_powers, kernel_coefficients
from attsvm_lib.meanfield.integrate import rk4
from attsvm_lib.meanfield.particles import check_times
from attsvm_lib.validation import real_array

__all__ = [
    "DensityTrajectory",
    "circle_distance",
    "circle_grid",
    "circle_quantiles",
    "density_energy",
    "density_velocity",
    "mean_field",
]

UNRESOLVED = 1e-2
"""Largest share of the highest kept modes in a density that counts as resolved."""
OVERSAMPLING = 16
NEWTON_STEPS = 4
DISTANCE_POINTS = 2**12


@dataclass(frozen=True, eq=False)
class DensityTrajectory:
    """Densities at the requested times.

    Attributes
    ----------
    times : array, shape (times,)
        In the paper's time t.
    theta : array, shape (M,)
        The points, 2 pi m / M.
    density : array, shape (times, M)
        Per radian; mean times 2 pi is 1.
    tail : array, shape (times,)
        Size of the highest kept modes over the mean: how well M points resolve the density.
    """

    times: np.ndarray
    theta: np.ndarray
    density: np.ndarray
    tail: np.ndarray


def circle_grid(M):
    """The M equidistant angles 2 pi m / M on which densities are given."""
    return 2 * np.pi * np.arange(M) / M


def mean_field(density0, times, *, beta, model="sa"):
    """Solve the mean-field equation of attention on the circle.

    Parameters
    ----------
    density0 : array_like, shape (M,)
        Non-negative density at the angles `circle_grid(M)`, M even and at least 16, with mean 1 / (2 pi).
    times : array_like, shape (times,)
        Where to record, non-negative and in order, in the paper's time.
    beta : float
        Inverse temperature, at least 0.
    model : {"sa", "usa"}

    Returns
    -------
    DensityTrajectory

    Raises
    ------
    ValueError
        When an argument does not fit.
    ArithmeticError
        When M points do not resolve the density at one of the times.
    FloatingPointError
        When t exp(beta) overflows (USA).

    Notes
    -----
    Speeds are at most 1 in the time of integration, so steps of 3/M are stable for every beta.
    Source: arXiv 2312.10794, section 3.
    """
    density0, times = _check_density("density0", density0), check_times(times)
    flow = DensityFlow(beta, model, len(density0))
    run = rk4(flow, flow.smooth(density0)[:, None], flow.inner_times(times), 3 / len(density0))
    density = run.states[..., 0]
    tail = _tail(density)
    bad = ~(tail <= UNRESOLVED)
    if bad.any():
        raise ArithmeticError(
            f"{len(density0)} points do not resolve the density at t = {times[bad][0]:g} (share of the highest modes "
            f"{tail[bad][0]:.1e}): give more points, or move particles from circle_quantiles"
        )
    return DensityTrajectory(times, circle_grid(len(density0)), density, tail)


def density_velocity(density, *, beta, model="sa"):
    """Velocity v of a token at each point of the grid, from a density.

    Parameters
    ----------
    density : array_like, shape (M,)
        As for `mean_field`.
    beta, model
        As for `mean_field`.

    Returns
    -------
    array, shape (M,)
        Per unit of t for SA, of s = t exp(beta) for USA; at most 1 in size.

    Notes
    -----
    Source: arXiv 2312.10794, section 3.
    """
    density = _check_density("density", density)
    return DensityFlow(beta, model, len(density)).speed(density)


def density_energy(density, *, beta):
    """Scaled energy of a density, the double integral of exp(beta (cos(theta - phi) - 1)), in (0, 1].

    Parameters
    ----------
    density : array_like, shape (..., M)
        As `mean_field` takes and returns them.
    beta : float
        At least 0.

    Returns
    -------
    array or float, shape (...)
        The continuous counterpart of `scaled_energy`.
    """
    density = real_array("density", density, (..., None), axes="(..., M)")
    b, _ = kernel_coefficients(beta)
    M = density.shape[-1]
    modes = 2 * np.pi * np.fft.rfft(density)[..., : min(len(b), (M + 1) // 2)] / M
    weights = np.append(b[0], 2 * b[1:])[: modes.shape[-1]]
    return (np.abs(modes) ** 2 @ weights)[()]


def circle_quantiles(density, p):
    """Angles below which the shares p of a density lie, measured from angle 0.

    With p = (i + 1/2) / n, i = 0..n-1, they are a start for n tokens that follows the continuous limit far better than
    independent draws, for which p = rng.random(n).

    Parameters
    ----------
    density : array_like, shape (M,)
        As for `mean_field`, positive.
    p : array_like, shape (...)
        In [0, 1].

    Returns
    -------
    array or float, shape (...), in [0, 2 pi]
    """
    density, p = _check_density("density", density), real_array("p", p)
    if (p < 0).any() or (p > 1).any():
        raise ValueError(f"p must lie in [0, 1], got {p[(p < 0) | (p > 1)][0]:g}")
    modes = _modes(density)
    fine = 2 * np.pi * np.arange(OVERSAMPLING * len(density) + 1) / (OVERSAMPLING * len(density))
    share = _distribution(modes, fine)[0]
    if (np.diff(share) <= 0).any():
        raise ValueError("density must be positive, also between its points")
    cell = np.clip(np.searchsorted(share, p.ravel()) - 1, 0, len(fine) - 2)
    theta = np.interp(p.ravel(), share, fine)
    for _ in range(NEWTON_STEPS):
        value, slope = _distribution(modes, theta)
        theta = np.clip(theta - (value - p.ravel()) / slope, fine[cell], fine[cell + 1])
    return theta.reshape(p.shape)[()]


def circle_distance(theta, density):
    """Wasserstein distance W1, along the circle, of n tokens of mass 1/n to a density.

    Parameters
    ----------
    theta : array_like, shape (..., n)
        Angles of the tokens.
    density : array_like, shape (M,)
        As for `mean_field`.

    Returns
    -------
    array or float, shape (...)
        In radians, to about 1e-3 or, for thousands of tokens, 1 percent of its value.

    Notes
    -----
    The distance is the least integral of |F - G - c| over all constants c, for the distribution functions F and G
    from angle 0; the best c is the median. Here on a grid of 2^12 points.
    """
    theta, density = real_array("theta", theta, (..., None), axes="(..., n)"), _check_density("density", density)
    fine = 2 * np.pi * (np.arange(DISTANCE_POINTS) + 0.5) / DISTANCE_POINTS
    share = _distribution(_modes(density), fine)[0]
    rows = np.sort(theta % (2 * np.pi)).reshape(-1, theta.shape[-1])
    differences = (np.searchsorted(row, fine) / len(row) - share for row in rows)
    distances = [2 * np.pi * np.abs(row - np.median(row)).mean() for row in differences]
    return np.reshape(distances, theta.shape[:-1])[()]


class DensityFlow(CircleFlow):
    """The right-hand side -d(rho v)/dtheta on M points, shape (M, 1)."""

    def __init__(self, beta, model, M):
        super().__init__(beta, model)
        self.k = np.arange(M // 2 + 1)
        self.kept = self.k <= M // 3
        self.kernel, self.pull = (_fitted(c, len(self.k)) for c in (self.b, self.s / 2))

    def smooth(self, density):
        """The density without its upper third of modes."""
        return np.fft.irfft(np.fft.rfft(density) * self.kept)

    def speed(self, density):
        """The velocity v at the points."""
        modes = 2 * np.pi * np.fft.rfft(density)
        speed = np.fft.irfft(1j * self.pull * modes)
        return speed / np.fft.irfft(self.kernel * modes) if self.model == "sa" else speed

    def field(self, y):
        """Time derivative of the density y."""
        flux = np.fft.rfft(y[:, 0] * self.speed(y[:, 0]))
        return -np.fft.irfft(1j * self.k * self.kept * flux)[:, None]


def _fitted(coefficients, length):
    """Coefficients cut or continued by zeros."""
    return np.pad(coefficients, (0, max(0, length - len(coefficients))))[:length]


def _modes(density):
    """Modes 1, 2, ... of 2 pi rho."""
    return 2 * np.pi * np.fft.rfft(density)[1 : (len(density) + 1) // 2] / len(density)


def _distribution(modes, theta):
    """Distribution function and density at angles theta (points,), from modes 1, 2, ... of 2 pi rho."""
    k = np.arange(1, len(modes) + 1)
    powers = angle_powers(theta, len(k))
    value = theta + 2 * (((powers - 1) @ (modes / (1j * k))).real)
    return value / (2 * np.pi), (1 + 2 * (powers @ modes).real) / (2 * np.pi)


def _tail(density):
    """Size of the highest kept modes over the mean."""
    modes = np.abs(np.fft.rfft(density))
    top = density.shape[-1] // 3
    return modes[..., top - 2 : top + 1].max(-1) / modes[..., 0]


def _check_density(name, value):
    """A real, non-negative density on an even number of points with total mass 1, or ValueError."""
    density = real_array(name, value, (None,), axes="(M,)")
    if len(density) % 2 or len(density) < 16:
        raise ValueError(f"{name} must have an even number of points, at least 16, got {len(density)}")
    if (density < 0).any():
        raise ValueError(f"{name} must be non-negative, got {density.min():g}")
    mass = 2 * np.pi * density.mean()
    if abs(mass - 1) > 1e-9:
        raise ValueError(f"{name} must have total mass 1 (mean 1/(2 pi)), got {mass:.9g}")
    return density
