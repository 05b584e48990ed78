"""The velocity of tokens: closed forms, symmetries, general matrices, and what is refused at the door."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attsvm_lib import random_direction
from attsvm_lib.meanfield import velocity


def tokens(n, d, seed=0, batch=()):
    return random_direction(d, rng=np.random.default_rng(seed), batch=(*batch, n))


def pair(angle):
    return np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])


@pytest.mark.parametrize("beta", [0.0, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("angle", [1e-6, 0.3, 2.0])
def test_two_tokens_close_their_angle_at_the_rate_of_the_closed_form(beta, angle):
    v = velocity(pair(angle), beta=beta)
    with np.errstate(over="ignore"):
        rate = np.sin(angle) / (1 + np.exp(beta * (1 - np.cos(angle))))
    toward_each_other = np.array([[0, 1], [np.sin(angle), -np.cos(angle)]])
    np.testing.assert_allclose((v * toward_each_other).sum(1), rate, rtol=1e-9)
    assert np.abs((v * pair(angle)).sum(1)).max() < 1e-16


@pytest.mark.parametrize("beta", [0.0, 2.0, 9.0])
def test_usa_divides_by_n_where_sa_divides_by_the_normalizer(beta):
    x = tokens(7, 3)
    Z = np.exp(beta * x @ x.T).sum(1)
    np.testing.assert_allclose(velocity(x, beta=beta, model="usa"), velocity(x, beta=beta) * Z[:, None] / 7, rtol=1e-12)


@pytest.mark.parametrize("model", ["sa", "usa"])
def test_general_matrices_follow_the_definition_token_by_token(model):
    rng, beta = np.random.default_rng(1), 1.5
    x, Q, K, V = tokens(5, 3, 2), *(rng.standard_normal((3, 3)) for _ in range(3))
    for i, v in enumerate(velocity(x, beta=beta, model=model, Q=Q, K=K, V=V)):
        w = np.array([np.exp(beta * (Q @ x[i]) @ (K @ y)) for y in x])
        pull = sum(w_j * (V @ y) for w_j, y in zip(w, x)) / (w.sum() if model == "sa" else len(x))
        np.testing.assert_allclose(v, pull - (pull @ x[i]) * x[i], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("model", ["sa", "usa"])
def test_identity_matrices_change_nothing(model):
    x, one = tokens(6, 4), np.eye(4)
    given_all = velocity(x, beta=3.0, model=model, Q=one, K=one, V=one)
    np.testing.assert_allclose(given_all, velocity(x, beta=3.0, model=model), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(velocity(x, beta=3.0, model=model, V=-one), -given_all, rtol=1e-12, atol=1e-15)


@settings(deadline=None, max_examples=30)
@given(
    st.integers(1, 9), st.integers(1, 6), st.floats(0, 50), st.sampled_from(["sa", "usa"]), st.integers(0, 2**32 - 1)
)
def test_velocities_are_tangent_and_equivariant(n, d, beta, model, seed):
    rng = np.random.default_rng(seed)
    x = random_direction(d, rng=rng, batch=(n,))
    rotation, order = np.linalg.qr(rng.standard_normal((d, d)))[0], rng.permutation(n)
    v = velocity(x, beta=beta, model=model)
    size = np.exp(beta) if model == "usa" else 1.0
    assert np.abs((v * x).sum(-1)).max() <= 1e-14 * size
    np.testing.assert_allclose(velocity((x @ rotation)[order], beta=beta, model=model), (v @ rotation)[order],
                               rtol=0, atol=1e-13 * size)  # fmt: skip


def test_batches_hold_independent_systems_and_keep_their_dtype():
    x = tokens(5, 3, batch=(2, 4))
    v = velocity(x, beta=2.0)
    np.testing.assert_allclose(v[1, 2], velocity(x[1, 2], beta=2.0), rtol=1e-13)
    single = velocity(x.astype(np.float32), beta=2.0)
    assert (v.dtype, single.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(single, v, atol=2e-7)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": 1.00001 * pair(1.0)}, r"x must hold unit vectors, got norm 1.00001 at index \(0,\); divide by"),
        ({"x": pair(np.nan)}, r"x must be finite, got nan at index \(1, 0\)"),
        ({"x": np.zeros((0, 3))}, r"x must have no empty axis, shape \(\.\.\., n, d\)"),
        ({"x": np.zeros((3, 0))}, r"x must have no empty axis"),
        ({"x": np.ones(1)}, r"x must have shape \(\.\.\., n, d\), got \(1,\)"),
        ({"beta": -1}, "beta must be a non-negative finite number, got -1"),
        ({"beta": 1e31}, "beta must be at most 1e.30"),
        ({"beta": np.nan}, "beta must be a non-negative finite number"),
        ({"model": "SA"}, "model must be one of 'sa', 'usa', got 'SA'"),
        ({"V": np.eye(3)}, r"V must have shape \(2, 2\), got \(3, 3\)"),
        ({"Q": np.ones((3, 2))}, "Q and K must have equally many rows, got 3 and 2"),
    ],
)
def test_bad_arguments_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        velocity(**{"x": pair(1.0), "beta": 1.0, **change})


def test_overflow_is_an_error():
    with pytest.raises(FloatingPointError, match="the velocity overflows at beta = 800"):
        velocity(pair(1e-9), beta=800.0, model="usa")
    with pytest.raises(FloatingPointError, match="exp.* overflows at beta = 500"):
        velocity(pair(1.0), beta=500.0, model="usa", Q=3 * np.eye(2))
    with pytest.raises(FloatingPointError, match="a score beta .* overflows"):
        velocity(pair(1.0), beta=100.0, Q=1e307 * np.eye(2))
    with pytest.raises(FloatingPointError, match="an entry of Q.T K overflows"):
        velocity(pair(1.0), beta=1.0, Q=1e200 * np.eye(2), K=1e200 * np.eye(2))
