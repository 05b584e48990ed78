"""An explorable keeps what Python computed, within its budget, as a full widget; the kernel answers any
value.
"""

import json
import subprocess
import sys

import ipywidgets
import numpy as np
import pytest
import scenes_for_tests as examples
import traitlets
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from attsvm_lib import scenes
from attsvm_lib.explore import Explorable, encode, live, widget
from attsvm_lib.scene import Panel, Points, Readout, Scene, Slider, scene
from attsvm_lib.scene.coordinates import coordinates
from attsvm_lib.scene.reserved import OWN, WIDGET

EVERY_SCENE = [*examples.ALL, *map(scenes.get, scenes.names())]
by_name = pytest.mark.parametrize("s", EVERY_SCENE, ids=lambda s: s.name)


def one_slider(function, values=(0, 1, 2), **panel):
    declared = {"parameters": {"a": Slider("a", values)}, "panels": {"p": Panel(**panel)}}
    return scene(title="T", instruction="I", caption="C", **declared)(function)


@by_name
def test_decoded_numbers_are_the_scenes_to_half_a_step_and_within_the_budget(s, monkeypatch):
    pairs = list(s.over_grid())
    monkeypatch.setattr(s, "over_grid", lambda: iter(pairs))
    encoded = encode.encode(s)
    assert encoded.size <= encode.BUDGET
    pictures = [picture for _, picture in pairs]
    text = encode.decode_text(encoded)
    for name, mark in encoded.sample.marks.items():
        for channel, how in encoded.channels[name].items():
            stored = encode.decode(encoded, name, channel)
            exact = np.stack([coordinates(s, name, p.marks[name])[channel] for p in pictures])
            stored = np.broadcast_to(stored, exact.shape)
            assert (np.isnan(stored) == np.isnan(exact)).all(), (name, channel)
            np.testing.assert_allclose(stored, exact, atol=(how["hi"] - how["lo"]) / 65534 / 2 * 1.001, rtol=0)
        assert mark.static() == pictures[0].marks[name].static()
    for k, r in enumerate(pictures[0].readouts):
        flat = [t for p in pictures for t in p.readouts[r].texts()]
        assert text["readouts"][k] == flat
    assert [text["messages"][i] for i in text["message"]] == [p.message or "" for p in pictures]


@given(
    arrays(np.uint16, st.tuples(*[st.integers(1, 6)] * 3)),
    st.lists(st.sampled_from([0, 1, 2]), max_size=2, unique=True),
)
def test_differences_are_undone_exactly_in_any_order(q, axes):
    sizes = [(q.shape[1] * q.shape[2], q.shape[0]), (q.shape[2], q.shape[1]), (1, q.shape[2])]
    deltas = [sizes[k] for k in axes]
    flat = encode._difference(q, deltas)
    for stride, length in deltas:
        # the viewer's loop
        for i in range(stride, flat.size):
            if (i // stride) % length:
                flat[i] = (int(flat[i]) + int(flat[i - stride])) % 65536
    np.testing.assert_array_equal(flat.reshape(q.shape), q)


def test_a_number_that_is_the_same_everywhere_is_stored_once():
    s = one_slider(lambda a: Scene({"fixed": Points([[0.5, 0.5]]), "moving": Points([[a, 0]])}))
    channels = encode.encode(s).channels
    assert channels["fixed"]["x"]["shape"][0] == 1 and channels["moving"]["x"]["shape"][0] == 3


def test_noise_beyond_the_budget_is_refused_and_the_message_says_what_takes_it():
    rng = np.random.default_rng(0)
    s = one_slider(lambda a: Scene({"noise": Points(rng.random((5000, 2))), "dot": Points([[0, 0]])}), range(20))
    with pytest.raises(ValueError, match=r"takes \d+ kB in the page, the budget is 300 kB.*Largest: mark 'noise'"):
        encode.encode(s)


def test_a_mark_far_outside_its_axis_is_refused():
    s = one_slider(lambda a: Scene({"m": Points([[1000 * a, 0]])}), xlim=(0, 1))
    with pytest.raises(ValueError, match=r"mark 'm' \(x\) runs from 0 to 2000, too far outside its axis"):
        encode.encode(s)


def test_progress_is_silent_unless_asked_for(capsys):
    s = one_slider(lambda a: Scene({"m": Points([[a, 0]])}))
    Explorable(s)
    assert capsys.readouterr() == ("", "")
    Explorable(s, progress=True)
    assert capsys.readouterr().err.endswith("3/3\n")


def test_parameters_are_traits():
    w = Explorable(examples.sphere, beta=1.5)
    seen = []
    w.observe(lambda change: seen.append((change["name"], change["new"])), ["beta", "symmetric", "frame"])
    w.beta = 4
    w.symmetric = True
    w.frame = 7
    assert (w.beta, w.symmetric, w.frame) == (4.0, True, 7)
    assert seen == [("beta", 4.0), ("symmetric", True), ("frame", 7)]
    assert {"beta", "symmetric", "frame"} <= set(w.get_state())
    for name, value, message in [
        ("beta", 9, "beta must be a number from 0 to 4, got 9"),
        ("symmetric", 1, "must be True or False"),
    ]:
        with pytest.raises(traitlets.TraitError, match=message):
            setattr(w, name, value)
    with pytest.raises(traitlets.TraitError):
        w.frame = 21


def test_a_dragged_point_is_a_tuple_and_a_picked_cell_too():
    w = Explorable(examples.drag_a_token)
    w.token = [0.33, -0.1]
    assert w.token == (0.33, -0.1)
    w.set_state({"token": [0.2, 0.4], "model": "(K, Q)", "frame": 3})
    assert (w.token, w.model, w.frame) == ((0.2, 0.4), "(K, Q)", 3)
    p = Explorable(examples.phase, cell=(0, 1))
    assert p.cell == (0, 1)
    with pytest.raises(traitlets.TraitError, match=r"cell must be a cell \(row, column\) of a 5 x 7 heatmap"):
        p.cell = (5, 0)


def test_two_explorables_link_and_sit_in_a_box():
    one, two = Explorable(examples.sphere), Explorable(examples.sphere)
    link = traitlets.link((one, "beta"), (two, "beta"))
    one.beta = 0.5
    assert two.beta == 0.5
    link.unlink()
    assert ipywidgets.HBox([one, two]).children == (one, two)
    slider = ipywidgets.FloatSlider(min=0, max=4)
    traitlets.link((slider, "value"), (one, "beta"))
    slider.value = 3.5
    assert one.beta == 3.5


def test_its_text_is_stable_and_says_what_to_do():
    w = Explorable(examples.sphere)
    assert repr(w) == "Explorable(scenes_for_tests.sphere): run this cell to interact"
    assert w._repr_mimebundle_()[0]["text/plain"] == repr(w)


def test_the_state_names_the_scene_and_is_plain_json():
    w = Explorable(examples.drag_a_token, frame=-2)
    state = w.get_state()
    assert state["_spec"]["scene"] == "scenes_for_tests.drag_a_token"
    assert state["frame"] == len(examples.STEPS) - 2
    json.dumps(state["_spec"], allow_nan=False)
    assert w.size == encode.base64_size(len(state["_data"]))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Explorable(len), "scene must be a function decorated with @scene"),
        (lambda: Explorable(examples.sphere, beta=7), "beta must be a number from 0 to 4, got 7"),
        (lambda: Explorable(examples.sphere, gamma=7), "has no parameter 'gamma'"),
        (lambda: Explorable(examples.phase, frame=0), "has no time, so frame must be left out, got 0"),
        *[
            (lambda frame=frame: Explorable(examples.sphere, frame=frame), "frame must be a frame from -21 to 20, got ")
            for frame in (1e9, -100, 1.5, "a", np.nan, [1], True)
        ],
        *[
            (lambda budget=budget: Explorable(examples.sphere, budget=budget), "budget must be a number of characters")
            for budget in (None, 0, -1, 0.5, "big", np.nan)
        ],
        (lambda: Explorable(examples.sphere, progress="yes"), "progress must be True or False, got 'yes'"),
        (lambda: Explorable(None), "scene must be a function decorated with @scene, got None"),
    ],
)
def test_bad_construction_is_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()


def test_no_public_name_of_the_widget_is_free_for_a_parameter():
    public = {name for name in dir(Explorable) if not name.startswith("_")}
    assert public <= OWN | WIDGET


@pytest.mark.parametrize("value", [0.0, 1e-310, 1.0, -1e12, 1e12])
def test_constants_of_any_size_within_the_range_are_stored_to_a_step(value):
    s = one_slider(lambda a: Scene({"m": Points([[a, value]])}))
    encoded = encode.encode(s)
    how = encoded.channels["m"]["y"]
    assert encode.decode(encoded, "m", "y") == pytest.approx(value, abs=(how["hi"] - how["lo"]) / 65534)
    json.dumps(Explorable(s).get_state()["_spec"], allow_nan=False)


def received(reply, buffers):
    return {
        (m, c): np.frombuffer(b, "<f8").reshape(f, n) for (m, c, f, n), b in zip(reply["marks"], buffers, strict=True)
    }


def test_the_kernel_says_hello_and_computes_any_value():
    s = examples.drag_a_token
    assert live.answer(s, {"kind": "hello"}) == ({"kind": "alive"}, [])
    assert live.answer(s, {"kind": "other"}) is None and live.answer(s, "noise") is None
    parameters = {"token": [0.123, -0.456], "model": "W"}
    reply, buffers = live.answer(s, {"kind": "request", "id": "v-1", "scene": s.name, "parameters": parameters})
    assert (reply["kind"], reply["id"]) == ("scene", "v-1")
    exact = s(token=(0.123, -0.456), model="W")
    for (name, channel), array in received(reply, buffers).items():
        np.testing.assert_array_equal(array, coordinates(s, name, exact.marks[name])[channel])
    assert reply["readouts"] == [list(r.texts()) for r in exact.readouts.values()]
    json.dumps(reply, allow_nan=False)


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            {"scene": "scenes_for_tests.sphere", "parameters": {"beta": 99}},
            "ValueError: beta must be a number from 0 to 4, got 99",
        ),
        (
            {"scene": "elsewhere", "parameters": {}},
            "ValueError: scene must be 'scenes_for_tests.sphere' here",
        ),
        ({"scene": "scenes_for_tests.sphere", "parameters": {"gamma": 1}}, "has no parameter 'gamma'"),
    ],
)
def test_a_failed_request_is_answered_by_a_plain_message(message, text):
    reply, buffers = live.answer(examples.sphere, {"kind": "request", "id": 5, **message})
    assert reply["kind"] == "error" and reply["id"] == 5 and text in reply["text"] and buffers == []


def test_a_missing_module_is_named_so_that_a_host_can_load_it():
    @one_slider
    def needs_more(a):
        import no_such_package.linalg

        return no_such_package.linalg.norm(a)

    reply, _ = live.answer(needs_more, {"kind": "request", "id": 5, "scene": needs_more.name, "parameters": {"a": 0.5}})
    assert (reply["kind"], reply["module"]) == ("error", "no_such_package")


def test_the_widget_answers_messages_and_goes_on_after_an_error(monkeypatch):
    def broken_in_the_middle(a):
        if 0.4 < a < 0.6:
            raise RuntimeError("no value here")
        return Scene({"m": Points([[a, 0]])}, {"r": Readout(a, "a")})

    w = Explorable(one_slider(broken_in_the_middle))
    sent = []
    monkeypatch.setattr(w, "send", lambda content, buffers=None: sent.append(content))
    request = {"kind": "request", "scene": w.scene.name}
    for message in [
        {"kind": "hello"},
        request | {"id": 1, "parameters": {"a": 0.5}},
        request | {"id": 2, "parameters": {"a": 0.7}},
    ]:
        w._handle_custom_msg(message, [])
    assert [m["kind"] for m in sent] == ["alive", "error", "scene"]
    assert sent[1]["text"] == "RuntimeError: no value here"
    assert sent[2]["readouts"] == [["0.700"]]


def test_the_viewer_is_small_and_self_contained():
    source = widget.viewer()
    assert len(source.encode()) < 38_000
    assert "import " not in source and "http" not in source.replace("http://www.w3.org/2000/svg", "")
    for rule in widget.stylesheet().split("}"):
        for selector in rule.split("{")[0].split(","):
            assert not selector.strip().startswith(".") or selector.strip().startswith(".ex-"), selector


def test_a_widget_needs_no_drawing_library():
    code = (
        "import sys, attsvm_lib.explore;bad = {'matplotlib', 'scipy', 'cvxpy'} & set(sys.modules); assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
