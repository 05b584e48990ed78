"""Starts near a max-margin direction are what the experiment says they are, and its verdicts are those of descent."""

import numpy as np
import pytest

from attsvm_lib import TokenData, att_svm, correlation, locally_optimal, scores, train
from attsvm_lib.attention import descent_direction
from attsvm_lib.experiments import cone_runs, local_convergence, local_problems, rounding_error
from attsvm_lib.heads import LinearHead


@pytest.fixture(scope="module")
def cones():
    return cone_runs(seeds=range(12), margin=20.0, steps=1000)


def test_locally_optimal_directions_attract_and_others_do_not(cones):
    assert cones.local.shape == cones.start.shape == cones.end.shape == cones.stayed.shape == (12, 2)
    assert cones.local[:, 0].mean() > 0.8
    assert cones.local[:, 1].mean() < 0.2
    assert cones.stayed[cones.local].mean() > 0.9
    assert (cones.end > cones.start)[cones.local & cones.stayed].all()
    assert not cones.stayed[~cones.local].any()


def test_starts_are_at_the_asked_distance(cones):
    # corr(D + N, D) with ||N|| = 0.2 ||D|| and N random: about 1 / sqrt(1 + 0.04)
    np.testing.assert_allclose(cones.start, 1 / np.sqrt(1.04), atol=0.04)
    exact = cone_runs(seeds=range(3), spread=0.0, steps=1)
    np.testing.assert_allclose(exact.start, 1, atol=1e-12)


def test_the_first_selection_is_one_that_descent_makes():
    data, head, starts = local_problems([7])
    alpha = train(data, head, start=starts["W"], steps=1000, checkpoints=[1000]).selection[-1, 0]
    one, v = TokenData(data.X[0], data.Z[0], data.Y[0]), head.v[0]
    solution = att_svm(one, alpha)
    found = cone_runs(seeds=[7], spread=0.0, margin=15.0, steps=500)
    assert found.local[0, 0] == locally_optimal(solution, scores(one, v))
    run = train(one, LinearHead(v), start=15 * solution.W, steps=500, checkpoints=[500])
    assert found.end[0, 0] == pytest.approx(correlation(run.W[-1], solution.W), abs=1e-9)


def test_a_seed_does_not_depend_on_the_others(cones):
    alone = cone_runs(seeds=[4], margin=20.0, steps=1000)
    np.testing.assert_allclose(alone.end[0], cones.end[4], atol=1e-9)


def test_rounding_error_is_that_of_the_ordinary_gradient():
    data, head, run = local_convergence(seeds=range(3), arithmetic="exact", steps=1000, checkpoints=[10, 1000])
    error, margin = rounding_error(data, head, run.W)
    assert error.shape == margin.shape == (2, 3)
    assert error[0].max() < 1e-12
    assert (error[1] > 1e3 * error[0]).all()
    s = run.probabilities[0, 0]
    gamma = scores(TokenData(data.X[0], data.Z[0], data.Y[0]), head.v[0])
    ordered = np.sort(s, axis=-1)
    assert margin[0, 0] == pytest.approx(np.log(ordered[:, -1] / ordered[:, -2]).min(), rel=1e-6)
    mean = (s * gamma).sum(-1, keepdims=True)
    c = s * (gamma - mean) / (1 + np.exp(mean))
    G = np.einsum("it,itp,iq->pq", c, data.X[0], data.Z[0])
    exact = descent_direction(TokenData(data.X[0], data.Z[0], data.Y[0]), LinearHead(head.v[0]), run.W[0, 0]).unit
    np.testing.assert_allclose(G / np.linalg.norm(G), exact, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": 0}, "margin must be a positive"),
        ({"spread": -1.0}, "spread must be a non-negative"),
        ({"seeds": 3}, "seeds must be a sequence of integers"),
        ({"attention": "no"}, "attention must be one of"),
    ],
)
def test_bad_input_names_the_argument(options, message):
    with pytest.raises(ValueError, match=message):
        cone_runs(**options)
