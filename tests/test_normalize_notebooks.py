"""The normalizer keeps what a chapter says and drops what differs between runs."""

import nbformat
import normalize_notebooks
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from normalize_notebooks import dumps, normalize


def chapter_with_everything():
    view = {"application/vnd.jupyter.widget-view+json": {"model_id": "7f3a"}, "text/plain": "run this cell"}
    outputs = [
        new_output("stream", name="stdout", text="one\n"),
        new_output("stream", name="stdout", text="two\n"),
        new_output("display_data", data={"image/png": "iVBO", "text/plain": "<Figure>"}, metadata={"needs": "bg"}),
        new_output("execute_result", data=view, execution_count=17),
    ]
    cell = new_code_cell("print(1)\n", execution_count=17, outputs=outputs, id="first-code")
    cell.metadata = nbformat.from_dict(
        {"execution": {"iopub.status.busy": "now"}, "tags": ["hide-input"], "mystnb": {"image": {"alt": "A line."}}}
    )
    words = new_markdown_cell("# Title", id="title")
    metadata = {"widgets": {"state": {}}, "kernelspec": {"name": "mine", "display_name": "Mine"}}
    return new_notebook(cells=[words, cell], metadata=metadata)


@pytest.fixture
def normal():
    return normalize(chapter_with_everything())


def test_text_stays_and_pieces_of_one_stream_are_joined(normal):
    outputs = normal.cells[1].outputs
    assert outputs[0].text == "one\ntwo\n"
    assert outputs[1].data == {"text/plain": "<Figure>"}
    assert outputs[2].data == {"text/plain": "run this cell"}


def test_images_widgets_and_output_metadata_go(normal):
    text = dumps(normal)
    for dropped in ("image/png", "widget-view", "needs", "widgets", "iopub"):
        assert dropped not in text


def test_cell_ids_tags_and_alternative_text_stay(normal):
    assert [cell.id for cell in normal.cells] == ["title", "first-code"]
    assert normal.cells[1].metadata == {"tags": ["hide-input"], "mystnb": {"image": {"alt": "A line."}}}


def test_counts_and_kernel_are_fixed(normal):
    assert normal.cells[1].execution_count == 1
    assert normal.cells[1].outputs[2].execution_count == 1
    assert normal.metadata.kernelspec.name == "python3"


def test_the_normal_form_is_a_valid_notebook_and_its_own_normal_form(normal):
    nbformat.validate(normal)
    assert dumps(normalize(nbformat.reads(dumps(normal), as_version=4))) == dumps(normal)


def test_executing_twice_gives_the_same_bytes(tmp_path):
    source = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint(f'{1 / 3:.4f}')"
    path = tmp_path / "chapter.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(source, id="draw")]), path)
    normalize_notebooks.main(["--execute", str(path)])
    first = path.read_bytes()
    assert b"0.3333" in first
    normalize_notebooks.main(["--execute", str(path)])
    assert path.read_bytes() == first


def test_an_error_in_a_cell_leaves_the_file_alone(tmp_path):
    from nbclient.exceptions import CellExecutionError

    path = tmp_path / "chapter.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1 / 0", id="fails")]), path)
    before = path.read_bytes()
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        normalize_notebooks.main(["--execute", str(path)])
    assert path.read_bytes() == before
