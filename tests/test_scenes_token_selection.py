"""What the explorables of chapter 1 show is what the public solvers say, computed here without the scenes' helpers."""

import numpy as np
import pytest

from attsvm_lib import (
    ConvergenceError,
    InfeasibleError,
    LinearHead,
    TokenData,
    att_svm,
    correlation,
    optimal_tokens,
    scores,
    train,
)
from attsvm_lib.experiments import feasible_sequences, random_problem
from attsvm_lib.scenes import token_selection
from attsvm_lib.scenes.token_selection import (
    DIMENSIONS,
    GRID,
    HEAD,
    LABELS,
    MOST,
    QUERIES,
    STEPS,
    TOKENS,
    drag_a_token,
    separability_map,
)

rng = np.random.default_rng(8)
POSITIONS = [(float(x), float(y)) for x, y in rng.choice(GRID, size=(5, 2))]
SIZES = [(2, 0), (7, 2), (15, 2), (23, 1), (20, 4)]


def hero(token):
    X = TOKENS.copy()
    X[0, 2] = token
    data = TokenData(X, QUERIES, LABELS)
    return data, optimal_tokens(scores(data, HEAD))


@pytest.mark.parametrize("model", ["W", "(K, Q)"])
@pytest.mark.parametrize("token", POSITIONS)
def test_the_hero_shows_the_solvers_solution_and_the_trained_direction(token, model):
    picture = drag_a_token(token=token, model=model)
    data, alpha = hero(token)
    is_W = model == "W"
    solution = att_svm(data, alpha, norm="frobenius" if is_W else "nuclear")
    eye = np.eye(2)
    options = {} if is_W else {"parameterization": "KQ", "normalization": "joint"}
    run = train(data, LinearHead(HEAD), start=eye if is_W else (eye, eye), steps=400, step=0.25,
                checkpoints=STEPS, **options)  # fmt: skip

    arrows = picture.marks["W_mm" if is_W else "W*_mm"].end
    wanted = QUERIES @ solution.W.T
    np.testing.assert_allclose(arrows, wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-9)
    path = picture.marks["path W" if is_W else "path KQ"].xy
    trained = QUERIES @ run.W.swapaxes(1, 2)
    np.testing.assert_allclose(
        path / np.linalg.norm(path, axis=2, keepdims=True),
        trained / np.linalg.norm(trained, axis=2, keepdims=True),
        atol=1e-6,
    )
    for i in range(2):
        attention = picture.marks[f"attention {i + 1}"].xy[:, 1]
        np.testing.assert_allclose(attention, run.probabilities[:, i, alpha[i]], atol=1e-6)
        np.testing.assert_array_equal(picture.marks[f"selected {i + 1}"].xy[0], data.X[i, alpha[i]])
    np.testing.assert_allclose(picture.readouts["correlation"].value, correlation(run.W, solution.W), atol=1e-6)
    assert picture.readouts["margin"].value == pytest.approx(solution.margin, rel=1e-9)
    assert picture.readouts["norm"].value == pytest.approx(solution.objective, rel=1e-9)
    assert picture.readouts["support"].value == solution.support.sum()


def test_the_dragged_token_matters_exactly_where_its_absence_changes_the_solution():
    for token in POSITIONS:
        data, alpha = hero(token)
        if alpha[0] == 2:
            continue
        X = data.X.copy()
        X[0, 2] = X[0, 1 - alpha[0]]  # without the dragged token: a copy of the other one asks for nothing new
        without = att_svm(TokenData(X, QUERIES, LABELS), alpha)
        same = np.allclose(without.W, att_svm(data, alpha).W, rtol=1e-9)
        assert picture_says(token) == ("no" if same else "yes")


def picture_says(token):
    return drag_a_token(token=token).readouts["matters"].value


def test_positions_without_a_solution_say_why():
    duplicate, tie = drag_a_token(token=(0.6, 0.7)), drag_a_token(token=(0.9, 0.3))
    assert "duplicates" in duplicate.message
    assert "exactly as much" in tie.message
    for picture in (duplicate, tie):
        assert np.isnan(picture.marks["W_mm"].end).all()
        assert np.isnan(picture.readouts["margin"].value)
    assert drag_a_token(token=(0.5, 0.7)).message is None


@pytest.mark.parametrize("model", ["W", "(K, Q)"])
@pytest.mark.parametrize("shift", [0.0, 1e-14, 1e-12, 1e-9, 3e-7, 1e-5, 1e-3])
@pytest.mark.parametrize(("star", "words"), [((0.6, 0.7), "duplicates"), ((0.9, 0.3), "scores")])
def test_a_live_kernel_never_meets_an_error_close_to_a_tie(star, words, shift, model):
    picture = drag_a_token(token=(star[0] - shift, star[1]), model=model)
    absent = np.isnan(picture.readouts["margin"].value)
    assert absent == (picture.message is not None)
    if shift <= 3e-7:
        assert words in picture.message
        assert ("to within 1e-6" in picture.message) == (shift > 0)


def test_a_solver_that_stops_short_of_its_accuracy_is_said(monkeypatch):
    def fail(*_, **__):
        raise ConvergenceError(1e-3)

    monkeypatch.setattr(token_selection, "att_svm", fail)
    picture = drag_a_token(token=(0.5, 0.5))
    assert "does not reach its accuracy" in picture.message
    assert np.isnan(picture.readouts["margin"].value)


@pytest.mark.parametrize("tokens", ["3", "6", "12"])
@pytest.mark.parametrize("cell", SIZES)
def test_the_map_shows_shares_and_checkable_proofs(cell, tokens):
    n, d, T = cell[0] + 1, int(DIMENSIONS[cell[1]]), int(tokens)
    picture = separability_map(cell=cell, tokens=tokens)
    reached = feasible_sequences(T, d, most=MOST, draws=30)
    assert picture.readouts["share"].value == picture.marks["share"].values[cell] == np.mean(reached >= n)
    assert picture.readouts["proved"].value == n  # unit tokens: feasible as soon as d >= n, for any T
    assert picture.readouts["law"].value == pytest.approx(np.sqrt(0.8 * n * np.log(T)))

    median = np.argsort(reached, kind="stable")[15]
    data, alpha = random_problem(MOST, T, d, seed=0, index=int(median), selection="random")
    first = TokenData(data.X[:n], data.Z[:n], data.Y[:n])
    multipliers, farkas = picture.marks["multipliers"].y, picture.marks["farkas"].y
    try:
        solution = att_svm(first, alpha[:n])
    except InfeasibleError:
        assert np.isnan(multipliers).all()
        assert "No W exists" in picture.message
        assert farkas.sum() == pytest.approx(1)
        blamed = np.flatnonzero(farkas)
        part = TokenData(data.X[blamed], data.Z[blamed], data.Y[blamed])
        with pytest.raises(InfeasibleError):  # the sequences with a bar contradict each other by themselves
            att_svm(part, alpha[blamed])
    else:
        assert picture.message is None
        assert np.isnan(farkas).all()
        wanted = np.bincount(solution.rows[:, 0], solution.multipliers, minlength=MOST)
        np.testing.assert_allclose(multipliers, wanted / wanted.sum(), atol=1e-12)
        assert picture.readouts["margin"].value == pytest.approx(solution.margin, rel=1e-9)
