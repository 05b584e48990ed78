r"""Tokens on the circle (d = 2) as angles, with a force that costs O(n K) instead of O(n^2).

.. math:: \theta_i' = -\frac{1}{Z_i} \sum_j e^{\beta\cos(\theta_i - \theta_j)} \sin(\theta_i - \theta_j)
          \qquad \text{(SA)}

and USA with 1/n in place of 1/Z_i, the Kuramoto model at beta = 0. By the Jacobi-Anger expansion
:math:`e^{\beta\cos\varphi} = I_0(\beta) + 2\sum_k I_k(\beta) \cos k\varphi` the sums over j need the moments
:math:`C_k = \frac1n\sum_j e^{ik\theta_j}` only, for k up to some K that grows like sqrt(beta).

Source: the equations are in arXiv 2312.10794, section 6 (d = 2); the expansion is classical, its use here is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.meanfield.field import Flow
from attsvm_lib.meanfield.integrate import rk4
from attsvm_lib.meanfield.particles import check_times
from attsvm_lib.validation import positive, real_array

__all__ = [
    "AngleTrajectory",
    "angle_powers",
    "circle_energy",
    "circle_velocity",
    "kernel_coefficients",
    "order_parameter",
    "simulate_circle",
]

ROUNDING = 1e-16


@dataclass(frozen=True, eq=False)
class AngleTrajectory:
    """Angles at the requested times.

    Attributes
    ----------
    times : array, shape (times,)
        In the paper's time t.
    theta : array, shape (times, ..., n)
        Angles in radians, continuous in time: not reduced modulo 2 pi.
    error : array, shape (...)
        Sum of the estimated local errors of the run (pessimistic, as for `simulate`).
    """

    times: np.ndarray
    theta: np.ndarray
    error: np.ndarray


def circle_velocity(theta, *, beta, model="sa"):
    """Velocities theta_i' of tokens on the circle, by the Jacobi-Anger expansion.

    Parameters
    ----------
    theta : array_like, shape (..., n)
        Angles in radians.
    beta : float
        Inverse temperature, at least 0; 0 is the Kuramoto model.
    model : {"sa", "usa"}

    Returns
    -------
    array, shape (..., n)
        Exact to about 1e-15 of the largest possible force, exp(beta) for Z_i = 1; so forces between clusters that are
        smaller than this (metastable states at beta above about 16) drown: use `simulate` for those.

    Raises
    ------
    FloatingPointError
        When exp(beta) overflows (USA, beta above about 709).

    Notes
    -----
    Source: arXiv 2312.10794, section 6 (d = 2).
    """
    theta = real_array("theta", theta, (..., None), axes="(..., n)")
    flow = CircleFlow(beta, model)
    if not np.isfinite(flow.rate):
        raise FloatingPointError(f"the velocity of USA is too large for double precision at beta = {beta:g}")
    return flow.field(theta[..., None])[..., 0] * flow.rate


def simulate_circle(theta0, times, *, beta, model="sa", step=0.05):
    """Move tokens on the circle by fixed Runge-Kutta steps of order four.

    Parameters
    ----------
    theta0 : array_like, shape (..., n)
        Angles at time 0.
    times : array_like, shape (times,)
        Where to record, non-negative and in order, in the paper's time.
    beta, model
        As for `circle_velocity`.
    step : float
        Largest step, in t for SA, in s = t exp(beta) for USA.

    Returns
    -------
    AngleTrajectory

    Raises
    ------
    ValueError
        When an argument does not fit, or more than 5 million steps would be needed.
    FloatingPointError
        When t exp(beta) overflows (USA).

    Notes
    -----
    Source: arXiv 2312.10794, section 6 (d = 2).
    """
    theta0 = real_array("theta0", theta0, (..., None), axes="(..., n)")
    times, flow = check_times(times), CircleFlow(beta, model)
    run = rk4(flow, theta0[..., None], flow.inner_times(times), positive("step", step))
    return AngleTrajectory(times, run.states[..., 0], run.error)


def order_parameter(theta):
    """Kuramoto's order parameter mean_j exp(i theta_j): its modulus is 1 when all agree, its angle the mean direction.

    Parameters
    ----------
    theta : array_like, shape (..., n)

    Returns
    -------
    complex array or complex, shape (...)
    """
    theta = real_array("theta", theta, (..., None), axes="(..., n)")
    return np.exp(1j * theta).mean(-1)[()]


def kernel_coefficients(beta):
    r"""Fourier coefficients of the attention kernel and of its force, up to rounding.

    .. math:: e^{\beta(\cos\varphi - 1)} = b_0 + 2\sum_{k\ge1} b_k \cos k\varphi, \qquad
              e^{\beta(\cos\varphi - 1)} \sin\varphi = \sum_{k\ge1} s_k \sin k\varphi

    Parameters
    ----------
    beta : float
        At least 0.

    Returns
    -------
    b : array, shape (K + 1,)
        exp(-beta) I_k(beta) from k = 0 down to 1e-16 of b_0, K at least 1.
    s : array, shape (K + 1,)
        b_{k-1} - b_{k+1} = 2 k b_k / beta; s_0 = 0.
    """
    beta = positive("beta", beta, zero=True)
    points = 64 + 2 * int(20 * np.sqrt(beta))
    b = np.fft.rfft(np.exp(beta * (np.cos(2 * np.pi * np.arange(points) / points) - 1))).real / points
    K = max(2, int(np.argmax(b < ROUNDING * b[0])))
    b = np.where(b > ROUNDING * b[0], b, 0)[:K]
    padded = np.append(b, 0)
    return b, np.append(0, padded[:-2] - padded[2:])


def circle_energy(theta, *, beta):
    """Scaled energy mean_ij exp(beta (cos(theta_i - theta_j) - 1)) of tokens on the circle, in O(n K).

    Parameters
    ----------
    theta : array_like, shape (..., n)
        Angles in radians.
    beta : float
        Inverse temperature, at least 0.

    Returns
    -------
    array or float, shape (...)
        `scaled_energy` of the tokens, to rounding.
    """
    theta, (b, _) = real_array("theta", theta, (..., None), axes="(..., n)"), kernel_coefficients(beta)
    moments = angle_powers(theta, len(b) - 1).mean(-2)
    return (b[0] + 2 * np.abs(moments) ** 2 @ b[1:])[()]


def angle_powers(theta, K):
    """exp(i k theta) for k = 1..K, shape (..., n, K)."""
    powers = np.empty((*theta.shape, K), dtype=complex)
    powers[..., 0] = np.exp(1j * theta)
    done = 1
    while done < K:  # doubling: faster than K exponentials, and than a running product
        more = min(done, K - done)
        powers[..., done : done + more] = powers[..., :more] * powers[..., done - 1 : done]
        done += more
    return powers


class CircleFlow(Flow):
    """The field on angles, in the time in which `Flow` is integrated: t for SA, s = t exp(beta) for USA."""

    def __init__(self, beta, model):
        super().__init__(2, beta=beta, model=model)
        self.b, self.s = kernel_coefficients(self.beta)

    def field(self, y):
        """Velocities of angles y, shape (..., n, 1)."""
        powers = angle_powers(y[..., 0], len(self.b) - 1)
        moments = powers.mean(-2).conj()
        sums = powers @ (moments[..., None] * np.stack([self.s[1:], 2 * self.b[1:]], axis=-1))
        force = -sums[..., :1].imag
        return force / (self.b[0] + sums[..., 1:].real) if self.model == "sa" else force

    def normalize(self, y):
        """Angles need no normalizing."""
        return y
