"""Experiments reproduce from their seeds, agree with known values, and refuse bad arguments."""

import numpy as np
import pytest

from attsvm_lib import TieError, TokenData, att_svm, separable
from attsvm_lib.experiments import (
    default_size,
    feasible_sequences,
    half_feasible,
    random_problem,
    rank_statistics,
    separability,
    separability_threshold,
    set_separability,
)


def test_a_problem_depends_on_its_seed_and_index_only():
    one, other = (random_problem(3, 4, 5, seed=1, index=2) for _ in range(2))
    assert (one[0].X == other[0].X).all()
    assert (one[0].X != random_problem(3, 4, 5, seed=1, index=3)[0].X).any()
    assert (one[0].X != random_problem(3, 4, 5, seed=2, index=2)[0].X).any()


def test_separability_counts_feasible_problems():
    verdicts = [separable(*random_problem(4, 3, 2, seed=0, index=k, selection="random")) for k in range(20)]
    assert separability(4, 3, 2, draws=20) == np.mean(verdicts)
    assert 0 < np.mean(verdicts) < 1


@pytest.mark.parametrize("size", [(3, 4, 3), (2, 5, 4), (6, 3, 6)])
def test_the_sufficient_dimension_is_always_separable(size):
    n, T, d = size
    assert d >= max(T - 1, n)
    assert separability(n, T, d, draws=50) == 1


def test_one_more_sequence_than_the_feasible_ones_breaks_a_problem():
    reached = feasible_sequences(3, 2, most=12, draws=5, seed=3)
    for k, n in enumerate(reached):
        data, alpha = random_problem(12, 3, 2, seed=3, index=k, selection="random")
        verdicts = [separable(TokenData(data.X[:j], data.Z[:j], data.Y[:j]), alpha[:j]) for j in range(1, 13)]
        assert verdicts == [j <= n for j in range(1, 13)]


def test_feasible_sequences_agree_with_independent_problems():
    share = (feasible_sequences(6, 3, most=12, draws=200) >= 8).mean()
    # two estimates of one probability from 200 problems each: 3.3 standard errors
    assert share == pytest.approx(separability(8, 6, 3, draws=200), abs=0.16)


def test_half_feasible_interpolates_the_share():
    # shares 1, 1, 3/4, 1/4 at n = 0..3: one half is crossed midway between 2 and 3
    assert half_feasible([1, 2, 2, 3], most=3) == 2.5
    assert half_feasible([0, 0, 0, 1], most=1) == pytest.approx(2 / 3)
    with pytest.raises(ArithmeticError, match="with 3 sequences, the most tried"):
        half_feasible([3, 3, 1], most=3)


def test_threshold_for_two_tokens_is_covers_twice_the_dimension():
    # n points in general position in dimension d^2 are half separable at n = 2 d^2 (Cover 1965)
    assert separability_threshold(2, 4, draws=60) == pytest.approx(2 * 4**2, rel=0.08)


def test_ranks_are_those_of_the_certified_solutions():
    statistics = rank_statistics(5, 5, 5, problems=4)
    assert len(statistics.nuclear) == len(statistics.frobenius) == 4
    data, alpha = random_problem(5, 5, 5, seed=0, index=0)
    assert statistics.nuclear[0] == att_svm(data, alpha, norm="nuclear").rank
    assert (statistics.nuclear <= statistics.frobenius).all()
    assert statistics.feasible_share <= 1


def test_problems_that_are_never_feasible_give_no_rank():
    statistics = rank_statistics(15, 5, 2, problems=3, limit=10)
    assert statistics.nuclear.size == 0
    assert statistics.tried == 10
    assert statistics.feasible_share == 0


def test_size_is_full_on_a_laptop_and_quick_on_binder(monkeypatch):
    monkeypatch.delenv("ATTSVM_SIZE", raising=False)
    monkeypatch.delenv("BINDER_LAUNCH_HOST", raising=False)
    assert default_size() == "full"
    monkeypatch.setenv("BINDER_LAUNCH_HOST", "somewhere")
    assert default_size() == "quick"
    monkeypatch.setenv("ATTSVM_SIZE", "full")
    assert default_size() == "full"
    monkeypatch.setenv("ATTSVM_SIZE", "huge")
    with pytest.raises(ValueError, match="ATTSVM_SIZE must be one of 'quick', 'full', got 'huge'"):
        default_size()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: separability(0, 3, 2), "n must be an integer of at least 1, got 0"),
        (lambda: separability(4, 3, 2, draws=0), "draws must be an integer of at least 1, got 0"),
        (lambda: feasible_sequences(3, 4, most=0), "most must be an integer of at least 1, got 0"),
        (lambda: separability_threshold(1, 4), "T must be an integer of at least 2, got 1"),
        (lambda: rank_statistics(5, 5, 5, problems=0), "problems must be an integer of at least 1, got 0"),
        (lambda: half_feasible([], most=3), "reached must be an integer array"),
        (lambda: half_feasible(np.zeros(0, int), most=3), "reached must"),
        (lambda: half_feasible({}, most=3), "reached must be an integer array"),
        (lambda: half_feasible([np.nan, 1], most=3), "reached must be an integer array"),
        (lambda: half_feasible([1, 4], most=3), "reached must lie in 0..3, got 4"),
        (lambda: half_feasible([[1, 2]], most=3), r"reached must have shape \(draws,\), got \(1, 2\)"),
        (lambda: half_feasible([1, 2], most=None), "most must be an integer of at least 1, got None"),
        (lambda: separability(4, 3, 2, selection="best"), "selection must be one of 'random', 'optimal', got 'best'"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "call", [lambda: rank_statistics(3, 3, 1), lambda: separability(3, 3, 1, draws=3, selection="optimal")]
)
def test_ties_of_tokens_on_a_line_stop_an_experiment(call):
    with pytest.raises(TieError):
        call()


def test_sets_of_tokens_are_feasible_from_the_dimension_of_the_theorem_on():
    for n, T in ((2, 4), (5, 3), (3, 3)):
        assert set_separability(n, T, max(T - 1, n), draws=15) == 1
    # in d = 1 kept tokens of different size leave W = 0 only
    assert set_separability(4, 5, 1, draws=15) == 0
    assert 0 < set_separability(5, 3, 3, draws=40) < 1
    assert set_separability(3, 3, 3, draws=10, attention="self") == 1


def test_single_sets_are_the_problems_of_separability():
    # with T = 1 everything is kept
    assert set_separability(3, 1, 2, draws=3) == 1
