"""TokenData checks its arrays once, at the door, and never changes afterwards; random data follow their law."""

import numpy as np
import pytest

from attsvm_lib import TokenData, random_data, random_direction, random_start


def arrays(n=2, T=3, d=4, batch=()):
    rng = np.random.default_rng(0)
    return rng.standard_normal((*batch, n, T, d)), rng.standard_normal((*batch, n, d)), np.ones((*batch, n))


@pytest.mark.parametrize("batch", [(), (5,), (2, 3)])
def test_shapes_are_read_from_the_arrays(batch):
    data = TokenData(*arrays(batch=batch))
    assert (data.n, data.T, data.d, data.batch_shape) == (2, 3, 4, batch)


def test_data_are_immutable_copies():
    X, Z, Y = arrays()
    data = TokenData(X, Z, Y)
    X[:] = 0
    assert data.X.any()
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0, 0] = 1.0
    with pytest.raises(AttributeError):
        data.X = X


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, Z, Y: (X[0], Z, Y), r"X must have shape \(\.\.\., n, T, d\), got \(3, 4\)"),
        (lambda X, Z, Y: (X, Z[:, :3], Y), r"Z must have shape \(2, 4\), got \(2, 3\)"),
        (lambda X, Z, Y: (X, Z, Y[:1]), r"Y must have shape \(2\), got \(1,\)"),
        (lambda X, Z, Y: (X[:, :0], Z, Y), r"X must have no empty axis"),
        (lambda X, Z, Y: (X * np.nan, Z, Y), r"X must be finite, got nan at index \(0, 0, 0\)"),
        (lambda X, Z, Y: (X, Z * np.inf, Y), r"Z must be finite, got -?inf at index \(0, 0\)"),
        (lambda X, Z, Y: (X, Z, Y - 1), r"Y must hold labels -1 or \+1, got 0 at index \(0,\)"),
        (lambda X, Z, Y: (X + 1j, Z, Y), r"X must be a real array of shape .*, got complex128"),
        (lambda X, Z, Y: (X, "query", Y), r"Z must be a real array of shape .*, got str"),
        (lambda X, Z, Y: (None, Z, Y), r"X must be a real array of shape .*, got NoneType"),
        (lambda X, Z, Y: ([[1], [1, 2]], Z, Y), r"X must be a real array of shape .*, got list"),
    ],
)
def test_bad_arrays_are_refused_by_name(change, message):
    with pytest.raises(ValueError, match=message):
        TokenData(*change(*arrays()))


def test_random_data_are_unit_norm_and_reproducible():
    draw = [random_data(3, 4, 5, rng=np.random.default_rng(7), batch=(2,)) for _ in range(2)]
    np.testing.assert_allclose(np.linalg.norm(draw[0].X, axis=-1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(draw[0].Z, axis=-1), 1, rtol=1e-14)
    assert all((getattr(draw[0], k) == getattr(draw[1], k)).all() for k in "XZY")
    assert repr(draw[0]) == "TokenData(batch=(2,), n=3, T=4, d=5)"


def test_self_attention_queries_are_first_tokens():
    data = random_data(3, 4, 5, rng=np.random.default_rng(0), attention="self")
    assert (data.Z == data.X[:, 0]).all()


def test_tokens_are_uniform_on_the_sphere_and_labels_fair():
    data = random_data(50, 20, 3, rng=np.random.default_rng(0), batch=(10,))
    x = data.X.reshape(-1, 3)
    # mean 0 and covariance I / d, within 5 standard errors of 10^4 draws
    assert np.abs(x.mean(0)).max() < 5 * np.sqrt(1 / 3 / len(x))
    assert np.abs(x.T @ x / len(x) - np.eye(3) / 3).max() < 5 * 0.3 / np.sqrt(len(x))
    assert abs(data.Y.mean()) < 5 / np.sqrt(data.Y.size)
    assert (random_data(4, 2, 3, rng=np.random.default_rng(0), labels="positive").Y == 1).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(n=0), "n must be an integer of at least 1, got 0"),
        (dict(d=2.5), "d must be an integer of at least 1, got 2.5"),
        (dict(rng=0), "rng must be a numpy.random.Generator"),
        (dict(attention="both"), "attention must be one of 'cross', 'self', got 'both'"),
        (dict(law="cube"), "law must be one of 'sphere', 'gaussian', got 'cube'"),
    ],
)
def test_bad_generator_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        random_data(**{**dict(n=2, T=3, d=4, rng=np.random.default_rng(0)), **arguments})


def test_random_direction_is_a_unit_vector():
    v = random_direction(6, rng=np.random.default_rng(1), batch=(9,))
    np.testing.assert_allclose(np.linalg.norm(v, axis=-1), 1)


@pytest.mark.parametrize("batch", [3, None, (-1,), (0,), (2.5,), [2], "23", (True,)])
def test_batch_axes_of_another_kind_are_refused_everywhere(batch):
    rng, message = np.random.default_rng(0), r"batch must be a tuple of integers of at least 1, got"
    for draw in (
        lambda: random_data(2, 3, 4, rng=rng, batch=batch),
        lambda: random_direction(4, rng=rng, batch=batch),
        lambda: random_start(4, rng=rng, batch=batch),
        lambda: random_start(4, 2, rng=rng, batch=batch),
    ):
        with pytest.raises(ValueError, match=message):
            draw()


def test_a_mask_says_what_each_query_may_see():
    X, Z, Y = arrays(batch=(5,))
    data = TokenData(X, Z, Y, np.broadcast_to([True, False, True], (5, 2, 3)))
    assert data.allowed.shape == (5, 2, 3)
    assert not data.allowed.flags.writeable
    assert repr(data) == "TokenData(batch=(5,), n=2, T=3, d=4, masked)"
    assert TokenData(X, Z, Y).allowed is None


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        ([1, 0, 1], r"allowed must be a boolean array of shape \(2, 3\), got dtype int"),
        ([True, False], r"allowed must have shape \(2, 3\), got \(2,\)"),
        ([[True, False, True], [False, False, False]], r"each query at least one token, got none at index \(1,\)"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused(allowed, message):
    with pytest.raises(ValueError, match=message):
        TokenData(*arrays(), allowed)
