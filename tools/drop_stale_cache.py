"""Forget executed chapters when the library, the pins or the scenes they ran with have changed.

Jupyter Book executes a chapter again only when the chapter's own code changes. This compares a digest of
everything else a chapter depends on with the one of the last build, and removes the execution cache when they
differ.
"""

import hashlib
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "_build"
STAMP = BUILD / ".library_digest"
# The parsed pages go too: Sphinx would otherwise reuse them without looking at the cache.
STALE = (BUILD / ".jupyter_cache", BUILD / "html" / ".doctrees", BUILD / ".doctrees")


def library_digest(root):
    """SHA-256 over the names and bytes of the library's files and the pins, as a hex string."""
    files = [p for p in (root / "attsvm_lib").rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    digest = hashlib.sha256()
    for path in sorted([*files, *root.glob("requirements*.txt")]):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def main():
    digest = library_digest(ROOT)
    if STAMP.is_file() and STAMP.read_text() == digest:
        return
    if any(path.exists() for path in STALE):
        print("The library has changed since the last build: every chapter will be executed again.")
    for path in STALE:
        shutil.rmtree(path, ignore_errors=True)
    BUILD.mkdir(exist_ok=True)
    STAMP.write_text(digest)


if __name__ == "__main__":
    main()
