r"""Scenes of the chapter on one cluster: a phase diagram on the sphere, the orthogonal start, and the shrinking cone.

Source: arXiv 2312.10794, sections 4 and 5.
"""

from __future__ import annotations

import functools

import numpy as np

from attsvm_lib.data import random_direction
from attsvm_lib.meanfield import clusters, pair_fraction, random_gram, simulate, simulate_circle, simulate_gram, wendel
from attsvm_lib.scene import (
    Bars,
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
    scene,
)
from attsvm_lib.scenes import TOL

__all__ = ["orthogonal_and_random", "phase_on_the_sphere", "shrinking_cone"]

N = 32
SPHERE_BETAS = np.round(np.arange(1, 16) * 0.6, 1)
SPHERE_TIMES = np.arange(1, 61) * 0.5
STARTS, EPS = 16, 1e-3
EXTENT = (0.25, 30.25, 0.3, 9.3)
CURVE_BETAS = np.linspace(*EXTENT[2:], 61)

DIMENSIONS = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
RANDOM_BETAS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)
RANDOM_TIMES = np.linspace(0, 40, 61)
EDGES = np.linspace(-1, 1, 33)

CONE_TOKENS = (3, 4, 6, 9)
CONE_STARTS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
CONE_BETAS = (1.0, 9.0)
CONE_TIMES = np.linspace(0, 12, 49)
TURN = np.radians(np.arange(0, 361, 5))


def crossing_times(betas):
    r"""Times at which the inner product of an orthogonal start of 32 tokens reaches 0.999, by quadrature; NumPy only.

    .. math:: t^* = \int_0^{\log 1000} \frac{e^{\beta e^{-s}} + n - 1}{2((n-1)(1 - e^{-s}) + 1)}\,ds,
              \qquad s = -\log(1 - \gamma)

    (`transition_time` has the closed form, which needs SciPy.) Source: arXiv 2312.10794, section 4, (SA).
    """
    nodes, weights = np.polynomial.legendre.leggauss(120)
    half = -np.log(EPS) / 2
    left = np.exp(-half * (nodes + 1))  # 1 - gamma
    slowness = (np.exp(np.asarray(betas)[:, None] * left) + N - 1) / (2 * ((N - 1) * (1 - left) + 1))
    return half * slowness @ weights


@functools.cache
def _sphere_starts():
    """Starts of the hero, shape (STARTS, N, 3)."""
    return random_direction(3, rng=np.random.default_rng(8), batch=(STARTS, N))


@functools.cache
def _diagram():
    """Mean share of pairs that have met, shape (betas, times)."""
    starts = _sphere_starts().astype(np.float32)
    met = np.stack([pair_fraction(starts, SPHERE_TIMES, beta=beta, eps=EPS) for beta in SPHERE_BETAS])
    return met.mean(-1)


@functools.cache
def _sphere_run(row):
    """Tokens (times, N, 3) of the start which is shown, at a row of the diagram."""
    return simulate(_sphere_starts()[0], SPHERE_TIMES, beta=SPHERE_BETAS[row]).x


@scene(
    title="A phase diagram, and the tokens behind each cell",
    instruction=(
        "Pick a cell, by pointer or by arrow keys. Go right: time passes. Go up: β grows. Where do all tokens meet in "
        "time, and what do you see on the sphere where they do not?"
    ),
    caption=(
        "Left: share of pairs of tokens that have met (inner product above 0.999) on the sphere in three dimensions, "
        "over time and β, mean over 16 random starts of 32 tokens. For small β all pairs meet, for large β only "
        "those inside a few clusters. The line is the time at which tokens that start orthogonal to each other meet, "
        "which takes 32 dimensions: in three it describes little. Right: the 32 tokens of one start at the "
        "picked cell."
    ),
    parameters={"cell": Pick("cell", "met", (len(SPHERE_BETAS), len(SPHERE_TIMES)), start=(9, 10))},
    panels={
        "diagram": Panel(
            "share of pairs that have met",
            xlabel="time t",
            ylabel="β",
            xlim=EXTENT[:2],
            ylim=EXTENT[2:],
        ),
        "sphere": Panel3D("the tokens there"),
    },
)
def phase_on_the_sphere(cell):
    """Pairs that have met in d = 3 over 15 betas and 60 times, and the tokens of one start at a picked cell.

    Runge-Kutta steps of 0.2 in float32 for the diagram, adaptive ones for the tokens shown.
    Source: arXiv 2312.10794, section 5 (phase diagrams; d = 3 is not among the paper's).
    """
    row, column = cell
    share, x = _diagram(), _sphere_run(row)[column]
    own = (np.count_nonzero(x @ x.T > 1 - EPS) - N) / (N * (N - 1))
    curve = crossing_times(CURVE_BETAS)
    curve = np.where(curve < EXTENT[1], curve, np.nan)
    here = [[SPHERE_TIMES[column], SPHERE_BETAS[row]]]
    return Scene(
        marks={
            "met": Heatmap(share, limits=(0, 1), extent=EXTENT, format=".2f", label="share of pairs that have met"),
            "curve": Line(curve, CURVE_BETAS, style="svm", label="orthogonal start (d ≥ 32)"),
            "here": Points(here, style="highlight"),
            "tokens": Points3D(x, style="particle", panel="sphere"),
        },
        readouts={
            "beta": Readout(SPHERE_BETAS[row], "β", ".1f"),
            "time": Readout(SPHERE_TIMES[column], "time t", ".1f"),
            "share": Readout(share[row, column], "pairs that have met, mean", ".2f"),
            "own": Readout(own, "in the start shown", ".2f"),
            "clusters": Readout(clusters(x), "clusters shown", ".0f"),
        },
    )


@functools.cache
def _orthogonal(beta):
    """Common inner product over RANDOM_TIMES of tokens that start orthogonal to each other."""
    return simulate_gram(np.eye(N), RANDOM_TIMES, beta=beta, tol=TOL).gram[:, 0, 1]


@functools.cache
def _random_products(d, beta):
    """Inner products of all pairs over RANDOM_TIMES, shape (times, pairs), from a uniform start in dimension d."""
    start = random_gram(N, d, (), np.random.default_rng([5, d]))
    return simulate_gram(start, RANDOM_TIMES, beta=beta, tol=TOL).gram[:, *np.triu_indices(N, 1)]


@scene(
    title="A random start follows the orthogonal one",
    instruction=(
        "Play at d = 2, then raise the dimension and play again. From which dimension on would you trust the one curve "
        "on the right to speak for all pairs?"
    ),
    caption=(
        "Left: histogram of the inner products of all pairs of 32 random tokens, one start for each dimension; the "
        "vertical line is the common inner product of tokens that start orthogonal. Right: their smallest, mean and "
        "largest inner product over time, beside the orthogonal start. In low dimension the histogram is wide and "
        "splits; in high dimension it is a narrow peak that travels with the line."
    ),
    parameters={
        "d": Slider("dimension d", DIMENSIONS, start=128, format=".0f", only_grid=True),
        "beta": Slider("inverse temperature β", RANDOM_BETAS, start=5, format=".0f"),
    },
    panels={
        "histogram": Panel(
            "pairs now", xlabel="inner product", ylabel="share of pairs", xlim=(-1.05, 1.05), ylim=(0, 1.02)
        ),
        "products": Panel("over time", xlabel="time t", ylabel="inner product", xlim=(0, 40), ylim=(-1.05, 1.05)),
    },
    time=Time("time t", RANDOM_TIMES, start=9, format=".1f", seconds=7.0),
)  # fmt: skip
def orthogonal_and_random(d, beta):
    """Inner products of all pairs from one uniform start, under SA, beside gamma(t) of the orthogonal start.

    Source: arXiv 2312.10794, sections 4 and 5.
    """
    products, gamma = _random_products(int(d), float(beta)), _orthogonal(float(beta))
    inside = products.clip(-1, 1)
    shares = np.stack([np.histogram(now, EDGES)[0] for now in inside]) / products.shape[1]
    marker = np.stack([gamma, np.zeros_like(gamma)], -1)[:, None]
    marks = {
        "shares": Bars((EDGES[1:] + EDGES[:-1]) / 2, shares, width=EDGES[1] - EDGES[0], style="W"),
        "gamma now": Segments(marker, marker + [0, 1.02], style="svm"),
    }
    curves = {"largest": (products.max(1), "series-3"), "mean": (products.mean(1), "W")}
    curves |= {"smallest": (products.min(1), "series-4")}
    for name, (values, style) in curves.items():
        path = np.stack([RANDOM_TIMES, values], -1)
        marks[name] = Path(path, style=style, label=name, panel="products")
    path = np.stack([RANDOM_TIMES, gamma], -1)
    marks["gamma"] = Path(path, style="svm", label="orthogonal start", panel="products")
    deviation = np.abs(products - gamma[:, None]).max(1)
    return Scene(
        marks,
        {
            "gamma": Readout(gamma, "orthogonal start", ".3f"),
            "mean": Readout(products.mean(1), "mean of the random start", ".3f"),
            "deviation": Readout(deviation, "largest deviation of a pair", ".3f"),
        },
    )


def arc(theta):
    """Shortest arc that holds all angles theta (..., n): its first angle and its width, each (...)."""
    turned = np.sort(theta % (2 * np.pi), -1)
    gaps = np.diff(turned, axis=-1, append=turned[..., :1] + 2 * np.pi)
    after = gaps.argmax(-1)[..., None]
    first = np.take_along_axis(np.roll(turned, -1, -1), after, -1)[..., 0]
    return first, 2 * np.pi - np.take_along_axis(gaps, after, -1)[..., 0]


@functools.cache
def _cone_run(n, start, beta):
    """Angles (times, n) of a uniform start on the circle."""
    theta0 = np.random.default_rng([3, int(start), n]).uniform(0, 2 * np.pi, n)
    return simulate_circle(theta0, CONE_TIMES, beta=beta, step=0.2).theta


@scene(
    title="The cone that only shrinks",
    instruction=(
        "Play. Find a start whose cone is narrower than a half-circle: can it ever open? Then find one that is wider "
        "at first. How often do n tokens start in a half-circle?"
    ),
    caption=(
        "Left: tokens on the circle, and the narrowest cone that holds them, between two spokes. Right: its angle over "
        "time. Below the dotted line at 180 degrees it only shrinks. Above, it may open or close, and whether it "
        "falls below is a matter of luck and of β."
    ),
    parameters={
        "n": Slider("tokens n", CONE_TOKENS, start=4, format=".0f", only_grid=True),
        "start": Slider("random start", CONE_STARTS, start=1, format=".0f", only_grid=True),
        "beta": Slider("inverse temperature β", CONE_BETAS, start=1, format=".0f"),
    },
    panels={
        "circle": Panel("tokens", xlabel="x₁", ylabel="x₂", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), equal=True),
        "angle": Panel(
            "angle of the cone", xlabel="time t", ylabel="degrees", xlim=(0, 12), ylim=(-5, 365),
            yticks={k: f"{k}°" for k in (0, 90, 180, 270, 360)},
        ),
    },
    time=Time("time t", CONE_TIMES, start=0, format=".2f", seconds=6.0),
)  # fmt: skip
def shrinking_cone(n, start, beta):
    """Tokens on the circle under SA, the narrowest cone around them, and the chance of a half-space.

    Source: arXiv 2312.10794, section 4 (cone); Wendel (1962).
    """
    n = int(n)
    theta = _cone_run(n, start, float(beta))
    first, width = arc(theta)
    x = np.full((len(CONE_TIMES), CONE_TOKENS[-1], 2), np.nan)
    x[:, :n] = np.stack([np.cos(theta), np.sin(theta)], -1)
    ends = np.stack([first, first + width], -1)
    return Scene(
        marks={
            "circle": Line(np.cos(TURN), np.sin(TURN), style="guide"),
            "cone": Segments(np.zeros((2, 2)), np.stack([np.cos(ends), np.sin(ends)], -1), style="series-2"),
            "tokens": Points(x, style="particle"),
            "half": Segments([[0, 180]], [[12, 180]], style="nuclear", label="half-circle", panel="angle"),
            "width": Path(np.stack([CONE_TIMES, np.degrees(width)], -1), style="W", panel="angle"),
        },
        readouts={
            "width": Readout(np.degrees(width), "angle of the cone", ".0f", unit="°"),
            "half": Readout("yes" if width[0] < np.pi else "no", "start in a half-circle"),
            "chance": Readout(wendel(n, 2), "chance of that", ".3f"),
        },
    )
