"""Sequential prediction is cross-attention with n T queries and a mask: its SVM, its risk, training and path."""

from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from attsvm_lib import (
    InfeasibleError,
    LinearHead,
    PositionHead,
    TokenData,
    att_svm,
    correlation,
    gen_svm,
    locally_optimal,
    optimal_tokens,
    random_data,
    random_direction,
    random_start,
    regularization_path,
    separable,
    sequence_data,
    sequential_rows,
    sequential_svm,
    train,
)
from attsvm_lib.attention import attention_probabilities, attention_scores, descent_direction, gradient, loss
from attsvm_lib.excess import excess_loss, head_scores, infimum_loss, log_excess_gradient
from attsvm_lib.training.linear import LinearRuns, runs_first, runs_last

REFERENCE = Path(__file__).parent / "reference" / "svm" / "sequential_causal_n3T4d8.npz"
NORMS = ("frobenius", "nuclear")


def random_sequences(n, T, d, seed, causal=True):
    """Unit tokens and a selection that the mask allows."""
    rng = np.random.default_rng(seed)
    X = random_direction(d, rng=rng, batch=(n, T))
    return X, rng.integers(np.arange(1, T + 1) if causal else T, size=(n, T))


def sequence_problem(seed, n=3, T=4, d=8, causal=True, heads="shared"):
    rng = np.random.default_rng(seed)
    X, v = random_direction(d, rng=rng, batch=(n, T)), random_direction(d, rng=rng, batch=(T,))
    head = LinearHead(v[0]) if heads == "shared" else PositionHead(v)
    return sequence_data(X, rng.choice([-1, 1], (n, T)), causal=causal), head


def blocks(X, alpha, causal):
    """(i, j, t), token difference and query of each constraint, by three loops."""
    n, T, _ = X.shape
    for i in range(n):
        for j in range(T):
            for t in range(j + 1 if causal else T):
                if t != alpha[i, j]:
                    yield (i, j, t), X[i, alpha[i, j]] - X[i, t], X[i, j]


# the constraints --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [True, False])
def test_rows_are_one_block_per_position(causal):
    X, alpha = random_sequences(3, 5, 4, 0, causal)
    rows = sequential_rows(X, alpha, causal=causal)
    index, D, Z = zip(*blocks(X, alpha, causal), strict=True)
    assert len(rows) == 3 * 5 * 4 // (2 if causal else 1)
    np.testing.assert_array_equal(rows.index, index)
    np.testing.assert_array_equal(rows.D, D)
    np.testing.assert_array_equal(rows.Z, Z)


def test_two_tokens_and_a_causal_mask_leave_one_row():
    x, y = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    for selected, difference in ((0, x - y), (1, y - x)):
        solution = sequential_svm([[x, y]], [[0, selected]])
        np.testing.assert_allclose(solution.W, np.outer(difference, y) / (13 * 10), rtol=1e-14)
        assert solution.rows.tolist() == [[0, 1, 1 - selected]]


def test_one_position_only_is_att_svm():
    # without a mask and with the same query everywhere the n T queries repeat n of them
    data = random_data(3, 4, 8, rng=np.random.default_rng(0))
    alpha = np.array([1, 0, 3])
    allowed = np.zeros((12, 4), dtype=bool)
    allowed[::4] = True
    allowed[np.arange(12) % 4 != 0, 0] = True
    masked = TokenData(np.repeat(data.X, 4, 0), np.repeat(data.Z, 4, 0), np.repeat(data.Y, 4), allowed)
    selected = np.zeros(12, dtype=int)
    selected[::4] = alpha
    np.testing.assert_allclose(att_svm(masked, selected).W, att_svm(data, alpha).W, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_a_single_position_needs_no_weights(norm):
    for causal in (True, False):
        solution = sequential_svm(np.ones((2, 1, 3)), np.zeros((2, 1), dtype=int), causal=causal, norm=norm)
        assert not solution.W.any()
        assert (solution.margin, solution.rank, solution.gap) == (np.inf, 0, 0)
        assert (solution.rows.shape, solution.alpha.shape) == ((0, 3), (2, 1))


# the solution -----------------------------------------------------------------------------------------------------


def test_reference_solution():
    with np.load(REFERENCE) as array:
        array = dict(array)
    solution = sequential_svm(array["X"], array["opt"])
    rows = sequential_rows(array["X"], array["opt"])
    np.testing.assert_array_equal(rows.index, array["rows"])
    np.testing.assert_allclose(rows.D, array["D"], atol=1e-15)
    np.testing.assert_allclose(rows.Z, array["Zq"], atol=1e-15)
    assert np.abs(solution.W - array["W_svm"]).max() <= 1e-12
    np.testing.assert_allclose(solution.multipliers, array["lam"], atol=1e-12)
    assert solution.objective == pytest.approx(3.107033852462, abs=1e-12)
    assert (int((solution.multipliers > 0).sum()), solution.rank) == (11, 8)
    assert abs(solution.gap) <= 1e-13
    gamma = array["Y"][..., None] * (array["X"] @ array["v"])[:, None, :]
    np.testing.assert_array_equal(np.where(np.tri(4, dtype=bool), gamma, -np.inf).argmax(-1), array["opt"])


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("size", [(2, 3, 5), (3, 4, 8), (4, 5, 10)])
def test_a_second_solver_finds_the_same_solution(size, causal):
    X, alpha = random_sequences(*size, seed=5, causal=causal)
    W = cp.Variable(2 * size[2:])
    constraints = [d @ W @ z >= 1 for _, d, z in blocks(X, alpha, causal)]
    tight = {"tol_gap_abs": 1e-14, "tol_gap_rel": 1e-14, "tol_feas": 1e-14}
    cp.Problem(cp.Minimize(cp.sum_squares(W)), constraints).solve(solver=cp.CLARABEL, **tight)
    np.testing.assert_allclose(sequential_svm(X, alpha, causal=causal).W, W.value, rtol=0, atol=1e-9)


@pytest.mark.parametrize("causal", [True, False])
def test_a_second_solver_finds_the_same_nuclear_norm(causal):
    X, alpha = random_sequences(2, 3, 5, seed=1, causal=causal)
    W = cp.Variable((5, 5))
    constraints = [d @ W @ z >= 1 for _, d, z in blocks(X, alpha, causal)]
    value = cp.Problem(cp.Minimize(cp.norm(W, "nuc")), constraints).solve(solver=cp.CLARABEL)
    assert sequential_svm(X, alpha, causal=causal, norm="nuclear").objective == pytest.approx(value, rel=1e-6)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 4), st.integers(2, 5), st.integers(1, 9), st.integers(0, 10**6),
    st.booleans(), st.sampled_from(NORMS),
)  # fmt: skip
def test_solution_is_certified_or_infeasibility_is_proved(n, T, d, seed, causal, norm):
    X, alpha = random_sequences(n, T, d, seed, causal)
    rows = sequential_rows(X, alpha, causal=causal)
    try:
        solution = sequential_svm(X, alpha, causal=causal, norm=norm)
    except InfeasibleError as error:
        y = error.certificate
        assert y.min() >= 0
        assert y.sum() == pytest.approx(1, abs=1e-12)
        assert np.linalg.norm(rows.combine(y)) <= 1e-12
        assert {tuple(row) for row in rows.index[y > 0]} == set(error.blame)
        return
    assume(solution.objective < 1e3)  # beyond, the data are infeasible to within their own rounding
    assert -1e-13 < solution.gap <= 1e-12
    margins = rows.margins(solution.W)
    assert margins.min() >= 1 - 1e-10
    np.testing.assert_allclose(margins[solution.multipliers > 0], 1, atol=1e-10)
    if norm == "frobenius":
        np.testing.assert_allclose(rows.combine(solution.multipliers), solution.W, atol=1e-10 * solution.objective)


def test_the_mask_can_only_help():
    for seed in range(10):
        X, alpha = random_sequences(2, 4, 8, seed)
        assert sequential_svm(X, alpha).objective <= sequential_svm(X, alpha, causal=False).objective + 1e-12


def test_it_is_att_svm_of_the_flattened_data():
    X, alpha = random_sequences(3, 4, 8, 2)
    one, other = sequential_svm(X, alpha), att_svm(sequence_data(X, np.ones(3)), alpha.ravel())
    np.testing.assert_array_equal(one.W, other.W)
    np.testing.assert_array_equal(one.rows[:, 0] * 4 + one.rows[:, 1], other.rows[:, 0])
    assert separable(sequence_data(X, np.ones(3)), alpha.ravel())


def test_sets_of_tokens_respect_the_mask():
    X, alpha = random_sequences(3, 4, 12, 2)
    data = sequence_data(X, np.ones(3))
    one = np.arange(4) == alpha.reshape(-1, 1)
    np.testing.assert_allclose(gen_svm(data, one).W, sequential_svm(X, alpha).W, atol=1e-12)
    two = one | (np.arange(4) == 0)
    solution = gen_svm(data, two)
    assert {tuple(row) for row in solution.rows.tolist()} == set(zip(*np.nonzero(data.allowed & ~two)))
    with pytest.raises(ValueError, match="selected must hold tokens that their query may attend to, got token 1 in"):
        gen_svm(data, one | (np.arange(4) == 1))


# infeasible and degenerate ----------------------------------------------------------------------------------------


def test_a_duplicate_of_the_selected_token_is_named():
    X, _ = random_sequences(2, 4, 8, 0)
    X[1, 3] = X[1, 0]
    with pytest.raises(InfeasibleError, match="token 3 duplicates the selected token 0 in sequence 1") as error:
        sequential_svm(X, np.zeros((2, 4), dtype=int))
    assert error.value.blame == [(1, 3, 3)]


def test_a_duplicate_that_no_position_selects_is_no_obstacle():
    X, _ = random_sequences(2, 4, 8, 0)
    X[1, 2] = X[1, 1]  # positions 1 and 2 ask for the same margin twice
    assert sequential_svm(X, np.zeros((2, 4), dtype=int)).gap <= 1e-12


def test_equal_queries_that_want_different_tokens_contradict_each_other():
    X, _ = random_sequences(1, 3, 8, 0)
    X[0, 2] = X[0, 1]
    # the last token copies the second: position 1 wants token 0 above it, position 2 the other way round
    with pytest.raises(InfeasibleError) as error:
        sequential_svm(X, [[0, 0, 1]])
    assert set(error.value.blame) <= {(0, 1, 1), (0, 2, 0), (0, 2, 2)}


def test_contradictions_name_positions_and_tokens():
    X = np.array([[[1.0], [2.0], [-1.0]]])
    message = r"position 1 of sequence 0 \(tokens 0\), position 2 of sequence 0 \(tokens .*\) contradict each other"
    with pytest.raises(InfeasibleError, match=message):
        sequential_svm(X, [[0, 1, 1]])


def test_a_zero_token_is_a_zero_query():
    X, _ = random_sequences(2, 3, 8, 0)
    X[0, 1] = 0
    with pytest.raises(InfeasibleError, match="the query of position 1 of sequence 0 is zero"):
        sequential_svm(X, np.zeros((2, 3), dtype=int))


@pytest.mark.parametrize("scale", [1e-50, 1e-6, 1e6, 1e50])
def test_direction_does_not_depend_on_the_scale_of_the_tokens(scale):
    X, alpha = random_sequences(3, 4, 8, 3)
    one, other = sequential_svm(X, alpha), sequential_svm(scale * X, alpha)
    np.testing.assert_allclose(other.direction, one.direction, atol=1e-10)


# the risk and its training ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("heads", ["shared", "position"])
def test_the_risk_is_the_mean_over_positions(causal, heads):
    data, head = sequence_problem(0, causal=causal, heads=heads)
    W = random_start(8, rng=np.random.default_rng(1))
    X, Y = data.X[::4], data.Y.reshape(3, 4)
    risk = 0.0
    for i, j in np.ndindex(3, 4):
        seen = X[i, : j + 1] if causal else X[i]
        weights = np.exp(seen @ W @ X[i, j])
        v = head.v if heads == "shared" else head.v[j]
        risk += np.log1p(np.exp(-Y[i, j] * (weights / weights.sum() @ seen @ v))) / 12
    assert loss(data, head, W) == pytest.approx(risk, rel=1e-14)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("heads", ["shared", "position"])
def test_gradient_agrees_with_finite_differences(causal, heads):
    data, head = sequence_problem(0, causal=causal, heads=heads)
    W = random_start(8, rng=np.random.default_rng(1))
    G, slope = gradient(data, head, W), np.zeros((8, 8))
    log_excess, L = log_excess_gradient(data, head, W)
    assert np.exp(log_excess) == pytest.approx(loss(data, head, W) - infimum_loss(data, head), rel=1e-12)
    np.testing.assert_allclose(L, G / np.exp(log_excess), rtol=1e-10)
    for index in np.ndindex(W.shape):
        step = np.zeros(W.shape)
        step[index] = 1e-6
        slope[index] = (loss(data, head, W + step) - loss(data, head, W - step)) / 2e-6
    np.testing.assert_allclose(G, slope, atol=1e-9)


def test_masked_tokens_get_no_attention_and_no_score():
    data, head = sequence_problem(0)
    hidden = ~np.tile(np.tri(4, dtype=bool), (3, 1))
    W = random_start(8, rng=np.random.default_rng(1))
    assert (attention_probabilities(data, W)[hidden] == 0).all()
    assert np.isneginf(attention_scores(data, W)[hidden]).all()
    assert np.isneginf(head_scores(data, head)[hidden]).all()
    assert np.isfinite(attention_scores(data, W)[~hidden]).all()
    assert (optimal_tokens(head_scores(data, head)).reshape(3, 4) <= np.arange(4)).all()


def test_what_a_position_cannot_see_does_not_change_it():
    data, head = sequence_problem(0)
    W = random_start(8, rng=np.random.default_rng(1))
    X = data.X[::4].copy()
    X[:, 3] = 5.0
    other = sequence_data(X, data.Y.reshape(3, 4))
    before, after = (attention_probabilities(d, W).reshape(3, 4, 4) for d in (data, other))
    np.testing.assert_array_equal(before[:, :3], after[:, :3])
    assert np.abs(before[:, 3] - after[:, 3]).max() > 0.01


@pytest.mark.parametrize(
    ("causal", "heads"), [(True, "shared"), (True, "position"), (False, "shared"), (False, "position")]
)
def test_gradient_descent_turns_to_the_svm_of_what_it_selects(causal, heads):
    data, head = sequence_problem(1, causal=causal, heads=heads)
    run = train(data, head, steps=2000, checkpoints=[100, 2000])
    alpha = run.selection[-1].reshape(3, 4)
    solution = sequential_svm(data.X[::4], alpha, causal=causal)
    assert locally_optimal(solution, head_scores(data, head).reshape(3, 4, 4))
    early, late = correlation(run.W, solution.W)
    assert early < late
    assert late > 0.99
    assert run.selected_probability[-1].min() > 0.999


def test_the_first_position_alone_has_no_gradient():
    X = random_direction(5, rng=np.random.default_rng(0), batch=(3, 1))
    run = train(sequence_data(X, [1, 1, -1]), LinearHead(np.ones(5)), steps=10)
    assert (run.status, run.stopped_at) == ("zero gradient", 0)


def test_a_position_without_choice_does_not_drown_the_others():
    # at margins of hundreds the pull of the other positions is exp(-300) of what the first one could have
    data, head = sequence_problem(1)
    runs = LinearRuns(data.X[None], data.Z[None], data.Y[None], LinearHead(head.v[None]), data.allowed[None])
    alpha = optimal_tokens(head_scores(data, head))
    W = 300 * sequential_svm(data.X[::4], alpha.reshape(3, 4)).W
    c, log_scale = runs.exact_weights(runs_last(np.einsum("itp,pq,iq->it", data.X, W, data.Z)[None]))
    direction = descent_direction(data, head, W)
    c = runs_first(c)[0]
    G = np.einsum("it,itp,iq->pq", c, data.X, data.Z)
    np.testing.assert_allclose(G / np.linalg.norm(G), direction.unit, atol=1e-10)
    assert np.log(np.linalg.norm(G)) + log_scale[0] == pytest.approx(direction.log_norm, rel=1e-10)
    assert np.abs(c).max() > 0.1


def test_batches_of_data_and_of_heads_are_the_single_runs():
    rng = np.random.default_rng(4)
    X, v = random_direction(6, rng=rng, batch=(2, 3, 4)), random_direction(6, rng=rng, batch=(2, 4))
    Y = rng.choice([-1, 1], (2, 3))
    both = train(sequence_data(X, Y), PositionHead(v), steps=50, checkpoints=[50])
    for k in range(2):
        one = train(sequence_data(X[k], Y[k]), PositionHead(v[k]), steps=50, checkpoints=[50])
        np.testing.assert_allclose(both.W[0, k], one.W[0], atol=1e-12)
        np.testing.assert_array_equal(sequence_data(X, Y).Y[k].reshape(3, 4), np.repeat(Y[k][:, None], 4, 1))


@pytest.mark.parametrize("arithmetic", ["exact", "paper"])
def test_a_mask_of_ones_is_no_mask(arithmetic):
    data = random_data(3, 4, 5, rng=np.random.default_rng(0))
    masked = TokenData(data.X, data.Z, data.Y, np.ones((3, 4), dtype=bool))
    runs = [train(d, LinearHead(np.ones(5)), steps=40, arithmetic=arithmetic).W for d in (data, masked)]
    np.testing.assert_allclose(*runs, atol=1e-12)


def test_the_factored_model_trains_on_masked_data_in_both_arithmetics():
    data, head = sequence_problem(2)
    start = random_start(8, 8, rng=np.random.default_rng(0))
    exact, paper = (
        train(data, head, parameterization="KQ", start=start, steps=60, arithmetic=a).W[-1] for a in ("exact", "paper")
    )
    np.testing.assert_allclose(exact, paper, rtol=1e-6)


# the regularization path ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [True, False])
def test_the_regularization_path_turns_to_the_svm(causal):
    data, head = sequence_problem(0, causal=causal, heads="position")
    path = regularization_path(data, head, [10, 1e4], rng=np.random.default_rng(0), starts=1)
    alpha = optimal_tokens(head_scores(data, head)).reshape(3, 4)
    W = sequential_svm(data.X[::4], alpha, causal=causal).W
    np.testing.assert_allclose(path.solution.W, W, atol=1e-12)
    assert 1 - correlation(path.W[-1], W) < 1e-5
    assert excess_loss(data, head, path.W[0]) < excess_loss(data, head, 10 * W / np.linalg.norm(W))


# bad input --------------------------------------------------------------------------------------------------------


X3 = np.zeros((2, 3, 4)) + np.arange(3)[:, None]


@pytest.mark.parametrize(
    ("X", "alpha", "options", "message"),
    [
        (X3, [[0, 0, 0], [0, 2, 0]], {}, r"one of 0, 1 at index \(1, 1\), got 2"),
        (X3, [[0, 0, 3], [0, 1, 0]], {}, r"alpha must lie in 0\.\.2, got 3 at index \(0, 2\)"),
        (X3, [0, 1, 2], {}, r"alpha must have shape \(2, 3\), got \(3,\)"),
        (X3, np.zeros((2, 3)), {}, r"alpha must be an integer array of shape \(2, 3\), got dtype float64"),
        (X3 * np.nan, np.zeros((2, 3), dtype=int), {}, r"X must be finite, got nan at index \(0, 0, 0\)"),
        (X3[0], np.zeros((2, 3), dtype=int), {}, r"X must have shape \(n, T, d\), got \(3, 4\)"),
        (X3[None], np.zeros((2, 3), dtype=int), {}, r"X must have shape \(n, T, d\), got \(1, 2, 3, 4\)"),
        (X3, np.zeros((2, 3), dtype=int), {"causal": "yes"}, "causal must be True or False, got 'yes'"),
        (X3, np.zeros((2, 3), dtype=int), {"norm": "l1"}, "norm must be one of 'frobenius', 'nuclear', got 'l1'"),
    ],
)
def test_bad_arguments_are_refused_by_name(X, alpha, options, message):
    with pytest.raises(ValueError, match=message):
        sequential_svm(X, alpha, **options)


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        ([1, 1, 1], r"Y must have shape \(2\), got \(3,\)"),
        ([[1, 1], [1, 1]], r"Y must have shape \(2, 3\), got \(2, 2\)"),
        ([0, 1], "Y must hold labels -1 or"),
        (1, r"Y must have shape \(2, 3\), got \(\)"),
    ],
)
def test_labels_are_one_per_sequence_or_one_per_position(Y, message):
    with pytest.raises(ValueError, match=message):
        sequence_data(X3, Y)


def test_heads_must_fit_the_sequences():
    data = sequence_data(X3, [1, 1])
    with pytest.raises(ValueError, match=r"v must have shape \(\.\.\., T, d\), got \(4,\)"):
        PositionHead(np.ones(4))
    with pytest.raises(ValueError, match="6 queries are no multiple of 4"):
        loss(data, PositionHead(np.ones((4, 4))), np.eye(4))
    with pytest.raises(ValueError, match="v must have the length of a token, d = 4, got 5"):
        loss(data, PositionHead(np.ones((3, 5))), np.eye(4))
    assert repr(PositionHead(np.ones((3, 4)))) == "PositionHead(T=3, d=4)"
