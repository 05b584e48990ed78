"""A sweep gives the same numbers in any blocks, on any backend, and resumes without mixing settings."""

import distributed
import joblib
import numpy as np
import pytest

from attsvm_lib.cache import cached
from attsvm_lib.sweep import sweep


@cached
def _draws(seeds, power=1):
    values = np.array([np.random.default_rng(seed).standard_normal(3) for seed in seeds])
    return values**power, np.array(seeds)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_blocks_do_not_change_the_result(size):
    values, seeds = sweep(_draws, range(7), size=size)
    np.testing.assert_array_equal(values, _draws(tuple(range(7)))[0])
    np.testing.assert_array_equal(seeds, range(7))


def test_more_processes_give_the_same_result():
    with joblib.parallel_config(n_jobs=2):
        values, seeds = sweep(_draws, [5, 3, 8], size=1, power=2)
    np.testing.assert_array_equal(values, _draws((5, 3, 8), power=2)[0])
    np.testing.assert_array_equal(seeds, [5, 3, 8])


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """A cached experiment that notes each block it computes, and fails from seed 6 on while told to."""
    monkeypatch.setenv("ATTSVM_CACHE", str(tmp_path))
    computed, broken = [], [True]

    @cached
    def experiment(seeds, power):
        if broken[0] and max(seeds) >= 6:
            raise InterruptedError
        computed.append((seeds, power))
        return (np.array(seeds) ** power,)

    return experiment, computed, broken


def test_an_interrupted_sweep_resumes_from_what_is_on_disk(counted):
    experiment, computed, broken = counted
    with pytest.raises(InterruptedError):
        sweep(experiment, range(8), size=2, power=2)
    assert computed == [((0, 1), 2), ((2, 3), 2), ((4, 5), 2)]
    broken[0] = False
    (values,) = sweep(experiment, range(8), size=2, power=2)
    np.testing.assert_array_equal(values, np.arange(8) ** 2)
    assert computed[3:] == [((6, 7), 2)]


def test_settings_are_never_mixed(counted):
    experiment, computed, broken = counted
    broken[0] = False
    for power in (1, 2, 1, 2):
        (values,) = sweep(experiment, range(4), size=2, power=power)
        np.testing.assert_array_equal(values, np.arange(4) ** power)
    (values,) = sweep(experiment, range(1, 5), size=2, power=1)
    np.testing.assert_array_equal(values, range(1, 5))
    assert len(computed) == len(set(computed)) == 6


def test_progress_counts_blocks(capsys):
    sweep(_draws, range(5), size=2, progress=True)
    assert capsys.readouterr().err.endswith("\rdraws: 3/3\n")
    sweep(_draws, range(5), size=2)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seeds", "message"),
    [
        (3, r"seeds must be a sequence of integers, such as range\(100\), got 3"),
        ("12", "seeds must be a sequence of integers"),
        ([], "seeds must hold at least one seed, got none"),
        ([0, -1], "each of seeds must be an integer of at least 0, got -1"),
        ([1, 2, 1], "seeds must be different from each other, got 1 more than once"),
    ],
)
def test_bad_seeds_are_named(seeds, message):
    with pytest.raises(ValueError, match=message):
        sweep(_draws, seeds, size=2)


def test_a_dask_cluster_of_two_workers_gives_the_same_result():
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        values, seeds = sweep(_draws, range(6), size=1, power=3)
    np.testing.assert_array_equal(values, _draws(tuple(range(6)), power=3)[0])
    np.testing.assert_array_equal(seeds, range(6))
