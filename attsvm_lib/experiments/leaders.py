r"""Leaders: tokens off the sphere, their attention matrix over time, and hyperplanes.

Source: arXiv 2305.05465.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.meanfield import attention_rank, components, leaders, simulate_unprojected
from attsvm_lib.validation import integer, positive, real_array, seed_sequence

__all__ = ["LeaderRuns", "groups", "leader_runs"]

NEAR = 0.01
"""Rescaled tokens are one cluster when a chain of steps shorter than this share of the first diameter joins them."""


class LeaderRuns(NamedTuple):
    """Tokens off the sphere from Gaussian starts; arrays of shape (times, seeds) but for the last three.

    rank, leaders : int
        `attention_rank` of P and number of `leaders`, both with tolerance 1e-3.
    clusters : int
        Groups of rescaled tokens.
    sheets : int
        Groups of their first coordinates.
    sharp : bool
        Whether each row of P is 0-1 up to 1e-3.
    exposed : array of bool, shape (seeds,)
        Whether at the last time <c, c> > <c, c'> for the means c, c' of any two clusters; each c is then a vertex of
        the polytope of the means.
    z : array, shape (seeds, n, d)
        Rescaled tokens at the last time.
    ranks : array of int, shape (cuts, times, seeds)
        `attention_rank` of P at each of the requested cuts.
    """

    rank: np.ndarray
    leaders: np.ndarray
    clusters: np.ndarray
    sheets: np.ndarray
    sharp: np.ndarray
    exposed: np.ndarray
    z: np.ndarray
    ranks: np.ndarray


@cached
def leader_runs(n, d, times, *, seeds=range(20), spectrum=None, agree=1.0, offset=0.0, step=0.05, cuts=()):
    """Move tokens by self-attention without projection and watch their attention matrix.

    Parameters
    ----------
    n, d : int
        Tokens and their dimension.
    times : sequence of float
        Non-negative, in order.
    seeds : sequence of int
        Start k draws standard Gaussian tokens from the generator of (k, n, d).
    spectrum : sequence of d floats, optional
        Eigenvalues of V, a diagonal matrix; all 1 by default.
    agree : float
        K = agree I; negative values let tokens attend to their opposites. Q = I.
    offset : float
        Added to the first coordinate of each token at the start.
    step : float
        Largest Runge-Kutta step.
    cuts : sequence of float
        Tolerances of `ranks`, between 0 and 1/2.

    Returns
    -------
    LeaderRuns

    Notes
    -----
    Source: arXiv 2305.05465: V = I, tokens on a line, and V with one positive eigenvalue.
    """
    n, d, seeds = integer("n", n, 2), integer("d", d, 1), seed_sequence("seeds", seeds)
    V = np.diag(np.ones(d) if spectrum is None else real_array("spectrum", spectrum, (d,)))
    x0 = np.stack([np.random.default_rng([k, n, d]).standard_normal((n, d)) for k in seeds])
    x0[..., 0] += float(real_array("offset", offset, ()))
    run = simulate_unprojected(x0, times, V=V, K=float(real_array("agree", agree, ())) * np.eye(d), step=step)
    first = np.stack([_diameter(x) for x in x0])
    return LeaderRuns(
        rank=attention_rank(run.attention),
        leaders=leaders(run.attention).sum(-1),
        clusters=groups(run.z, NEAR * first).max(-1) + 1,
        sheets=groups(run.z[..., :1], NEAR * first).max(-1) + 1,
        sharp=(run.attention.max(-1) > 1 - 1e-3).all(-1),
        exposed=np.array([_exposed(z, NEAR * size) for z, size in zip(run.z[-1], first, strict=True)]),
        z=run.z[-1],
        ranks=np.array([attention_rank(run.attention, tol=cut) for cut in cuts]),
    )


def groups(z, near):
    """Group of each token, numbered 0, 1, ...: tokens closer than `near` are joined, chains included.

    Parameters
    ----------
    z : array_like, shape (..., n, d)
    near : float or array
        Positive distance, or one for each system.

    Returns
    -------
    array of int, shape (..., n)
    """
    z, near = real_array("z", z, (..., None, None), axes="(..., n, d)"), real_array("near", near)
    positive("near", near.min())
    gap = np.linalg.norm(z[..., :, None, :] - z[..., None, :, :], axis=-1)
    return components(gap < near[..., None, None])


def _diameter(x):
    return np.linalg.norm(x[:, None] - x, axis=-1).max()


def _exposed(z, near):
    label = groups(z, near)
    means = np.stack([z[label == k].mean(0) for k in range(label.max() + 1)])
    products = means @ means.T
    return bool((products.argmax(1) == np.arange(len(means))).all())
