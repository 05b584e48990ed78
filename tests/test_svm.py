"""Att-SVM: closed forms, optimality certificates, a second solver, reference arrays, infeasible data, scale."""

import pickle
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, nnls

from attsvm_lib import (
    ConvergenceError,
    InfeasibleError,
    TieError,
    TokenData,
    att_svm,
    locally_optimal,
    random_data,
    separable,
    token_rows,
)
from attsvm_lib.svm import least_distance

REFERENCE = Path(__file__).parent / "reference" / "svm"
NORMS = ("frobenius", "nuclear")
LOCAL = [f"local_n6T8d10_seed{k}" for k in range(3)]


def reference(name):
    with np.load(REFERENCE / f"{name}.npz") as arrays:
        return dict(arrays)


def random_problem(n, T, d, seed, **kind):
    rng = np.random.default_rng(seed)
    data = random_data(n, T, d, rng=rng, **kind)
    return data, rng.integers(T, size=n)


def with_tokens(data, X=None, Z=None):
    return TokenData(data.X if X is None else X, data.Z if Z is None else Z, data.Y)


# closed forms -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
def test_one_constraint_is_solved_by_its_own_outer_product(norm):
    x, y, z = np.array([1.0, 2.0]), np.array([0.0, -1.0]), np.array([3.0, 1.0])
    solution = att_svm(TokenData([[x, y]], [z], [1]), [0], norm=norm)
    expected = np.outer(x - y, z) / ((x - y) @ (x - y) * (z @ z))
    np.testing.assert_allclose(solution.W, expected, rtol=1e-14)
    assert solution.margin == pytest.approx(np.linalg.norm(x - y) * np.linalg.norm(z), rel=1e-14)
    assert (solution.rank, solution.support.tolist(), solution.rows.tolist()) == (1, [True], [[0, 1]])


def test_orthogonal_rows_separate_the_two_norms():
    # d_k z_k^T = e_k e_k^T: W = I for both; Frobenius norm sqrt(2), nuclear norm 2
    X = np.array([[[1.0, 0], [0, 0]], [[0, 1.0], [0, 0]]])
    data = TokenData(X, np.eye(2), [1, 1])
    for norm, size in zip(NORMS, (np.sqrt(2), 2.0)):
        solution = att_svm(data, [0, 0], norm=norm)
        np.testing.assert_allclose(solution.W, np.eye(2), atol=1e-13)
        assert solution.objective == pytest.approx(size, rel=1e-13)


def test_shared_query_reduces_to_the_vector_svm():
    # one query z for all: W z = w / ||z||^2-scaled, the nearest point of the convex hull of differences
    d1, d2, z = np.array([2.0, 1.0]), np.array([2.0, -1.0]), np.array([0.0, 2.0])
    data = TokenData([[d1, [0, 0]], [d2, [0, 0]]], [z, z], [1, 1])
    for norm in NORMS:  # nearest point of the segment is (2, 0), so w = (1/2, 0) and W = w z^T / ||z||^2
        np.testing.assert_allclose(att_svm(data, [0, 0], norm=norm).W, [[0, 0.25], [0, 0]], atol=1e-14)


@pytest.mark.parametrize("norm", NORMS)
def test_a_single_token_needs_no_weights(norm):
    solution = att_svm(random_problem(3, 1, 4, 0)[0], [0, 0, 0], norm=norm)
    assert not solution.W.any()
    assert (solution.margin, solution.rank, solution.gap, len(solution.multipliers)) == (np.inf, 0, 0, 0)
    assert not solution.direction.any()
    assert separable(random_problem(3, 1, 4, 0)[0], [0, 0, 0])


# optimality -------------------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 7), st.integers(2, 6), st.integers(1, 8), st.integers(0, 10**6),
    st.sampled_from(NORMS), st.sampled_from(["cross", "self"]), st.sampled_from(["sphere", "gaussian"]),
)  # fmt: skip
def test_solution_is_certified_or_infeasibility_is_proved(n, T, d, seed, norm, attention, law):
    data, alpha = random_problem(n, T, d, seed, attention=attention, law=law)
    rows = token_rows(data, alpha)
    try:
        solution = att_svm(data, alpha, norm=norm)
    except InfeasibleError as error:
        y = error.certificate
        assert y.min() >= 0
        assert y.sum() == pytest.approx(1, abs=1e-12)
        scale = (np.linalg.norm(rows.D, axis=1) * np.linalg.norm(rows.Z, axis=1)).max()
        assert np.linalg.norm(rows.combine(y)) <= 1e-12 * scale
        return
    assume(solution.objective < 1e3)  # beyond, the data are infeasible to within their own rounding
    lam = solution.multipliers
    assert -1e-13 < solution.gap < 1e-12
    assert rows.margins(solution.W).min() > 1 - 1e-11
    assert lam.min() >= 0
    assert (solution.support >= (lam > 0)).all()
    np.testing.assert_array_equal(solution.support, rows.margins(solution.W) < 1 + 1e-9)
    np.testing.assert_allclose(rows.margins(solution.W)[solution.support], 1, atol=1e-9)
    assert solution.margin == pytest.approx(1 / solution.objective)
    # (Lemma 1) rank at most n
    assert solution.rank <= min(n, d)
    if norm == "frobenius":
        np.testing.assert_allclose(rows.combine(lam), solution.W, atol=1e-9 * solution.objective)
    else:
        assert np.linalg.norm(rows.combine(lam), 2) == pytest.approx(1, abs=1e-10)


def test_multipliers_follow_row_order():
    data, alpha = random_problem(4, 5, 8, 3)
    expected = [(i, t) for i in range(4) for t in range(5) if t != alpha[i]]
    assert [tuple(row) for row in att_svm(data, alpha).rows.tolist()] == expected


def cvxpy_solution(data, alpha, norm):
    W = cp.Variable((data.d, data.d))
    rows = token_rows(data, alpha)
    constraints = [d @ W @ z >= 1 for d, z in zip(rows.D, rows.Z)]
    problem = cp.Problem(cp.Minimize(cp.norm(W, {"frobenius": "fro", "nuclear": "nuc"}[norm])), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem.status, problem.value, W.value


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("size", [(2, 3, 2), (4, 5, 6), (6, 4, 4)])
def test_cvxpy_finds_the_same_solution(norm, size):
    data, alpha = random_problem(*size, seed=11)
    solution = att_svm(data, alpha, norm=norm)
    status, value, W = cvxpy_solution(data, alpha, norm)
    assert status == "optimal"
    assert solution.objective == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(solution.W, W, atol=2e-3 * solution.objective)


def test_a_jacobian_whose_svd_does_not_converge_only_postpones_the_polish(monkeypatch):
    # found at n = 10, T = 5, d = 5 in self-attention; here the first polish fails, whatever LAPACK is installed
    data, alpha = random_problem(6, 5, 8, 3)
    expected = att_svm(data, alpha, norm="nuclear").W
    solve, calls = np.linalg.lstsq, []

    def first_fails(*args, **options):
        calls.append(1)
        if len(calls) == 1:
            raise np.linalg.LinAlgError("SVD did not converge in Linear Least Squares")
        return solve(*args, **options)

    monkeypatch.setattr(np.linalg, "lstsq", first_fails)
    solution = att_svm(data, alpha, norm="nuclear")
    assert len(calls) > 1
    assert solution.gap <= 1e-12
    np.testing.assert_allclose(solution.W, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_a_linear_program_gives_the_same_verdict_on_feasibility():
    verdicts = {True: 0, False: 0}
    for seed in range(60):
        data, alpha = random_problem(6, 4, 3, seed)
        rows = token_rows(data, alpha)
        A = (rows.D[:, :, None] * rows.Z[:, None, :]).reshape(len(rows), -1)
        feasible = linprog(np.zeros(A.shape[1]), A_ub=-A, b_ub=-np.ones(len(A)), bounds=(None, None)).status == 0
        assert separable(data, alpha) == feasible
        try:
            att_svm(data, alpha)
            assert feasible
        except InfeasibleError:
            assert not feasible
        verdicts[feasible] += 1
    assert min(verdicts.values()) > 5


def test_our_non_negative_least_squares_agrees_with_scipy():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        E, f = rng.standard_normal((8, 12)), rng.standard_normal(8)
        expected, residual = nnls(E, f)
        u = least_distance.nnls(E, f)
        assert u.min() >= 0
        assert np.linalg.norm(E @ u - f) == pytest.approx(residual, abs=1e-12)
        np.testing.assert_allclose(u, expected, atol=1e-9)


# reference arrays -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LOCAL)
@pytest.mark.parametrize("selection", ["W", "KQ"])
@pytest.mark.parametrize("norm", NORMS)
def test_reference_solutions_of_the_local_experiment(name, selection, norm):
    array = reference(name)
    solution = att_svm(TokenData(array["X"], array["Z"], array["Y"]), array[f"alpha_{selection}"], norm=norm)
    W, lam = (array[f"{kind}{norm[:3]}_{selection}"] for kind in ("W", "lam"))
    assert np.linalg.norm(solution.W - W) <= 1e-12 * np.linalg.norm(W)
    np.testing.assert_allclose(solution.multipliers, lam, atol=1e-10)
    assert abs(solution.gap) <= 1e-13


@pytest.mark.parametrize(("norm", "value"), [("frobenius", 4.454233752112792), ("nuclear", 10.883548786847124)])
def test_reference_solution_of_the_larger_problem(norm, value):
    array = reference("svm_n10T15d20_seed0")
    solution = att_svm(TokenData(array["X"], array["Z"], array["Y"]), array["best_ids"], norm=norm)
    assert solution.objective == pytest.approx(value, rel=1e-13)
    np.testing.assert_allclose(solution.W, array[f"W{norm[:3]}"], atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_reference_infeasible_problem_raises_with_a_farkas_vector(norm):
    array = reference("infeasible_n5T5d3_seed2")
    data = TokenData(array["X"], array["Z"], array["Y"])
    with pytest.raises(InfeasibleError, match=r"the constraints of sequence 0 \(tokens .*\) contradict") as error:
        att_svm(data, array["best_ids"], norm=norm)
    rows, y = token_rows(data, array["best_ids"]), error.value.certificate
    scale = (np.linalg.norm(rows.D, axis=1) * np.linalg.norm(rows.Z, axis=1)).max()
    assert np.linalg.norm(rows.combine(y)) <= 1e-12 * scale
    assert y.min() >= 0
    assert y.sum() == pytest.approx(1)
    assert {tuple(row) for row in rows.index[y > 0]} == set(error.value.blame)


# scale and degeneracy ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("scale", [1e-100, 1e-6, 1e6, 1e100])
@pytest.mark.parametrize("which", ["tokens", "queries"])
def test_direction_does_not_depend_on_the_scale_of_the_data(norm, scale, which):
    data, alpha = random_problem(6, 8, 10, 0)
    scaled = with_tokens(data, X=scale * data.X) if which == "tokens" else with_tokens(data, Z=scale * data.Z)
    one, other = att_svm(data, alpha, norm=norm), att_svm(scaled, alpha, norm=norm)
    np.testing.assert_allclose(other.direction, one.direction, atol=1e-10)
    assert other.objective * scale == pytest.approx(one.objective, rel=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_duplicate_among_the_other_tokens_changes_nothing(norm):
    data, alpha = random_problem(3, 4, 6, 5)
    X = np.concatenate([data.X, data.X[:, -1:]], axis=1)
    alpha = np.minimum(alpha, 2)
    doubled = att_svm(with_tokens(data, X=X), alpha, norm=norm)
    np.testing.assert_allclose(doubled.W, att_svm(data, alpha, norm=norm).W, atol=1e-9)
    assert abs(doubled.gap) < 1e-12


@pytest.mark.parametrize("near", [1e-2, 1e-6, 1e-10])
def test_near_duplicate_of_the_selected_token_stays_feasible(near):
    data, alpha = random_problem(2, 3, 4, 1)
    X = data.X.copy()
    X[0, (alpha[0] + 1) % 3] = X[0, alpha[0]] + near * X[0, (alpha[0] + 2) % 3]
    solution = att_svm(with_tokens(data, X=X), alpha)
    assert 0.1 / near < solution.objective < 10 / near
    assert solution.gap < 1e-15 / near**1.2 + 1e-12


def test_duplicate_of_the_selected_token_is_named():
    data, _ = random_problem(3, 4, 6, 5)
    X = data.X.copy()
    X[1, 3] = X[1, 0]
    with pytest.raises(InfeasibleError, match="token 3 duplicates the selected token 0 in sequence 1") as error:
        att_svm(with_tokens(data, X=X), [0, 0, 0])
    assert error.value.blame == [(1, 3)]
    assert error.value.certificate[5] == 1


def test_zero_query_is_named():
    data, _ = random_problem(3, 4, 6, 5)
    Z = data.Z.copy()
    Z[2] = 0
    assert not separable(with_tokens(data, Z=Z), [0, 0, 0])
    with pytest.raises(InfeasibleError, match="the query of sequence 2 is zero"):
        att_svm(with_tokens(data, Z=Z), [0, 0, 0], norm="nuclear")


def test_one_dimension_is_infeasible_as_soon_as_signs_differ():
    data = TokenData([[[1.0], [2.0]], [[1.0], [2.0]]], [[1.0], [-1.0]], [1, 1])
    with pytest.raises(InfeasibleError, match=r"sequence 0 \(tokens 1\), sequence 1 \(tokens 1\) contradict") as error:
        att_svm(data, [0, 0])
    np.testing.assert_allclose(error.value.certificate, [0.5, 0.5])


def test_a_tight_row_without_multiplier_is_a_support_token():
    data = TokenData([[[1, 0], [0, 0], [0, 5]]], [[1, 0]], [1])
    solution = att_svm(data, [0])
    assert solution.multipliers.tolist() == [1, 0]
    assert solution.support.tolist() == [True, True]
    assert not locally_optimal(solution, [[1, 0, 2]])


@pytest.mark.parametrize("near", [1e-3, 1e-6, 1e-7])
def test_nearly_contradictory_data_are_never_called_infeasible(near):
    # feasible for each near > 0, with margin of order near; the two rows contradict each other at near = 0
    data = TokenData([[[1, 0.0], [0, 0]], [[-1, near], [0, 0]]], [[1, 0.0], [1, 0]], [1, 1])
    assert separable(data, [0, 0])
    solution = att_svm(data, [0, 0])
    assert token_rows(data, [0, 0]).margins(solution.W).min() == pytest.approx(1, abs=1e-6)
    contradiction = TokenData([[[1, 0.0], [0, 0]], [[-1, 0], [0, 0]]], [[1, 0.0], [1, 0]], [1, 1])
    assert not separable(contradiction, [0, 0])


@pytest.mark.parametrize("spread", [1, 2])
def test_sequences_of_very_different_sizes_are_solved_in_both_norms(spread):
    for seed in range(10):
        data, alpha = random_problem(4, 3, 4, seed, attention="self")
        X = data.X * 10.0 ** np.random.default_rng(seed).uniform(-spread, spread, (4, 1, 1))
        for norm in NORMS:
            assert att_svm(TokenData(X, X[:, 0], data.Y), alpha, norm=norm).gap < 1e-6


def test_a_near_duplicate_of_the_selected_token_is_solved_in_the_nuclear_norm():
    X = [[[0.6, 0.7], [-0.7, 0.5], [0.6 - 1e-7, 0.7 + 1e-8]], [[0.9, -0.1], [0.1, -0.8], [-0.6, -0.4]]]
    data = TokenData(X, [[0.8, 0.6], [-0.28, 0.96]], [1, -1])
    assert att_svm(data, [0, 2], norm="nuclear").gap < 1e-6


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("sizes", [(1e150, 1e150), (1e-150, 1e-150), (1e-310, 1.0), (1e300, 1.0)])
def test_sizes_beyond_double_precision_raise_or_give_the_right_direction(norm, sizes):
    data, alpha = random_problem(3, 4, 5, 0)
    try:
        solution = att_svm(TokenData(sizes[0] * data.X, sizes[1] * data.Z, data.Y), alpha, norm=norm)
    except ConvergenceError as error:
        assert "too many orders of magnitude" in str(error)
        return
    np.testing.assert_allclose(solution.direction, att_svm(data, alpha, norm=norm).direction, atol=1e-6)


def test_errors_survive_pickling():
    data, _ = random_problem(3, 4, 6, 5)
    X = data.X.copy()
    X[1, 3] = X[1, 0]
    with pytest.raises(InfeasibleError) as error:
        att_svm(with_tokens(data, X=X), [0, 0, 0])
    copy = pickle.loads(pickle.dumps(error.value))
    assert (str(copy), copy.blame) == (str(error.value), error.value.blame)
    assert pickle.loads(pickle.dumps(ConvergenceError(0.5))).gap == 0.5
    tie = pickle.loads(pickle.dumps(TieError([((0,), [0, 1])])))
    assert tie.tied == [((0,), [0, 1])]


# bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alpha", "options", "message"),
    [
        ([0, 1], {}, r"alpha must have shape \(3\), got \(2,\)"),
        ([0, 1, 4], {}, r"alpha must lie in 0\.\.3, got 4 at index \(2,\)"),
        ([0, 1, -1], {}, r"alpha must lie in 0\.\.3, got -1"),
        ([0.0, 1.0, 2.0], {}, r"alpha must be an integer array of shape \(3\), got dtype float64"),
        ([0, 1, 2], {"norm": "spectral"}, r"norm must be one of 'frobenius', 'nuclear', got 'spectral'"),
    ],
)
def test_bad_arguments_are_refused_by_name(alpha, options, message):
    with pytest.raises(ValueError, match=message):
        att_svm(random_problem(3, 4, 6, 5)[0], alpha, **options)


def test_batches_are_refused():
    data = random_data(3, 4, 6, rng=np.random.default_rng(0), batch=(2,))
    with pytest.raises(ValueError, match=r"data must be one data set without batch axes, got batch shape \(2,\)"):
        att_svm(data, [0, 0, 0])
    with pytest.raises(ValueError, match="data must be a TokenData, got ndarray"):
        att_svm(data.X, [0, 0, 0])


def test_the_repr_is_the_same_on_every_machine():
    solution = att_svm(TokenData([[[1.0, 0], [0, 0]]], [[2.0, 0]], [1]), [0])
    text = "Solution(frobenius, ||W|| = 0.5, margin = 2, rank = 1, support = 1 of 1, gap <= 1e-12)"
    assert repr(solution) == text
