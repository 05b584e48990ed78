"""Transformers as support vector machines: the library behind the book.

Names load on first use, so that `import attsvm_lib` needs NumPy only; widgets, figures and SciPy load when asked for.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    "attsvm_lib.data": ("TokenData", "random_data", "random_direction"),
    "attsvm_lib.selection": ("TieError", "correlation", "locally_optimal", "optimal_tokens", "scores"),
    "attsvm_lib.constraints": ("Rows", "sequential_rows", "set_rows", "token_rows"),
    "attsvm_lib.svm": (
        "ConvergenceError",
        "InfeasibleError",
        "Solution",
        "att_svm",
        "gen_svm",
        "separable",
        "sequential_svm",
    ),
    "attsvm_lib.heads": (
        "LinearHead",
        "QuadraticHead",
        "ReluHead",
        "hull_projection",
        "optimal_attention",
        "simplex_projection",
    ),
    "attsvm_lib.attention": ("gradient", "gradient_kq", "loss"),
    "attsvm_lib.sequences": ("PositionHead", "sequence_data"),
    "attsvm_lib.training": ("random_start", "train"),
    "attsvm_lib.regularization": ("predicted_constant", "regularization_path"),
    "attsvm_lib.explore": ("Explorable",),
    "attsvm_lib.figures": ("draw",),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_WHERE)


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module 'attsvm_lib' has no attribute {name!r}")
    return getattr(import_module(_WHERE[name]), name)


def __dir__():
    return sorted([*globals(), *__all__])
