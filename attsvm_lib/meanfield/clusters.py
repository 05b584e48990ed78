"""Clusters of tokens: connected components of the graph that joins tokens of nearly equal direction.

The number of components, not the rank of the thresholded matrix: a chain of three tokens is one cluster, but its
matrix has rank three.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.meanfield.field import check_start
from attsvm_lib.validation import real_array

__all__ = ["THRESHOLD", "cluster_labels", "clusters", "components", "gram_clusters"]

THRESHOLD = 1 - 1e-3
"""Tokens are joined when their inner product exceeds this: they are less than 2.6 degrees apart."""


def clusters(x, *, threshold=THRESHOLD):
    """Number of clusters: connected components of the graph joining i and j when <x_i, x_j> > threshold.

    Parameters
    ----------
    x : array_like, shape (..., n, d)
        Unit vectors.
    threshold : float
        Strictly between -1 and 1; 0.999 as in the paper's phase diagrams.

    Returns
    -------
    array of int or int, shape (...), in 1..n

    Notes
    -----
    Source: the threshold is that of the phase diagrams of arXiv 2312.10794, section 5.
    """
    return _count(cluster_labels(x, threshold=threshold))


def cluster_labels(x, *, threshold=THRESHOLD):
    """Cluster of each token, numbered 0, 1, ... in the order of the clusters' first tokens.

    Parameters as for `clusters`.

    Returns
    -------
    array of int, shape (..., n)
    """
    x, threshold = check_start("x", x), _inner_product("threshold", threshold)
    return components(x @ np.swapaxes(x, -1, -2) > threshold)


def gram_clusters(G, *, threshold=THRESHOLD):
    """Number of clusters as in `clusters`, from the Gram matrices G_ij = <x_i, x_j> of shape (..., n, n)."""
    G = _square(real_array("G", G, (..., None, None), axes="(..., n, n)"))
    return _count(components(G > _inner_product("threshold", threshold)))


def components(adjacent):
    """Connected components of undirected graphs on n nodes.

    Parameters
    ----------
    adjacent : array_like of bool, shape (..., n, n)
        Symmetric; the diagonal is taken as true.

    Returns
    -------
    array of int, shape (..., n)
        Component of each node, numbered 0, 1, ... in the order of the components' first nodes.
    """
    adjacent = np.asarray(adjacent)
    if adjacent.dtype != bool or adjacent.ndim < 2:
        given = f"{adjacent.dtype} {adjacent.shape}"
        raise ValueError(f"adjacent must be a boolean array of shape (..., n, n), got {given}")
    adjacent = _square(adjacent, "adjacent") | np.eye(adjacent.shape[-1], dtype=bool)
    if not (adjacent == np.swapaxes(adjacent, -1, -2)).all():
        raise ValueError("adjacent must be symmetric")
    nodes = np.arange(adjacent.shape[-1])
    first = np.broadcast_to(nodes, adjacent.shape[:-1])  # the smallest node known to be in the same component
    while True:
        reached = np.where(adjacent, first[..., None, :], len(nodes)).min(-1)
        reached = np.take_along_axis(reached, reached, -1)
        if (reached == first).all():
            break
        first = reached
    number = (first == nodes).cumsum(-1) - 1
    return np.take_along_axis(number, first, -1)


def _count(labels):
    return (labels.max(-1) + 1)[()]


def _square(array, name="G"):
    if array.shape[-1] != array.shape[-2] or not array.shape[-1]:
        raise ValueError(f"{name} must have shape (..., n, n), got {array.shape}")
    return array


def _inner_product(name, value):
    number = float(real_array(name, value, ()))
    if not -1 < number < 1:
        raise ValueError(f"{name} must lie strictly between -1 and 1, got {value!r}")
    return number
