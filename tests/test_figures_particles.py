"""The figures on tokens as particles carry the numbers of their experiments."""

import numpy as np
import pytest

from attsvm_lib.experiments import EnergyBalance, LayerErrors
from attsvm_lib.figures import energy_figure, layers_figure, limit_figure

pytestmark = pytest.mark.usefixtures("no_window")


def test_errors_of_layers_lie_beside_their_slopes():
    steps = np.array([0.5, 0.25])
    figure = layers_figure(steps, LayerErrors(steps, 0.1 * steps**4))
    slope_1, layers, slope_4, rk4 = figure.axes[0].lines
    np.testing.assert_allclose(layers.get_ydata(), slope_1.get_ydata())
    np.testing.assert_allclose(rk4.get_ydata(), slope_4.get_ydata())


def test_energies_are_lines_and_their_balance_markers():
    times = np.append(0, np.geomspace(0.1, 10, 12))
    run = EnergyBalance(times, times / 20, times / 25)
    figure = energy_figure({"SA": {"β = 1": run, "β = 4": run}, "USA": {"β = 1": run}})
    assert [len(ax.lines) for ax in figure.axes] == [4, 2]
    line, markers = figure.axes[1].lines
    np.testing.assert_array_equal(line.get_ydata(), run.energy[1:])
    np.testing.assert_array_equal(markers.get_ydata(), run.expected[1::6])


def test_the_slope_starts_at_the_first_curve():
    figure = limit_figure({"draws": ([10, 40], [0.2, 0.11]), "quantiles": ([4, 8], [1e-2, 1e-6])})
    draws, quantiles, slope = figure.axes[0].lines
    np.testing.assert_allclose(slope.get_ydata(), [0.2, 0.1])
    np.testing.assert_array_equal(quantiles.get_ydata(), [1e-2, 1e-6])
    assert draws.get_label() == "draws"
