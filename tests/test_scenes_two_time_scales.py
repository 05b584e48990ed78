"""The scenes on metastability show what the public functions compute, at random grid points and at the corners."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import iv

from attsvm_lib import random_direction
from attsvm_lib.meanfield import meeting_time, simulate, transition_time
from attsvm_lib.scenes import TOL
from attsvm_lib.scenes.two_time_scales import (
    ANGLES,
    BETAS,
    LOG_T,
    MASSES,
    MODES,
    RIPPLE_BETAS,
    RIPPLE_TIMES,
    SHARPNESS,
    STARTS,
    barrier,
    log_time_staircase,
    ripples,
)


def grid_points(*grids, seed=9):
    """All corners of a grid and five random points of it."""
    rng = np.random.default_rng(seed)
    corners = itertools.product(*((grid[0], grid[-1]) for grid in grids))
    drawn = [tuple(float(rng.choice(grid)) for grid in grids) for _ in range(5)]
    return [*corners, *drawn]


def groups(x):
    """Clusters of one frame by hand, as lists of tokens: grow each from its first token."""
    near, left, out = x @ x.T > 0.999, set(range(len(x))), []
    while left:
        group, waiting = set(), {min(left)}
        while waiting:
            group |= waiting
            waiting = set(np.flatnonzero(near[list(waiting)].any(0))) - group
        left -= group
        out.append(sorted(group))
    return out


@pytest.mark.parametrize(("beta", "start"), grid_points(BETAS, STARTS))
def test_the_staircase_is_that_of_the_simulated_tokens(beta, start):
    picture = log_time_staircase(beta=beta, start=start)
    x0 = random_direction(2, rng=np.random.default_rng(int(start)), batch=(64,))
    x = simulate(x0, 10**LOG_T, beta=beta, tol=TOL, merge_tol=10 * TOL).x
    np.testing.assert_allclose(x, simulate(x0, 10**LOG_T, beta=beta).x, rtol=0, atol=1e-4)
    np.testing.assert_allclose(picture.marks["tokens"].xy, x, atol=1e-12)
    number, effective = picture.marks["number"].xy, picture.marks["effective"].xy
    for k in (0, 20, 40, -1):
        found = groups(x[k])
        assert number[k].tolist() == [LOG_T[k], len(found)]
        energy = np.exp(beta * (x[k] @ x[k].T - 1)).mean()
        assert effective[k, 1] == pytest.approx(1 / energy, rel=1e-12)
        assert picture.readouts["energy"].value[k] == pytest.approx(energy, rel=1e-12)
        mass = {i: len(group) / 64 for group in found for i in group}
        spokes = picture.marks["spokes"].end[k]
        np.testing.assert_allclose(np.linalg.norm(spokes, axis=1), [mass[i] for i in range(64)], rtol=1e-12)
        assert picture.readouts["largest"].value[k] == max(mass.values())
        assert picture.readouts["clusters"].value[k] == len(found)
    np.testing.assert_allclose(picture.readouts["time"].value, 10**LOG_T)
    assert picture.marks["end"].begin[0, 0] == pytest.approx(np.log10(np.exp(2 * beta)))


def test_the_staircase_ends_later_for_larger_beta():
    ends = []
    for beta in BETAS[2:-1]:
        number = log_time_staircase(beta=beta, start=1.0).marks["number"].xy
        ends.append(number[number[:, 1] == 1][0, 0])
    assert (np.diff(ends) > 1).all()


@pytest.mark.parametrize(("angle", "mass"), grid_points(ANGLES, MASSES))
def test_the_barrier_is_that_of_the_meeting_time(angle, mass):
    picture, phi = barrier(angle=angle, mass=mass), np.radians(angle)
    times = [meeting_time(phi, beta, mass=mass) for beta in SHARPNESS]
    np.testing.assert_allclose(picture.marks["time"].y, times, rtol=1e-12)
    np.testing.assert_array_equal(picture.marks["time"].x, SHARPNESS)
    assert picture.readouts["barrier"].value == pytest.approx(2 * np.sin(phi / 2) ** 2)
    assert picture.readouts["nine"].value == pytest.approx(meeting_time(phi, 9.0, mass=mass))
    assert picture.readouts["sixteen"].value == pytest.approx(meeting_time(phi, 16.0, mass=mass))
    ends = picture.marks["spokes"].end
    np.testing.assert_allclose(np.linalg.norm(ends, axis=1), [mass, 1 - mass])
    law = picture.marks["law"]
    shown = np.isfinite(law.y)
    ratio = mass * (1 - mass) / (mass**2 + (1 - mass) ** 2)
    expected = ratio * np.exp(law.x * (1 - np.cos(phi))) / (law.x * np.sin(phi) ** 2)
    np.testing.assert_allclose(law.y[shown], expected[shown], rtol=1e-12)


def test_at_a_right_angle_the_barrier_scene_shows_the_closed_form():
    times = barrier(angle=90.0, mass=0.5).marks["time"].y[1:]
    np.testing.assert_allclose(times, transition_time(SHARPNESS[1:], n=2, eps=1e-3), rtol=1e-9)


@pytest.mark.parametrize(("beta", "start"), grid_points(RIPPLE_BETAS, STARTS))
def test_ripples_are_those_of_the_simulated_tokens(beta, start):
    picture = ripples(beta=beta, start=start)
    theta = np.random.default_rng(int(start)).uniform(0, 2 * np.pi, 64)
    x = simulate(np.stack([np.cos(theta), np.sin(theta)], -1), RIPPLE_TIMES, beta=beta, tol=1e-10).x
    tracks = picture.marks["tracks"].xy
    np.testing.assert_array_equal(tracks[:, 0, 0], RIPPLE_TIMES)
    shown = np.radians(tracks[..., 1])
    np.testing.assert_allclose(np.stack([np.cos(shown), np.sin(shown)], -1), x, atol=1e-4)
    k = np.arange(1, MODES + 1)
    np.testing.assert_allclose(
        picture.marks["rates"].y, k**2 * iv(k, beta) / (beta * iv(0, beta)), rtol=1e-6, atol=1e-12
    )
    for frame in (0, 15, -1):
        moments = np.abs([np.mean(np.exp(1j * m * shown[frame])) for m in k])
        np.testing.assert_allclose(picture.marks["strength"].xy[frame], np.stack([k, moments], 1), atol=1e-12)
        x_shown = np.stack([np.cos(shown[frame]), np.sin(shown[frame])], -1)
        assert picture.readouts["clusters"].value[frame] == len(groups(x_shown))
    best = int(picture.readouts["fastest"].value)
    assert best == k[picture.marks["rates"].y.argmax()]
    assert picture.readouts["prediction"].value == pytest.approx(np.sqrt(2 * beta))
    assert abs(best - np.sqrt(2 * beta)) < 1


def test_scenes_need_numpy_only():
    code = (
        "import sys; sys.modules['scipy'] = sys.modules['joblib'] = None\n"
        "from attsvm_lib.scenes.two_time_scales import barrier, log_time_staircase, ripples\n"
        "barrier(); log_time_staircase(); ripples()\n"
        "bad = {'matplotlib', 'anywidget', 'ipywidgets', 'cvxpy'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
