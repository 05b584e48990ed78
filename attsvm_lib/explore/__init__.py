"""Explorables: scenes as widgets that work on a page without a kernel, and compute any value with one."""

from attsvm_lib.explore.widget import Explorable

__all__ = ["Explorable"]
