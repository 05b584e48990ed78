"""The figures of chapter 3 carry the numbers of their experiments."""

import numpy as np
import pytest

from attsvm_lib.experiments import Outcomes, RateRuns
from attsvm_lib.figures import outcome_figure, plane_figure, rate_figure
from attsvm_lib.scenes.global_convergence import paths_in_the_plane

pytestmark = pytest.mark.usefixtures("no_window")


def texts(figure):
    return [t.get_text() for legend in figure.legends for t in legend.get_texts()]


def test_shares_of_each_kind_are_drawn_in_percent_with_their_errors():
    def some(kinds):
        return Outcomes(np.array([10]), np.array(kinds)[:, None], np.ones(len(kinds), bool))

    figure = outcome_figure({"cross": {2: some([0, 1, 2, 3]), 10: some([0, 0, 0, 1])}, "self": {2: some([0, 0])}})
    top = figure.axes[0]
    curves = [np.asarray(container.lines[0].get_ydata(), float) for container in top.containers]
    np.testing.assert_allclose(curves, [[25, 75], [25, 25], [25, 0], [25, 0]])
    low, high = top.containers[0].lines[2][0].get_segments()[0][:, 1]
    np.testing.assert_allclose((high - low) / 2, 100 * np.sqrt(0.25 * 0.75 / 4))
    assert texts(figure) == ["global", "local", "neither", "undecided"]


def test_runs_are_drawn_beside_the_median_of_their_predictions():
    steps = np.array([10, 100])
    one = RateRuns(steps, np.ones(2, bool), np.full((2, 2), 10.0), np.array([[0.1, 0.01], [0.2, 0.02]]),
                   np.zeros((2, 2)), np.ones(2), np.array([1.0, 3.0]))  # fmt: skip
    figure = rate_figure({"cross": [one, one]})
    lines = figure.axes[0].lines
    np.testing.assert_array_equal(lines[1].get_ydata(), [0.2, 0.02])
    np.testing.assert_allclose(lines[2].get_ydata(), 0.02)
    assert texts(figure) == ["normalized steps", "plain steps", "predicted, median"]


def test_paths_and_arrows_of_the_scene_are_drawn():
    picture = paths_in_the_plane(tokens="3", attention="self-attention")
    figure = plane_figure({"T = 3": picture, "again": picture})
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    np.testing.assert_array_equal(lines["W(k) zᵢ, training W"].get_xydata(), picture.marks["path W"].xy[:, 0])
    tips = [text.xy for text in figure.axes[0].texts]
    np.testing.assert_allclose(tips[:2], picture.marks["solution W"].end)
    assert "Wₘₘ zᵢ" in texts(figure)
