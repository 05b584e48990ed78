"""Oscillators, repelling tokens, random matrices and leaders: closed forms, constants of motion and known ends."""

import numpy as np
import pytest

from attsvm_lib.experiments import (
    cross_ratios,
    groups,
    kuramoto_law,
    leader_runs,
    moebius_start,
    oscillator_runs,
    random_matrices,
    repulsion,
)
from attsvm_lib.experiments.circle import gaussian_system, leading_space
from attsvm_lib.meanfield import (
    circle_velocity,
    cross_polytope,
    order_parameter,
    scaled_energy,
    simulate,
    simulate_circle,
    velocity,
)


def test_at_beta_zero_the_circle_is_the_kuramoto_model():
    theta = np.random.default_rng(0).uniform(0, 2 * np.pi, (3, 20))
    mean = order_parameter(theta)[:, None]
    expected = np.abs(mean) * np.sin(np.angle(mean) - theta)
    np.testing.assert_allclose(circle_velocity(theta, beta=0.0), expected, atol=1e-14)
    moved = velocity(np.stack([np.cos(theta), np.sin(theta)], -1), beta=0.0)
    np.testing.assert_allclose(moved, expected[..., None] * np.stack([-np.sin(theta), np.cos(theta)], -1), atol=1e-14)


@pytest.mark.parametrize("order", [0.1, 0.6])
def test_moebius_images_of_a_polygon_follow_the_law(order):
    theta0, times = moebius_start(512, order), np.linspace(0, 3, 7)
    assert np.abs(order_parameter(theta0)) == pytest.approx(order, abs=1e-12)
    found = np.abs(order_parameter(simulate_circle(theta0, times, beta=0.0).theta))
    np.testing.assert_allclose(found, kuramoto_law(times, order), atol=1e-7)
    x = simulate(np.stack([np.cos(theta0), np.sin(theta0)], -1), times, beta=0.0, V=-np.eye(2)).x
    np.testing.assert_allclose(np.linalg.norm(x.mean(1), axis=-1), kuramoto_law(times, order, sign=-1), atol=1e-6)


def test_two_oscillators_by_hand():
    delta0, times = 2.5, np.array([0.0, 1.0, 4.0])
    theta = simulate_circle([0.0, delta0], times, beta=0.0).theta
    np.testing.assert_allclose(np.tan((theta[:, 1] - theta[:, 0]) / 2), np.exp(-times) * np.tan(delta0 / 2), rtol=1e-6)


def test_cross_ratios_are_constants_at_beta_zero_only():
    times = [0.0, 1.0, 2.0]
    run = oscillator_runs(times, n=12, seeds=range(4))
    ratios = cross_ratios(run.theta)
    assert ratios.shape == (3, 4, 9)
    np.testing.assert_allclose(ratios[1:], ratios[:1].repeat(2, 0), rtol=1e-6)
    np.testing.assert_allclose(run.order, np.abs(order_parameter(run.theta)))
    other = cross_ratios(oscillator_runs(times, beta=1.0, n=12, seeds=range(4)).theta)
    assert np.abs(other[2] / other[0] - 1).max() > 0.05


@pytest.mark.parametrize(("n", "d", "beta", "best"), [(6, 3, 2.0, cross_polytope(3)), (8, 4, 2.0, cross_polytope(4))])
def test_repelling_tokens_settle_into_the_cross_polytope(n, d, beta, best):
    run = repulsion(n, d, [0.0, 5.0, 50.0, 300.0], beta=beta, seeds=range(4))
    assert (np.diff(run.energy, axis=0) < 1e-14).all()
    np.testing.assert_allclose(run.energy[-1], scaled_energy(best, beta=beta), rtol=1e-9)
    np.testing.assert_allclose(run.energy[-1], scaled_energy(run.x, beta=beta))
    assert run.mean[-1].max() < 1e-6 < run.mean[0].min()


def test_repulsion_is_attraction_backward():
    x0 = gaussian_system(0, "V", 10, 3)[0]
    there = simulate(x0, [1.5], beta=3.0, tol=1e-12, merge_tol=0).x[0]
    back = simulate(there, [1.5], beta=3.0, V=-np.eye(3), tol=1e-12).x[0]
    np.testing.assert_allclose(back, x0, atol=1e-8)


def test_the_leading_space_is_invariant():
    rng = np.random.default_rng(1)
    for V in (*rng.standard_normal((6, 4, 4)), np.array([[0.0, -1.0], [1.0, 0.0]])):
        leading, basis = leading_space(V)
        np.testing.assert_allclose(V @ basis, basis @ (basis.T @ V @ basis), atol=1e-12)
        assert leading.real == pytest.approx(np.linalg.eigvals(V).real.max())
        assert basis.shape[1] == (2 if leading.imag > 0 else 1)


def test_a_real_positive_leading_eigenvalue_gathers_tokens_at_its_eigenvector():
    run = random_matrices(which="V", seeds=range(1, 8), until=60.0)
    real = (run.leading.imag == 0) & (run.leading.real > 0.3)
    assert real.sum() >= 3
    assert (run.clusters[real] <= 2).all()
    np.testing.assert_allclose(run.alignment[real], 1, atol=1e-6)
    turning = (run.leading.imag > 0) & (run.leading.real > 0.3)
    assert (run.speed[turning] > 0.1).all()
    assert run.speed[real].max() < 1e-4


def test_one_token_moves_by_the_power_method():
    x0, matrices = gaussian_system(4, "QKV", 1, 3)
    found = simulate(x0, [2.0], beta=2.0, tol=1e-12, **matrices).x[0, 0]
    values, vectors = np.linalg.eig(matrices["V"])
    moved = (vectors * np.exp(2.0 * values)) @ np.linalg.solve(vectors, x0[0].astype(complex))
    np.testing.assert_allclose(found, moved.real / np.linalg.norm(moved.real), atol=1e-9)


def test_on_a_line_signs_decide_how_many_lead():
    both = leader_runs(20, 1, [0.0, 15.0], seeds=range(6))
    one = leader_runs(20, 1, [0.0, 15.0], seeds=range(6), offset=5.0)
    for run, count in ((both, 2), (one, 1)):
        assert (run.rank[-1] == count).all()
        assert (run.leaders[-1] == count).all()
        assert (run.clusters[-1] == count).all()
        assert run.sharp[-1].all()


def test_in_the_plane_rank_leaders_and_clusters_agree_and_clusters_are_corners():
    run = leader_runs(20, 2, [0.0, 10.0], seeds=range(5), cuts=(1e-2, 1e-3, 1e-4))
    assert run.sharp[-1].all()
    assert (run.rank[-1] == run.leaders[-1]).all()
    assert (run.clusters[-1] == run.leaders[-1]).all()
    np.testing.assert_array_equal(run.ranks[1], run.rank)
    assert (np.diff(run.ranks, axis=0) >= 0).all()
    assert run.exposed.all()
    for z in run.z:
        label = groups(z, 0.05)
        corners = np.stack([z[label == k].mean(0) for k in range(label.max() + 1)])
        assert corner_count(corners) == len(corners)


def corner_count(points):
    """Points of the plane that see all others within less than half a turn."""
    count = 0
    for k, p in enumerate(points):
        angle = np.sort(np.angle(np.delete(points - p, k, 0) @ [1, 1j]))
        count += np.diff(np.append(angle, angle[0] + 2 * np.pi)).max() > np.pi
    return count


def test_one_positive_eigenvalue_gives_few_hyperplanes():
    run = leader_runs(20, 3, [0.0, 12.0], seeds=range(4), spectrum=(1.0, -0.5, -0.7))
    assert (run.sheets[-1] <= 3).all()
    assert (np.ptp(run.z[..., 1:], axis=1) > 100).all()
    assert (run.clusters[-1] == 20).all()


def test_groups_are_chains():
    z = np.array([[[0.0], [0.9], [1.8], [5.0]], [[0.0], [0.5], [1.5], [1.9]]])
    assert groups(z, [1.0, 0.6]).tolist() == [[0, 0, 0, 1], [0, 0, 1, 1]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: oscillator_runs([1.0], n=3), "n must be an integer of at least 4"),
        (lambda: cross_ratios([0.0, 1.0, 2.0]), "at least 4 angles"),
        (lambda: moebius_start(8, 1.0), "order must lie strictly between 0 and 1"),
        (lambda: kuramoto_law([0.0], 0.5, sign=2), "sign must be 1 or -1"),
        (lambda: repulsion(1, 3, [1.0], beta=1), "n must be an integer of at least 2"),
        (lambda: random_matrices(which="QX"), "which must be some of the letters"),
        (lambda: leader_runs(1, 2, [1.0]), "n must be an integer of at least 2"),
        (lambda: leader_runs(4, 2, [1.0], spectrum=(1.0,)), "spectrum must have shape"),
        (lambda: groups([[0.0]], 0.0), "near must be a positive"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
