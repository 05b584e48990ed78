r"""Scenes of the chapter on the circle, repulsion and leaders.

Source: arXiv 2312.10794, Part 3 (dynamics on the circle, general matrices), and arXiv 2305.05465 (leaders).
"""

from __future__ import annotations

import functools

import numpy as np

from attsvm_lib.data import random_direction
from attsvm_lib.experiments.circle import gaussian_system, kuramoto_law, leading_space, moebius_start
from attsvm_lib.experiments.leaders import NEAR, groups
from attsvm_lib.meanfield import (
    attention_rank,
    clusters,
    cross_polytope,
    icosahedron,
    leaders,
    order_parameter,
    scaled_energy,
    simplex,
    simulate,
    simulate_unprojected,
)
from attsvm_lib.scene import (
    Choice,
    Heatmap,
    Line,
    Panel,
    Panel3D,
    Path,
    Points,
    Points3D,
    Readout,
    Scene,
    Segments,
    Slider,
    Time,
    scene,
)

__all__ = ["leaders_emerge", "oscillators", "random_values", "repelling_tokens"]

SIZES = (4, 6, 8, 12)
REPEL_BETAS = (1, 2, 4, 8)
REPEL_TIMES = np.round(np.append(0, np.geomspace(0.2, 400, 40)), 3)
SOLIDS = {
    4: simplex(3),
    6: cross_polytope(3),
    8: np.array([[a, b, c] for a in (1, -1) for b in (1, -1) for c in (1, -1)]) / np.sqrt(3),
    12: icosahedron(),
}
PAIRS = SIZES[-1] * (SIZES[-1] - 1) // 2

OSCILLATORS, ORDER = 24, 0.2
CIRCLE_BETAS = (0, 0.5, 1, 2, 4, 8)
CIRCLE_TIMES = np.round(np.linspace(0, 16, 65), 3)
SIGNS = {"attract (V = I)": 1, "repel (V = −I)": -1}
TURN = np.radians(np.arange(0, 361, 5))

DRAWS = (0, 1, 2, 3, 4, 5)
DRAW_TIMES = np.round(np.append(0, np.geomspace(0.1, 100, 40)), 3)
FIRST = DRAW_TIMES[1] / 2
RANDOM_BETAS = (1, 4)

LEADER_TOKENS = 16
LEADER_TIMES = np.round(np.linspace(0, 9, 37), 3)
STARTS = (1, 2, 3, 4)
SPECTRA = {"V = I": (1.0, 1.0), "V = diag(1, −½)": (1.0, -0.5)}


@scene(
    title="Tokens that repel each other",
    instruction=(
        "Press play: which solid appears? Turn the sphere. Then choose 8 tokens: does the cube appear? "
        "Last, raise beta with 4 tokens."
    ),
    caption=(
        "Left: tokens on the unit sphere under attention with V = −I, which makes them repel. Right: the inner "
        "products of all pairs, sorted (markers), and those of the regular solid with that many corners (line): "
        "tetrahedron, octahedron, cube or icosahedron. Where all markers lie on the line, tokens have the angles of "
        "that solid."
    ),
    parameters={
        "n": Slider("tokens n", SIZES, start=12, format=".0f", only_grid=True),
        "beta": Slider("inverse temperature β", REPEL_BETAS, start=4, format=".1f"),
    },
    panels={
        "sphere": Panel3D("tokens"),
        "pairs": Panel(
            "inner products of pairs",
            xlabel="share of the pairs",
            ylabel="inner product",
            xlim=(0.0, 1.0),
            ylim=(-1.05, 1.05),
        ),
    },
    time=Time("time t", REPEL_TIMES, start=0, format=".1f", seconds=6.0),
)
def repelling_tokens(n, beta):
    """Trajectories of n random tokens on the sphere with V = -I, and their inner products beside a regular solid's.

    Source: arXiv 2312.10794, Part 3 (general matrices).
    """
    n = int(n)
    x0 = random_direction(3, rng=np.random.default_rng(n), batch=(n,))
    x = simulate(x0, REPEL_TIMES, beta=beta, V=-np.eye(3)).x
    tokens, pairs = (np.full((len(x), *shape), np.nan) for shape in ((SIZES[-1], 3), (PAIRS, 2)))
    tokens[:, :n] = x
    count = n * (n - 1) // 2
    share = (np.arange(count) + 0.5) / count
    pairs[:, :count, 0], pairs[:, :count, 1] = share, _sorted_products(x)
    solid = np.full((PAIRS, 2), np.nan)
    solid[:count] = np.stack([share, _sorted_products(SOLIDS[n])], -1)
    energy, best = scaled_energy(x, beta=beta), scaled_energy(SOLIDS[n], beta=beta)
    return Scene(
        marks={
            "tokens": Points3D(tokens, style="particle"),
            "solid": Line(*solid.T, style="svm", label="regular solid", panel="pairs"),
            "pairs": Points(pairs, style="series-1", label="tokens", panel="pairs"),
        },
        readouts={
            "energy": Readout(energy, "scaled energy", ".5f"),
            "excess": Readout(energy - best, "energy above the solid's", ".5f"),
            "angle": Readout(np.degrees(np.arccos(_sorted_products(x)[:, -1])), "smallest angle", ".1f", unit="°"),
        },
    )


def _sorted_products(x):
    """Inner products of all pairs of tokens (..., n, d), ascending."""
    i, j = np.triu_indices(x.shape[-2], 1)
    return np.sort((x[..., i, :] * x[..., j, :]).sum(-1), axis=-1).clip(-1, 1)


@scene(
    title="Tokens on the circle are oscillators",
    instruction=(
        "At β = 0, play: the order follows the line. Raise β: when does it leave the line? "
        "Then let tokens repel: at which β does their order vanish last?"
    ),
    caption=(
        "Left: 24 tokens on the circle, and a spoke to their mean, as long as the order parameter R. Right: R over "
        "time (colored) and the Kuramoto model's closed form (the color of the text), which holds at β = 0. For large "
        "β tokens stay in several clusters, and repelling tokens spread more slowly."
    ),
    parameters={
        "beta": Slider("inverse temperature β", CIRCLE_BETAS, start=0, format=".1f"),
        "kind": Choice("tokens", tuple(SIGNS)),
    },
    panels={
        "circle": Panel("tokens", xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), equal=True, axes=False),
        "order": Panel("order", xlabel="time t", ylabel="order parameter R", xlim=(0.0, 16.0), ylim=(0.0, 1.05)),
    },
    time=Time("time t", CIRCLE_TIMES, start=0, format=".2f", seconds=6.0),
)
def oscillators(beta, kind):
    """SA with V = I or -I on the circle from a Möbius image of equally spaced tokens, and the Kuramoto law at beta = 0.

    Source: arXiv 2312.10794, Part 3 (dynamics on the circle).
    """
    sign, theta0 = SIGNS[kind], moebius_start(OSCILLATORS, ORDER)
    x0 = np.stack([np.cos(theta0), np.sin(theta0)], -1)
    x = simulate(x0, CIRCLE_TIMES, beta=beta, V=sign * np.eye(2), method="rk4", step=0.05).x
    theta = np.arctan2(x[..., 1], x[..., 0])
    mean = order_parameter(theta)
    order, law = np.abs(mean), kuramoto_law(CIRCLE_TIMES, ORDER, sign=sign)
    tip = np.stack([mean.real, mean.imag], -1)[:, None]
    gaps = np.diff(np.sort(theta, axis=-1), axis=-1)
    smallest = np.minimum(gaps.min(-1), 2 * np.pi - np.ptp(theta, axis=-1))
    return Scene(
        marks={
            "circle": Line(np.cos(TURN), np.sin(TURN), style="guide"),
            "tokens": Points(x, style="particle"),
            "mean": Segments(np.zeros_like(tip), tip, style="KQ"),
            "law": Line(CIRCLE_TIMES, law, style="svm", label="Kuramoto, β = 0", panel="order"),
            "order": Path(np.stack([CIRCLE_TIMES, order], -1), style="series-1", label="these tokens", panel="order"),
        },
        readouts={
            "order": Readout(order, "order parameter R", ".3f"),
            "gap": Readout(np.degrees(smallest), "smallest gap", ".1f", unit="°"),
        },
    )


@scene(
    title="A random value matrix",
    instruction=(
        "Go through the draws and play each. Where do tokens end when the leading eigenvalue of V is real and "
        "positive? What happens when it is complex, or negative?"
    ),
    caption=(
        "Left: 24 tokens on the sphere with Q = K = I and a Gaussian V; stars are plus and minus its leading "
        "eigenvector, when that is real. Right: the number of clusters over time. The numbers under the picture give "
        "the leading eigenvalue of the draw, and the least length of a token's projection on its eigenspace."
    ),
    parameters={
        "draw": Slider("draw of V", DRAWS, start=1, format=".0f", only_grid=True),
        "beta": Slider("inverse temperature β", RANDOM_BETAS, start=1, format=".0f", only_grid=True),
    },
    panels={
        "sphere": Panel3D("tokens"),
        "clusters": Panel(
            "clusters", xlabel="time t", ylabel="number", xlim=(FIRST, 130.0), ylim=(0.0, 25.0), xscale="log"
        ),
    },
    time=Time("time t", DRAW_TIMES, start=0, format=".1f", seconds=6.0),
)
def random_values(draw, beta):
    """Tokens under SA with V of independent N(0, 1/3) entries, their clusters, and the leading eigenvector of V.

    Source: arXiv 2312.10794, Part 3 (general matrices).
    """
    x0, matrices = gaussian_system(int(draw), "V", 24, 3)
    x = simulate(x0, DRAW_TIMES, beta=beta, method="rk4", step=0.2, **matrices).x
    leading, basis = leading_space(matrices["V"])
    stars = np.stack([basis[:, 0], -basis[:, 0]]) if leading.imag == 0 else np.full((2, 3), np.nan)
    count = clusters(x)
    return Scene(
        marks={
            "tokens": Points3D(x, style="particle"),
            "eigenvector": Points3D(stars, style="selected-1", label="leading eigenvector"),
            "count": Path(np.stack([np.maximum(DRAW_TIMES, FIRST), count], -1), style="series-1", panel="clusters"),
        },
        readouts={
            "clusters": Readout(count, "clusters", ".0f"),
            "real": Readout(leading.real, "leading eigenvalue, real part", ".2f"),
            "imaginary": Readout(leading.imag, "imaginary part", ".2f"),
            "alignment": Readout(
                np.linalg.norm(x @ basis, axis=-1).min(-1), "least projection on its eigenspace", ".3f"
            ),
        },
    )


@functools.cache
def _unprojected(start, values):
    x0 = np.random.default_rng(int(start)).standard_normal((LEADER_TOKENS, 2))
    run = simulate_unprojected(x0, LEADER_TIMES, V=np.diag(SPECTRA[values]), step=0.05)
    last = run.attention[-1].argmax(-1)
    order = np.lexsort((x0[:, 0], last != np.arange(LEADER_TOKENS), last))  # each leader, then its followers
    return x0[order], run.z[:, order], run.attention[:, order][:, :, order]


@scene(
    title="Leaders emerge",
    instruction=(
        "Play, and watch columns light up: how many leaders are left? Count the corners of the polygon. "
        "Then choose V = diag(1, −½): what takes the place of corners?"
    ),
    caption=(
        "Left: 16 tokens that are not kept on the sphere, rescaled by their growth; stars lead. Right: the attention "
        "matrix, one row a token, darker is more attention; tokens are sorted by the leader they end with. With V = I "
        "tokens gather at the corners of their shrinking hull; with one positive eigenvalue they gather on vertical "
        "lines. The matrix becomes 0-1, and one column is left for each corner or line."
    ),
    parameters={
        "values": Choice("value matrix", tuple(SPECTRA)),
        "start": Slider("random start", STARTS, start=1, format=".0f", only_grid=True),
    },
    panels={
        "plane": Panel("rescaled tokens", xlabel="first coordinate", ylabel="second coordinate", xlim=(-3.5, 3.5),
                       ylim=(-3.5, 3.5), equal=True),
        "attention": Panel("attention matrix", xlabel="attended token", ylabel="token", xlim=(-0.5, 15.5),
                           ylim=(15.5, -0.5), equal=True, xticks={0: "1", 15: "16"}, yticks={0: "1", 15: "16"}),
    },
    time=Time("time t", LEADER_TIMES, start=0, format=".2f", seconds=7.0),
)  # fmt: skip
def leaders_emerge(values, start):
    """Tokens off the sphere and their attention matrix.

    The plane shows exp(-t) x for V = I; for V = diag(1, -1/2) the first coordinate of exp(-t) x and the second of
    x itself, which keeps its size. Source: arXiv 2305.05465.
    """
    x0, z, attention = _unprojected(start, values)
    shown = z.copy()
    if SPECTRA[values][1] < 0:
        shown[..., 1] *= np.exp(SPECTRA[values][1] * LEADER_TIMES)[:, None]
    leads = leaders(attention)
    stars = np.where(leads[..., None], shown, np.nan)
    flat = SPECTRA[values][1] > 0
    hull = np.stack([_hull(points) if flat else np.full((LEADER_TOKENS + 1, 2), np.nan) for points in shown])
    sheet = np.full_like(stars, np.nan) if flat else stars
    near = NEAR * np.linalg.norm(x0[:, None] - x0, axis=-1).max()
    count = groups(shown, near).max(-1) + 1
    sheets = groups(shown[..., :1], near).max(-1) + 1
    return Scene(
        marks={
            "hull": Line(hull[..., 0], hull[..., 1], style="boundary", label="convex hull"),
            "sheets": Segments(sheet * [1, 0] - [0, 3.5], sheet * [1, 0] + [0, 3.5], style="series-4", label="line"),
            "tokens": Points(shown, style="particle"),
            "leaders": Points(stars, style="selected-1", label="leader"),
            "attention": Heatmap(attention, scale="attention", limits=(0.0, 1.0), panel="attention"),
        },
        readouts={
            "rank": Readout(attention_rank(attention), "numerical rank", ".0f"),
            "leaders": Readout(leads.sum(-1), "leaders", ".0f"),
            "clusters": Readout(count, "clusters", ".0f"),
            "sheets": Readout(sheets, "first coordinates", ".0f"),
        },
    )


def _hull(points):
    """Corners of the convex hull of points (n, 2), counterclockwise and closed, padded with NaN to n + 1 rows."""
    order = points[np.lexsort(points.T[::-1])]
    chains = []
    for side in (order, order[::-1]):
        chain = []
        for p in side:
            while len(chain) > 1 and np.linalg.det([chain[-1] - chain[-2], p - chain[-1]]) <= 0:
                chain.pop()
            chain.append(p)
        chains += chain[:-1]
    out = np.full((len(points) + 1, 2), np.nan)
    out[: len(chains) + 1] = [*chains, chains[0]]
    return out
