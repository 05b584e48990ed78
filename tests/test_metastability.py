"""Metastability: means agree with the reference ones, staircases only go down, energies only up."""

import json
from pathlib import Path

import numpy as np
import pytest

from attsvm_lib import random_direction
from attsvm_lib.experiments import Staircase, early_clusters, log_times, metastability, staircase
from attsvm_lib.experiments.metastability import WIDTH, _cliques
from attsvm_lib.meanfield import clusters, simulate

REFERENCE = json.loads((Path(__file__).parent / "reference/meanfield/metastability_subset.json").read_text())


def standard_error(values):
    return values.std(0, ddof=1) / np.sqrt(len(values))


@pytest.mark.parametrize("beta", [4, 9, 16])
def test_mean_numbers_of_clusters_agree_with_the_reference(beta):
    theirs = {key: np.array(values) for key, values in REFERENCE[f"staircase beta={beta}"].items()}
    ours = staircase(float(beta), theirs["t"], seeds=range(16))
    error = np.hypot(standard_error(ours.clusters), theirs["clusters_se"])
    assert (np.abs(ours.clusters.mean(0) - theirs["clusters_mean"]) <= 4 * np.maximum(error, 1e-9)).all()
    assert np.median(ours.last_merger) == pytest.approx(theirs["T1_median"], rel=0.7)


def test_staircases_go_down_and_energies_up():
    found = staircase(9.0, log_times(1e8, per_decade=5), seeds=range(6))
    assert (np.diff(found.clusters[:, 20:], axis=1) <= 0).all()
    assert np.diff(found.energy, axis=1).min() > -1e-12
    assert (found.energy[:, -1][found.clusters[:, -1] == 1] == pytest.approx(1, abs=1e-6))


def test_on_a_plateau_the_energy_is_the_sum_of_squared_masses():
    seed, times = 1, np.array([1e3, 1e6])
    found = staircase(16.0, times, seeds=[seed])
    run = simulate(random_direction(2, rng=np.random.default_rng([seed, 64, 2]), batch=(64,)), times, beta=16.0)
    assert found.clusters[0].tolist() == clusters(run.x).tolist()
    np.testing.assert_allclose(found.squared_masses[0], (run.masses**2).sum(-1), rtol=1e-12)
    np.testing.assert_allclose(found.energy[0], found.squared_masses[0], atol=5e-3)


def test_the_last_merger_is_predicted_by_the_last_two_clusters():
    found = staircase(9.0, log_times(1e8), seeds=range(8))
    ratio = found.last_merger / found.predicted
    assert ((ratio > 0.99) & (ratio < 1.13)).all()  # records are 12 percent apart
    assert (1 - np.cos(found.last_angle) > 1.5).all()


def test_a_plateau_is_a_decade_without_a_merger_on_both_sides():
    times = np.append(0, 10.0 ** np.arange(7))
    count = np.array([[9, 5, 5, 5, 4, 4, 4, 4]])
    run = Staircase(count, count, count, np.zeros(1), np.zeros(1), times)
    assert np.flatnonzero(run.plateau[0]).tolist() == [2, 5, 6]


def test_without_two_clusters_nothing_is_predicted():
    found = staircase(9.0, [0.1, 0.2], seeds=[0])
    assert (found.last_angle[0], found.predicted[0]) == (0, np.inf)


def test_last_merger_is_infinite_when_it_lies_beyond_the_times():
    found = staircase(16.0, [1.0, 10.0], seeds=range(2))
    assert np.isinf(found.last_merger).all()


def test_seeds_are_independent_of_each_other():
    few, many = (staircase(4.0, [5.0, 50.0], n=16, seeds=seeds) for seeds in ([3], range(6)))
    np.testing.assert_array_equal(few.energy[0], many.energy[3])
    few, many = (early_clusters(4.0, n=32, seeds=seeds) for seeds in ([3], range(20)))
    assert (few.count[0], few.time[0]) == (many.count[3], many.time[3])


@pytest.mark.parametrize("beta", [4, 16, 64])
def test_mean_numbers_of_early_clusters_agree_with_the_reference(beta):
    theirs = REFERENCE[f"early beta={beta}"]
    count = early_clusters(float(beta), seeds=range(32)).count
    assert abs(count.mean() - theirs["mean"]) < 4 * np.hypot(theirs["se"], standard_error(count))


def test_early_clusters_are_clusters_of_the_trajectory():
    seed, n, beta = 2, 48, 16.0
    found = early_clusters(beta, n=n, seeds=[seed])
    theta = np.random.default_rng([seed, n]).uniform(0, 2 * np.pi, n)
    run = simulate(np.stack([np.cos(theta), np.sin(theta)], -1), found.time, beta=beta, tol=1e-10)
    assert clusters(run.x)[0] == found.count[0]
    joined = run.x[0] @ run.x[0].T > 0.999
    np.testing.assert_array_equal(joined @ joined, joined)  # a union of cliques: the relation is transitive


@pytest.mark.parametrize(
    ("theta", "count"),
    [
        ([0.0], 1),
        ([0.0, 0.9 * WIDTH], 1),
        ([0.0, 1.1 * WIDTH], 2),
        ([0.0, 0.9 * WIDTH, 1.8 * WIDTH], 0),
        ([-0.4 * WIDTH, 0.4 * WIDTH, 3.0, 3.0], 2),
        (np.linspace(0, 2 * np.pi, 300), 0),
    ],
)
def test_groups_count_when_they_are_narrow_and_apart(theta, count):
    assert _cliques(np.array(theta)) == count


def test_log_times_are_even_in_the_logarithm():
    times = log_times(1e4, first=0.1, per_decade=20)
    assert times[0] == 0
    assert len(times) == 102
    np.testing.assert_allclose(np.diff(np.log10(times[1:])), 0.05)
    with pytest.raises(ValueError, match="first must lie below T, got 2 and 1"):
        log_times(1.0, first=2.0)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="times must be in order"):
        staircase(1.0, [2.0, 1.0], seeds=[0])
    with pytest.raises(ValueError, match="seeds must hold at least one seed"):
        staircase(1.0, [1.0], seeds=[])
    with pytest.raises(ValueError, match="beta must be"):
        early_clusters(-1.0)


def test_starts_without_complete_clusters_are_an_error(monkeypatch):
    monkeypatch.setattr(metastability, "LATEST", 3)
    monkeypatch.delenv("ATTSVM_CACHE", raising=False)
    with pytest.raises(ArithmeticError, match="4 of 4 starts have no complete clusters by t = 3"):
        early_clusters(1.0, n=64, seeds=range(4))
