r"""Scenes of chapter 3: where gradient descent goes from a given start, and how fast (arXiv 2308.16898, section 4)."""

from __future__ import annotations

import functools

import numpy as np

from attsvm_lib.data import TokenData, random_data, random_direction
from attsvm_lib.experiments.paths import path_problem
from attsvm_lib.experiments.plane import train_plane
from attsvm_lib.experiments.problems import stacked
from attsvm_lib.experiments.rates import off_span
from attsvm_lib.heads import LinearHead
from attsvm_lib.regularization import predicted_constant
from attsvm_lib.scene import (
    Arrows,
    Choice,
    Drag,
    Line,
    Panel,
    Path,
    Points,
    Readout,
    Scene,
    Segments,
    Slider,
    Time,
    scene,
)
from attsvm_lib.selection import correlation, scores
from attsvm_lib.svm import att_svm
from attsvm_lib.training import train

__all__ = ["drag_the_start", "figure_problem", "paths_in_the_plane", "step_problem", "step_size", "two_sequences"]

# --- drag the start: two sequences of two tokens, one shared query ---

STEPS = np.arange(0, 121, 4)
STARTS = np.linspace(-3, 3, 13)
PULLS = (0.0, 0.5, 1.5, 2.0, 3.0)
QUERY = np.array([1.0, 0.0])
BOX = (-4.0, 16.0)
REACH = 14.0  # length of an arrow in the panel
TRAPPED = "sequence 2 ends on its wrong token"


def two_sequences(c):
    """The smallest case: n = T = d = 2 in self-attention, with token differences d_1 = (1, 0) and d_2 = (-c, 1).

    Both sequences begin with x_i1 = z_i = e_1, and x_i2 = e_1 + d_i is optimal, by a score gap of 1. W acts through
    p = W e_1 only. c may be an array of shape (G,): then the data have batch axis (G,).

    Returns
    -------
    TokenData, LinearHead
        The head is v = (1, 1 + c).
    """
    c = np.asarray(c, dtype=float)
    one, zero = np.ones_like(c), np.zeros_like(c)
    first = np.stack([one, zero], -1)
    rows = np.stack([np.stack([first, first + first], -2), np.stack([first, np.stack([one - c, one], -1)], -2)], -3)
    return TokenData(rows, rows[..., 0, :], np.ones(rows.shape[:-2])), LinearHead(np.stack([one, one + c], -1))


@scene(
    title="Drag the start",
    instruction=(
        "Drag the start to the right until the path misses the solid arrow. Then lower c: when does every start find "
        "it?"
    ),
    caption=(
        "Left: the vector p = W e₁ during 120 normalized steps of 0.1. Sequence 1 prefers its optimal token to the "
        "right of the vertical dashed line, sequence 2 above the sloping one. The solid arrow is the max-margin "
        "direction of both optimal tokens. The dotted arrow, there when c > 1, is a direction in which sequence 2 "
        "keeps its wrong token for ever. Right: the attention on the two optimal tokens."
    ),
    parameters={
        "start": Drag("start p(0)", STARTS, STARTS, start=(0.0, 0.0), panel="plane"),
        "c": Slider("c, the pull against sequence 2", PULLS, start=2.0, format=".1f"),
    },
    panels={
        "plane": Panel(
            "p = W e₁", xlabel="first coordinate", ylabel="second coordinate", xlim=BOX, ylim=BOX, equal=True
        ),
        "attention": Panel(
            "Attention on the optimal tokens",
            xlabel="step",
            ylabel="probability",
            xlim=(0, 120),
            ylim=(0, 1.02),
            height=1.0,
        ),
    },
    time=Time("step", STEPS, format=".0f"),
    vectorized=True,
)
def drag_the_start(start, c):
    r"""Normalized gradient descent on W from W(0) = p(0) e_1^T for `two_sequences`.

    With a_1 = p_1 and a_2 = p_2 - c p_1 the flow is p' = f_1(a_1) d_1 + f_2(a_2) d_2 with positive f_i: there is no
    stationary point. The selection (optimal, wrong) is locally optimal for c > 1. Source: arXiv 2308.16898, section 4;
    the example is ours.
    """
    data, head = two_sequences(c)
    W0 = start[:, :, None] * QUERY
    run = train(data, head, start=W0, step=0.1, steps=int(STEPS[-1]), checkpoints=STEPS)
    best, wrong = _hero_directions(c)
    p = np.moveaxis(run.W @ QUERY, 0, 1)
    inside = ((p >= BOX[0]) & (p <= BOX[1])).all(-1, keepdims=True)
    shares = np.moveaxis(run.probabilities[..., 1], 0, 1)
    origin = np.zeros((1, 1, 2))
    across = np.stack([np.ones_like(c), c], -1) / np.hypot(1, c)[:, None]
    steps = np.broadcast_to(STEPS.astype(float), shares.shape[:2])
    marks = {
        "tie 1": Segments([[[0, BOX[0]]]], [[[0, BOX[1]]]], style="boundary", label="sequence i is undecided"),
        "tie 2": Segments(*(_to_edge(sign * across) for sign in (-1, 1)), style="boundary"),
        "W_mm": Arrows(origin, REACH * best[:, None], style="svm", label="max-margin direction Wₘₘ e₁"),
        "wrong": Arrows(origin, REACH * wrong[:, None], style="nuclear", label="a wrong direction that attracts"),
        "path": Path(np.where(inside, p, np.nan), style="W", label="p(k) = W(k) e₁"),
    }
    for i, label in enumerate(("sequence 1", "sequence 2")):
        curve = np.stack([steps, shares[..., i]], -1)
        marks[label] = Path(curve, style=f"series-{i + 3}", label=label, panel="attention")
    size = np.moveaxis(run.norm, 0, 1)
    aligned = (p * best[:, None]).sum(-1) / np.where(size > 0, size, np.nan)
    ends = np.where(shares[:, -1].min(-1) > 0.5, "both optimal tokens", TRAPPED)
    readouts = {
        "correlation": Readout(np.clip(aligned, -1, 1), "correlation with Wₘₘ", ".3f"),
        "norm": Readout(size, "norm of W", ".2f"),
        "ends": Readout(ends, "at the end"),
    }
    return Scene(marks, readouts)


def _hero_directions(c):
    """Unit vectors W e_1 of Att-SVM: for both optimal tokens, and with sequence 2 wrong where that attracts."""
    best = np.stack([np.ones_like(c), 1 + c], -1) / np.hypot(1, 1 + c)[:, None]
    return best, np.where(c[:, None] > 1, QUERY, np.nan)


def _to_edge(v):
    """v (G, 2) scaled to the edge of the box, shape (G, 1, 2)."""
    edge = np.where(v > 0, BOX[1], -BOX[0])
    reach = np.where(v != 0, edge / np.where(v != 0, np.abs(v), 1), np.inf).min(-1)
    return (reach[:, None] * v)[:, None]


# --- step size and normalization against direction error ---

ETAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
COUNTS = np.unique(np.rint(np.geomspace(1, 1000, 31)).astype(int))
RULES = ("normalized", "plain")
KINDS_OF_ATTENTION = ("cross-attention", "self-attention")


def step_problem(attention):
    """Unit tokens, queries and head of the second scene: (data, head), n = 4, T = 5, d = 6."""
    rng = np.random.default_rng(1)
    data = random_data(4, 5, 6, rng=rng, attention=attention.removesuffix("-attention"))
    return data, LinearHead(random_direction(6, rng=rng))


@scene(
    title="How fast does the direction settle?",
    instruction=(
        "Compare the two rules at the same step size. Then find the normalized step that reaches a given error ten "
        "times sooner."
    ),
    caption=(
        "Left: direction error 1 − corr(W(k), Wₘₘ) against the step count, with the error predicted from the SVM, the "
        "part of W off its support rows and the present norm (thick). Right: the norm of W, with ηk for normalized "
        "and ‖Wₘₘ‖ log ηk for plain steps (thick). Both rules follow the same law in the norm; normalized steps make "
        "the norm grow linearly, plain ones only like a logarithm."
    ),
    parameters={
        "rule": Choice("steps", RULES),
        "eta": Slider("step size η", ETAS, start=0.1, format=".2g"),
        "attention": Choice("queries", KINDS_OF_ATTENTION),
    },
    panels={
        "error": Panel(
            "Direction error",
            xlabel="step k",
            ylabel="1 − corr",
            xscale="log",
            yscale="log",
            xlim=(1, 1000),
            ylim=(1e-8, 5),
        ),
        "norm": Panel(
            "Norm of W", xlabel="step k", ylabel="‖W‖", xscale="log", yscale="log", xlim=(1, 2000), ylim=(1e-3, 1e5)
        ),
    },
    time=Time("step k", COUNTS, format=".0f"),
)
def step_size(rule, eta, attention):
    r"""Gradient descent on W from 0, plain or normalized, against the rate of `attsvm_lib.experiments.rates`.

    .. math:: 1 - \mathrm{corr} \approx \frac{\|B\|_F^2 + \|W_{out}\|_F^2}{2 \|W(k)\|_F^2}

    once attention is nearly one-hot. Source: arXiv 2308.16898, section 4; the rate is ours.
    """
    data, solution, offset = _solved(attention)
    W, attended = _trained(rule, eta)[attention]
    norm = np.linalg.norm(W, axis=(-2, -1))
    lost = 1 - correlation(W, solution.W)
    constant = (offset**2 + off_span(data, solution, W[-1]) ** 2) / 2
    reached = eta * COUNTS
    logs = solution.objective * np.log(np.maximum(reached, 1))
    expected = reached if rule == "normalized" else np.where(logs > 1e-3, logs, np.nan)
    predicted = constant / norm**2
    predicted = np.where(predicted < 5, predicted, np.nan)  # of no meaning before the direction settles
    marks = {
        "predicted": Line(COUNTS, predicted, style="svm", label="predicted from the SVM"),
        "lost": Path(np.stack([COUNTS, lost], -1), style="W", label="gradient descent on W"),
        "growth": Line(COUNTS, expected, style="svm", panel="norm"),
        "norm": Path(np.stack([COUNTS, norm], -1), style="W", panel="norm"),
    }
    readouts = {
        "lost": Readout(lost, "1 − corr", ".1e"),
        "norm": Readout(norm, "norm of W", ".3g"),
        "attention": Readout(attended, "least attention on a selected token", ".3f"),
    }
    return Scene(marks, readouts)


@functools.cache
def _trained(rule, eta):
    """W and the least attention on a selected token at each count, for both kinds of attention (trained together)."""
    data, head = stacked([step_problem(attention) for attention in KINDS_OF_ATTENTION])
    run = train(data, head, step=eta, steps=int(COUNTS[-1]), checkpoints=COUNTS, normalized=rule == "normalized")
    attended = run.selected_probability.min(-1)
    return {name: (run.W[:, k], attended[:, k]) for k, name in enumerate(KINDS_OF_ATTENTION)}


@functools.cache
def _solved(attention):
    """The data, Att-SVM of their optimal tokens, and the offset ||B||_F."""
    data, head = step_problem(attention)
    solution = att_svm(data, scores(data, head.v).argmax(-1))
    return data, solution, predicted_constant(data, head, solution)


# --- paths in the plane, as in Figures 1 and 2 ---

PICKED = {("3", "cross"): 23, ("3", "self"): 6, ("5", "cross"): 49, ("5", "self"): 49}
MOST = 5
TIMES = np.unique(np.rint(np.geomspace(1, 2000, 34)).astype(int))


def figure_problem(tokens, attention):
    """Data and head of one picture: n = 2 sequences in the plane, a problem drawn by `path_problem`."""
    kind = attention.removesuffix("-attention")
    return path_problem(2, int(tokens), 2, index=PICKED[tokens, kind], attention=kind)


@scene(
    title="Paths in the plane",
    instruction="Play. Which arrows does the solid path reach, and which the dashed one?",
    caption=(
        "Left: two sequences in the plane (filled and hollow; a star is the optimal token, a diamond the query). Paths "
        "show the direction of W(k) zᵢ for W (solid) and (K, Q) (dashed), at a distance from the center that grows "
        "with the logarithm of the step. Arrows: Wₘₘ zᵢ (solid) and W*ₘₘ zᵢ (dotted). Right: the error of each model's "
        "direction against its own solution."
    ),
    parameters={
        "tokens": Choice("tokens T", ("3", "5")),
        "attention": Choice("queries", KINDS_OF_ATTENTION),
    },
    panels={
        "plane": Panel(
            "Tokens and directions", xlabel="first coordinate", ylabel="second coordinate", xlim=(-1.15, 1.15),
            ylim=(-1.15, 1.15), equal=True,
        ),
        "error": Panel(
            "Direction error", xlabel="step", ylabel="1 − corr", xscale="log", yscale="log", xlim=(1, 2000),
            ylim=(1e-8, 3), height=0.9,
        ),
    },
    time=Time("step", TIMES, format=".0f"),
)  # fmt: skip
def paths_in_the_plane(tokens, attention):
    r"""Directions of W(k) z_i when W is trained and when (K, Q) is, from W(0) = 0.09 I.

    Beside them the directions of W_mm z_i (Frobenius) and W*_mm z_i (nuclear). Source: arXiv 2308.16898, section 4,
    Figures 1 and 2 (these draw such runs; the data are ours).
    """
    data, head = figure_problem(tokens, attention)
    best = scores(data, head.v).argmax(-1)
    radius = (1 + np.log(TIMES)) / (1 + np.log(TIMES[-1]))
    marks = _plane_tokens(data, best)
    readouts = {}
    runs = train_plane(data, head, steps=int(TIMES[-1]), checkpoints=TIMES)
    words = (("W", "svm", "frobenius", "Wₘₘ zᵢ"), ("KQ", "nuclear", "nuclear", "W*ₘₘ zᵢ"))
    for run, (name, style, norm, arrows) in zip(runs, words, strict=True):
        label = "W" if name == "W" else "(K, Q)"
        solution = att_svm(data, best, norm=norm)
        lost = np.maximum(1 - correlation(run.W, solution.W), 1e-8)
        paths = radius[:, None, None] * _unit(data.Z @ run.W.swapaxes(-1, -2))
        marks[f"solution {name}"] = Arrows(np.zeros((2, 2)), _unit(data.Z @ solution.W.T), style=style, label=arrows)
        marks[f"path {name}"] = Path(paths, style=name, label=f"W(k) zᵢ, training {label}")
        marks[f"lost {name}"] = Path(np.stack([TIMES, lost], -1), style=name, panel="error")
        readouts[f"lost {name}"] = Readout(lost, f"1 − corr, {label}", ".1e")
    return Scene(marks, readouts)


def _plane_tokens(data, best):
    """Tokens, a star for the optimal one, and queries of both sequences."""
    marks = {}
    for i in range(2):
        others = np.full((MOST - 1, 2), np.nan)  # the picture has room for the larger T
        others[: data.T - 1] = np.delete(data.X[i], best[i], axis=0)
        marks[f"tokens {i + 1}"] = Points(others, style=f"token-{i + 1}", label=f"sequence {i + 1}")
        label = "star: optimal token" if i == 0 else ""
        marks[f"selected {i + 1}"] = Points(data.X[i, best[i]][None], style=f"selected-{i + 1}", label=label)
        label = "queries z₁, z₂" if i == 0 else ""
        marks[f"query {i + 1}"] = Points(data.Z[i][None], style=f"query-{i + 1}", label=label)
    return marks


def _unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
