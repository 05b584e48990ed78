"""Chapter 2's scenes show what the public solvers compute, at random grid points; and the closed form of the hero."""

import subprocess
import sys

import numpy as np
import pytest

from attsvm_lib import att_svm, correlation, optimal_tokens, predicted_constant, regularization_path, scores
from attsvm_lib.data import TokenData, random_data, random_direction
from attsvm_lib.scenes.implicit_bias import (
    ANGLES,
    RADII,
    STARTS,
    WIDTHS,
    path_problem,
    path_to_the_margin,
    two_rows,
    two_rows_data,
)

DRAWN = np.random.default_rng(2)
POINTS = [(a, int(m)) for a, m in [("cross", 1), ("cross", 6), ("self", 1), ("self", 2), ("self", 6)]]


@pytest.mark.parametrize("angle", sorted(DRAWN.choice(ANGLES, 5, replace=False).tolist()))
def test_rows_and_singular_values_are_those_of_the_solvers(angle):
    picture = two_rows(angle=angle)
    theta = np.radians(angle)
    X, Z = [[[1, 0], [0, 0]], [[0, 1], [0, 0]]], [[1, 0], [np.cos(theta), np.sin(theta)]]
    data = TokenData(X, Z, [1, 1])
    for name, norm in (("W_mm", "frobenius"), ("W*_mm", "nuclear")):
        solution = att_svm(data, [0, 0], norm=norm)
        np.testing.assert_allclose(picture.marks[name].end, solution.W, atol=1e-12)
        star = "" if norm == "frobenius" else "*"
        points = picture.marks[f"values{star}"].xy
        np.testing.assert_allclose(points[:, 1], np.linalg.svd(solution.W, compute_uv=False), atol=1e-12)
        np.testing.assert_allclose((picture.marks[f"rows{star}"].xy * data.Z).sum(1), 1)
    assert picture.readouts["rank"].value == 2
    assert picture.readouts["rank*"].value == 1


@pytest.mark.parametrize("angle", [5, 60, 89, 91, 140])
def test_the_hero_is_the_closed_form(angle):
    c = np.cos(np.radians(angle))
    picture = two_rows(angle=angle)
    z1, z2 = two_rows_data(angle).Z
    np.testing.assert_allclose(picture.marks["W_mm"].end, [z1, z2], atol=1e-12)
    row = (z1 + np.sign(c) * z2) / (1 + abs(c))
    np.testing.assert_allclose(picture.marks["W*_mm"].end, [row, np.sign(c) * row], atol=1e-10)
    assert picture.readouts["correlation"].value == pytest.approx(np.sqrt((1 + abs(c)) / 2), abs=1e-10)
    assert picture.readouts["nuclear"].value == pytest.approx(np.sqrt(1 + c) + np.sqrt(1 - c), abs=1e-12)
    assert picture.readouts["nuclear*"].value == pytest.approx(2 / np.sqrt(1 + abs(c)), abs=1e-12)


def test_each_line_is_at_distance_one_along_its_query():
    picture = two_rows(angle=70)
    for i, name in enumerate(("line 1", "line 2")):
        line = picture.marks[name]
        np.testing.assert_allclose(np.stack([line.x, line.y], 1) @ two_rows_data(70).Z[i], 1, atol=1e-12)


def test_the_jump_is_said():
    assert "not unique" in two_rows(angle=90).message
    assert two_rows(angle=89).message is None


@pytest.mark.parametrize(("attention", "columns"), POINTS)
def test_paths_and_predictions_are_those_of_the_library(attention, columns):
    picture = path_to_the_margin(attention=f"{attention}-attention", columns=columns)
    rng = np.random.default_rng(15)
    data = random_data(4, 5, 6, rng=rng, attention=attention)
    v = random_direction(6, rng=rng)
    _, head = path_problem(attention)
    np.testing.assert_array_equal(head.v, v)
    for name, norm, width in (("W", "frobenius", None), ("KQ", "nuclear", columns)):
        solution = att_svm(data, optimal_tokens(scores(data, v)), norm=norm)
        path = regularization_path(
            data, head, RADII, parameterization=name, width=width, starts=STARTS, rng=np.random.default_rng(0)
        )
        limit = solution.W / solution.objective
        distance = [np.linalg.norm(W / R - limit) for W, R in zip(path.W, RADII, strict=True)]
        marks = picture.marks
        np.testing.assert_allclose(marks[f"distance {name}"].xy, np.stack([RADII, distance], 1), rtol=1e-9)
        C = predicted_constant(data, head, solution)
        narrow = name == "KQ" and columns < solution.rank
        np.testing.assert_allclose(marks[f"predicted {name}"].y, np.nan if narrow else C / RADII, rtol=1e-12)
        shares = np.linalg.svd(path.W, compute_uv=False) / np.linalg.norm(path.W, axis=(1, 2))[:, None]
        np.testing.assert_allclose(marks[f"values {name}"].y, shares, atol=1e-12)
        end = np.linalg.svd(solution.direction, compute_uv=False)
        np.testing.assert_allclose(marks[f"limit {name}"].xy[:, 1], end, atol=1e-12)
        np.testing.assert_allclose(picture.readouts[f"distance {name}"].value, distance, rtol=1e-9)
        lost = [1 - correlation(W, solution.W) for W in path.W]
        np.testing.assert_allclose(picture.readouts[f"lost {name}"].value, lost, atol=1e-12)


def test_a_single_column_stays_away_and_two_reach_the_limit():
    for attention in ("cross-attention", "self-attention"):
        at = {m: path_to_the_margin(attention=attention, columns=m).readouts["distance KQ"].value[-1] for m in WIDTHS}
        assert at[1] > 0.2
        assert at[2] < 1e-3
        assert at[6] == pytest.approx(at[2], rel=0.01)
        said = {m: path_to_the_margin(attention=attention, columns=m).message for m in WIDTHS}
        assert "no rate is predicted" in said[1]
        assert said[2] is said[6] is None


def test_a_path_needs_numpy_only():
    code = (
        "import sys; sys.modules['scipy'] = None\n"
        "from attsvm_lib.scenes.implicit_bias import path_to_the_margin as s; s(attention='cross-attention', columns=1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_import_needs_neither_matplotlib_nor_widgets():
    code = (
        "import sys, attsvm_lib.scenes.implicit_bias;"
        "bad = {'matplotlib', 'anywidget', 'ipywidgets', 'cvxpy'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
