"""The figures of the chapter on one cluster carry the numbers of their experiments."""

import numpy as np
import pytest

from attsvm_lib.experiments import PhaseDiagram, ProductRanges
from attsvm_lib.figures import (
    concentration_figure,
    contraction_figure,
    half_space_figure,
    histogram_figure,
    phase_figure,
)

pytestmark = pytest.mark.usefixtures("no_window")


def texts(figure):
    return [t.get_text() for legend in figure.legends for t in legend.get_texts()]


def test_chances_are_lines_and_shares_markers_of_the_same_color():
    figure = half_space_figure({"d = 2": ([1, 2], [1, 0.5]), "d = 8": ([1, 2], [1, 0.4])}, {"d = 8": ([2], [0.45])})
    first, second, shares, half = figure.axes[0].lines
    np.testing.assert_array_equal(first.get_ydata(), [1, 0.5])
    np.testing.assert_array_equal(shares.get_ydata(), [0.45])
    assert shares.get_color() == second.get_color() and shares.get_linestyle() == "None"
    assert first.get_linestyle() != second.get_linestyle()
    assert set(half.get_xdata()) == {2}
    assert texts(figure) == ["d = 2", "d = 8"]


def test_gaps_are_drawn_with_their_median_and_a_line_of_the_given_slope():
    times = np.array([0.0, 1.0, 2.0, 3.0])
    smallest = 1 - np.array([[1, 0.2, 0.02, 0.002], [1, 0.1, 0.01, 0.001], [1, 0.05, 0.005, 0.0005]])
    run = ProductRanges(smallest, smallest, smallest[0], times)
    lines = contraction_figure({"β = 1": run}, rate=2.0).axes[0].lines
    np.testing.assert_allclose(lines[0].get_ydata(), 1 - smallest[0])
    np.testing.assert_allclose(lines[3].get_ydata(), 1 - smallest[1])
    slope = np.diff(np.log(lines[4].get_ydata())) / np.diff(lines[4].get_xdata())
    np.testing.assert_allclose(slope, -2)


def test_histograms_hold_all_pairs_and_the_orthogonal_start():
    products = np.array([[[-0.5, 0.5, 0.5, 1.0], [1.0, 1.0, 1.0, 1.0]]])
    figure = histogram_figure([0, 4], [0.1, 0.9], {"d = 3": products})
    assert len(figure.axes) == 2
    for ax, gamma, now in zip(figure.axes, (0.1, 0.9), products[0], strict=True):
        (steps,) = ax.patches
        heights, edges, _ = steps.get_data()
        np.testing.assert_allclose(heights, np.histogram(now, edges)[0] / 4)
        assert set(ax.lines[0].get_xdata()) == {gamma}
    assert [ax.get_ylabel() for ax in figure.axes] == ["t = 0", "t = 4"]
    assert texts(figure) == ["d = 3", "orthogonal start"]


def test_deviations_are_drawn_with_a_line_of_slope_minus_one_half():
    figure = concentration_figure([16, 64], {"β = 1": [[0.5, 0.7], [0.2, 0.4]]})
    ax = figure.axes[0]
    (bars,) = ax.containers
    np.testing.assert_allclose(bars.lines[0].get_ydata(), [0.6, 0.3])
    reference = ax.lines[-1]
    assert reference.get_ydata()[0] / reference.get_ydata()[1] == pytest.approx(2)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_phase_diagrams_share_one_color_scale_and_both_curves():
    betas, times = np.array([1.0, 2.0]), np.array([1.0, 2.0, 3.0])
    fraction = np.array([[0.0, 0.5, 1.0], [0.0, 0.1, 0.2]])
    diagram = PhaseDiagram(fraction, 0 * fraction, betas, times, 8)
    curves = {"n = 32": (betas, [1.0, 2.0]), "n = 128": (betas, [1.5, 2.5])}
    figure = phase_figure({"d = 2": diagram, "d = 8": diagram, "d = 32": diagram}, curves)
    shown = [ax for ax in figure.axes if ax.collections and ax.get_title()]
    assert [ax.get_title() for ax in shown] == ["d = 2", "d = 8", "d = 32"]
    for ax in shown:
        mesh = ax.collections[0]
        np.testing.assert_array_equal(np.asarray(mesh.get_array()).reshape(2, 3), fraction)
        assert mesh.get_clim() == (0, 1)
        drawn = [line for line in ax.lines if not line.get_label().startswith("_")]
        assert [line.get_label() for line in drawn] == ["n = 32", "n = 128"]
        np.testing.assert_array_equal(drawn[1].get_xdata(), [1.5, 2.5])
        assert drawn[0].get_linestyle() != drawn[1].get_linestyle()
    assert texts(figure) == ["n = 32", "n = 128"]
