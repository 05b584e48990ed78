"""The book's scenes by name, one module a chapter: ``get("token_selection.drag_a_token")``.

NumPy only, and no widget package, so that a script, a test and a browser can ask for the same pictures.
"""

from __future__ import annotations

import importlib
import pkgutil

from attsvm_lib.scene import SceneFunction

__all__ = ["TOL", "get", "names"]

TOL = 1e-6
"""Largest error of a solver's step where only a picture is wanted: what it adds up to is not seen there."""


def names() -> list[str]:
    """The names of all scenes, sorted; imports each chapter's module."""
    out = []
    for module in pkgutil.iter_modules(__path__):
        found = vars(importlib.import_module(f"{__name__}.{module.name}")).items()
        out += [s.name for attribute, s in found if isinstance(s, SceneFunction) and not attribute.startswith("_")]
    return sorted(set(out))


def get(name: str) -> SceneFunction:
    """The scene called ``name`` (module, dot, function). ValueError when there is none."""
    module, _, function = name.rpartition(".") if isinstance(name, str) else ("", "", "")
    path = f"{__name__}.{module}"
    if module and "." not in module and module in {m.name for m in pkgutil.iter_modules(__path__)}:
        found = getattr(importlib.import_module(path), function, None)
        if isinstance(found, SceneFunction):
            return found
    raise ValueError(f"name must be one of {', '.join(names())}, got {name!r}")
