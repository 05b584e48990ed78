"""Tokens as interacting particles on the sphere: layers are time (arXiv 2312.10794).

Names are imported here at once, not on first use: a function may then share its module's name. NumPy only; SciPy is
imported inside the functions that need it.
"""

from attsvm_lib.meanfield.clusters import cluster_labels, clusters, components, gram_clusters
from attsvm_lib.meanfield.energy import dissipation, energy, scaled_dissipation, scaled_energy
from attsvm_lib.meanfield.equiangular import equiangular, log_transition_time, transition_time
from attsvm_lib.meanfield.field import velocity
from attsvm_lib.meanfield.gram import GramTrajectory, random_gram, simulate_gram
from attsvm_lib.meanfield.halfspace import wendel
from attsvm_lib.meanfield.pairs import pair_fraction, pair_fraction_gram
from attsvm_lib.meanfield.particles import Trajectory, simulate
from attsvm_lib.meanfield.symmetry import SymmetricStartWarning

__all__ = [
    "GramTrajectory",
    "SymmetricStartWarning",
    "Trajectory",
    "cluster_labels",
    "clusters",
    "components",
    "dissipation",
    "energy",
    "equiangular",
    "gram_clusters",
    "log_transition_time",
    "pair_fraction",
    "pair_fraction_gram",
    "random_gram",
    "scaled_dissipation",
    "scaled_energy",
    "simulate",
    "simulate_gram",
    "transition_time",
    "velocity",
    "wendel",
]
