"""Sphinx extension: the theme's source maps, 3.5 MB that only its own developers open, stay out of the built book."""

from pathlib import Path


def remove(app, exception):
    if not exception and app.builder.format == "html":
        for path in (Path(app.outdir) / "_static").rglob("*.map"):
            path.unlink()


def setup(app):
    app.connect("build-finished", remove)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
