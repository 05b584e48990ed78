"""The figures of chapter 2 carry the numbers of their experiments."""

import numpy as np
import pytest

from attsvm_lib.experiments import PathStatistics, RankStatistics, WidthStatistics
from attsvm_lib.figures import path_figure, rank_figure, width_figure


@pytest.fixture(autouse=True)
def no_window():
    """Draw without a display and close every figure afterwards."""
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    yield
    plt.close("all")


def texts(figure):
    return [t.get_text() for legend in figure.legends for t in legend.get_texts()]


def test_mean_ranks_of_both_norms_are_drawn_and_sizes_without_problems_left_out():
    some = RankStatistics(np.array([5, 5]), np.array([2, 3]), 2)
    none = RankStatistics(np.zeros(0, int), np.zeros(0, int), 9)
    figure = rank_figure([3, 5], {"T = 5": {"n = 5": [none, some]}, "n = 5": {"T = 5": [some, some]}})
    frobenius, nuclear = figure.axes[0].lines
    np.testing.assert_array_equal(frobenius.get_ydata(), [np.nan, 5])
    np.testing.assert_array_equal(nuclear.get_ydata(), [np.nan, 2.5])
    assert frobenius.get_markerfacecolor() != nuclear.get_markerfacecolor()
    assert len(texts(figure)) == 2


def test_paths_are_drawn_over_their_constants_beside_the_prediction():
    radii, constant = np.array([10.0, 100.0]), np.array([2.0, 4.0])
    distance = constant[:, None] / radii
    path = PathStatistics(distance, distance**2 / 2, constant, np.zeros((2, 2)), *[np.ones((2, 2), bool)] * 2)
    figure = path_figure(radii, {"cross": {"W": path, "KQ": path}, "self": {"W": path}})
    for line in figure.axes[0].lines:
        np.testing.assert_allclose(line.get_ydata(), 1 / radii)
    assert [len(ax.lines) for ax in figure.axes] == [5, 3]
    assert texts(figure) == ["paths of W", "paths of (K, Q)", "1/R, predicted"]


def test_widths_are_counted_from_the_rank():
    found = WidthStatistics(np.array([[0.5, 0.1]]), np.array([[-1.0, 0.9]]), np.array([2]))
    figure = width_figure([1, 2], {"n = 5": found, "n = 15": found})
    np.testing.assert_allclose(np.round(figure.axes[0].lines[1].get_xdata()), [-1, 0])
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_ydata(), [0.5, 0.1])
    assert texts(figure) == ["n = 5", "n = 15"]
