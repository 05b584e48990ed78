"""Chapter 4's scenes show what the public functions compute, at random grid points and at the corners."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from attsvm_lib import LinearHead, TokenData, att_svm, correlation, locally_optimal, random_start, scores, train
from attsvm_lib.data import random_data, random_direction
from attsvm_lib.scenes.local_convergence import (
    ANGLES,
    BOX,
    COUNTS,
    FRAMES,
    GRID,
    HEAD,
    LAST,
    MODELS,
    NAMES,
    RADII,
    SEEDS,
    STEP,
    STEPS,
    TIMES,
    TOKENS,
    basins,
    cone,
    two_arithmetics,
)

DRAWN = np.random.default_rng(4)
ENDS = (GRID[0], GRID[-1])
PLACES = [*itertools.product(ENDS, ENDS), *map(tuple, DRAWN.choice(GRID, (5, 2)))]
CASES = [
    *itertools.product((SEEDS[0], SEEDS[-1]), MODELS, (STEPS[0], STEPS[-1])),
    *((int(DRAWN.choice(SEEDS)), MODELS[k % 3], float(DRAWN.choice(STEPS))) for k in range(5)),
]


def descend(p, steps):
    """Normalized descent on p by the formula: p <- p + eta u / |u| with u = sum_t s_t (gamma_t - s . gamma) x_t."""
    p, path = np.array(p, dtype=float), []
    gamma = TOKENS @ HEAD
    for _ in range(steps + 1):
        a = TOKENS @ p
        s = np.exp(a - a.max())
        s /= s.sum()
        path.append((p.copy(), s))
        r = s.argmax()
        delta = gamma - gamma[r]
        c = s * delta
        c[r] = 0
        c -= s * (s * delta).sum()
        c[r] = -np.delete(c, r).sum()
        u = c @ TOKENS
        p += STEP * u / np.linalg.norm(u)
    return path


@pytest.mark.parametrize("place", PLACES)
def test_paths_outputs_and_winners_are_those_of_descent(place):
    picture = basins(start=place)
    path = descend(place, FRAMES[-1])
    p = np.array([path[k][0] for k in FRAMES])
    s = np.array([path[k][1] for k in FRAMES])
    inside = np.abs(p).max(-1) <= BOX
    np.testing.assert_allclose(picture.marks["path"].xy[inside, 0], p[inside], atol=1e-8)
    assert np.isnan(picture.marks["path"].xy[~inside]).all()
    np.testing.assert_allclose(picture.marks["output"].xy[:, 0], s @ TOKENS, atol=1e-8)
    data = TokenData(TOKENS[None], [[1, 0]], [1])
    run = train(data, LinearHead(HEAD), start=np.outer(place, [1, 0]), steps=LAST, step=STEP)
    winner = int(run.selection[-1, 0])
    assert picture.readouts["winner"].texts() == (f"x{'₁₂₃₄₅'[winner]}",)
    np.testing.assert_allclose(picture.readouts["attention"].value, s[:, winner], atol=1e-8)
    direction = att_svm(data, [winner]).W
    assert picture.readouts["end"].value == pytest.approx(1 - correlation(run.W[-1], direction), abs=1e-9)
    row, column = (int(np.flatnonzero(place[axis] == GRID)[0]) for axis in (1, 0))
    assert picture.marks["winner"].values[row, column] == winner + 1


def test_arrows_are_the_directions_and_stars_the_locally_optimal_tokens():
    picture = basins()
    data = TokenData(TOKENS[None], [[1, 0]], [1])
    gamma = scores(data, HEAD)
    solutions = [att_svm(data, [t]) for t in range(5)]
    local = np.array([locally_optimal(solution, gamma) for solution in solutions])
    assert local.tolist() == [True, False, True, False, True]
    tips = np.array([solution.direction[:, 0] for solution in solutions]) * 0.8 * BOX
    np.testing.assert_allclose(picture.marks["local"].end, tips[local], atol=1e-12)
    np.testing.assert_allclose(picture.marks["other"].end, tips[~local], atol=1e-12)
    np.testing.assert_array_equal(picture.marks["stars"].xy, TOKENS[local])
    np.testing.assert_array_equal(picture.marks["tokens"].xy, TOKENS[~local])
    numbers, shares = np.unique(picture.marks["winner"].values, return_counts=True)
    np.testing.assert_array_equal(numbers, np.flatnonzero(local) + 1)  # the three local directions, and no other
    assert shares.min() > 0.1 * shares.sum()


CELLS = [
    *itertools.product((0, len(RADII) - 1), (0, len(ANGLES) - 1)),
    *map(tuple, DRAWN.integers(0, 21, (5, 2)).tolist()),
]


@pytest.mark.parametrize("token", range(5))
def test_cones_hold_the_starts_that_stay(token):
    data = TokenData(TOKENS[None], [[1, 0]], [1])
    direction = att_svm(data, [token]).W[:, 0]
    for row, column in CELLS:
        picture = cone(token=NAMES[token], cell=(row, column))
        turn = np.radians(ANGLES[column])
        start = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]) @ direction
        start *= RADII[row] / np.linalg.norm(start)
        run = train(
            data, LinearHead(HEAD), start=np.outer(start, [1, 0]), steps=LAST, step=STEP, checkpoints=COUNTS.tolist()
        )
        cosine = run.W[:, :, 0] @ direction / np.linalg.norm(direction) / run.norm
        shown = picture.marks["angle"]
        np.testing.assert_array_equal(shown.x, COUNTS)
        np.testing.assert_allclose(np.cos(np.radians(shown.y)), cosine, atol=1e-6)
        assert picture.readouts["winner"].texts() == (NAMES[run.selection[-1, 0]],)
        assert picture.readouts["radius"].value == pytest.approx(RADII[row])
        assert picture.marks["stays"].values[row, column] == (run.selection[-1, 0] == token)


def test_locally_optimal_tokens_have_a_cone_and_others_have_none():
    on_the_direction = len(ANGLES) // 2
    for token, local in enumerate([True, False, True, False, True]):
        stays = cone(token=NAMES[token]).marks["stays"].values
        if local:
            assert stays[-1, on_the_direction] == 1
            assert (np.diff(stays[:, on_the_direction]) >= 0).all()  # from some distance on
        else:
            assert stays.max() == 0


@pytest.mark.parametrize(("seed", "model", "step"), CASES)
def test_curves_are_those_of_the_library(seed, model, step):
    picture = two_arithmetics(seed=seed, model=model, step=step)
    rng = np.random.default_rng([seed, 6, 8, 10])
    data = random_data(6, 8, 10, rng=rng)
    head, W0, KQ = LinearHead(random_direction(10, rng=rng)), random_start(10, rng=rng), random_start(10, 10, rng=rng)
    checkpoints = np.rint(TIMES / step).astype(int)
    options = {"steps": checkpoints[-1], "step": step, "checkpoints": checkpoints}
    options |= {"start": W0} if model == "W" else {"start": KQ, "parameterization": "KQ"}
    decay = 2.2e-16 if "decay" in model else 0.0
    for kind in ("exact", "paper"):
        run = train(data, head, arithmetic=kind, weight_decay=decay, **options)
        alpha = run.selection[-1]
        solution = att_svm(data, alpha, norm="frobenius" if model == "W" else "nuclear")
        lost = picture.marks[f"lost {kind}"]
        np.testing.assert_array_equal(lost.x, TIMES)
        np.testing.assert_allclose(lost.y, 1 - correlation(run.W, solution.W), atol=1e-10)
        scored = np.einsum("itp,cpq,iq->cit", data.X, run.W, data.Z)
        others = np.arange(8) != alpha[:, None]
        margins = np.take_along_axis(scored, alpha[None, :, None], -1) - scored
        smallest = margins[:, others].min(-1)
        shown = picture.marks[f"margin {kind}"].y
        np.testing.assert_allclose(shown[smallest > 0], smallest[smallest > 0], rtol=1e-6, atol=1e-9)
        assert np.isnan(shown[smallest <= 0]).all()
        assert picture.readouts[f"lost {kind}"].value == lost.y[-1]
        assert picture.readouts[f"margin {kind}"].value == pytest.approx(smallest[-1], rel=1e-6)


def test_scenes_need_numpy_only():
    code = (
        "import sys\n"
        "for name in ('scipy', 'joblib'): sys.modules[name] = None\n"
        "from attsvm_lib.scenes.local_convergence import basins, cone, two_arithmetics\n"
        "basins(); cone(); two_arithmetics(seed=0, model='W', step=0.5)\n"
        "bad = {'matplotlib', 'anywidget', 'ipywidgets', 'cvxpy'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
