"""Experiments on the regularization path: what they return is what the path says, and it reproduces."""

import numpy as np
import pytest

from attsvm_lib import correlation, predicted_constant, regularization_path
from attsvm_lib.experiments import path_problem, path_statistics, width_statistics

SMALL = (3, 3, 5)


def test_a_problem_depends_on_its_seed_and_index_only():
    (one, v), (other, w) = (path_problem(*SMALL, seed=1, index=2) for _ in range(2))
    assert (one.X == other.X).all() and (v.v == w.v).all()
    assert (one.X != path_problem(*SMALL, seed=1, index=3)[0].X).any()
    data, _ = path_problem(*SMALL, attention="self")
    assert (data.Z == data.X[:, 0]).all()


@pytest.mark.parametrize("parameterization", ["W", "KQ"])
def test_statistics_are_those_of_the_path(parameterization):
    found = path_statistics(*SMALL, [30.0, 1e3], parameterization=parameterization, problems=2, starts=1)
    data, head = path_problem(*SMALL, index=1)
    path = regularization_path(
        data, head, [30.0, 1e3], parameterization=parameterization, starts=1, rng=np.random.default_rng([0, 1])
    )
    np.testing.assert_array_equal(found.distance[1], path.distance)
    np.testing.assert_array_equal(found.lost[1], 1 - correlation(path.W, path.solution.W))
    assert found.constant[1] == predicted_constant(data, head, path.solution)
    assert found.trapped.shape == found.first_best.shape == found.followed.shape == (2, 2)
    assert ((found.trapped >= 0) & (found.trapped <= 1)).all()


def test_the_distance_approaches_the_predicted_one():
    found = path_statistics(*SMALL, [1e4], problems=3, starts=0)
    np.testing.assert_allclose(1e4 * found.distance[:, 0] / found.constant, 1, atol=0.05)
    assert not found.trapped.any()


def test_a_width_of_the_rank_is_enough_and_less_is_not():
    found = width_statistics(5, 5, 10, [1, 2, 3, 4], problems=1, starts=1)
    (rank,) = found.rank
    assert rank == 3
    distance, margin = found.distance[0], found.margin[0]
    np.testing.assert_allclose(distance[2:], distance[2], rtol=1e-2)
    assert distance[1] > 5 * distance[2]
    assert (margin <= 1 + 1e-9).all()
    assert margin[2] > margin[1] > margin[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: path_statistics(3, 1, 5, [10.0]), "T must be an integer of at least 2, got 1"),
        (lambda: path_statistics(*SMALL, [10.0], problems=0), "problems must be an integer of at least 1, got 0"),
        (lambda: path_statistics(*SMALL, [10.0], parameterization="QK"), "parameterization must be one of 'W', 'KQ'"),
        (lambda: path_statistics(*SMALL, [0.0]), "radii must be positive"),
        (lambda: width_statistics(*SMALL, [0, 2]), "widths must lie in 1"),
        (lambda: width_statistics(*SMALL, [2], radius=-1), "radius must be a positive finite number, got -1"),
        (lambda: width_statistics(*SMALL, [2], attention="causal"), "attention must be one of 'cross', 'self'"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()
