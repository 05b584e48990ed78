"""Tokens on the circle: the O(nK) force, the continuous limit, quantile starts."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ive

from attsvm_lib.meanfield import (
    circle_distance,
    circle_energy,
    circle_grid,
    circle_quantiles,
    circle_velocity,
    density_energy,
    density_velocity,
    kernel_coefficients,
    mean_field,
    order_parameter,
    scaled_energy,
    simulate,
    simulate_circle,
    velocity,
)

TIMES = np.arange(0.5, 3.01, 0.5)
REFERENCE = {  # scaled energies of the start below at TIMES
    1.0: (0.50886254, 0.53036046, 0.56069576, 0.60203459, 0.65618989, 0.72326643),
    4.0: (0.24495914, 0.25881485, 0.27886849, 0.30737444, 0.34564051, 0.39177005),
}


def start(theta):
    """A smooth, positive density without symmetry."""
    return (1 + 0.5 * np.cos(theta) + 0.3 * np.sin(2 * theta) + 0.15 * np.cos(3 * theta - 1)) / (2 * np.pi)


def points(theta):
    return np.stack([np.cos(theta), np.sin(theta)], axis=-1)


def pairwise(theta, beta, model):
    """Velocities by the double sum."""
    difference = theta[..., :, None] - theta[..., None, :]
    weights = np.exp(beta * np.cos(difference))
    normalizer = weights.sum(-1) if model == "sa" else theta.shape[-1]
    return -(weights * np.sin(difference)).sum(-1) / normalizer


@pytest.mark.parametrize("beta", [0.0, 1e-9, 0.5, 4.0, 64.0, 1e4])
def test_coefficients_are_scaled_bessel_functions(beta):
    b, s = kernel_coefficients(beta)
    k = np.arange(len(b))
    np.testing.assert_allclose(b, ive(k, beta), rtol=0, atol=1e-15)
    assert ive(len(b), beta) < 1e-15
    force = (ive(k - 1, beta) - ive(k + 1, beta)) * (k > 0)
    np.testing.assert_allclose(s, force, rtol=0, atol=1e-15)


@pytest.mark.parametrize("model", ["sa", "usa"])
@pytest.mark.parametrize("beta", [0.0, 0.5, 4.0, 30.0])
def test_the_force_is_the_double_sum(model, beta):
    theta = np.random.default_rng(0).uniform(-9, 9, (3, 40))
    expected = pairwise(theta, beta, model)
    found = circle_velocity(theta, beta=beta, model=model)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14 * max(1, np.exp(beta)) if model == "usa" else 1e-12)


def test_the_force_is_the_velocity_on_the_sphere():
    theta = np.random.default_rng(1).uniform(0, 7, 20)
    tangent = np.stack([-np.sin(theta), np.cos(theta)], axis=-1)
    along = (velocity(points(theta), beta=3.0, model="usa") * tangent).sum(-1)
    np.testing.assert_allclose(circle_velocity(theta, beta=3.0, model="usa"), along, rtol=0, atol=1e-13)


def test_beta_zero_is_kuramoto_in_terms_of_the_order_parameter():
    theta = np.random.default_rng(2).uniform(0, 7, 25)
    R = order_parameter(theta)
    expected = -np.abs(R) * np.sin(theta - np.angle(R))
    for model in ("sa", "usa"):
        np.testing.assert_allclose(circle_velocity(theta, beta=0.0, model=model), expected, rtol=0, atol=1e-15)


def test_two_tokens_in_closed_form_at_beta_zero():
    # tan(delta / 2) = tan(delta_0 / 2) exp(-t) for the difference delta of two angles
    run = simulate_circle([0.0, 2.5], [1.0, 3.0], beta=0.0, step=0.02)
    delta = run.theta[:, 1] - run.theta[:, 0]
    np.testing.assert_allclose(np.tan(delta / 2), np.tan(1.25) * np.exp(-run.times), rtol=1e-7)


@pytest.mark.parametrize("model", ["sa", "usa"])
def test_trajectories_agree_with_the_sphere(model):
    theta = np.random.default_rng(3).uniform(0, 2 * np.pi, 12)
    times = [0.0, 0.05, 0.2]
    run = simulate_circle(theta, times, beta=3.0, model=model, step=0.02)
    sphere = simulate(points(theta), times, beta=3.0, model=model, tol=1e-11)
    np.testing.assert_allclose(points(run.theta), sphere.x, rtol=0, atol=1e-7)


def test_fourth_order():
    theta = np.random.default_rng(4).uniform(0, 2 * np.pi, 12)
    ends = [simulate_circle(theta, [2.0], beta=4.0, step=h).theta[0] for h in (0.2, 0.1, 0.0125)]
    coarse, fine = (np.abs(end - ends[2]).max() for end in ends[:2])
    assert 3.5 < np.log2(coarse / fine) < 4.6


@pytest.mark.parametrize("beta", REFERENCE)
def test_the_continuous_limit_gives_the_reference_energies(beta):
    run = mean_field(start(circle_grid(192)), TIMES, beta=beta)
    np.testing.assert_allclose(density_energy(run.density, beta=beta), REFERENCE[beta], rtol=0, atol=2e-8)
    np.testing.assert_allclose(run.density.mean(-1), 1 / (2 * np.pi), rtol=1e-14)
    assert run.tail.max() < 1e-6


def test_spectral_accuracy_in_the_number_of_points():
    fine = mean_field(start(circle_grid(384)), [2.0], beta=4.0)
    errors = [
        np.abs(mean_field(start(circle_grid(M)), [2.0], beta=4.0).density[0] - fine.density[0, :: 384 // M]).max()
        for M in (48, 96, 192)
    ]
    assert errors[0] < 1e-2
    assert errors[1] < 1e-2 * errors[0]
    assert errors[2] < 1e-9


def test_small_modes_of_the_uniform_density_grow_at_the_linearized_rates():
    beta, k, tiny = 4.0, 3, 1e-6
    theta = circle_grid(64)
    run = mean_field((1 + tiny * np.cos(k * theta)) / (2 * np.pi), [0.0, 1.0], beta=beta)
    amplitude = np.abs(np.fft.rfft(run.density))[:, k]
    rate = k**2 * ive(k, beta) / (beta * ive(0, beta))
    assert np.log(amplitude[1] / amplitude[0]) == pytest.approx(rate, rel=1e-5)


def test_usa_at_beta_zero_is_sa():
    runs = [mean_field(start(circle_grid(64)), [1.0], beta=0.0, model=model).density for model in ("sa", "usa")]
    np.testing.assert_allclose(*runs, rtol=1e-9)


def test_particles_from_quantiles_follow_the_limit_spectrally():
    density = start(circle_grid(192))
    limit = density_energy(mean_field(density, [1.0], beta=4.0).density[0], beta=4.0)
    errors = []
    for n in (8, 32, 100):
        theta = circle_quantiles(density, (np.arange(n) + 0.5) / n)
        run = simulate_circle(theta, [1.0], beta=4.0, step=0.02)
        errors.append(abs(scaled_energy(points(run.theta[0]), beta=4.0) - limit))
    assert errors[0] < 1e-1
    assert errors[1] < 1e-2 * errors[0]
    assert errors[2] < 1e-3 * errors[1]


def test_density_energy_is_the_double_integral_and_the_particles_mean():
    density = start(circle_grid(64))

    def weighted(phi, theta):
        return np.exp(3 * (np.cos(theta - phi) - 1)) * start(phi)

    inner = [quad(weighted, 0, 2 * np.pi, args=(t,))[0] for t in circle_grid(64)]
    expected = 2 * np.pi * np.mean(density * np.array(inner))
    assert density_energy(density, beta=3.0) == pytest.approx(expected, rel=1e-12)
    assert density_energy(np.full((2, 16), 1 / (2 * np.pi)), beta=0.0) == pytest.approx([1, 1])


def test_quantiles_invert_the_distribution():
    p = np.array([[0.0, 0.1, 0.5], [0.77, 0.999, 1.0]])
    theta = circle_quantiles(start(circle_grid(32)), p)
    shares = [[quad(start, 0, t)[0] for t in row] for row in theta]
    np.testing.assert_allclose(shares, p, rtol=0, atol=1e-12)
    assert theta[0, 0] == pytest.approx(0, abs=1e-12)
    assert theta[1, 2] == pytest.approx(2 * np.pi)


def test_the_energy_in_moments_is_the_double_sum():
    theta = np.random.default_rng(5).uniform(0, 7, (4, 30))
    for beta in (0.0, 2.0, 50.0):
        expected = scaled_energy(points(theta), beta=beta)
        np.testing.assert_allclose(circle_energy(theta, beta=beta), expected, rtol=1e-13)


def test_order_parameter():
    assert order_parameter([0.3, 0.3]) == pytest.approx(np.exp(0.3j))
    assert abs(order_parameter([[0.0, np.pi]])[0]) < 1e-15


def test_a_density_that_clusters_is_refused_when_it_is_no_longer_resolved():
    with pytest.raises(ArithmeticError, match="64 points do not resolve the density at t = 4 .*circle_quantiles"):
        mean_field(start(circle_grid(64)), [1.0, 4.0], beta=4.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: circle_velocity(1.0, beta=1), r"theta must have shape \(..., n\)"),
        (lambda: circle_velocity([1.0, np.nan], beta=1), "theta must be finite"),
        (lambda: circle_velocity([1.0], beta=-1), "beta must be a non-negative"),
        (lambda: circle_velocity([1.0], beta=1, model="x"), "model must be one of"),
        (lambda: simulate_circle([1.0], [2, 1], beta=1), "times must be in order"),
        (lambda: simulate_circle([1.0], [1], beta=1, step=0), "step must be a positive"),
        (lambda: mean_field(np.full(15, 0.1), [1], beta=1), "density0 must have an even number of points"),
        (lambda: mean_field(np.full(16, 0.1), [1], beta=1), "density0 must have total mass 1"),
        (lambda: mean_field(start(circle_grid(16)) - 0.2, [1], beta=1), "density0 must be non-negative"),
        (lambda: circle_quantiles(start(circle_grid(16)), [1.5]), r"p must lie in \[0, 1\], got 1.5"),
        (lambda: circle_quantiles(16 / (2 * np.pi) * np.eye(16)[0], [0.5]), "must be positive"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_overflow_is_named():
    with pytest.raises(FloatingPointError, match="beta = 800"):
        circle_velocity([1.0, 2.0], beta=800.0, model="usa")
    with pytest.raises(FloatingPointError, match="shorten times"):
        simulate_circle([1.0, 2.0], [1.0], beta=800.0, model="usa")


def test_distance_by_hand():
    uniform = np.full(64, 1 / (2 * np.pi))
    # n equidistant tokens: each takes the mass of its arc, mean distance a quarter of the arc
    assert circle_distance(2 * np.pi * np.arange(8) / 8 + 0.3, uniform) == pytest.approx(2 * np.pi / 8 / 4, rel=1e-3)
    assert circle_distance([1.0], uniform) == pytest.approx(np.pi / 2, rel=1e-3)
    spike = (1 + 0.999 * np.cos(circle_grid(64))) / (2 * np.pi)
    around = circle_distance(circle_quantiles(spike, (np.arange(5000) + 0.5) / 5000) - 4 * np.pi, spike)
    assert around < 1e-3


def test_the_distance_of_a_shift_goes_around_the_short_way():
    p = (np.arange(4000) + 0.5) / 4000
    theta = circle_quantiles(start(circle_grid(64)), p)
    for shift in (0.05, -0.2):
        assert circle_distance(theta + shift, start(circle_grid(64))) <= abs(shift) * 1.001
    assert circle_distance(theta + 0.05, start(circle_grid(64))) > 0.01


@pytest.mark.parametrize("model", ["sa", "usa"])
def test_the_velocity_of_a_density_is_that_of_many_tokens(model):
    density, beta = start(circle_grid(64)), 3.0
    tokens = circle_quantiles(density, (np.arange(400) + 0.5) / 400)
    probe = circle_grid(64)[5]
    others = np.append(tokens, probe)
    found = circle_velocity(others, beta=beta, model=model)[-1] * (np.exp(-beta) if model == "usa" else 1)
    assert density_velocity(density, beta=beta, model=model)[5] == pytest.approx(found, abs=0.004)
    smooth = mean_field(density, [0.0, 1e-4], beta=beta, model="sa").density
    flux = np.fft.irfft(1j * np.arange(33) * np.fft.rfft(density * density_velocity(density, beta=beta)))
    np.testing.assert_allclose((smooth[1] - smooth[0]) / 1e-4, -flux, rtol=0, atol=1e-3)
