"""L-BFGS finds minima to the rounding of the gradient, also where the function no longer shows a difference."""

import numpy as np
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.optimize import rosen, rosen_der

from attsvm_lib.lbfgs import minimize


def quadratic(d, condition, rng, offset=0.0):
    """offset + (x - c)^T A (x - c) / 2 with eigenvalues of A from 1 to `condition`, and its minimizer c."""
    U = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A, c = U * np.geomspace(1, condition, d) @ U.T, rng.standard_normal(d)
    return (lambda x: (offset + 0.5 * (x - c) @ A @ (x - c), A @ (x - c))), c


@pytest.mark.parametrize("condition", [1.0, 1e2, 1e4])
@pytest.mark.parametrize("memory", [1, 30])
def test_minimizer_of_a_quadratic_is_found(condition, memory):
    function, c = quadratic(12, condition, np.random.default_rng(0))
    end = minimize(function, np.zeros(12), memory=memory)
    np.testing.assert_allclose(end, c, atol=1e-8)


def test_the_gradient_is_followed_where_the_function_no_longer_changes():
    # an offset of 1e8 hides differences of f below 1e-8, that is distances below 1e-4
    function, c = quadratic(12, 10.0, np.random.default_rng(1), offset=1e8)
    np.testing.assert_allclose(minimize(function, np.zeros(12)), c, atol=1e-9)


def test_it_stops_where_even_the_gradient_is_noise():
    rng, calls = np.random.default_rng(2), 0

    def noisy(x):
        nonlocal calls
        calls += 1
        return 1e8 + 0.5 * x @ x, x + 1e-6 * rng.standard_normal(5)

    end = minimize(noisy, np.ones(5))
    assert np.abs(end).max() < 1e-5
    assert calls < 2000


def test_it_agrees_with_scipy_on_a_curved_valley():
    start = np.array([-1.2, 1.0, -0.5, 0.3])
    end = minimize(lambda x: (rosen(x), rosen_der(x)), start)
    other = scipy_minimize(rosen, start, jac=rosen_der, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-10})
    np.testing.assert_allclose(end, np.ones(4), atol=1e-9)
    assert rosen(end) <= other.fun + 1e-18


def test_a_minimum_is_kept_and_no_step_is_no_move():
    function, c = quadratic(3, 10.0, np.random.default_rng(3))
    np.testing.assert_array_equal(minimize(function, c), c)
    np.testing.assert_array_equal(minimize(function, np.ones(3), steps=0), np.ones(3))


def test_points_where_the_function_is_not_finite_are_too_far():
    def barrier(x):  # x - log x, defined for x > 0, from a start whose first full step leaves the domain
        with np.errstate(invalid="ignore", divide="ignore"):
            return float((x - np.log(x)).sum()), 1 - 1 / x

    np.testing.assert_allclose(minimize(barrier, np.array([0.9, 40.0])), 1.0, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": [[1.0]]}, r"x must have shape \(d,\), got \(1, 1\)"),
        ({"x": [np.nan]}, "x must be finite"),
        ({"memory": 0}, "memory must be an integer of at least 1, got 0"),
        ({"steps": -1}, "steps must be an integer of at least 0, got -1"),
        ({"tolerance": 0}, "tolerance must be a positive finite number, got 0"),
        ({"function": lambda x: (np.inf, x)}, "function and its gradient must be finite at the start"),
    ],
)
def test_bad_input_names_the_argument(options, message):
    options = {"function": lambda x: (0.5 * x @ x, x), "x": np.ones(2), **options}
    with pytest.raises(ValueError, match=message):
        minimize(options.pop("function"), options.pop("x"), **options)
