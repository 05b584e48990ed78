"""The interaction energy: its values, its growth along both models, and its scaled form."""

import numpy as np
import pytest

from attsvm_lib.meanfield import dissipation, energy, scaled_dissipation, scaled_energy


def sphere(*shape, seed=0):
    x = np.random.default_rng(seed).normal(size=shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def velocity(x, beta, model):
    """Both models as the paper writes them, token by token."""
    out = np.zeros_like(x)
    for i, xi in enumerate(x):
        weights = np.exp(beta * x @ xi)
        pull = weights @ x / (weights.sum() if model == "sa" else len(x))
        out[i] = pull - (pull @ xi) * xi
    return out


def test_two_tokens_by_hand():
    x = np.array([[1.0, 0.0], [0.5, np.sqrt(0.75)]])
    assert energy(x, beta=2.0) == pytest.approx((2 * np.exp(2) + 2 * np.exp(1)) / (4 * 4))
    assert scaled_energy(x, beta=2.0) == pytest.approx((1 + np.exp(-1)) / 2)


def test_a_single_point_maximizes_it():
    point = np.tile([0.6, 0.8], (7, 1))
    assert scaled_energy(point, beta=3.0) == 1
    assert energy(point, beta=3.0) == pytest.approx(np.exp(3) / 6)
    assert (scaled_energy(sphere(50, 9, 3), beta=3.0) < 1).all()


def test_clusters_far_apart_give_the_sum_of_squared_masses():
    corners = np.repeat(np.concatenate([np.eye(3), -np.eye(3)]), [1, 2, 3, 4, 5, 6], axis=0)
    masses = np.arange(1, 7) / 21
    assert scaled_energy(corners, beta=60.0) == pytest.approx((masses**2).sum(), abs=1e-12)


@pytest.mark.parametrize("model", ["sa", "usa"])
@pytest.mark.parametrize("beta", [0.5, 4.0])
@pytest.mark.parametrize("d", [2, 5])
def test_dissipation_is_the_derivative_along_the_flow(model, beta, d):
    x = sphere(11, d)
    speed = velocity(x, beta, model)

    def at(h):
        moved = x + h * speed
        return energy(moved / np.linalg.norm(moved, axis=-1, keepdims=True), beta=beta)

    h = 1e-3 / np.abs(speed).max()
    slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    assert dissipation(x, beta=beta, model=model) == pytest.approx(slope, rel=1e-7)


@pytest.mark.parametrize("beta", [0.5, 4.0])
def test_dissipation_is_the_papers_sum_of_squared_speeds(beta):
    x = sphere(9, 3, seed=4)
    Z = np.exp(beta * x @ x.T).sum(1)
    sa, usa = ((velocity(x, beta, model) ** 2).sum(1) for model in ("sa", "usa"))
    assert dissipation(x, beta=beta, model="sa") == pytest.approx((Z * sa).sum() / 81)
    assert dissipation(x, beta=beta, model="usa") == pytest.approx(usa.sum() / 9)


def test_scaled_and_plain_agree():
    x, beta = sphere(8, 3), 3.0
    assert scaled_energy(x, beta=beta) == pytest.approx(2 * beta * np.exp(-beta) * energy(x, beta=beta))
    for model, power in (("sa", 1), ("usa", 2)):
        plain = dissipation(x, beta=beta, model=model)
        assert scaled_dissipation(x, beta=beta, model=model) == pytest.approx(2 * beta * np.exp(-power * beta) * plain)


def test_invariance_and_batches():
    x = sphere(4, 5, 10, 3)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    assert energy(x, beta=2.0).shape == (4, 5)
    np.testing.assert_allclose(energy(x @ rotation, beta=2.0), energy(x, beta=2.0), rtol=1e-13)
    np.testing.assert_allclose(energy(x[..., ::-1, :], beta=2.0), energy(x, beta=2.0), rtol=1e-13)
    assert dissipation(x, beta=2.0, model="sa")[3, 4] == pytest.approx(dissipation(x[3, 4], beta=2.0, model="sa"))


def test_large_and_zero_beta():
    x = sphere(6, 3)
    assert scaled_energy(x, beta=1e6) == pytest.approx(1 / 6)
    assert scaled_dissipation(x, beta=1e6, model="sa") < 1e-12
    assert scaled_energy(x, beta=0) == 1
    assert scaled_dissipation(x, beta=0, model="usa") == 0
    with pytest.raises(FloatingPointError, match="use scaled_energy"):
        energy(x, beta=800)
    with pytest.raises(FloatingPointError, match="use scaled_dissipation"):
        dissipation(np.tile(x, (1, 1)), beta=500, model="usa")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: energy(np.ones((2, 2)), beta=1), "x must hold unit vectors"),
        (lambda: energy(np.eye(2), beta=0), "beta must be a positive finite number, got 0"),
        (lambda: scaled_energy(np.eye(2), beta=-1), "beta must be a non-negative finite number, got -1"),
        (lambda: dissipation(np.eye(2), beta=1, model="SA"), "model must be one of 'sa', 'usa'"),
        (lambda: energy(np.array([[np.nan, 0.0]]), beta=1), "x must be finite"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
