"""The numerics that pages use work in a browser's Python: the library's own tests, under Pyodide in Node."""

import importlib.util
import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pyodide_files
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PACKAGES = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "sortedcontainers")
NUMERICS = (
    "attention data excess generalized heads regularization_path selection sequences svm training "
    "meanfield_clusters meanfield_energy meanfield_field meanfield_gram meanfield_pairs meanfield_particles"
).split()


@pytest.fixture(scope="module")
def node():
    """Node's path; without it or without Pyodide's files the tests are skipped on a laptop and fail where CI=true."""
    found = shutil.which("node")
    if found and pyodide_files.complete():
        return found
    reason = "Node or Pyodide's files are missing: run `make pyodide`"
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def packages(node, tmp_path_factory):
    """A folder with the pure Python packages that the tests need there."""
    folder = tmp_path_factory.mktemp("packages")
    for name in PACKAGES:
        shutil.copytree(Path(importlib.util.find_spec(name).origin).parent, folder / name)
    shutil.copy(importlib.util.find_spec("py").origin, folder)  # pytest's own, one file
    with zipfile.ZipFile(pyodide_files.hypothesis()) as wheel:
        wheel.extractall(folder)
    return folder


def test_the_numerics_of_the_pages_pass_under_pyodide(node, packages):
    tests = [f"tests/test_{name}.py" for name in NUMERICS]
    command = [node, HERE / "run_pytest.mjs", pyodide_files.FOLDER, ROOT, packages, "-q", "--no-header", *tests]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]
    passed = int(re.search(r"(\d+) passed", run.stdout)[1])
    skipped = int((re.search(r"(\d+) skipped", run.stdout) or [0, 0])[1])
    assert passed > 10 * skipped, run.stdout[-2000:]
