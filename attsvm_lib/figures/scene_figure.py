"""A scene as a Matplotlib figure: `draw` shows the same scene, in the same styles, as an explorable does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from attsvm_lib.figures.style import book_figure, color, line, marker
from attsvm_lib.scene.checks import number
from attsvm_lib.scene.coordinates import Ranges, ticks
from attsvm_lib.scene.function import Scene, SceneFunction, is_scene
from attsvm_lib.scene.marks import Arrows, Bars, Heatmap, Line, Mark, Path, Points, Points3D, Segments
from attsvm_lib.scene.panels import Panel, Panel3D
from attsvm_lib.scene.parameters import Drag, Parameter, Pick, Time
from attsvm_lib.scene.styles import SCALES, STYLES, Style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]


@book_figure
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
    figure = plt.figure(figsize=(width, _height(scene, ranges, width)))
    axes = dict(zip(scene.panels, figure.subplots(1, len(scene.panels), squeeze=False)[0], strict=True))
    for name, panel in scene.panels.items():
        _axes(axes[name], panel, ranges, name)
    for name, mark in picture.marks.items():
        where = mark.panel or next(iter(scene.panels))
        _mark(axes[where], scene, ranges, name, mark, _at(placed[name], mark, frame, scene.time))
    for ax in axes.values():
        _outline(ax)
    for name, value in scene.arguments(**params).items():
        _control(axes, scene, picture, scene.parameters[name], value)
    _legend(figure, {name: mark for name, mark in picture.marks.items() if _present(placed[name])})
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


def _mark(ax: Axes, scene: SceneFunction, ranges: Ranges, name: str, mark: Mark, c: dict[str, np.ndarray]) -> None:
    """Draw one mark from its channels in axis coordinates."""
    style = STYLES[mark.style]
    if isinstance(mark, Line):
        ax.plot(c["x"], c["y"], **(marker(style) if mark.markers else {}) | line(style))
    elif isinstance(mark, Path):
        ax.plot(c["x"], c["y"], **line(style))
        ax.plot(c["x"][-1], c["y"][-1], ls="None", **marker(style))
    elif isinstance(mark, Points):
        ax.plot(c["x"], c["y"], ls="None", **marker(style))
        for text, x, y in zip(mark.text, c["x"], c["y"], strict=False):
            if np.isfinite(x + y):
                ax.annotate(text, (x, y), (4, 4), textcoords="offset points", color=color(style))
    elif isinstance(mark, Points3D):
        x, y, _ = scene.panel_of(name, mark).rotation() @ np.array([c["x"], c["y"], c["z"]])
        ax.plot(x, y, ls="None", **marker(style))
    elif isinstance(mark, Bars):
        hollow = {} if style.filled else {"fill": False, "edgecolor": color(style), "lw": 1.5}
        ax.bar(c["x"], c["y"], width=mark.width, color=color(style), **hollow)
    elif isinstance(mark, Heatmap):
        _heatmap(ax, ranges, name, mark, c["v"])
    else:
        _spans(ax, mark, style, c)


def _spans(ax: Axes, mark: Arrows | Segments, style: Style, c: dict[str, np.ndarray]) -> None:
    for x0, y0, x1, y1 in np.stack([c["x0"], c["y0"], c["x1"], c["y1"]], axis=1):
        if not np.isfinite(x0 + y0 + x1 + y1):
            continue
        ax.plot([x0, x1], [y0, y1], **line(style) | ({"ls": "None"} if isinstance(mark, Arrows) else {}))
        if isinstance(mark, Arrows):
            arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, "mutation_scale": 12} | line(style)
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


def _outline(ax: Axes) -> None:
    """A white outline for lines and points over a heatmap, as in the viewer."""
    from matplotlib.patheffects import withStroke

    if ax.collections:
        for drawn in ax.lines:
            drawn.set_path_effects([withStroke(linewidth=drawn.get_linewidth() + 2, foreground="white")])


def _control(axes: dict[str, Axes], scene: SceneFunction, picture: Scene, p: Parameter, value: Any) -> None:
    """The point of a `Drag`, the outline of a picked cell: the viewer draws them over the marks."""
    from matplotlib.patches import Rectangle

    first = next(iter(scene.panels))
    if isinstance(p, Drag):
        panel = scene.panels[p.panel or first]
        x, y = (
            np.log10(v) if scale == "log" else v for v, scale in zip(value, (panel.xscale, panel.yscale), strict=True)
        )
        axes[p.panel or first].plot(x, y, ls="None", zorder=5, **marker(STYLES[p.style]))
    if isinstance(p, Pick):
        mark = picture.marks[p.mark]
        x0, x1, y0, y1 = mark.extent
        w, h = (x1 - x0) / p.shape[1], (y1 - y0) / p.shape[0]
        for color, line in (("white", 3.5), ("black", 1.5)):
            corner = (x0 + w * value[1], y0 + h * value[0])
            axes[mark.panel or first].add_patch(Rectangle(corner, w, h, fill=False, ec=color, lw=line, zorder=5))


def _present(channels: dict[str, np.ndarray]) -> bool:
    """Whether the scene draws the mark at some time."""
    return all(np.isfinite(values).any() for values in channels.values())


def _legend(figure: Figure, marks: dict[str, Mark]) -> None:
    """One legend of the given marks for all panels, below them."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = []
    for mark in marks.values():
        style = STYLES[mark.style]
        if not mark.label or isinstance(mark, Heatmap):
            continue
        dots = isinstance(mark, (Points, Points3D, Path)) or (isinstance(mark, Line) and mark.markers)
        look = (marker(style) if dots else {}) | (
            {"ls": "None"} if isinstance(mark, (Points, Points3D)) else line(style)
        )
        filled = {"fc": color(style)} if style.filled else {"fc": "white", "ec": color(style)}
        handles.append(
            Patch(label=mark.label, **filled) if isinstance(mark, Bars) else Line2D([], [], label=mark.label, **look)
        )
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=min(3, len(handles)))
