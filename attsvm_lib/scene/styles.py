"""One table of drawing styles: the same object looks the same in every explorable and every figure.

A mark names its style (``style="W"``); the viewer and Matplotlib both resolve the name in `STYLES`.
Colors are from the color-blind-safe palette of Okabe and Ito; no two styles that meet in one picture differ
by color alone (dash, marker or filling differs too). ``currentColor`` follows the page's text color.
"""

from __future__ import annotations

from dataclasses import dataclass

MARKERS = ("circle", "square", "star", "diamond", "triangle", "cross", "none")


@dataclass(frozen=True)
class Style:
    """How one kind of object is drawn.

    color, dark: CSS colors on a light and on a dark page. dash: lengths on/off in px, () = solid. width:
    line width in px. marker: one of `MARKERS`; size: its diameter in px; filled: False draws its outline
    only.
    """

    color: str
    dark: str
    dash: tuple[float, ...] = ()
    width: float = 2.0
    marker: str = "circle"
    size: float = 9.0
    filled: bool = True


_BLUE, _ORANGE = ("#0072B2", "#4BA6DC"), ("#D55E00", "#F28A3C")
_GREEN, _PURPLE = ("#00855F", "#2CC79B"), ("#B8578F", "#E6A0C8")
_GRAY, _TEXT = ("#6B6B6B", "#A3A3A3"), ("currentColor", "currentColor")

STYLES: dict[str, Style] = {
    # the book's main objects
    "W": Style(*_BLUE),
    "KQ": Style(*_ORANGE, dash=(7, 4), marker="square"),
    "svm": Style(*_TEXT, width=2.5, marker="diamond"),
    "nuclear": Style(*_TEXT, dash=(2, 3), width=2.5, marker="triangle"),
    # data: sequence 1 is filled, sequence 2 is hollow; a star is selected, a diamond is a query
    "token-1": Style(*_GREEN),
    "token-2": Style(*_PURPLE, filled=False),
    "selected-1": Style(*_GREEN, marker="star", size=17),
    "selected-2": Style(*_PURPLE, marker="star", size=17, filled=False),
    "query-1": Style(*_GREEN, marker="diamond", size=11),
    "query-2": Style(*_PURPLE, marker="diamond", size=11, filled=False, dash=(6, 3)),
    "handle": Style(*_TEXT, marker="circle", size=15, filled=False),
    # curves and helpers
    "reference": Style(*_GRAY, dash=(2, 4), width=1.5, marker="cross", size=8),
    "boundary": Style(*_GRAY, dash=(6, 4), width=1.5, marker="none"),
    "guide": Style(*_GRAY, width=1.0, marker="none"),
    "highlight": Style(*_TEXT, width=2.5, marker="circle", size=12, filled=False),
    "series-1": Style(*_BLUE, marker="circle"),
    "series-2": Style(*_ORANGE, dash=(7, 4), marker="square"),
    "series-3": Style(*_GREEN, dash=(2, 3), marker="triangle"),
    "series-4": Style(*_PURPLE, dash=(9, 3, 2, 3), marker="diamond", filled=False),
    "particle": Style(*_BLUE, marker="circle", size=11),
}

# Color scales as evenly spaced stops, low to high; colors between two stops are interpolated linearly in
# sRGB.
SCALES: dict[str, tuple[str, ...]] = {
    "sequential": (
        "#440154",
        "#482878",
        "#3E4A89",
        "#31688E",
        "#26828E",
        "#1F9E89",
        "#35B779",
        "#6DCD59",
        "#B4DE2C",
        "#FDE725",
    ),
    "diverging": (
        "#0B4F8A",
        "#2F7FBC",
        "#7FB2DA",
        "#C6DDEE",
        "#F4F2EE",
        "#F6CFAE",
        "#EC9A5F",
        "#CC6322",
        "#8A3A06",
    ),
    "attention": ("#F7FAFC", "#D6E6F2", "#A9CCE5", "#72ABD3", "#3C88BE", "#0072B2", "#00527F", "#00344F"),
}
