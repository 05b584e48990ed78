"""Matplotlib figures: `draw` for any scene, and the chapters' figures from arrays of experiments."""

from attsvm_lib.figures.circle import attention_figure, bound_figure, leader_figure, order_figure, settling_figure
from attsvm_lib.figures.gen_svm import curvature_figure, masked_figure, multi_token_figure
from attsvm_lib.figures.global_convergence import outcome_figure, plane_figure, rate_figure
from attsvm_lib.figures.local import factor_figure, local_figure, rounding_figure
from attsvm_lib.figures.margins import path_figure, rank_figure, width_figure
from attsvm_lib.figures.metastability import cluster_curves, early_cluster_figure, energy_staircase, merger_figure
from attsvm_lib.figures.one_cluster import (
    concentration_figure,
    contraction_figure,
    half_space_figure,
    histogram_figure,
    phase_figure,
)
from attsvm_lib.figures.particles import energy_figure, layers_figure, limit_figure
from attsvm_lib.figures.scene_figure import draw
from attsvm_lib.figures.separability import separability_curves
from attsvm_lib.figures.sequences import alignment_figure
from attsvm_lib.figures.style import book_style

__all__ = [
    "alignment_figure",
    "attention_figure",
    "book_style",
    "bound_figure",
    "cluster_curves",
    "concentration_figure",
    "contraction_figure",
    "curvature_figure",
    "draw",
    "early_cluster_figure",
    "energy_figure",
    "energy_staircase",
    "factor_figure",
    "half_space_figure",
    "histogram_figure",
    "layers_figure",
    "leader_figure",
    "limit_figure",
    "local_figure",
    "masked_figure",
    "merger_figure",
    "multi_token_figure",
    "order_figure",
    "outcome_figure",
    "path_figure",
    "plane_figure",
    "phase_figure",
    "rank_figure",
    "rate_figure",
    "rounding_figure",
    "separability_curves",
    "settling_figure",
    "width_figure",
]
