"""Results are stored once for each setting and each text of the code that made them."""

import numpy as np
import pytest

from attsvm_lib import cache


def test_results_are_computed_once_for_each_setting_and_each_version_of_the_library(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTSVM_CACHE", str(tmp_path))
    calls = []

    @cache.cached
    def experiment(size, log=str(tmp_path / "log")):
        with open(log, "a") as f:
            f.write("x")
        return np.arange(size)

    for size in (3, 3, 4):
        assert experiment(size).tolist() == list(range(size))
    calls.append((tmp_path / "log").read_text())
    assert calls == ["xx"]
    monkeypatch.setattr(cache, "text_hash", lambda _: "another")
    experiment(3)
    assert (tmp_path / "log").read_text() == "xxx"


def test_a_cache_that_cannot_be_used_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    calls = []
    experiment = cache.cached(lambda: calls.append(1))
    for bad in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("ATTSVM_CACHE", str(bad))
        with pytest.raises(ValueError, match="ATTSVM_CACHE must name a folder in which files can be stored"):
            experiment()
    monkeypatch.setenv("ATTSVM_CACHE", str(tmp_path))
    monkeypatch.setattr(cache.os, "access", lambda *_: False)
    with pytest.raises(ValueError, match="ATTSVM_CACHE must name a folder"):
        experiment()
    assert calls == []


def test_without_a_folder_nothing_is_stored(monkeypatch):
    monkeypatch.delenv("ATTSVM_CACHE", raising=False)
    calls = []
    experiment = cache.cached(lambda: calls.append(1))
    experiment()
    experiment()
    assert len(calls) == 2


def test_the_key_is_the_text_of_what_an_experiment_reaches_and_of_nothing_else():
    reached = cache.reachable_modules("attsvm_lib.experiments.ranks")
    assert {"attsvm_lib.experiments.problems", "attsvm_lib.svm.nuclear", "attsvm_lib.validation"} <= set(reached)
    assert all(path.is_file() for path in reached.values())
    later = {"training", "scenes", "figures", "claims", "explore"}
    assert not later & {name.split(".")[1] for name in reached}


def test_a_change_of_a_reached_module_is_another_key(tmp_path, monkeypatch):
    before = cache.text_hash("attsvm_lib.experiments.ranks")
    changed = tmp_path / "nuclear.py"
    changed.write_text("# another text")
    real = cache.reachable_modules
    for name, same in (("attsvm_lib.svm.nuclear", False), ("attsvm_lib.training", True)):
        reach = lambda module, name=name: {n: changed if n == name else p for n, p in real(module).items()}  # noqa: E731
        monkeypatch.setattr(cache, "reachable_modules", reach)
        assert (cache.text_hash.__wrapped__("attsvm_lib.experiments.ranks") == before) is same


@pytest.mark.parametrize("module", ["attsvm_lib", "elsewhere"])
def test_what_a_module_outside_can_reach_is_everything(module):
    assert len(cache.reachable_modules(module)) == len(list(cache.ROOT.rglob("*.py")))
