r"""Scenes of the chapter on metastability: the staircase over log time, the barrier of two clusters, growing ripples.

Source: arXiv 2312.10794, sections 4 to 6.
"""

from __future__ import annotations

import functools

import numpy as np

from attsvm_lib.data import random_direction
from attsvm_lib.meanfield import (
    cluster_labels,
    clusters,
    fastest_mode,
    growth_rates,
    meeting_time,
    scaled_energy,
    simulate,
    simulate_circle,
)
from attsvm_lib.scene import Bars, Line, Panel, Path, Points, Readout, Scene, Segments, Slider, Time, scene
from attsvm_lib.scenes import TOL

__all__ = ["barrier", "log_time_staircase", "ripples"]

N = 64
BETAS = (1.0, 2.0, 4.0, 6.0, 9.0, 12.0, 16.0)
STARTS = (1.0, 2.0)
LOG_T = np.linspace(-1, 14, 61)
POWERS = {0: "1", 4: "10⁴", 8: "10⁸", 12: "10¹²"}
BOX = {"xlim": (-1.2, 1.2), "ylim": (-1.2, 1.2), "equal": True}
TURN = np.radians(np.arange(0, 361, 5))

ANGLES = (*range(30, 176, 5), 179)
MASSES = (0.1, 0.2, 0.3, 0.4, 0.5)
SHARPNESS = np.linspace(0, 16, 33)

RIPPLE_BETAS = (1.0, 4.0, 9.0, 16.0, 25.0, 36.0, 49.0, 64.0)
RIPPLE_TIMES = np.linspace(0, 8, 33)
MODES = 18


def _circle():
    return Line(np.cos(TURN), np.sin(TURN), style="guide")


@functools.cache
def _run(beta, start):
    """Tokens (frames, n, 2) at the times 10^LOG_T, from start number `start`."""
    x0 = random_direction(2, rng=np.random.default_rng(int(start)), batch=(N,))
    return simulate(x0, 10**LOG_T, beta=beta, tol=TOL, merge_tol=10 * TOL).x


@scene(
    title="Nothing happens, then a merger",
    instruction=(
        "Play. Each frame multiplies t by the same factor. How long does the last step last? "
        "Then raise β and find the end of the staircase again."
    ),
    caption=(
        "Left: 64 tokens on the circle; a spoke is as long as the mass of its cluster. Right: number of clusters "
        "(solid) and 1 / scaled energy (dashed), the effective number, against log time. Both fall fast to a few, then "
        "step by step; the last step ends near t = exp(2β), the dotted line."
    ),
    parameters={
        "beta": Slider("β", BETAS, start=9, format=".1f"),
        "start": Slider("random start", STARTS, start=1, format=".0f", only_grid=True),
    },
    panels={
        "circle": Panel("tokens", xlabel="x₁", ylabel="x₂", **BOX),
        "staircase": Panel(
            "clusters against log time",
            xlabel="time t",
            ylabel="number",
            xlim=(-1, 14),
            ylim=(0.8, 80),
            yscale="log",
            xticks=POWERS,
            yticks={1: "1", 2: "2", 4: "4", 8: "8", 16: "16", 32: "32", 64: "64"},
        ),
    },
    time=Time("log₁₀ t", LOG_T, start=24, format=".2f", seconds=9),
)
def log_time_staircase(beta, start):
    r"""Clusters (connected components at 0.999) and 1 / scaled energy of one start, for t = 0.1 to 1e14.

    The scaled energy is mean exp(beta (<x_i, x_j> - 1)); on a plateau it is the sum of squared masses, so that its
    inverse counts clusters by mass. Source: arXiv 2312.10794, sections 3 to 6.
    """
    x = _run(float(beta), start)
    labels, count = cluster_labels(x), clusters(x)
    mass = (labels[:, :, None] == labels[:, None, :]).mean(-1)
    effective = 1 / scaled_energy(x, beta=beta)
    end = 2 * beta / np.log(10)
    return Scene(
        marks={
            "circle": _circle(),
            "spokes": Segments(np.zeros_like(x[0]), mass[..., None] * x, style="W"),
            "tokens": Points(x, style="particle"),
            "end": Segments([[end, 0.8]], [[end, 80]], style="nuclear", label="t = exp(2β)", panel="staircase"),
            "number": Path(np.stack([LOG_T, count], -1), style="W", label="clusters", panel="staircase"),
            "effective": Path(np.stack([LOG_T, effective], -1), style="KQ", label="1 / energy", panel="staircase"),
        },
        readouts={
            "time": Readout(10**LOG_T, "time t", ".1e"),
            "clusters": Readout(count, "clusters", ".0f"),
            "largest": Readout(mass.max(1), "mass of the largest", ".2f"),
            "energy": Readout(1 / effective, "scaled energy", ".3f"),
        },
    )


@scene(
    title="The barrier between two clusters",
    instruction="Move the clusters apart. When does the line of log time become twice as steep as at 90°?",
    caption=(
        "Left: two point clusters; a spoke is as long as its cluster's mass. Right: the time until they meet, against "
        "β (solid), and the law of large β (dotted), whose slope is the barrier 1 − cos φ. Masses shift the line and "
        "do not turn it."
    ),
    parameters={
        "angle": Slider("angle φ", ANGLES, start=90, format=".0f", unit="°"),
        "mass": Slider("mass of one cluster", MASSES, start=0.5, format=".1f"),
    },
    panels={
        "circle": Panel("two clusters", xlabel="x₁", ylabel="x₂", **BOX),
        "time": Panel("time until they meet", xlabel="β", ylabel="time", xlim=(0, 16), ylim=(1, 1e14), yscale="log"),
    },
)
def barrier(angle, mass):
    r"""Meeting time of two point clusters under SA (`meeting_time`) against beta, and its law for large beta.

    .. math:: T \approx \frac{m(1 - m)}{m^2 + (1 - m)^2} \cdot \frac{e^{\beta(1 - \cos\varphi)}}{\beta\sin^2\varphi}

    Source: derived from arXiv 2312.10794, (SA).
    """
    phi = np.radians(angle)
    height = 1 - np.cos(phi)
    times = np.array([meeting_time(phi, beta, mass=mass) for beta in SHARPNESS])
    late = SHARPNESS[8:]
    law = mass * (1 - mass) / (mass**2 + (1 - mass) ** 2) * np.exp(late * height) / (late * np.sin(phi) ** 2)
    law = np.where((law > 1) & (law < 1e14), law, np.nan)
    x = np.array([[1.0, 0.0], [np.cos(phi), np.sin(phi)]])
    return Scene(
        marks={
            "circle": _circle(),
            "spokes": Segments(np.zeros((2, 2)), np.array([[mass], [1 - mass]]) * x, style="W"),
            "clusters": Points(x, style="particle", text=("m", "1 − m")),
            "law": Line(late, law, style="nuclear", label="law for large β", panel="time"),
            "time": Line(SHARPNESS, times, style="W", label="time until they meet", panel="time"),
        },
        readouts={
            "barrier": Readout(height, "barrier 1 − cos φ", ".3f"),
            "nine": Readout(times[18], "time at β = 9", ".2g"),
            "sixteen": Readout(times[-1], "time at β = 16", ".2g"),
        },
    )


@functools.cache
def _tracks(beta, start):
    """Angles (frames, n) of tokens that start uniformly on the circle."""
    theta0 = np.random.default_rng(int(start)).uniform(0, 2 * np.pi, N)
    return simulate_circle(theta0, RIPPLE_TIMES, beta=beta, step=0.1).theta


@scene(
    title="Which ripple wins?",
    instruction=(
        "Play, and count the clusters that form first. Raise β fourfold: do you get twice as many? Compare with the "
        "tallest bar."
    ),
    caption=(
        "Left: the angles of 64 tokens over time, from a uniform start; tracks that run together are a cluster. Right: "
        "growth rate of each ripple cos kθ on the uniform circle (bars), largest near k = √(2β), and the "
        "strength of each ripple among the tokens now (markers). At first the strongest growing ripples win."
    ),
    parameters={
        "beta": Slider("β", RIPPLE_BETAS, start=16, format=".0f"),
        "start": Slider("random start", STARTS, start=1, format=".0f", only_grid=True),
    },
    panels={
        "tracks": Panel(
            "angles over time",
            xlabel="time t",
            ylabel="angle θ (degrees)",
            xlim=(0, 8),
            ylim=(-30, 390),
            yticks={0: "0", 90: "90", 180: "180", 270: "270", 360: "360"},
        ),
        "ripples": Panel(
            "ripples", xlabel="wave number k", ylabel="rate, strength", xlim=(0.3, MODES + 0.7), ylim=(0, 1.02)
        ),
    },
    time=Time("time t", RIPPLE_TIMES, start=4, format=".2f"),
)
def ripples(beta, start):
    r"""Tracks of tokens, the growth rates lambda_k = k^2 I_k / (beta I_0), and the moments |mean exp(i k theta)|.

    Source: derived from arXiv 2312.10794, section 6 (the circle); early clusters grow like sqrt(beta) there.
    """
    theta = _tracks(float(beta), start)
    k = np.arange(1, MODES + 1)
    rates = growth_rates(beta, MODES)[1:]
    strength = np.abs(np.exp(1j * k[:, None] * theta[:, None, :]).mean(-1))
    tracks = np.stack([np.broadcast_to(RIPPLE_TIMES[:, None], theta.shape), np.degrees(theta)], -1)
    count = clusters(np.stack([np.cos(theta), np.sin(theta)], -1))
    best = fastest_mode(beta)
    return Scene(
        marks={
            "tracks": Path(tracks, style="W"),
            "rates": Bars(k, rates, style="series-3", label="growth rate λ", panel="ripples"),
            "winner": Points([[best, rates[best - 1]]], style="highlight", label="fastest ripple", panel="ripples"),
            "strength": Points(
                np.stack([np.broadcast_to(k, strength.shape), strength], -1),
                style="KQ",
                label="strength now",
                panel="ripples",
            ),
        },
        readouts={
            "clusters": Readout(count, "clusters", ".0f"),
            "fastest": Readout(best, "fastest ripple k", ".0f"),
            "prediction": Readout(np.sqrt(2 * beta), "√(2β)", ".2f"),
        },
    )
