"""The scenes on circle, repulsion and leaders show what the public functions compute, at corners and random points."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from scipy.linalg import expm

from attsvm_lib import random_direction
from attsvm_lib.meanfield import (
    cross_polytope,
    icosahedron,
    scaled_energy,
    simplex,
    simulate,
    simulate_circle,
    simulate_unprojected,
)
from attsvm_lib.scenes.circle import (
    CIRCLE_BETAS,
    CIRCLE_TIMES,
    DRAW_TIMES,
    DRAWS,
    LEADER_TIMES,
    RANDOM_BETAS,
    REPEL_BETAS,
    REPEL_TIMES,
    SIGNS,
    SIZES,
    SPECTRA,
    STARTS,
    leaders_emerge,
    oscillators,
    random_values,
    repelling_tokens,
)


def grid_points(*grids, seed=4):
    """All corners of a grid and five random points of it."""
    rng = np.random.default_rng(seed)
    corners = itertools.product(*((grid[0], grid[-1]) for grid in grids))
    drawn = [tuple(grid[rng.integers(len(grid))] for grid in grids) for _ in range(5)]
    return list(dict.fromkeys([*corners, *drawn]))


def pair_products(x):
    return np.sort((x @ x.T)[np.triu_indices(len(x), 1)])


@pytest.mark.parametrize(("n", "beta"), grid_points(SIZES, REPEL_BETAS))
def test_repelling_tokens_are_the_simulated_ones(n, beta):
    picture = repelling_tokens(n=n, beta=beta)
    x0 = random_direction(3, rng=np.random.default_rng(n), batch=(n,))
    x = simulate(x0, REPEL_TIMES, beta=beta, V=-np.eye(3), tol=1e-6).x
    shown = picture.marks["tokens"].xyz
    np.testing.assert_allclose(shown[:, :n], x, atol=5e-3)
    assert np.isnan(shown[:, n:]).all()
    count = n * (n - 1) // 2
    for k in (0, 20, -1):
        here = shown[k, :n]
        np.testing.assert_allclose(picture.marks["pairs"].xy[k, :count, 1], pair_products(here), atol=1e-12)
        assert picture.readouts["energy"].value[k] == pytest.approx(np.exp(beta * (here @ here.T - 1)).mean())
        angle = np.degrees(np.arccos(pair_products(here)[-1]))
        assert picture.readouts["angle"].value[k] == pytest.approx(angle, abs=1e-6)
    cube = np.array(list(itertools.product((-1, 1), repeat=3))) / np.sqrt(3)
    solid = {4: simplex(3), 6: cross_polytope(3), 8: cube, 12: icosahedron()}[n]
    np.testing.assert_allclose(picture.marks["solid"].y[:count], pair_products(solid), atol=1e-12)
    np.testing.assert_array_equal(picture.marks["solid"].x[:count], picture.marks["pairs"].xy[0, :count, 0])
    above = picture.readouts["energy"].value - scaled_energy(solid, beta=beta)
    np.testing.assert_allclose(picture.readouts["excess"].value, above, atol=1e-12)


def test_solids_appear_except_the_cube():
    for n in (4, 6, 12):
        assert abs(repelling_tokens(n=n, beta=4).readouts["excess"].value[-1]) < 1e-7
    assert repelling_tokens(n=8, beta=4).readouts["excess"].value[-1] < -1e-3
    assert repelling_tokens(n=4, beta=8).readouts["excess"].value[-1] > 1e-5


@pytest.mark.parametrize(("beta", "kind"), grid_points(CIRCLE_BETAS, tuple(SIGNS)))
def test_oscillators_are_the_simulated_tokens(beta, kind):
    picture = oscillators(beta=beta, kind=kind)
    w = np.exp(2j * np.pi * (np.arange(24) + 0.5) / 24)
    theta0 = np.angle((w + 0.2) / (1 + 0.2 * w))
    if SIGNS[kind] == 1:
        theta = simulate_circle(theta0, CIRCLE_TIMES, beta=beta, step=0.05).theta
        x = np.stack([np.cos(theta), np.sin(theta)], -1)
    else:
        x0 = np.stack([np.cos(theta0), np.sin(theta0)], -1)
        x = simulate(x0, CIRCLE_TIMES, beta=beta, V=-np.eye(2), tol=1e-8).x
    shown = picture.marks["tokens"].xy
    np.testing.assert_allclose(shown, x, atol=1e-4)
    order = np.linalg.norm(shown.mean(1), axis=-1)
    np.testing.assert_allclose(picture.marks["order"].xy, np.stack([CIRCLE_TIMES, order], -1), atol=1e-12)
    np.testing.assert_allclose(picture.readouts["order"].value, order, atol=1e-12)
    np.testing.assert_allclose(picture.marks["mean"].end[:, 0], shown.mean(1), atol=1e-12)
    odds = np.exp(SIGNS[kind] * CIRCLE_TIMES) * 0.04 / 0.96
    np.testing.assert_allclose(picture.marks["law"].y, np.sqrt(odds / (1 + odds)), rtol=1e-12)
    for k in (0, 30, -1):
        nearest = (shown[k] @ shown[k].T)[np.triu_indices(24, 1)].max().clip(-1, 1)
        assert picture.readouts["gap"].value[k] == pytest.approx(np.degrees(np.arccos(nearest)), abs=1e-4)


def test_at_beta_zero_the_order_follows_the_law():
    for kind in SIGNS:
        picture = oscillators(beta=0, kind=kind)
        np.testing.assert_allclose(picture.marks["order"].xy[:, 1], picture.marks["law"].y, atol=0.03)


@pytest.mark.parametrize(("draw", "beta"), grid_points(DRAWS, RANDOM_BETAS))
def test_random_values_are_simulated_with_the_drawn_matrix(draw, beta):
    picture = random_values(draw=draw, beta=beta)
    rng = np.random.default_rng([draw, 24, 3])
    x0 = random_direction(3, rng=rng, batch=(24,))
    V = (rng.standard_normal((3, 3, 3)) / np.sqrt(3))[2]
    shown, early = picture.marks["tokens"].xyz, slice(0, 25)
    x = simulate(x0, DRAW_TIMES[early], beta=beta, V=V, tol=1e-9).x
    np.testing.assert_allclose(shown[early], x, atol=2e-3)
    count = picture.marks["count"].xy[:, 1]
    for k in (0, 20, -1):
        near, reached = shown[k] @ shown[k].T > 0.999, np.eye(24, dtype=bool)
        for _ in range(5):
            reached = reached @ (near | np.eye(24, dtype=bool))
            reached = reached @ reached
        assert count[k] == len(np.unique(reached, axis=0)) == picture.readouts["clusters"].value[k]
    values, vectors = np.linalg.eig(V)
    lead = values[values.real.argmax()]
    assert picture.readouts["real"].value == pytest.approx(lead.real)
    assert picture.readouts["imaginary"].value == pytest.approx(abs(lead.imag))
    stars = picture.marks["eigenvector"].xyz
    assert np.isnan(stars).all() == (lead.imag != 0)
    if lead.imag == 0:
        np.testing.assert_allclose(V @ stars.T, lead.real * stars.T, atol=1e-12)
        least = np.abs(shown @ stars[0]).min(-1)
        np.testing.assert_allclose(picture.readouts["alignment"].value, least, atol=1e-12)


def test_a_positive_leading_eigenvalue_gathers_tokens_at_the_stars():
    for draw in (1, 2, 5):
        assert random_values(draw=draw, beta=1).readouts["alignment"].value[-1] > 0.999
    for draw in (0, 3):
        assert random_values(draw=draw, beta=1).readouts["clusters"].value[-1] > 20


@pytest.mark.parametrize(("values", "start"), grid_points(tuple(SPECTRA), STARTS))
def test_leaders_are_those_of_the_equation(values, start):
    picture = leaders_emerge(values=values, start=start)
    P, shown = picture.marks["attention"].values, picture.marks["tokens"].xy
    V, second = np.diag(SPECTRA[values]), SPECTRA[values][1]
    for k in (0, 8, 16):
        t = LEADER_TIMES[k]
        z = shown[k] * np.array([1, np.exp(-second * t) if second < 0 else 1])
        x = z @ expm(t * V).T
        weights = np.exp(x @ x.T - (x @ x.T).max(1, keepdims=True))
        np.testing.assert_allclose(P[k], weights / weights.sum(1, keepdims=True), atol=1e-9)
        singular = np.linalg.svd(P[k], compute_uv=False)
        assert picture.readouts["rank"].value[k] == (singular > 1e-3 * singular[0]).sum()
        leads = (P[k] > 0.999).any(0)
        assert picture.readouts["leaders"].value[k] == leads.sum()
        np.testing.assert_array_equal(np.isfinite(picture.marks["leaders"].xy[k, :, 0]), leads)
    x0 = np.random.default_rng(start).standard_normal((16, 2))
    place = np.abs(shown[0][:, None] - x0).sum(-1).argmin(1)
    assert sorted(place) == list(range(16))
    z = simulate_unprojected(x0, LEADER_TIMES, V=V, step=0.02).z[:, place]
    z[..., 1] *= np.exp(min(second, 0) * LEADER_TIMES)[:, None]
    np.testing.assert_allclose(shown, z, atol=1e-3)


@pytest.mark.parametrize("start", STARTS)
def test_the_hull_is_the_convex_hull_and_never_grows(start):
    picture = leaders_emerge(values="V = I", start=start)
    areas = []
    for points, x, y in zip(picture.marks["tokens"].xy, picture.marks["hull"].x, picture.marks["hull"].y):
        ring = np.stack([x, y], -1)[np.isfinite(x)]
        np.testing.assert_array_equal(ring[0], ring[-1])
        edges = np.diff(ring, axis=0)
        inside = edges[:, :1] * (points[:, 1] - ring[:-1, 1:]) - edges[:, 1:] * (points[:, 0] - ring[:-1, :1])
        assert inside.min() > -1e-9
        assert set(map(tuple, ring)) <= set(map(tuple, points))
        areas.append((ring[:-1, 0] * ring[1:, 1] - ring[1:, 0] * ring[:-1, 1]).sum() / 2)
    assert (np.diff(areas) < 1e-9).all()
    assert areas[-1] < areas[0]
    lines = leaders_emerge(values="V = diag(1, −½)", start=start)
    assert np.isnan(lines.marks["hull"].x).all()
    assert np.isnan(picture.marks["sheets"].begin).all()
    leads = np.isfinite(lines.marks["leaders"].xy[..., 0])
    np.testing.assert_array_equal(lines.marks["sheets"].begin[leads][:, 0], lines.marks["leaders"].xy[leads][:, 0])


@pytest.mark.parametrize("start", STARTS)
def test_one_leader_for_each_corner_or_line(start):
    for values, name in zip(SPECTRA, ("clusters", "sheets")):
        last = {key: readout.value[-1] for key, readout in leaders_emerge(values=values, start=start).readouts.items()}
        assert last["rank"] == last["leaders"] == last[name]


def test_scenes_need_numpy_only():
    code = (
        "import sys; sys.modules['scipy'] = sys.modules['joblib'] = None\n"
        "from attsvm_lib.scenes.circle import leaders_emerge, oscillators, random_values, repelling_tokens\n"
        "leaders_emerge(); oscillators(); random_values(); repelling_tokens()\n"
        "bad = {'matplotlib', 'anywidget', 'ipywidgets', 'cvxpy'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
