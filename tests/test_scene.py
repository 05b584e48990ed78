"""A scene function checks its inputs, returns one structure, and says plainly what is wrong."""

import subprocess
import sys

import numpy as np
import pytest
import scenes_for_tests as examples
from hypothesis import given
from hypothesis import strategies as st

from attsvm_lib import scenes
from attsvm_lib.scene import (
    SCALES,
    STYLES,
    Arrows,
    Choice,
    Drag,
    Heatmap,
    Line,
    Panel,
    Panel3D,
    Path,
    Pick,
    Points,
    Points3D,
    Readout,
    Scene,
    Slider,
    Time,
    Toggle,
    scene,
)
from attsvm_lib.scene.coordinates import Ranges, coordinates, minus, ticks

WORDS = {"title": "T", "instruction": "I", "caption": "C"}


def make(function, **declared):
    """``function`` as a scene with one slider ``a`` and one panel unless declared otherwise."""
    declared = {"parameters": {"a": Slider("a", [0, 1, 2])}, "panels": {"p": Panel()}} | WORDS | declared
    return scene(**declared)(function)


def test_a_scene_is_still_a_function_with_checked_arguments_and_defaults():
    s = make(lambda a: Scene({"m": Points([[a, a]])}))
    assert s().marks["m"].xy.tolist() == [[1, 1]]
    assert s(a=0.37).marks["m"].xy.tolist() == [[0.37, 0.37]]
    assert s.starts == {"a": 1.0} and s.shape == (3,)
    with pytest.raises(ValueError, match="a must be a number from 0 to 2, got 2.5"):
        s(a=2.5)
    with pytest.raises(ValueError, match="has no parameter 'b'; it has a"):
        s(b=1)


def test_the_example_of_the_module_runs_as_printed():
    import attsvm_lib.scene as module

    text = module.__doc__.split("::\n", 1)[1].split("\nRules\n")[0]
    names = {"__name__": "example"}
    exec("\n".join(line[4:] for line in text.splitlines()), names)
    bowl = names["bowl"]
    assert bowl.name == "example.bowl"
    assert bowl(step=1.0).readouts["norm"].texts()[:2] == ("1.281", "0.000")


@pytest.mark.parametrize("s", examples.ALL, ids=lambda s: s.name)
def test_the_grid_visits_each_point_once_and_agrees_with_calls(s):
    points = list(s.over_grid())
    assert len(points) == np.prod(s.shape)
    keys = [tuple(arguments.values()) for arguments, _ in points]
    assert len(set(keys)) == len(keys)
    for k in np.random.default_rng(0).integers(len(points), size=6):
        arguments, on_grid = points[k]
        called = s(**arguments)
        assert on_grid.message == called.message
        for name, mark in called.marks.items():
            for channel, array in mark.channels().items():
                np.testing.assert_allclose(on_grid.marks[name].channels()[channel], array, rtol=1e-14)
        for name, r in called.readouts.items():
            assert on_grid.readouts[name].texts() == r.texts()


def test_marks_are_read_only_copies():
    xy = np.zeros((2, 2))
    mark = Points(xy)
    xy[0, 0] = 5
    assert mark.xy[0, 0] == 0
    with pytest.raises(ValueError, match="read-only"):
        mark.xy[0, 0] = 1


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Points([1, 2]), r"Points.xy must have shape \(\.\.\., N, 2\), got \(2,\)"),
        (lambda: Points([[1, np.inf]]), "Points.xy must be finite or NaN"),
        (lambda: Points([[1, 2]], style="pink"), "Points.style must be one of 'W', 'KQ'"),
        (lambda: Points([[1, 2]], text=("a", "b")), "Points.text must have 1 labels, got 2"),
        (lambda: Arrows([[0, 0]], [[1, 1], [2, 2]]), "must have the same number of points, got 1 and 2"),
        (lambda: Heatmap([[1.0]], scale="jet"), "Heatmap.scale must be one of 'sequential'"),
        (lambda: Heatmap([[1.0]], limits=(1, 1)), "Heatmap.limits must be two different numbers"),
        (lambda: Line("ab", [1]), "Line.x must be an array of real numbers"),
        (lambda: Slider("s", [2, 1]), "Slider.values must be at least two strictly increasing numbers"),
        (lambda: Choice("c", ["one"]), "Choice.options must be at least two different strings"),
        (lambda: Drag("d", [0], [0, 1]), "Drag.x must be at least two strictly increasing numbers"),
        (lambda: Drag("d", [0, 1], [0, 1], style="x"), "Drag.style must be one of"),
        (lambda: Pick("p", "m", (0, 3)), r"Pick.shape must be \(rows, columns\), got \(0, 3\)"),
        (
            lambda: Pick("p", "m", (2, 3), start=(2, 0)),
            r"start must be a cell \(row, column\) of a 2 x 3 heatmap",
        ),
        (lambda: Time("t", [0, 1, 2], start=3), "Time.start must be a frame from -3 to 2, got 3"),
        (lambda: Panel(xscale="log", xlim=(0, 1)), "Panel.xlim must be positive on a log axis"),
        (lambda: Panel(yscale="cubic"), "Panel.yscale must be one of 'linear', 'log', got 'cubic'"),
        (lambda: make(lambda a: None)(), r"must return a Scene, got NoneType"),
        (
            lambda: make(lambda a: Scene({"m": Points([[0, 0]], panel="q")}))(),
            "names a panel 'q'; there are p",
        ),
        (
            lambda: make(lambda a: Scene({"m": Points3D([[0, 0, 0]])}))(),
            r"\(Points3D\) cannot be in a Panel",
        ),
        (lambda: make(lambda a: Scene({"m": Points(np.zeros((2, 1, 2)))}))(), "in a scene without time"),
        (
            lambda: make(lambda a: Scene({"m": Path(np.zeros((2, 2)))}), time=Time("t", [0, 1, 2]))(),
            r"has xy of shape \(2, 2\) in a scene with 3 frames",
        ),
        (
            lambda: make(lambda a: Scene({}, {"r": Readout([1, 2], "r")}))(),
            "readout 'r' must be one number, got",
        ),
        (
            lambda: make(lambda c: Scene({}), parameters={"c": Pick("c", "m", (2, 2))})(),
            "picks a cell of a Heatmap 'm' of shape",
        ),
        (lambda: make(lambda a: Scene({}), title=" "), "title must be a sentence, got ' '"),
        (lambda: make(lambda a: Scene({}), panels={}), "panels must be one or two, got 0"),
        (
            lambda: make(lambda a: Scene({}), parameters={"a": 3}),
            "must be a Slider, Choice, Toggle, Drag or Pick",
        ),
        (
            lambda: make(lambda d: Scene({}), parameters={"d": Drag("d", [0, 1], [0, 1], panel="q")}),
            "parameter 'd' names a panel 'q'",
        ),
    ],
)
def test_bad_input_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        (Slider("s", [1, 2], only_grid=True), 1.5, "v must be one of 1, 2, got 1.5"),
        (Slider("s", [1, 2]), "1", "v must be a number from 1 to 2, got '1'"),
        (Slider("s", [1, 2]), np.nan, "v must be a number from 1 to 2, got nan"),
        (Choice("c", ["a", "b"]), "z", "v must be one of 'a', 'b', got 'z'"),
        (Toggle("t"), 1, "v must be True or False, got 1"),
        (Drag("d", [0, 1], [0, 1]), 0.5, r"v must be a pair \(x, y\), got 0.5"),
        (Drag("d", [0, 1], [0, 1]), (0, 2), r"v\[1\] must be a number from 0 to 1, got 2"),
        (Pick("p", "m", (2, 2)), (0.5, 0), r"v must be a cell \(row, column\) of a 2 x 2 heatmap"),
    ],
)
def test_a_value_outside_a_parameter_is_refused(parameter, value, message):
    with pytest.raises(ValueError, match=message):
        parameter.check("v", value)


def test_a_scene_must_keep_its_structure():
    s = make(lambda a: Scene({"m": Points(np.zeros((1 + int(a), 2)))}))
    s(a=0)
    with pytest.raises(ValueError, match="mark 'm' must have the same structure in each scene"):
        s(a=1)
    changing = make(lambda a: Scene({"m": Points([[0, 0]], label=f"a = {a}")}))
    changing(a=0)
    with pytest.raises(ValueError, match="must have the same structure"):
        changing(a=1)


def test_a_vectorized_scene_needs_the_grid_as_first_axis():
    s = make(lambda a: Scene({"m": Points(np.zeros((2, 1, 2)))}), vectorized=True)
    with pytest.raises(ValueError, match="mark 'm' of a vectorized scene must have a first axis of 3 or 1"):
        list(s.over_grid())


def test_readouts_are_formatted_here_and_absent_numbers_are_a_dash():
    assert Readout([0.5, np.nan], "r", ".2f", " ms").texts() == ("0.50 ms", "–")
    assert Readout("yes", "r").texts() == ("yes",)
    assert Readout(-1.0, "r", ".1f").texts() == ("-1.0",)


def test_log_axes_take_the_logarithm_and_refuse_zero():
    s = make(lambda a: Scene({"m": Points([[1, 10.0**a]])}), panels={"p": Panel(yscale="log")})
    assert coordinates(s, "m", s(a=2).marks["m"])["y"].tolist() == [[2.0]]
    bad = make(lambda a: Scene({"m": Points([[1, a]])}), panels={"p": Panel(yscale="log")})
    with pytest.raises(ValueError, match="mark 'm' has y = 0 on a log axis"):
        coordinates(bad, "m", bad(a=0).marks["m"])


def test_open_limits_cover_all_scenes_with_a_margin_and_given_ones_stay():
    s = make(lambda a: Scene({"m": Points([[a, -a]])}), panels={"p": Panel(ylim=(3, -3))})
    ranges = Ranges(s)
    for _, picture in s.over_grid():
        ranges.add(picture)
    assert ranges.axis("p", "x") == pytest.approx((-0.12, 2.12))
    assert ranges.axis("p", "y") == (3, -3)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e6))
def test_ticks_are_round_few_and_inside(low, span):
    if low + span == low or span < 1e-6 * abs(low):
        return
    marks = ticks(Panel(), "x", (low, low + span))
    assert 2 <= len(marks) <= 10
    assert all(low - 1e-6 * span <= v <= low + span + 1e-6 * span for v, _ in marks)
    assert all(float(text.replace("−", "-")) == pytest.approx(v, abs=1e-6 * span) for v, text in marks)


def test_ticks_of_a_log_axis_are_powers_of_ten():
    assert [t for _, t in ticks(Panel(yscale="log"), "y", (-2, 1))] == ["10⁻²", "10⁻¹", "10⁰", "10¹"]
    assert minus("-0.00") == "0.00" and minus("-1.50") == "−1.50"


def test_the_camera_is_a_rotation_that_looks_along_its_angles():
    for azimuth, elevation in [(0, 0), (35, 20), (-120, 80)]:
        r = Panel3D(camera=(azimuth, elevation)).rotation()
        np.testing.assert_allclose(r @ r.T, np.eye(3), atol=1e-15)
        assert np.linalg.det(r) == pytest.approx(1)
        a, e = np.radians([azimuth, elevation])
        np.testing.assert_allclose(r[2], [np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)], atol=1e-15)


def _contrast(one: str, other: str) -> float:
    """WCAG contrast ratio of two #rrggbb colors."""

    def luminance(color):
        c = np.array([int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)])
        c = np.where(c <= 0.03928, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
        return float(c @ [0.2126, 0.7152, 0.0722])

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", STYLES)
def test_each_style_is_visible_on_light_and_dark_pages(name):
    style = STYLES[name]
    if style.color != "currentColor":
        assert _contrast(style.color, "#FFFFFF") >= 3
        assert _contrast(style.dark, "#14181E") >= 3


@pytest.mark.parametrize(
    "group",
    [
        ("W", "KQ", "svm", "nuclear"),
        ("token-1", "token-2"),
        ("selected-1", "selected-2"),
        ("query-1", "query-2"),
        ("series-1", "series-2", "series-3", "series-4"),
    ],
)
def test_styles_that_meet_differ_by_more_than_color(group):
    looks = [(STYLES[n].dash, STYLES[n].marker, STYLES[n].filled) for n in group]
    assert len(set(looks)) == len(group)


def test_color_scales_are_hex_and_monotone_in_lightness_where_sequential():
    for stops in SCALES.values():
        assert all(len(s) == 7 and s[0] == "#" and int(s[1:], 16) >= 0 for s in stops)
    for name in ("sequential", "attention"):
        steps = np.diff([_contrast(s, "#000000") for s in SCALES[name]])
        assert (steps > 0).all() or (steps < 0).all()


def test_registered_scenes_are_found_by_their_names():
    for name in scenes.names():
        assert scenes.get(name).name == name
    with pytest.raises(ValueError, match="name must be one of"):
        scenes.get("token_selection.no_such_scene")
    with pytest.raises(ValueError, match="name must be one of"):
        scenes.get("os.path")


def test_scenes_import_numpy_only():
    code = (
        "import sys, attsvm_lib.scenes as s; s.names();"
        "bad = {'anywidget', 'ipywidgets', 'traitlets', 'matplotlib', 'scipy', 'cvxpy'} & set(sys.modules);"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
