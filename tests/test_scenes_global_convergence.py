"""The explorables of chapter 3 show what the public functions say, at random grid points and at every corner."""

import itertools
import subprocess
import sys

import numpy as np
import pytest

from attsvm_lib import (
    LinearHead,
    TokenData,
    att_svm,
    correlation,
    optimal_tokens,
    predicted_constant,
    scores,
    train,
)
from attsvm_lib.constraints import token_rows
from attsvm_lib.experiments import path_problem
from attsvm_lib.scenes.global_convergence import (
    COUNTS,
    ETAS,
    KINDS_OF_ATTENTION,
    PULLS,
    RULES,
    STARTS,
    STEPS,
    TIMES,
    drag_the_start,
    paths_in_the_plane,
    step_problem,
    step_size,
)

DRAWN = np.random.default_rng(5)
ENDS = (float(STARTS[0]), float(STARTS[-1]))
STARTED = [
    *[(tuple(map(float, DRAWN.choice(STARTS, 2))), float(DRAWN.choice(PULLS))) for _ in range(5)],
    *[((x, y), c) for x, y, c in itertools.product(ENDS, ENDS, (PULLS[0], PULLS[-1]))],
]
RATED = [
    *[tuple(DRAWN.choice(v).item() for v in (RULES, ETAS, KINDS_OF_ATTENTION)) for _ in range(5)],
    *itertools.product(RULES, (ETAS[0], ETAS[-1]), KINDS_OF_ATTENTION),
]


@pytest.mark.parametrize(("start", "c"), STARTED)
def test_the_hero_shows_descent_and_both_directions(start, c):
    picture = drag_the_start(start=start, c=c)
    X = [[[1, 0], [2, 0]], [[1, 0], [1 - c, 1]]]
    data, v = TokenData(X, [[1, 0], [1, 0]], [1, 1]), np.array([1, 1 + c])
    W0 = np.outer(start, [1, 0])
    run = train(data, LinearHead(v), start=W0, step=0.1, steps=int(STEPS[-1]), checkpoints=STEPS)
    p = run.W[:, :, 0]
    shown = picture.marks["path"].xy
    seen = ((p >= -4) & (p <= 16)).all(1)
    np.testing.assert_allclose(shown[seen], p[seen], atol=1e-9)
    assert np.isnan(shown[~seen]).all()
    for i in range(2):
        curve = np.stack([STEPS, run.probabilities[:, i, 1]], 1)
        np.testing.assert_allclose(picture.marks[f"sequence {i + 1}"].xy, curve, atol=1e-9)
    best = att_svm(data, [1, 1])
    np.testing.assert_allclose(picture.marks["W_mm"].end[0], 14 * best.W[:, 0] / best.objective, atol=1e-9)
    if c > 1:
        wrong = att_svm(data, [1, 0])
        np.testing.assert_allclose(picture.marks["wrong"].end[0], 14 * wrong.W[:, 0] / wrong.objective, atol=1e-9)
    else:
        assert np.isnan(picture.marks["wrong"].end).all()
    ends = picture.marks["tie 2"]
    for end in (ends.begin[0], ends.end[0]):
        assert end[1] == pytest.approx(c * end[0], abs=1e-9)
    moved = run.norm > 0
    np.testing.assert_allclose(
        picture.readouts["correlation"].value[moved], correlation(run.W[moved], best.W), atol=1e-9
    )
    assert np.isnan(picture.readouts["correlation"].value[~moved]).all()
    np.testing.assert_allclose(picture.readouts["norm"].value, run.norm, atol=1e-9)
    right = (run.selection[-1] == 1).all()
    assert str(picture.readouts["ends"].value) == (
        "both optimal tokens" if right else "sequence 2 ends on its wrong token"
    )


def test_without_a_pull_every_start_finds_both_optimal_tokens_and_with_it_some_do_not():
    def lost(c):
        ends = [str(drag_the_start(start=(x, 0.0), c=c).readouts["ends"].value) for x in STARTS]
        return sum(text != "both optimal tokens" for text in ends)

    assert lost(0.0) == 0
    assert 0 < lost(2.0) < lost(3.0) + 1


@pytest.mark.parametrize(("rule", "eta", "attention"), RATED)
def test_error_norm_and_prediction_are_those_of_the_library(rule, eta, attention):
    picture = step_size(rule=rule, eta=eta, attention=attention)
    data, head = step_problem(attention)
    run = train(data, head, step=eta, steps=1000, checkpoints=COUNTS, normalized=rule == "normalized")
    svm = att_svm(data, optimal_tokens(scores(data, head.v)))
    lost = 1 - correlation(run.W, svm.W)
    np.testing.assert_allclose(picture.marks["lost"].xy, np.stack([COUNTS, lost], 1), rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(picture.marks["norm"].xy[:, 1], run.norm, rtol=1e-9)
    rows = token_rows(data, svm.alpha)
    A = np.einsum("ka,kb->kab", rows.D, rows.Z)[svm.support].reshape(-1, 36)
    w = run.W[-1].ravel()
    outside = w - A.T @ np.linalg.lstsq(A.T, w, rcond=None)[0]
    constant = (predicted_constant(data, head, svm) ** 2 + outside @ outside) / 2
    predicted, there = constant / run.norm**2, np.isfinite(picture.marks["predicted"].y)
    np.testing.assert_allclose(picture.marks["predicted"].y[there], predicted[there], rtol=1e-6)
    assert (predicted[~there] >= 5).all()
    growth = eta * COUNTS if rule == "normalized" else svm.objective * np.log(np.maximum(eta * COUNTS, 1))
    there = np.isfinite(picture.marks["growth"].y)
    np.testing.assert_allclose(picture.marks["growth"].y[there], growth[there], rtol=1e-9)
    assert (growth[~there] <= 1e-3).all()
    np.testing.assert_allclose(picture.readouts["lost"].value, lost, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(picture.readouts["attention"].value, run.selected_probability.min(1), atol=1e-9)


def test_the_prediction_meets_the_runs():
    for rule, eta in (("normalized", 1.0), ("plain", 10.0)):
        marks = step_size(rule=rule, eta=eta, attention="cross-attention").marks
        ratio = marks["lost"].xy[-1, 1] / marks["predicted"].y[-1]
        assert ratio == pytest.approx(1, abs=0.02 if rule == "normalized" else 0.3)


@pytest.mark.parametrize("attention", KINDS_OF_ATTENTION)
@pytest.mark.parametrize(("tokens", "index"), [("3", {"cross": 23, "self": 6}), ("5", {"cross": 49, "self": 49})])
def test_paths_in_the_plane_are_those_of_train(tokens, index, attention):
    picture = paths_in_the_plane(tokens=tokens, attention=attention)
    kind = attention.removesuffix("-attention")
    data, head = path_problem(2, int(tokens), 2, index=index[kind], attention=kind)
    alpha = optimal_tokens(scores(data, head.v))
    options = {"step": 0.1, "steps": 2000, "checkpoints": TIMES}
    factor = 0.3 * np.eye(2)
    runs = {
        "W": (train(data, head, start=factor @ factor, **options), att_svm(data, alpha)),
        "KQ": (
            train(data, head, parameterization="KQ", start=(factor, factor), normalization="joint", **options),
            att_svm(data, alpha, norm="nuclear"),
        ),
    }
    radius = (1 + np.log(TIMES)) / (1 + np.log(2000))
    for name, (run, svm) in runs.items():
        for i in range(2):
            u = run.W @ data.Z[i]
            path = radius[:, None] * u / np.linalg.norm(u, axis=1, keepdims=True)
            np.testing.assert_allclose(picture.marks[f"path {name}"].xy[:, i], path, atol=1e-6)
            arrow = svm.W @ data.Z[i]
            np.testing.assert_allclose(picture.marks[f"solution {name}"].end[i], arrow / np.linalg.norm(arrow))
        lost = np.maximum(1 - correlation(run.W, svm.W), 1e-8)
        np.testing.assert_allclose(picture.marks[f"lost {name}"].xy[:, 1], lost, rtol=1e-3, atol=1e-9)
        assert lost[-1] < 1e-3
        np.testing.assert_array_equal(run.selection[-1], alpha)
    for i in range(2):
        np.testing.assert_array_equal(picture.marks[f"selected {i + 1}"].xy[0], data.X[i, alpha[i]])
        others = picture.marks[f"tokens {i + 1}"].xy
        np.testing.assert_array_equal(others[~np.isnan(others[:, 0])], np.delete(data.X[i], alpha[i], 0))


def test_import_needs_numpy_only():
    code = (
        "import sys, attsvm_lib.scenes.global_convergence;"
        "bad = {'scipy', 'matplotlib', 'anywidget', 'ipywidgets', 'cvxpy', 'joblib'} & set(sys.modules);"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
