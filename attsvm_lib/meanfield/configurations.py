r"""Optimal configurations of repelling tokens, and a lower bound that proves them optimal.

Tokens that repel (V = -I) let the energy mean_ij f(<x_i, x_j>), f(u) = exp(beta (u - 1)), fall. A polynomial h below
f on [-1, 1] whose coefficients h_k in the Gegenbauer polynomials of the sphere are not negative bounds it:

.. math:: \sum_{i\ne j} f(\langle x_i, x_j\rangle) \ge \sum_{i\ne j} h(\langle x_i, x_j\rangle) \ge n^2 h_0 - n\, h(1),

for each Gegenbauer polynomial has a non-negative sum over all pairs. The bound is attained by the simplex, the
cross-polytope and the icosahedron, for every beta.

Source: the configurations are those of arXiv 2312.10794 (general matrices, V = -I); the bound is Delsarte's and
Yudin's linear programming bound as in Cohn and Kumar, arXiv math/0607446.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import Polynomial

from attsvm_lib.validation import integer, positive, real_array

__all__ = ["cross_polytope", "energy_bound", "icosahedron", "simplex", "touching_polynomial"]


def simplex(d):
    """Vertices of the regular simplex, shape (d + 1, d): unit vectors with all inner products -1/d."""
    d = integer("d", d, 1)
    corners = np.eye(d + 1) - 1 / (d + 1)  # in the hyperplane of sum 0
    basis = np.linalg.svd(corners)[2][:d]
    x = corners @ basis.T
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def cross_polytope(d):
    """Vertices of the cross-polytope, shape (2 d, d): plus and minus the unit vectors of the axes."""
    d = integer("d", d, 1)
    return np.concatenate([np.eye(d), -np.eye(d)])


def icosahedron():
    """Vertices of the regular icosahedron, shape (12, 3), on the unit sphere; inner products -1 and +-1/sqrt(5)."""
    golden = (1 + np.sqrt(5)) / 2
    face = np.array([[0, s, t * golden] for s in (1, -1) for t in (1, -1)])
    return np.concatenate([np.roll(face, k, axis=1) for k in range(3)]) / np.sqrt(1 + golden**2)


def touching_polynomial(touches, *, beta):
    """The polynomial h of least degree that touches f(u) = exp(beta (u - 1)) from below on [-1, 1].

    It has the value and slope of f at the given inner products, at -1 the value only. It lies below f: f - h is a
    positive multiple of a product of squares and, with -1 among them, of u + 1.

    Parameters
    ----------
    touches : array_like, shape (k,)
        Different inner products in [-1, 1).
    beta : float
        Inverse temperature, positive.

    Returns
    -------
    numpy.polynomial.Polynomial
        Callable; `.coef` in powers of u.

    Notes
    -----
    Source: Cohn and Kumar, arXiv math/0607446, section 2 (Hermite interpolation) and section 5.
    """
    beta, touches = positive("beta", beta), real_array("touches", touches, (None,))
    if (touches < -1).any() or (touches >= 1).any() or len(set(touches.tolist())) < len(touches):
        raise ValueError(f"touches must be different numbers in [-1, 1), got {touches.tolist()}")
    inner = touches[touches > -1]
    powers = np.arange(len(touches) + len(inner))
    slopes = powers * inner[:, None] ** np.maximum(powers - 1, 0)
    values, rates = np.exp(beta * (touches - 1)), beta * np.exp(beta * (inner - 1))
    h = np.linalg.solve(np.vstack([touches[:, None] ** powers, slopes]), np.append(values, rates))
    return Polynomial(h)


def energy_bound(n, d, *, beta, touches):
    r"""Lower bound of the scaled energy of any n unit vectors in dimension d.

    .. math:: \mathcal E \ge h_0 + \frac1n \bigl(1 - h(1)\bigr)

    with h the `touching_polynomial` of `touches` and h_0 its mean over the sphere.

    Parameters
    ----------
    n : int
        Number of vectors, at least 2.
    d : int
        Dimension, at least 2.
    beta : float
        Inverse temperature, positive.
    touches : array_like, shape (k,)
        Different inner products in [-1, 1): those of the configuration that is to be optimal.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        When an argument does not fit.
    ArithmeticError
        When a Gegenbauer coefficient h_k, k >= 1, of h is negative: the bound does not hold for these inner products.

    Notes
    -----
    Source: Cohn and Kumar, arXiv math/0607446, sections 4 and 5.
    """
    n, d = integer("n", n, 2), integer("d", d, 2)
    h = touching_polynomial(touches, beta=beta)
    basis = np.zeros((len(h.coef), len(h.coef)))
    for k, p in enumerate(_gegenbauer(d, len(h.coef))):
        basis[: k + 1, k] = p.coef
    coefficients = np.linalg.solve(basis, h.coef)
    if (coefficients[1:] < -1e-12 * np.abs(coefficients).max()).any():
        raise ArithmeticError(f"the polynomial that touches at {list(touches)} has a negative coefficient")
    return float(coefficients[0] + (1 - h(1)) / n)


def _gegenbauer(d, count):
    """The first Gegenbauer polynomials of the sphere in R^d, 1 at u = 1."""
    u = Polynomial([0, 1])
    out = [Polynomial([1]), u]
    for k in range(1, count - 1):
        out.append(((2 * k + d - 2) * u * out[k] - k * out[k - 1]) / (k + d - 2))
    return out[:count]
