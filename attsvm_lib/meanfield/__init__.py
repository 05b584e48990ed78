"""Tokens as interacting particles on the sphere: layers are time (arXiv 2312.10794).

Names are imported here at once, not on first use: a function may then share its module's name. NumPy only; SciPy is
imported inside the functions that need it.
"""

__all__ = []
