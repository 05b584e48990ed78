"""Sphinx extension: Binder and Colab buttons that follow one setting for the repository's address.

The setting is `repository: {url, branch}` in `_config.yml`; the environment variables BOOK_REPOSITORY_URL and
BOOK_REPOSITORY_BRANCH override it. While the address is empty there are no buttons, and the build says how to
set it. Pages name the address and the branch as {{ install }}, what a chapter in Colab runs first.
"""

import os

from sphinx.util import logging

LAUNCHERS = {
    "notebook_interface": "jupyterlab",
    "binderhub_url": "https://mybinder.org",
    "colab_url": "https://colab.research.google.com",
}
NO_LAUNCHERS = dict.fromkeys(LAUNCHERS, "") | {"notebook_interface": "classic"}
HOW_TO_SET = (
    "No launch buttons: the repository's address is not set. Set `repository: url` in _config.yml, "
    "or BOOK_REPOSITORY_URL in the environment, to get Binder and Colab buttons."
)

logger = logging.getLogger(__name__)


def configure(app, config):
    """Writes the repository's address and its launch buttons into the theme's options."""
    options = config.html_theme_options
    url = os.environ.get("BOOK_REPOSITORY_URL", options.get("repository_url", "")).strip().rstrip("/")
    branch = os.environ.get("BOOK_REPOSITORY_BRANCH", options.get("repository_branch", "")).strip()
    options["repository_url"] = url.removesuffix(".git")
    options["repository_branch"] = branch or "main"
    source = f"{options['repository_url'] or 'https://github.com/OWNER/NAME'}@{options['repository_branch']}"
    install = f'`%pip install -q "attsvm_lib[book] @ git+{source}"`'
    config.myst_substitutions = {**config.myst_substitutions, "install": install}
    if url:
        # Colab opens notebooks of GitHub only; for another host the theme warns and the build fails.
        options["launch_buttons"] = LAUNCHERS | ({} if "github.com" in url else {"colab_url": ""})
    else:
        options["launch_buttons"] = NO_LAUNCHERS
        app.connect("build-finished", say_how_to_set)


def say_how_to_set(app, exception):
    logger.info(HOW_TO_SET)


def setup(app):
    app.connect("config-inited", configure, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
