"""Bring chapters to their committed form: `python tools/normalize_notebooks.py [--execute] [chapter ...]`.

The normal form keeps text outputs and drops what differs between runs or machines: widget state and views,
images, output metadata, execution timings. Cell ids stay (they are unique across chapters), execution counts
run 1..n, the kernel is `python3`. Executing and normalizing a chapter twice gives the same bytes.
"""

import argparse
import copy
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

BOOK = Path(__file__).resolve().parent.parent / "book"
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
DROPPED_TYPES = (
    "image/",
    "application/vnd.jupyter.widget-view+json",
    "application/vnd.jupyter.widget-state+json",
)
CELL_TIMEOUT_S = 600


def normal_outputs(outputs, count):
    """Text outputs of one cell: adjacent pieces of one stream joined, images and widget views dropped."""
    kept = []
    for output in outputs:
        output = copy.deepcopy(output)
        if output["output_type"] == "stream":
            if kept and kept[-1]["output_type"] == "stream" and kept[-1]["name"] == output["name"]:
                kept[-1]["text"] += output["text"]
                continue
        elif output["output_type"] in ("display_data", "execute_result"):
            output["data"] = {t: v for t, v in output["data"].items() if not t.startswith(DROPPED_TYPES)}
            output["metadata"] = {}
            if "execution_count" in output:
                output["execution_count"] = count
        kept.append(output)
    return kept


def normalize(notebook):
    """The notebook (an nbformat 4.5 node) in its normal form; the input is changed in place and returned."""
    notebook["metadata"] = nbformat.from_dict(KERNEL)
    notebook["nbformat"], notebook["nbformat_minor"] = 4, 5
    count = 0
    for cell in notebook["cells"]:
        cell["metadata"].pop("execution", None)
        cell["metadata"].pop("trusted", None)
        cell["source"] = cell["source"].rstrip("\n")
        if cell["cell_type"] == "code":
            count += 1
            cell["execution_count"] = count
            cell["outputs"] = normal_outputs(cell["outputs"], count)
    return notebook


def dumps(notebook):
    """The committed text of a notebook: sorted keys, one space of indent, a closing newline."""
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT).rstrip("\n") + "\n"


def execute(notebook, folder):
    """Runs every cell in `folder` with a fresh kernel; an error in a cell raises."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
    NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    ).execute()
    return notebook


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("chapters", nargs="*", type=Path, help="default: every chapter in book/")
    parser.add_argument("--execute", action="store_true", help="run every cell first, with a fresh kernel")
    options = parser.parse_args(arguments)
    for path in options.chapters or sorted(BOOK.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
        if options.execute:
            execute(notebook, path.parent)
        text = dumps(normalize(notebook))
        changed = text != path.read_text(encoding="utf-8")
        path.write_text(text, encoding="utf-8")
        print(f"{path.name}: {'normalized' if changed else 'unchanged'}")


if __name__ == "__main__":
    sys.exit(main())
