"""Training does what its formula says, agrees with the reference runs, and says when a gradient vanishes."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attsvm_lib.attention import LinearHead, gradient, gradient_kq, loss
from attsvm_lib.data import TokenData, random_data, random_direction
from attsvm_lib.selection import correlation
from attsvm_lib.training import random_start, train

REFERENCE = Path(__file__).parent / "reference" / "svm"
EPS = np.finfo(float).eps


def problem(seed, n=4, T=5, d=3, batch=()):
    rng = np.random.default_rng(seed)
    data = random_data(n, T, d, rng=rng, batch=batch)
    head = LinearHead(random_direction(d, rng=rng, batch=batch))
    return data, head, random_start(d, rng=rng, batch=batch), random_start(d, 2, rng=rng, batch=batch)


def reference(seed):
    arrays = np.load(REFERENCE / f"local_n6T8d10_seed{seed}.npz")
    return arrays, TokenData(arrays["X"], arrays["Z"], arrays["Y"]), LinearHead(arrays["v"])


# one step by hand


@pytest.mark.parametrize("arithmetic", ["exact", "paper"])
def test_one_step_for_W_is_the_formula(arithmetic):
    data, head, W, _ = problem(0)
    G = gradient(data, head, W)
    plain = train(data, head, start=W, steps=1, step=0.3, normalized=False, arithmetic=arithmetic)
    unit = train(data, head, start=W, steps=1, step=0.3, arithmetic=arithmetic)
    decayed = train(data, head, start=W, steps=1, step=0.3, normalized=False, weight_decay=0.02, arithmetic=arithmetic)
    np.testing.assert_allclose(plain.W[-1], W - 0.3 * G, atol=1e-15)
    np.testing.assert_allclose(unit.W[-1], W - 0.3 * G / np.linalg.norm(G), atol=1e-13)
    np.testing.assert_allclose(decayed.W[-1], W - 0.3 * (G + 0.04 * W), atol=1e-15)


@pytest.mark.parametrize("arithmetic", ["exact", "paper"])
def test_one_step_for_K_and_Q_is_the_formula(arithmetic):
    data, head, _, (K, Q) = problem(1)
    GK, GQ = gradient_kq(data, head, K, Q)
    nK, nQ = np.linalg.norm(GK), np.linalg.norm(GQ)

    def one_step(**options):
        run = train(
            data, head, parameterization="KQ", start=(K, Q), steps=1, step=0.3, arithmetic=arithmetic, **options
        )
        return run.K[-1], run.Q[-1]

    for (newK, newQ), (cK, cQ) in (
        (one_step(normalized=False), (1, 1)),
        (one_step(), (1 / nK, 1 / nQ)),
        (one_step(normalization="joint"), (1 / np.hypot(nK, nQ),) * 2),
    ):
        np.testing.assert_allclose(newK, K - 0.3 * cK * GK, atol=1e-13)
        np.testing.assert_allclose(newQ, Q - 0.3 * cQ * GQ, atol=1e-13)
    newK, newQ = one_step(normalized=False, weight_decay=0.02)
    np.testing.assert_allclose(newK, K - 0.3 * (GK + 0.04 * K), atol=1e-15)
    np.testing.assert_allclose(newQ, Q - 0.3 * (GQ + 0.04 * Q), atol=1e-15)


# reference runs: the papers' arithmetic in another language, and the exact gradient


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_papers_arithmetic_reproduces_the_reference_for_W(seed):
    arrays, data, head = reference(seed)
    run = train(data, head, start=arrays["W0"], steps=500, arithmetic="paper", checkpoints=[50, 100, 200, 500])
    for k, W in zip(run.steps, run.W):
        expected = arrays[f"W_torch_it{k}"]
        assert np.linalg.norm(W - expected) <= 1e-9 * np.linalg.norm(expected)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_papers_arithmetic_reproduces_the_reference_for_K_and_Q(seed):
    arrays, data, head = reference(seed)
    run = train(
        data,
        head,
        parameterization="KQ",
        start=(arrays["K0"], arrays["Q0"]),
        steps=2000,
        arithmetic="paper",
        checkpoints=[50, 100, 500, 1000, 2000],
    )
    for k, W in zip(run.steps[:2], run.W):
        expected = arrays[f"KQ_torch_it{k}"]
        assert np.linalg.norm(W - expected) <= 1e-8 * np.linalg.norm(expected)
    # later the two differ by rounding, but go the same way and to the same length, which weight decay sets
    np.testing.assert_allclose(correlation(run.W[1:], arrays["Wnuc_KQ"]), arrays["corr_nuc_KQ"], rtol=0, atol=1e-3)
    assert run.norm[-1] == pytest.approx(np.linalg.norm(arrays["KQ_torch_it2000"]), rel=5e-3)
    np.testing.assert_array_equal(run.selection[-1], arrays["alpha_KQ"])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_exact_arithmetic_reproduces_the_reference(seed):
    arrays, data, head = reference(seed)
    run = train(data, head, start=arrays["W0"], steps=2000, checkpoints=[100, 500, 2000])
    for k, W in zip(run.steps, run.W):
        np.testing.assert_allclose(W, arrays[f"W_stable_it{k}"], rtol=0, atol=1e-9)
    assert run.status == "finished"
    if seed == 0:
        assert correlation(run.W[-1], arrays["Wfro_W"]) == pytest.approx(arrays["corr_fro_W_stable"][2], abs=1e-8)


# invariants


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_normalized_steps_have_the_asked_length_and_lower_the_risk(seed):
    data, head, W, _ = problem(seed)
    run = train(data, head, start=W, steps=60, step=0.1, checkpoints=range(61))
    np.testing.assert_allclose(np.linalg.norm(np.diff(run.W, axis=0), axis=(1, 2)), 0.1, rtol=1e-10)
    assert (np.diff(run.loss) <= 1e-12).all()


@given(seed=st.integers(0, 10**6), exponent=st.integers(-6, 9))
@settings(max_examples=15, deadline=None)
def test_training_does_not_depend_on_units(seed, exponent):
    # tokens times c, head and W divided by c: steps divided by c give the same path
    data, head, W, _ = problem(seed)
    c = 10.0**exponent
    run = train(data, head, start=W, steps=20)
    scaled = train(TokenData(c * data.X, data.Z, data.Y), LinearHead(head.v / c), start=W / c, steps=20, step=0.1 / c)
    np.testing.assert_allclose(c * scaled.W, run.W, rtol=1e-9, atol=1e-11)


def test_joint_normalization_keeps_the_factors_balanced():
    data, head, _, (K, _) = problem(2)
    start = (K, K.copy())

    def imbalance(normalization):
        run = train(data, head, parameterization="KQ", start=start, steps=1000, step=0.02, normalization=normalization)
        K, Q = run.K[-1], run.Q[-1]
        return np.linalg.norm(K.T @ K - Q.T @ Q) / np.linalg.norm(K.T @ K)

    assert imbalance("joint") < 0.02
    assert imbalance("separate") > 5 * imbalance("joint")


def test_exact_arithmetic_goes_on_where_the_papers_freezes():
    arrays, data, head = reference(0)
    exact = train(data, head, start=arrays["W0"], steps=3000, checkpoints=[2000, 3000])
    paper = train(data, head, start=arrays["W0"], steps=3000, arithmetic="paper", checkpoints=[2000, 3000])
    assert exact.norm[1] - exact.norm[0] > 99
    assert paper.norm[1] - paper.norm[0] < 30


def test_weight_decay_bounds_the_weights():
    data, head, W, start = problem(3)
    for options in ({"start": W}, {"start": start, "parameterization": "KQ"}):
        run = train(
            data, head, steps=1500, step=2.0, normalized=False, weight_decay=0.01, checkpoints=[1000, 1500], **options
        )
        assert run.norm[1] == pytest.approx(run.norm[0], rel=1e-4)
        risk = run.loss + 0.01 * (run.norm**2 if run.K is None else (run.K**2 + run.Q**2).sum((-2, -1)))
        assert risk[1] <= loss(data, head, np.zeros((3, 3))) + 1e-12


# records


def test_checkpoints_hold_the_value_after_that_many_steps():
    data, head, W, _ = problem(4)
    whole = train(data, head, start=W, steps=12, checkpoints=range(13))
    some = train(data, head, start=W, steps=12, checkpoints=[0, 5, 12])
    np.testing.assert_array_equal(some.steps, [0, 5, 12])
    np.testing.assert_array_equal(some.W, whole.W[[0, 5, 12]])
    np.testing.assert_array_equal(some.W[0], W)
    again = train(data, head, start=some.W[1], steps=7)
    np.testing.assert_allclose(again.W[-1], whole.W[12], rtol=0, atol=1e-14)
    default = train(data, head, steps=1000).steps
    assert default[0] == 0
    assert default[-1] == 1000
    assert (np.diff(default) > 0).all()


def test_records_agree_with_each_other():
    data, head, _, start = problem(5)
    run = train(data, head, parameterization="KQ", start=start, steps=300)
    c = len(run.steps)
    assert run.K.shape == run.Q.shape == (c, 3, 2)
    assert run.probabilities.shape == (c, 4, 5)
    assert run.selection.shape == run.selected_probability.shape == (c, 4)
    np.testing.assert_allclose(run.W, run.K @ run.Q.swapaxes(-1, -2), atol=1e-14)
    np.testing.assert_allclose(run.loss, [loss(data, head, W) for W in run.W], rtol=1e-13)
    assert repr(run) == f"Run((K, Q) of width 2, {c} checkpoints up to step 300, 300 steps taken, finished)"
    assert train(data, head, steps=0).W.shape == (1, 3, 3)


@pytest.mark.parametrize("arithmetic", ["exact", "paper"])
def test_batched_runs_equal_the_loop(arithmetic):
    data, head, W, (K, Q) = problem(6, batch=(3,))
    options = {"steps": 50, "arithmetic": arithmetic}
    runs = train(data, head, start=W, **options)
    factored = train(data, head, parameterization="KQ", start=(K, Q), **options)
    assert runs.W.shape[1:] == (3, 3, 3)
    assert runs.status.shape == (3,)
    for b in range(3):
        one, h = TokenData(data.X[b], data.Z[b], data.Y[b]), LinearHead(head.v[b])
        np.testing.assert_allclose(runs.W[:, b], train(one, h, start=W[b], **options).W, atol=1e-11)
        single = train(one, h, parameterization="KQ", start=(K[b], Q[b]), **options)
        np.testing.assert_allclose(factored.W[:, b], single.W, atol=1e-10)


def test_many_starts_on_one_data_set():
    data, head, _, _ = problem(7)
    starts = random_start(3, rng=np.random.default_rng(0), batch=(4,))
    runs = train(data, head, start=starts, steps=20)
    assert runs.W.shape[1:] == (4, 3, 3)
    np.testing.assert_allclose(runs.W[-1, 2], train(data, head, start=starts[2], steps=20).W[-1], atol=1e-13)


def test_random_start_has_the_documented_law_and_is_reproducible():
    W = random_start(25, rng=np.random.default_rng(0), batch=(40,))
    assert W.shape == (40, 25, 25)
    assert 0.199 < np.abs(W).max() <= 0.2
    assert W.std() == pytest.approx(0.2 / np.sqrt(3), rel=0.02)
    K, Q = random_start(5, 2, rng=np.random.default_rng(1))
    assert K.shape == Q.shape == (5, 2)
    np.testing.assert_array_equal(K, random_start(5, 2, rng=np.random.default_rng(1))[0])


# zero gradients


def test_vanishing_gradients_end_a_run_with_a_status():
    data, _, W, _ = problem(8)
    run = train(data, LinearHead(np.zeros(3)), start=W, steps=50)
    assert run.status == "zero gradient"
    assert run.stopped_at == 0
    np.testing.assert_array_equal(run.W, np.broadcast_to(W, run.W.shape))
    heads = LinearHead(np.stack([np.zeros(3), np.eye(3)[0]]))
    both = train(data, heads, start=W, steps=50)
    np.testing.assert_array_equal(both.status, ["zero gradient", "finished"])
    np.testing.assert_array_equal(both.stopped_at, [0, 50])
    assert np.isfinite(both.W).all()
    assert repr(both).endswith("up to step 50, 50 steps taken, 1 of 2 stopped at a zero gradient)")


def test_zero_factors_are_stationary_and_one_zero_factor_is_not():
    data, head, _, (K, _) = problem(9)
    zero = np.zeros_like(K)
    for normalization in ("separate", "joint"):
        options = {"parameterization": "KQ", "steps": 10, "normalization": normalization}
        assert train(data, head, start=(zero, zero), **options).status == "zero gradient"
        run = train(data, head, start=(K, zero), **options)
        assert run.status == "finished"
        assert run.norm[-1] > 0


# bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameterization": "QK"}, "parameterization must be one of 'W', 'KQ', got 'QK'"),
        ({"parameterization": "KQ"}, r"start must be a pair \(K0, Q0\), such as random_start"),
        ({"parameterization": "KQ", "start": np.eye(3)}, r"start must be a pair .* got ndarray"),
        ({"start": np.eye(2)}, r"start must have shape \(\.\.\., 3, 3\), got \(2, 2\)"),
        ({"parameterization": "KQ", "start": (np.ones((3, 2)), np.ones((3, 1)))}, r"start\[1\] must have shape"),
        ({"steps": -1}, "steps must be an integer of at least 0, got -1"),
        ({"step": 0.0}, "step must be a positive finite number, got 0.0"),
        ({"weight_decay": -1.0}, "weight_decay must be a non-negative"),
        ({"normalization": "both"}, "normalization must be one of"),
        ({"arithmetic": "float32"}, "arithmetic must be one of"),
        ({"steps": 5, "checkpoints": [0, 6]}, r"checkpoints must lie in 0\.\.5, got 6"),
        ({"steps": 5, "checkpoints": [3, 3]}, "checkpoints must be a non-empty increasing sequence"),
        ({"steps": 5, "checkpoints": [0.5]}, "checkpoints must be an integer array"),
        ({"steps": 5, "checkpoints": 2}, r"checkpoints must be a sequence of step counts in 0\.\.5, got 2"),
        ({"steps": 5, "checkpoints": "12"}, r"checkpoints must be a sequence of step counts in 0\.\.5, got '12'"),
        ({"steps": 5, "checkpoints": [[0], [1, 2]]}, r"checkpoints must be an integer array of shape \(c,\), got"),
        ({"steps": 5, "checkpoints": []}, r"checkpoints must be a non-empty increasing sequence, got \[\]"),
        ({"start": [np.eye(3), np.eye(3)]}, "start must be one array, got a pair of arrays: use parameterization='KQ'"),
        ({"start": 1e200 * np.eye(3)}, r"start must have entries below 1e\+150 in size, got 1e\+200"),
    ],
)
def test_bad_input_names_the_argument(options, message):
    data, head, _, _ = problem(10)
    with pytest.raises(ValueError, match=message):
        train(data, head, **options)


def test_overflow_is_an_error_and_not_a_nan():
    data, head, W, _ = problem(11)
    with pytest.raises(FloatingPointError, match="the weights overflow at step"):
        train(data, head, start=W, steps=2000, step=100.0, normalized=False, weight_decay=1.0)


def test_random_start_refuses_a_seed():
    with pytest.raises(ValueError, match="rng must be a numpy.random.Generator"):
        random_start(3, rng=0)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (lambda data, head: (data.X, head), {}, "data must be a TokenData, got ndarray"),
        (lambda data, head: (data, head.v), {}, r"head must be a head, such as LinearHead\(v\), got ndarray"),
        (lambda data, head: (data, LinearHead), {}, r"head must be a head, such as LinearHead\(v\), got LinearHead"),
        (lambda data, head: (data, head), {"normalized": "False"}, "normalized must be True or False, got 'False'"),
        (lambda data, head: (data, head), {"normalized": None}, "normalized must be True or False, got None"),
        (
            lambda data, head: (data, head),
            {"start": random_start(5, 5, rng=np.random.default_rng(0))},
            r"start must be one array, got a pair of arrays: use parameterization='KQ' for factors \(K0, Q0\)",
        ),
    ],
)
def test_newcomers_mistakes_are_named(arguments, options, message):
    rng = np.random.default_rng(0)
    data, head = random_data(3, 4, 5, rng=rng), LinearHead(random_direction(5, rng=rng))
    with pytest.raises(ValueError, match=message):
        train(*arguments(data, head), steps=2, **options)


def test_batch_axes_that_do_not_fit_are_named_with_their_shapes():
    data, head, _, _ = problem(12, batch=(2,))
    with pytest.raises(ValueError, match=r"start, data and head must .* got \(3,\) for start, \(2,\) for data"):
        train(data, head, start=np.ones((3, 3, 3)))
    pair = np.ones((4, 3, 2)), np.ones((5, 3, 2))
    with pytest.raises(ValueError, match=r"got \(4,\) for start\[0\], \(5,\) for start\[1\], \(2,\) for data"):
        train(data, head, parameterization="KQ", start=pair)
    with pytest.raises(ValueError, match=r"got \(\) for start, \(2,\) for data, \(3,\) for head"):
        train(data, problem(12, batch=(3,))[1])


@pytest.mark.parametrize("arithmetic", ["exact", "paper"])
def test_an_overflow_is_blamed_on_what_overflows(arithmetic):
    data, head, W, _ = problem(13)
    huge = TokenData(1e200 * data.X, data.Z, data.Y)
    with pytest.raises(FloatingPointError, match="the attention scores .* overflow"):
        train(huge, head, start=1e140 * W, steps=2, arithmetic=arithmetic)
    with pytest.raises(FloatingPointError, match=r"the outputs h\(o\) of the head overflow"):
        train(huge, LinearHead(1e200 * head.v), steps=2, arithmetic=arithmetic)
    with pytest.raises(FloatingPointError, match="the weights overflow at step 1: choose a smaller step"):
        train(data, LinearHead(1e200 * head.v), start=W, steps=2, normalized=False, arithmetic=arithmetic)


@pytest.mark.parametrize("size", [1e-170, 1e-300])
@pytest.mark.parametrize("normalization", ["separate", "joint"])
def test_tiny_factors_are_not_a_zero_gradient(size, normalization):
    data, head, _, (K, Q) = problem(14)
    options = {"parameterization": "KQ", "steps": 1, "normalization": normalization}
    run = train(data, head, start=(size * K, size * Q), **options)
    assert run.status == "finished"
    # W = 0 to this precision: the step goes along G Q and G^T K at W = 0
    G = gradient(data, head, np.zeros((3, 3)))
    moves = G @ Q, G.T @ K
    lengths = [np.linalg.norm(move) for move in moves]
    if normalization == "joint":
        lengths = [np.hypot(*lengths)] * 2
    np.testing.assert_allclose(run.K[-1], -0.1 * moves[0] / lengths[0], atol=1e-13)
    np.testing.assert_allclose(run.Q[-1], -0.1 * moves[1] / lengths[1], atol=1e-13)


def test_many_starts_do_not_raise_the_threshold_of_a_zero_gradient():
    # G = c x z^T with x = e_1, z = e_1: K is pulled by G Q = c e_1 (z^T Q), here 1e-13 of ||Q||
    data, head = TokenData([[[1.0, 0.0], [0.0, 0.0]]], [[1.0, 0.0]], [1.0]), LinearHead([1.0, 0.0])
    K, Q = np.array([[0.0], [1e-3]]), np.array([[1e-13], [1.0]])
    many = tuple(np.broadcast_to(w, (1000, 2, 1)) for w in (K, Q))
    runs = train(data, head, parameterization="KQ", start=many, steps=1)
    assert (runs.status == "finished").all()
    np.testing.assert_allclose(runs.K[-1], np.broadcast_to([[0.1], [1e-3]], (1000, 2, 1)), atol=1e-15)


def test_decay_of_tiny_weights_is_not_a_zero_gradient():
    data, _, W, _ = problem(16)
    run = train(data, LinearHead(np.zeros(3)), start=1e-20 * W, steps=1, step=1.0, normalized=False, weight_decay=0.25)
    assert run.status == "finished"
    np.testing.assert_allclose(run.W[-1], 0.5e-20 * W, rtol=1e-14)


def test_a_run_shows_its_last_checkpoint_and_the_steps_taken():
    data, head, W, _ = problem(17)
    run = train(data, head, start=W, steps=10, checkpoints=[0, 5])
    assert repr(run) == "Run(W, 2 checkpoints up to step 5, 10 steps taken, finished)"
    stopped = train(data, LinearHead(np.zeros(3)), start=W, steps=10, checkpoints=[0, 5])
    assert "up to step 5, 0 steps taken, 1 of 1 stopped at a zero gradient" in repr(stopped)
