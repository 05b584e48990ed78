"""Tokens as interacting particles on the sphere: layers are time (arXiv 2312.10794).

Names are imported here at once, not on first use: a function may then share its module's name. NumPy only; SciPy is
imported inside the functions that need it.
"""

from attsvm_lib.meanfield.field import velocity
from attsvm_lib.meanfield.gram import GramTrajectory, random_gram, simulate_gram
from attsvm_lib.meanfield.particles import Trajectory, simulate
from attsvm_lib.meanfield.symmetry import SymmetricStartWarning

__all__ = [
    "GramTrajectory",
    "SymmetricStartWarning",
    "Trajectory",
    "random_gram",
    "simulate",
    "simulate_gram",
    "velocity",
]
