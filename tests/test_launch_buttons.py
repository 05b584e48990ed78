"""Launch buttons follow the repository's one setting and are absent while it is unset."""

import io

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from jupyter_book.config import get_final_config
from local_site import ROOT
from nbformat.v4 import new_markdown_cell, new_notebook
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

# Sphinx extensions of the book still use deprecated calls of docutils and Sphinx.
pytestmark = [
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
HOW_TO_SET = "Set `repository: url` in _config.yml"


def build(folder, url=None, branch=None):
    """Of a one-chapter book with the project's `_config.yml`: hrefs of launch buttons, log, Colab's first line."""
    settings = yaml.safe_load((ROOT / "_config.yml").read_text())
    if url is not None:
        settings["repository"]["url"] = url
    if branch is not None:
        settings["repository"]["branch"] = branch
    cli = {"latex_individualpages": False}
    config, _ = get_final_config(user_yaml=settings, cli_config=cli, sourcedir=folder)
    config |= {"nb_execution_mode": "off", "html_static_path": [], "html_css_files": [], "html_favicon": ""}
    config["external_toc_path"] = str(folder / "_toc.yml")
    (folder / "book").mkdir()
    chapter = new_notebook(cells=[new_markdown_cell("# A chapter\n\n{{ install }}", id="title")])
    nbformat.write(chapter, folder / "book" / "chapter.ipynb")
    (folder / "book" / "references.bib").write_text("")
    (folder / "_toc.yml").write_text("format: jb-book\nroot: book/chapter\n")
    log = io.StringIO()
    with patch_docutils(), docutils_namespace():
        app = Sphinx(folder, None, folder / "out", folder / "trees", "html", config, log, log, freshenv=True)
        app.build()
    page = BeautifulSoup((folder / "out" / "book" / "chapter.html").read_text(), "html.parser")
    links = [link["href"] for link in page.select(".dropdown-launch-buttons a[href]")]
    return links, log.getvalue(), page.select_one("code").text


@pytest.fixture(autouse=True)
def _no_setting_from_outside(monkeypatch):
    monkeypatch.delenv("BOOK_REPOSITORY_URL", raising=False)
    monkeypatch.delenv("BOOK_REPOSITORY_BRANCH", raising=False)


def test_without_an_address_there_are_no_buttons_and_the_build_says_how_to_set_it(tmp_path):
    links, log, install = build(tmp_path, url="")
    assert links == []
    assert "https://github.com/OWNER/NAME@main" in install
    assert HOW_TO_SET in log


def test_buttons_point_at_the_configured_repository_and_branch(tmp_path):
    links, log, install = build(tmp_path, url="https://github.com/someone/the-book/", branch="stable")
    assert install == '%pip install -q "attsvm_lib[book] @ git+https://github.com/someone/the-book@stable"'
    assert links == [
        "https://mybinder.org/v2/gh/someone/the-book/stable?urlpath=lab/tree/book/chapter.ipynb",
        "https://colab.research.google.com/github/someone/the-book/blob/stable/book/chapter.ipynb",
    ]
    assert HOW_TO_SET not in log


def test_the_environment_overrides_the_configuration(tmp_path, monkeypatch):
    monkeypatch.setenv("BOOK_REPOSITORY_URL", "https://gitlab.com/other/copy.git")
    monkeypatch.setenv("BOOK_REPOSITORY_BRANCH", "draft")
    links, _, _ = build(tmp_path, url="https://github.com/someone/the-book")
    assert links == ["https://mybinder.org/v2/gl/other%2Fcopy/draft?urlpath=lab/tree/book/chapter.ipynb"]
