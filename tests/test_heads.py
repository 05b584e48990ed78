"""Heads: values by hand, batches, and the closed-form attention that a quadratic head wants."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attsvm_lib.attention import descent_direction, loss, output
from attsvm_lib.data import TokenData, random_data, random_direction
from attsvm_lib.heads import (
    Head,
    LinearHead,
    QuadraticHead,
    ReluHead,
    hull_projection,
    optimal_attention,
    simplex_projection,
)


def orthonormal_data(rng, n, T, d, batch=()):
    """Data with X_i X_i^T = I, random labels and queries."""
    data = random_data(n, T, d, rng=rng, batch=batch)
    X = np.linalg.qr(rng.standard_normal((*batch, n, d, T)))[0].swapaxes(-1, -2)
    return TokenData(X, data.Z, data.Y)


# values by hand


def test_relu_head_by_hand():
    head = ReluHead([[1.0, -1.0, 2.0], [0.0, 1.0, 1.0]])
    o = np.array([[1.0, 0.5], [-1.0, 3.0]])
    # hidden units (1, -0.5, 2.5) and (-1, 4, 1)
    np.testing.assert_allclose(head.value(o), [3.5, 5.0])
    np.testing.assert_allclose(head.gradient(o), [[3.0, 1.0], [1.0, 2.0]])


def test_quadratic_head_by_hand():
    head = QuadraticHead([1.0, 2.0], 0.5)
    o = np.array([[1.0, 1.0], [0.0, -2.0]])
    np.testing.assert_allclose(head.value(o), [2.0, -6.0])
    np.testing.assert_allclose(head.gradient(o), [[0.0, 1.0], [1.0, 4.0]])


def test_special_cases_are_the_linear_head():
    rng = np.random.default_rng(0)
    o, v = rng.standard_normal((5, 3)), rng.standard_normal(3)
    linear, flat = LinearHead(v), QuadraticHead(v, 0.0)
    pair = ReluHead(np.stack([v, -v], 1))  # relu(u) + relu(-u) = |u|
    np.testing.assert_allclose(flat.value(o), linear.value(o))
    np.testing.assert_allclose(flat.gradient(o), linear.gradient(o))
    np.testing.assert_allclose(pair.value(o), np.abs(linear.value(o)))


@pytest.mark.parametrize("kind", ["relu", "quadratic"])
def test_a_batch_of_heads_is_that_many_heads(kind):
    rng = np.random.default_rng(1)
    data = random_data(3, 4, 5, rng=rng, batch=(2, 6))
    W = rng.standard_normal((6, 5, 5))
    V, v, lam = rng.standard_normal((2, 6, 5, 7)), rng.standard_normal((6, 5)), rng.uniform(size=(2, 6))
    heads = ReluHead(V) if kind == "relu" else QuadraticHead(v, lam)
    assert isinstance(heads, Head)
    assert heads.batch_shape == (2, 6)
    f, risk, step = output(data, heads, W), loss(data, heads, W), descent_direction(data, heads, W)
    for i, j in np.ndindex(2, 6):
        one = TokenData(data.X[i, j], data.Z[i, j], data.Y[i, j])
        head = ReluHead(V[i, j]) if kind == "relu" else QuadraticHead(v[j], lam[i, j])
        np.testing.assert_allclose(output(one, head, W[j]), f[i, j], rtol=1e-13)
        np.testing.assert_allclose(loss(one, head, W[j]), risk[i, j], rtol=1e-13)
        np.testing.assert_allclose(descent_direction(one, head, W[j]).unit, step.unit[i, j], atol=1e-13)


# sparsemax


def test_projection_on_the_simplex_by_hand():
    np.testing.assert_allclose(simplex_projection([0.2, 0.3, 0.5]), [0.2, 0.3, 0.5], atol=1e-16)
    np.testing.assert_allclose(simplex_projection([1.0, 0.8, -5.0]), [0.6, 0.4, 0.0], atol=1e-15)
    np.testing.assert_allclose(simplex_projection([7.0, 7.0, 7.0]), [1 / 3] * 3)
    np.testing.assert_array_equal(simplex_projection([[9.0, 0.0], [0.0, 1e9]]), [[1, 0], [0, 1]])
    np.testing.assert_array_equal(simplex_projection([-3.0]), [1.0])


@given(st.integers(1, 9), st.floats(-3, 3), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_projection_is_nearest(T, log_scale, seed):
    rng = np.random.default_rng(seed)
    y = 10**log_scale * rng.standard_normal(T)
    s = simplex_projection(y)
    assert s.min() >= 0
    assert s.sum() == pytest.approx(1, abs=1e-12)
    # variational inequality: (y - s)^T (p - s) <= 0 for every vertex p of the simplex
    assert ((y - s) - (y - s) @ s).max() <= 1e-12 * max(1, np.abs(y).max())
    np.testing.assert_allclose(simplex_projection(y + 5.0), s, atol=1e-12 * max(1, np.abs(y).max()))


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_the_nearest_point_of_the_hull_has_the_tokens_behind_it(T, d, seed):
    rng = np.random.default_rng(seed)
    X, u = rng.standard_normal((T, d)), 2 * rng.standard_normal(d)
    s = hull_projection(X, u)
    assert s.min() >= 0
    assert s.sum() == pytest.approx(1, abs=1e-12)
    o = s @ X
    assert ((u - o) @ (X - o).T).max() <= 1e-10
    assert (s > 0).sum() <= d + 1


def test_nearest_point_of_a_triangle_by_hand():
    triangle = [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
    np.testing.assert_allclose(hull_projection(triangle, [1.0, 0.8]), [0.6, 0.4, 0.0], atol=1e-15)
    np.testing.assert_allclose(hull_projection(triangle, [3.0, 0.5]), [1.0, 0.0, 0.0], atol=1e-15)
    np.testing.assert_allclose(hull_projection(triangle, [0.2, 0.3]), [0.2, 0.3, 0.5], atol=1e-15)
    np.testing.assert_allclose(hull_projection(triangle, [0.4, -1.0]), [0.4, 0.0, 0.6], atol=1e-15)


def test_for_orthonormal_tokens_it_is_sparsemax():
    rng = np.random.default_rng(4)
    X = np.linalg.qr(rng.standard_normal((6, 5)))[0].T
    for scale in (0.1, 0.5, 2.0):
        u = scale * rng.standard_normal(6)
        np.testing.assert_allclose(hull_projection(X, u), simplex_projection(X @ u), atol=1e-13)


# Lemma 6


@given(st.integers(0, 10**6), st.floats(0.01, 20))
@settings(deadline=None, max_examples=40)
def test_no_attention_does_better_than_the_closed_form(seed, lam):
    rng = np.random.default_rng(seed)
    data = orthonormal_data(rng, 3, 4, 6)
    head = QuadraticHead(random_direction(6, rng=rng), lam)
    best = optimal_attention(data, head)

    def goal(s):
        return data.Y * head.value((s[..., None, :] @ data.X)[..., 0, :])

    others = rng.dirichlet([0.3] * 4, size=(200, 3))
    assert (goal(best) >= goal(others) - 1e-12).all()
    assert (goal(best) >= goal(np.broadcast_to(np.eye(4)[:, None], (4, 3, 4))) - 1e-12).all()
    assert ((best[data.Y < 0] == 1).sum(-1) == 1).all()


def test_more_tokens_are_kept_as_lam_grows():
    rng = np.random.default_rng(0)
    data = orthonormal_data(rng, 200, 5, 8, batch=(1,))
    head = QuadraticHead(random_direction(8, rng=rng), np.geomspace(1e-3, 10, 12))
    kept = (optimal_attention(data, head) > 0)[:, data.Y[0] > 0].sum(-1)
    assert (np.diff(kept, axis=0) >= 0).all()
    assert kept[0].mean() < 1.1
    assert (kept[-1] == 5).all()


def test_the_closed_form_asks_for_its_assumptions():
    rng = np.random.default_rng(0)
    data, v = orthonormal_data(rng, 2, 3, 4), random_direction(4, rng=rng)
    with pytest.raises(ValueError, match="data must have orthonormal tokens"):
        optimal_attention(random_data(2, 3, 4, rng=rng), QuadraticHead(v, 1.0))
    for head in (LinearHead(v), QuadraticHead(v, 0.0)):
        with pytest.raises(ValueError, match="head must be a QuadraticHead with lam > 0, got"):
            optimal_attention(data, head)
    masked = TokenData(data.X, data.Z, data.Y, np.eye(2, 3, dtype=bool))
    with pytest.raises(ValueError, match="data must have no mask"):
        optimal_attention(masked, QuadraticHead(v, 1.0))
    with pytest.raises(ValueError, match="data and head must have batch axes that broadcast"):
        optimal_attention(orthonormal_data(rng, 2, 3, 4, batch=(3,)), QuadraticHead(v, np.ones(2)))


# bad input


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ReluHead([1.0, 2.0]), r"V must have shape \(\.\.\., d, p\), got \(2,\)"),
        (lambda: ReluHead([[1.0, np.nan]]), r"V must be finite, got nan at index \(0, 1\)"),
        (lambda: QuadraticHead([1.0], -0.5), "lam must be at least 0, got -0.5"),
        (lambda: QuadraticHead([1.0], np.inf), "lam must be finite, got inf"),
        (lambda: QuadraticHead(np.ones((3, 2)), np.ones(2)), "v and lam must have batch axes that broadcast"),
        (lambda: ReluHead(np.ones((3, 2))).value(np.ones((1, 4))), "V must have the length of a token, d = 4, got 3"),
        (lambda: QuadraticHead(np.ones(3), 1.0).gradient(np.ones((1, 4))), "v must have the length of a token"),
        (lambda: ReluHead(np.ones((5, 3, 2))).value(np.ones((2, 1, 3))), "V and o must have batch axes"),
        (lambda: simplex_projection([0.0, np.nan]), "y must be finite"),
        (lambda: hull_projection(np.ones((13, 2)), np.ones(2)), "X must have at most 12 tokens, got 13"),
        (lambda: hull_projection(np.ones((3, 2)), np.ones(3)), r"u must have shape \(2\), got \(3,\)"),
    ],
)
def test_bad_arguments_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()
