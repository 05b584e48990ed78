"""Sphinx extension: the book's own Jupyter beside the pages, and on each chapter the button that opens it there.

The site is `_build/lite`, made by `make lite`. While there is none, there is no button, and the build says so.
"""

import shutil
from pathlib import Path

from sphinx.util import logging

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "lite"
HOW_TO = "No button for Jupyter in the browser: run `make lite`, then `make book` again, to have it."

logger = logging.getLogger(__name__)


def built():
    return (SITE / "index.html").is_file()


def add_button(app, pagename, templatename, context, doctree):
    """Adds the button to the theme's group of launch buttons, which it makes where there is none."""
    notebook = ROOT / f"{pagename}.ipynb"
    if not built() or not notebook.is_file():
        return
    button = {
        "type": "link",
        "text": "In the browser",
        "tooltip": "Run this chapter in a Jupyter of the browser's own (loads about 60 MB once)",
        "icon": "fas fa-rocket",
        "url": f"{context['pathto']('lite/lab/index.html', 1)}?path=book/{notebook.name}",
    }
    app.add_js_file("scripts/browser-jupyter.js", loading_method="defer")
    buttons = context["header_buttons"]
    group = next((b for b in buttons if b.get("label") == "launch-buttons"), None)
    if group is None:
        group = {"type": "group", "buttons": [], "icon": "fas fa-rocket", "tooltip": "Run this chapter"}
        buttons.append(group | {"label": "launch-buttons"})
    group["buttons"].append(button)


def copy_site(app, exception):
    if exception or app.builder.format != "html":
        return
    target = Path(app.outdir) / "lite"
    shutil.rmtree(target, ignore_errors=True)
    if built():
        shutil.copytree(SITE, target)
    else:
        logger.info(HOW_TO)


def setup(app):
    app.connect("html-page-context", add_button, priority=600)  # after the theme's own buttons
    app.connect("build-finished", copy_site)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
