"""Names of the built pages, from the table of contents."""

import yaml
from local_site import ROOT


def toc_pages():
    """Names of the pages listed in _toc.yml, without suffix, in reading order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    chapters = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [toc["root"], *chapters]


PAGES = [f"{name}.html" for name in toc_pages()]
EXTRA_PAGES = ["index.html", "genindex.html", "search.html"]
