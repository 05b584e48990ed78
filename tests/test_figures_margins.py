"""The figures of chapter 2 carry the numbers of their experiments."""

import numpy as np
import pytest

from attsvm_lib.experiments import PathStatistics, RankStatistics, WidthStatistics
from attsvm_lib.figures import path_figure, rank_figure, width_figure

pytestmark = pytest.mark.usefixtures("no_window")


def texts(figure):
    return [t.get_text() for legend in figure.legends for t in legend.get_texts()]


def test_mean_ranks_of_both_norms_are_drawn_and_sizes_without_problems_left_out():
    some = RankStatistics(np.array([5, 5]), np.array([2, 3]), 2)
    none = RankStatistics(np.zeros(0, int), np.zeros(0, int), 9)
    panels = {"T = 5": {"n = 5": [none, some], "n = 15": [some, some]}, "n = 5": {"T = 5": [some, some]}}
    figure = rank_figure([3, 5], panels)
    frobenius, nuclear, other, _ = figure.axes[0].lines
    np.testing.assert_array_equal(frobenius.get_ydata(), [np.nan, 5])
    np.testing.assert_array_equal(nuclear.get_ydata(), [np.nan, 2.5])
    assert frobenius.get_markerfacecolor() != nuclear.get_markerfacecolor()
    assert frobenius.get_linestyle() != nuclear.get_linestyle()
    assert frobenius.get_marker() != other.get_marker()
    # both are SVM directions, which are black in this book
    assert {one.get_color() for one in figure.axes[0].lines} == {"black"}
    assert texts(figure) == ["Frobenius, W_mm", "nuclear, W*_mm"]


def test_paths_are_drawn_over_their_constants_beside_the_prediction():
    radii, constant = np.array([10.0, 100.0]), np.array([2.0, 4.0])
    distance = constant[:, None] / radii
    path = PathStatistics(distance, distance**2 / 2, constant, np.zeros((2, 2)), *[np.ones((2, 2), bool)] * 2)
    figure = path_figure(radii, {"cross": {"W": path, "KQ": path}, "self": {"W": path}})
    for line in figure.axes[0].lines:
        np.testing.assert_allclose(line.get_ydata(), 1 / radii)
    assert [len(ax.lines) for ax in figure.axes] == [5, 3]
    assert texts(figure) == ["W", "(K, Q)", "1/R, predicted"]


def test_widths_are_counted_from_the_rank_and_each_data_set_has_its_own_look():
    found = WidthStatistics(np.array([[0.5, 0.1]]), np.array([[-1.0, 0.9]]), np.array([2]))
    sets = [("cross", 5, 5), ("cross", 15, 5), ("cross", 5, 15), ("self", 5, 5), ("self", 15, 5)]
    figure = width_figure([1, 2], dict.fromkeys(sets, found))
    lines = figure.axes[0].lines[:5]
    for drawn in lines:
        np.testing.assert_allclose(np.round(drawn.get_xdata()), [-1, 0])
        np.testing.assert_array_equal(drawn.get_ydata(), [0.5, 0.1])
    assert len({(drawn.get_marker(), drawn.get_markerfacecolor()) for drawn in lines}) == 5
    assert lines[0].get_marker() == lines[3].get_marker()
    assert texts(figure)[:2] == ["cross, n = 5, T = 5", "cross, n = 15, T = 5"]


def test_panels_are_stacked_for_narrow_screens():
    found = WidthStatistics(np.array([[0.5, 0.1]]), np.array([[-1.0, 0.9]]), np.array([2]))
    top, bottom = (ax.get_position() for ax in width_figure([1, 2], {("cross", 5, 5): found}).axes)
    assert top.x0 == bottom.x0
    assert top.y0 > bottom.y1
