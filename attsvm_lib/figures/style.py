"""How the book's figures look: its Matplotlib style, and the styles of its scenes in Matplotlib's words."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import resources
from typing import TYPE_CHECKING, Any

from attsvm_lib.scene.styles import Style

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

__all__ = ["book_figure", "book_style", "color", "line", "marker", "panel_column"]

POINTS = 0.72  # typographic points for a CSS pixel, a little less than 3/4: print is read more closely
MARKERS = {
    "circle": "o",
    "square": "s",
    "star": "*",
    "diamond": "D",
    "triangle": "^",
    "cross": "x",
    "none": "None",
}


def book_style() -> AbstractContextManager[None]:
    """Context manager: the book's Matplotlib style (``book.mplstyle``) and nothing of the reader's own."""
    import matplotlib.style

    return matplotlib.style.context(["default", resources.files("attsvm_lib").joinpath("book.mplstyle")])


def book_figure(make: Callable[..., Figure]) -> Callable[..., Figure]:
    """Decorator: the figure is made in the book's style, and a failure leaves none open for pyplot to show later."""

    @functools.wraps(make)
    def styled(*args: Any, **options: Any) -> Figure:
        import matplotlib.pyplot as plt

        before = set(plt.get_fignums())
        try:
            with book_style():
                return make(*args, **options)
        except BaseException:
            for number in set(plt.get_fignums()) - before:
                plt.close(number)
            raise

    return styled


def panel_column(count: int, width: float, **options: Any) -> tuple[Figure, np.ndarray]:
    """A figure with one column of panels."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(count, 1, figsize=(width, 0.62 * width * count + 0.4), squeeze=False, **options)
    return figure, axes[:, 0]


def color(style: Style) -> str:
    """The style's color in Matplotlib's words."""
    return "black" if style.color == "currentColor" else style.color


def line(style: Style) -> dict[str, Any]:
    """Arguments of ``Axes.plot`` for a line of this style."""
    dash = (0, tuple(d / style.width for d in style.dash)) if style.dash else "-"
    return {"color": color(style), "lw": style.width * POINTS, "ls": dash}


def marker(style: Style) -> dict[str, Any]:
    """Arguments of ``Axes.plot`` for markers of this style."""
    face = color(style) if style.filled else "white"
    return {
        "color": color(style),
        "marker": MARKERS[style.marker],
        "ms": style.size * POINTS,
        "mfc": face,
        "mec": color(style),
        "mew": 1.4 if not style.filled or style.marker == "cross" else 0.5,
    }
