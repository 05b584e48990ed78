"""The experiment on local convergence draws the data it says, agrees with the reference curves, and resumes."""

import json
from pathlib import Path

import distributed
import joblib
import numpy as np
import pytest

from attsvm_lib import TokenData, att_svm, correlation
from attsvm_lib.experiments import local_alignment, local_convergence
from attsvm_lib.experiments.local import CHECKPOINTS
from attsvm_lib.training import train

CURVES = json.loads((Path(__file__).parent / "reference" / "svm" / "local_curves_100runs.json").read_text())


# the law of the data


@pytest.fixture(scope="module")
def many():
    """Starts and data of 1000 seeds."""
    options = {"seeds": range(1000), "steps": 1, "checkpoints": [0]}
    return {p: local_convergence(parameterization=p, **options) for p in ("W", "KQ")}


def assert_uniform_on_sphere(x):
    """Unit vectors (k, d): mean 0, covariance I/d and fourth moment 3/(d(d+2)), each within 5 standard errors."""
    k, d = x.shape
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(x.mean(0), 0, atol=5 / np.sqrt(k * d))
    np.testing.assert_allclose(x.T @ x / k, np.eye(d) / d, atol=5 * np.sqrt(2 / k) / d)
    np.testing.assert_allclose((x**4).mean(), 3 / (d * (d + 2)), rtol=0.05)


def test_tokens_queries_and_heads_are_uniform_on_the_sphere_and_labels_fair(many):
    data, head, _ = many["W"]
    assert data.X.shape == (1000, 6, 8, 10)
    assert_uniform_on_sphere(data.X[:, 0, 0])
    assert_uniform_on_sphere(data.X[:, 5, 7])
    assert_uniform_on_sphere(data.Z.reshape(-1, 10))
    assert_uniform_on_sphere(head.v)
    assert np.abs(data.Y.mean()) < 5 / np.sqrt(6000)
    # independent of each other: no correlation between tokens, queries and head
    for other in (data.X[:, 0, 1], data.X[:, 1, 0], data.Z[:, 0], head.v):
        assert np.abs(data.X[:, 0, 0].T @ other / 1000).max() < 5 / 10 / np.sqrt(1000)


def test_starts_are_uniform_in_the_box(many):
    W, K, Q = many["W"].run.W[0], many["KQ"].run.K[0], many["KQ"].run.Q[0]
    assert K.shape == Q.shape == W.shape == (1000, 10, 10)
    for start in (W, K, Q):
        quantiles = np.quantile(start * np.sqrt(10), [0, 0.25, 0.5, 0.75, 1])
        np.testing.assert_allclose(quantiles, [-1, -0.5, 0, 0.5, 1], atol=0.02)
        assert np.abs(start).max() <= 10**-0.5
    for other in (Q, W):
        assert np.abs((K * other).mean(0)).max() < 5 / 30 / np.sqrt(1000)


def test_both_models_are_trained_on_the_same_data(many):
    for name in ("X", "Z", "Y"):
        np.testing.assert_array_equal(getattr(many["W"].data, name), getattr(many["KQ"].data, name))
    np.testing.assert_array_equal(many["W"].head.v, many["KQ"].head.v)


def test_self_attention_asks_with_the_first_token():
    data = local_convergence(seeds=range(3), steps=1, attention="self").data
    np.testing.assert_array_equal(data.Z, data.X[:, :, 0])


# the curves


@pytest.mark.parametrize("arithmetic", ["paper", "exact"])
@pytest.mark.parametrize(("parameterization", "norm"), [("W", "fro"), ("KQ", "nuc")])
def test_mean_correlations_agree_with_the_reference(parameterization, norm, arithmetic):
    alignment = local_alignment(parameterization=parameterization, arithmetic=arithmetic)
    curve = {"fro": alignment.frobenius, "nuc": alignment.nuclear}[norm]
    reference = CURVES[f"{parameterization} {'naive (authors)' if arithmetic == 'paper' else 'stable'}"]
    for step in (100, 500, 1000, 2000):
        column = curve[:, list(alignment.steps).index(step)]
        error = np.sqrt(2) * reference[str(step)][f"corr_{norm}_std"] / 10
        assert abs(column.mean() - reference[str(step)][f"corr_{norm}_mean"]) <= 4 * error


def test_the_papers_defaults():
    assert len(CHECKPOINTS) == 50
    assert {0, 100, 500, 1000, 2000} <= set(CHECKPOINTS)
    data, head, run = local_convergence(seeds=[3], steps=20)
    np.testing.assert_array_equal(run.steps, [0, 1, 2, 5, 10, 20])
    again = train(
        TokenData(data.X[0], data.Z[0], data.Y[0]),
        type(head)(head.v[0]),
        start=run.W[0, 0],
        steps=20,
        step=0.1,
        arithmetic="paper",
    )
    np.testing.assert_array_equal(again.W[-1], run.W[-1, 0])


def test_alignment_is_that_of_the_final_selection():
    settings = {"seeds": [4, 9], "parameterization": "KQ", "steps": 300}
    data, head, run = local_convergence(**settings)
    alignment = local_alignment(**settings)
    np.testing.assert_array_equal(alignment.selection, run.selection[-1])
    one = TokenData(data.X[1], data.Z[1], data.Y[1])
    for norm in ("frobenius", "nuclear"):
        W = att_svm(one, run.selection[-1, 1], norm=norm).W
        np.testing.assert_allclose(getattr(alignment, norm)[1], correlation(run.W[:, 1], W), atol=1e-12)
    np.testing.assert_allclose(alignment.selected_probability[1, -1], run.probabilities[-1, 1].max(-1).mean())


# sweeps


def test_a_seed_gives_the_same_run_among_any_others_and_on_a_dask_cluster(monkeypatch):
    settings = {"parameterization": "KQ", "steps": 150}
    together = local_convergence(seeds=range(6), **settings).run.W
    np.testing.assert_array_equal(local_convergence(seeds=[5, 2], **settings).run.W, together[:, [5, 2]])
    monkeypatch.setattr("attsvm_lib.experiments.local.BLOCK", 2)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        np.testing.assert_array_equal(local_convergence(seeds=range(6), **settings).run.W, together)


def test_an_interrupted_experiment_resumes_and_never_mixes_settings(tmp_path, monkeypatch):
    module = "attsvm_lib.experiments.local"
    monkeypatch.setenv("ATTSVM_CACHE", str(tmp_path))
    monkeypatch.setattr(f"{module}.BLOCK", 2)
    calls = []

    def counted(*arguments, **options):
        calls.append(options)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return train(*arguments, **options)

    monkeypatch.setattr(f"{module}.train", counted)
    with pytest.raises(KeyboardInterrupt):
        local_convergence(seeds=range(6), steps=20)
    resumed = local_convergence(seeds=range(6), steps=20)
    assert len(calls) == 4
    for options in ({"arithmetic": "exact"}, {"weight_decay": 1e-3}, {"step": 0.2}, {"attention": "self"}, {"T": 7}):
        before = len(calls)
        other = local_convergence(seeds=range(6), steps=20, **options)
        assert len(calls) == before + 3
        assert not np.array_equal(other.run.W[-1], resumed.run.W[-1])
    monkeypatch.delenv("ATTSVM_CACHE")
    np.testing.assert_array_equal(local_convergence(seeds=range(6), steps=20).run.W, resumed.run.W)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 100}, "seeds must be a sequence of integers"),
        ({"steps": 0}, "steps must be an integer of at least 1, got 0"),
        ({"parameterization": "QK"}, "parameterization must be one of 'W', 'KQ', got 'QK'"),
        ({"arithmetic": "float32"}, "arithmetic must be one of"),
        ({"attention": "none"}, "attention must be one of"),
        ({"checkpoints": [3000]}, r"checkpoints must lie in 0\.\.2000, got 3000"),
        ({"T": 1}, "T must be an integer of at least 2, got 1"),
    ],
)
def test_bad_input_names_the_argument(options, message):
    with pytest.raises(ValueError, match=message):
        local_convergence(**options)
