r"""The interaction energy of tokens and its growth along both models.

.. math:: E(x) = \frac{1}{2\beta n^2} \sum_{i,j} e^{\beta \langle x_i, x_j\rangle}

It grows along both: with :math:`Z_i = \sum_j e^{\beta\langle x_i, x_j\rangle}`,

.. math:: \text{USA:}\ \frac{dE}{dt} = \frac1n \sum_i |x_i'|^2, \qquad
          \text{SA:}\ \frac{dE}{dt} = \frac{1}{n^2} \sum_i Z_i |x_i'|^2.

The scaled energy :math:`2\beta e^{-\beta} E = \operatorname{mean}_{ij} e^{\beta(\langle x_i, x_j\rangle - 1)}` lies
in (0, 1] for every beta and is 1 exactly when all tokens agree; on a plateau of clusters it equals the sum of their
squared masses.

Source: arXiv 2312.10794, section 3; the identity for SA there holds in a modified metric, here in coordinates.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.meanfield.equiangular import MODELS
from attsvm_lib.meanfield.field import check_start
from attsvm_lib.validation import choice, positive

__all__ = ["dissipation", "energy", "scaled_dissipation", "scaled_energy"]


def energy(x, *, beta):
    """Interaction energy E = (1 / (2 beta n^2)) sum_ij exp(beta <x_i, x_j>).

    Parameters
    ----------
    x : array_like, shape (..., n, d)
        Unit vectors.
    beta : float
        Inverse temperature, positive.

    Returns
    -------
    array or float, shape (...), at most exp(beta) / (2 beta)

    Raises
    ------
    FloatingPointError
        When it overflows (beta above about 709): use `scaled_energy`.

    Notes
    -----
    Source: arXiv 2312.10794, section 3.
    """
    beta = positive("beta", beta)
    return _unscaled(scaled_energy(x, beta=beta) / (2 * beta), beta, "energy")


def scaled_energy(x, *, beta):
    """Scaled energy 2 beta exp(-beta) E = mean_ij exp(beta (<x_i, x_j> - 1)), in (0, 1] for every beta >= 0.

    Parameters as for `energy`, but beta = 0 is allowed and gives 1.

    Returns
    -------
    array or float, shape (...)
    """
    x, beta = check_start("x", x), positive("beta", beta, zero=True)
    return _weights(x, beta).mean((-2, -1))[()]


def dissipation(x, *, beta, model):
    """Rate dE/dt of the energy along a model, as the sum of squared speeds in its dissipation identity.

    Parameters
    ----------
    x : array_like, shape (..., n, d)
        Unit vectors.
    beta : float
        Inverse temperature, positive.
    model : {"sa", "usa"}
        USA gives (1/n) sum |x_i'|^2, SA gives (1/n^2) sum Z_i |x_i'|^2.

    Returns
    -------
    array or float, shape (...), never negative

    Raises
    ------
    FloatingPointError
        When it overflows (beta above about 709, for USA 354): use `scaled_dissipation`.

    Notes
    -----
    Source: arXiv 2312.10794, section 3.
    """
    beta, model = positive("beta", beta), choice("model", model, MODELS)
    rate = scaled_dissipation(x, beta=beta, model=model) / (2 * beta)
    return _unscaled(rate, beta if model == "sa" else 2 * beta, "dissipation")


def scaled_dissipation(x, *, beta, model):
    """Rate of `scaled_energy`: per unit of t along SA, per unit of s = t exp(beta) along USA.

    Parameters as for `dissipation`, but beta = 0 is allowed and gives 0.

    Returns
    -------
    array or float, shape (...), never negative
    """
    x, beta, model = check_start("x", x), positive("beta", beta, zero=True), choice("model", model, MODELS)
    weights, n = _weights(x, beta), x.shape[-2]
    pull = weights @ x
    pull = pull - (pull * x).sum(-1, keepdims=True) * x
    squares = (pull**2).sum(-1)
    normalizer = weights.sum(-1) if model == "sa" else n
    return (2 * beta / n**2 * (squares / normalizer).sum(-1))[()]


def _weights(x, beta):
    """exp(beta (<x_i, x_j> - 1)), at most 1 up to rounding."""
    return np.exp(beta * (x @ np.swapaxes(x, -1, -2) - 1))


def _unscaled(value, exponent, name):
    """value exp(exponent), or FloatingPointError."""
    with np.errstate(over="ignore"):
        value = value * np.exp(exponent)
    if not np.isfinite(value).all():
        raise FloatingPointError(f"the {name} is too large for double precision: use scaled_{name}")
    return value
