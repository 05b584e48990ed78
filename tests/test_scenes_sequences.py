"""Chapter 6's scenes show what the public functions compute, at grid corners and random points; closed forms."""

import itertools

import numpy as np
import pytest

from attsvm_lib import InfeasibleError, correlation, sequential_rows, sequential_svm, train
from attsvm_lib.experiments import sequential_problem
from attsvm_lib.scenes.sequences import (
    ANGLES,
    FIRST,
    GRID,
    LABELS,
    MASKS,
    SEEDS,
    STEP,
    STEPS,
    WANTED,
    WISHES,
    drag_the_last_token,
    hardening,
    two_positions,
    two_tokens,
)

DRAWN = np.random.default_rng(6)
HARDENING = list(itertools.product(MASKS, LABELS, (1, 2, 3, 4)))  # the whole grid
CORNERS = [GRID[0], GRID[-1]]
DRAGGED = [*itertools.product(CORNERS, CORNERS), *(tuple(DRAWN.choice(GRID, 2)) for _ in range(5)), (0.4, -0.8)]


@pytest.mark.parametrize(("mask", "labels", "tokens"), HARDENING)
def test_attention_and_margins_are_those_of_the_library(mask, labels, tokens):
    causal = mask == "causal"
    kind = "sequence" if labels == LABELS[0] else "position"
    data, head = sequential_problem(1, 5, 6, seed=SEEDS[tokens - 1], causal=causal, labels=kind)
    run = train(data, head, steps=1000, step=STEP, checkpoints=STEPS)
    alpha = run.selection[-1][None]
    solution = sequential_svm(data.X[:1], alpha, causal=causal)
    picture = hardening(mask=mask, labels=labels, tokens=tokens)
    marks, readouts = picture.marks, picture.readouts

    shown = marks["attention"].values
    assert (np.isnan(shown) == (np.triu(np.ones((5, 5)), 1) > 0) * causal).all()
    np.testing.assert_allclose(np.nan_to_num(shown), run.probabilities, atol=1e-9)
    np.testing.assert_array_equal(marks["selected"].xy, np.stack([alpha[0], np.arange(5)], axis=1))
    rows = sequential_rows(data.X[:1], alpha, causal=causal)
    place = rows.index[:, 1] * 5 + rows.index[:, 2]
    for k in (0, 9, -1):
        margins = rows.margins(run.W[k]) * solution.objective / np.linalg.norm(run.W[k])
        np.testing.assert_allclose(marks["trained"].xy[k, place, 1], margins, atol=1e-7)
    np.testing.assert_allclose(marks["svm"].xy[place, 1], rows.margins(solution.W), atol=1e-9)
    assert np.isfinite(marks["svm"].xy).all(1).sum() == len(rows) == (10 if causal else 20)
    assert (np.diff(marks["svm"].xy[np.sort(place), 0]) > 0).all()
    np.testing.assert_allclose(readouts["correlation"].value, correlation(run.W, solution.W), atol=1e-9)
    np.testing.assert_allclose(readouts["norm"].value, run.norm, rtol=1e-9)
    least = run.probabilities[:, np.arange(5), alpha[0]].min(1)
    np.testing.assert_allclose(readouts["attention"].value, least, atol=1e-9)
    assert readouts["support"].value == f"{solution.support.sum()} of {len(rows)}"
    # what the caption says
    assert readouts["correlation"].value[-1] > 0.998
    assert readouts["least"].value[-1] > 0.9
    assert np.nanmin(marks["trained"].xy[..., 1]) > -1.2
    assert np.nanmax(marks["trained"].xy[..., 1]) < 4


@pytest.mark.parametrize("angle", [10, 90, 170, *DRAWN.choice(ANGLES, 2, replace=False).tolist()])
@pytest.mark.parametrize("wish", WISHES)
@pytest.mark.parametrize("mask", MASKS)
def test_two_positions_have_their_closed_forms(angle, wish, mask):
    theta = np.radians(angle)
    picture = two_positions(angle=angle, wish=wish, mask=mask)
    x1, x2 = two_tokens(angle)[0]
    assert x1 @ x2 == pytest.approx(np.cos(theta), abs=1e-14)
    same = wish == WISHES[0]
    if mask == "causal":
        u, norm = (x2 if same else -x2), 1 / (2 * np.sin(theta / 2))
    elif same:
        u, norm = (x1 + x2) / (1 + np.cos(theta)), 1 / np.sin(theta)
    else:
        u, norm = (x1 - x2) / (1 - np.cos(theta)), 1 / (1 - np.cos(theta))
    assert picture.readouts["norm"].value == pytest.approx(norm, rel=1e-9)
    assert picture.readouts["margin"].value == pytest.approx(1 / norm, rel=1e-9)
    assert (picture.readouts["rank"].value, picture.readouts["rows"].value) == (1, 1 if mask == "causal" else 2)
    np.testing.assert_allclose(picture.marks["now"].xy, [[angle, norm]], rtol=1e-9)
    tip = picture.marks["u"].end[0]
    if np.abs(u).max() <= 3:
        np.testing.assert_allclose(tip, u, atol=1e-9)
        assert picture.message is None
    else:
        assert np.isnan(tip).all()
        assert "beyond the picture" in picture.message
    for j, (x, wants) in enumerate(((x1, 1), (x2, 1 if same else -1))):
        line = picture.marks[f"line {j + 1}"]
        if mask == "causal" and j == 0:
            assert np.isnan([*line.x, *line.y]).all()
        else:
            np.testing.assert_allclose(np.stack([line.x, line.y], 1) @ x, wants, atol=1e-12)


def test_the_three_curves_are_their_closed_forms():
    marks, theta = two_positions().marks, np.radians(ANGLES)
    np.testing.assert_allclose(marks["causal"].y, 1 / (2 * np.sin(theta / 2)), rtol=1e-9)
    np.testing.assert_allclose(marks["same"].y, 1 / np.sin(theta), rtol=1e-9)
    np.testing.assert_allclose(marks["own"].y, 1 / (1 - np.cos(theta)), rtol=1e-9)


@pytest.mark.parametrize("token", DRAGGED)
@pytest.mark.parametrize("wish", list(WANTED))
@pytest.mark.parametrize("mask", MASKS)
def test_the_dragged_token_is_solved_as_by_the_library(token, wish, mask):
    X, causal = np.vstack([FIRST, [token]])[None], mask == "causal"
    picture = drag_the_last_token(token=token, wish=wish, mask=mask)
    margins = picture.marks["margin"].values
    here = margins[np.abs(GRID - token[1]).argmin(), np.abs(GRID - token[0]).argmin()]
    try:
        solution = sequential_svm(X, [WANTED[wish]], causal=causal)
    except InfeasibleError:
        assert "contradict" in picture.message
        assert np.isnan(picture.readouts["margin"].value)
        assert np.isnan(here) or tuple(token) == (0.4, -0.8)
        return
    assert picture.message is None
    assert picture.readouts["margin"].value == pytest.approx(solution.margin, rel=1e-9)
    assert picture.readouts["support"].value == solution.support.sum()
    if tuple(token) != (0.4, -0.8):
        assert here == pytest.approx(solution.margin, rel=1e-9)
    looks = X[0] @ solution.W.T
    looks /= np.linalg.norm(looks, axis=1, keepdims=True)
    for j in range(3):
        np.testing.assert_allclose(picture.marks[f"look {j + 1}"].end[0], looks[j], atol=1e-9)


def test_the_mask_makes_a_whole_region_possible():
    share = {m: drag_the_last_token(wish="all want token 1", mask=m).readouts["share"].value for m in MASKS}
    assert share["causal"] > 0.95
    assert 0.6 < share["none"] < 0.8
