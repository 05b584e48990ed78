"""Optimal configurations: inner products by hand, and a bound that no configuration beats and these attain."""

import numpy as np
import pytest

from attsvm_lib import random_direction
from attsvm_lib.meanfield import (
    cross_polytope,
    energy_bound,
    icosahedron,
    scaled_energy,
    simplex,
    touching_polynomial,
    velocity,
)

S5 = 1 / np.sqrt(5)
OPTIMAL = {
    "triangle": (simplex(2), [-0.5]),
    "tetrahedron": (simplex(3), [-1 / 3]),
    "simplex of dimension 6": (simplex(6), [-1 / 6]),
    "square": (cross_polytope(2), [-1, 0]),
    "octahedron": (cross_polytope(3), [-1, 0]),
    "cross-polytope of dimension 7": (cross_polytope(7), [-1, 0]),
    "icosahedron": (icosahedron(), [-1, -S5, S5]),
}
every = pytest.mark.parametrize(("x", "touches"), OPTIMAL.values(), ids=OPTIMAL)


@every
def test_inner_products_are_those_of_the_name(x, touches):
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-14)
    products = (x @ x.T)[~np.eye(len(x), dtype=bool)]
    np.testing.assert_allclose(np.unique(products.round(12)), touches, atol=1e-12)


def test_a_simplex_in_one_dimension_is_a_pair():
    np.testing.assert_allclose(np.sort(simplex(1), axis=0), [[-1], [1]])


@pytest.mark.parametrize("beta", [0.1, 1.0, 4.0, 30.0])
@every
def test_they_attain_the_bound_and_stand_still(x, touches, beta):
    n, d = x.shape
    assert energy_bound(n, d, beta=beta, touches=touches) == pytest.approx(scaled_energy(x, beta=beta), rel=1e-12)
    moved = x @ np.linalg.qr(np.random.default_rng(0).standard_normal((d, d)))[0]
    assert np.abs(velocity(moved / np.linalg.norm(moved, axis=1, keepdims=True), beta=beta)).max() < 1e-14


@every
def test_the_polynomial_touches_from_below(x, touches):
    beta, u = 3.0, np.linspace(-1, 1, 401)
    h = touching_polynomial(touches, beta=beta)
    assert (h(u) <= np.exp(beta * (u - 1)) + 1e-12).all()
    for touch in touches:
        assert h(touch) == pytest.approx(np.exp(beta * (touch - 1)), abs=1e-13)
        if touch > -1:
            assert h.deriv()(touch) == pytest.approx(beta * np.exp(beta * (touch - 1)), abs=1e-12)


def test_the_polynomial_of_the_cross_polytope_by_hand():
    beta = 2.0
    c = np.exp(-beta) - 1 + beta
    by_hand = np.exp(-beta) * np.array([1, beta, c])
    np.testing.assert_allclose(touching_polynomial([-1, 0], beta=beta).coef, by_hand, rtol=1e-12)


@pytest.mark.parametrize("beta", [0.5, 5.0])
@every
def test_no_random_configuration_is_below_the_bound(x, touches, beta):
    n, d = x.shape
    bound = energy_bound(n, d, beta=beta, touches=touches)
    tokens = random_direction(d, rng=np.random.default_rng(n), batch=(200, n))
    assert scaled_energy(tokens, beta=beta).min() > bound


def test_energies_in_closed_form():
    beta = 3.0
    assert scaled_energy(simplex(4), beta=beta) == pytest.approx((1 + 4 * np.exp(-beta * 5 / 4)) / 5)
    assert scaled_energy(cross_polytope(4), beta=beta) == pytest.approx((1 + np.exp(-2 * beta) + 6 * np.exp(-beta)) / 8)


def test_the_bound_of_one_touch_is_that_of_jensen():
    n, beta = 9, 2.0
    by_hand = (1 + (n - 1) * np.exp(beta * (-1 / (n - 1) - 1))) / n
    assert energy_bound(n, 3, beta=beta, touches=[-1 / (n - 1)]) == pytest.approx(by_hand)


@pytest.mark.parametrize("n", [3, 5, 6, 9])
def test_regular_polygons_are_optimal_on_the_circle(n):
    angles = 2 * np.pi * np.arange(n) / n
    x = np.stack([np.cos(angles), np.sin(angles)], -1)
    touches = np.cos(angles[1 : n // 2 + 1])
    assert energy_bound(n, 2, beta=2.0, touches=touches) == pytest.approx(scaled_energy(x, beta=2.0), rel=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simplex(0), "d must be an integer of at least 1"),
        (lambda: energy_bound(1, 3, beta=1, touches=[0]), "n must be an integer of at least 2"),
        (lambda: energy_bound(4, 1, beta=1, touches=[0]), "d must be an integer of at least 2"),
        (lambda: energy_bound(4, 3, beta=0, touches=[0]), "beta must be a positive"),
        (lambda: energy_bound(4, 3, beta=1, touches=[1.0]), r"touches must be different numbers in \[-1, 1\)"),
        (lambda: energy_bound(4, 3, beta=1, touches=[0.0, 0.0]), "touches must be different"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_polynomial_with_a_negative_coefficient_bounds_nothing():
    with pytest.raises(ArithmeticError, match="negative coefficient"):
        energy_bound(6, 3, beta=20.0, touches=[0.8, 0.9])
