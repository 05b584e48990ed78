"""A line on stderr that counts: silent unless asked for or seen by a person, so that no notebook stores it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

__all__ = ["with_progress"]


def with_progress(
    items: Iterable[Any], total: int, name: str, progress: bool | None = None, out: TextIO | None = None
) -> Iterator[Any]:
    """The items, with a line "name: 3/10" on stderr.

    items: any iterable of `total` items. progress: True shows the line, False hides it, None shows it when stderr is
    a terminal. out: another stream than stderr.
    """
    out = sys.stderr if out is None else out
    shown = out.isatty() if progress is None else progress
    for k, item in enumerate(items, start=1):
        yield item
        if shown and (k == total or k % max(1, total // 50) == 0):
            out.write(f"\r{name}: {k}/{total}" + ("\n" if k == total else ""))
            out.flush()
