"""Chapter 5's scenes show what the public functions compute, at grid corners and random grid points."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from scipy.optimize import minimize

from attsvm_lib import QuadraticHead, TokenData, correlation, gen_svm, simplex_projection, train
from attsvm_lib.experiments import multi_token_problem, orthonormal_problem
from attsvm_lib.scenes.gen_svm import (
    CURVATURES,
    GRID,
    LABELS,
    MOMENTS,
    STEPS,
    TIMES,
    TRIANGLE,
    drag_the_target,
    kept_tokens,
    relu_run,
)
from attsvm_lib.svm.generalized import equality_projection, finite_part

DRAWN = np.random.default_rng(5)
CORNERS = list(itertools.product((GRID[0], GRID[-1]), repeat=2))
TARGETS = [*CORNERS, *(tuple(DRAWN.choice(GRID, 2)) for _ in range(5)), (1.0, 0.75), (0.25, 0.0)]
LAMS = [CURVATURES[0], CURVATURES[-1], *DRAWN.choice(CURVATURES[1:-1], 3, replace=False)]


def nearest_attention(u):
    """Minimizer of the distance to u over the triangle, by a general solver."""
    sum_is_one = {"type": "eq", "fun": lambda s: s.sum() - 1}
    found = minimize(
        lambda s: ((s @ TRIANGLE - u) ** 2).sum(), np.full(3, 1 / 3), bounds=[(0, 1)] * 3, constraints=sum_is_one,
        options={"ftol": 1e-14},
    )  # fmt: skip
    return found.x


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("label", LABELS)
def test_the_hero_is_descent_beside_gen_svm(target, label):
    picture, Y = drag_the_target(target=target, label=label), LABELS[label]
    marks, u = picture.marks, np.array(target)
    farthest = np.linalg.norm(TRIANGLE - u, axis=1).argmax()
    wanted = nearest_attention(u) if Y > 0 else np.eye(3)[farthest]
    kept = wanted > 1e-5
    np.testing.assert_array_equal(np.isfinite(marks["kept"].xy[:, 0]), kept)
    np.testing.assert_array_equal(np.isnan(marks["masked"].xy[:, 0]), kept)
    np.testing.assert_allclose(marks["best"].xy[0], wanted @ TRIANGLE, atol=1e-5)
    assert picture.readouts["kept"].value == kept.sum()

    data = TokenData(TRIANGLE[None], [[1.0, 0.0]], [Y])
    run = train(data, QuadraticHead(u, 0.5), steps=500, step=4.0, normalized=False, checkpoints=STEPS)
    p = run.W[:, :, 0]
    np.testing.assert_allclose(marks["path"].xy, p, atol=1e-9)
    np.testing.assert_allclose(marks["output"].xy, run.probabilities[:, 0] @ TRIANGLE, atol=1e-9)
    np.testing.assert_allclose(picture.readouts["norm"].value, run.norm, atol=1e-9)
    shown = np.array([[float(t) for t in words.split(" / ")] for words in picture.readouts["shares"].value])
    np.testing.assert_allclose(shown, run.probabilities[:, 0], atol=0.005 + 1e-9)
    assert (picture.message is not None) == (Y < 0 and run.selection[-1, 0] != farthest)

    W_mm = gen_svm(data, [kept]).W[:, 0]
    finite = finite_part(data, [kept], [np.where(kept, np.maximum(wanted, 1e-9), 0)])[:, 0]
    np.testing.assert_allclose(marks["finite"].xy[0], finite, atol=1e-4)
    if kept.all():
        assert np.isnan(marks["ray"].end).all()
        distance = np.linalg.norm(p - finite, axis=1)
    else:
        direction = W_mm / np.linalg.norm(W_mm)
        np.testing.assert_allclose(marks["ray"].end[0] / np.linalg.norm(marks["ray"].end[0]), direction, atol=1e-9)
        line = np.stack([marks["prediction"].x, marks["prediction"].y], 1)
        np.testing.assert_allclose(line[0], finite, atol=1e-4)
        np.testing.assert_allclose(np.cross([*(line[1] - line[0]), 0], [*direction, 0]), 0, atol=1e-9)
        reach = np.maximum((p - finite) @ direction, 0)
        distance = np.linalg.norm(p - finite - reach[:, None] * direction, axis=1)
    np.testing.assert_allclose(picture.readouts["off"].value, distance, atol=1e-4)


def test_the_path_ends_near_the_prediction_and_the_weights_grow_unless_all_are_kept():
    cases = (((1.0, 0.75), True, "0.00 / "), ((0.25, 0.0), False, "0."), ((-1.5, -1.25), True, "1.00 / 0.00 / 0.00"))
    for target, grows, shares in cases:
        readouts = drag_the_target(target=target).readouts
        assert readouts["off"].value[-1] < 0.35
        assert (readouts["norm"].value[-1] > 3) == grows
        assert readouts["shares"].value[-1].startswith(shares)


@pytest.mark.parametrize("lam", LAMS)
@pytest.mark.parametrize("attention", ["cross", "self"])
def test_kept_tokens_are_those_of_the_closed_form(lam, attention):
    picture = kept_tokens(lam=lam, attention=f"{attention}-attention")
    data, head, W0 = orthonormal_problem(lam, 221, n=2, T=5, d=6, attention=attention)
    best = simplex_projection(data.X[0] @ head.v / (2 * lam))
    np.testing.assert_allclose(picture.marks["best"].xy[:, 1], best, atol=1e-12)
    assert picture.readouts["best"].value == (best > 0).sum()
    run = train(data, QuadraticHead(head.v, lam), start=W0, steps=1500, checkpoints=TIMES)
    s = run.probabilities[:, 0]
    np.testing.assert_allclose(picture.marks["attention"].y, s, atol=1e-9)
    np.testing.assert_array_equal(picture.readouts["kept"].value, (s > 1e-3).sum(-1))
    for name, mask in (("kept", best > 0), ("masked", best == 0)):
        curves = picture.marks[name].xy
        assert np.isnan(curves[:, ~mask]).all()
        drawn = np.maximum(np.log10(s[:, mask]), -16)
        np.testing.assert_allclose(curves[:, mask, 1], drawn, atol=1e-8)
        np.testing.assert_array_equal(curves[:, mask, 0], np.broadcast_to(TIMES[:, None], drawn.shape))
    vertex = np.arange(5) == (data.X[1] @ head.v).argmin()
    both = np.stack([best, vertex])
    W_mm = gen_svm(data, both > 0).W
    W, lost = run.W[-1], picture.readouts
    assert lost["W_mm"].value[-1] == pytest.approx(1 - correlation(W, W_mm), abs=1e-9)
    R = np.vdot(W, W_mm) / np.vdot(W_mm, W_mm)
    predicted = finite_part(data, both > 0, both) + R * W_mm
    assert lost["predicted"].value[-1] == pytest.approx(1 - correlation(W, predicted), abs=1e-9)


def test_all_numbers_of_tokens_occur_and_grow_with_the_curvature():
    cross = [scene for values, scene in kept_tokens.over_grid() if values["attention"] == "cross-attention"]
    kept = [int(scene.readouts["best"].value) for scene in cross]
    assert set(kept) == {1, 2, 3, 4, 5}
    assert (np.diff(kept) >= 0).all()


@pytest.mark.parametrize(("d", "run"), [(4, 1), (4, 12), (10, 1), (10, 12), (4, 5), (8, 4), (6, 3), (8, 9), (10, 7)])
def test_a_relu_run_is_judged_as_in_the_experiment(d, run):
    picture = relu_run(d=d, run=run)
    data, head, W0 = multi_token_problem(d, run)
    trained = train(data, head, start=W0, steps=2000, checkpoints=MOMENTS, arithmetic="paper")
    s = trained.probabilities
    end = s[-1]
    accepted = not ((end > 1e-6) & (end <= 1e-3)).any() and (end <= 1e-6).any()
    assert picture.readouts["accepted"].value == ("yes" if accepted else "no")
    assert (picture.message is None) == accepted
    np.testing.assert_array_equal(picture.readouts["selected"].value, (s > 1e-3).sum((1, 2)))
    heat = picture.marks["heat"].values
    visible = s > 1e-9  # below, rounding is seen in the logarithm
    np.testing.assert_allclose(heat[visible], np.log10(s[visible]), atol=1e-4)
    seen = np.zeros(12, dtype=int)
    for name, mask in (("selected", end > 1e-3), ("masked", end <= 1e-6), ("between", (end > 1e-6) & (end <= 1e-3))):
        curves = picture.marks[name].xy
        drawn = np.isfinite(curves[..., 1]).all(0)
        np.testing.assert_array_equal(drawn, mask.ravel())
        np.testing.assert_array_equal(curves[:, drawn, 1], heat.reshape(len(heat), 12)[:, drawn])
        seen += drawn
    assert (seen == 1).all()
    if not accepted:
        assert np.isnan(picture.readouts["mm"].value).all()
        return
    W, W_mm = trained.W[-1], gen_svm(data, end > 1e-3).W
    R = np.vdot(W, W_mm) / np.vdot(W_mm, W_mm)
    W_svmeq = equality_projection(data, end > 1e-3, W) + R * W_mm
    assert picture.readouts["mm"].value[-1] == pytest.approx(1 - correlation(W, W_mm), abs=1e-5)
    assert picture.readouts["svmeq"].value[-1] == pytest.approx(1 - correlation(W, W_svmeq), abs=1e-5)


def test_import_needs_numpy_only():
    code = (
        "import sys, attsvm_lib.scenes.gen_svm;"
        "bad = {'scipy', 'matplotlib', 'anywidget', 'ipywidgets', 'cvxpy'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
