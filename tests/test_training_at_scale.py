"""The fast ways to train with a linear head make the steps of the general one, in any blocks."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attsvm_lib.attention import descent_direction
from attsvm_lib.data import TokenData, random_data, random_direction
from attsvm_lib.heads import LinearHead, ReluHead
from attsvm_lib.selection import correlation
from attsvm_lib.sequences import PositionHead, sequence_data
from attsvm_lib.training import descent, random_start, train

REFERENCE = Path(__file__).parent / "reference" / "svm"


def problem(seed, n=4, T=5, d=3, m=2, batch=(6,)):
    rng = np.random.default_rng(seed)
    data, head = random_data(n, T, d, rng=rng, batch=batch), LinearHead(random_direction(d, rng=rng, batch=batch))
    return data, head, {"W": random_start(d, rng=rng, batch=batch), "KQ": random_start(d, m, rng=rng, batch=batch)}


@pytest.fixture
def both_ways(monkeypatch):
    """A training run as it is, and by the general steps on the weights."""

    def run(*arguments, **options):
        fast = train(*arguments, **options)
        with monkeypatch.context() as patch:
            patch.setattr(descent, "is_moderate", lambda *_: False)
            return fast, train(*arguments, **options)

    return run


def assert_same_run(fast, general, tol):
    for name in ("W", "loss", "probabilities"):
        np.testing.assert_allclose(getattr(fast, name), getattr(general, name), rtol=tol, atol=tol, err_msg=name)
    np.testing.assert_array_equal(fast.status, general.status)
    np.testing.assert_array_equal(fast.stopped_at, general.stopped_at)
    if fast.K is not None:
        np.testing.assert_allclose(fast.K, general.K, rtol=tol, atol=tol)
        np.testing.assert_allclose(fast.Q, general.Q, rtol=tol, atol=tol)


@pytest.mark.parametrize("arithmetic", ["exact", "paper"])
@pytest.mark.parametrize("shared", [False, True])
def test_relu_heads_make_the_general_steps(arithmetic, shared, both_ways):
    data, _, starts = problem(3)
    V = np.random.default_rng(3).standard_normal((3, 7) if shared else (6, 3, 7))
    fast, general = both_ways(data, ReluHead(V), start=starts["W"], steps=100, arithmetic=arithmetic)
    assert_same_run(fast, general, 1e-11)


def test_relu_heads_reproduce_the_reference_run_and_ignore_the_blocks(monkeypatch):
    with np.load(REFERENCE / "gensvm_n3T4d6_seed6.npz") as arrays:
        data = TokenData(*(np.stack([arrays[k]] * 3) for k in "XZY"))
        how = {"start": arrays["W0"], "steps": 2001, "arithmetic": "paper", "checkpoints": [501, 2001]}
        run = train(data, ReluHead(arrays["V"]), **how)
        np.testing.assert_allclose(run.W[0], [arrays["W_it501"]] * 3, rtol=0, atol=1e-9)
        assert (correlation(run.W[1], arrays["W_it2001"]) > 1 - 1e-6).all()
        monkeypatch.setattr(descent, "CACHE", 1)
        np.testing.assert_array_equal(train(data, ReluHead(arrays["V"]), **how).W, run.W)


@pytest.mark.parametrize("arithmetic", ["exact", "paper"])
@pytest.mark.parametrize("parameterization", ["W", "KQ"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalized": False, "step": 2.0},
        {"weight_decay": 0.01},
        {"normalized": False, "step": 2.0, "weight_decay": 0.01},
        {"normalization": "joint"},
        {"normalization": "joint", "weight_decay": 1e-3},
    ],
)
def test_fast_steps_are_the_general_steps(both_ways, parameterization, arithmetic, options):
    data, head, starts = problem(0)
    start = starts[parameterization]
    runs = both_ways(
        data, head, parameterization=parameterization, start=start, steps=25, arithmetic=arithmetic, **options
    )
    assert_same_run(*runs, 1e-10)


@given(
    n=st.integers(1, 4),
    T=st.integers(1, 5),
    d=st.integers(1, 6),
    seed=st.integers(0, 10**6),
    exponent=st.integers(-8, 8),
    parameterization=st.sampled_from(["W", "KQ"]),
)
@settings(max_examples=40, deadline=None)
def test_fast_steps_are_the_general_steps_at_every_size(n, T, d, seed, exponent, parameterization):
    data, head, starts = problem(seed, n, T, d, batch=())
    c = 10.0**exponent
    data, head = TokenData(c * data.X, data.Z / c, data.Y), LinearHead(head.v / c)
    start = starts[parameterization]
    options = {"parameterization": parameterization, "start": start, "steps": 10}
    fast = train(data, head, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(descent, "is_moderate", lambda *_: False)
        general = train(data, head, **options)
    assert_same_run(fast, general, 1e-9)


@pytest.mark.parametrize("parameterization", ["W", "KQ"])
def test_data_head_and_starts_broadcast(both_ways, parameterization):
    data, _, _ = problem(1, batch=(3, 1))
    rng = np.random.default_rng(2)
    head = LinearHead(random_direction(3, rng=rng, batch=(4,)))
    start = random_start(3, None if parameterization == "W" else 2, rng=rng, batch=(2, 1, 1))
    fast, general = both_ways(data, head, parameterization=parameterization, start=start, steps=20)
    assert fast.W.shape[1:-2] == (2, 3, 4)
    assert_same_run(fast, general, 1e-11)
    one = problem(3, batch=())
    starts = random_start(3, None if parameterization == "W" else 2, rng=rng, batch=(5,))
    assert_same_run(*both_ways(*one[:2], parameterization=parameterization, start=starts, steps=20), 1e-11)


@pytest.mark.parametrize("arithmetic", ["exact", "paper"])
@pytest.mark.parametrize("parameterization", ["W", "KQ"])
def test_blocks_do_not_change_a_bit(monkeypatch, parameterization, arithmetic):
    data, head, starts = problem(4, batch=(7,))
    options = {"parameterization": parameterization, "start": starts[parameterization], "arithmetic": arithmetic}
    whole = train(data, head, steps=400, **options)
    for size in (1, 10_000, 14_000):
        monkeypatch.setattr(descent, "CACHE", size)
        cut = train(data, head, steps=400, **options)
        np.testing.assert_array_equal(cut.W, whole.W)


@pytest.mark.parametrize("parameterization", ["W", "KQ"])
def test_nearly_opposite_pulls_keep_their_digits(both_ways, parameterization):
    # the same sequence with labels +1 and -1: the pulls of the two cancel but for the last sequence's tiny tokens
    rng = np.random.default_rng(5)
    X, z = rng.standard_normal((1, 5, 3)), rng.standard_normal((1, 3))
    small = 1e-2 * rng.standard_normal((1, 5, 3))
    data = TokenData(np.concatenate([X, X, small]), np.concatenate([z, z, z + 1]), [1.0, -1.0, 1.0])
    v = np.linalg.svd(X[0].mean(0)[None])[2][-1]  # both outputs are 0 at W = 0, where both losses pull alike
    zero, start = np.zeros((3, 3)), random_start(3, 3, rng=rng)
    start = zero if parameterization == "W" else (zero, start[1])
    fast, general = both_ways(data, LinearHead(v), parameterization=parameterization, start=start, steps=1, step=1e-3)
    assert fast.status == "finished"
    np.testing.assert_allclose(fast.W[-1], general.W[-1], rtol=0, atol=1e-12)
    assert fast.norm[-1] > 1e-5
    opposite = TokenData(data.X[:2], data.Z[:2], data.Y[:2])
    stopped = train(opposite, LinearHead(v), parameterization=parameterization, start=start, steps=5)
    assert (stopped.status, stopped.stopped_at) == ("zero gradient", 0)


def test_the_step_is_accurate_at_every_margin():
    data, head, starts = problem(6, batch=())
    for size in (1.0, 1e2, 1e4, 1e6):
        W = size * starts["W"]
        run = train(data, head, start=W, steps=1, step=size)
        expected = descent_direction(data, head, W).unit
        np.testing.assert_allclose((run.W[1] - W) / size, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("parameterization", ["W", "KQ"])
@pytest.mark.parametrize("arithmetic", ["exact", "paper"])
@pytest.mark.parametrize("heads", ["shared", "per position"])
def test_masked_sequences_take_the_general_steps(both_ways, parameterization, arithmetic, heads):
    rng = np.random.default_rng(9)
    data = sequence_data(rng.standard_normal((5, 2, 4, 3)), rng.choice([-1.0, 1.0], (5, 2, 4)))
    v = rng.standard_normal((5, 3) if heads == "shared" else (5, 4, 3))
    head = LinearHead(v) if heads == "shared" else PositionHead(v)
    start = random_start(3, None if parameterization == "W" else 2, rng=rng, batch=(5,))
    options = {"parameterization": parameterization, "start": start, "steps": 25, "arithmetic": arithmetic}
    assert_same_run(*both_ways(data, head, **options), 1e-10)


def test_many_long_sequences_are_trained_too(both_ways):
    data, head, starts = problem(7, n=12, T=9, batch=(2,))
    assert_same_run(*both_ways(data, head, start=starts["W"], steps=30), 1e-11)


def test_a_plain_step_that_is_too_long_overflows_by_name():
    data, head, starts = problem(8, batch=())
    with pytest.raises(FloatingPointError, match="the weights overflow at step"):
        train(
            data,
            head,
            parameterization="KQ",
            start=starts["KQ"],
            steps=200,
            step=100.0,
            normalized=False,
            weight_decay=1.0,
        )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_papers_arithmetic_has_the_correlations_of_the_reference_to_the_end(seed):
    arrays = np.load(REFERENCE / f"local_n6T8d10_seed{seed}.npz")
    data, head = TokenData(arrays["X"], arrays["Z"], arrays["Y"]), LinearHead(arrays["v"])
    options = {"steps": 2000, "arithmetic": "paper", "checkpoints": [100, 500, 1000, 2000]}
    for parameterization, start, name in (("W", arrays["W0"], "fro"), ("KQ", (arrays["K0"], arrays["Q0"]), "nuc")):
        run = train(data, head, parameterization=parameterization, start=start, **options)
        found = correlation(run.W, arrays[f"W{name}_{parameterization}"])
        np.testing.assert_allclose(found, arrays[f"corr_{name}_{parameterization}"], rtol=0, atol=2e-4)
        np.testing.assert_array_equal(run.selection[-1], arrays[f"alpha_{parameterization}"])
