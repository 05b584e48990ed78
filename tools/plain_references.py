"""References to other pages, to papers and to figures, as words and links that any Jupyter shows.

A Jupyter knows one notebook, so that what MyST says of the rest of the book would stay a key. References within the
notebook are left alone: MyST for JupyterLab shows them. As a command it rewrites the chapters in place, for Binder.
"""

import re
from pathlib import Path

import nbformat
from pybtex.database import parse_file

ROLE = re.compile(r"\{(doc|ref|eq|numref|term|prf:ref|cite:t|cite:p)\}`([^`<]+?)(?: *<([^`>]+)>)?`")
PROOF = re.compile(r"^:::\{prf:(\w+)\} *(.*)\n:label: (\S+)", re.M)
EQUATION = re.compile(r"(?:\$\$ \(|\{math\}\n:label: )([\w-]+)")
SECTION = re.compile(r"^\((\S+)\)=\n+(?:#+ )?(.*)", re.M)
TITLE = re.compile(r"^# (.*)", re.M)


class Book:
    """What the pages of a book call each other: their titles, labels and papers.

    folder: the pages, notebooks and Markdown files, and `references.bib`. Links lead to notebooks and to papers;
    other pages are named only.
    """

    def __init__(self, folder):
        self.titles, self.places, self.notebooks = {}, {}, set()
        for path in sorted(folder.iterdir()):
            if path.suffix == ".ipynb":
                notebook = nbformat.read(path, as_version=4)
                self.notebooks.add(path.stem)
                self._read(path.stem, "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown"))
                for k, figure in enumerate(_figures(notebook.cells), 1):
                    self.places[figure["name"]] = path.stem, f"figure {k}"
            elif path.suffix == ".md":
                self._read(path.stem, path.read_text(encoding="utf-8"))
        self.papers = parse_file(folder / "references.bib").entries

    def _read(self, page, text):
        self.titles[page] = TITLE.search(text)[1]
        self.places |= {label: (page, f"({label.removeprefix('eq-')})") for label in EQUATION.findall(text)}
        self.places |= {label: (page, title) for label, title in SECTION.findall(text)}
        for kind, title, label in PROOF.findall(text):
            name = title.partition(" (")[0]  # without its source
            self.places[label] = page, f"{kind} “{name}”" if name else kind

    def plain(self, notebook, page):
        """The notebook of that page with its outward references as links, and the captions below its figures."""
        cells = []
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = ROLE.sub(lambda reference: self._words(page, reference), cell.source)
            cells.append(cell)
            for figure in _figures([cell]):
                number = self.places[figure["name"]][1].capitalize()
                cells.append(nbformat.v4.new_markdown_cell(f"*{number}.* {figure['caption']}", id=f"{cell.id}-caption"))
        notebook.cells = cells
        return notebook

    def _words(self, page, reference):
        """What a match of ROLE on `page` becomes; the text is the label too where no target is given."""
        role, text, target = reference.groups()
        if role.startswith("cite"):
            return self._paper(role, text)
        label = target or text
        if role == "doc":
            return self._link(label, text if target else self.titles[label])
        if role == "term":
            return self._link("notation", text)
        there, name = self.places[label]
        if there == page:
            return name if role == "numref" else reference[0]
        return self._link(there, text if target else name)

    def _link(self, page, text):
        return f"[{text}]({page}.ipynb)" if page in self.notebooks else f"*{text}*"

    def _paper(self, role, keys):
        inside = []
        for key in keys.split(","):
            paper = self.papers[key.strip()]
            year, doi = paper.fields["year"], paper.fields.get("doi")
            names = [" ".join(person.prelast_names + person.last_names) for person in paper.persons["author"]]
            who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
            words = f"{who} ({year})" if role == "cite:t" else f"{who}, {year}"
            url = paper.fields.get("url") or (doi and f"https://doi.org/{doi}")
            inside.append(f"[{words}]({url})" if url else words)
        return ", ".join(inside) if role == "cite:t" else f"({'; '.join(inside)})"


def _figures(cells):
    return [c.metadata["mystnb"]["figure"] for c in cells if "figure" in c.metadata.get("mystnb", {})]


def rewrite(folder):
    """Every notebook of the folder, replaced by its plain form."""
    book = Book(folder)
    for page in book.notebooks:
        path = folder / f"{page}.ipynb"
        nbformat.write(book.plain(nbformat.read(path, as_version=4), page), path)


if __name__ == "__main__":
    rewrite(Path(__file__).resolve().parent.parent / "book")
