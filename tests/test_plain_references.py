"""Chapters for a Jupyter that knows one notebook: what the book says of other pages is there in words and links."""

import re
from pathlib import Path

import nbformat
import pytest
from plain_references import ROLE, Book

PAGES = Path(__file__).parent.parent / "book"
BOOK = Book(PAGES)
BIB = """
@article{One2020, author = {Onely, Ada}, title = {A}, year = {2020}, url = {https://example.org/one}}
@article{Two1999, author = {de Silva, A. and Bell, B.}, title = {B}, year = {1999}, doi = {10.1/2}}
@book{Many1980, author = {First, A. and Second, B. and Third, C.}, title = {C}, year = {1980}}
"""
THERE = """# There

```{math}
:label: eq-one
x = 1
```

$$
x = 2
$$ (eq-two)

(there-section)=
## A section

:::{prf:theorem} A name ({cite:t}`One2020`, section 3)
:label: there-theorem
True.
:::
"""


def figure():
    figure = {"name": "fig-x", "caption": "A *line*."}
    return nbformat.v4.new_code_cell("plot()", metadata={"mystnb": {"figure": figure}})


@pytest.fixture
def book(tmp_path):
    cells = [nbformat.v4.new_markdown_cell(THERE), figure()]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "there.ipynb")
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Here")]), tmp_path / "here.ipynb")
    (tmp_path / "page.md").write_text("# A page\n\n(page-section)=\n## Its section\n")
    (tmp_path / "references.bib").write_text(BIB)
    return Book(tmp_path)


def on(book, page, source):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(source)])
    return book.plain(notebook, page).cells[0].source


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("see {doc}`there`.", "see [There](there.ipynb)."),
        ("see {doc}`that chapter <there>`.", "see [that chapter](there.ipynb)."),
        ("see {doc}`page`", "see *A page*"),
        ("by {eq}`eq-one` and {eq}`eq-two`", "by [(one)](there.ipynb) and [(two)](there.ipynb)"),
        ("{prf:ref}`there-theorem`", "[theorem “A name”](there.ipynb)"),
        ("{ref}`there <there-section>`", "[there](there.ipynb)"),
        ("{ref}`there-section`", "[A section](there.ipynb)"),
        ("{ref}`here <page-section>`", "*here*"),
        ("in {numref}`fig-x`", "in [figure 1](there.ipynb)"),
        ("a {term}`margin`, {term}`margins <margin>`", "a [margin](notation.ipynb), [margins](notation.ipynb)"),
        ("{cite:t}`One2020`", "[Onely (2020)](https://example.org/one)"),
        ("{cite:p}`Two1999`", "([de Silva and Bell, 1999](https://doi.org/10.1/2))"),
        ("{cite:t}`Many1980`", "First et al. (1980)"),
        ("{cite:p}`One2020,Many1980`", "([Onely, 2020](https://example.org/one); First et al., 1980)"),
        ("`code` and $x$", "`code` and $x$"),
    ],
)
def test_a_reference_becomes_words_and_a_link(book, source, words):
    book.notebooks.add("notation")
    assert on(book, "here", source) == words


@pytest.mark.parametrize("source", ["{eq}`eq-one`", "{prf:ref}`there-theorem`", "{ref}`a section <there-section>`"])
def test_what_the_notebook_itself_knows_is_left_alone(book, source):
    assert on(book, "there", source) == source


def test_figures_get_their_captions(book):
    code, caption = book.plain(nbformat.v4.new_notebook(cells=[figure()]), "there").cells
    assert (code.source, caption.cell_type, caption.source) == ("plot()", "markdown", "*Figure 1.* A *line*.")
    assert on(book, "there", "{numref}`fig-x`") == "figure 1"


@pytest.mark.parametrize("source", ["{doc}`nowhere`", "{eq}`eq-three`", "{cite:t}`Nobody2000`"])
def test_a_reference_to_nothing_is_an_error(book, source):
    with pytest.raises(KeyError):
        on(book, "here", source)


@pytest.mark.parametrize("page", sorted(BOOK.notebooks))
def test_no_chapter_keeps_a_reference_to_elsewhere(page):
    notebook = BOOK.plain(nbformat.read(PAGES / f"{page}.ipynb", as_version=4), page)
    nbformat.validate(notebook)
    text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    assert all(BOOK.places[target or label][0] == page for _, label, target in ROLE.findall(text))
    assert set(re.findall(r"\]\((\w+)\.ipynb\)", text)) <= BOOK.notebooks
    assert set(re.findall(r"\{([a-z:]+)\}`", text)) <= {"eq", "ref", "prf:ref"}
