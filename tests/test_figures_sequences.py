"""The figure of chapter 6 carries the numbers of its experiments."""

import numpy as np
import pytest

from attsvm_lib.experiments import SequentialRuns
from attsvm_lib.figures import alignment_figure

pytestmark = pytest.mark.usefixtures("no_window")


def runs(*lost):
    lost = np.array(lost)
    nothing = np.zeros(lost.shape)
    return SequentialRuns(np.array([100, 1000]), 1 - lost, nothing, nothing, nothing, nothing)


def test_medians_and_the_slope_are_drawn():
    panels = {"mask": {("W", "one"): runs([0.1, 0.02], [0.3, 0.04], [0.2, 0.03]), ("KQ", "factors"): runs([0.5, 0.4])},
              "none": {("W", "one"): runs([0.1, 0.02])}}  # fmt: skip
    figure = alignment_figure(panels)
    one, factors, slope = figure.axes[0].lines
    np.testing.assert_allclose(one.get_ydata(), [0.2, 0.03])
    np.testing.assert_allclose(factors.get_ydata(), [0.5, 0.4])
    np.testing.assert_allclose(slope.get_ydata(), [1, 0.01])
    assert (one.get_linestyle(), factors.get_linestyle()) == ("-", "--")
    assert [ax.get_title() for ax in figure.axes] == ["mask", "none"]
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["one", "factors", "slope −2"]
