"""Matplotlib figures. `draw` shows the same scene, in the same styles, as an explorable does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from attsvm_lib.scene.checks import number
from attsvm_lib.scene.coordinates import Ranges, ticks
from attsvm_lib.scene.function import Scene, SceneFunction, is_scene
from attsvm_lib.scene.marks import Arrows, Bars, Heatmap, Line, Mark, Path, Points, Points3D, Segments
from attsvm_lib.scene.panels import Panel, Panel3D
from attsvm_lib.scene.parameters import Drag, Parameter, Pick, Time
from attsvm_lib.scene.styles import SCALES, STYLES, Style
from attsvm_lib.validation import integer, integer_array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["book_style", "draw", "separability_curves"]

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


@contextmanager
def _closed_on_failure(figure: Figure) -> Iterator[None]:
    """Within it, an exception closes the figure, which pyplot would otherwise keep and show later."""
    import matplotlib.pyplot as plt

    try:
        yield
    except BaseException:
        plt.close(figure)
        raise


def draw(scene: SceneFunction, *, frame: int | None = None, width: float | None = None, **params: Any) -> Figure:
    """The scene at ``params`` (left out: their starts) as a Matplotlib figure, for print and for pages
    without script.

    frame: index on the scene's time axis, default the last one. width: inches from 1 to 100 (default 4.2, or 7
    for two panels). Axis limits a panel leaves open are those of this one scene. The scene's message, if any, stands
    above the panels. It is pyplot's current figure, so a cell ends with ``plt.show()``. ValueError for a
    scene, parameter, frame or width that is none, or is out of range; no figure is then left open.
    """
    import matplotlib.pyplot as plt

    frame = is_scene("scene", scene).frame(frame)
    width = number("width", (4.2 if len(scene.panels) == 1 else 7.0) if width is None else width, 1, 100)
    picture = scene(**params)
    ranges = Ranges(scene)
    placed = ranges.add(picture)
    with book_style():
        figure = plt.figure(figsize=(width, _height(scene, ranges, width)))
    with book_style(), _closed_on_failure(figure):
        axes = dict(zip(scene.panels, figure.subplots(1, len(scene.panels), squeeze=False)[0], strict=True))
        for name, panel in scene.panels.items():
            _axes(axes[name], panel, ranges, name)
        for name, mark in picture.marks.items():
            where = mark.panel or next(iter(scene.panels))
            _mark(axes[where], scene, ranges, name, mark, _at(placed[name], mark, frame, scene.time))
        for name, value in scene.arguments(**params).items():
            _control(axes, scene, picture, scene.parameters[name], value)
        _legend(figure, picture)
        if picture.message:
            figure.suptitle(picture.message, fontsize=9, style="italic")
    return figure


def _height(scene: SceneFunction, ranges: Ranges, width: float) -> float:
    """Inches, so that the widest panel has the proportions it has in the viewer."""
    each = width / len(scene.panels)
    ratios = []
    for name, p in scene.panels.items():
        x, y = ranges.axis(name, "x"), ranges.axis(name, "y")
        square = isinstance(p, Panel3D) or p.equal
        ratios.append(abs((y[1] - y[0]) / (x[1] - x[0])) if square else p.height)
    return min(0.82 * each * max(ratios), 0.75 * width) + 0.9


def _axes(ax: Axes, panel: Panel | Panel3D, ranges: Ranges, name: str) -> None:
    """Limits, ticks and labels in axis coordinates, as in the viewer."""
    ax.set_xlim(*ranges.axis(name, "x"))
    ax.set_ylim(*ranges.axis(name, "y"))
    ax.set_title(panel.title)
    if isinstance(panel, Panel3D):
        _sphere(ax, panel)
        return
    for axis, label in (("x", panel.xlabel), ("y", panel.ylabel)):
        marks = ticks(panel, axis, ranges.axis(name, axis))
        getattr(ax, f"set_{axis}ticks")([v for v, _ in marks], [text for _, text in marks])
        getattr(ax, f"set_{axis}label")(label)
    if panel.equal:
        ax.set_aspect("equal", adjustable="box")
    if not panel.axes:
        ax.set_axis_off()


def _sphere(ax: Axes, panel: Panel3D) -> None:
    ax.set_aspect("equal")
    ax.set_axis_off()
    if panel.sphere:
        t = np.linspace(0, 2 * np.pi, 181)
        ax.plot(np.cos(t), np.sin(t), color="0.45", lw=0.8, ls="-")
        x, y, depth = panel.rotation() @ np.array([np.cos(t), np.sin(t), 0 * t])
        ax.plot(x, np.where(depth >= 0, y, np.nan), color="0.45", lw=0.8, ls="-")
        ax.plot(x, np.where(depth < 0, y, np.nan), color="0.45", lw=0.8, ls="-", alpha=0.35)


def _at(channels: dict[str, np.ndarray], mark: Mark, frame: int, time: Time | None) -> dict[str, np.ndarray]:
    """Each channel at the frame; a path keeps its frames up to it (all of it where there is no time)."""
    if isinstance(mark, Path):
        return {key: a if time is None else a[: frame + 1] for key, a in channels.items()}
    return {key: a[min(frame, len(a) - 1)] for key, a in channels.items()}


def _color(style: Style) -> str:
    return "black" if style.color == "currentColor" else style.color


def _line(style: Style) -> dict[str, Any]:
    dash = (0, tuple(d / style.width for d in style.dash)) if style.dash else "-"
    return {"color": _color(style), "lw": style.width * POINTS, "ls": dash}


def _marker(style: Style) -> dict[str, Any]:
    face = _color(style) if style.filled else "white"
    return {
        "color": _color(style),
        "marker": MARKERS[style.marker],
        "ms": style.size * POINTS,
        "mfc": face,
        "mec": _color(style),
        "mew": 1.4 if not style.filled or style.marker == "cross" else 0.5,
    }


def _mark(ax: Axes, scene: SceneFunction, ranges: Ranges, name: str, mark: Mark, c: dict[str, np.ndarray]) -> None:
    """Draw one mark from its channels in axis coordinates."""
    style = STYLES[mark.style]
    if isinstance(mark, Line):
        ax.plot(c["x"], c["y"], **(_marker(style) if mark.markers else {}) | _line(style))
    elif isinstance(mark, Path):
        ax.plot(c["x"], c["y"], **_line(style))
        ax.plot(c["x"][-1], c["y"][-1], ls="None", **_marker(style))
    elif isinstance(mark, Points):
        ax.plot(c["x"], c["y"], ls="None", **_marker(style))
        for text, x, y in zip(mark.text, c["x"], c["y"], strict=False):
            if np.isfinite(x + y):
                ax.annotate(text, (x, y), (4, 4), textcoords="offset points", color=_color(style))
    elif isinstance(mark, Points3D):
        x, y, _ = scene.panel_of(name, mark).rotation() @ np.array([c["x"], c["y"], c["z"]])
        ax.plot(x, y, ls="None", **_marker(style))
    elif isinstance(mark, Bars):
        hollow = {} if style.filled else {"fill": False, "edgecolor": _color(style), "lw": 1.5}
        ax.bar(c["x"], c["y"], width=mark.width, color=_color(style), **hollow)
    elif isinstance(mark, Heatmap):
        _heatmap(ax, ranges, name, mark, c["v"])
    else:
        _spans(ax, mark, style, c)


def _spans(ax: Axes, mark: Arrows | Segments, style: Style, c: dict[str, np.ndarray]) -> None:
    for x0, y0, x1, y1 in np.stack([c["x0"], c["y0"], c["x1"], c["y1"]], axis=1):
        if not np.isfinite(x0 + y0 + x1 + y1):
            continue
        ax.plot([x0, x1], [y0, y1], **_line(style) | ({"ls": "None"} if isinstance(mark, Arrows) else {}))
        if isinstance(mark, Arrows):
            arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 12} | _line(style)
            ax.annotate("", (x1, y1), (x0, y0), arrowprops=arrow)


def _heatmap(ax: Axes, ranges: Ranges, name: str, mark: Heatmap, values: np.ndarray) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list(mark.scale, SCALES[mark.scale])
    rows, columns = mark.values.shape[-2:]
    x0, x1, y0, y1 = mark.extent
    low, high = ranges.color(name, mark)
    edges = np.linspace(x0, x1, columns + 1), np.linspace(y0, y1, rows + 1)
    grid = np.ma.masked_invalid(values.reshape(rows, columns))
    ax.set_facecolor("0.85")
    ax.grid(False)
    image = ax.pcolormesh(*edges, grid, cmap=colors, vmin=low, vmax=high, rasterized=True)
    ax.figure.colorbar(image, ax=ax, label=mark.label, location="bottom", aspect=30, shrink=0.7)


def _control(axes: dict[str, Axes], scene: SceneFunction, picture: Scene, p: Parameter, value: Any) -> None:
    """The point of a `Drag`, the outline of a picked cell: the viewer draws them over the marks."""
    from matplotlib.patches import Rectangle

    first = next(iter(scene.panels))
    if isinstance(p, Drag):
        panel = scene.panels[p.panel or first]
        x, y = (
            np.log10(v) if scale == "log" else v for v, scale in zip(value, (panel.xscale, panel.yscale), strict=True)
        )
        axes[p.panel or first].plot(x, y, ls="None", zorder=5, **_marker(STYLES[p.style]))
    if isinstance(p, Pick):
        mark = picture.marks[p.mark]
        x0, x1, y0, y1 = mark.extent
        w, h = (x1 - x0) / p.shape[1], (y1 - y0) / p.shape[0]
        for color, line in (("white", 3.5), ("black", 1.5)):
            corner = (x0 + w * value[1], y0 + h * value[0])
            axes[mark.panel or first].add_patch(Rectangle(corner, w, h, fill=False, ec=color, lw=line, zorder=5))


def _legend(figure: Figure, picture: Scene) -> None:
    """One legend for all panels, below them."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = []
    for mark in picture.marks.values():
        style = STYLES[mark.style]
        if not mark.label or isinstance(mark, Heatmap):
            continue
        dots = isinstance(mark, (Points, Points3D, Path)) or (isinstance(mark, Line) and mark.markers)
        look = (_marker(style) if dots else {}) | (
            {"ls": "None"} if isinstance(mark, (Points, Points3D)) else _line(style)
        )
        filled = {"fc": _color(style)} if style.filled else {"fc": "white", "ec": _color(style)}
        handles.append(
            Patch(label=mark.label, **filled) if isinstance(mark, Bars) else Line2D([], [], label=mark.label, **look)
        )
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=min(3, len(handles)))


def _reached(reached: Mapping[tuple[int, int], np.ndarray]) -> dict[tuple[int, int], np.ndarray]:
    """The checked argument of `separability_curves`, ordered by size."""
    if not isinstance(reached, Mapping) or not reached:
        raise ValueError(f"reached must map at least one size (T, d) to counts, got {reached!r}")
    out = {}
    for size, counts in reached.items():
        if not isinstance(size, tuple) or len(size) != 2:
            raise ValueError(f"reached must have sizes (T, d) as keys, got {size!r}")
        key = integer("T in reached", size[0], 2), integer("d in reached", size[1], 1)
        out[key] = integer_array(f"reached[{key}]", counts, (None,), 0, 10**6)
        if not out[key].size:
            raise ValueError(f"reached[{key}] must hold at least one count, got none")
    if len({T for T, _ in out}) > 4:
        raise ValueError(f"reached must have at most four different T, got {sorted({T for T, _ in out})}")
    return dict(sorted(out.items()))


def separability_curves(reached: Mapping[tuple[int, int], np.ndarray], law: float = 0.8) -> Figure:
    """Shares of feasible problems: against n for the largest d, and for all sizes against n ln T / d^2.

    reached: (T, d) -> what `attsvm_lib.experiments.feasible_sequences` returned for that size. law: the
    constant of d* = sqrt(law n ln T), drawn at 1 / law on the right. At most four different T. ValueError for
    counts that are no integers of at least 0, sizes that are none, or a law outside 1e-3 to 1e3.
    """
    import matplotlib.pyplot as plt

    reached, law = _reached(reached), number("law", law, 1e-3, 1e3)
    tokens, largest = sorted({T for T, _ in reached}), max(d for _, d in reached)
    styles = dict(zip(tokens, ("series-1", "series-2", "series-3", "series-4"), strict=False))
    with book_style():
        figure, (left, right) = plt.subplots(1, 2, figsize=(7.0, 3.0), sharey=True)
    with book_style(), _closed_on_failure(figure):
        for (T, d), counts in reached.items():
            n = np.arange(counts.max() + 2)
            share = (counts >= n[:, None]).mean(1)
            look = _line(STYLES[styles[T]])
            right.plot(n * np.log(T) / d**2, share, **look | {"alpha": 1.0 if d == largest else 0.45})
            if d == largest:
                left.plot(n, share, label=f"T = {T}", **look)
        left.axvline(largest, label=f"n = d = {largest}", **_line(STYLES["boundary"]))
        right.axvline(1 / law, label=f"d² = {law} n ln T", **_line(STYLES["svm"]))
        left.set(xlabel=f"sequences n (d = {largest})", ylabel="feasible share")
        right.set(xlabel="n ln T / d²")
        figure.legend(loc="outside lower center", ncols=6)
    return figure
