"""Trajectories of tokens: reference runs, order of convergence, invariants of the flow, merging, long times."""

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attsvm_lib import random_direction
from attsvm_lib.meanfield import SymmetricStartWarning, clusters, equiangular, integrate, scaled_energy, simulate

REFERENCE = Path(__file__).parent / "reference" / "meanfield"
RUNS = ["sa_beta1", "sa_beta9", "sa_beta30", "usa_beta1", "usa_beta4", "usa_beta9"]
METHODS = [{"method": "rk4"}, {"method": "adaptive"}]


def tokens(n, d, seed=0, batch=()):
    return random_direction(d, rng=np.random.default_rng(seed), batch=(*batch, n))


def reference(name):
    """Start, times, settings and recorded tokens of a reference run."""
    runs = np.load(REFERENCE / "trajectories.npz")
    model, beta = name.split("_beta")
    times = runs["sa_t"] if model == "sa" else runs[f"{name}_t"]
    return runs["X0"], times, {"model": model, "beta": float(beta)}, runs[name]


@pytest.mark.parametrize("name", RUNS)
def test_fixed_steps_follow_the_reference_runs(name):
    x0, times, setting, expected = reference(name)
    run = simulate(x0, times, method="rk4", step=0.2, **setting)
    error = np.abs(run.x - expected).max()
    assert error < 1e-4
    assert error < run.error < 1e-3


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("merge_tol", [0, 1e-6])
def test_adaptive_steps_follow_the_reference_runs(name, merge_tol):
    x0, times, setting, expected = reference(name)
    run = simulate(x0, times, tol=1e-10, merge_tol=merge_tol, **setting)
    error = np.abs(run.x - expected).max()
    assert error < 1e-8
    assert error < run.error < 1e-7


@pytest.mark.parametrize("model", ["sa", "usa"])
def test_runge_kutta_has_order_four(model):
    x0, t = tokens(8, 3, 3), 8.0 if model == "sa" else 8.0 / np.e
    exact = simulate(x0, [t], beta=1.0, model=model, tol=1e-13, merge_tol=0).x[-1]
    steps = np.array([0.4, 0.2, 0.1, 0.05])
    errors = [np.abs(simulate(x0, [t], beta=1.0, model=model, method="rk4", step=h).x[-1] - exact).max() for h in steps]
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert 3.8 < order < 4.3


def test_a_smaller_tolerance_is_met():
    x0, times, setting, expected = reference("sa_beta9")
    errors = []
    for tol in (1e-5, 1e-7, 1e-9, 1e-11):
        run = simulate(x0, times, tol=tol, **setting)
        errors.append(np.abs(run.x - expected).max())
        assert errors[-1] < run.error
    assert (np.diff(np.log10(errors)) < -1).all()


@pytest.mark.parametrize("options", METHODS)
@pytest.mark.parametrize(("model", "T"), [("sa", 20.0), ("usa", 8.0)])
def test_an_orthogonal_start_follows_the_exact_law(options, model, T):
    n, beta, times = 32, 1.0, np.linspace(0, T, 9)
    gram = simulate(np.eye(n), times, beta=beta, model=model, tol=1e-10, **options)
    gram = gram.x @ gram.x.swapaxes(-1, -2)
    pairs = gram[:, ~np.eye(n, dtype=bool)]
    assert np.ptp(pairs, axis=1).max() < 1e-8
    np.testing.assert_allclose(pairs.mean(1), equiangular(times, n=n, beta=beta, model=model), atol=1e-5)


@settings(deadline=None, max_examples=25)
@given(
    st.integers(2, 12), st.integers(2, 6), st.floats(0, 20), st.sampled_from(["sa", "usa"]),
    st.sampled_from(["rk4", "adaptive"]), st.integers(0, 2**32 - 1),
)  # fmt: skip
def test_norms_stay_one_energy_grows_and_symmetries_are_kept(n, d, beta, model, method, seed):
    rng = np.random.default_rng(seed)
    x0 = random_direction(d, rng=rng, batch=(n,))
    setting = {"beta": beta, "model": model, "method": method, "tol": 1e-10}
    times = np.linspace(0, 6, 13) * (1.0 if model == "sa" else np.exp(-beta))
    run = simulate(x0, times, **setting)
    assert np.abs(np.linalg.norm(run.x, axis=-1) - 1).max() < 1e-14
    assert np.diff(scaled_energy(run.x, beta=beta)).min() > -1e-9
    rotation, order = np.linalg.qr(rng.standard_normal((d, d)))[0], rng.permutation(n)
    turned = simulate((x0 @ rotation)[order], times, **setting)
    np.testing.assert_allclose(turned.x, (run.x @ rotation)[:, order], atol=2e-7)


@settings(deadline=None, max_examples=20)
@given(st.integers(2, 10), st.floats(0, 10), st.sampled_from(["rk4", "adaptive"]), st.integers(0, 2**32 - 1))
def test_the_cone_of_the_tokens_shrinks(n, beta, method, seed):
    rng = np.random.default_rng(seed)
    pole = np.array([0.0, 0.0, 1.0])
    x0 = random_direction(3, rng=rng, batch=(n,))
    x0[:, 2] = np.abs(x0[:, 2])
    heights = simulate(x0, np.linspace(0, 10, 21), beta=beta, method=method, tol=1e-10).x @ pole
    assert np.diff(heights.min(1)).min() > -1e-8


@pytest.mark.parametrize("model", ["sa", "usa"])
def test_merging_conserves_mass_and_changes_nothing_else(model):
    x0, times = tokens(24, 3, 5), np.array([0.0, 5, 20, 100, 300])
    if model == "usa":
        times = times * 4 / np.exp(4.0)
    merged = simulate(x0, times, beta=4.0, model=model, tol=1e-10)
    alone = simulate(x0, times, beta=4.0, model=model, tol=1e-10, merge_tol=0)
    np.testing.assert_allclose(merged.x, alone.x, atol=1e-7)
    np.testing.assert_allclose(merged.masses.sum(-1), 1, rtol=1e-14)
    assert np.count_nonzero(merged.masses, axis=-1).tolist() == [
        len(np.unique(labels)) for labels in merged.labels
    ]
    assert (np.diff(np.count_nonzero(merged.masses, axis=-1)) <= 0).all()
    assert np.count_nonzero(merged.masses[-1]) < 24 == np.count_nonzero(alone.masses[-1])
    assert (merged.labels <= np.arange(24)).all()
    assert (merged.evaluations < alone.evaluations).all()


def test_metastable_clusters_merge_at_astronomical_times():
    x0 = tokens(64, 2, 0)
    run = simulate(x0, np.array([1e2, 1e14]), beta=16.0)
    assert clusters(run.x).tolist()[-1] == 1 < clusters(run.x)[0]
    assert run.error < 1e-5
    assert run.evaluations < 20_000


@pytest.mark.parametrize("model", ["sa", "usa"])
def test_huge_beta_freezes_the_tokens_without_overflow(model):
    x0, times = tokens(8, 3), np.array([0.0, 10.0])
    if model == "usa":
        times *= np.exp(-500.0)
    beta = 1e6 if model == "sa" else 500.0
    run = simulate(x0, times, beta=beta, model=model)
    assert np.isfinite(run.x).all()
    np.testing.assert_allclose(run.x[1], x0, atol=0.2 if model == "usa" else 1e-12)


@pytest.mark.parametrize("options", METHODS)
def test_records_are_those_of_single_runs(options):
    x0 = tokens(6, 3, batch=(2, 2))
    times = np.array([0.0, 0.0, 0.3, 1.7])
    run = simulate(x0, times, beta=2.0, **options)
    assert run.x.shape == (4, 2, 2, 6, 3)
    assert run.labels.shape == run.masses.shape == (4, 2, 2, 6)
    assert run.error.shape == run.evaluations.shape == (2, 2)
    np.testing.assert_array_equal(run.x[0], x0)
    np.testing.assert_allclose(run.x[-1, 1, 0], simulate(x0[1, 0], [1.7], beta=2.0, **options).x[0], atol=1e-6)
    single = simulate(x0.astype(np.float32), times, beta=2.0, **options)
    assert single.x.dtype == np.float32
    np.testing.assert_allclose(single.x, run.x, atol=2e-6)
    assert repr(run).startswith("Trajectory(times=4, n=6, error=")


def test_one_token_and_one_dimension_stand_still():
    np.testing.assert_array_equal(simulate([[0.6, 0.8]], [0, 5.0], beta=1.0).x, [[[0.6, 0.8]]] * 2)
    x0 = np.array([[1.0], [1.0], [-1.0]])
    with pytest.warns(SymmetricStartWarning):
        np.testing.assert_array_equal(simulate(x0, [9.0], beta=1.0).x[0], x0)


def test_values_of_minus_one_repel_to_a_simplex():
    run = simulate(tokens(4, 3, 2), [200.0], beta=1.0, V=-np.eye(3))
    gram = run.x[-1] @ run.x[-1].T
    np.testing.assert_allclose(gram, np.where(np.eye(4), 1, -1 / 3), atol=1e-6)
    assert np.count_nonzero(run.masses[-1]) == 4


@pytest.mark.parametrize(
    ("x0", "reason"),
    [
        ([[1.0, 0], [-1, 0]], "holds exact antipodes, tokens 0 and 1"),
        ([[1.0, 0], [0.6, 0.8], [-0.6, -0.8]], "holds exact antipodes, tokens 1 and 2"),
        (
            np.stack([np.cos(2 * np.pi * np.arange(3) / 3), np.sin(2 * np.pi * np.arange(3) / 3)], 1),
            "is balanced",
        ),
        ([[-1.0, 0], [0.6, 0.8], [0.6, -0.8]], "holds a token, 0, at which the pulls of the others cancel"),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_symmetric_starts_are_warned_about(x0, reason, dtype):
    with pytest.warns(SymmetricStartWarning, match=f"x0 {reason}.*: rounding decides"):
        simulate(np.array(x0, dtype=dtype), [1.0], beta=1.0)


def test_generic_starts_are_not_warned_about():
    for dtype in (np.float32, np.float64):
        x0 = tokens(32, 2, batch=(16,)).astype(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            simulate(x0, [0.0], beta=4.0)
            simulate(np.eye(3, dtype=dtype), [0.0], beta=4.0)
            simulate(np.array([[1.0, 0], [1, 0]], dtype=dtype), [0.0], beta=4.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x0": [[1.0, 1e-2]]}, r"x0 must hold unit vectors, got norm 1.00005 at index \(0,\)"),
        ({"x0": [[np.nan, 1.0]]}, "x0 must be finite"),
        ({"x0": np.zeros((0, 2))}, "x0 must have no empty axis"),
        ({"times": [0.0, 2.0, 1.0]}, "times must be in order, got 2 before 1"),
        ({"times": [-1.0, 2.0]}, "times must be at least 0, got -1"),
        ({"times": []}, "times must have no empty axis"),
        ({"times": 1.0}, r"times must have shape \(times,\), got \(\)"),
        ({"times": [np.inf]}, "times must be finite"),
        ({"beta": -0.1}, "beta must be a non-negative finite number"),
        ({"model": "softmax"}, "model must be one of"),
        ({"method": "euler"}, "method must be one of 'adaptive', 'rk4', got 'euler'"),
        ({"step": 0}, "step must be a positive finite number"),
        ({"tol": 1e-16}, "tol must be at least 1e-13, got 1e-16"),
        ({"merge_tol": 1.0}, "merge_tol must be at most 0.1, got 1"),
        ({"merge_tol": -1.0}, "merge_tol must be a non-negative"),
        ({"method": "rk4", "times": [1e9]}, "step must be larger, or method 'adaptive': 5e.09 steps"),
    ],
)
def test_bad_arguments_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        simulate(**{"x0": tokens(3, 2), "times": [0.0, 1.0], "beta": 1.0, **change})


@pytest.mark.parametrize("beta", [800.0, 5000.0])
def test_times_beyond_double_precision_are_an_error(beta):
    with pytest.raises(FloatingPointError, match=r"t exp\(beta\) overflows"):
        simulate(tokens(3, 2), [0.0, 1.0], beta=beta, model="usa")


def test_a_step_that_overflows_is_an_error():
    with pytest.raises(FloatingPointError, match="a step overflows: .*choose a smaller step"):
        simulate(tokens(3, 2), [1.0], beta=1.0, V=1e200 * np.eye(2), method="rk4")


def test_a_run_that_takes_too_many_steps_gives_up(monkeypatch):
    monkeypatch.setattr(integrate, "MOST_ADAPTIVE_STEPS", 10)
    with pytest.raises(ArithmeticError, match="10 steps did not reach the last time"):
        simulate(tokens(8, 2), [1e6], beta=4.0)
