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
    Bars,
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
        (lambda: Line([0, 1], [0, 1, 2]), "Line.x and .y must have the same number of points, got 2 and 3"),
        (lambda: Bars([1, 2], [1]), "Bars.x and .y must have the same number of points, got 2 and 1"),
        (lambda: Bars([1], [1], width=0), "Bars.width must be a number from 1e-12"),
        (lambda: Points([["1", "2"]]), "Points.xy must be an array of real numbers"),
        (lambda: Points([[1j, 2]]), "Points.xy must be an array of real numbers"),
        (lambda: Points(np.ma.array([[1, 2]], mask=[[1, 0]])), "Points.xy must be an array of real numbers"),
        (lambda: Points([[1, 2]], label=3), "Points.label must be a string, got 3"),
        (lambda: Points([[1, 2]], text=3), "Points.text must be a sequence of strings, got 3"),
        (lambda: Heatmap([[1.0]], extent=(0, 1)), r"Heatmap.extent \(x0, x1, y0, y1\) must be 4 numbers, got"),
        (lambda: Heatmap([[1.0]], extent=(0, 0, 0, 1)), r"Heatmap.extent\[:2\] must be two different numbers"),
        (lambda: Heatmap([[1.0]], format="zz"), "Heatmap.format must be a Python format of numbers"),
        (lambda: Toggle("t", start="yes"), "Toggle.start must be True or False, got 'yes'"),
        (lambda: Toggle(3), "Toggle.label must be a string, got 3"),
        (lambda: Choice("c", options=[1, 2]), r"Choice.options must be a sequence of strings, got \[1, 2\]"),
        (lambda: Choice("c", ["a", "b"], start="z"), "Choice.start must be one of 'a', 'b', got 'z'"),
        (lambda: Slider("s", [0, 1], start=np.nan), "Slider.start must be a number from -1e.12 to 1e.12, got nan"),
        (lambda: Slider("s", [0, 1], start="a"), "Slider.start must be a number from .*, got 'a'"),
        (lambda: Slider("s", [0, 1], format="zz"), "Slider.format must be a Python format of numbers"),
        (lambda: Slider("s", [-1.7e308, 1.7e308]), "Slider.values must lie within ±1e.12, got"),
        (lambda: Slider("s", 3), "Slider.values must be at least two strictly increasing numbers, got 3"),
        (lambda: Time("t", [0, 1], start=0.5), "Time.start must be a frame from -2 to 1, got 0.5"),
        (lambda: Time("t", [0, 1], seconds=-1), "Time.seconds must be a number from 0.1 to 3600, got -1"),
        (lambda: Panel(height="a"), "Panel.height must be a number from 0.05 to 20, got 'a'"),
        (lambda: Panel(xticks=[1, 2]), r"Panel.xticks must map positions to texts, got \[1, 2\]"),
        (lambda: Panel(xticks={"1": "a"}), "Panel.xticks must map numbers to strings, got '1': 'a'"),
        (lambda: Panel(xscale="log", xticks={0: "0"}), "Panel.xticks must map positive numbers to strings"),
        (lambda: Panel(equal=1), "Panel.equal must be True or False, got 1"),
        (lambda: Panel(3), "Panel.title must be a string, got 3"),
        (lambda: Panel(xlim=(0, 1e17)), "Panel.xlim must lie from -1e.12 to 1e.12"),
        (lambda: Panel(xlim=(1, 1 + 1e-14)), "Panel.xlim must .* differ by a share of at least 1e-12"),
        (lambda: Panel(ylim=(1e-310, 2e-310)), "Panel.ylim must .* differ by a share"),
        (lambda: Panel(yscale="log", ylim=(1e-310, 1)), "Panel.ylim must lie from 1e-300 to 1e300"),
        (lambda: Panel3D(half_width=-1), "Panel3D.half_width must be a number from 1e-06 to 1e.06, got -1"),
        (lambda: Panel3D(camera=None), "Panel3D.camera must be an array of real numbers, got None"),
        (lambda: Panel3D(camera=(1, 2, 3)), "Panel3D.camera must be 2 numbers, got"),
        (lambda: Pick("p", "m", (2.7, 2)), r"Pick.shape must be \(rows, columns\), got \(2.7, 2\)"),
        (lambda: Pick("p", 3, (2, 2)), "Pick.mark must be a string, got 3"),
        (lambda: Drag("d", [0, 1], [0, 1], start=3), "Drag.start must be 2 numbers, got 3"),
        (lambda: Readout(1, "r", "zz"), "Readout.format must be a Python format of numbers"),
        (lambda: Scene({"m": 3}), r"Scene.marks\['m'\] must be a mark such as Points"),
        (lambda: Scene([]), r"Scene.marks must map names to a mark such as Points, got \[\]"),
        (lambda: Scene({}, message=3), "Scene.message must be a string, None"),
        (lambda: make(lambda a: Scene({}), panels={"p": None}), r"panels\['p'\] must be a Panel or Panel3D"),
        (lambda: make(lambda a: Scene({}), time=3), "time must be a Time or None, got 3"),
        (lambda: make(lambda a: Scene({}), vectorized=1), "vectorized must be True or False, got 1"),
        (lambda: make(lambda a: Scene({}), parameters=3), "parameters must map names to a Slider"),
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
        (Slider("s", [0, 1]), True, "v must be a number from 0 to 1, got True"),
        (Slider("s", [0, 1]), np.ma.masked, "v must be a number from 0 to 1, got masked"),
        (Slider("s", [0, 1]), np.array([0.5]), "v must be a number from 0 to 1, got array"),
        (Choice("c", ["a", "b"]), np.array(["a", "b"]), "v must be one of 'a', 'b', got array"),
        (Drag("d", [0, 1], [0, 1]), [[1], [1, 2]], r"v\[0\] must be a number from 0 to 1, got \[1\]"),
        (Pick("p", "m", (2, 2)), None, r"v must be a cell \(row, column\) of a 2 x 2 heatmap, got None"),
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


@pytest.mark.parametrize("name", ["budget", "progress", "width", "frame", "scene", "layout", "keys", "ranges", "self"])
def test_a_parameter_whose_name_the_widget_or_figure_uses_is_refused_at_declaration(name):
    with pytest.raises(ValueError, match=f"a parameter cannot be called '{name}': widgets and figures use that name"):
        make(lambda **_: Scene({}), parameters={name: Slider("s", [0, 1])})


@pytest.mark.parametrize("name", ["_a", "two words", "lambda", "", 3])
def test_a_parameter_has_a_python_name(name):
    with pytest.raises(ValueError, match="under a name that is a string|name must be a Python name"):
        make(lambda **_: Scene({}), parameters={name: Slider("s", [0, 1])})


@pytest.mark.parametrize("value", [1e17, -1.7e308, 1.7e308, 1.1e12])
def test_data_beyond_what_an_axis_can_label_is_refused_and_names_scene_and_mark(value):
    s = make(lambda a: Scene({"m": Points([[0, value]])}))
    with pytest.raises(ValueError, match=r"<lambda>: mark 'm' has y = .*but an axis shows -1e\+12 to 1e\+12"):
        Ranges(s).add(s())
    h = make(lambda a: Scene({"m": Heatmap([[0, value]])}))
    with pytest.raises(ValueError, match="mark 'm' has v = "):
        Ranges(h).add(h())


@pytest.mark.parametrize("value", [1e-310, 1e305])
def test_a_log_axis_refuses_what_lies_beyond_its_range(value):
    s = make(lambda a: Scene({"m": Points([[1, value]])}), panels={"p": Panel(yscale="log")})
    with pytest.raises(ValueError, match="mark 'm' has y = .*but an axis shows 1e-300 to 1e300"):
        Ranges(s).add(s())


@pytest.mark.parametrize("scale", ["linear", "log"])
@given(st.floats(1e-300, 1e12), st.sampled_from([0.0, 1e-15, 1e-13, 1e-11, 0.3, 4.0]))
def test_every_allowed_axis_gets_ordered_limits_and_distinct_ticks(scale, low, share):
    high = min(low * (1 + share), 1e12)
    s = make(lambda a: Scene({"m": Line([1, 2], [low, high])}), panels={"p": Panel(yscale=scale)})
    ranges = Ranges(s)
    ranges.add(s())
    ends = ranges.axis("p", "y")
    assert ends[0] < ends[1] and np.isfinite(ends).all()
    at = [v for v, _ in ticks(s.panels["p"], "y", ends)]
    assert 2 <= len(at) <= 12 or scale == "log"
    assert len(set(at)) == len(at)


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
    for name in (None, 3, ["welcome"]):
        with pytest.raises(ValueError, match="name must be one of"):
            scenes.get(name)


def test_scenes_import_numpy_only():
    code = (
        "import sys, attsvm_lib.scenes as s; s.names();"
        "bad = {'anywidget', 'ipywidgets', 'traitlets', 'matplotlib', 'scipy', 'cvxpy'} & set(sys.modules);"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
