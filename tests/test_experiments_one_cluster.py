"""Half-spaces are found exactly when there is one, and inner products are those of the simulated tokens."""

import numpy as np
import pytest
from scipy.optimize import linprog

from attsvm_lib import random_direction
from attsvm_lib.experiments import ProductRanges, half_space_share, pair_products, product_ranges
from attsvm_lib.meanfield import equiangular, random_gram, simulate_gram, wendel

TIMES = [0.0, 1.0, 3.0]


def points(n, d, size, seed=0):
    return random_direction(d, rng=np.random.default_rng([seed, n, d]), batch=(size, n))


@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 2), (3, 3), (5, 9), (16, 16)])
def test_as_many_points_as_dimensions_always_lie_in_a_half_space(n, d):
    assert half_space_share(n, d, 40).all()


def test_on_the_line_a_half_space_is_a_common_sign():
    signs = points(4, 1, 200)[..., 0] > 0
    np.testing.assert_array_equal(half_space_share(4, 1, 200), signs.all(1) | ~signs.any(1))


def test_on_the_circle_a_half_space_is_a_gap_of_more_than_a_half_circle():
    x = points(4, 2, 200)
    theta = np.sort(np.arctan2(x[..., 1], x[..., 0]), 1)
    gap = np.diff(theta, axis=1, append=theta[:, :1] + 2 * np.pi).max(1)
    np.testing.assert_array_equal(half_space_share(4, 2, 200), gap > np.pi)


def test_a_linear_program_finds_the_same_half_spaces():
    def feasible(x):
        return linprog(np.zeros(5), A_ub=-x, b_ub=-np.ones(len(x)), bounds=(None, None)).status == 0

    found = half_space_share(10, 5, 60)
    np.testing.assert_array_equal(found, [feasible(x) for x in points(10, 5, 60)])
    assert 0.2 < found.mean() < 0.8


@pytest.mark.parametrize(("n", "d"), [(4, 2), (8, 2), (12, 6), (20, 8)])
def test_shares_follow_the_formula_of_wendel(n, d):
    P = wendel(n, d)
    assert abs(half_space_share(n, d, 400, seed=3).mean() - P) < 4 * np.sqrt(P * (1 - P) / 400)


@pytest.mark.parametrize(("d", "model"), [(3, "sa"), (7, "usa"), (500, "sa")])
def test_products_are_those_of_an_adaptive_run(d, model):
    found = pair_products(d, 2.0, TIMES, 3, n=6, model=model, seed=4)
    assert found.shape == (3, 3, 15)
    start = np.stack([random_gram(6, d, (), np.random.default_rng([4, 6, d, k])) for k in range(3)])
    gram = simulate_gram(start, TIMES, beta=2.0, model=model, tol=1e-10).gram
    i, j = np.triu_indices(6, 1)
    np.testing.assert_allclose(found, gram[:, :, i, j].swapaxes(0, 1), atol=1e-4)


def test_ranges_are_the_extremes_of_the_products_beside_the_orthogonal_start():
    products = pair_products(20, 1.0, TIMES, 5, n=8)
    ranges = product_ranges(20, 1.0, TIMES, 5, n=8)
    np.testing.assert_allclose(ranges.smallest, products.min(-1), atol=1e-12)
    np.testing.assert_allclose(ranges.largest, products.max(-1), atol=1e-12)
    gamma = equiangular(TIMES, n=8, beta=1.0)
    np.testing.assert_array_equal(ranges.gamma, gamma)
    np.testing.assert_allclose(ranges.deviation, np.abs(products - gamma[:, None]).max(-1), atol=1e-12)
    np.testing.assert_array_equal(ranges.times, TIMES)


def test_a_system_does_not_depend_on_how_many_there_are():
    few, many = (product_ranges(9, 3.0, TIMES, size, n=5, seed=2) for size in (2, 40))
    np.testing.assert_allclose(few.smallest, many.smallest[:2], atol=1e-12)


def test_deviations_shrink_with_the_dimension():
    low, high = (product_ranges(d, 1.0, np.linspace(0, 8, 17), 8).deviation.max(1).mean() for d in (64, 4096))
    assert low / high == pytest.approx(8, rel=0.2)


def test_contraction_is_the_slope_of_the_logarithm():
    times = np.linspace(0, 20, 41)
    smallest = 1 - np.exp(-np.array([[1.3], [0.7]]) * times) / 2
    run = ProductRanges(smallest, smallest, smallest[0], times)
    np.testing.assert_allclose(run.contraction(1e-1, 1e-5), [1.3, 0.7], rtol=1e-9)
    with pytest.raises(ValueError, match="times must hold at least 3 with gaps from 1e-08 to 1e-07, got"):
        run.contraction(1e-7, 1e-8)


def test_tokens_contract_at_the_rate_of_the_linearization():
    sa = product_ranges(12, 2.0, np.linspace(0, 16, 81), 3, n=12)
    usa = product_ranges(12, 1.0, np.linspace(0, 8, 81), 3, n=12, model="usa")
    np.testing.assert_allclose(sa.contraction(), 2, rtol=0.01)
    np.testing.assert_allclose(usa.contraction(), 2 * np.e, rtol=0.01)


def test_sizes_have_names(monkeypatch):
    monkeypatch.setenv("ATTSVM_SIZE", "quick")
    assert (len(half_space_share(2, 2)), len(half_space_share(2, 2, "full"))) == (100, 1000)
    assert (len(pair_products(3, 1.0, [0.0], n=2)), len(pair_products(3, 1.0, [0.0], "full", n=2))) == (8, 32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: half_space_share(0, 2, 5), "n must be an integer of at least 1, got 0"),
        (lambda: half_space_share(3, 2, 0), "size must be an integer of at least 1, got 0"),
        (lambda: half_space_share(3, 2, "big"), "size must be one of 'quick', 'full', got 'big'"),
        (lambda: pair_products(0, 1.0, TIMES, 2), "d must be an integer of at least 1, got 0"),
        (lambda: pair_products(3, -1.0, TIMES, 2), "beta must be a non-negative finite number, got -1.0"),
        (lambda: pair_products(3, 1.0, [1.0, 0.0], 2), "times must be in order"),
        (lambda: product_ranges(3, 1.0, TIMES, 2, n=1), "n must be an integer of at least 2, got 1"),
        (lambda: product_ranges(3, 1.0, TIMES, 2, model="x"), "model must be one of 'sa', 'usa', got 'x'"),
        (lambda: product_ranges(3, 1.0, TIMES, 2, seed=-1), "seed must be an integer of at least 0, got -1"),
    ],
)
def test_bad_arguments_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
