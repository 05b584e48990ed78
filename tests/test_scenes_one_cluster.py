"""The scenes on one cluster show what the public functions compute, at random grid points and at the corners."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from attsvm_lib import random_direction
from attsvm_lib.meanfield import (
    clusters,
    equiangular,
    pair_fraction,
    random_gram,
    simulate,
    simulate_gram,
    transition_time,
    wendel,
)
from attsvm_lib.scenes import TOL
from attsvm_lib.scenes.one_cluster import (
    CONE_BETAS,
    CONE_STARTS,
    CONE_TIMES,
    CONE_TOKENS,
    DIMENSIONS,
    EDGES,
    RANDOM_BETAS,
    RANDOM_TIMES,
    SPHERE_BETAS,
    SPHERE_TIMES,
    arc,
    crossing_times,
    orthogonal_and_random,
    phase_on_the_sphere,
    shrinking_cone,
)


def grid_points(*grids, seed=9):
    """All corners of a grid and five random points of it."""
    rng = np.random.default_rng(seed)
    corners = itertools.product(*((grid[0], grid[-1]) for grid in grids))
    drawn = [tuple(rng.choice(grid).item() for grid in grids) for _ in range(5)]
    return [*corners, *drawn]


STARTS = random_direction(3, rng=np.random.default_rng(8), batch=(16, 32))


@pytest.mark.parametrize("cell", grid_points(range(15), range(60)))
def test_a_cell_shows_the_tokens_of_its_beta_and_time(cell):
    picture = phase_on_the_sphere(cell=cell)
    beta, t = SPHERE_BETAS[cell[0]], SPHERE_TIMES[cell[1]]
    x = simulate(STARTS[0], SPHERE_TIMES, beta=beta).x[cell[1]]
    np.testing.assert_allclose(picture.marks["tokens"].xyz, x, atol=1e-12)
    near = x @ x.T > 0.999
    assert picture.readouts["own"].value == pytest.approx((near.sum() - 32) / (32 * 31), abs=1e-12)
    assert picture.readouts["clusters"].value == clusters(x)
    assert (picture.readouts["beta"].value, picture.readouts["time"].value) == (beta, t)
    np.testing.assert_array_equal(picture.marks["here"].xy, [[t, beta]])
    shares = picture.marks["met"].values
    assert picture.readouts["share"].value == shares[cell]
    exact = pair_fraction(STARTS, [t], beta=beta, step=0.1).mean()
    assert shares[cell] == pytest.approx(exact, abs=0.01)


def test_the_diagram_has_15_betas_and_60_times_centered_on_its_cells():
    heatmap = phase_on_the_sphere().marks["met"]
    assert heatmap.values.shape == (15, 60)
    x0, x1, y0, y1 = heatmap.extent
    np.testing.assert_allclose(x0 + (np.arange(60) + 0.5) * (x1 - x0) / 60, SPHERE_TIMES)
    np.testing.assert_allclose(y0 + (np.arange(15) + 0.5) * (y1 - y0) / 15, SPHERE_BETAS)


def test_the_curve_is_the_transition_time_of_32_tokens():
    np.testing.assert_allclose(crossing_times([0.0, 1.0, 4.0, 9.0]), transition_time([0, 1, 4, 9], n=32), rtol=1e-9)
    curve = phase_on_the_sphere().marks["curve"]
    shown = np.isfinite(curve.x)
    np.testing.assert_allclose(curve.x[shown], transition_time(curve.y[shown], n=32), rtol=1e-9)
    assert (transition_time(curve.y[~shown], n=32) > 30).all() and 0 < shown.sum() < len(shown)


@pytest.mark.parametrize(("d", "beta"), grid_points(DIMENSIONS, RANDOM_BETAS))
def test_histogram_and_curves_are_those_of_all_pairs(d, beta):
    picture = orthogonal_and_random(d=d, beta=beta)
    start = random_gram(32, int(d), (), np.random.default_rng([5, int(d)]))
    gram = simulate_gram(start, RANDOM_TIMES, beta=beta, tol=TOL).gram
    np.testing.assert_allclose(gram, simulate_gram(start, RANDOM_TIMES, beta=beta).gram, rtol=0, atol=1e-5)
    i, j = np.triu_indices(32, 1)
    products, gamma = gram[:, i, j], equiangular(RANDOM_TIMES, n=32, beta=beta)
    marks = picture.marks
    np.testing.assert_allclose(marks["gamma"].xy, np.stack([RANDOM_TIMES, gamma], 1), atol=1e-5)
    np.testing.assert_allclose(marks["gamma now"].begin[:, 0, 0], gamma, atol=1e-5)
    for name, values in (("smallest", products.min(1)), ("mean", products.mean(1)), ("largest", products.max(1))):
        np.testing.assert_allclose(marks[name].xy[:, 1], values, atol=1e-12)
    for frame in (0, 30, 60):
        counts = [
            ((low <= products[frame]) & (products[frame] < high)).sum() for low, high in itertools.pairwise(EDGES)
        ]
        counts[-1] += (products[frame] >= 1).sum()
        np.testing.assert_allclose(marks["shares"].y[frame] * 496, counts, atol=1e-9)
    deviation = np.abs(products - gamma[:, None]).max(1)
    np.testing.assert_allclose(picture.readouts["deviation"].value, deviation, atol=1e-5)
    np.testing.assert_allclose(picture.readouts["mean"].value, products.mean(1), atol=1e-12)


def test_the_shortest_arc_around_angles():
    first, width = arc(np.radians([[350, 10, 20], [0, 120, 240], [200, 100, 150]]))
    np.testing.assert_allclose(np.degrees(first[[0, 2]]), [350, 100])
    np.testing.assert_allclose(np.degrees(width), [30, 240, 100])


@pytest.mark.parametrize(("n", "start", "beta"), grid_points(CONE_TOKENS, CONE_STARTS, CONE_BETAS))
def test_the_cone_is_the_shortest_arc_around_the_simulated_tokens(n, start, beta):
    picture = shrinking_cone(n=n, start=start, beta=beta)
    theta0 = np.random.default_rng([3, int(start), int(n)]).uniform(0, 2 * np.pi, int(n))
    x = simulate(np.stack([np.cos(theta0), np.sin(theta0)], -1), CONE_TIMES, beta=beta, tol=1e-10).x
    shown = picture.marks["tokens"].xy
    np.testing.assert_allclose(shown[:, : int(n)], x, atol=1e-4)
    assert np.isnan(shown[:, int(n) :]).all()
    widths = picture.marks["width"].xy[:, 1]
    for frame in (0, 20, 48):
        degrees = np.degrees(np.arctan2(x[frame, :, 1], x[frame, :, 0]))
        # from each token counterclockwise: how far is the furthest of the others?
        by_hand = min(max((b - a) % 360 for b in degrees) for a in degrees)
        distance = abs(widths[frame] - by_hand)
        assert min(distance, 360 - distance) < 0.05
        assert picture.readouts["width"].value[frame] == widths[frame]
    ends = picture.marks["cone"].end
    np.testing.assert_allclose(np.linalg.norm(ends, axis=-1), 1)
    assert picture.readouts["half"].value == ("yes" if widths[0] < 180 else "no")
    assert picture.readouts["chance"].value == wendel(int(n), 2)


def test_a_cone_below_a_half_circle_never_opens():
    narrow = 0
    for n, start, beta in itertools.product(CONE_TOKENS, CONE_STARTS, CONE_BETAS):
        width = shrinking_cone(n=n, start=start, beta=beta).marks["width"].xy[:, 1]
        below = np.flatnonzero(width < 180)
        if len(below):
            narrow += below[0] == 0
            assert (np.diff(width[below[0] :]) < 1e-6).all()
    assert 0 < narrow < len(CONE_TOKENS) * len(CONE_STARTS) * len(CONE_BETAS)


def test_scenes_need_numpy_only():
    code = (
        "import sys; sys.modules['scipy'] = sys.modules['joblib'] = None\n"
        "from attsvm_lib.scenes.one_cluster import orthogonal_and_random, phase_on_the_sphere, shrinking_cone\n"
        "orthogonal_and_random(); phase_on_the_sphere(); shrinking_cone()\n"
        "bad = {'matplotlib', 'anywidget', 'ipywidgets', 'cvxpy'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
