"""The figures on metastability carry the numbers of their experiments."""

import numpy as np
import pytest

from attsvm_lib.experiments import Staircase
from attsvm_lib.figures import cluster_curves, early_cluster_figure, energy_staircase, merger_figure

pytestmark = pytest.mark.usefixtures("no_window")


RUN = Staircase(
    clusters=np.array([[9, 4, 1], [7, 2, 2]]),
    energy=np.array([[0.1, 0.3, 1.0], [0.2, 0.5, 0.6]]),
    squared_masses=np.array([[0.1, 0.25, 1.0], [0.2, 0.5, 0.5]]),
    last_angle=np.array([2.0, 3.0]),
    predicted=np.array([90.0, 5e3]),
    times=np.array([0.0, 1.0, 100.0]),
)


def texts(figure):
    return [t.get_text() for legend in figure.legends for t in legend.get_texts()]


def test_mean_numbers_of_clusters_are_drawn_from_the_first_positive_time():
    figure = cluster_curves({"β = 4": RUN, "β = 9": RUN}, {"β = 4": 50.0})
    curve, end, other = figure.axes[0].lines
    np.testing.assert_array_equal(curve.get_xdata(), [1, 100])
    np.testing.assert_array_equal(curve.get_ydata(), [3, 1.5])
    assert set(end.get_xdata()) == {50.0}
    assert (end.get_color(), end.get_linestyle()) == (curve.get_color(), curve.get_linestyle())
    assert other.get_linestyle() != curve.get_linestyle()
    assert texts(figure) == ["β = 4", "β = 9"]


def test_mergers_are_drawn_against_their_predictions_and_unmerged_starts_left_out():
    figure = merger_figure({"β = 4": RUN})
    points, diagonal = figure.axes[0].lines
    assert (points.get_xdata().tolist(), points.get_ydata().tolist()) == ([90], [100])
    np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    assert texts(figure) == ["β = 4", "equal"]


def test_energies_are_drawn_over_the_sums_of_squared_masses():
    figure = energy_staircase(RUN, starts=2)
    lines = figure.axes[0].lines
    for k in (0, 1):
        np.testing.assert_array_equal(lines[2 * k].get_ydata(), RUN.squared_masses[k, 1:])
        np.testing.assert_array_equal(lines[2 * k + 1].get_ydata(), RUN.energy[k, 1:])
    assert lines[1].get_linestyle() != lines[3].get_linestyle()


def test_early_clusters_are_drawn_between_two_square_roots():
    figure = early_cluster_figure([4, 16], {"n = 64": [[2, 4], [5, 5, 5]]}, [3, 6])
    found, fastest, upper, lower = figure.axes[0].lines
    np.testing.assert_array_equal(found.get_ydata(), [3, 5])
    np.testing.assert_array_equal(fastest.get_ydata(), [3, 6])
    np.testing.assert_allclose(upper.get_ydata(), np.sqrt([8, 32]))
    np.testing.assert_allclose(lower.get_ydata(), [2, 4])
    assert sorted(texts(figure)) == sorted(["n = 64", "fastest ripple", "√(2β)", "√β"])
