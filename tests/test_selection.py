"""Scores, optimal tokens (ties reported), alignment, local optimality."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attsvm_lib import TieError, att_svm, correlation, locally_optimal, optimal_tokens, random_data, scores


def test_score_is_label_times_head_times_token():
    data = random_data(3, 4, 5, rng=np.random.default_rng(0))
    v = np.arange(5.0)
    assert scores(data, v)[2, 1] == pytest.approx(data.Y[2] * (v @ data.X[2, 1]), rel=1e-14)


def test_scores_broadcast_over_batches_of_data_and_heads():
    data = random_data(3, 4, 5, rng=np.random.default_rng(0), batch=(2,))
    v = np.random.default_rng(1).standard_normal((2, 5))
    assert scores(data, v).shape == (2, 3, 4)
    np.testing.assert_array_equal(scores(data, v)[1], scores(random_data_slice(data, 1), v[1]))


def random_data_slice(data, k):
    return type(data)(data.X[k], data.Z[k], data.Y[k])


def test_optimal_tokens_maximize_the_score():
    gamma = np.array([[0.1, 0.3, 0.2], [-1.0, -2.0, -3.0]])
    assert optimal_tokens(gamma).tolist() == [1, 0]


def test_a_tie_is_reported_with_its_sequence_and_tokens():
    gamma = np.array([[[0.1, 0.3, 0.2], [2.0, 2.0, 1.0]]])
    with pytest.raises(TieError, match=r"tokens \[0, 1\] of sequence 1 have equal scores") as error:
        optimal_tokens(gamma)
    assert error.value.tied == [((0, 1), [0, 1])]
    with pytest.raises(TieError, match=r"and 1 more"):
        optimal_tokens(gamma, tol=0.1)


def test_a_wrong_head_is_refused():
    data = random_data(3, 4, 5, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"v must have shape \(\.\.\., 5\), got \(4,\)"):
        scores(data, np.ones(4))


@given(st.integers(-300, 300), st.integers(-300, 300))
def test_correlation_does_not_depend_on_scale(a, b):
    A, B = np.random.default_rng(0).standard_normal((2, 3, 3))
    assert correlation(10.0**a * A, 10.0**b * B) == pytest.approx(correlation(A, B), abs=1e-14)


def test_correlation_of_a_matrix_with_itself_its_negative_and_an_orthogonal_one():
    A = np.diag([1.0, 2.0])
    assert correlation(A, 3 * A) == pytest.approx(1)
    assert correlation(A, -A) == pytest.approx(-1)
    assert correlation(A, np.array([[0, 1], [1, 0]])) == 0
    assert correlation(np.stack([A, -A]), A).tolist() == pytest.approx([1, -1])


def test_correlation_with_zero_or_another_shape_is_refused():
    with pytest.raises(ValueError, match="B must not be the zero matrix"):
        correlation(np.eye(2), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="A and B must have the same last two axes"):
        correlation(np.eye(2), np.eye(3))


def test_the_optimal_selection_is_locally_optimal_and_the_worst_is_not():
    rng = np.random.default_rng(3)
    data = random_data(3, 4, 8, rng=rng)
    gamma = scores(data, rng.standard_normal(8))
    assert locally_optimal(att_svm(data, optimal_tokens(gamma)), gamma)
    assert not locally_optimal(att_svm(data, optimal_tokens(-gamma)), gamma)
    with pytest.raises(ValueError, match=r"gamma must have shape \(3, T\)"):
        locally_optimal(att_svm(data, optimal_tokens(gamma)), gamma[:2])


def test_data_and_solutions_of_another_kind_are_refused():
    gamma = np.zeros((3, 4))
    for wrong, kind in ((None, "NoneType"), ("x", "str"), (np.eye(3), "ndarray")):
        with pytest.raises(ValueError, match=f"data must be a TokenData, got {kind}"):
            scores(wrong, np.ones(5))
        with pytest.raises(ValueError, match=f"solution must be a Solution, as att_svm returns it, got {kind}"):
            locally_optimal(wrong, gamma)


def test_batch_axes_that_do_not_fit_are_named_with_their_shapes():
    data = random_data(3, 4, 5, rng=np.random.default_rng(0), batch=(2,))
    with pytest.raises(ValueError, match=r"v and data must have batch axes .* got \(3,\) for v, \(2,\) for data"):
        scores(data, np.ones((3, 5)))
    with pytest.raises(ValueError, match=r"A and B must have batch axes .* got \(2,\) for A, \(3,\) for B"):
        correlation(np.ones((2, 5, 5)), np.ones((3, 5, 5)))


def test_scores_that_overflow_are_an_error_and_not_nan():
    data = random_data(3, 4, 5, rng=np.random.default_rng(0))
    with pytest.raises(FloatingPointError, match=r"the scores v\^T x overflow"):
        scores(type(data)(1e200 * data.X, data.Z, data.Y), 1e200 * np.ones(5))
