"""The excess risk and its logarithm are right where subtracting the infimum has no digit left."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attsvm_lib.attention import gradient, loss
from attsvm_lib.data import TokenData, random_data, random_direction
from attsvm_lib.excess import excess_loss, infimum_loss, log_excess_gradient, log_excess_loss
from attsvm_lib.heads import LinearHead
from attsvm_lib.selection import optimal_tokens, scores
from attsvm_lib.svm import att_svm
from attsvm_lib.training import random_start


def problem(seed, n=4, T=5, d=6, batch=()):
    rng = np.random.default_rng(seed)
    data = random_data(n, T, d, rng=rng, batch=batch)
    return data, LinearHead(random_direction(d, rng=rng, batch=batch)), random_start(d, rng=rng, batch=batch)


@given(seed=st.integers(0, 10**6), scale=st.floats(0.0, 20.0))
@settings(max_examples=40, deadline=None)
def test_excess_is_the_risk_minus_its_infimum(seed, scale):
    data, head, W = problem(seed)
    direct = loss(data, head, scale * W) - infimum_loss(data, head)
    assert excess_loss(data, head, scale * W) == pytest.approx(direct, rel=1e-12, abs=4e-16)
    assert direct >= 0


def test_excess_of_two_tokens_has_its_closed_form():
    # d = 1, tokens 1 and 0, query 1, head 1, label +1: optimal token 0, delta = sigma(-W)
    data, head = TokenData([[[1.0], [0.0]]], [[1.0]], [1.0]), LinearHead([1.0])
    for w in (-5.0, 0.0, 3.0):
        delta = 1 / (1 + np.exp(w))
        exact = np.log(np.log1p(np.expm1(delta) / (1 + np.e)))
        assert log_excess_loss(data, head, [[w]]) == pytest.approx(exact, rel=1e-14)
    for w in (100.0, 1e3, 1e5):
        assert log_excess_loss(data, head, [[w]]) == pytest.approx(-w - np.log(1 + np.e), rel=1e-15)


def test_log_excess_falls_by_the_margin_along_the_svm_direction():
    data, head, _ = problem(0)
    W = att_svm(data, optimal_tokens(scores(data, head.v))).W
    values = log_excess_loss(data, head, np.multiply.outer([1e4, 1e5, 1e6], W))
    np.testing.assert_allclose(np.diff(values), [-9e4, -9e5], rtol=1e-11)


@pytest.mark.parametrize("scale", [0.0, 1.0, 30.0])
def test_gradient_of_the_log_excess_agrees_with_finite_differences(scale):
    data, head, W = problem(1)
    W = scale * W
    value, G = log_excess_gradient(data, head, W)
    assert value == log_excess_loss(data, head, W)
    slope = np.zeros(W.shape)
    for index in np.ndindex(W.shape):
        step = np.zeros(W.shape)
        step[index] = 1e-5
        slope[index] = (log_excess_loss(data, head, W + step) - log_excess_loss(data, head, W - step)) / 2e-5
    np.testing.assert_allclose(G, slope, atol=1e-8)
    np.testing.assert_allclose(G * np.exp(value), gradient(data, head, W), rtol=1e-12, atol=1e-16)


@given(seed=st.integers(0, 10**6), exponent=st.integers(-6, 9))
@settings(max_examples=30, deadline=None)
def test_scores_of_any_size_stay_finite(seed, exponent):
    data, head, W = problem(seed)
    head = LinearHead(10.0**exponent * head.v)
    value, G = log_excess_gradient(data, head, W)
    assert np.isfinite(value)
    assert np.isfinite(G).all()
    direct = loss(data, head, W) - infimum_loss(data, head)
    assert np.exp(value) == pytest.approx(direct, rel=1e-6, abs=1e-15)


def test_batched_result_equals_the_loop():
    data, head, W = problem(2, batch=(3,))
    values, G = log_excess_gradient(data, head, W)
    for b in range(3):
        one, h = TokenData(data.X[b], data.Z[b], data.Y[b]), LinearHead(head.v[b])
        assert values[b] == pytest.approx(log_excess_loss(one, h, W[b]), rel=1e-13)
        np.testing.assert_allclose(G[b], log_excess_gradient(one, h, W[b])[1], rtol=1e-10, atol=1e-14)


def test_sequences_of_equal_tokens_do_not_count():
    data, head, W = problem(3)
    X = data.X.copy()
    X[0] = X[0, 0]
    with_equal = TokenData(X, data.Z, data.Y)
    rest = TokenData(X[1:], data.Z[1:], data.Y[1:])
    value, G = log_excess_gradient(with_equal, head, W)
    expected, H = log_excess_gradient(rest, head, W)
    assert value == pytest.approx(expected + np.log(3 / 4), rel=1e-13)
    np.testing.assert_allclose(G, H, rtol=1e-10, atol=1e-14)


def test_no_excess_at_all_is_minus_infinity_and_has_no_gradient():
    data, head, W = problem(4, T=1)
    assert log_excess_loss(data, head, W) == -np.inf
    assert excess_loss(data, head, W) == 0
    with pytest.raises(ValueError, match="data must hold a token that is not optimal"):
        log_excess_gradient(data, head, W)


def test_bad_input_names_the_argument():
    data, _, W = problem(5)

    class Other:
        def value(self, o):
            return o[..., 0]

        def gradient(self, o):
            return np.eye(o.shape[-1])[0] + 0 * o

    with pytest.raises(ValueError, match="head must be a LinearHead.*got Other"):
        log_excess_loss(data, Other(), W)
    with pytest.raises(ValueError, match="v must have the length of a token, d = 6, got 2"):
        infimum_loss(data, LinearHead(np.ones(2)))
