"""The figures on circle, repulsion and leaders carry the numbers of their experiments."""

import numpy as np
import pytest

from attsvm_lib.experiments import LeaderRuns
from attsvm_lib.figures import attention_figure, bound_figure, leader_figure, order_figure, settling_figure

pytestmark = pytest.mark.usefixtures("no_window")


def texts(figure):
    return [t.get_text() for legend in figure.legends for t in legend.get_texts()]


def test_order_is_drawn_beside_its_closed_form():
    times, measured, law = np.arange(9.0), np.linspace(0, 1, 9), np.linspace(0.1, 0.9, 9)
    figure = order_figure(times, {"R(0) = 0": (measured, law)})
    drawn_law, markers, _ = figure.axes[0].lines
    np.testing.assert_array_equal(drawn_law.get_ydata(), law)
    np.testing.assert_array_equal(markers.get_ydata(), measured[::4])
    assert texts(figure) == ["R(0) = 0", "closed form"]


def test_the_polynomial_lies_below_the_energy_and_meets_it_at_the_touches():
    figure = bound_figure([-1.0, -0.4, 0.4], 4.0)
    energy, below, touches = figure.axes[0].lines
    np.testing.assert_allclose(energy.get_ydata(), np.exp(4 * (energy.get_xdata() - 1)))
    assert (below.get_ydata() <= energy.get_ydata() + 1e-12).all()
    np.testing.assert_allclose(
        touches.get_ydata(), np.interp(touches.get_xdata(), below.get_xdata(), below.get_ydata())
    )
    assert texts(figure) == ["energy f of a pair", "polynomial h", "touches"]


def test_settling_shows_the_median_excess_and_the_band_of_all_starts():
    energy = np.array([[2.0, 3.0, 5.0], [1.0, 1.0, 1.5]])
    figure = settling_figure([1.0, 10.0], {"two": (energy, 1.0)})
    (median,) = figure.axes[0].lines
    np.testing.assert_allclose(median.get_ydata(), [2.0, 1e-16])
    band = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(4)
    assert band.min() == pytest.approx(1e-16)
    assert texts(figure) == ["two"]


def test_matrices_share_one_color_scale():
    first, second = np.eye(3), np.full((3, 3), 1 / 3)
    figure = attention_figure({"t = 0": first, "t = 1": second})
    panels = [ax for ax in figure.axes if ax.images]
    assert [ax.get_title() for ax in panels] == ["t = 0", "t = 1"]
    for ax, matrix in zip(panels, (first, second), strict=True):
        np.testing.assert_array_equal(ax.images[0].get_array(), matrix)
        assert ax.images[0].get_clim() == (0, 1)


def test_means_of_rank_leaders_and_clusters_are_drawn():
    rank, leading, clusters = np.array([[1, 3], [2, 2]]), np.array([[0, 1], [2, 2]]), np.array([[5, 5], [2, 2]])
    run = LeaderRuns(rank, leading, clusters, clusters, rank > 1, [True, True], np.zeros((2, 5, 1)), rank[None])
    figure = leader_figure([0.0, 1.0], {"one": run, "two": run})
    assert len(figure.axes) == 2
    drawn = {line.get_label(): line.get_ydata().tolist() for line in figure.axes[1].lines}
    assert drawn == {"clusters": [5, 2], "rank": [2, 2], "leaders": [0.5, 2]}
    assert len({line.get_color() for line in figure.axes[0].lines}) == 3
    assert texts(figure) == ["clusters", "rank", "leaders"]
