"""Gen-SVM: closed forms, certificates, a second solver, reference arrays, degenerate and infeasible data, bad input."""

import pickle
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attsvm_lib import InfeasibleError, TokenData, att_svm, gen_svm, locally_optimal, random_data, set_rows
from attsvm_lib.attention import attention_probabilities, attention_scores
from attsvm_lib.svm.generalized import equality_projection, finite_part

REFERENCE = Path(__file__).parent / "reference" / "svm" / "gensvm_n3T4d6_seed6.npz"


def random_problem(n, T, d, seed, attention="cross"):
    """Random data and a random non-empty set of tokens in each sequence."""
    rng = np.random.default_rng(seed)
    data = random_data(n, T, d, rng=rng, attention=attention)
    selected = rng.random((n, T)) < 0.5
    selected[np.arange(n), rng.integers(T, size=n)] = True
    return data, selected


def with_tokens(data, X):
    return TokenData(X, data.Z, data.Y)


def residuals(data, selected, W):
    """Largest |equality| between any two selected tokens, and least margin of any selected over any masked one."""
    a = attention_scores(data, W)
    tied = max(np.ptp(row[chosen]) for row, chosen in zip(a, selected))
    margins = [row[chosen].min() - row[~chosen].max() for row, chosen in zip(a, selected) if not chosen.all()]
    return tied, min(margins, default=np.inf)


def cvxpy_solution(data, selected):
    """Every pair of tokens written out, as in the paper."""
    W = cp.Variable((data.d, data.d))
    constraints = []
    for X, z, chosen in zip(data.X, data.Z, selected):
        for t in np.flatnonzero(chosen):
            for s in range(data.T):
                margin = (X[t] - X[s]) @ W @ z
                constraints.append(margin == 0 if chosen[s] else margin >= 1)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(W)), constraints)
    tight = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
    problem.solve(solver=cp.CLARABEL, **tight)
    return W.value


# closed forms -----------------------------------------------------------------------------------------------------


def test_two_kept_tokens_of_three_by_hand():
    # keep e1 and e2, mask 0, query e1: W e1 = w with w1 = w2 and w1 >= 1, so w = (1, 1)
    data = TokenData([[[1, 0], [0, 1], [0, 0]]], [[1, 0]], [1])
    solution = gen_svm(data, [[True, True, False]])
    np.testing.assert_allclose(solution.W, [[1, 0], [1, 0]], atol=1e-15)
    assert solution.margin == pytest.approx(1 / np.sqrt(2), rel=1e-14)
    assert (solution.rows.tolist(), solution.equality_rows.tolist()) == ([[0, 2]], [[0, 1]])
    # W = lam e1 z' + mu (e1 - e2) z'
    np.testing.assert_allclose([*solution.multipliers, *solution.equality_multipliers], [2, -1], atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_one_token_each_is_att_svm(seed):
    data, _ = random_problem(4, 5, 6, seed)
    alpha = np.random.default_rng(seed).integers(5, size=4)
    one, general = att_svm(data, alpha), gen_svm(data, np.arange(5) == alpha[:, None])
    np.testing.assert_allclose(general.W, one.W, atol=1e-13)
    np.testing.assert_allclose(general.multipliers, one.multipliers, atol=1e-12)
    np.testing.assert_array_equal(general.rows, one.rows)
    assert len(general.equality_multipliers) == 0
    gamma = np.random.default_rng(seed).standard_normal((4, 5))
    assert locally_optimal(general, gamma) == locally_optimal(one, gamma)


@pytest.mark.parametrize(("n", "T"), [(3, 4), (3, 1), (1, 1)])
def test_when_all_are_selected_there_is_nothing_to_separate(n, T):
    solution = gen_svm(random_problem(n, T, 5, 0)[0], np.ones((n, T), bool))
    assert not solution.W.any()
    assert (solution.margin, solution.objective, solution.gap, solution.rank) == (np.inf, 0, 0, 0)
    assert (len(solution.multipliers), len(solution.equality_multipliers)) == (0, n * (T - 1))
    assert not solution.direction.any()


# optimality -------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=150)
@given(
    st.integers(1, 6), st.integers(1, 6), st.integers(1, 8), st.integers(0, 10**6), st.sampled_from(["cross", "self"])
)  # fmt: skip
def test_solution_is_certified_or_infeasibility_is_proved(n, T, d, seed, attention):
    data, selected = random_problem(n, T, d, seed, attention)
    masked, tied, _ = set_rows(data, selected)
    try:
        solution = gen_svm(data, selected)
    except InfeasibleError as error:
        assert str(error).startswith("Gen-SVM is infeasible: ")
        y, mu = error.certificate, error.equality_certificate
        assert y.min() >= 0
        assert y.sum() == pytest.approx(1, abs=1e-12)
        assert np.linalg.norm(masked.combine(y) + tied.combine(mu)) <= 1e-11
        return
    equality, margin = residuals(data, selected, solution.W)
    lam, mu = solution.multipliers, solution.equality_multipliers
    assert equality <= 1e-10
    assert margin >= 1 - 1e-10
    assert abs(solution.gap) <= 1e-12 * max(1.0, solution.objective / 100)
    assert lam.min(initial=0) >= 0
    np.testing.assert_array_equal(masked.margins(solution.W) < 1 + 1e-9, solution.support)
    stationary = masked.combine(lam) + tied.combine(mu)
    np.testing.assert_allclose(stationary, solution.W, rtol=0, atol=1e-9 * max(1.0, solution.objective**2))


@pytest.mark.parametrize("size", [(3, 4, 6), (2, 3, 4), (5, 5, 7), (4, 6, 10)])
@pytest.mark.parametrize("seed", range(3))
def test_cvxpy_finds_the_same_weights(size, seed):
    data, selected = random_problem(*size, seed)
    np.testing.assert_allclose(gen_svm(data, selected).W, cvxpy_solution(data, selected), rtol=0, atol=1e-9)


def test_reference_solution_and_finite_part():
    with np.load(REFERENCE) as array:
        data = TokenData(array["X"], array["Z"], array["Y"])
        solution = gen_svm(data, array["selected"])
        np.testing.assert_allclose(solution.W, array["W_mm"], rtol=0, atol=1e-12)
        finite = equality_projection(data, array["selected"], array["W_it2001"])
        np.testing.assert_allclose(finite, array["W_fin"], rtol=0, atol=1e-12)
    assert abs(solution.gap) <= 1e-14


def test_the_projection_carries_all_ratios_of_selected_tokens_and_is_orthogonal_to_the_solution():
    data, selected = random_problem(3, 4, 8, 2)
    W = np.random.default_rng(0).standard_normal((2, 8, 8))
    finite = equality_projection(data, selected, W)
    _, tied, _ = set_rows(data, selected)
    for one, part in zip(W, finite):
        np.testing.assert_allclose(tied.margins(part), tied.margins(one), atol=1e-12)
        assert (part * gen_svm(data, selected).W).sum() == pytest.approx(0, abs=1e-12)
    np.testing.assert_allclose(equality_projection(data, selected, finite), finite, atol=1e-13)
    one_each = np.arange(4) == np.zeros((3, 1))
    assert not equality_projection(data, one_each, W).any()


@pytest.mark.parametrize("seed", range(4))
def test_the_finite_part_of_the_probabilities_of_some_weights_is_their_projection(seed):
    data, selected = random_problem(3, 4, 7, seed)
    W = np.random.default_rng(seed).standard_normal((7, 7))
    part = finite_part(data, selected, 5 * attention_probabilities(data, W))
    np.testing.assert_allclose(part, equality_projection(data, selected, W), atol=1e-12)


def test_finite_part_by_hand_and_its_limits():
    # keep e1 and e2 of query e1 with odds 3 to 1: (e1 - e2)' W e1 = log 3
    data = TokenData([[[1, 0], [0, 1], [0, 0]]], [[1, 0]], [1])
    W = finite_part(data, [[True, True, False]], [[0.75, 0.25, 0]])
    np.testing.assert_allclose(W, [[np.log(3) / 2, 0], [-np.log(3) / 2, 0]], atol=1e-15)
    with pytest.raises(ValueError, match="probabilities must be positive on selected tokens, got 0"):
        finite_part(data, [[True, True, True]], [[0.75, 0.25, 0]])
    twins = TokenData([[[1, 0], [1, 0], [0, 0]]], [[1, 0]], [1])
    with pytest.raises(ValueError, match="probabilities must be those of some W"):
        finite_part(twins, [[True, True, False]], [[0.75, 0.25, 0]])


# degenerate data --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-6, 1e6, 1e100])
def test_direction_does_not_depend_on_the_scale_of_the_data(scale):
    data, selected = random_problem(4, 5, 9, 1)
    one, other = gen_svm(data, selected), gen_svm(with_tokens(data, scale * data.X), selected)
    np.testing.assert_allclose(other.direction, one.direction, atol=1e-11)
    assert abs(other.gap) <= 1e-12
    assert other.objective * scale == pytest.approx(one.objective, rel=1e-11)


def test_duplicates_within_the_set_or_among_the_masked_change_nothing():
    data, selected = random_problem(3, 4, 8, 2)
    twice = np.repeat([0, 1, 2, 3], 2)
    doubled = gen_svm(with_tokens(data, data.X[:, twice]), selected[:, twice])
    np.testing.assert_allclose(doubled.W, gen_svm(data, selected).W, atol=1e-10)
    assert abs(doubled.gap) <= 1e-12


@pytest.mark.parametrize("keep", [0, 1])
def test_a_masked_duplicate_of_a_selected_token_is_named(keep):
    data, _ = random_problem(3, 4, 6, 5)
    X = data.X.copy()
    X[1, 3] = X[1, keep]
    reason = "duplicates the selected token 0 in" if keep == 0 else "tie token 3 of sequence 1 to token 0"
    with pytest.raises(InfeasibleError, match=reason) as error:
        gen_svm(with_tokens(data, X), [[True, True, False, False]] * 3)
    assert error.value.blame == [(1, 3)]
    copy = pickle.loads(pickle.dumps(error.value))
    assert (str(copy), copy.blame) == (str(error.value), error.value.blame)
    np.testing.assert_array_equal(copy.equality_certificate, error.value.equality_certificate)


def test_a_masked_token_between_two_selected_ones_is_infeasible_and_one_beside_them_is_not():
    data, _ = random_problem(2, 3, 5, 0)
    X = data.X.copy()
    X[0, 2] = 0.25 * X[0, 0] + 0.75 * X[0, 1]
    selected = [[True, True, False]] * 2
    with pytest.raises(InfeasibleError, match="tie token 2 of sequence 0"):
        gen_svm(with_tokens(data, X), selected)
    X[0, 2] += 1e-6 * data.X[0, 2]
    near = gen_svm(with_tokens(data, X), selected)
    assert near.gap <= 1e-8
    assert 1e5 < near.objective < 1e8


def test_short_projected_rows_do_not_hide_a_contradiction():
    # most of each row lies in the span of the equalities; what is left carries its rounding, a thousandfold
    rng = np.random.default_rng([0, 6, 12, 9, 93])
    data, first = random_data(6, 12, 9, rng=rng), rng.integers(12, size=6)
    selected = np.random.default_rng([0, 6, 12, 9, 93, 1]).random((6, 12)) < 0.5
    selected[np.arange(6), first] = True
    with pytest.raises(InfeasibleError, match="contradict each other") as error:
        gen_svm(data, selected)
    masked, tied, _ = set_rows(data, selected)
    y, mu = error.value.certificate, error.value.equality_certificate
    assert np.linalg.norm(masked.combine(y) + tied.combine(mu)) <= 1e-12


def test_a_zero_query_is_named_unless_all_of_its_tokens_are_selected():
    data, _ = random_problem(2, 3, 5, 0)
    silent = TokenData(data.X, data.Z * [[1], [0]], data.Y)
    with pytest.raises(InfeasibleError, match="the query of sequence 1 is zero"):
        gen_svm(silent, [[True, True, False]] * 2)
    alone = gen_svm(silent, [[True, True, False], [True, True, True]])
    first = gen_svm(TokenData(data.X[:1], data.Z[:1], data.Y[:1]), [[True, True, False]])
    np.testing.assert_allclose(alone.W, first.W, atol=1e-14)


# bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selected", "message"),
    [
        ([[True, False], [False, False]], "at least one token in each sequence, got none in sequence 1"),
        ([[1, 0], [0, 1]], r"selected must be a boolean array of shape \(2, 2\), got dtype int"),
        ([[np.nan, 0], [0, 1]], r"selected must be a boolean array of shape \(2, 2\), got dtype float64"),
        ([True, False], r"selected must have shape \(2, 2\), got \(2,\)"),
        ([[True], [True]], r"selected must have shape \(2, 2\), got \(2, 1\)"),
        ([[True, False], [True]], r"selected must be a boolean array of shape \(2, 2\)"),
        (None, r"selected must be a boolean array of shape \(2, 2\), got dtype object"),
    ],
)
def test_bad_masks_are_refused_by_name(selected, message):
    with pytest.raises(ValueError, match=message):
        gen_svm(random_problem(2, 2, 3, 0)[0], selected)


def test_batches_and_other_data_are_refused():
    batch = random_data(2, 2, 3, rng=np.random.default_rng(0), batch=(4,))
    with pytest.raises(ValueError, match=r"one data set without batch axes, got batch shape \(4,\)"):
        gen_svm(batch, [[True, False]] * 2)
    with pytest.raises(ValueError, match="data must be a TokenData, got ndarray"):
        gen_svm(batch.X, [[True, False]] * 2)
    with pytest.raises(ValueError, match=r"W must have shape \(\.\.\., 3, 3\), got \(3,\)"):
        equality_projection(random_problem(2, 2, 3, 0)[0], [[True, False]] * 2, np.ones(3))


def test_sets_of_tokens_have_no_local_optimality():
    data, _ = random_problem(2, 3, 5, 0)
    solution = gen_svm(data, [[True, True, False], [True, False, False]])
    with pytest.raises(ValueError, match="solution must select one token in each sequence"):
        locally_optimal(solution, np.ones((2, 3)))
