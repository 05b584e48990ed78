"""Explorables: scenes as widgets that work on a page without a kernel, and compute any value with one.

The widget package loads when `Explorable` is asked for: `attsvm_lib.explore.live` also runs where there is none.
"""

__all__ = ["Explorable"]


def __getattr__(name):
    if name == "Explorable":
        from attsvm_lib.explore.widget import Explorable

        return Explorable
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
