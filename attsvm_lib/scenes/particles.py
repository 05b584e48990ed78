r"""Scenes of the chapter on tokens as particles: the sphere, two tokens, and the continuous limit on the circle.

Source: arXiv 2312.10794, sections 2 and 3.
"""

from __future__ import annotations

import functools

import numpy as np

from attsvm_lib.data import random_direction
from attsvm_lib.experiments.particles import smooth_start
from attsvm_lib.meanfield import (
    circle_distance,
    circle_energy,
    circle_grid,
    circle_quantiles,
    circle_velocity,
    clusters,
    density_energy,
    density_velocity,
    mean_field,
    scaled_energy,
    simulate,
    simulate_circle,
)
from attsvm_lib.scene import (
    Choice,
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
from attsvm_lib.scenes import TOL

__all__ = ["continuous_limit", "sphere_start", "tokens_on_the_sphere", "two_tokens"]

MODELS = {"softmax (SA)": "sa", "unnormalized (USA)": "usa"}
BETAS = (0, 1, 2, 3, 4, 5, 6, 8, 10)
TIMES = np.round(np.geomspace(0.05, 1000, 61), 3)
TOKENS, SEED = 32, 53

PAIR_BETAS = (0, 0.5, 1, 2, 3, 4, 6)
PAIR_ANGLES = (30, 60, 90, 120, 150, 175)
PAIR_TIMES = np.round(np.geomspace(0.02, 200, 49), 3)
ANGLE_CURVE = np.linspace(0, np.pi, 73)

SIZES = (8, 16, 32, 64)
LIMIT_BETAS = (1, 4)
LIMIT_TIMES = np.round(np.linspace(0, 3, 25), 3)
M, DRAWN = 192, 64
STARTS = ("independent draws", "quantiles")


def inner_unit(beta, model):
    """Length in the paper's time t of one unit of the scenes' clock: t itself for SA, s = t exp(beta) for USA."""
    return np.exp(-beta) if model == "usa" else 1.0


def sphere_start():
    """The 32 random tokens of the first scene, shape (32, 3)."""
    return random_direction(3, rng=np.random.default_rng(SEED), batch=(TOKENS,))


@scene(
    title="Tokens on the sphere",
    instruction=(
        "Press play, or drag the time. Turn the sphere. Then raise β and play again: which of the two curves can "
        "fall?"
    ),
    caption=(
        "Left: 32 tokens move on the unit sphere as they pass through the layers of an attention model; those behind "
        "are fainter. Right, against time on a logarithmic axis: the scaled energy, which only rises, and the mean "
        "inner product of all pairs, which may fall. For small β all tokens meet; for large β several clusters "
        "stand still for a long time."
    ),
    parameters={
        "beta": Slider("inverse temperature β", BETAS, start=6, format=".1f"),
        "model": Choice("attention", tuple(MODELS)),
    },
    panels={
        "sphere": Panel3D("tokens"),
        "likeness": Panel(
            "how alike they are",
            xlabel="time (t, or t exp β for USA)",
            ylabel="likeness",
            xscale="log",
            xlim=(0.04, 1200.0),
            ylim=(0.0, 1.05),
        ),
    },
    time=Time("time", TIMES, start=30, format=".2f", seconds=8.0),
)
def tokens_on_the_sphere(beta, model):
    """Trajectories of 32 random tokens with Q = K = V = I, their scaled energy and mean inner product.

    The clock is t for SA and s = t exp(beta) for USA. Source: arXiv 2312.10794, (SA), (USA) and section 3.
    """
    kind = MODELS[model]
    run = simulate(sphere_start(), TIMES * inner_unit(beta, kind), beta=beta, model=kind, tol=TOL)
    energy = scaled_energy(run.x, beta=beta)
    mean = np.maximum((run.x.mean(1) ** 2).sum(-1), 1e-9)
    return Scene(
        marks={
            "tokens": Points3D(run.x, style="particle"),
            "energy": Path(np.stack([TIMES, energy], -1), style="series-1", label="scaled energy", panel="likeness"),
            "mean": Path(np.stack([TIMES, mean], -1), style="series-2", label="mean inner product", panel="likeness"),
        },
        readouts={
            "clusters": Readout(clusters(run.x), "clusters", ".0f"),
            "energy": Readout(energy, "scaled energy", ".3f"),
            "mean": Readout(mean, "mean inner product", ".3f"),
        },
    )


@scene(
    title="Two tokens",
    instruction=(
        "Raise β: which part of the right curves goes flat, and what happens to two tokens that start there? "
        "Compare softmax with unnormalized attention."
    ),
    caption=(
        "Left: two tokens on the circle, under softmax attention (filled) and unnormalized attention (hollow). Right: "
        "speed at which they close their angle; the markers are the two pairs now. The unnormalized speed is in units "
        "of exp(β). Beyond an angle of about one over the root of β attention hardly pulls."
    ),
    parameters={
        "beta": Slider("inverse temperature β", PAIR_BETAS, start=2, format=".1f"),
        "angle": Slider("first angle", PAIR_ANGLES, start=120, format=".0f", unit="°"),
    },
    panels={
        "circle": Panel("tokens", xlim=(-1.25, 1.25), ylim=(-1.25, 1.25), equal=True, axes=False),
        "speed": Panel(
            "closing speed",
            xlabel="angle between the tokens",
            ylabel="speed",
            xlim=(0.0, 180.0),
            ylim=(0.0, 1.05),
            xticks={k: f"{k}°" for k in (0, 45, 90, 135, 180)},
        ),
    },
    time=Time("time", PAIR_TIMES, start=29, format=".2f", seconds=6.0),
)
def two_tokens(beta, angle):
    r"""Two tokens at an angle delta, mirrored at the horizontal axis, in SA and USA.

    .. math:: \text{SA:}\ \delta' = -\frac{2 \sin\delta}{1 + e^{\beta(1-\cos\delta)}}, \qquad
              \text{USA:}\ \delta' = -e^{\beta\cos\delta} \sin\delta

    (USA in s = t exp(beta)). Source: arXiv 2312.10794, (SA) and (USA), with n = 2.
    """
    half = np.radians(angle) / 2
    pair = np.array([[np.cos(half), -np.sin(half)], [np.cos(half), np.sin(half)]])
    outline = np.radians(np.arange(0, 361, 5))
    marks = {"circle": Line(np.cos(outline), np.sin(outline), style="guide")}
    readouts = {}
    for model, style, words in (("sa", "series-1", "softmax"), ("usa", "series-4", "unnormalized")):
        run = simulate(pair, PAIR_TIMES * inner_unit(beta, model), beta=beta, model=model)
        delta = 2 * np.arctan2(run.x[:, 1, 1], run.x[:, 1, 0])
        curve, now = _closing_speed(ANGLE_CURVE, beta, model), _closing_speed(delta, beta, model)
        marks |= {
            f"tokens {model}": Points(run.x, style=style, label=words),
            f"speed {model}": Line(np.degrees(ANGLE_CURVE), curve, style=style, panel="speed"),
            f"now {model}": Points(np.stack([np.degrees(delta), now], -1)[:, None], style=style, panel="speed"),
        }
        readouts[f"angle {model}"] = Readout(np.degrees(delta), f"angle, {words}", ".1f", unit="°")
    return Scene(marks, readouts)


def _closing_speed(delta, beta, model):
    """Speed at which two tokens at angles delta close it, per unit of the scenes' clock."""
    pairs = np.stack([-delta / 2, delta / 2], axis=-1)
    return 2 * circle_velocity(pairs, beta=beta, model=model)[..., 0] * inner_unit(beta, model)


@functools.cache
def _limit(beta):
    """Densities at LIMIT_TIMES, and the velocities that they give to a token."""
    run = mean_field(smooth_start(circle_grid(M)), LIMIT_TIMES, beta=beta)
    return run.density, np.stack([density_velocity(rho, beta=beta) for rho in run.density])


@scene(
    title="Infinitely many tokens",
    instruction=(
        "Play with 8 tokens, then with 64. Then start them at quantiles instead of random places: how many are enough?"
    ),
    caption=(
        "Left: the density of infinitely many tokens on the circle (line), and n tokens below it. Right: the velocity "
        "that attention gives to a token at each angle, from the density (line) and from the n tokens (dashed). With "
        "random starts the curves differ by about one over the root of n; with starts at quantiles they soon agree."
    ),
    parameters={
        "n": Slider("tokens n", SIZES, start=8, format=".0f", only_grid=True),
        "beta": Slider("inverse temperature β", LIMIT_BETAS, start=4, format=".0f", only_grid=True),
        "start": Choice("start", STARTS),
    },
    panels={
        "density": Panel(
            "where tokens are", xlabel="angle", ylabel="density", xlim=(0.0, 360.0), ylim=(-0.12, 1.2),
            xticks={k: f"{k}°" for k in (0, 90, 180, 270, 360)},
        ),
        "velocity": Panel(
            "how they are pulled", xlabel="angle", ylabel="velocity", xlim=(0.0, 360.0), ylim=(-1.05, 1.05),
            xticks={k: f"{k}°" for k in (0, 90, 180, 270, 360)},
        ),
    },
    time=Time("time t", LIMIT_TIMES, start=0, format=".2f", seconds=6.0),
)  # fmt: skip
def continuous_limit(n, beta, start):
    """The mean-field equation of SA on the circle beside n tokens, from one smooth start.

    Distances are W1 on the circle; energies are scaled. Source: arXiv 2312.10794, section 3.
    """
    n = int(n)
    rho, pull = _limit(beta)
    p = (np.arange(n) + 0.5) / n if start == "quantiles" else np.random.default_rng([1, n]).random(n)
    theta = simulate_circle(circle_quantiles(smooth_start(circle_grid(16)), p), LIMIT_TIMES, beta=beta).theta
    places = np.full((len(LIMIT_TIMES), SIZES[-1], 2), np.nan)
    places[:, :n, 0], places[:, :n, 1] = np.degrees(theta) % 360, -0.06
    angles = circle_grid(M)[:: M // DRAWN]
    felt = np.stack([_field_of(row, angles, beta) for row in theta])
    level = np.array([[0.0, 0.0]]), np.array([[360.0, 0.0]])
    distance = [circle_distance(row, now) for row, now in zip(theta, rho)]
    gap = circle_energy(theta, beta=beta) - density_energy(rho, beta=beta)
    return Scene(
        marks={
            "density": Line(np.degrees(angles), rho[:, :: M // DRAWN], style="W", label="infinitely many"),
            "tokens": Points(places, style="series-2", label="n tokens"),
            "velocity": Line(np.degrees(angles), pull[:, :: M // DRAWN], style="W", panel="velocity"),
            "felt": Line(np.degrees(angles), felt, style="series-2", panel="velocity"),
            "level": Segments(*level, style="guide", panel="velocity"),
        },
        readouts={
            "distance": Readout(np.array(distance), "distance W1 of tokens and density", ".3f"),
            "energy": Readout(np.abs(gap), "difference of the energies", ".1e"),
        },
    )


def _field_of(theta, angles, beta):
    """Velocity of SA that the tokens theta give to one more token, of no mass, at each of the angles."""
    difference = angles[:, None] - theta
    weights = np.exp(beta * (np.cos(difference) - 1))
    return -(weights * np.sin(difference)).sum(1) / weights.sum(1)
