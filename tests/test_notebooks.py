"""Every chapter is committed executed and in normal form, in short cells, so that nbval really compares its numbers.

A chapter without execution counts would pass nbval with nothing compared; these checks stand guard, and two tests show
that a cleared chapter and a changed digit are caught.
"""

import copy
import os
import re
import statistics
import subprocess
import sys

import nbformat
import pytest
import yaml
from local_site import ROOT
from normalize_notebooks import dumps, normalize
from pybtex.database import parse_file

CHAPTERS = sorted((ROOT / "book").glob("*.ipynb"))
MEDIAN_LINES, MOST_LINES = 6, 25
DRAWS = re.compile(r"\bplt\.show\(")
SHOWS = re.compile(r"^(print|display|claims\.\w+|Explorable)\(", re.MULTILINE)

every_chapter = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


def read(path):
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def guard(notebook):
    """What keeps nbval from comparing every number of a notebook, as a list of sentences."""
    problems = []
    cells = code_cells(notebook)
    if [cell.execution_count for cell in cells] != list(range(1, len(cells) + 1)):
        problems.append("execution counts are not 1..n: run `make notebooks`")
    printing = [cell for cell in cells if SHOWS.search(cell.source)]
    problems += [f"cell {cell.id} prints, but holds no output" for cell in printing if not cell.outputs]
    if "widgets" in notebook.metadata:
        problems.append("widget state is stored")
    for cell in cells:
        for output in cell.outputs:
            kinds = [kind for kind in output.get("data", {}) if kind.startswith(("image/", "application/vnd."))]
            problems += [f"cell {cell.id} stores {kind}" for kind in kinds]
            if output.output_type == "error":
                problems.append(f"cell {cell.id} stores an error")
    return problems


def one_digit_up(text):
    """`text` with its last digit changed."""
    at = max(i for i, character in enumerate(text) if character.isdigit())
    return text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]


def run_nbval(path):
    """pytest's result on one notebook, with the options of `make test`."""
    options = ["--nbval", "--nbval-current-env", "--nbval-sanitize-with", str(ROOT / "tests" / "nbval.cfg")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options, path.name]
    environment = os.environ | {"PYTEST_ADDOPTS": ""}
    return subprocess.run(command, cwd=path.parent, env=environment, capture_output=True, text=True, timeout=300)


def shortest_opening():
    """The first cells of a chapter up to its first printed digit, from the chapter that gets there soonest."""
    openings = []
    for path in CHAPTERS:
        notebook = read(path)
        for index, cell in enumerate(notebook.cells):
            texts = [o.text for o in cell.get("outputs", []) if o.output_type == "stream"]
            if texts and any(character.isdigit() for character in texts[0]):
                notebook.cells = notebook.cells[: index + 1]
                openings.append(notebook)
                break
    return min(openings, key=lambda notebook: len(code_cells(notebook)))


@every_chapter
def test_a_chapter_is_in_normal_form(path):
    text = path.read_text(encoding="utf-8")
    assert text == dumps(normalize(read(path))), "run `make notebooks`"


@every_chapter
def test_a_chapter_is_executed_and_stores_text_only(path):
    assert guard(read(path)) == []


@every_chapter
def test_a_cleared_chapter_fails_the_guard(path):
    notebook = copy.deepcopy(read(path))
    if not code_cells(notebook):
        pytest.skip("a chapter without code has nothing to clear")
    for cell in code_cells(notebook):
        cell.execution_count, cell.outputs = None, []
    assert "execution counts are not 1..n: run `make notebooks`" in guard(notebook)


@every_chapter
def test_a_chapter_whose_outputs_are_deleted_fails_the_guard(path):
    notebook = copy.deepcopy(read(path))
    if not any(cell.outputs for cell in code_cells(notebook)):
        pytest.skip("a chapter without outputs has nothing to delete")
    before = guard(notebook)
    for cell in code_cells(notebook):
        cell.outputs = []
    assert len(guard(notebook)) > len(before)


@every_chapter
def test_cells_are_short(path):
    lengths = {cell.id: len(cell.source.splitlines()) for cell in code_cells(read(path))}
    assert not {name: length for name, length in lengths.items() if length > MOST_LINES}
    if lengths:
        assert statistics.median(lengths.values()) <= MEDIAN_LINES


@every_chapter
def test_a_cell_that_draws_says_what_its_figure_shows(path):
    for cell in code_cells(read(path)):
        if DRAWS.search(cell.source):
            alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            assert len(alt.split()) >= 5, f"cell {cell.id}: write mystnb.image.alt in the cell's metadata"


def test_cell_ids_are_unique_across_chapters():
    ids = [cell.id for path in CHAPTERS for cell in read(path).cells]
    assert not sorted({name for name in ids if ids.count(name) > 1})


def test_every_chapter_is_in_the_table_of_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    listed = {toc["root"]} | {chapter["file"] for part in toc["parts"] for chapter in part["chapters"]}
    assert {f"book/{path.stem}" for path in CHAPTERS} <= listed


def test_a_changed_digit_in_a_stored_output_fails_nbval(tmp_path):
    notebook = shortest_opening()
    path = tmp_path / "opening.ipynb"
    path.write_text(dumps(notebook))
    unchanged = run_nbval(path)
    assert unchanged.returncode == 0, unchanged.stdout

    output = next(o for o in notebook.cells[-1].outputs if o.output_type == "stream")
    output.text = one_digit_up(output.text)
    path.write_text(dumps(notebook))
    changed = run_nbval(path)
    assert changed.returncode == 1, changed.stdout
    assert "1 failed" in changed.stdout


def test_every_citation_of_a_chapter_is_in_the_bibliography():
    cited = set()
    for path in CHAPTERS:
        cited |= set(re.findall(r"\{cite:\w+\}`([^`]+)`", path.read_text(encoding="utf-8")))
    known = parse_file(ROOT / "book" / "references.bib").entries  # fails on a file that is not well formed
    assert {key.strip() for group in cited for key in group.split(",")} <= set(known)
