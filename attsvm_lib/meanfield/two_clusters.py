r"""Two clusters by hand: how long until they meet, and why that time is exponential in beta.

Point clusters of masses m and 1 - m at an angle phi obey, under SA,

.. math:: \dot\varphi = -\sin\varphi\,\Bigl(\frac{1 - m}{m\,e^{\beta(1 - \cos\varphi)} + 1 - m}
          + \frac{m}{(1 - m)\,e^{\beta(1 - \cos\varphi)} + m}\Bigr).

With x = log tan(phi/2), for which d phi / sin(phi) = dx and cos(phi) = -tanh(x), the time is the integral of one
smooth function. For large beta it is near

.. math:: T \approx \frac{m(1 - m)}{m^2 + (1 - m)^2} \cdot \frac{e^{\beta(1 - \cos\varphi)}}{\beta\sin^2\varphi}:

the barrier is 1 - cos(phi), at most 2. Derived here from arXiv 2312.10794, (SA).
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.meanfield.clusters import THRESHOLD
from attsvm_lib.validation import positive

__all__ = ["meeting_time"]

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


def meeting_time(angle, beta, *, mass=0.5, end=None):
    """Time until two point clusters under SA are closer than `end`.

    Parameters
    ----------
    angle : float
        Angle between them at time 0, in (0, pi), in radians.
    beta : float
        Inverse temperature, at least 0.
    mass : float
        Mass of one of them, in (0, 1); the other has the rest.
    end : float, optional
        Angle at which they count as one cluster, in (0, pi); that of `clusters` by default, arccos(0.999).

    Returns
    -------
    float
        In the paper's time, to about 12 digits; 0 when `angle` is not above `end`.

    Raises
    ------
    ValueError
        When an argument does not fit.
    FloatingPointError
        When the time overflows (beta above about 350).

    Notes
    -----
    Source: derived from arXiv 2312.10794, (SA), with n = 2 tokens of unequal mass.
    """
    angle, beta = _below("angle", angle, np.pi), positive("beta", beta, zero=True)
    mass, end = _below("mass", mass, 1.0), _below("end", np.arccos(THRESHOLD) if end is None else end, np.pi)
    begin, last = np.log(np.tan(end / 2)), np.log(np.tan(angle / 2))
    if last <= begin:
        return 0.0
    edges = np.linspace(begin, last, 2 + int((last - begin) * (4 + beta / 4)))
    half = np.diff(edges)[:, None] / 2
    x = edges[:-1, None] + half * (1 + NODES)
    with np.errstate(over="ignore"):
        E = np.exp(beta * (1 + np.tanh(x)))
        speed = (1 - mass) / (mass * E + 1 - mass) + mass / ((1 - mass) * E + mass)
    if not speed.all():
        raise FloatingPointError(f"the time overflows at beta = {beta:g}, angle = {angle:g}")
    return float((half * WEIGHTS / speed).sum())


def _below(name, value, high):
    number = positive(name, value)
    if not number < high:
        raise ValueError(f"{name} must lie strictly between 0 and {high:g}, got {value!r}")
    return number
