"""The figures of chapter 5 carry the numbers of their experiments."""

import numpy as np
import pytest

from attsvm_lib.experiments import MultiTokenStatistics, QuadraticStatistics
from attsvm_lib.figures import curvature_figure, masked_figure, multi_token_figure

pytestmark = pytest.mark.usefixtures("no_window")


def multi_token(scale):
    lost = scale * np.array([1.0, 2.0, 6.0])
    return MultiTokenStatistics(
        lost, 2 * lost, 10 * lost, np.array([1e-16, 1e-12, 1e-7]), np.ones((3, 3), int), np.arange(3), 9, 4, 2, 0
    )


def texts(figure):
    return [t.get_text() for legend in figure.legends for t in legend.get_texts()]


def test_means_with_their_errors_and_medians_are_drawn():
    both = [multi_token(1e-3), multi_token(1e-4)]
    figure = multi_token_figure([4, 6], {"cross": both, "self": both[::-1]})
    assert [ax.get_title() for ax in figure.axes] == ["cross", "self"]
    one, mm, svmeq = figure.axes[0].containers
    np.testing.assert_allclose(svmeq.lines[0].get_ydata(), [3e-3, 3e-4])
    np.testing.assert_allclose(mm.lines[0].get_ydata(), [6e-3, 6e-4])
    np.testing.assert_allclose(one.lines[0].get_ydata(), [3e-2, 3e-3])
    hollow = [ln for ln in figure.axes[0].lines if ln.get_markerfacecolor() == "white" and ln.get_linestyle() == "None"]
    np.testing.assert_allclose(hollow[-2].get_ydata(), [2e-3, 2e-4])
    assert len(texts(figure)) == 4


def test_each_data_set_is_a_point():
    found = multi_token(1e-3)
    figure = masked_figure({"d = 4": found, "d = 10": multi_token(1e-4)}, level=0.01)
    points = figure.axes[0].lines[0]
    np.testing.assert_allclose(points.get_xdata(), found.masked)
    np.testing.assert_allclose(points.get_ydata(), found.lost_svmeq)
    assert figure.axes[0].lines[2].get_ydata()[0] == 0.01
    assert texts(figure) == ["d = 4", "d = 10"]


def test_kept_tokens_and_median_directions_against_the_curvature():
    some = QuadraticStatistics(
        np.array([1.0, 2.0]), np.array([1.0, 3.0]), np.zeros((2, 2), bool), *(np.array([k, 3.0 * k]) for k in (1, 2, 3))
    )
    above, below = curvature_figure([0.1, 1.0], [some, some]).axes
    np.testing.assert_allclose(above.lines[0].get_ydata(), [2, 2])
    np.testing.assert_allclose(above.lines[1].get_ydata(), [1.5, 1.5])
    np.testing.assert_allclose([ln.get_ydata()[0] for ln in below.lines], [6, 4, 2])
