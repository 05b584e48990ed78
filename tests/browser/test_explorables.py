"""Every explorable in a real browser, without a kernel: each control, each way of input, numbers as the
library's.
"""

import re

import numpy as np
import pytest
import scenes_for_tests as examples
from driving import READY, WAYS, Explorable, compare, drive, tab_order, whole_grid, widget_of
from explorable_page import page
from python_in_pages import choose, off_grid

from attsvm_lib import scenes
from attsvm_lib.explore import live

NAME = """e => e.labels?.length ? [...e.labels].map((l) => l.textContent).join()
  : e.getAttribute('aria-label') ?? document.getElementById(e.getAttribute('aria-labelledby'))?.textContent"""
NAMES = [*(s.name for s in examples.ALL), *scenes.names()]


def find(name):
    return next((s for s in examples.ALL if s.name == name), None) or scenes.get(name)


@pytest.fixture(scope="module")
def html_of():
    """The page of a scene, built once: its explorable twice (two views of one widget)."""
    pages = {}

    def build(name, views=1, theme="light"):
        key = name, views, theme
        if key not in pages:
            widget = widget_of(find(name))
            pages[key] = page(*[widget] * views, theme=theme)
        return pages[key]

    return build


@pytest.fixture
def show(chromium, html_of):
    """Open a scene's page; afterwards nothing may have been asked from a network or reported as an error."""
    contexts, problems = [], []

    def open_(name, *, views=1, theme="light", width=1000, **options):
        context = chromium.new_context(viewport={"width": width, "height": 1000}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: problems.append(str(error)))
        tab.on("console", lambda m: m.type == "error" and problems.append(m.text))
        tab.route(
            re.compile("^(?!data:|blob:|about:)"), lambda r: (problems.append(r.request.url), r.abort())
        )
        tab.set_content(html_of(name, views, theme))
        tab.wait_for_function(READY.format(views))
        return [Explorable(root, find(name)) for root in tab.locator(".ex-root").all()]

    yield open_
    for context in contexts:
        context.close()
    assert problems == []


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_each_control_draws_the_librarys_numbers(show, name, how):
    (explorable,) = show(name, has_touch=how == "touch")
    assert drive(explorable, how) > 1


@pytest.mark.parametrize("name", NAMES)
def test_the_tab_key_reaches_each_control(show, name):
    (explorable,) = show(name)
    wanted = set(explorable.scene.parameters) | ({"play", "frame"} if explorable.scene.time else set())
    assert wanted <= set(tab_order(explorable))


@pytest.mark.parametrize("name", NAMES)
def test_each_control_has_a_name_and_keeps_its_keys(show, name):
    (explorable,) = show(name)
    for control in explorable.root.locator("[data-control]").all():
        assert control.get_attribute("data-lm-suppress-shortcuts") == "true"
        named = control.evaluate(NAME)
        assert named, control.evaluate("e => e.outerHTML")
    for output in explorable.root.locator("[data-readout]").all():
        assert output.get_attribute("aria-live") == "polite"
    assert (
        explorable.root.locator("[role=img]").first.get_attribute("aria-label") == explorable.scene.caption
    )


@pytest.mark.parametrize("name", NAMES)
def test_it_fits_a_phone(show, name):
    (explorable,) = show(name, width=360, theme="dark")
    assert explorable.page.evaluate("document.documentElement.scrollWidth") <= 360
    # marks may run out of their panel, where they are clipped
    wide = explorable.root.evaluate(
        "root => [...root.querySelectorAll(':not(.ex-marks, .ex-marks *)')]"
        ".filter((e) => e.getBoundingClientRect().right"
        " > root.getBoundingClientRect().right + 0.5).map((e) => e.outerHTML.slice(0, 90))"
    )
    assert wide == []
    compare(explorable, whole_grid(explorable.scene))


@pytest.mark.parametrize("name", NAMES)
def test_two_views_of_one_widget_stay_together(show, name):
    one, two = show(name, views=2)
    ids = one.page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
    ranges = whole_grid(one.scene)
    for name_, parameter in one.scene.parameters.items():
        target = parameter.grid[-1]
        one.root.evaluate("(root, [name, value]) => root.exSet(name, value)", [name_, target])
    assert compare(one, ranges)["parameters"] == compare(two, ranges)["parameters"]


def test_playing_runs_to_the_end_and_can_be_stopped(show):
    (e,) = show(examples.sphere.name)
    e.page.clock.install()
    play = e.control("play")
    assert play.get_attribute("aria-label") == "Play"
    play.click()
    assert play.get_attribute("aria-label") == "Pause"
    assert e.root.locator("[data-readout]").first.get_attribute("aria-live") == "off"
    e.page.clock.run_for(1000)
    assert examples.sphere.time.start < e.value("frame") < examples.sphere.time.frames - 1
    play.focus()
    e.page.keyboard.press("Space")
    stopped = e.value("frame")
    e.page.clock.run_for(1000)
    assert e.value("frame") == stopped and play.get_attribute("aria-label") == "Play"
    play.click()
    e.page.clock.run_for(8000)
    assert e.value("frame") == examples.sphere.time.frames - 1
    assert e.root.locator("[data-readout]").first.get_attribute("aria-live") == "polite"
    play.click()
    e.page.clock.run_for(200)
    assert e.value("frame") < examples.sphere.time.frames - 1  # it begins again
    compare(e, whole_grid(e.scene))


EARLY = """ms => {
  const next = requestAnimationFrame;
  window.requestAnimationFrame = (f) => next((now) => f(now - ms));
}"""


@pytest.mark.parametrize("name", [name for name in NAMES if find(name).time])
def test_playing_while_each_control_is_switched_stays_within_the_frames(show, name):
    """On a busy page the first tick's time lies before the click that asked for it."""
    (e,) = show(name)
    e.page.evaluate(EARLY, 500)
    frames = e.page.evaluate_handle("[]")
    e.root.evaluate(
        "(root, seen) => root.exView.model.on('change:frame', () => seen.push(root.exView.frame))", frames
    )
    for parameter, p in e.scene.parameters.items():
        choose(e.root, {"frame": 0})
        e.control("play").click()
        for value in (p.grid[0], p.grid[-1]):
            choose(e.root, {parameter: value})
            e.page.evaluate("() => new Promise(requestAnimationFrame)")
        e.control("play").click()
        compare(e, whole_grid(e.scene))
    assert set(frames.json_value()) <= set(range(e.scene.time.frames))


def test_reduced_motion_plays_in_few_steps(show):
    (e,) = show(examples.sphere.name, reduced_motion="reduce")
    e.page.clock.install()
    e.control("frame").focus()
    e.page.keyboard.press("Home")
    e.control("play").click()
    frames = set()
    for _ in range(60):
        e.page.clock.run_for(100)
        frames.add(e.value("frame"))
    assert len(frames) <= 12 and max(frames) == examples.sphere.time.frames - 1


def test_absent_values_are_not_drawn_and_said(show):
    (e,) = show(examples.drag_a_token.name)
    e.root.evaluate("root => root.exSet('token', [0, 0])")
    e.root.evaluate("root => root.exSet('frame', 3)")
    state = compare(e, whole_grid(e.scene))
    assert state["message"] == "A zero token asks for no direction."
    assert e.root.locator(".ex-message").is_visible()
    assert e.root.locator("[data-mark='direction'] .ex-head:not([display=none])").count() == 0
    e.root.evaluate("root => root.exSet('token', [1, 1])")
    assert not e.root.locator(".ex-message").is_visible()


LEGEND = "root => [...root.querySelectorAll('.ex-legend li:not([hidden])')].map((e) => e.textContent)"


def test_the_legend_lists_what_is_drawn(show):
    (e,) = show(examples.drag_a_token.name)
    for model, absent in (("W", "(K, Q)"), ("(K, Q)", "W")):
        e.root.evaluate("(root, model) => root.exSet('model', model)", model)
        entries = e.root.evaluate(LEGEND)
        assert f"gradient path, {model}" in entries
        assert f"gradient path, {absent}" not in entries


def test_marks_over_a_heatmap_are_outlined_in_the_pages_color(show):
    for theme in ("light", "dark"):
        (e,) = show("token_selection.separability_map", theme=theme)
        for name in ("law", "n = d"):
            shadow = e.root.locator(f"[data-mark='{name}']").evaluate("m => getComputedStyle(m).filter")
            page_color = e.root.evaluate("root => getComputedStyle(root).backgroundColor")
            assert shadow.count("drop-shadow") == 4 and page_color in shadow
        assert e.root.locator("[data-mark=multipliers]").evaluate("m => getComputedStyle(m).filter") == "none"


def test_focus_is_visible_on_each_control(show):
    for name in (examples.drag_a_token.name, examples.phase.name, examples.sphere.name):
        (e,) = show(name)
        for control in set(tab_order(e)):
            target = (
                e.control(control).first
                if control != "model"
                else e.root.locator("[data-control=model]:checked")
            )
            around = target.evaluate(
                "e => { const b = (e.closest('.ex-choice') ?? e).getBoundingClientRect();"
                "return {x: b.x - 12, y: b.y - 12, width: b.width + 24, height: b.height + 24}; }"
            )
            e.page.evaluate("document.activeElement.blur()")
            before = e.page.screenshot(clip=around)
            e.root.evaluate("root => { root.tabIndex = -1; root.focus(); }")
            for _ in range(40):
                e.page.keyboard.press("Tab")
                if e.root.evaluate("(root, n) => document.activeElement.dataset.control === n", control):
                    break
            assert e.page.screenshot(clip=around) != before, control


def test_removing_it_stops_listening(show):
    (e,) = show(examples.sphere.name)
    e.control("play").click()
    assert (
        e.root.evaluate(
            "root => { const m = root.exView.model; root.exView.close(); m.set('beta', 1);"
            " return document.querySelectorAll('.ex-root').length + [...m.heard.values()].flat().length; }"
        )
        == 0
    )


class Host:
    """A host of exact values for an explorable; it answers its oldest request when the test says so."""

    def __init__(self, explorable):
        self.explorable = explorable
        self.root = explorable.root
        self.root.evaluate(
            """root => {
              root.asked = [];
              root.exView.use({ label: "live kernel", request: (scene, parameters) =>
                new Promise((resolve, reject) => root.asked.push({ parameters, resolve, reject })) });
            }"""
        )

    def asked(self):
        return self.root.evaluate("root => root.asked.map((r) => r.parameters)")

    def answer(self):
        reply, buffers = live.evaluate(self.explorable.scene, self.asked()[0])
        self.root.evaluate(
            "(root, [reply, all]) => root.asked.shift().resolve([reply, all.map((n) => new Float64Array(n))])",
            [reply, [np.frombuffer(b).tolist() for b in buffers]],
        )

    def fail(self, text):
        self.root.evaluate("(root, text) => root.asked.shift().reject(new Error(text))", text)

    def leave(self):
        self.root.evaluate("root => root.exView.use(null)")


@pytest.mark.parametrize("name", [name for name in NAMES if off_grid(find(name))])
def test_it_goes_back_to_the_nearest_stored_values(show, name):
    (e,) = show(name)
    host = Host(e)
    start = e.state()["parameters"]
    choose(e.root, off_grid(e.scene))
    assert host.asked() and e.state()["parameters"] == start | off_grid(e.scene)
    e.root.evaluate("root => root.exView.toStored()")
    state = compare(e, whole_grid(e.scene))
    assert state["source"] == "grid"
    assert state["parameters"] == start | off_grid(e.scene, 0)


def exact_box(e, name):
    """The box for exact values of a slider, and what is said beneath it."""
    control = e.control(name).locator("..")
    return control.locator(".ex-exact"), control.locator("[role=alert]")


def enter(box, text, key="Enter"):
    box.fill(text)
    box.press(key)


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("angle", "0.3", 0.3),
        ("angle", "0,3", 0.3),
        ("angle", " +.5 ", 0.5),
        ("angle", "1e-3", 0.001),
        ("angle", "1E−3", 0.001),
        ("angle", "−45", -45),
        ("angle", "-45.", -45),
        ("angle", "59.9 °", 59.9),
        ("angle", "−60°", -60),
        ("rate", "0,05", 0.05),
        ("rate", "0.03", 0.0316),  # the ends as they are printed
        ("rate", "0.32", 0.316),
    ],
)
def test_a_number_is_typed_as_readers_write_it(show, name, typed, value):
    (e,) = show(examples.tilt.name)
    host = Host(e)
    box, said = exact_box(e, name)
    assert box.get_attribute("type") == "text"
    enter(box, typed)
    assert e.value(name) == value
    assert box.input_value() == f"{value:g}" and not box.get_attribute("aria-invalid") and not said.is_visible()
    while host.asked():
        host.answer()
    compare(e, whole_grid(e.scene))


REFUSED = ["1e9", "−61", "60.01", "0.3.1", "1,000.5", "abc", "", "1e999", "Infinity", "0x10", "1 2", "30%", "--1", "."]


@pytest.mark.parametrize("typed", REFUSED)
@pytest.mark.parametrize("key", ["Enter", "Tab"])
def test_what_is_no_number_of_the_range_is_refused_and_kept(show, typed, key):
    (e,) = show(examples.tilt.name, width=360)
    host = Host(e)
    box, said = exact_box(e, "angle")
    before = e.state()
    enter(box, typed, key)
    assert said.text_content() == "angle: a number from −60° to 60°" and said.is_visible()
    assert box.get_attribute("aria-describedby") == said.get_attribute("id")
    assert (box.get_attribute("aria-invalid"), box.input_value()) == ("true", typed)
    assert e.state() == before and not host.asked()
    assert e.page.evaluate("document.documentElement.scrollWidth") <= 360
    assert said.evaluate("e => e.scrollWidth <= e.clientWidth")
    enter(box, "12")
    assert e.value("angle") == 12 and box.input_value() == "12"
    assert not box.get_attribute("aria-invalid") and not said.is_visible() and not said.text_content()


def way_out(e, host, how):
    """Makes a refused text go away without a number: by a key, the slider, Python, or because the host leaves."""
    if how == "Escape":
        exact_box(e, "angle")[0].press("Escape")
    elif how == "slider":
        e.control("angle").press("Home")
    elif how == "no move":
        e.control("angle").press("ArrowLeft")
    elif how == "elsewhere":
        choose(e.root, {"angle": 60})
    else:
        host.leave()
        Host(e)


@pytest.mark.parametrize("how", ["Escape", "slider", "no move", "elsewhere", "host"])
def test_a_refused_text_goes_when_the_value_is_set_otherwise(show, how):
    (e,) = show(examples.tilt.name)
    host = Host(e)
    box, said = exact_box(e, "angle")
    choose(e.root, {"angle": -60})
    enter(box, "1e9")
    choose(e.root, {"rate": 0.05})  # another control
    e.page.set_viewport_size({"width": 700, "height": 900})
    host.fail("no number")
    assert e.root.locator(".ex-message").text_content() == "Not computed: no number"
    assert said.is_visible() and box.input_value() == "1e9"
    way_out(e, host, how)
    assert box.input_value() == str(e.value("angle")) and not box.get_attribute("aria-invalid")
    assert not said.is_visible() and not said.text_content()


def test_the_box_shows_the_value_that_a_slider_between_stored_values_has(show):
    (e,) = show(examples.tilt.name)
    Host(e)
    for share in (0.123, 0.777, 0.9999, 1):
        slider = e.control("rate").bounding_box()
        e.page.mouse.click(slider["x"] + 9 + share * (slider["width"] - 18), slider["y"] + slider["height"] / 2)
        assert float(exact_box(e, "rate")[0].input_value()) == e.value("rate") <= 0.316


@pytest.fixture
def asked(show):
    """An explorable whose host has been asked for an exact picture; the page's clock stands."""
    (e,) = show(examples.sphere.name)
    host = Host(e)
    e.page.clock.install(time=0)
    e.page.clock.pause_at(1)
    choose(e.root, {"beta": 0.3})
    return e, host


def pass_time(e, ms):
    e.page.clock.run_for(ms)


def assert_marked(e, yes):
    """What is shown is said to be of other values, or nothing of the kind is said."""
    assert e.state()["waiting"] is yes
    assert e.root.get_attribute("data-waiting") == str(yes).lower()
    for part in (".ex-panels", ".ex-readouts"):
        assert (e.root.locator(part).get_attribute("aria-busy") == "true") is yes
    assert (e.root.locator(".ex-badge").text_content() == "computing…") is yes


def shown(e, name):
    """The value that stands beside a slider."""
    return e.control(name).locator("..").locator(".ex-value").text_content()


def make_slow(e, host):
    pass_time(e, 101)
    host.answer()
    assert_marked(e, False)


def test_an_answer_that_takes_more_than_a_moment_is_waited_for_visibly(asked):
    e, host = asked
    pass_time(e, 149)
    assert_marked(e, False)
    pass_time(e, 1)
    assert_marked(e, True)
    host.answer()
    assert_marked(e, False)
    assert compare(e, whole_grid(e.scene))["source"] == "live"
    assert e.root.locator(".ex-badge").text_content() == "live kernel"


def test_prompt_answers_do_not_flicker(asked):
    e, host = asked
    for k in range(1, 6):
        pass_time(e, 90)
        choose(e.root, {"beta": 0.3 + k / 100})
        host.answer()  # to the one before
        pass_time(e, 9)
        assert_marked(e, False)
    host.answer()
    pass_time(e, 1000)
    assert_marked(e, False)
    compare(e, whole_grid(e.scene))


def test_steps_faster_than_answers_do_not_put_off_the_mark(asked):
    e, _ = asked
    for k in range(1, 20):
        pass_time(e, 10)
        choose(e.root, {"beta": 0.3 + k / 100})
    assert_marked(e, True)


def test_a_slow_scene_is_marked_at_once_and_until_the_newest_answer(asked):
    e, host = asked
    make_slow(e, host)
    choose(e.root, {"beta": 0.9})
    assert_marked(e, True)
    assert e.state()["source"] == "grid"
    choose(e.root, {"beta": 1.1})
    pass_time(e, 101)
    host.answer()
    assert e.state()["source"] == "grid"  # an older answer does not replace what is nearer
    assert_marked(e, True)
    assert shown(e, "beta") == "1.1"  # and not the value of the picture
    host.answer()
    assert_marked(e, False)
    assert shown(e, "beta") == "1.1"
    compare(e, whole_grid(e.scene))


def test_a_value_off_the_grid_is_shown_with_the_digits_that_tell_it_from_its_neighbors(asked):
    e, host = asked
    for value, text in ((0.26, "0.26"), (0.3456, "0.3456"), (0.34567, "0.3457")):
        choose(e.root, {"beta": value})
        assert shown(e, "beta") == text
        while host.asked():
            host.answer()
        assert e.state()["source"] == "live"
        assert shown(e, "beta") == text == e.control("beta").get_attribute("aria-valuetext")


GIVE_UP = {
    "on the grid": lambda e, host: choose(e.root, {"beta": 1}),
    "stopped": lambda e, host: e.root.evaluate("root => root.exView.toStored()"),
    "host gone": lambda e, host: host.leave(),
    "error": lambda e, host: host.fail("no number"),
}


@pytest.mark.parametrize("how", GIVE_UP)
@pytest.mark.parametrize("when", ["before it is marked", "after", "slow"])
def test_nothing_is_waited_for_once_no_answer_is_wanted(asked, how, when):
    e, host = asked
    if when == "slow":
        make_slow(e, host)
        choose(e.root, {"beta": 0.9})
    pass_time(e, 120 if when == "before it is marked" else 200)
    assert_marked(e, when != "before it is marked")
    GIVE_UP[how](e, host)
    assert_marked(e, False)
    pass_time(e, 1000)
    assert_marked(e, False)


def contrast(e, selector):
    """WCAG contrast ratio of an element's text and the explorable's background."""
    light = []
    for color in e.root.evaluate(
        "(root, s) => [getComputedStyle(root.querySelector(s)).color, getComputedStyle(root).backgroundColor]", selector
    ):
        c = np.array([int(v) for v in re.findall(r"\d+", color)]) / 255
        light.append(0.05 + np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])
    return max(light) / min(light)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_waits_or_is_refused_can_be_read_and_moves_nothing(show, theme):
    (e,) = show(examples.tilt.name, theme=theme, width=360)
    Host(e)
    box, _ = exact_box(e, "angle")
    enter(box, "many")
    places = "root => [...root.querySelectorAll('*')].map((x) => JSON.stringify(x.getBoundingClientRect()))"
    before = e.root.evaluate(places)
    e.root.evaluate("root => root.exView.wait(true)")
    assert e.root.evaluate(places) == before
    for part in (".ex-number", ".ex-badge", ".ex-refusal", ".ex-exact"):
        assert contrast(e, part) >= 4.5
