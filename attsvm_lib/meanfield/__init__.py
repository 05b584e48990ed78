"""Tokens as interacting particles on the sphere: layers are time (arXiv 2312.10794).

Names are imported here at once, not on first use: a function may then share its module's name. NumPy only; SciPy is
imported inside the functions that need it.
"""

from attsvm_lib.meanfield.circle import (
    AngleTrajectory,
    circle_energy,
    circle_velocity,
    kernel_coefficients,
    order_parameter,
    simulate_circle,
)
from attsvm_lib.meanfield.clusters import cluster_labels, clusters, components, gram_clusters
from attsvm_lib.meanfield.configurations import (
    cross_polytope,
    energy_bound,
    icosahedron,
    simplex,
    touching_polynomial,
)
from attsvm_lib.meanfield.density import (
    DensityTrajectory,
    circle_distance,
    circle_grid,
    circle_quantiles,
    density_energy,
    density_velocity,
    mean_field,
)
from attsvm_lib.meanfield.energy import dissipation, energy, scaled_dissipation, scaled_energy
from attsvm_lib.meanfield.equiangular import equiangular, log_transition_time, transition_time
from attsvm_lib.meanfield.field import velocity
from attsvm_lib.meanfield.gram import GramTrajectory, random_gram, simulate_gram
from attsvm_lib.meanfield.halfspace import wendel
from attsvm_lib.meanfield.linearization import fastest_mode, growth_rates
from attsvm_lib.meanfield.pairs import pair_fraction, pair_fraction_gram
from attsvm_lib.meanfield.particles import Trajectory, simulate
from attsvm_lib.meanfield.symmetry import SymmetricStartWarning
from attsvm_lib.meanfield.two_clusters import meeting_time
from attsvm_lib.meanfield.unprojected import UnprojectedTrajectory, attention_rank, leaders, simulate_unprojected

__all__ = [
    "AngleTrajectory",
    "DensityTrajectory",
    "GramTrajectory",
    "SymmetricStartWarning",
    "Trajectory",
    "UnprojectedTrajectory",
    "attention_rank",
    "circle_distance",
    "circle_energy",
    "circle_grid",
    "circle_quantiles",
    "circle_velocity",
    "cluster_labels",
    "clusters",
    "components",
    "cross_polytope",
    "density_energy",
    "density_velocity",
    "dissipation",
    "energy",
    "energy_bound",
    "equiangular",
    "fastest_mode",
    "gram_clusters",
    "growth_rates",
    "icosahedron",
    "kernel_coefficients",
    "leaders",
    "log_transition_time",
    "mean_field",
    "meeting_time",
    "order_parameter",
    "pair_fraction",
    "pair_fraction_gram",
    "random_gram",
    "scaled_dissipation",
    "scaled_energy",
    "simplex",
    "simulate",
    "simulate_circle",
    "simulate_gram",
    "simulate_unprojected",
    "touching_polynomial",
    "transition_time",
    "velocity",
    "wendel",
]
