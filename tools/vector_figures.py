"""Sphinx extension: the chapters' figures are drawn as SVG, sharp on any screen.

Kernels read it from an IPython profile of the build's own; on Binder and on a laptop a reader's own choice stays.
"""

import os
from pathlib import Path


def setup(app):
    profile = Path(app.outdir).parent / "ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text('c.InlineBackend.figure_formats = {"svg"}  # noqa: F821\n')
    os.environ["IPYTHONDIR"] = str(profile.parent)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
