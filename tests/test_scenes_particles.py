"""The scenes on tokens as particles show what the library computes, at random grid points and at all corners."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from attsvm_lib.data import random_direction
from attsvm_lib.experiments import smooth_start
from attsvm_lib.meanfield import circle_distance, circle_grid, circle_quantiles, equiangular, mean_field, simulate
from attsvm_lib.scenes import TOL
from attsvm_lib.scenes.particles import (
    BETAS,
    LIMIT_BETAS,
    LIMIT_TIMES,
    MODELS,
    PAIR_ANGLES,
    PAIR_BETAS,
    PAIR_TIMES,
    SIZES,
    STARTS,
    TIMES,
    continuous_limit,
    tokens_on_the_sphere,
    two_tokens,
)

DRAWN = np.random.default_rng(7)


def grid_points(*axes):
    """All corners, and five random points of the grid."""
    corners = itertools.product(*((axis[0], axis[-1]) for axis in axes))
    return [*corners, *(tuple(axis[DRAWN.integers(len(axis))] for axis in axes) for _ in range(5))]


@pytest.mark.parametrize(("beta", "model"), grid_points(BETAS, tuple(MODELS)))
def test_the_sphere_shows_the_trajectory_its_energy_and_its_mean(beta, model):
    picture = tokens_on_the_sphere(beta=beta, model=model)
    x0 = random_direction(3, rng=np.random.default_rng(53), batch=(32,))
    kind = {"softmax (SA)": "sa", "unnormalized (USA)": "usa"}[model]
    times = TIMES * np.exp(-beta) if kind == "usa" else TIMES
    x = simulate(x0, times, beta=beta, model=kind, tol=TOL).x
    np.testing.assert_allclose(x, simulate(x0, times, beta=beta, model=kind).x, rtol=0, atol=1e-4)
    np.testing.assert_allclose(picture.marks["tokens"].xyz, x, rtol=0, atol=1e-12)
    gram = x @ x.swapaxes(-1, -2)
    energy = np.exp(beta * (gram - 1)).mean((-2, -1))
    np.testing.assert_allclose(picture.marks["energy"].xy, np.stack([TIMES, energy], 1), rtol=1e-12)
    np.testing.assert_allclose(picture.marks["mean"].xy[:, 1], gram.mean((-2, -1)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(picture.readouts["energy"].value, energy, rtol=1e-12)
    np.testing.assert_allclose(picture.readouts["mean"].value, gram.mean((-2, -1)), rtol=0, atol=1e-12)
    counts = picture.readouts["clusters"].value
    assert counts[0] > 16
    distinct = [len(np.unique(np.round(places, 2), axis=0)) for places in x[-1:]]
    assert counts[-1] <= distinct[0] <= counts[-1] + 2


def test_the_energy_only_rises_and_the_mean_can_fall():
    for model in MODELS:
        for beta in BETAS:
            assert (np.diff(tokens_on_the_sphere(beta=beta, model=model).readouts["energy"].value) > -1e-12).all()
        mean = tokens_on_the_sphere(beta=6, model=model).readouts["mean"].value
        assert (np.maximum.accumulate(mean) - mean).max() > 0.03
    assert tokens_on_the_sphere(beta=1, model="softmax (SA)").readouts["clusters"].value[-1] == 1
    assert tokens_on_the_sphere(beta=10, model="softmax (SA)").readouts["clusters"].value[-1] > 1


@pytest.mark.parametrize(("beta", "angle"), grid_points(PAIR_BETAS, PAIR_ANGLES))
def test_two_tokens_follow_their_equation(beta, angle):
    picture = two_tokens(beta=beta, angle=angle)
    speeds = {
        "sa": lambda delta: 2 * np.sin(delta) / (1 + np.exp(beta * (1 - np.cos(delta)))),
        "usa": lambda delta: np.exp(beta * (np.cos(delta) - 1)) * np.sin(delta),
    }
    for model, speed in speeds.items():
        solved = solve_ivp(
            lambda _, y, speed=speed: -speed(y), (0, PAIR_TIMES[-1]), [np.radians(angle)], t_eval=PAIR_TIMES,
            rtol=1e-10, atol=1e-12,
        ).y[0]  # fmt: skip
        readout = picture.readouts[f"angle {model}"].value
        np.testing.assert_allclose(readout, np.degrees(solved), rtol=0, atol=1e-4)
        places = picture.marks[f"tokens {model}"].xy
        np.testing.assert_allclose(places[:, 1, 0], np.cos(solved / 2), rtol=0, atol=1e-6)
        np.testing.assert_allclose(places[:, 0, 1], -np.sin(solved / 2), rtol=0, atol=1e-6)
        now = picture.marks[f"now {model}"].xy[:, 0]
        np.testing.assert_allclose(now, np.stack([readout, speed(np.radians(readout))], 1), rtol=0, atol=1e-12)
        curve = picture.marks[f"speed {model}"]
        np.testing.assert_allclose(curve.y, speed(np.radians(curve.x)), rtol=0, atol=1e-12)


def test_two_orthogonal_tokens_are_the_equiangular_law():
    for beta in (0, 2):
        angles = np.radians(two_tokens(beta=beta, angle=90).readouts["angle sa"].value)
        np.testing.assert_allclose(np.cos(angles), equiangular(PAIR_TIMES, n=2, beta=beta), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("n", "beta", "start"), grid_points(SIZES, LIMIT_BETAS, STARTS))
def test_the_limit_and_the_tokens_are_those_of_the_library(n, beta, start):
    picture = continuous_limit(n=n, beta=beta, start=start)
    rho = mean_field(smooth_start(circle_grid(192)), LIMIT_TIMES, beta=beta).density
    np.testing.assert_allclose(picture.marks["density"].y, rho[:, ::3], rtol=0, atol=1e-12)
    p = (np.arange(n) + 0.5) / n if start == "quantiles" else np.random.default_rng([1, n]).random(n)
    theta = circle_quantiles(smooth_start(circle_grid(16)), p)
    x0 = np.stack([np.cos(theta), np.sin(theta)], 1)
    x = simulate(x0, LIMIT_TIMES, beta=beta, tol=1e-10).x
    angles = np.radians(picture.marks["tokens"].xy[:, :n, 0])
    np.testing.assert_allclose(np.stack([np.cos(angles), np.sin(angles)], -1), x, rtol=0, atol=1e-5)
    assert np.isnan(picture.marks["tokens"].xy[:, n:, 0]).all()
    distance = [circle_distance(row, now) for row, now in zip(angles, rho)]
    np.testing.assert_allclose(picture.readouts["distance"].value, distance, rtol=1e-6)
    energy = np.exp(beta * (x @ x.swapaxes(-1, -2) - 1)).mean((-2, -1))
    phi = circle_grid(192)
    kernel = np.exp(beta * (np.cos(phi[:, None] - phi) - 1)) * (2 * np.pi / 192) ** 2
    limit = np.einsum("ti,ij,tj->t", rho, kernel, rho)
    np.testing.assert_allclose(picture.readouts["energy"].value, np.abs(energy - limit), rtol=0, atol=1e-5)


@pytest.mark.parametrize("beta", LIMIT_BETAS)
def test_the_velocities_drawn_are_integrals_and_sums(beta):
    picture = continuous_limit(n=16, beta=beta, start="independent draws")
    phi, probe = circle_grid(192), circle_grid(64)
    rho = mean_field(smooth_start(phi), LIMIT_TIMES, beta=beta).density[20]
    weights = np.exp(beta * np.cos(probe[:, None] - phi)) * rho
    expected = -(weights * np.sin(probe[:, None] - phi)).sum(1) / weights.sum(1)
    np.testing.assert_allclose(picture.marks["velocity"].y[20], expected, rtol=0, atol=1e-10)
    tokens = np.radians(picture.marks["tokens"].xy[20, :16, 0])
    weights = np.exp(beta * np.cos(probe[:, None] - tokens))
    expected = -(weights * np.sin(probe[:, None] - tokens)).sum(1) / weights.sum(1)
    np.testing.assert_allclose(picture.marks["felt"].y[20], expected, rtol=0, atol=1e-10)


def test_import_needs_neither_matplotlib_nor_widgets_and_a_scene_numpy_only():
    code = (
        "import sys; sys.modules['scipy'] = None\n"
        "from attsvm_lib.scenes.particles import continuous_limit, tokens_on_the_sphere, two_tokens\n"
        "tokens_on_the_sphere(beta=1, model='softmax (SA)'); two_tokens(beta=1, angle=90)\n"
        "continuous_limit(n=8, beta=1, start='quantiles')\n"
        "bad = {'matplotlib', 'anywidget', 'ipywidgets', 'cvxpy'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
