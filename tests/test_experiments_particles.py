"""The experiments on tokens as particles: layers against the flow, the energy's balance, the continuous limit."""

import numpy as np
import pytest

from attsvm_lib.data import random_direction
from attsvm_lib.experiments import energy_balance, layer_errors, limit_errors, residual_layers, smooth_start
from attsvm_lib.meanfield import circle_grid, energy, scaled_energy, simulate


def test_one_layer_by_hand():
    x = np.eye(2)
    share = np.e / (np.e + 1)
    moved = x[0] + 0.5 * (share * x[0] + (1 - share) * x[1])
    np.testing.assert_allclose(residual_layers(x, 1, beta=1.0, step=0.5)[1, 0], moved / np.linalg.norm(moved))
    np.testing.assert_array_equal(residual_layers(x, 0, beta=1.0)[0], x)


def test_layers_are_first_order_and_runge_kutta_steps_fourth():
    steps = np.array([0.25, 0.125, 0.0625, 0.03125])
    found = layer_errors(steps, n=12, d=3, beta=2.0, until=2.0)
    layers, rk4 = (np.polyfit(np.log(steps), np.log(errors), 1)[0] for errors in found)
    assert 0.8 < layers < 1.2
    assert 3.6 < rk4 < 4.4


def test_a_layer_of_tokens_at_one_place_does_nothing():
    x = np.tile([[0.6, 0.8]], (4, 1))
    np.testing.assert_allclose(residual_layers(x, 5, beta=3.0), np.tile(x, (6, 1, 1)), rtol=1e-15)


@pytest.mark.parametrize(("model", "beta"), [("sa", 0.0), ("sa", 1.0), ("sa", 9.0), ("usa", 1.0), ("usa", 4.0)])
def test_the_energy_is_its_first_value_plus_the_integrated_dissipation(model, beta):
    run = energy_balance(beta=beta, model=model, n=16, seed=1)
    np.testing.assert_allclose(run.energy, run.expected, rtol=0, atol=1e-6)
    assert (np.diff(run.energy) > -1e-13).all()
    x0 = random_direction(3, rng=np.random.default_rng(1), batch=(16,))
    unit = np.exp(-beta) if model == "usa" else 1.0
    end = simulate(x0, [run.times[-1] * unit], beta=beta, model=model).x[0]
    assert run.energy[-1] == pytest.approx(scaled_energy(end, beta=beta), abs=1e-5)
    if beta:
        assert run.energy[0] == pytest.approx(2 * beta * np.exp(-beta) * energy(x0, beta=beta))


def test_the_smooth_start_is_a_density():
    density = smooth_start(circle_grid(32))
    assert (density > 0).all()
    assert 2 * np.pi * density.mean() == pytest.approx(1)


@pytest.mark.parametrize("model", ["sa", "usa"])
def test_independent_draws_approach_the_limit_like_one_over_the_root_of_n(model):
    sizes = [50, 200, 800]
    found = limit_errors(sizes, model=model, seeds=24)
    assert found.distance.shape == (3, 24)
    for errors in (found.start, found.distance, found.order):
        slope = np.polyfit(np.log(sizes), np.log(np.sqrt((errors**2).mean(1))), 1)[0]
        assert -0.7 < slope < -0.3


def test_unnormalized_attention_is_stable_with_the_constant_of_the_proof():
    found = limit_errors([20, 100], model="usa", until=1.0, seeds=20)
    assert (found.distance <= np.e**2 * found.start).all()
    assert (found.start.mean(1) < np.pi / np.sqrt([20, 100])).all()


def test_quantile_starts_are_spectrally_accurate():
    found = limit_errors([16, 32, 64], start="quantiles", seeds=1)
    assert found.order[2] < 1e-2 * found.order[1] < 1e-3 * found.order[0]
    again = limit_errors([16], start="quantiles", seeds=2)
    np.testing.assert_array_equal(again.order[0], found.order[0].repeat(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: residual_layers([[1.0, 0.0]], -1, beta=1), "layers must be an integer of at least 0"),
        (lambda: residual_layers([[1.0, 0.0]], 1, beta=-1), "beta must be a non-negative"),
        (lambda: energy_balance(beta=1, model="SA"), "model must be one of"),
        (lambda: energy_balance(beta=1, model="sa", points=1), "points must be an integer of at least 2"),
        (lambda: limit_errors([0]), "sizes must lie in"),
        (lambda: limit_errors([8], start="grid"), "start must be one of"),
        (lambda: layer_errors([0.1], until=0), "until must be a positive"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
