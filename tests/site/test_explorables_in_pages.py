"""The explorables of the built book, where readers meet them: alive, exact, and driven by the keyboard."""

from driving import READY, Explorable, compare, drive, whole_grid

from attsvm_lib import scenes


def test_each_explorable_of_a_page_draws_the_librarys_numbers(chromium, site_url, page):
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    tab = context.new_page()
    tab.goto(site_url + page)
    declared = tab.locator("script[type='application/vnd.jupyter.widget-view+json']").count()
    tab.wait_for_function(READY.format(declared))
    roots = tab.locator(".ex-root").all()
    assert len(roots) == declared
    for root in roots:
        explorable = Explorable(root, scenes.get(root.get_attribute("data-scene")))
        compare(explorable, whole_grid(explorable.scene))
        drive(explorable, "keyboard")
    context.close()
