r"""How fast ripples grow on the uniform circle: the linear stage that decides how many clusters form first.

A density (1 + a cos k theta) / (2 pi) on the circle has, to first order in a, a' = lambda_k a with

.. math:: \lambda_k = \frac{k^2\, I_k(\beta)}{\beta\, I_0(\beta)} \quad\text{(SA)}, \qquad
          \lambda_k = \frac{k^2\, I_k(\beta)}{\beta} \quad\text{(USA)},

I_k the modified Bessel functions. For large beta and k this is near k^2 exp(-k^2 / (2 beta)) / beta, largest at
k = sqrt(2 beta), with the value 2/e. Derived here from arXiv 2312.10794, section 6 (the circle); the paper has the
exponent 1/2 only.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.meanfield.circle import kernel_coefficients
from attsvm_lib.validation import integer, positive

__all__ = ["fastest_mode", "growth_rates"]


def growth_rates(beta, modes):
    """Growth rates lambda_k, k = 0..modes, of ripples cos(k theta) on the uniform circle under SA.

    Parameters
    ----------
    beta : float
        Inverse temperature, at least 0.
    modes : int
        Largest wave number k, at least 1.

    Returns
    -------
    array, shape (modes + 1,)
        Per unit of time t; lambda_0 = 0 (mass is conserved). Rates below 1e-16 of the largest are 0. For USA multiply
        by I_0(beta).

    Notes
    -----
    Source: derived from arXiv 2312.10794, section 6.
    """
    beta, modes = positive("beta", beta, zero=True), integer("modes", modes, 1)
    rates = np.zeros(modes + 1)
    if beta == 0:  # I_k(beta) / beta tends to 1/2 for k = 1 and to 0 above
        rates[1] = 0.5
        return rates
    b, _ = kernel_coefficients(beta)
    k = np.arange(min(len(b), modes + 1))
    rates[k] = k**2 * b[k] / (beta * b[0])
    return rates


def fastest_mode(beta):
    """The wave number k of the largest growth rate, near sqrt(2 beta): the ripple that wins from a uniform start.

    beta: at least 0. Returns an int; the smaller one when two rates tie.
    """
    return int(growth_rates(beta, 8 + 2 * int(np.sqrt(2 * positive("beta", beta, zero=True)))).argmax())
