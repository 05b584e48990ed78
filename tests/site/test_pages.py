"""The built pages are whole: every chapter, no traceback, described images, working links, no other host."""

import re
from functools import cache
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup
from local_site import ROOT
from site_pages import EXTRA_PAGES, PAGES

RESOURCE_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "manifest", "prefetch", "preconnect"}
CSS_URL = re.compile(r"""url\(\s*['"]?([^'")]+)""")
CSS_IMPORT = re.compile(r"""@import\s+['"]([^'"]+)""")
ICON = re.compile(r"fa-[a-z-]+")
ICON_MODIFIERS = {"fa-solid", "fa-lg", "fa-regular", "fa-brands", "fa-fw"}


@cache
def soup(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


def is_local(url):
    """A relative address or inline data: works below any path and from a file."""
    parts = urlsplit(url)
    return parts.scheme in ("data", "blob") or not (parts.scheme or parts.netloc or url.startswith("/"))


def resources(page):
    """Addresses the browser would load when it opens a page."""
    for tag in page.find_all(src=True):
        yield tag["src"]
    for tag in page.find_all("link", href=True):
        if RESOURCE_LINKS & set(tag.get("rel", [])):
            yield tag["href"]
    for tag in page.find_all(srcset=True):
        yield from (part.split()[0] for part in tag["srcset"].split(",") if part.strip())
    for tag in page.find_all("style"):
        yield from CSS_URL.findall(tag.get_text()) + CSS_IMPORT.findall(tag.get_text())
    for tag in page.find_all(style=True):
        yield from CSS_URL.findall(tag["style"])


def test_the_built_pages_are_those_of_the_table_of_contents(html):
    paths = [path.relative_to(html) for path in html.rglob("*.html")]
    built = {path.as_posix() for path in paths if path.parts[0] not in ("_static", "lite")}
    assert built == set(PAGES) | set(EXTRA_PAGES), "pages of an earlier build? run `make clean` first"


def test_no_page_shows_a_traceback(html, page):
    text = soup(html / page).get_text()
    assert "Traceback (most recent call last)" not in text
    assert not soup(html / page).select(".output.traceback")


def test_each_chapter_has_a_button_that_opens_it_in_the_browsers_jupyter(html, page):
    if not (html / "lite").is_dir():
        pytest.skip("Jupyter in the browser is not built: run `make lite`, then `make book`")
    links = [urlsplit(link["href"]) for link in soup(html / page).select(".dropdown-launch-buttons a[href*='lite/']")]
    if not (ROOT / page).with_suffix(".ipynb").is_file():
        assert not links
        return
    (link,) = links
    notebook = html / "lite" / "files" / link.query.removeprefix("path=")
    assert ((html / page).parent / link.path).resolve() == html / "lite" / "lab" / "index.html"
    assert notebook.stem == (html / page).stem and notebook.is_file()


def test_what_a_cell_prints_stands_in_one_box(html, page):
    for cell in soup(html / page).select(".cell_output"):
        assert len(cell.select(".output.stream:not(.stderr)")) <= 1


def test_no_two_references_are_cited_alike(html):
    cited = {}
    for page in PAGES:
        for link in soup(html / page).select("a[href*='references.html#id']"):
            cited.setdefault(link.get_text(), set()).add(urlsplit(link["href"]).fragment)
    assert len(cited) > 5
    assert not {label: ids for label, ids in cited.items() if len(ids) > 1}


def test_every_image_says_what_it_shows(html, any_page):
    for image in soup(html / any_page).find_all("img"):
        alt = image.get("alt", "").strip()
        assert alt, f"no alternative text: {image}"
        assert "_images/" not in alt, f"the file's name is no alternative text: {image}"
        assert not alt.endswith((".png", ".svg")), f"the file's name is no alternative text: {image}"


def test_no_internal_link_is_broken(html, any_page):
    here = html / any_page
    for link in soup(here).find_all("a", href=True):
        parts = urlsplit(link["href"])
        if parts.scheme or parts.netloc:
            continue
        target = (here.parent / unquote(parts.path)).resolve() if parts.path else here
        assert target.is_file(), f"{any_page} links to {link['href']}, which does not exist"
        if parts.fragment and target.suffix == ".html":
            names = [unquote(parts.fragment)]
            assert soup(target).find(id=names) or soup(target).find(attrs={"name": names}), (
                f"{any_page} links to {link['href']}, but nothing there has that id"
            )


# sphinx-proof and sphinx-exercise give every box these ids; nothing links to them
IDS_OF_BOXES = {"proof", "proof-content", "exercise-content", "solution-content"}


def test_no_id_is_used_twice_on_a_page(html, page):
    ids = [tag["id"] for tag in soup(html / page).select("article [id]") if tag["id"] not in IDS_OF_BOXES]
    assert not sorted({i for i in ids if ids.count(i) > 1})


def test_no_page_needs_another_host(html, any_page):
    foreign = [url for url in resources(soup(html / any_page)) if not is_local(url)]
    assert not foreign


def test_every_resource_of_a_page_exists(html, any_page):
    here = html / any_page
    for url in resources(soup(here)):
        path = unquote(urlsplit(url).path)
        if path and urlsplit(url).scheme not in ("data", "blob"):
            assert (here.parent / path).is_file(), f"{any_page} loads {url}, which does not exist"


def test_a_page_with_widgets_loads_the_books_own_loader_and_nothing_else(html, page):
    scripts = [script["src"] for script in soup(html / page).find_all("script", src=True)]
    has_widgets = soup(html / page).find("script", type="application/vnd.jupyter.widget-state+json") is not None
    assert has_widgets == any("widgets/anywidget-static.js" in source for source in scripts)
    assert not [source for source in scripts if "require" in source or "html-manager" in source]


def test_no_style_sheet_needs_another_host(html):
    for sheet in html.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        foreign = [url for url in CSS_URL.findall(text) + CSS_IMPORT.findall(text) if not is_local(url)]
        assert not foreign, sheet


def test_every_icon_is_drawn_by_the_web_font(html, any_page):
    sheet = (html / "_static" / "styles" / "pydata-sphinx-theme.css").read_text()
    for tag in soup(html / any_page).select("i[class*=fa-], span[class*=fa-]"):
        for icon in set(ICON.findall(" ".join(tag["class"]))) - ICON_MODIFIERS:
            assert f".{icon}:before" in sheet, icon


@pytest.mark.parametrize("name", ["mathjax/tex-mml-chtml.js", "favicon.svg", "book.css"])
def test_the_books_own_files_are_shipped(html, name):
    assert (html / "_static" / name).is_file()
