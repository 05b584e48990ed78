"""Sphinx extension: what a page needs to run the library itself, in `_static/python/`.

The library's wheel is made from this checkout at the end of each build. Its address carries its checksum, so that no
browser goes on with an older one. Pyodide and NumPy come from a public host, and only after a reader's click.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "attsvm_lib")
PYODIDE = "https://cdn.jsdelivr.net/pyodide/v0.27.7/full/"


def build_wheel(folder):
    """The library as a wheel in `folder`; returns its path. CalledProcessError when it cannot be built."""
    with tempfile.TemporaryDirectory() as copy:
        for name in SOURCES:
            source, target = ROOT / name, Path(copy) / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
        options = ["--quiet", "--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check"]
        subprocess.run([sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", folder, copy], check=True)
    (wheel,) = Path(folder).glob("attsvm_lib-*.whl")
    return wheel


def write(app, exception):
    """Writes the wheel and `python.json` beside the scripts that ask for them."""
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static" / "python"
    for old in folder.glob("*.whl"):
        old.unlink()
    wheel = build_wheel(folder)
    version = hashlib.sha256(wheel.read_bytes()).hexdigest()[:12]
    (folder / "python.json").write_text(json.dumps({"pyodide": PYODIDE, "wheel": f"{wheel.name}?v={version}"}) + "\n")


def setup(app):
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
