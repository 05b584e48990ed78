"""The papers' experiments, as functions of sizes and seeds that return arrays: one file each.

Each has a "quick" size (a minute at most, the default on Binder and in a browser) and a "full" one (the
papers' own, what the book prints and its claims use). Each problem draws from its own generator, seeded by the
experiment's seed and the problem's sizes, so that no result depends on the order of the others.
"""

from attsvm_lib.experiments.circle import (
    Oscillators,
    RandomMatrices,
    Repulsion,
    cross_ratios,
    kuramoto_law,
    moebius_start,
    oscillator_runs,
    random_matrices,
    repulsion,
)
from attsvm_lib.experiments.conditions import (
    EqualScoreRuns,
    FirstGradientRuns,
    equal_score_problem,
    equal_scores,
    first_gradient,
    first_margin,
)
from attsvm_lib.experiments.cones import ConeRuns, cone_runs
from attsvm_lib.experiments.leaders import LeaderRuns, groups, leader_runs
from attsvm_lib.experiments.local import (
    LocalAlignment,
    LocalRuns,
    local_alignment,
    local_convergence,
    local_problems,
    rounding_error,
)
from attsvm_lib.experiments.metastability import EarlyClusters, Staircase, early_clusters, log_times, staircase
from attsvm_lib.experiments.multi_token import MultiTokenStatistics, multi_token_convergence, multi_token_problem
from attsvm_lib.experiments.one_cluster import ProductRanges, half_space_share, pair_products, product_ranges
from attsvm_lib.experiments.overparameterization import Followed, Outcomes, follow, outcomes, overparameterization
from attsvm_lib.experiments.particles import (
    EnergyBalance,
    LayerErrors,
    LimitErrors,
    energy_balance,
    layer_errors,
    limit_errors,
    residual_layers,
    smooth_start,
)
from attsvm_lib.experiments.paths import (
    PathStatistics,
    WidthStatistics,
    path_problem,
    path_statistics,
    width_statistics,
)
from attsvm_lib.experiments.phase_diagram import PhaseDiagram, phase_diagram
from attsvm_lib.experiments.plane import PlaneRuns, plane_paths
from attsvm_lib.experiments.problems import default_size, random_problem
from attsvm_lib.experiments.quadratic import QuadraticStatistics, orthonormal_problem, quadratic_convergence
from attsvm_lib.experiments.ranks import RankStatistics, rank_statistics
from attsvm_lib.experiments.rates import RateRuns, rates
from attsvm_lib.experiments.separability import (
    feasible_sequences,
    half_feasible,
    separability,
    separability_threshold,
    set_separability,
)
from attsvm_lib.experiments.sequences import (
    SequentialCones,
    SequentialRuns,
    sequential_cones,
    sequential_descent,
    sequential_path,
    sequential_problem,
)

__all__ = [
    "ConeRuns",
    "EarlyClusters",
    "EnergyBalance",
    "EqualScoreRuns",
    "FirstGradientRuns",
    "Followed",
    "LayerErrors",
    "LeaderRuns",
    "LimitErrors",
    "LocalAlignment",
    "LocalRuns",
    "MultiTokenStatistics",
    "Oscillators",
    "Outcomes",
    "PathStatistics",
    "PhaseDiagram",
    "PlaneRuns",
    "ProductRanges",
    "QuadraticStatistics",
    "RandomMatrices",
    "RankStatistics",
    "RateRuns",
    "Repulsion",
    "SequentialCones",
    "SequentialRuns",
    "Staircase",
    "WidthStatistics",
    "cone_runs",
    "cross_ratios",
    "default_size",
    "early_clusters",
    "energy_balance",
    "equal_score_problem",
    "equal_scores",
    "feasible_sequences",
    "first_gradient",
    "first_margin",
    "follow",
    "groups",
    "half_feasible",
    "half_space_share",
    "kuramoto_law",
    "layer_errors",
    "leader_runs",
    "limit_errors",
    "local_alignment",
    "local_convergence",
    "local_problems",
    "log_times",
    "moebius_start",
    "multi_token_convergence",
    "multi_token_problem",
    "orthonormal_problem",
    "oscillator_runs",
    "outcomes",
    "overparameterization",
    "pair_products",
    "path_problem",
    "path_statistics",
    "phase_diagram",
    "plane_paths",
    "product_ranges",
    "quadratic_convergence",
    "random_matrices",
    "random_problem",
    "rank_statistics",
    "rates",
    "repulsion",
    "residual_layers",
    "rounding_error",
    "separability",
    "separability_threshold",
    "sequential_cones",
    "sequential_descent",
    "sequential_path",
    "sequential_problem",
    "set_separability",
    "smooth_start",
    "staircase",
    "width_statistics",
]
