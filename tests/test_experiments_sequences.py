"""Sequential experiments: what they return is what the library says of the same runs, seed by seed."""

from dataclasses import replace

import numpy as np
import pytest

from attsvm_lib import correlation, locally_optimal, optimal_tokens, predicted_constant, sequential_svm, train
from attsvm_lib.excess import head_scores
from attsvm_lib.experiments import sequential_cones, sequential_descent, sequential_path, sequential_problem

SMALL = (2, 3, 6)
SETTINGS = [
    {"causal": True, "labels": "sequence", "heads": "shared"},
    {"causal": True, "labels": "position", "heads": "position"},
    {"causal": False, "labels": "position", "heads": "shared"},
]


def test_settings_of_one_seed_share_their_tokens():
    data = [sequential_problem(*SMALL, seed=4, **kind)[0] for kind in SETTINGS]
    assert (data[0].X == data[1].X).all() and (data[0].X == data[2].X).all()
    assert (data[0].Y.reshape(2, 3) == data[1].Y.reshape(2, 3)[:, -1:]).all()
    assert (sequential_problem(*SMALL, seed=5)[0].X != data[0].X).any()


@pytest.mark.parametrize("kind", SETTINGS)
def test_descent_is_that_of_the_library(kind):
    found = sequential_descent(*SMALL, seeds=(3, 7), checkpoints=[50, 400], **kind)
    data, head = sequential_problem(*SMALL, seed=7, **kind)
    run = train(data, head, steps=400, checkpoints=[50, 400])
    alpha, gamma = run.selection[-1].reshape(2, 3), head_scores(data, head).reshape(2, 3, 3)
    solution = sequential_svm(data.X[::3], alpha, causal=kind["causal"])
    np.testing.assert_allclose(found.correlation[1], correlation(run.W, solution.W), rtol=1e-9)
    np.testing.assert_allclose(found.norm[1], np.linalg.norm(run.W, axis=(1, 2)), rtol=1e-9)
    least = run.probabilities[:, np.arange(6), alpha.ravel()].min(1)
    np.testing.assert_allclose(found.probability[1], least, rtol=1e-9)
    assert found.optimal[1] == (alpha == optimal_tokens(gamma)).all()
    assert found.locally_optimal[1] == locally_optimal(solution, gamma)
    assert found.steps.tolist() == [50, 400]


def test_a_run_does_not_depend_on_the_seeds_beside_it():
    both, one = (sequential_descent(*SMALL, seeds=s, checkpoints=[100]) for s in ((3, 7), (7,)))
    np.testing.assert_array_equal(both.correlation[1], one.correlation[0])


def test_factored_runs_are_measured_against_the_nuclear_solution():
    found = sequential_descent(*SMALL, seeds=range(3), parameterization="KQ", checkpoints=[20, 2000], labels="position")
    assert (found.correlation[:, 1] > found.correlation[:, 0]).all()
    assert found.correlation[:, 1].min() > 0.95
    assert found.locally_optimal.all()


@pytest.mark.parametrize("kind", SETTINGS[1:])
def test_the_path_approaches_its_limit_at_the_predicted_rate(kind):
    found = sequential_path(*SMALL, [10.0, 1e4], seeds=(0, 2), starts=0, **kind)
    np.testing.assert_allclose(1e4 * found.distance[:, -1] / found.constant, 1, atol=0.05)
    assert found.lost[:, -1].max() < 1e-5
    data, head = sequential_problem(*SMALL, seed=2, **kind)
    alpha = optimal_tokens(head_scores(data, head)).reshape(2, 3)
    solution = sequential_svm(data.X[::3], alpha, causal=kind["causal"])
    flat = solution.rows[:, 0] * 3 + solution.rows[:, 1]
    one = replace(solution, alpha=alpha.ravel(), rows=np.stack([flat, solution.rows[:, 2]], axis=1))
    assert found.constant[1] == pytest.approx(predicted_constant(data, head, one), rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"labels": "both"}, "labels must be one of 'sequence', 'position', got 'both'"),
        ({"heads": "none"}, "heads must be one of 'shared', 'position', got 'none'"),
        ({"parameterization": "V"}, "parameterization must be one of 'W', 'KQ', got 'V'"),
        ({"T": 1}, "T must be an integer of at least 2, got 1"),
        ({"seeds": []}, "seeds must hold at least one seed"),
        ({"causal": 1}, "causal must be True or False, got 1"),
        ({"checkpoints": [10, 10]}, "checkpoints must be a non-empty increasing sequence"),
        ({"step": 0}, "step must be a positive finite number, got 0"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        sequential_descent(**arguments)


def test_cones_hold_what_is_locally_optimal_and_nothing_else():
    found = sequential_cones(3, 6, seeds=(0, 1), steps=400)
    assert found.correlation.shape == found.kept.shape == found.locally_optimal.shape == (2, 6)
    np.testing.assert_array_equal(found.kept, found.locally_optimal)
    assert found.correlation[found.kept].min() > 0.99
    data, head = sequential_problem(1, 3, 6, seed=1, labels="position")
    gamma = head_scores(data, head)[None]
    alphas = [(0, j, t) for j in (0, 1) for t in (0, 1, 2)]
    verdicts = [locally_optimal(sequential_svm(data.X[:1], [alpha]), gamma) for alpha in alphas]
    np.testing.assert_array_equal(found.locally_optimal[1], verdicts)
    assert sequential_cones(2, 4, seeds=(0,), causal=False, steps=5).kept.shape == (1, 4)
