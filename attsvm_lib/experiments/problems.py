"""What experiments share: their size here, and random problems that depend on nothing but their own seeds."""

from __future__ import annotations

import os
import sys

import numpy as np

from attsvm_lib.data import TokenData, random_data, random_direction
from attsvm_lib.heads import LinearHead
from attsvm_lib.selection import optimal_tokens, scores
from attsvm_lib.validation import choice, integer

__all__ = ["default_size", "how_many", "random_problem", "stacked"]


def default_size():
    """The size of experiments here: "quick" on Binder, in a browser or where ATTSVM_SIZE says so, else "full"."""
    if "ATTSVM_SIZE" in os.environ:
        return choice("ATTSVM_SIZE", os.environ["ATTSVM_SIZE"], ("quick", "full"))
    return "quick" if "BINDER_LAUNCH_HOST" in os.environ or sys.platform == "emscripten" else "full"


def how_many(size, quick, full, *, least=1):
    """Systems to draw: those of size "quick" or "full" (None: of `default_size`), or an integer of at least `least`."""
    if size is None or isinstance(size, str):
        size = default_size() if size is None else choice("size", size, ("quick", "full"))
        return quick if size == "quick" else full
    return integer("size", size, least)


def random_problem(n, T, d, *, seed, index=0, selection="optimal", **kind):
    """Data with unit tokens and queries, and the tokens to select: (data, alpha).

    `selection` is "optimal" (the optimal tokens of a random head) or "random" (any tokens). The generator is
    seeded by (seed, n, T, d, index); other arguments go to `random_data`.
    """
    choice("selection", selection, ("random", "optimal"))
    n, T, d, seed = integer("n", n, 1), integer("T", T, 1), integer("d", d, 1), integer("seed", seed, 0)
    rng = np.random.default_rng([seed, n, T, d, index])
    data = random_data(n, T, d, rng=rng, **kind)
    if selection == "random":
        return data, rng.integers(T, size=n)
    return data, optimal_tokens(scores(data, random_direction(d, rng=rng)))


def stacked(problems):
    """One batch, (TokenData, LinearHead) with batch axis (s,), of s pairs (data, head) of equal sizes."""
    X, Z, Y, v = (np.stack(u) for u in zip(*[(one.X, one.Z, one.Y, head.v) for one, head in problems], strict=True))
    return TokenData(X, Z, Y), LinearHead(v)
