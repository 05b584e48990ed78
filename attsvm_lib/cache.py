"""Results of heavy experiments on disk, so that the build of the book and its tests compute each of them once.

The cache is off unless the environment variable ATTSVM_CACHE names a folder. Results are keyed by the
experiment's settings *and* by the text of the whole library: any change of the code starts afresh.
"""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path

__all__ = ["cached", "library_hash"]


def library_hash():
    """Hash of every Python file of the library, 16 hexadecimal digits."""
    root, digest = Path(__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cached(experiment):
    """Decorate a function of hashable settings so that its result is stored in ATTSVM_CACHE, if that is set.

    A call raises ValueError when ATTSVM_CACHE is set but nothing can be stored there.
    """

    @functools.wraps(experiment)
    def call(*args, **settings):
        if not os.environ.get("ATTSVM_CACHE"):
            return experiment(*args, **settings)
        from joblib import Memory

        return Memory(_folder() / library_hash(), verbose=0).cache(experiment)(*args, **settings)

    return call


def _folder():
    """The folder that ATTSVM_CACHE names, made if it is not there; ValueError when nothing can be stored in it."""
    folder = Path(os.environ["ATTSVM_CACHE"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        usable = os.access(folder, os.R_OK | os.W_OK | os.X_OK)
    except (OSError, ValueError):  # a file is in the way, no permission, or no path at all
        usable = False
    if not usable:
        raise ValueError(
            f"ATTSVM_CACHE must name a folder in which files can be stored, or be unset; got {str(folder)!r}"
        )
    return folder
