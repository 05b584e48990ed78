"""Sphinx extension: index.html, which leads to the first page, names the book and asks for nothing else.

Without an icon, here an empty one, a browser asks the host for /favicon.ico, which need not be there.
"""

from pathlib import Path

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Refresh" content="0; url={first}.html">
<link rel="icon" href="data:,">
<title>{title}</title>
</head>
<body><a href="{first}.html">{title}</a></body>
</html>
"""


def write(app, exception):
    if not exception and app.builder.format == "html":
        page = PAGE.format(first=app.config.root_doc, title=app.config.html_title)
        (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


def setup(app):
    app.connect("build-finished", write, priority=900)  # after Jupyter Book's own
    return {"parallel_read_safe": True, "parallel_write_safe": True}
