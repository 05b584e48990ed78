"""The experiments of chapter 3: the lemma and both propositions, and every number that the experiments return."""

import numpy as np
import pytest

from attsvm_lib import (
    LinearHead,
    TieError,
    TokenData,
    att_svm,
    correlation,
    gradient,
    locally_optimal,
    optimal_tokens,
    predicted_constant,
    random_data,
    random_direction,
    random_start,
    scores,
    token_rows,
    train,
)
from attsvm_lib.attention import attention_probabilities, output
from attsvm_lib.excess import log_excess_loss
from attsvm_lib.experiments import (
    equal_score_problem,
    equal_scores,
    first_gradient,
    first_margin,
    follow,
    local_convergence,
    outcomes,
    overparameterization,
    path_problem,
    plane_paths,
    rates,
)
from attsvm_lib.experiments.overparameterization import KINDS
from attsvm_lib.experiments.rates import off_span
from attsvm_lib.scenes.global_convergence import two_sequences

GLOBAL, LOCAL, NEITHER, UNDECIDED = range(4)


# equal scores


@pytest.mark.parametrize("attention", ["cross", "self"])
def test_scores_are_exactly_equal_but_for_the_optimal_token(attention):
    data, head = equal_score_problem(5, 4, 6, seed=3, attention=attention)
    gamma = np.sort(scores(data, head.v), axis=1)
    np.testing.assert_array_equal(gamma[:, 0], gamma[:, 2])
    gap = gamma[:, 3] - gamma[:, 0]
    assert ((gap >= 0.1) & (gap <= 0.4)).all()
    np.testing.assert_allclose(np.linalg.norm(data.X, axis=-1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(data.Z, axis=-1), 1, rtol=1e-12)
    assert (data.Z == data.X[:, 0]).all() == (attention == "self")


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_with_equal_scores_descent_is_the_positive_combination_of_the_lemma(scale):
    data, head = equal_score_problem(4, 5, 6, seed=1)
    W = scale * np.random.default_rng(0).standard_normal((6, 6))
    alpha = optimal_tokens(scores(data, head.v))
    rows = token_rows(data, alpha)
    i, t = rows.index.T
    s, gamma = attention_probabilities(data, W), scores(data, head.v)
    w = 1 / (1 + np.exp(data.Y * output(data, head, W))) / data.n
    c = w[i] * (gamma[i, alpha[i]] - gamma[i, t]) * s[i, alpha[i]] * s[i, t]
    assert (c > 0).all()
    np.testing.assert_allclose(-gradient(data, head, W), rows.combine(c), atol=1e-14)


def test_equal_score_runs_are_those_of_train():
    found = equal_scores(2, 3, 6, seeds=[0, 4], scale=2.0, steps=400, attention="self")
    data, head = equal_score_problem(2, 3, 6, seed=4, attention="self")
    start = 2.0 * random_start(6, rng=np.random.default_rng([4, 6]))
    run = train(data, head, start=start, step=0.1, steps=400, checkpoints=[400])
    alpha = optimal_tokens(scores(data, head.v))
    assert found.lost[1] == pytest.approx(1 - correlation(run.W[-1], att_svm(data, alpha).W), abs=1e-9)
    assert found.decided[1] == (run.selected_probability[-1].min() >= 0.99)
    assert found.reached[1] == (found.decided[1] and (run.selection[-1] == alpha).all())


def test_a_single_sequence_arrives_from_far_away():
    assert equal_scores(1, 5, 4, seeds=range(10), scale=10, steps=3000).reached.all()


def test_orthogonal_queries_leave_no_wrong_selection_that_is_locally_optimal():
    data, head = equal_score_problem(3, 3, 5, seed=2)
    data, gamma = TokenData(data.X, np.eye(5)[:3], data.Y), scores(data, head.v)
    for alpha in np.ndindex(3, 3, 3):
        optimal = (np.array(alpha) == gamma.argmax(1)).all()
        assert locally_optimal(att_svm(data, alpha), gamma) == optimal


@pytest.mark.parametrize("c", [1.5, 2.0, 3.0])
@pytest.mark.parametrize("rule", [{"step": 0.1}, {"step": 1.0, "normalized": False}])
def test_every_start_beyond_the_bound_of_the_proposition_is_trapped(c, rule):
    data, head = two_sequences(c)
    gamma = scores(data, head.v)
    np.testing.assert_allclose(gamma[:, 1] - gamma[:, 0], 1, rtol=1e-12)
    sigma = lambda a: 1 / (1 + np.exp(-a))  # noqa: E731
    ratio = 2 * np.e * (sigma(-1) / 2) / (sigma(-2) / 8)
    P = np.log(ratio * max(c, 1 / (c - 1))) / (c - 1)
    run = train(data, head, start=(P + 0.1) * np.outer([1, 0], [1, 0]), steps=3000, checkpoints=[0, 3000], **rule)
    np.testing.assert_array_equal(run.selection[-1], [1, 0])
    assert run.W[-1][1, 0] <= 1
    assert run.W[-1][0, 0] > run.W[0][0, 0]
    assert locally_optimal(att_svm(data, [1, 0]), gamma)


def test_the_smallest_case_is_the_one_worked_by_hand():
    for c in (0.0, 0.5, 2.0):
        data, _ = two_sequences(c)
        np.testing.assert_allclose(att_svm(data, [1, 1]).W, [[1, 0], [1 + c, 0]], atol=1e-12)
    assert (data.Z == data.X[:, 0]).all()
    batch, _ = two_sequences(np.array([0.5, 2.0]))
    np.testing.assert_array_equal(batch.X[1], data.X)


# the first gradient


def test_the_first_margin_is_the_least_margin_of_the_unit_gradient():
    data, head = path_problem(3, 4, 5, index=6)
    W = 0.1 * np.random.default_rng(1).standard_normal((5, 5))
    G = -gradient(data, head, W)
    rows = token_rows(data, optimal_tokens(scores(data, head.v)))
    assert first_margin(data, head, W) == pytest.approx(rows.margins(G / np.linalg.norm(G)).min(), rel=1e-10)


def test_first_gradient_runs_are_those_of_train():
    found = first_gradient(2, 3, 5, seeds=range(6), steps=300)
    assert found.holds.any()
    assert not found.holds.all()
    assert (found.short[~found.holds] == found.long[~found.holds]).all()
    k = int(np.flatnonzero(found.holds)[0])
    data, head = path_problem(2, 3, 5, index=k)
    G = -gradient(data, head, np.zeros((5, 5)))
    first = 3 / found.margin[k] * G / np.linalg.norm(G)
    rows = token_rows(data, optimal_tokens(scores(data, head.v)))
    assert rows.margins(first).min() == pytest.approx(3, rel=1e-10)
    run = train(data, head, start=first, step=0.1, steps=300, checkpoints=[300])
    assert (run.selection[-1] == rows_alpha(data, head)).all() == (found.long[k] == GLOBAL)


def rows_alpha(data, head):
    return optimal_tokens(scores(data, head.v))


def test_one_long_step_under_the_condition_makes_every_run_global():
    found = first_gradient(3, 4, 6, seeds=range(60), steps=1000)
    assert (found.long[found.holds] == GLOBAL).all()
    assert found.holds.sum() > 10


# outcomes


def test_each_kind_of_outcome_is_recognized():
    data, head = two_sequences(np.array([2.0, 2.0, 0.5, 2.0]))
    eye = np.eye(2)
    alpha = np.array([[1, 1], [1, 0], [1, 0], [1, 1]])
    probabilities = eye[alpha]
    probabilities[3, 0] = [0.02, 0.98]
    assert outcomes(data, head, probabilities).tolist() == [GLOBAL, LOCAL, NEITHER, UNDECIDED]
    clash = TokenData([[[[0, 0], [1, 0]], [[0, 0], [-1, 0]]]], [[[1, 0], [1, 0]]], [[1, 1]])
    assert outcomes(clash, LinearHead([[0.5, 1]]), eye[[[0, 0]]]).tolist() == [NEITHER]


def test_shares_are_those_of_the_runs_with_binomial_errors():
    found = overparameterization(4, n=3, T=4, seeds=range(12), steps=300, checkpoints=(100, 300))
    runs = local_convergence(3, 4, 4, seeds=range(12), steps=300, arithmetic="exact", checkpoints=(100, 300))
    best = scores(runs.data, runs.head.v).argmax(-1)
    decided = runs.run.selected_probability.min(-1) >= 0.99
    reached = decided & (runs.run.selection == best).all(-1)
    np.testing.assert_array_equal(found.kind == GLOBAL, reached.T)
    np.testing.assert_array_equal(found.kind == UNDECIDED, ~decided.T)
    shares = np.array([found.share(kind) for kind in KINDS])
    np.testing.assert_allclose(shares.sum(0), 1)
    p = found.share("global")
    np.testing.assert_allclose(found.error("global"), np.sqrt(p * (1 - p) / 12))
    assert found.feasible.shape == (12,)


def test_the_factored_model_is_judged_by_the_nuclear_solution():
    found = overparameterization(5, n=3, T=4, seeds=range(8), steps=400, parameterization="KQ")
    runs = local_convergence(
        3, 4, 5, seeds=range(8), steps=400, arithmetic="exact", checkpoints=(400,), parameterization="KQ"
    )
    wanted = outcomes(runs.data, runs.head, runs.run.probabilities[-1], norm="nuclear")
    np.testing.assert_array_equal(found.kind[:, 0], wanted)


def test_following_goes_on_where_the_runs_ended():
    found = follow(5, seeds=[1, 3], n=3, T=4, first=50, steps=40, step=1.0)
    runs = local_convergence(3, 4, 5, seeds=[1, 3], steps=50, arithmetic="exact", checkpoints=(50,))
    run = train(runs.data, runs.head, start=runs.run.W[-1], step=1.0, steps=40, checkpoints=[40])
    np.testing.assert_allclose(found.norm, run.norm[-1], rtol=1e-12)
    np.testing.assert_array_equal(found.kind, outcomes(runs.data, runs.head, run.probabilities[-1]))


# rates


@pytest.fixture(scope="module")
def normalized():
    return rates(3, 4, 6, seeds=range(4), steps=3000, step=1.0, checkpoints=(10, 300, 3000))


def test_a_rate_run_reports_the_run_and_its_prediction(normalized):
    data, head = path_problem(3, 4, 6, index=2)
    run = train(data, head, step=1.0, steps=3000, checkpoints=[10, 300, 3000])
    svm = att_svm(data, optimal_tokens(scores(data, head.v)))
    np.testing.assert_allclose(normalized.norm[2], run.norm, rtol=1e-9)
    np.testing.assert_allclose(normalized.lost[2], 1 - correlation(run.W, svm.W), atol=1e-9)
    np.testing.assert_allclose(normalized.log_excess[2], log_excess_loss(data, head, run.W), rtol=1e-9)
    assert normalized.size[2] == pytest.approx(svm.objective, rel=1e-12)
    squares = predicted_constant(data, head, svm) ** 2 + off_span(data, svm, run.W[-1]) ** 2
    assert normalized.constant[2] == pytest.approx(squares / 2, rel=1e-6)
    assert normalized.optimal[2] == (run.selection[-1] == svm.alpha).all()


def test_normalized_runs_follow_the_predicted_error(normalized):
    on = normalized.reached()
    assert len(on.optimal) >= 2
    np.testing.assert_allclose((on.lost * on.norm**2)[:, -1], on.constant, rtol=0.05)
    np.testing.assert_allclose(on.norm[:, -1], 3000, rtol=0.01)
    assert (np.diff(on.log_excess) < 0).all()


def test_the_norm_of_plain_runs_grows_like_the_logarithm():
    on = rates(2, 3, 6, seeds=range(4), steps=4000, step=10.0, normalized=False, checkpoints=(400, 4000)).reached()
    np.testing.assert_allclose(np.diff(on.norm)[:, 0] / np.log(10), on.size, rtol=0.1)


def test_the_part_off_the_span_is_orthogonal_to_the_support_rows():
    data, head = path_problem(3, 4, 6)
    svm = att_svm(data, optimal_tokens(scores(data, head.v)))
    assert off_span(data, svm, svm.W) < 1e-12
    rows = token_rows(data, svm.alpha)
    A = np.einsum("ka,kb->kab", rows.D, rows.Z)[svm.support].reshape(-1, 36)
    apart = np.linalg.svd(A)[2][-1]
    assert off_span(data, svm, (apart.reshape(6, 6) * 2 + svm.W)) == pytest.approx(2, rel=1e-9)


# the plane


def test_plane_runs_are_compared_each_with_its_own_solution():
    found = plane_paths(3, problems=2, steps=200)
    kept = []
    for index in range(found.tried):
        data, head = path_problem(2, 3, 2, index=index)
        alpha = optimal_tokens(scores(data, head.v))
        try:
            pair = [att_svm(data, alpha, norm=norm) for norm in ("frobenius", "nuclear")]
        except ValueError:
            continue
        if pair[0].objective <= 30:
            kept.append((data, head, *pair))
    assert len(kept) == 2
    data, head, frobenius, nuclear = kept[1]
    start = 0.3 * np.eye(2)
    W = train(data, head, start=0.09 * np.eye(2), step=0.1, steps=200, checkpoints=[200])
    KQ = train(data, head, parameterization="KQ", start=(start, start), step=0.1, steps=200, checkpoints=[200],
               normalization="joint")  # fmt: skip
    assert found.lost_W[1] == pytest.approx(1 - correlation(W.W[-1], frobenius.W), abs=1e-9)
    assert found.lost_KQ[1] == pytest.approx(1 - correlation(KQ.W[-1], nuclear.W), abs=1e-9)
    assert found.apart[1] == pytest.approx(1 - correlation(frobenius.W, nuclear.W), abs=1e-12)


# bad input


def test_a_tie_has_no_first_margin():
    flat = TokenData([[[1, 0], [0, 1]]], [[1, 0]], [1])
    with pytest.raises(TieError):
        first_margin(flat, LinearHead([1.0, 1.0]), np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: equal_score_problem(2, 1, 3), "T must be an integer of at least 2, got 1"),
        (lambda: equal_score_problem(2, 2, 1), "d must be an integer of at least 2, got 1"),
        (lambda: equal_score_problem(2, 2, 2, attention="causal"), "attention must be one of 'cross', 'self'"),
        (lambda: equal_scores(2, 2, 3, scale=-1), "scale must be a non-negative finite number, got -1"),
        (lambda: equal_scores(2, 2, 3, steps=0), "steps must be an integer of at least 1, got 0"),
        (lambda: first_gradient(2, 2, 3, seeds=[]), "seeds must"),
        (lambda: first_gradient(2, 2, 3, attention="both"), "attention must be one of 'cross', 'self'"),
        (lambda: rates(steps=5, step=1.0, checkpoints=(0, 5)), "checkpoints must be an integer of at least 1, got 0"),
        (lambda: plane_paths(1), "T must be an integer of at least 2, got 1"),
        (lambda: plane_paths(3, problems=0), "problems must be an integer of at least 1, got 0"),
        (lambda: first_margin("data", LinearHead([1.0]), [[0.0]]), "data must be a TokenData, got str"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_probabilities_must_fit_the_data():
    rng = np.random.default_rng(0)
    data = random_data(2, 3, 4, rng=rng, batch=(2,))
    with pytest.raises(ValueError, match=r"probabilities must have shape \(2, 2, 3\), got \(2, 3\)"):
        outcomes(data, LinearHead(random_direction(4, rng=rng, batch=(2,))), np.ones((2, 3)))
