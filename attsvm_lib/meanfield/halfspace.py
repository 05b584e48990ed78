"""How likely do random tokens lie in one half-space? Wendel's exact formula."""

from __future__ import annotations

from attsvm_lib.validation import integer

__all__ = ["wendel"]


def wendel(n, d):
    r"""Probability that n uniform points on the unit sphere of R^d lie in some open half-space.

    .. math:: P(n, d) = 2^{-(n-1)} \sum_{k=0}^{d-1} \binom{n-1}{k}

    Parameters
    ----------
    n, d : int
        Number of points and dimension, at least 1.

    Returns
    -------
    float in [0, 1]
        The exact rational number, rounded once; 1 exactly for n <= d.

    Notes
    -----
    Holds for every distribution that is symmetric about the origin and puts any d points in general position.
    Source: Wendel (1962), as used in arXiv 2312.10794, section 4.
    """
    n, d = integer("n", n, 1), integer("d", d, 1)
    term = total = 1  # integers, so the sum is exact
    for k in range(1, min(d, n)):
        term = term * (n - k) // k
        total += term
    return total / 2 ** (n - 1)
