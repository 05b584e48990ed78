"""The Gram dynamics agree with the tokens', from starts drawn without any token."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attsvm_lib import random_direction
from attsvm_lib.meanfield import SymmetricStartWarning, equiangular, random_gram, simulate, simulate_gram, velocity
from attsvm_lib.meanfield.gram import GramFlow

METHODS = [{"method": "rk4"}, {"method": "adaptive", "tol": 1e-10}]


def tokens(n, d, seed=0, batch=()):
    return random_direction(d, rng=np.random.default_rng(seed), batch=(*batch, n))


def gram(x):
    return x @ x.swapaxes(-1, -2)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 8), st.integers(1, 9), st.floats(0, 30), st.sampled_from(["sa", "usa"]), st.integers(0, 999))
def test_the_field_is_the_rate_of_the_inner_products(n, d, beta, model, seed):
    x = random_direction(d, rng=np.random.default_rng(seed), batch=(n,))
    v = velocity(x, beta=beta, model=model)
    flow = GramFlow(beta=beta, model=model)
    expected = v @ x.T + x @ v.T
    size = np.exp(beta) if model == "usa" else 1.0
    np.testing.assert_allclose(flow.field(gram(x)) * flow.rate, expected, rtol=0, atol=1e-13 * size)


@pytest.mark.parametrize("options", METHODS)
@pytest.mark.parametrize("model", ["sa", "usa"])
@pytest.mark.parametrize("d", [2, 3, 40, 1024])
def test_gram_matrices_follow_the_tokens(options, model, d):
    x0, times = tokens(16, d, batch=(2,)), np.array([0.0, 1, 4, 20])
    if model == "usa":
        times = times / np.exp(2.0)
    run = simulate_gram(gram(x0), times, beta=2.0, model=model, **options)
    moved = simulate(x0, times, beta=2.0, model=model, **options)
    assert run.gram.shape == (4, 2, 16, 16)
    atol = 1e-7 if options["method"] == "adaptive" else 1e-4
    np.testing.assert_allclose(run.gram, gram(moved.x), atol=atol)
    np.testing.assert_allclose(run.masses.sum(-1), 1, rtol=1e-14)


@pytest.mark.parametrize("options", METHODS)
def test_symmetry_unit_diagonal_and_rank_are_kept(options):
    run = simulate_gram(gram(tokens(12, 3)), np.linspace(0, 4, 9), beta=5.0, **options)
    np.testing.assert_array_equal(run.gram, run.gram.swapaxes(-1, -2))
    assert np.abs(np.diagonal(run.gram, axis1=-2, axis2=-1) - 1).max() < 1e-14
    values = np.linalg.eigvalsh(run.gram)
    assert np.abs(values[:, :-3]).max() < 1e-4  # the tokens stay in three dimensions


@pytest.mark.parametrize("model", ["sa", "usa"])
def test_an_orthogonal_start_follows_the_exact_law(model):
    n, times = 32, np.linspace(0, 6, 7)
    run = simulate_gram(np.eye(n), times, beta=1.0, model=model, tol=1e-11)
    pairs = run.gram[:, ~np.eye(n, dtype=bool)]
    assert np.ptp(pairs, axis=1).max() < 1e-12
    np.testing.assert_allclose(pairs.mean(1), equiangular(times, n=n, beta=1.0, model=model), atol=1e-9)


def test_the_cost_and_the_answer_do_not_depend_on_how_the_tokens_are_turned():
    x0 = tokens(8, 5)
    turned = x0 @ np.linalg.qr(np.random.default_rng(1).standard_normal((5, 5)))[0]
    runs = [simulate_gram(gram(x), [3.0], beta=2.0).gram for x in (x0, turned)]
    np.testing.assert_allclose(*runs, atol=1e-12)


def test_random_gram_matrices_have_the_law_of_uniform_points():
    rng, n, d = np.random.default_rng(0), 6, 5
    drawn = random_gram(n, d, 20_000, rng)
    direct = gram(tokens(n, d, 1, batch=(20_000,)))
    off = ~np.eye(n, dtype=bool)
    for moment in (1, 2, 4):  # of one inner product: 0, 1/d, 3/(d (d + 2))
        np.testing.assert_allclose((drawn[:, off] ** moment).mean(), (direct[:, off] ** moment).mean(), atol=3e-3)
    triple = [np.mean(G[:, 3, 4] * G[:, 4, 5] * G[:, 5, 3]) for G in (drawn, direct)]  # E = 1/d^2
    np.testing.assert_allclose(triple, 1 / d**2, atol=4e-3)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (4, 1), (5, 3), (3, 5), (4, 10**6)])
def test_random_gram_matrices_are_gram_matrices_of_rank_d(n, d):
    G = random_gram(n, d, (2, 3), np.random.default_rng(0))
    assert G.shape == (2, 3, n, n)
    np.testing.assert_array_equal(G[..., np.arange(n), np.arange(n)], 1)
    assert (np.linalg.matrix_rank(G, tol=1e-10) == min(n, d)).all()
    assert np.linalg.eigvalsh(G).min() > -1e-12
    if d == 10**6:
        assert np.abs(G - np.eye(n)).max() < 0.01


def test_float32_starts_give_float32_runs():
    G0 = gram(tokens(6, 3))
    run = simulate_gram(G0.astype(np.float32), [5.0], beta=2.0, method="rk4")
    assert run.gram.dtype == np.float32
    np.testing.assert_allclose(run.gram, simulate_gram(G0, [5.0], beta=2.0, method="rk4").gram, atol=1e-5)
    assert repr(run).startswith("GramTrajectory(times=1, n=6")


@pytest.mark.parametrize(
    ("G0", "message"),
    [
        (np.ones((2, 3)), r"G0 must have shape \(\.\.\., n, n\), got \(2, 3\)"),
        (np.zeros((0, 0)), "G0 must have no empty axis"),
        ([[1.0, np.nan], [np.nan, 1]], "G0 must be finite"),
        (2 * np.eye(2), "G0 must have a unit diagonal, got a deviation of 1"),
        ([[1.0, 0.5], [0.4, 1]], "G0 must be symmetric, got a deviation of 0.1"),
        (np.array([[1.0, -0.9, -0.9], [-0.9, 1, -0.9], [-0.9, -0.9, 1]]), "G0 must be positive semidefinite"),
    ],
)
def test_what_is_no_gram_matrix_is_refused(G0, message):
    with pytest.raises(ValueError, match=message):
        simulate_gram(G0, [1.0], beta=1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"times": [2.0, 1.0]}, "times must be in order"),
        ({"beta": -1.0}, "beta must be"),
        ({"model": "x"}, "model must be one of"),
        ({"method": "x"}, "method must be one of"),
        ({"tol": 0.0}, "tol must be a positive"),
    ],
)
def test_bad_arguments_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        simulate_gram(**{"G0": np.eye(2), "times": [1.0], "beta": 1.0, **change})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 2, 1), "n must be an integer of at least 1"),
        ((2, 0, 1), "d must be an integer of at least 1"),
        ((2, 2, 0), "size must be an integer of at least 1"),
        ((2, 2, (1, 0)), "size must be a tuple of integers"),
    ],
)
def test_random_gram_refuses_bad_sizes(arguments, message):
    with pytest.raises(ValueError, match=message):
        random_gram(*arguments, np.random.default_rng(0))
    with pytest.raises(ValueError, match="rng must be a numpy.random.Generator"):
        random_gram(2, 2, 1, 0)


@pytest.mark.parametrize(("off", "reason"), [(-1.0, "holds exact antipodes, tokens 0 and 1"), (-0.5, "is balanced")])
def test_symmetric_starts_are_warned_about(off, reason):
    n = 2 if off == -1 else 3
    with pytest.warns(SymmetricStartWarning, match=f"G0 {reason}"):
        simulate_gram(np.where(np.eye(n), 1, off), [1.0], beta=1.0)
