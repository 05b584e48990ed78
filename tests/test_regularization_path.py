"""The regularization path is optimal, turns to the max-margin direction, and does so at the predicted rate."""

from pathlib import Path

import numpy as np
import pytest

from attsvm_lib.attention import loss
from attsvm_lib.data import TokenData, random_data, random_direction
from attsvm_lib.excess import infimum_loss, log_excess_gradient
from attsvm_lib.heads import LinearHead
from attsvm_lib.regularization import predicted_constant, regularization_path
from attsvm_lib.selection import TieError, optimal_tokens, scores
from attsvm_lib.svm import InfeasibleError, att_svm

REFERENCE = Path(__file__).parent / "reference" / "svm"


def reference(seed=0):
    arrays = np.load(REFERENCE / f"local_n6T8d10_seed{seed}.npz")
    return arrays, TokenData(arrays["X"], arrays["Z"], arrays["Y"]), LinearHead(arrays["v"])


def problem(seed, n=3, T=4, d=5, **options):
    rng = np.random.default_rng(seed)
    return random_data(n, T, d, rng=rng, **options), LinearHead(random_direction(d, rng=rng))


@pytest.fixture(scope="module")
def path_W():
    _, data, head = reference()
    return regularization_path(data, head, [10, 1e2, 1e3, 1e4, 1e5], rng=np.random.default_rng(0), starts=2)


@pytest.fixture(scope="module")
def path_KQ():
    _, data, head = reference()
    return regularization_path(
        data, head, [10, 1e2, 1e3, 1e4, 1e5], parameterization="KQ", rng=np.random.default_rng(0), starts=0
    )


# one constraint: everything is known


def test_one_sequence_of_two_tokens_lies_on_its_svm_direction_at_every_radius():
    data = TokenData([[[1.0, 0.0], [0.0, 0.5]]], [[0.6, -0.8]], [1.0])
    head = LinearHead([1.0, 0.0])
    for parameterization in ("W", "KQ"):
        path = regularization_path(
            data, head, [0.1, 1, 100], rng=np.random.default_rng(0), parameterization=parameterization, starts=2
        )
        np.testing.assert_allclose(path.distance, 0, atol=1e-7)
        assert predicted_constant(data, head, path.solution) == pytest.approx(0, abs=1e-12)


# the reference problem


def test_path_of_W_has_the_reference_distances(path_W):
    np.testing.assert_allclose(path_W.distance, [0.599, 0.0511, 6.95e-3, 5.75e-4, 5.70e-5], rtol=1e-3)
    assert path_W.log_excess[-1] == pytest.approx(-34396.33, abs=0.01)
    assert (path_W.residual < 1e-6).all()


def test_path_reaches_its_limit_at_the_predicted_rate(path_W, path_KQ):
    _, data, head = reference()
    constant = predicted_constant(data, head, path_W.solution)
    assert constant == pytest.approx(5.7073, abs=5e-5)
    assert path_W.radii[-1] * path_W.distance[-1] == pytest.approx(constant, rel=2e-3)
    constant = predicted_constant(data, head, path_KQ.solution)
    assert path_KQ.radii[-1] * path_KQ.distance[-1] == pytest.approx(constant, rel=2e-3)


def test_factored_path_goes_to_the_nuclear_and_not_to_the_frobenius_direction(path_W, path_KQ):
    arrays, _, _ = reference()
    np.testing.assert_array_equal(path_KQ.solution.alpha, arrays["alpha_KQ"])
    nuclear, frobenius = arrays["Wnuc_KQ"], arrays["Wfro_KQ"]
    limit = nuclear / np.linalg.norm(nuclear, "nuc")
    np.testing.assert_allclose(path_KQ.W[-1] / 1e5, limit, atol=1e-4)
    assert path_KQ.correlation[-1] > 1 - 1e-7
    apart = frobenius / np.linalg.norm(frobenius) - nuclear / np.linalg.norm(nuclear)
    assert np.linalg.norm(apart) > 0.5
    assert (np.diff(path_KQ.distance) < 0).all()


def test_weights_lie_on_the_sphere(path_W, path_KQ):
    np.testing.assert_allclose(np.linalg.norm(path_W.W, axis=(1, 2)), path_W.radii, rtol=1e-13)
    np.testing.assert_allclose((path_KQ.K**2 + path_KQ.Q**2).sum((1, 2)), 2 * path_KQ.radii, rtol=1e-13)
    np.testing.assert_allclose(path_KQ.W, path_KQ.K @ path_KQ.Q.swapaxes(1, 2), rtol=0, atol=1e-9)
    assert (np.linalg.norm(path_KQ.W, "nuc", axis=(1, 2)) <= path_KQ.radii * (1 + 1e-12)).all()


def test_risk_falls_with_the_radius_and_each_end_is_no_better_than_the_best(path_W):
    assert (np.diff(path_W.log_excess) < 0).all()
    assert path_W.ends.shape == (5, 4)
    np.testing.assert_array_equal(path_W.ends.min(1), path_W.log_excess)
    # at R = 10 a random start ends below the start at the SVM direction: the problem is not convex
    assert path_W.ends[0, 0] > path_W.log_excess[0] + 0.01


# optimality, by another road


def test_no_point_of_the_sphere_nearby_or_at_random_is_better():
    data, head = problem(1)
    rng = np.random.default_rng(0)
    path = regularization_path(data, head, [0.5, 3.0, 8.0], rng=rng)
    for R, W, best in zip(path.radii, path.W, path.log_excess):
        for spread in (1e-3, 1e-1, 1e2):
            V = W + spread * rng.standard_normal((300, 5, 5))
            V *= R / np.linalg.norm(V, axis=(1, 2), keepdims=True)
            assert np.log(loss(data, head, V) - infimum_loss(data, head)).min() >= best - 1e-12


@pytest.mark.parametrize("attention", ["cross", "self"])
@pytest.mark.parametrize("parameterization", ["W", "KQ"])
@pytest.mark.parametrize("seed", [2, 3])
def test_rate_is_predicted_on_unseen_data(attention, parameterization, seed):
    data, head = problem(seed, attention=attention)
    path = regularization_path(
        data, head, [1e5], rng=np.random.default_rng(0), parameterization=parameterization, starts=0
    )
    constant = predicted_constant(data, head, path.solution)
    assert 1e5 * path.distance[0] == pytest.approx(constant, rel=0.02)


def test_width_below_the_rank_of_the_nuclear_solution_cannot_reach_it():
    _, data, head = reference()
    rank = 2
    for width, reached in ((rank - 1, False), (rank, True), (2 * rank, True)):
        path = regularization_path(
            data, head, [1e4], rng=np.random.default_rng(0), parameterization="KQ", width=width, starts=1
        )
        assert path.solution.rank == rank
        assert path.K.shape == (1, 10, width)
        assert (path.distance[0] < 2e-3) == reached


def test_scale_of_tokens_moves_the_radius_only():
    data, head = problem(4)
    path = regularization_path(data, head, [50.0], rng=np.random.default_rng(0), starts=0)
    for c in (1e-6, 1e6):
        scaled = TokenData(c * data.X, data.Z, data.Y)
        other = regularization_path(scaled, LinearHead(head.v / c), [50.0 / c], rng=np.random.default_rng(0), starts=0)
        np.testing.assert_allclose(c * other.W, path.W, atol=1e-5)


@pytest.mark.parametrize("parameterization", ["W", "KQ"])
@pytest.mark.parametrize("seed", [6, 7, 8])
def test_every_radius_of_the_range_is_optimized(parameterization, seed):
    data, head = problem(seed)
    rng, options = np.random.default_rng(0), {"parameterization": parameterization, "starts": 1}
    norm = regularization_path(data, head, [1.0], rng=rng, **options).solution.objective
    path = regularization_path(data, head, norm * np.array([1.1e-8, 1e-4, 1.0, 1e4, 0.9e8]), rng=rng, **options)
    assert (path.residual < [1e-6, 1e-6, 1e-6, 1e-6, 1e-5]).all()


@pytest.mark.parametrize("c", [1e-140, 1e140])
def test_path_of_tokens_of_an_extreme_size(c):
    data, head = problem(4)
    path = regularization_path(data, head, [50.0], rng=np.random.default_rng(0), starts=0)
    scaled = TokenData(c * data.X, data.Z, data.Y)
    other = regularization_path(scaled, LinearHead(head.v / c), [50.0 / c], rng=np.random.default_rng(0), starts=0)
    np.testing.assert_allclose(c * other.W, path.W, atol=1e-5)
    # radii in the units of other tokens are refused for what they are
    with pytest.raises(ValueError, match=r"radii must lie within 1e-8 and 1e8 times \|\|W_mm\|\|"):
        regularization_path(scaled, LinearHead(head.v / c), [1.0], rng=np.random.default_rng(0))


# bad input


def test_ties_and_infeasible_optima_are_reported():
    data, head = problem(5)
    X = data.X.copy()
    X[1, 2] = X[1, 3] = X[1, 0] + 3 * head.v * data.Y[1]
    with pytest.raises(TieError, match="sequence 1"):
        regularization_path(TokenData(X, data.Z, data.Y), head, [1.0], rng=np.random.default_rng(0))
    Z = data.Z.copy()
    Z[0] = 0
    with pytest.raises(InfeasibleError, match="query of sequence 0 is zero"):
        regularization_path(TokenData(data.X, Z, data.Y), head, [1.0], rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radii": [0.0, 1.0]}, "radii must be positive and increasing, got"),
        ({"radii": [2.0, 1.0]}, "radii must be positive and increasing, got"),
        ({"radii": [[1.0]]}, r"radii must have shape \(r,\)"),
        ({"parameterization": "K"}, "parameterization must be one of"),
        ({"rng": 0}, "rng must be a numpy.random.Generator"),
        ({"starts": -1}, "starts must be an integer of at least 0"),
        ({"width": 0, "parameterization": "KQ"}, "width must be an integer of at least 1"),
        ({"width": 2}, "width must be left out for parameterization 'W', which has no factors, got 2"),
        ({"radii": [1e-150]}, r"radii must lie within 1e-8 and 1e8 times .*, got 1e-150 to 1e-150"),
        ({"radii": [1.0, 1e150]}, r"radii must lie within 1e-8 and 1e8 times .*, got 1 to 1e\+150"),
        ({"radii": [1e150], "parameterization": "KQ"}, r"radii must lie within 1e-8 and 1e8 times"),
    ],
)
def test_bad_input_names_the_argument(options, message):
    data, head = problem(6)
    options = {"radii": [1.0], "rng": np.random.default_rng(0), **options}
    with pytest.raises(ValueError, match=message):
        regularization_path(data, head, options.pop("radii"), **options)


def test_other_bad_input_names_the_argument():
    rng = np.random.default_rng(0)
    data, head = problem(7, batch=(2,))
    with pytest.raises(ValueError, match=r"data must be one data set without batch axes, got batch shape \(2,\)"):
        regularization_path(data, head, [1.0], rng=rng)
    data, head = problem(7, T=1)
    with pytest.raises(ValueError, match="data must have at least two tokens per sequence"):
        regularization_path(data, head, [1.0], rng=rng)
    data, head = problem(7)
    alpha = optimal_tokens(scores(data, head.v))
    with pytest.raises(ValueError, match="solution must be att_svm of the optimal tokens"):
        predicted_constant(data, head, att_svm(data, (alpha + 1) % data.T))


def test_a_solution_of_other_data_or_of_another_kind_is_refused():
    data, head = problem(8)
    alpha = optimal_tokens(scores(data, head.v))
    solution = att_svm(data, alpha)
    assert predicted_constant(data, head, solution) > 0
    for wrong, given in ((None, "NoneType"), (solution.W, "ndarray"), (type(solution), "Solution")):
        with pytest.raises(ValueError, match=f"solution must be a Solution, as att_svm returns it, got {given}"):
            predicted_constant(data, head, wrong)
    # other queries, other units, another dimension: same optimal tokens, not the same solution
    turned = TokenData(data.X, data.Z[:, ::-1], data.Y)
    doubled = TokenData(2 * data.X, data.Z, data.Y)
    wider = TokenData(*(np.concatenate([a, np.ones_like(a[..., :1])], -1) for a in (data.X, data.Z)), data.Y)
    for other, h in ((turned, head), (doubled, head), (wider, LinearHead([*head.v, 0.0]))):
        assert (optimal_tokens(scores(other, h.v)) == alpha).all()
        with pytest.raises(ValueError, match="solution must be att_svm of the optimal tokens of these data"):
            predicted_constant(other, h, solution)
    data, head = problem(8, T=1)
    with pytest.raises(ValueError, match="data must have at least two tokens per sequence"):
        predicted_constant(data, head, solution)


def test_wrong_kinds_of_data_and_head_are_named():
    data, head = problem(9)
    for call in (
        lambda data, head: regularization_path(data, head, [1.0], rng=np.random.default_rng(0)),
        lambda data, head: predicted_constant(data, head, None),
        infimum_loss,
    ):
        with pytest.raises(ValueError, match="data must be a TokenData, got ndarray"):
            call(data.X, head)
    with pytest.raises(ValueError, match=r"head must be a head, such as LinearHead\(v\), got ndarray"):
        regularization_path(data, head.v, [1.0], rng=np.random.default_rng(0))


def test_the_gradient_of_the_excess_blames_an_overflow_and_not_the_data():
    data, head = problem(9)
    with pytest.raises(FloatingPointError, match="the attention scores .* overflow"):
        log_excess_gradient(data, head, 1e308 * np.ones((5, 5)))
    with pytest.raises(FloatingPointError, match=r"the scores v\^T x overflow"):
        log_excess_gradient(TokenData(1e200 * data.X, data.Z, data.Y), LinearHead(1e200 * head.v), np.zeros((5, 5)))
