r"""The inner products of tokens close among themselves: dynamics whose cost does not depend on d.

For Q = K = V = I the Gram matrix G_ij = <x_i, x_j> obeys

.. math:: \dot G = M G + G M^\top,\qquad M = W - \mathrm{diag}(r),\qquad r_i = (W G)_{ii},

with W the softmax of beta G along rows (SA) or exp(beta G)/n (USA). The diagonal stays 1 and the rank stays what it
was. Derived from arXiv 2312.10794, (SA) and (USA): multiply the equation of x_i by x_j and add the transposed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.meanfield.field import OFF_SPHERE, Flow
from attsvm_lib.meanfield.integrate import integrate
from attsvm_lib.meanfield.particles import Trajectory, check_options, check_times
from attsvm_lib.meanfield.symmetry import gram_symmetry, warn_of_symmetry
from attsvm_lib.validation import batch_axes, generator, integer, real_array

__all__ = ["GramFlow", "GramTrajectory", "check_gram", "random_gram", "simulate_gram"]


@dataclass(frozen=True, eq=False, repr=False)
class GramTrajectory:
    """Inner products at the requested times.

    Attributes
    ----------
    gram : array, shape (times, ..., n, n)
        `gram[k, ..., i, j]` is <x_i, x_j> at times[k].
    times, labels, error, evaluations
        As in `Trajectory`; the error is that of an entry of the Gram matrix.
    """

    times: np.ndarray
    gram: np.ndarray
    labels: np.ndarray
    error: np.ndarray
    evaluations: np.ndarray

    masses = Trajectory.masses
    __repr__ = Trajectory.__repr__


def random_gram(n, d, size, rng):
    """Gram matrices of n independent uniform points on the unit sphere of R^d, without drawing the points.

    Parameters
    ----------
    n, d : int
        Points and dimension, each at least 1; d may be a million, the cost is n^3 a matrix.
    size : int or tuple of int
        How many independent matrices; () for one without a batch axis.
    rng : numpy.random.Generator

    Returns
    -------
    array, shape (*size, n, n)
        Unit diagonal, positive semidefinite, rank min(n, d).

    Notes
    -----
    Bartlett's decomposition: a Gaussian n x d matrix has X X^T = L L^T in law, where L (n x min(n, d)) is lower
    triangular with independent entries, chi_{d-i} on the diagonal (i from 0) and standard normal below. The rows of L,
    normalized, are the points in rotated coordinates.
    """
    n, d = integer("n", n, 1), integer("d", d, 1)
    size = batch_axes("size", size if isinstance(size, tuple) else (integer("size", size, 1),))
    generator("rng", rng)
    k = min(n, d)
    L = np.tril(rng.standard_normal((*size, n, k)))
    diagonal = np.arange(k)
    L[..., diagonal, diagonal] = np.sqrt(rng.chisquare(d - diagonal, (*size, k)))
    L /= np.linalg.norm(L, axis=-1, keepdims=True)
    G = L @ L.swapaxes(-1, -2)
    G[..., np.arange(n), np.arange(n)] = 1.0
    return G


def simulate_gram(G0, times, *, beta, model="sa", method="adaptive", step=0.2, tol=1e-8, merge_tol=1e-6):
    """Inner products of tokens moved by self-attention with Q = K = V = I, at a cost that does not depend on d.

    Parameters
    ----------
    G0 : array_like, shape (..., n, n)
        Gram matrices at time 0: symmetric, unit diagonal, positive semidefinite, each to 1e-6. The result has the dtype
        of G0, float32 or float64.
    times, beta, model, method, step, tol, merge_tol
        As in `simulate`; tol bounds the local error of an inner product.

    Returns
    -------
    GramTrajectory

    Raises
    ------
    ValueError, FloatingPointError, ArithmeticError
        As `simulate`.

    Warns
    -----
    SymmetricStartWarning
        As `simulate`.
    """
    G0, times = check_gram(G0), check_times(times)
    flow = GramFlow(beta=beta, model=model)
    step, tol, merge_tol = check_options(method, step, tol, merge_tol)
    inner = flow.inner_times(times)
    warn_of_symmetry("G0", gram_symmetry(G0))
    run = integrate(flow, G0, inner, method, step, tol, merge_tol)
    return GramTrajectory(times, run.states.astype(G0.dtype, copy=False), run.labels, run.error, run.evaluations)


class GramFlow(Flow):
    """The vector field on Gram matrices; times and weights as for tokens with Q = K = V = I."""

    def __init__(self, *, beta, model):
        super().__init__(0, beta=beta, model=model)

    def normalize(self, y):
        """Unit diagonal again: G_ij / sqrt(G_ii G_jj)."""
        scale = 1 / np.sqrt(np.diagonal(y, axis1=-2, axis2=-1))
        return y * scale[..., :, None] * scale[..., None, :]

    def field(self, y, masses=None):
        """dG/dt = M G + (M G)^T at the normalized matrix, for masses (n,), 1/n by default."""
        G = self.normalize(y)
        W = self.exponentials(G.dtype.type(self.beta) * G)
        total = self.normalizer(W, masses)
        if masses is not None:
            W *= masses
        W /= total
        rate = W @ G
        rate -= np.vecdot(W, G)[..., None] * G
        return rate + rate.swapaxes(-1, -2)

    def gram(self, y):
        """The state itself."""
        return y

    def approach(self, y, slope, i, j):
        """Squared distances 2 (1 - G_ij) of tokens i and j, and half the rates at which these change."""
        return 2 * (1 - y[i, j]), -slope[i, j]

    def combine(self, mix, y):
        """Gram matrix of the normalized mixtures."""
        return self.normalize(mix @ y @ mix.T)

    def expand(self, y, label):
        """All pairs, from one row and column for each merged group."""
        return y[np.ix_(label, label)]


def check_gram(G0):
    """Return G0 (..., n, n) as an array, float32 when it was, or raise ValueError when it is no Gram matrix."""
    dtype = np.float32 if getattr(G0, "dtype", None) == np.float32 else np.float64
    G = real_array("G0", G0, (..., None, None), axes="(..., n, n)")
    if G.shape[-1] != G.shape[-2]:
        raise ValueError(f"G0 must have shape (..., n, n), got {G.shape}")
    off = np.abs(np.diagonal(G, axis1=-2, axis2=-1) - 1).max()
    if off > OFF_SPHERE:
        raise ValueError(f"G0 must have a unit diagonal, got a deviation of {off:.2g}")
    skew = np.abs(G - G.swapaxes(-1, -2)).max()
    if skew > OFF_SPHERE:
        raise ValueError(f"G0 must be symmetric, got a deviation of {skew:.2g}")
    least = np.linalg.eigvalsh(G).min()
    if least < -OFF_SPHERE * G.shape[-1]:
        raise ValueError(f"G0 must be positive semidefinite, got an eigenvalue of {least:.2g}")
    return G.astype(dtype)
