"""The Gen-SVM experiments: what they count and measure is what the library gives, seed by seed."""

import numpy as np
import pytest

from attsvm_lib import TokenData, att_svm, correlation, gen_svm, optimal_attention, train
from attsvm_lib.experiments import (
    multi_token,
    multi_token_convergence,
    multi_token_problem,
    orthonormal_problem,
    quadratic_convergence,
)
from attsvm_lib.svm.generalized import equality_projection, finite_part


@pytest.fixture(scope="module")
def found():
    return multi_token_convergence(4, accepted=12, seeds=range(7, 400))


def end_of_run(seed, d=4):
    data, head, W0 = multi_token_problem(d, seed)
    run = train(data, head, start=W0, steps=2000, arithmetic="paper", checkpoints=[2000])
    return data, run.W[0], run.probabilities[0]


def test_problems_follow_the_law_of_the_paper():
    problems = [multi_token_problem(6, seed) for seed in range(50)]
    for data, head, W0 in problems:
        assert data.Y.min() == -1
        np.testing.assert_allclose(np.linalg.norm(data.X, axis=-1), 1)
        assert np.linalg.norm(head.V) == pytest.approx(1)
        assert head.V.shape == W0.shape == (6, 6)
        assert np.abs(W0).max() <= 6**-0.5
    again, _, _ = multi_token_problem(6, 3)
    np.testing.assert_array_equal(again.X, problems[3][0].X)
    own, _, _ = multi_token_problem(6, 3, attention="self")
    np.testing.assert_array_equal(own.Z, own.X[:, 0])
    # each of the 7 patterns of labels other than all +1 is equally likely
    assert np.mean([data.Y.mean() for data, _, _ in problems]) == pytest.approx(-1 / 7, abs=0.25)


def test_every_data_set_tried_is_counted_once(found):
    assert len(found.seeds) == 12
    assert found.tried == found.seeds[-1] - 7 + 1
    assert found.tried == 12 + found.middle_band + found.finite + found.infeasible
    assert found.acceptance == 12 / found.tried
    assert (found.kept >= 1).all()


def test_accepted_data_sets_are_measured_by_the_library(found):
    for k in (0, 5):
        data, W, s = end_of_run(found.seeds[k])
        assert not ((s > 1e-6) & (s <= 1e-3)).any()
        np.testing.assert_array_equal((s > 1e-3).sum(-1), found.kept[k])
        W_mm = gen_svm(data, s > 1e-3).W
        R = np.vdot(W, W_mm) / np.vdot(W_mm, W_mm)
        W_svmeq = equality_projection(data, s > 1e-3, W) + R * W_mm
        one = att_svm(data, s.argmax(-1)).W
        lost = [1 - correlation(W, M) for M in (W_svmeq, W_mm, one)]
        np.testing.assert_allclose(lost, [x[k] for x in found[:3]], rtol=0.02, atol=1e-6)
        assert found.masked[k] == pytest.approx(s[s <= 1e-6].max(), rel=0.2, abs=1e-15)
        # the projection spans W_mm and more, so it is never farther from W
        assert lost[0] <= lost[1] + 1e-12


def test_rejected_data_sets_have_not_separated(found):
    rejected = [seed for seed in range(7, found.seeds[2]) if seed not in found.seeds][:5]
    for seed in rejected:
        _, _, s = end_of_run(seed)
        middle, finite = ((s > 1e-6) & (s <= 1e-3)).any(), (s > 1e-6).all()
        assert middle or finite


def test_blocks_do_not_change_the_result(found, monkeypatch):
    monkeypatch.setattr(multi_token, "BLOCK", 17)
    again = multi_token_convergence(4, accepted=12, seeds=range(7, 400))
    np.testing.assert_array_equal(again.seeds, found.seeds)
    for one, other in zip(again[:5], found[:5]):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)
    assert again[6:] == found[6:]


def test_running_out_of_seeds_is_an_error():
    with pytest.raises(ArithmeticError, match="only 0 of 3 data sets are accepted, 10 are wanted"):
        multi_token_convergence(4, accepted=10, seeds=range(3), steps=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"accepted": 0}, "accepted must be an integer of at least 1, got 0"),
        ({"seeds": []}, "seeds must hold at least one seed"),
        ({"T": 1}, "T must be an integer of at least 2, got 1"),
        ({"steps": 0}, "steps must be an integer of at least 1, got 0"),
        ({"attention": "both"}, "attention must be one of 'cross', 'self', got 'both'"),
        ({"arithmetic": "float32"}, "arithmetic must be one of 'paper', 'exact', got 'float32'"),
    ],
)
def test_bad_arguments_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        multi_token_convergence(4, **options)


# quadratic head


@pytest.mark.parametrize("attention", ["cross", "self"])
def test_orthonormal_problems(attention):
    data, head, W0 = orthonormal_problem(0.3, 5, attention=attention)
    np.testing.assert_allclose(data.X @ data.X.swapaxes(-1, -2), np.broadcast_to(np.eye(4), (3, 4, 4)), atol=1e-14)
    assert (data.Y[0], data.Y[-1]) == (1, -1)
    assert float(head.lam) == 0.3
    other, _, start = orthonormal_problem(0.7, 5, attention=attention)
    np.testing.assert_array_equal(data.X, other.X)
    np.testing.assert_array_equal(W0, start)
    assert (attention == "self") == np.array_equal(data.Z, data.X[:, 0])


def test_descent_keeps_what_the_closed_form_says_and_goes_where_it_predicts():
    lam, seeds = 0.2, range(10, 22)
    found = quadratic_convergence(lam, seeds=seeds)
    assert found.matched.mean() > 0.6
    assert len(found.lost_mm) == found.matched.sum()
    assert not found.wrong[found.matched].any()
    k = int(np.flatnonzero(found.matched)[1])
    data, head, W0 = orthonormal_problem(lam, seeds[k])
    run = train(data, head, start=W0, steps=2000, checkpoints=[2000])
    best, W = optimal_attention(data, head), run.W[0]
    np.testing.assert_array_equal(run.probabilities[0] > 1e-3, best > 0)
    assert found.best[k] == (best[data.Y > 0] > 0).sum(-1).mean() == found.kept[k]
    W_mm = gen_svm(data, best > 0).W
    R = np.vdot(W, W_mm) / np.vdot(W_mm, W_mm)
    predicted = finite_part(data, best > 0, best) + R * W_mm
    one = att_svm(data, run.probabilities[0].argmax(-1)).W
    lost = [1 - correlation(W, M) for M in (predicted, W_mm, one)]
    np.testing.assert_allclose(lost, [x[1] for x in found[3:]], rtol=0.02, atol=1e-6)


def test_wrong_sets_are_counted_by_label():
    found = quadratic_convergence(0.2, seeds=[3, 4, 5])
    assert found.wrong.tolist() == [[True, False], [False, True], [False, False]]
    for seed, label in ((3, 1), (4, -1)):
        data, head, W0 = orthonormal_problem(0.2, seed)
        run = train(data, head, start=W0, steps=2000, checkpoints=[2000])
        odd = ((run.probabilities[0] > 1e-3) != (optimal_attention(data, head) > 0)).any(-1)
        assert set(data.Y[odd]) == {label}


def test_the_finite_part_of_the_best_attention_is_where_the_risk_is_stationary_on_its_face():
    # far along W_mm the risk is that of the selected tokens alone, and its gradient vanishes at W_fin
    from attsvm_lib.attention import gradient

    data, head, _ = orthonormal_problem(0.2, 3)
    best = optimal_attention(data, head)
    kept = TokenData(data.X, data.Z, data.Y, best > 0)
    W = finite_part(data, best > 0, best)
    np.testing.assert_allclose(gradient(kept, head, W), 0, atol=1e-12)
    far = W + 60 * gen_svm(data, best > 0).W
    np.testing.assert_allclose(gradient(data, head, far), 0, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: quadratic_convergence(0.0), "lam must be a positive finite number, got 0.0"),
        (lambda: quadratic_convergence(0.1, n=1), "n must be an integer of at least 2, got 1"),
        (lambda: orthonormal_problem(0.1, 0, T=9), "T must be at most d = 8, since tokens are orthonormal, got 9"),
        (lambda: orthonormal_problem(-0.1, 0), "lam must be at least 0, got -0.1"),
        (lambda: orthonormal_problem(0.1, 0, attention="none"), "attention must be one of"),
    ],
)
def test_bad_quadratic_arguments_are_refused_by_name(make, message):
    with pytest.raises(ValueError, match=message):
        make()
