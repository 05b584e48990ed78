"""The closed form of the orthogonal start, against quadrature, an ODE solver, its inverse and reference values."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from attsvm_lib.meanfield import equiangular, log_transition_time, transition_time

REFERENCE = json.loads((Path(__file__).parent / "reference/meanfield/gamma_tstar.json").read_text())
MODELS = ("sa", "usa")


def slope(gamma, n, beta, model):
    """gamma' as the paper writes it."""
    growth = (1 - gamma) * ((n - 1) * gamma + 1)
    if model == "usa":
        return 2 / n * np.exp(beta * gamma) * growth
    return 2 * growth / (np.exp(beta * (1 - gamma)) + n - 1)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n", [2, 7, 32])
@pytest.mark.parametrize("beta", [1e-6, 0.3, 4.0, 12.0])
def test_the_time_is_the_integral_of_one_over_the_slope(model, n, beta):
    time, _ = quad(lambda gamma: 1 / slope(gamma, n, beta, model), 0, 0.97, epsabs=0, epsrel=1e-12, limit=200)
    assert transition_time(beta, n=n, eps=0.03, model=model) == pytest.approx(time, rel=1e-11)


@pytest.mark.parametrize("model", MODELS)
def test_beta_zero_is_a_logarithm_and_the_limit_of_small_beta(model):
    n, gamma = 32, 1 - 1e-3
    exact = 0.5 * np.log(((n - 1) * gamma + 1) / (1 - gamma))
    times = transition_time([0, 1e-300, 1e-18, 1e-12], n=n, model=model)
    np.testing.assert_allclose(times, exact, rtol=1e-11)
    assert times[0] == pytest.approx(exact, rel=1e-15)
    assert transition_time(1e-6, n=n, model=model) != pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("key", REFERENCE["tstar"])
def test_reference_transition_times(key):
    model, n = key.split(",n=")
    times = transition_time(REFERENCE["beta"], n=int(n), model=model)
    np.testing.assert_allclose(times, REFERENCE["tstar"][key], rtol=1e-12)


@pytest.mark.parametrize("key", REFERENCE["gamma"])
def test_reference_inner_products(key):
    model, n, beta = key.replace("n=", "").replace("beta=", "").split(",")
    curve = REFERENCE["gamma"][key]
    gamma = equiangular(curve["t"], n=int(n), beta=float(beta), model=model)
    np.testing.assert_allclose(gamma, curve["gamma"], rtol=0, atol=2e-12)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("beta", [0.0, 1.0, 6.0])
def test_the_law_solves_the_differential_equation(model, beta):
    t = np.linspace(0, 8, 30)
    solved = solve_ivp(
        lambda _, g: slope(g, 5, beta, model), (0, 8), [0.0], method="Radau", t_eval=t, rtol=1e-11, atol=1e-13
    )
    np.testing.assert_allclose(equiangular(t, n=5, beta=beta, model=model), solved.y[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("n", [2, 32, 1000])
@pytest.mark.parametrize("beta", [0.0, 1e-3, 1.0, 4.0, 9.0])
def test_equiangular_inverts_the_time(model, n, beta):
    eps = np.array([0.999, 0.7, 0.3, 0.05, 1e-3, 1e-7])
    t = [transition_time(beta, n=n, eps=e, model=model) for e in eps]
    np.testing.assert_allclose(equiangular(t, n=n, beta=beta, model=model), 1 - eps, rtol=0, atol=1e-12)


def test_large_beta():
    t = [transition_time(2000.0, n=8, eps=eps, model="usa") for eps in (0.9999, 0.999)]
    np.testing.assert_allclose(equiangular(t, n=8, beta=2000.0, model="usa"), [1e-4, 1e-3], rtol=1e-9)
    # SA: gamma = 2 t exp(-beta) as long as it is far below 1 / beta
    np.testing.assert_allclose(equiangular(1e290, n=8, beta=700.0), 2 * 1e290 * np.exp(-700.0), rtol=1e-2)
    assert equiangular(1e300, n=8, beta=1e4) < 1e-15


def test_the_law_starts_at_zero_rises_and_ends_at_one():
    gamma = equiangular(np.linspace(0, 60, 400), n=32, beta=4.0)
    assert gamma[0] == 0
    assert gamma[-1] == 1
    assert (np.diff(gamma) >= 0).all()


def test_it_broadcasts_times_against_beta():
    t, beta = np.array([0.5, 2.0, 9.0]), np.array([[0.0], [3.0]])
    gamma = equiangular(t, n=8, beta=beta)
    assert gamma.shape == (2, 3)
    assert gamma[1, 2] == equiangular(9.0, n=8, beta=3.0)
    assert isinstance(equiangular(9.0, n=8, beta=3.0), float)


def test_the_logarithm_agrees_and_stays_finite_to_ten_thousand():
    beta = np.array([0, 1e-9, 1.0, 20.0, 49.9, 50.1, 400.0, 700.0])
    for model in MODELS:
        for n in (2, 32):
            times = transition_time(beta, n=n, model=model)
            np.testing.assert_allclose(
                log_transition_time(beta, n=n, model=model), np.log(times), rtol=1e-13, atol=1e-13
            )
            assert np.isfinite(log_transition_time(np.geomspace(1e-3, 1e4, 50), n=n, model=model)).all()
    # for large beta the time is spent at the start: t ~ exp(beta) / (2 beta + 2 (n - 2)), up to 1/beta^2
    assert log_transition_time(1e4, n=3) == pytest.approx(1e4 - np.log(2e4 + 2), abs=1e-7)


def test_times_that_the_plain_formula_cannot_give():
    beta = np.array([680.0, 690.0, 712.0])
    steps = np.diff(log_transition_time(beta, n=32)) / np.diff(beta)
    np.testing.assert_allclose(steps, 1 - 1 / (beta[1:] + beta[:-1]) * 2, atol=1e-3)
    assert np.isfinite(transition_time(712.0, n=32))
    with pytest.raises(FloatingPointError, match="beta = 800 .*log_transition_time"):
        transition_time([700, 800, 5000], n=32)
    assert transition_time(5000, n=32, model="usa") == pytest.approx(32 / (2 * 5000), rel=0.01)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: transition_time(-1, n=32), "beta must be at least 0, got -1"),
        (lambda: transition_time(np.nan, n=32), "beta must be finite"),
        (lambda: transition_time(1, n=1), "n must be an integer of at least 2, got 1"),
        (lambda: transition_time(1, n=3, eps=1), "eps must lie strictly between 0 and 1, got 1"),
        (lambda: transition_time(1, n=3, eps=0), "eps must be a positive"),
        (lambda: log_transition_time(1, n=3, model="SA"), "model must be one of 'sa', 'usa'"),
        (lambda: equiangular(-0.1, n=3, beta=1), "t must be at least 0, got -0.1"),
        (lambda: equiangular([1, 2], n=3, beta=[1, 2, 3]), "t and beta must have batch axes that broadcast"),
        (lambda: equiangular(1, n=3.0, beta=1), "n must be an integer"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
