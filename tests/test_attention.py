"""The attention layer is right at every saturation: forward pass, risk, gradients and descent direction."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attsvm_lib.attention import (
    attention_probabilities,
    attention_scores,
    descent_direction,
    gradient,
    gradient_kq,
    log_softmax,
    loss,
    output,
    softmax,
)
from attsvm_lib.data import TokenData, random_data, random_direction
from attsvm_lib.heads import Head, LinearHead, QuadraticHead, ReluHead
from attsvm_lib.training import random_start


def problem(seed, n=4, T=5, d=3, batch=()):
    rng = np.random.default_rng(seed)
    data = random_data(n, T, d, rng=rng, batch=batch)
    return data, LinearHead(random_direction(d, rng=rng, batch=batch)), random_start(d, rng=rng, batch=batch)


HEADS = {
    "linear": lambda rng, d: LinearHead(random_direction(d, rng=rng)),
    "relu": lambda rng, d: ReluHead(rng.standard_normal((d, 2 * d))),
    "quadratic": lambda rng, d: QuadraticHead(random_direction(d, rng=rng), 0.7),
}


def central_difference(f, W, h=1e-5):
    slope = np.zeros(W.shape)
    for index in np.ndindex(W.shape):
        step = np.zeros(W.shape)
        step[index] = h
        slope[index] = (f(W + step) - f(W - step)) / (2 * h)
    return slope


def exact_head(head, o):
    """Value and gradient of a head at o, all in Decimal."""
    exact = np.vectorize(Decimal)
    if isinstance(head, ReluHead):
        hidden = o @ exact(head.V)
        return sum(max(u, Decimal(0)) for u in hidden), exact(head.V) @ np.where(hidden > 0, Decimal(1), Decimal(0))
    v, lam = exact(head.v), Decimal(float(getattr(head, "lam", 0)))
    return v @ o - lam * (o @ o), v - 2 * lam * o


def exact_direction(data, head, W):
    """-grad L / ||grad L|| and its logarithmic length in 1500-digit arithmetic, from the same doubles."""
    with localcontext() as context:
        context.prec = 1500  # more digits than the subtraction gamma - mean can cancel
        context.Emin = -(10**6)
        X, Z, Y, W = (np.vectorize(Decimal)(a) for a in (data.X, data.Z, data.Y, W))
        G = np.full(W.shape, Decimal(0))
        for i in range(data.n):
            a = X[i] @ (W @ Z[i])
            e = np.array([(t - a.max()).exp() for t in a])
            s = e / e.sum()
            f, g = exact_head(head, s @ X[i])
            gamma = X[i] @ g
            slope = Y[i] / ((Y[i] * f).exp() + 1) / data.n
            G = G + np.outer((slope * s * (gamma - s @ gamma)) @ X[i], Z[i])
        size = (G * G).sum().sqrt()
        return (G / size).astype(float), float(size.ln())


# closed forms


def test_softmax_of_two_scores_is_the_logistic_function():
    np.testing.assert_allclose(softmax([0.3, -0.4]), [1 / (1 + np.exp(-0.7)), 1 / (1 + np.exp(0.7))], rtol=1e-15)


def test_softmax_survives_any_finite_score_and_a_mask():
    for scale in (1e-300, 1e-6, 1.0, 1e9, 1e300):
        s = softmax(scale * np.array([0.0, 1.0, -1.0]))
        assert s.sum() == pytest.approx(1, abs=1e-15)
    np.testing.assert_array_equal(softmax([0.0, -np.inf, 0.0]), [0.5, 0.0, 0.5])
    np.testing.assert_array_equal(log_softmax([1000.0, 0.0]), [0.0, -1000.0])


@pytest.mark.parametrize("bad", [[0.0, np.inf], [np.nan, 0.0], [-np.inf, -np.inf], [[0.0, 1.0], [np.inf, -np.inf]]])
def test_softmax_refuses_what_has_no_softmax(bad):
    for function in (softmax, log_softmax):
        with pytest.raises(ValueError, match="a must be finite or -inf, with a finite entry along axis -1, got"):
            function(bad)


def test_one_sequence_two_tokens_by_hand():
    # d = 1, tokens 1 and 0, query 2: f = v s with s = sigma(2 W)
    data, head = TokenData([[[1.0], [0.0]]], [[2.0]], [-1.0]), LinearHead([3.0])
    W = np.array([[0.4]])
    s = 1 / (1 + np.exp(-0.8))
    np.testing.assert_allclose(attention_scores(data, W), [[0.8, 0.0]])
    np.testing.assert_allclose(attention_probabilities(data, W), [[s, 1 - s]])
    np.testing.assert_allclose(output(data, head, W), [3 * s])
    assert loss(data, head, W) == pytest.approx(np.log1p(np.exp(3 * s)), rel=1e-15)
    slope = 1 / (1 + np.exp(-3 * s)) * 3 * s * (1 - s) * 2
    np.testing.assert_allclose(gradient(data, head, W), [[slope]], rtol=1e-14)


@pytest.mark.parametrize(("f", "expected"), [(1000.0, 1000.0), (-1000.0, 0.0), (-50.0, np.log1p(np.exp(-50.0)))])
def test_risk_is_accurate_for_outputs_of_any_size(f, expected):
    data = TokenData([[[f]]], [[1.0]], [-1.0])
    assert loss(data, LinearHead([1.0]), np.zeros((1, 1))) == pytest.approx(expected, rel=1e-15)


# gradients


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("attention", ["cross", "self"])
def test_gradients_agree_with_finite_differences(kind, attention):
    rng = np.random.default_rng(3)
    data = random_data(4, 5, 3, rng=rng, attention=attention)
    head, W, (K, Q) = HEADS[kind](rng, 3), random_start(3, rng=rng), random_start(3, 2, rng=rng)
    assert isinstance(head, Head)
    G = gradient(data, head, W)
    np.testing.assert_allclose(G, central_difference(lambda W: loss(data, head, W), W), atol=1e-10)
    GK, GQ = gradient_kq(data, head, K, Q)
    np.testing.assert_allclose(GK, central_difference(lambda K: loss(data, head, K @ Q.T), K), atol=1e-10)
    np.testing.assert_allclose(GQ, central_difference(lambda Q: loss(data, head, K @ Q.T), Q), atol=1e-10)


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("margin", [0.0, 1.0, 10.0, 20.0, 40.0, 100.0, 300.0, 900.0])
def test_direction_is_exact_at_every_saturation(kind, margin):
    data, _, W = problem(0, n=3, T=4, d=3)
    head = HEADS[kind](np.random.default_rng(8), 3)
    a = np.sort(attention_scores(data, W))
    W = W * margin / (a[:, -1] - a[:, -2]).min()
    expected, log_norm = exact_direction(data, head, W)
    step = descent_direction(data, head, W)
    # the scores themselves carry an error of a few ulp, which the weights exp(a) turn into a relative one
    tolerance = 2e-15 * (1 + np.abs(attention_scores(data, W)).max())
    assert not step.is_zero
    np.testing.assert_allclose(step.unit, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(step.log_norm, log_norm, rtol=1e-14, atol=tolerance)


def test_direction_survives_a_one_hot_softmax():
    data, head, W = problem(1)
    W = 1e6 * W
    assert (attention_probabilities(data, W).max(-1) == 1).all()
    step = descent_direction(data, head, W)
    assert np.linalg.norm(step.unit) == pytest.approx(1, abs=1e-14)
    assert step.log_norm < -1e3
    assert not gradient(data, head, W).any()


@given(seed=st.integers(0, 10**6), scale=st.floats(0.0, 200.0))
@settings(max_examples=40, deadline=None)
def test_direction_is_minus_the_gradient_and_descends(seed, scale):
    data, head, W = problem(seed)
    W = scale * W
    step, G = descent_direction(data, head, W), gradient(data, head, W)
    np.testing.assert_allclose(step.unit, -G / np.linalg.norm(G), atol=1e-12)
    assert np.log(np.linalg.norm(G)) == pytest.approx(step.log_norm, abs=1e-12)
    assert loss(data, head, W + 1e-4 * step.unit) <= loss(data, head, W)


@given(seed=st.integers(0, 10**6), exponent=st.integers(-6, 9))
@settings(max_examples=40, deadline=None)
def test_direction_does_not_depend_on_units(seed, exponent):
    # tokens times c, head and W divided by c: same scores, same outputs, same direction, gradient times c
    data, head, W = problem(seed)
    c = 10.0**exponent
    scaled = descent_direction(TokenData(c * data.X, data.Z, data.Y), LinearHead(head.v / c), W / c)
    step = descent_direction(data, head, W)
    np.testing.assert_allclose(scaled.unit, step.unit, atol=1e-12)
    assert scaled.log_norm == pytest.approx(step.log_norm + np.log(c), abs=1e-10)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_order_of_tokens_and_sequences_does_not_matter(seed):
    data, head, W = problem(seed)
    rng = np.random.default_rng(seed)
    i, t = rng.permutation(data.n), rng.permutation(data.T)
    shuffled = TokenData(data.X[i][:, t], data.Z[i], data.Y[i])
    np.testing.assert_allclose(gradient(shuffled, head, W), gradient(data, head, W), rtol=1e-11, atol=1e-15)


# zero gradients


def zero_gradient_problems():
    data, head, W = problem(5)
    X, Z, Y = data.X, data.Z, data.Y
    equal = TokenData(np.repeat(X[:, :1], data.T, axis=1), Z, Y)
    orthogonal = TokenData(X - (X @ head.v)[..., None] * head.v + head.v, Z, Y)
    yield pytest.param(equal, head, 30 * W, id="all tokens equal")
    yield pytest.param(orthogonal, head, 30 * W, id="all scores equal")
    yield pytest.param(data, LinearHead(np.zeros(3)), W, id="zero head")
    yield pytest.param(TokenData(X, np.zeros_like(Z), Y), head, W, id="zero queries")
    yield pytest.param(TokenData(X[:, :1], Z, Y), head, W, id="one token")


@pytest.mark.parametrize(("data", "head", "W"), list(zero_gradient_problems()))
def test_zero_gradient_is_reported_and_not_divided(data, head, W):
    step = descent_direction(data, head, W)
    assert step.is_zero
    assert not step.unit.any()
    assert step.log_norm == -np.inf
    assert not gradient(data, head, W).any()


@pytest.mark.parametrize("size", [1e-3, 1e-9])
def test_gradient_that_nearly_cancels_between_sequences_keeps_its_direction(size):
    # labels +1 and -1 on the same sequence: their slopes differ by f / 2 to first order, with f = O(size)
    data, head, _ = problem(5, n=1)
    pair = TokenData(np.repeat(data.X, 2, 0), np.repeat(data.Z, 2, 0), [1.0, -1.0])
    small, W = LinearHead(size * head.v), np.zeros((3, 3))
    sign = np.sign(output(data, small, W)[0]) * data.Y[0]
    expected = -sign * descent_direction(data, small, W).unit
    np.testing.assert_allclose(descent_direction(pair, small, W).unit, expected, atol=1e-14 / size)


def test_gradient_that_cancels_below_its_rounding_error_is_zero():
    data, head, W = problem(5, n=1)
    pair = TokenData(np.repeat(data.X, 2, 0), np.repeat(data.Z, 2, 0), [1.0, -1.0])
    assert descent_direction(pair, LinearHead(1e-18 * head.v), W).is_zero


def test_duplicate_tokens_and_a_saturated_sequence_keep_the_others_alive():
    data, head, W = problem(6)
    X = data.X.copy()
    X[:, 1] = X[:, 0]
    data = TokenData(X, data.Z, data.Y)
    for scale in (1.0, 1e3):
        expected, log_norm = exact_direction(data, head, scale * W)
        step = descent_direction(data, head, scale * W)
        np.testing.assert_allclose(step.unit, expected, atol=1e-12 * scale)
        assert step.log_norm == pytest.approx(log_norm, abs=1e-12 * scale)


# batch axes


def test_batched_result_equals_the_loop():
    data, head, W = problem(7, batch=(3, 2))
    K, Q = random_start(3, 2, rng=np.random.default_rng(0), batch=(3, 2))
    step, G, GK = descent_direction(data, head, W), gradient(data, head, W), gradient_kq(data, head, K, Q)[0]
    assert step.unit.shape == G.shape == (3, 2, 3, 3)
    assert step.log_norm.shape == step.is_zero.shape == loss(data, head, W).shape == (3, 2)
    for b in np.ndindex(3, 2):
        one, h = TokenData(data.X[b], data.Z[b], data.Y[b]), LinearHead(head.v[b])
        np.testing.assert_allclose(G[b], gradient(one, h, W[b]), rtol=1e-12, atol=1e-16)
        np.testing.assert_allclose(GK[b], gradient_kq(one, h, K[b], Q[b])[0], rtol=1e-12, atol=1e-16)
        np.testing.assert_allclose(step.unit[b], descent_direction(one, h, W[b]).unit, atol=1e-13)
        np.testing.assert_allclose(output(data, head, W)[b], output(one, h, W[b]), rtol=1e-13)


def test_many_weights_on_one_data_set_and_many_heads_on_one_weight():
    data, head, _ = problem(8)
    rng = np.random.default_rng(0)
    W = random_start(3, rng=rng, batch=(5,))
    assert gradient(data, head, W).shape == (5, 3, 3)
    np.testing.assert_allclose(gradient(data, head, W)[4], gradient(data, head, W[4]), atol=1e-15)
    heads = LinearHead(random_direction(3, rng=rng, batch=(5,)))
    assert gradient(data, heads, W[0]).shape == (5, 3, 3)
    np.testing.assert_allclose(gradient(data, heads, W[0])[2], gradient(data, LinearHead(heads.v[2]), W[0]), atol=1e-15)


# bad input


def test_bad_input_names_the_argument():
    data, head, W = problem(9)
    with pytest.raises(ValueError, match=r"W must have shape \(\.\.\., 3, 3\), got \(3, 2\)"):
        gradient(data, head, W[:, :2])
    with pytest.raises(ValueError, match="W must be finite, got nan"):
        loss(data, head, np.full((3, 3), np.nan))
    with pytest.raises(
        ValueError, match=r"W and data must have batch axes that broadcast .*, got \(5,\) for W, \(2,\) for data"
    ):
        gradient(problem(9, batch=(2,))[0], head, np.zeros((5, 3, 3)))
    with pytest.raises(ValueError, match="v must have the length of a token, d = 3, got 4"):
        output(data, LinearHead(np.ones(4)), W)
    with pytest.raises(ValueError, match="v must be finite, got inf"):
        LinearHead([1.0, np.inf])
    with pytest.raises(ValueError, match=r"Q must have shape \(\.\.\., 3, 2\), got \(3, 3\)"):
        gradient_kq(data, head, W[:, :2], W)


@pytest.mark.parametrize("function", [loss, output, gradient, descent_direction])
def test_a_wrong_kind_of_data_head_or_weights_is_named(function):
    data, head, W = problem(9)
    for wrong, kind in ((None, "NoneType"), (data.X, "ndarray"), ("x", "str")):
        with pytest.raises(ValueError, match=f"data must be a TokenData, got {kind}"):
            attention_scores(wrong, W)
        with pytest.raises(ValueError, match=f"data must be a TokenData, got {kind}"):
            function(wrong, head, W)
    for wrong, kind in ((head.v, "ndarray"), (LinearHead, "LinearHead"), (None, "NoneType")):
        with pytest.raises(ValueError, match=rf"head must be a head, such as LinearHead\(v\), got {kind}"):
            function(data, wrong, W)
        with pytest.raises(ValueError, match=rf"head must be a head, such as LinearHead\(v\), got {kind}"):
            gradient_kq(data, wrong, W, W)
    for pair in ((W, W), [W, W]):
        with pytest.raises(ValueError, match="W must be one array, got a pair of arrays: for factors K and Q pass"):
            function(data, head, pair)


@pytest.mark.parametrize("function", [loss, output, gradient, descent_direction])
def test_batch_axes_that_do_not_fit_are_named_with_their_shapes(function):
    data, heads, W = problem(9, batch=(2,))[0], problem(9, batch=(3,))[1], np.zeros((3, 3))
    with pytest.raises(ValueError, match=r"W, data and head must .*, got \(\) for W, \(2,\) for data, \(3,\) for head"):
        function(data, heads, W)
    with pytest.raises(ValueError, match=r"K, Q, data and head must .*, got \(4,\) for K, \(5,\) for Q, \(\) for data"):
        gradient_kq(*problem(9)[:2], np.zeros((4, 3, 2)), np.zeros((5, 3, 2)))
    with pytest.raises(ValueError, match=r"v and o must have batch axes .* got \(3,\) for v, \(2,\) for o"):
        heads.value(np.zeros((2, 4, 3)))


# overflow and underflow


def test_what_overflows_is_named_and_never_nan():
    data, head, W = problem(9)
    for function in (loss, output, gradient, descent_direction):
        with pytest.raises(FloatingPointError, match="the attention scores .* overflow"):
            function(data, head, 1e308 * np.ones((3, 3)))
        # scores that are finite, but whose differences are not
        with pytest.raises(FloatingPointError, match="the attention scores .* overflow"):
            function(TokenData([[[1.0], [-1.0]]], [[1.0]], [1.0]), LinearHead([1.0]), [[1.5e308]])
    huge = TokenData(1e200 * data.X, data.Z, data.Y)
    for function in (loss, output, gradient):
        with pytest.raises(FloatingPointError, match="the (outputs|scores) .* overflow"):
            function(huge, LinearHead(1e200 * head.v), 1e-200 * W)
    with pytest.raises(FloatingPointError, match="the entries of K Q.T overflow"):
        gradient_kq(data, head, 1e200 * W, 1e200 * W)
    wrong = TokenData([[[1e200], [-1e200]]], [[1e200]], [-1.0])
    with pytest.raises(FloatingPointError, match="the entries of the gradient overflow"):
        gradient(wrong, LinearHead([1.0]), [[0.0]])


@pytest.mark.parametrize("exponent", [-300, -200, 200, 300])
def test_direction_does_not_depend_on_units_far_out(exponent):
    data, head, W = problem(9)
    c = 10.0**exponent
    step = descent_direction(data, head, W)
    tokens = descent_direction(TokenData(c * data.X, data.Z, data.Y), LinearHead(head.v / c), W / c)
    queries = descent_direction(TokenData(data.X, c * data.Z, data.Y), head, W / c)
    for scaled in (tokens, queries):
        np.testing.assert_allclose(scaled.unit, step.unit, atol=1e-12)
        assert scaled.log_norm == pytest.approx(step.log_norm + np.log(c), abs=1e-10)


def test_direction_is_right_for_a_head_of_any_size():
    # one sequence with a wrong output: the slope is 1 / n, so the direction does not depend on the head's size
    data, head, W = problem(9, n=1)
    wrong = TokenData(data.X, data.Z, -np.sign(output(data, head, W)))
    expected = descent_direction(wrong, head, W)
    for size in (1e10, 1e100, 1e300):
        step = descent_direction(wrong, LinearHead(size * head.v), W)
        np.testing.assert_allclose(step.unit, expected.unit, atol=1e-12)
