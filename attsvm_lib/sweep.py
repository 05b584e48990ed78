"""One experiment over many seeds: in blocks, on one core or on many, and resumed where it was interrupted.

A sweep cuts its seeds into blocks and hands each to joblib. By itself joblib runs them one after the other; the
same call uses more cores, or a cluster, inside a joblib context:

>>> import joblib
>>> with joblib.parallel_config(n_jobs=4):                      # doctest: +SKIP
...     local_convergence(seeds=range(1000))

>>> from dask.distributed import Client                         # doctest: +SKIP
>>> client = Client("tcp://scheduler:8786")                     # doctest: +SKIP
>>> with joblib.parallel_config(backend="dask"):                # doctest: +SKIP
...     local_convergence(seeds=range(1000))

The result is the same number for number: a seed's problem is drawn from a generator of its own, and neither the
block a seed falls in nor the machine that computes it changes what is done with it.

Where ATTSVM_CACHE names a folder (`attsvm_lib.cache`), each finished block is stored there, by its seeds, the
settings and the code. A sweep that was interrupted computes only the blocks that are missing. Workers on other
machines read the same variable; the folder must then be one that all of them share.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.progress import with_progress
from attsvm_lib.validation import integer, seed_sequence

__all__ = ["sweep"]


def sweep(block, seeds, *, size, progress=None, name=None, **settings):
    """Results of an experiment for many seeds, computed in blocks of `size` seeds.

    Parameters
    ----------
    block : function (seeds, **settings) -> tuple of arrays
        The experiment for a tuple of seeds, each array with one entry a seed along its first axis; a function of a
        module (workers import it), decorated by `cached` to make the sweep resume. What it returns for a seed must
        not depend on the other seeds of the block.
    seeds : sequence of int
        Different integers of at least 0.
    size : int
        Seeds a block, at least 1: large enough to share work, small enough for the processor's cache.
    progress : bool, optional
        Count finished blocks on stderr; by default only where stderr is a terminal.
    name : str, optional
        How that line calls the experiment; by default the name of `block`.
    **settings
        Hashable settings of the experiment, passed on to each block.

    Returns
    -------
    tuple of arrays
        Those of the blocks, joined along the first axis in the order of `seeds`.

    Raises
    ------
    ValueError
        When seeds or size do not fit.
    Exception
        What a block raises ends the sweep; finished blocks stay on disk.
    """
    from joblib import Parallel, delayed

    seeds, size = seed_sequence("seeds", seeds), integer("size", size, 1)
    blocks = [seeds[k : k + size] for k in range(0, len(seeds), size)]
    found = Parallel(return_as="generator")(delayed(block)(part, **settings) for part in blocks)
    name = name or block.__name__.strip("_")
    results = list(with_progress(found, len(blocks), name, progress))
    return tuple(np.concatenate(arrays) for arrays in zip(*results, strict=True))
