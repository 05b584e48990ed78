"""Scenes that between them have every parameter, every mark, absent values, messages, log axes and both
kinds of panel.
"""

import numpy as np

from attsvm_lib.scene import (
    Arrows,
    Bars,
    Choice,
    Drag,
    Heatmap,
    Line,
    Panel,
    Panel3D,
    Path,
    Pick,
    Points,
    Points3D,
    Readout,
    Scene,
    Segments,
    Slider,
    Time,
    Toggle,
    scene,
)

STEPS = np.unique(np.round(np.geomspace(1, 1000, 31)))
ANGLES = np.linspace(0, 2 * np.pi, 90)


@scene(
    title="Drag a token",
    instruction="Move the token until the direction flips.",
    caption="Left: a token, the direction it asks for and a path toward it. Right: the distance to it.",
    parameters={
        "token": Drag(
            "token x₁", np.linspace(-1, 1, 11), np.linspace(-1, 1, 11), start=(0.6, 0.4), style="selected-1"
        ),
        "model": Choice("parameters", ["W", "(K, Q)"]),
    },
    panels={
        "plane": Panel(
            xlabel="first coordinate",
            ylabel="second coordinate",
            xlim=(-1.3, 1.3),
            ylim=(-1.3, 1.3),
            equal=True,
        ),
        "distance": Panel(
            "Distance",
            xlabel="iteration",
            ylabel="1 − correlation",
            xlim=(1, 1000),
            ylim=(1e-4, 4),
            xscale="log",
            yscale="log",
            height=0.9,
        ),
    },
    time=Time("iteration", STEPS, format=".0f"),
)
def drag_a_token(token, model):
    """A path that turns toward the token; nothing to turn to at the center."""
    x, norm = np.array(token), float(np.hypot(*token))
    unit = x / norm if norm > 1e-9 else np.full(2, np.nan)
    rate = 0.02 if model == "W" else 0.008
    share = 1 - np.exp(-rate * STEPS)[:, None]
    path = share * unit + (1 - share) * np.array([0.0, -0.8])
    away = 1 - np.clip(path @ unit / np.linalg.norm(path, axis=1), -1, 1)
    away = np.maximum(away, 1e-4)
    curves = np.broadcast_to(away, (len(STEPS), len(STEPS))).copy()
    curves[np.triu_indices(len(STEPS), 1)] = np.nan
    return Scene(
        marks={
            "circle": Line(np.cos(ANGLES), np.sin(ANGLES), style="guide"),
            "others": Points(
                [[-0.5, 0.9], [0.8, -0.7]], style="token-2", label="other tokens", text=("x₂", "x₃")
            ),
            "direction": Arrows([[0, 0]], unit[None], style="svm", label="Att-SVM direction"),
            "path W": Path(
                path if model == "W" else np.full_like(path, np.nan), style="W", label="gradient path, W"
            ),
            "path KQ": Path(
                path if model != "W" else np.full_like(path, np.nan),
                style="KQ",
                label="gradient path, (K, Q)",
            ),
            "curve": Line(
                np.broadcast_to(STEPS, curves.shape),
                curves,
                style="series-3",
                panel="distance",
                markers=True,
            ),
            "level": Segments(
                [[1, 1e-2]], [[1000, 1e-2]], style="boundary", panel="distance", label="one percent"
            ),
        },
        readouts={
            "norm": Readout(norm, "norm of the token", ".3f"),
            "away": Readout(away, "1 − correlation", ".2e"),
            "winner": Readout("first" if token[0] > 0 else "second", "winner"),
        },
        message=None if norm > 1e-9 else "A zero token asks for no direction.",
    )


@scene(
    title="Particles on a sphere",
    instruction="Raise β until the particles form one cluster.",
    caption="Twelve particles on the unit sphere move together.",
    parameters={
        "beta": Slider("β", np.linspace(0, 4, 9), start=2, format=".1f"),
        "symmetric": Toggle("mirror the start"),
    },
    panels={"sphere": Panel3D()},
    time=Time("time", np.linspace(0, 2, 21), format=".1f", start=5),
)
def sphere(beta, symmetric):
    """Points pulled to the north pole at a speed that grows with beta; one of them leaves half-way."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(12, 3)) * np.array([1, -1 if symmetric else 1, 1])
    x = x + (beta * np.linspace(0, 2, 21))[:, None, None] * np.array([0, 0, 1.0])
    x = x / np.linalg.norm(x, axis=2, keepdims=True)
    x[10:, 4] = np.nan
    return Scene(
        {
            "particles": Points3D(x, style="particle", label="particles"),
            "pole": Points3D([[0, 0, 1]], style="reference", label="north pole"),
        },
        {"spread": Readout(np.nanstd(x, axis=(1, 2)), "spread")},
    )


@scene(
    title="Where it holds",
    instruction="Pick a cell.",
    caption="Color: a share for each pair of sizes; none where n exceeds d. Right: the picked cell.",
    parameters={
        "cell": Pick("sizes", "map", (5, 7), start=(1, 2)),
        "power": Slider("power", [1, 2, 4], start=1, format=".0f", only_grid=True),
        "norm": Choice("norm", ["Frobenius", "nuclear", "operator", "one", "maximum"]),
    },
    panels={
        "sizes": Panel(
            xlabel="d",
            ylabel="n",
            xticks={j: str(j + 2) for j in range(7)},
            yticks={i: str(i + 1) for i in range(5)},
            height=0.7,
        ),
        "bars": Panel(xlabel="rank", ylabel="share", ylim=(-0.3, 1.1)),
    },
    vectorized=True,
)
def phase(cell, power, norm):
    """Vectorized: (G, 2) cells and (G,) powers."""
    rows, columns = np.mgrid[0:5, 0:7]
    share = ((1 + columns) / (2.0 + rows + columns))[None] ** np.asarray(power)[:, None, None]
    share[:, rows > columns + 1] = np.nan
    picked = share[np.arange(len(share)), cell[:, 0], cell[:, 1]]
    heights = np.stack([picked, picked**2, picked - 0.5, 0 * picked + len(norm) / 10], axis=1)
    return Scene(
        marks={
            "map": Heatmap(share, limits=(0, 1), label="share"),
            "heights": Bars(np.arange(4)[None], heights, panel="bars", style="series-2", label="this cell"),
            "mean": Segments(
                np.array([[[-0.5, 0.5]]]), np.array([[[3.5, 0.5]]]), panel="bars", style="boundary"
            ),
        },
        readouts={"share": Readout(picked, "share", ".1%")},
        message=[None if np.isfinite(v) else "There is no such size: n exceeds d." for v in picked],
    )


@scene(
    title="A tilted line",
    instruction="Turn the line.",
    caption="A line through the center; its height at the right end is the sine of its angle.",
    parameters={
        "angle": Slider("angle", [-60, 0, 60], format=".0f", unit="°"),
        "rate": Slider("rate η", [0.0316, 0.1, 0.316], format=".2f"),
    },
    panels={"plane": Panel(xlim=(-1, 1), ylim=(-1, 1), equal=True)},
)
def tilt(angle, rate):
    """Numbers with a unit, below zero, and printed with fewer digits than they have."""
    tip = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    return Scene(
        {"line": Segments([-tip], [tip], style="series-2", label="line")},
        {"height": Readout(tip[1], "height", ".6f"), "rate": Readout(rate, "rate", ".6f")},
    )


ALL = (drag_a_token, sphere, phase, tilt)
