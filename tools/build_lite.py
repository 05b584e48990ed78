"""Builds the book's own Jupyter for the browser: JupyterLite with every chapter, the library and its widgets.

Called by `make lite`, with the Python of the environment of `lite/requirements.txt` as argument. The site goes to
`_build/lite`; a later `make book` puts it beside the pages and gives each chapter a button that opens it there.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import nbformat
import page_python
import yaml
from plain_references import Book

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "_build" / "lite"
WIDGETS = ("ipywidgets", "jupyterlab_widgets", "anywidget", "psygnal", "comm", "typing_extensions")
PACKAGES = "'typing_extensions>=4.12' attsvm_lib ipywidgets anywidget scipy matplotlib joblib"
SETUP = f"""import sys

if sys.platform == "emscripten":  # Jupyter in the browser: the library and the widgets come with the book
    %pip install -q {PACKAGES}
    from attsvm_lib.browser import explain_cvxpy

    explain_cvxpy(get_ipython())"""


def notebooks():
    """The book's notebooks, in reading order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    names = [toc["root"], *(chapter["file"] for part in toc["parts"] for chapter in part["chapters"])]
    return [path for name in names if (path := ROOT / f"{name}.ipynb").is_file()]


def for_the_browser(notebook):
    """Puts a cell before the others that installs the library there."""
    notebook.cells.insert(0, nbformat.v4.new_code_cell(SETUP, id="browser-setup"))
    return notebook


def build(python):
    """Build the site with `python`, an interpreter of the environment of lite/requirements.txt."""
    shutil.rmtree(SITE, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        content, wheels = Path(folder) / "content", Path(folder) / "wheels"
        (content / "book").mkdir(parents=True)
        wheels.mkdir()
        book = Book(ROOT / "book")
        for path in notebooks():
            notebook = for_the_browser(book.plain(nbformat.read(path, as_version=4), path.stem))
            # Not nbformat.write: that Jupyter takes no lists of lines.
            (content / "book" / path.name).write_text(json.dumps(notebook), encoding="utf-8")
        page_python.build_wheel(wheels)
        versions = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
        pins = [line for line in versions.splitlines() if line.partition("==")[0].replace("-", "_") in WIDGETS]
        pip = [python, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        pure = "--platform any --implementation py --abi none --python-version 3.12".split()
        subprocess.run([*pip, *pure, "--dest", wheels, *pins], check=True)
        command = [python, "-m", "jupyterlite_core", "build", "--lite-dir", ROOT / "lite", "--contents", content]
        command += [f"--piplite-wheels={wheel}" for wheel in sorted(wheels.glob("*.whl"))]
        command += ["--apps", "lab", "--apps", "notebooks", "--no-sourcemaps", "--no-unused-shared-packages"]
        subprocess.run([*command, "--output-dir", SITE], check=True, cwd=folder)


if __name__ == "__main__":
    build(Path(sys.argv[1]).absolute())  # not resolved: a link into an environment is that environment
