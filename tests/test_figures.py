"""A static figure shows the numbers of the scene it is drawn from."""

import matplotlib
import numpy as np
import pytest
import scenes_for_tests as examples

from attsvm_lib import scenes
from attsvm_lib.figures import book_style, draw, separability_curves

pytestmark = pytest.mark.usefixtures("no_window")


@pytest.mark.parametrize("s", [*examples.ALL, *map(scenes.get, scenes.names())], ids=lambda s: s.name)
def test_every_scene_can_be_drawn_and_saved(s, tmp_path):
    figure = draw(s)
    figure.savefig(tmp_path / "figure.pdf")
    assert (tmp_path / "figure.pdf").stat().st_size > 3000
    labels = {m.label for m in s().marks.values() if m.label and is_drawn(m)}
    shown = {t.get_text() for legend in figure.legends for t in legend.get_texts()}
    shown |= {ax.get_xlabel() for ax in figure.axes}
    assert labels <= shown
    assert not {m.label for m in s().marks.values() if m.label and not is_drawn(m)} & shown


def is_drawn(mark):
    arrays = (a for a in vars(mark).values() if isinstance(a, np.ndarray) and a.dtype.kind == "f")
    return all(np.isfinite(a).any() for a in arrays)


def test_marks_over_a_heatmap_have_a_light_outline():
    over, beside = draw(scenes.get("token_selection.separability_map")).axes[:2]
    assert over.lines and all(drawn.get_path_effects() for drawn in over.lines)
    assert not any(drawn.get_path_effects() for drawn in beside.lines)


def test_lines_carry_the_scenes_numbers_up_to_the_frame():
    picture = examples.drag_a_token(token=(0.6, 0.4), model="W")
    figure = draw(examples.drag_a_token, token=(0.6, 0.4), model="W", frame=10)
    path = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 11]
    np.testing.assert_array_equal(path[0].get_xydata(), picture.marks["path W"].xy[:11])
    assert path[0].get_color() == "#0072B2"
    curve = next(line for line in figure.axes[1].lines if len(line.get_xdata()) == len(examples.STEPS))
    np.testing.assert_allclose(curve.get_xdata(), np.log10(examples.STEPS))


def test_points_are_seen_by_the_same_camera():
    figure = draw(examples.sphere, frame=3)
    x = examples.sphere().marks["particles"].xyz[3]
    seen = examples.sphere.panels["sphere"].rotation() @ x.T
    dots = next(line for line in figure.axes[0].lines if len(line.get_xdata()) == len(x))
    np.testing.assert_allclose(dots.get_xydata().T, seen[:2])


def test_what_is_absent_is_said():
    assert draw(examples.drag_a_token, token=(0, 0)).get_suptitle() == "A zero token asks for no direction."


@pytest.mark.parametrize(
    ("build", "message"),
    [
        *[
            (lambda f=f: draw(examples.sphere, frame=f), "frame must be a frame from -21 to 20, got ")
            for f in (21, 1e9, -100, 1.5, "a")
        ],
        *[
            (lambda w=w: draw(examples.sphere, width=w), "width must be a number from 1 to 100, got ")
            for w in (0, -1, np.nan, "4")
        ],
        (lambda: draw(examples.phase, frame=0), "has no time, so frame must be left out, got 0"),
        (lambda: draw(None), "scene must be a function decorated with @scene, got None"),
        (lambda: draw(examples.sphere, beta=99), "beta must be a number from 0 to 4, got 99"),
        *[
            (lambda r=r: separability_curves(r), message)
            for r, message in [
                ({}, "reached must map at least one size"),
                ([1, 2], "reached must map at least one size"),
                ({3: [1, 2]}, r"reached must have sizes \(T, d\) as keys, got 3"),
                ({(1, 2): [1, 2]}, "T in reached must be an integer of at least 2, got 1"),
                ({(3, 2): [np.nan, 1]}, r"reached\[\(3, 2\)\] must be an integer array"),
                ({(3, 2): [-1, 1]}, r"reached\[\(3, 2\)\] must lie in"),
                ({(3, 2): np.zeros(0, int)}, r"reached\[\(3, 2\)\] must"),
                ({(T, 2): [1, 2] for T in range(2, 7)}, "reached must have at most four different T"),
            ]
        ],
        (lambda: separability_curves({(3, 2): [1, 2]}, law=0), "law must be a number from 0.001 to 1000, got 0"),
    ],
)
def test_bad_input_is_named_and_opens_no_figure(build, message):
    import matplotlib.pyplot as plt

    with pytest.raises(ValueError, match=message):
        build()
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    "build", [lambda: draw(examples.sphere), lambda: separability_curves({(3, 2): np.array([1, 2])})]
)
def test_a_failure_while_drawing_leaves_no_figure_open(build, monkeypatch):
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    def fail(*_, **__):
        raise RuntimeError("no legend")

    monkeypatch.setattr(Figure, "legend", fail)
    with pytest.raises(RuntimeError, match="no legend"):
        build()
    assert plt.get_fignums() == []


def test_a_list_of_counts_is_as_good_as_an_array():
    figure = separability_curves({(3, 2): [1, 2, 2, 4]})
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), [1, 1, 0.75, 0.25, 0.25, 0])


def test_the_style_leaves_the_readers_settings_alone():
    before = dict(matplotlib.rcParams)
    with book_style():
        assert matplotlib.rcParams["legend.frameon"] is False
    assert dict(matplotlib.rcParams) == before


def test_separability_curves_hold_the_shares():
    figure = separability_curves({(3, 2): np.array([1, 2, 2, 4]), (6, 2): np.array([1, 1, 2, 3])})
    top, bottom = figure.axes
    curve = top.lines[0]
    assert curve.get_label() == "T = 3"
    np.testing.assert_allclose(curve.get_xydata().T, [range(6), [1, 1, 0.75, 0.25, 0.25, 0]])
    np.testing.assert_allclose(bottom.lines[0].get_xdata(), np.arange(6) * np.log(3) / 4)
    assert bottom.lines[-1].get_xdata()[0] == 1 / 0.8
