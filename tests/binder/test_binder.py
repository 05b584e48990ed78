"""A start as on Binder: the files alone, a fresh environment from requirements.txt alone, JupyterLab, a chapter run.

Binder builds an image: it installs requirements.txt from the repository's root and runs postBuild. Its hub then
starts JupyterLab with the options below (BinderHub's BinderSpawnerMixin.get_args) and says in the environment where it
was launched.
"""

import os
import secrets
import shutil
import subprocess
import sys

import pytest
from jupyter_servers import jupyter
from local_site import ROOT
from notebook_in_jupyter import check_first_explorable, errors, run_all

CHAPTERS = ("token_selection", "particles")
TOKEN = secrets.token_hex(16)
BASE = "/user/reader-attsvm-3f2k/"
HUB = [
    "--ip=0.0.0.0",
    *(
        f"--{app}.{option}"
        for app in ("NotebookApp", "ServerApp")
        for option in (f"base_url={BASE}", f"token={TOKEN}", "trust_xheaders=True")
    ),
]
OURS = ["--no-browser", "--allow-root", "--LabApp.expose_app_in_browser=True"]  # no screen here; the test asks the page


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A copy without anything that was built, and in it the environment `.env` with what requirements.txt says."""
    folder = tmp_path_factory.mktemp("binder") / "repository"
    built = shutil.ignore_patterns(".*", "_build", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT, folder, ignore=built)
    subprocess.run([sys.executable, "-m", "venv", ".env"], check=True, cwd=folder)
    pip = [folder / ".env" / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-r", "requirements.txt"], check=True, cwd=folder, env=clean(folder))
    subprocess.run([folder / "postBuild"], check=True, cwd=folder, env=clean(folder))
    return folder


def clean(folder):
    """The environment variables that the image has: nothing of the Python here, and where Binder launched it."""
    keep = ("HOME", "LANG", "TMPDIR", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL")
    return {
        **{name: os.environ[name] for name in keep if name in os.environ},
        "PATH": f"{folder / '.env' / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "BINDER_LAUNCH_HOST": "https://mybinder.org/",
    }


@pytest.fixture(scope="module")
def lab(repository, tmp_path_factory):
    """JupyterLab as Binder's hub starts it; the address of its start page."""
    command, log = [repository / ".env" / "bin" / "jupyter-lab", *HUB, *OURS], tmp_path_factory.mktemp("jupyter")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(repository)
        with jupyter(command, log, TOKEN, base=BASE, environment=clean(repository)) as url:
            yield url


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_runs_from_top_to_bottom(chromium, lab, repository, chapter):
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    tab, asked = context.new_page(), []
    tab.on("request", lambda r: asked.append(r.url))
    tab.goto(f"{lab}lab/tree/book/{chapter}.ipynb?token={TOKEN}")
    cells = run_all(tab, f"book/{chapter}.ipynb")
    assert not errors(cells)
    check_first_explorable(tab)
    assert all(url.startswith(("http://127.0.0.1", "data:", "blob:")) for url in asked)
    context.close()


def test_the_chapters_say_what_they_cite_of_other_pages(repository):
    text = (repository / "book" / "particles.ipynb").read_text(encoding="utf-8")
    assert "(notation.ipynb)" in text and "{doc}`" not in text and "{cite:" not in text


def test_the_library_is_that_of_the_copy(repository):
    ask = "import attsvm_lib, attsvm_lib.experiments as e; print(attsvm_lib.__file__, e.default_size())"
    command = [repository / ".env" / "bin" / "python", "-c", ask]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/", env=clean(repository))
    assert run.stdout.split() == [str(repository / "attsvm_lib" / "__init__.py"), "quick"]
