"""Results of heavy experiments on disk, so that the build of the book and its tests compute each of them once.

The cache is off unless the environment variable ATTSVM_CACHE names a folder. Results are keyed by the
experiment's settings *and* by the text of every module of the library that the experiment can reach by imports: a
change there starts afresh, a change elsewhere does not.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
from importlib.util import find_spec
from pathlib import Path

__all__ = ["cached", "reachable_modules", "text_hash"]

ROOT = Path(__file__).parent
LIBRARY = ROOT.name


def cached(experiment):
    """Decorate a function of hashable settings so that its result is stored in ATTSVM_CACHE, if that is set.

    A call raises ValueError when ATTSVM_CACHE is set but nothing can be stored there.
    """

    @functools.wraps(experiment)
    def call(*args, **settings):
        if not os.environ.get("ATTSVM_CACHE"):
            return experiment(*args, **settings)
        from joblib import Memory

        return Memory(_folder() / text_hash(experiment.__module__), verbose=0).cache(experiment)(*args, **settings)

    return call


@functools.cache
def text_hash(module):
    """Hash of the text of a module and of all it reaches in the library, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for name, path in sorted(reachable_modules(module).items()):
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def reachable_modules(module):
    """The module and those of the library that it imports, directly or not, anywhere in their text: name -> file.

    All of the library for a module outside it, and for one that imports the library's top level, whose names
    load lazily.
    """
    found, waiting = {}, {module}
    while waiting:
        name = waiting.pop()
        if name == LIBRARY or name.partition(".")[0] != LIBRARY:
            return {str(path.relative_to(ROOT)): path for path in ROOT.rglob("*.py")}
        found[name] = Path(find_spec(name).origin)
        waiting |= _imports(found[name].read_text(encoding="utf-8")) - set(found)
    return found


def _imports(text):
    """Names of the library's modules that a text imports."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {_module_of(node.module, alias.name) for alias in node.names}
    return {name for name in names if name.partition(".")[0] == LIBRARY}


def _module_of(module, name):
    """The module that `from module import name` loads: one below it, or itself."""
    inside = module.partition(".")[0] == LIBRARY and find_spec(module).submodule_search_locations
    return f"{module}.{name}" if inside and find_spec(f"{module}.{name}") else module


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
