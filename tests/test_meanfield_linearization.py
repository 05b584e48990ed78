"""Growth rates of ripples: Bessel functions, the asymptotic law, and the growth of a real ripple."""

import numpy as np
import pytest
from scipy.special import iv

from attsvm_lib.meanfield import circle_grid, circle_quantiles, fastest_mode, growth_rates, simulate_circle


@pytest.mark.parametrize("beta", [0.1, 1.0, 4.0, 30.0])
def test_rates_are_those_of_the_formula(beta):
    k = np.arange(13)
    np.testing.assert_allclose(growth_rates(beta, 12), k**2 * iv(k, beta) / (beta * iv(0, beta)), rtol=1e-8, atol=1e-14)


def test_at_beta_zero_only_the_first_ripple_grows():
    np.testing.assert_array_equal(growth_rates(0, 3), [0, 0.5, 0, 0])
    np.testing.assert_allclose(growth_rates(1e-6, 3), [0, 0.5, 0, 0], atol=1e-6)


def test_for_large_beta_the_fastest_ripple_is_near_the_square_root_of_two_beta():
    for beta in (100.0, 1e4):
        assert abs(fastest_mode(beta) - np.sqrt(2 * beta)) < 1
        assert growth_rates(beta, 300).max() == pytest.approx(2 / np.e, rel=1 / beta**0.5)
    assert [fastest_mode(beta) for beta in (4, 9, 16, 25, 36, 49, 64)] == [3, 4, 6, 7, 8, 10, 11]


@pytest.mark.parametrize(("beta", "k"), [(4.0, 2), (9.0, 4), (9.0, 6)])
def test_a_small_ripple_of_tokens_grows_at_the_rate(beta, k):
    n, size = 720, 1e-4
    theta0 = circle_quantiles((1 + size * np.cos(k * circle_grid(256))) / (2 * np.pi), (np.arange(n) + 0.5) / n)
    run = simulate_circle(theta0, [0.0, 1.0], beta=beta)
    ripple = np.abs(np.exp(1j * k * run.theta).mean(-1))
    assert np.log(ripple[1] / ripple[0]) == pytest.approx(growth_rates(beta, k)[k], rel=1e-3)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="beta must be a non-negative"):
        growth_rates(-1, 3)
    with pytest.raises(ValueError, match="modes must be an integer of at least 1"):
        growth_rates(1, 0)
    with pytest.raises(ValueError, match="beta must be a non-negative"):
        fastest_mode(-1.0)
