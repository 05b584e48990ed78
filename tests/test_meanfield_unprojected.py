"""Tokens off the sphere: the rescaled dynamics, leaders, rank of the attention matrix."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from attsvm_lib.meanfield import attention_rank, leaders, simulate_unprojected


def attention(x, Q, K):
    scores = (x @ Q.T) @ (x @ K.T).T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True)


def test_it_solves_the_equation_as_the_paper_writes_it():
    rng = np.random.default_rng(0)
    x0, V, Q, K = rng.normal(size=(7, 3)), *(0.5 * rng.normal(size=(3, 3, 3)))
    times = np.array([0.0, 0.3, 1.0, 1.5])
    run = simulate_unprojected(x0, times, V=V, Q=Q, K=K)

    def slope(_, flat):
        x = flat.reshape(7, 3)
        return (attention(x, Q, K) @ x @ V.T).ravel()

    solved = solve_ivp(slope, (0, 1.5), x0.ravel(), t_eval=times, rtol=1e-10, atol=1e-12).y.T.reshape(4, 7, 3)
    np.testing.assert_allclose(run.z @ run.growth.swapaxes(-1, -2), solved, rtol=0, atol=1e-6)
    np.testing.assert_allclose(run.growth, [expm(t * V) for t in times], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(run.attention[2], attention(solved[2], Q, K), rtol=0, atol=1e-6)


def test_fourth_order_not_first():
    x0 = np.random.default_rng(1).normal(size=(8, 2))
    ends = [simulate_unprojected(x0, [1.0], step=h).z[0] for h in (0.1, 0.05, 0.00625)]
    coarse, fine = (np.abs(end - ends[2]).max() for end in ends[:2])
    assert 3.4 < np.log2(coarse / fine) < 4.8


def test_two_tokens_on_a_line_in_closed_form():
    # V = 0 leaves tokens; V = 1 with Q = 0 averages: both go to the mean of z at rate 1
    x0 = np.array([[1.0], [3.0]])
    still = simulate_unprojected(x0, [0.0, 5.0], V=np.zeros((1, 1)))
    np.testing.assert_array_equal(still.z[1], x0)
    averaged = simulate_unprojected(x0, [2.0], Q=np.zeros((1, 1)), K=np.eye(1))
    np.testing.assert_allclose(averaged.z[0, :, 0], 2 + np.array([-1, 1]) * np.exp(-2), rtol=1e-8)
    np.testing.assert_allclose(averaged.attention[0], 0.5)


@pytest.mark.parametrize("n", [20, 40])
def test_rank_leaders_and_clusters_agree_in_the_plane(n):
    x0 = np.random.default_rng(n).normal(size=(6, n, 2))
    run = simulate_unprojected(x0, [14.0])
    P, z = run.attention[0], run.z[0]
    count = leaders(P).sum(-1)
    assert np.array_equal(attention_rank(P), count)
    assert (P.max(-1) > 1 - 1e-3).all()
    assert ((2 <= count) & (count <= 6)).all()
    for places, lead in zip(z, leaders(P)):
        away = np.linalg.norm(places[:, None] - places[lead], axis=-1).min(1)
        assert away.max() < 1e-2


def test_on_a_line_the_extreme_tokens_lead():
    x0 = np.random.default_rng(5).normal(size=(40, 1))
    run = simulate_unprojected(x0, [15.0])
    assert set(np.flatnonzero(leaders(run.attention[0]))) == {int(x0.argmin()), int(x0.argmax())}
    assert attention_rank(run.attention[0]) == 2


def test_permutation_rotation_and_batches():
    rng = np.random.default_rng(6)
    x0, order = rng.normal(size=(2, 9, 3)), rng.permutation(9)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    run = simulate_unprojected(x0, [1.0])
    moved = simulate_unprojected(x0[1, order] @ rotation, [1.0])
    np.testing.assert_allclose(moved.z[0], run.z[0, 1, order] @ rotation, rtol=0, atol=1e-12)
    assert run.attention.shape == (1, 2, 9, 9)
    np.testing.assert_allclose(run.attention.sum(-1), 1, rtol=1e-14)


def test_leaders_and_rank_by_hand():
    P = np.array([[1.0, 0, 0], [1.0, 0, 0], [0.3, 0, 0.7]])
    assert leaders(P).tolist() == [True, False, False]
    assert leaders(P, tol=0.4).tolist() == [True, False, True]
    assert attention_rank(P) == 2
    assert attention_rank(np.full((2, 4, 4), 0.25)).tolist() == [1, 1]


def test_growth_beyond_double_precision_is_named():
    with pytest.raises(FloatingPointError, match="attention scores .* overflow"):
        simulate_unprojected(np.eye(2), [400.0], step=0.5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulate_unprojected(np.ones(3), [1]), r"x0 must have shape \(..., n, d\)"),
        (lambda: simulate_unprojected(np.eye(2), [1], V=np.eye(3)), "V must have shape"),
        (lambda: simulate_unprojected(np.eye(2), [1], Q=np.eye(2), K=np.ones((1, 2))), "Q and K must have equally"),
        (lambda: simulate_unprojected(np.eye(2), [-1]), "times must be at least 0"),
        (lambda: simulate_unprojected(np.eye(2), [1], step=-1), "step must be a positive"),
        (lambda: leaders(np.ones((2, 3))), r"attention must have shape \(..., n, n\), got \(2, 3\)"),
        (lambda: leaders(np.ones((2, 2))), "rows that sum to 1"),
        (lambda: attention_rank(np.eye(2), tol=0.5), "tol must be below 1/2"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
