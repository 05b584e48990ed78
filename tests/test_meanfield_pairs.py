"""The pair statistic agrees with whole trajectories, in batches, and stops working on systems that are done."""

import numpy as np
import pytest

from attsvm_lib import random_direction
from attsvm_lib.meanfield import pair_fraction, pair_fraction_gram, simulate
from attsvm_lib.meanfield.field import Flow

TIMES = np.array([0.0, 1.0, 3.0, 6.0, 15.0])


def tokens(n, d, batch):
    return random_direction(d, rng=np.random.default_rng(0), batch=(*batch, n))


@pytest.mark.parametrize("model", ["sa", "usa"])
@pytest.mark.parametrize("d", [2, 5])
def test_fractions_are_those_of_the_trajectories(model, d):
    x0, beta, n = tokens(10, d, (3, 15)), 3.0, 10
    times = TIMES if model == "sa" else TIMES / 10
    x = simulate(x0, times, beta=beta, model=model, method="rk4").x
    met = (x @ x.swapaxes(-1, -2) > 0.999).sum((-2, -1)) - n
    fraction = pair_fraction(x0, times, beta=beta, model=model)
    assert fraction.shape == (5, 3, 15)
    np.testing.assert_allclose(fraction, met / (n * (n - 1)), atol=1e-12)
    np.testing.assert_allclose(pair_fraction_gram(x0 @ x0.swapaxes(-1, -2), times, beta=beta, model=model).mean(),
                               fraction.mean(), atol=1e-3)  # fmt: skip
    assert 0.2 < fraction[-1].mean() <= 1


def test_float32_changes_next_to_nothing():
    x0 = tokens(16, 3, (32,))
    fraction = [pair_fraction(x0.astype(dtype), TIMES, beta=4.0).mean(1) for dtype in (np.float32, np.float64)]
    np.testing.assert_allclose(*fraction, atol=2e-3)


def test_systems_that_are_done_cost_nothing(monkeypatch):
    moved, field = [], Flow.field

    def counting(self, y, masses=None):
        moved.append(len(y))
        return field(self, y, masses)

    monkeypatch.setattr(Flow, "field", counting)
    fraction = pair_fraction(tokens(8, 8, (4,)), np.arange(0, 100.0), beta=1.0)
    assert (fraction[-1] == 1).all()
    assert sum(moved) < 0.25 * 4 * (4 * 5 * 99)


def test_the_threshold_is_eps():
    x0 = np.array([[1.0, 0.0], [np.cos(0.1), np.sin(0.1)]])  # inner product 0.995
    fractions = [pair_fraction(x0, [0.0], beta=1.0, eps=eps)[0] for eps in (0.0049, 0.0051)]
    assert fractions == [0, 1]


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="n must be at least 2"):
        pair_fraction(np.ones((3, 1, 1)), [1.0], beta=1.0)
    with pytest.raises(ValueError, match="times must be in order"):
        pair_fraction(tokens(3, 2, ()), [1.0, 0.5], beta=1.0)
    with pytest.raises(ValueError, match="eps must be a positive"):
        pair_fraction(tokens(3, 2, ()), [1.0], beta=1.0, eps=0)
    with pytest.raises(ValueError, match="positive semidefinite|unit diagonal"):
        pair_fraction_gram(2 * np.eye(3), [1.0], beta=1.0)
