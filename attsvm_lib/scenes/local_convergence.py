r"""Scenes of chapter 4: basins of the local directions, their cones, and what rounding does to a run.

Source: arXiv 2308.16898, section 5.
"""

from __future__ import annotations

import functools

import numpy as np

from attsvm_lib.constraints import token_rows
from attsvm_lib.data import TokenData
from attsvm_lib.experiments.local import local_problems
from attsvm_lib.heads import LinearHead
from attsvm_lib.scene import (
    Arrows,
    Choice,
    Drag,
    Heatmap,
    Line,
    Panel,
    Path,
    Pick,
    Points,
    Readout,
    Scene,
    Segments,
    Slider,
    Time,
    scene,
)
from attsvm_lib.selection import correlation, locally_optimal, scores
from attsvm_lib.svm import att_svm
from attsvm_lib.training import train

__all__ = ["basins", "cone", "five_tokens", "plane_run", "two_arithmetics"]

# --- basins: one sequence of five tokens in the plane, state p = W z with z = e_1 ---

TOKENS = np.array([[-1.0, 0.3], [-0.5, 0.0], [0.0, 0.55], [0.5, -0.1], [1.0, 0.2]])
HEAD = np.array([0.0, 1.0])
NAMES = ("x₁", "x₂", "x₃", "x₄", "x₅")
REACH = 6.0
GRID = np.round(np.linspace(-REACH, REACH, 31), 2)
BOX = 12.0
STEP = 0.25
FRAMES = np.arange(0, 37, 2)
LAST = 800
START = (-1.6, -2.8)


def five_tokens():
    """Data and head of the first scene: n = 1, T = 5, d = 2, z = e_1, and a head that scores a token by its height."""
    return TokenData(TOKENS[None], [[1.0, 0.0]], [1.0]), LinearHead(HEAD)


def plane_run(p, checkpoints):
    """Normalized gradient descent from W = p e_1^T for each row of `p` (G, 2), steps of 0.25.

    Only the first column of W moves, and p = W z is that column.
    """
    start = np.zeros((len(p), 2, 2))
    start[..., 0] = p
    return train(*five_tokens(), start=start, steps=LAST, step=STEP, checkpoints=checkpoints)


@functools.cache
def _directions():
    """Max-margin direction of each token (5, 2), and whether the token is locally optimal."""
    data, _ = five_tokens()
    solutions = [att_svm(data, [t]) for t in range(len(TOKENS))]
    gamma = scores(data, HEAD)
    return np.stack([s.direction[:, 0] for s in solutions]), [locally_optimal(s, gamma) for s in solutions]


@functools.cache
def _winners():
    """Number (1 to 5) of the token selected in the end from each start (31, 31): rows are p_2, columns p_1."""
    x, y = np.meshgrid(GRID, GRID)
    run = plane_run(np.stack([x.ravel(), y.ravel()], axis=-1), [LAST])
    return run.selection[-1].reshape(x.shape) + 1.0


@scene(
    title="Which local direction wins?",
    instruction=(
        "Drag the start and play. Find three starts that end in three different directions, and one that begins on a "
        "dashed direction and leaves it."
    ),
    caption=(
        "Left: the plane of p = Wz. Color: the token that descent from there selects in the end, one color for "
        "each token. The blue path starts at the handle. Solid arrows: max-margin directions of the three locally "
        "optimal tokens; dashed: of the other two. Right: the tokens, whose height is their score, and the path of "
        "the output of attention, which ends at the token that wins. Stars are locally optimal."
    ),
    parameters={"start": Drag("start p(0)", GRID, GRID, start=START, panel="plane")},
    panels={
        "plane": Panel("state p = Wz", xlabel="p₁", ylabel="p₂", xlim=(-BOX, BOX), ylim=(-BOX, BOX), equal=True),
        "tokens": Panel(
            "tokens and output of attention",
            xlabel="first coordinate",
            ylabel="second coordinate = score",
            xlim=(-1.25, 1.25),
            ylim=(-0.3, 0.75),
        ),
    },
    time=Time("step", FRAMES, format=".0f"),
    vectorized=True,
)
def basins(start):
    r"""Normalized gradient descent on p = W z from many starts, for the data of `five_tokens`.

    A start wins for token alpha when attention selects alpha after 800 steps of 0.25. The arrows are
    p_mm(alpha) / ||p_mm(alpha)||. Source: arXiv 2308.16898, section 5 (locally optimal tokens; its Figure 1 draws
    such paths).
    """
    run = plane_run(start, [*FRAMES, LAST])
    p = np.moveaxis(run.W[..., 0], 0, 1)  # (G, frames + 1, 2)
    outputs = np.moveaxis(run.probabilities[:, :, 0] @ TOKENS, 0, 1)
    winner = run.selection[-1, :, 0]
    directions, local = _directions()
    end = correlation(p[:, -1, None], directions[winner, None])
    seen = np.where(np.abs(p).max(-1, keepdims=True) <= BOX, p, np.nan)
    selected = np.moveaxis(run.probabilities[:-1, :, 0], 0, 1)
    marks = _basin_marks(directions, np.array(local)) | {
        "path": Path(seen[:, :-1, None], style="W", label="descent"),
        "output": Path(outputs[:, :-1, None], style="W", panel="tokens"),
    }
    readouts = {
        "winner": Readout(np.array(NAMES)[winner], "selected in the end"),
        "attention": Readout(np.take_along_axis(selected, winner[:, None, None], -1)[..., 0], "its attention now"),
        "end": Readout(1 - end, "1 − corr with its direction after 800 steps", ".1e"),
    }
    return Scene(marks, readouts)


def _basin_marks(directions, local):
    """What does not depend on the start; each array with a first axis of length 1."""
    zero, tips = np.zeros_like(directions), 0.8 * BOX * directions
    edge = GRID[1] - GRID[0]
    extent = (-REACH - edge / 2, REACH + edge / 2) * 2
    names = {True: tuple(np.array(NAMES)[local]), False: tuple(np.array(NAMES)[~local])}
    return {
        "winner": Heatmap(
            _winners()[None], limits=(0, len(TOKENS)), extent=extent, format=".0f", label="token that wins: 1, 3 or 5"
        ),
        "local": Arrows(zero[None, local], tips[None, local], style="svm", label="direction, locally optimal"),
        "other": Segments(zero[None, ~local], tips[None, ~local], style="boundary", label="direction of another token"),
        "local names": Points(1.07 * tips[None, local], style="guide", text=names[True]),
        "other names": Points(1.07 * tips[None, ~local], style="guide", text=names[False]),
        "stars": Points(
            TOKENS[None, local], style="selected-1", panel="tokens", text=names[True], label="locally optimal token"
        ),
        "tokens": Points(TOKENS[None, ~local], style="token-1", panel="tokens", text=names[False], label="other token"),
    }


# --- the cone of a token: starts at all distances from the center and angles from its direction ---

ANGLES = np.linspace(-60.0, 60.0, 25)
RADII = np.geomspace(1.0, 100.0, 21)
COUNTS = np.unique(np.rint(np.geomspace(1, LAST, 14)).astype(int))


def _cone_starts(token):
    """Starts (21, 25, 2): RADII times the direction of a token (0 to 4), turned by ANGLES."""
    turn = np.radians(ANGLES) + np.arctan2(*_directions()[0][token, ::-1])
    return RADII[:, None, None] * np.stack([np.cos(turn), np.sin(turn)], axis=-1)


@functools.cache
def _cone_run(token):
    """Runs from all starts of a token, recorded at COUNTS: runs are the second axis, 21 times 25."""
    return plane_run(_cone_starts(token).reshape(-1, 2), COUNTS)


@scene(
    title="How wide is the cone, and how far out?",
    instruction=(
        "Pick starts, closer to the center and farther out. From which distance on does a start on the direction "
        "itself (angle 0) stay? Then choose a token that is not locally optimal."
    ),
    caption=(
        "The five tokens of the first picture. Left: starts at an angle from the direction of the chosen token and at "
        "a distance from the center; bright where descent selects that token in the end. Right: the angle between p "
        "and the direction while descent runs from the picked start. Tokens 2 and 4 have no cone."
    ),
    parameters={
        "token": Choice("token", NAMES),
        "cell": Pick("start", "stays", (len(RADII), len(ANGLES)), start=(14, 15)),
    },
    panels={
        "starts": Panel(
            "starts",
            xlabel="angle (degrees)",
            ylabel="log₁₀ distance",
        ),
        "angle": Panel(
            "descent from the picked start",
            xlabel="step",
            ylabel="angle (degrees)",
            xscale="log",
            xlim=(1, LAST),
            ylim=(0, 180),
        ),
    },
    vectorized=True,
)
def cone(token, cell):
    r"""Which starts R u, at an angle from the direction of a token, end there, for the data of `five_tokens`.

    Descent as in `basins`. Source: arXiv 2308.16898, section 5, Theorem 7 (convergence within cones).
    """
    alpha = NAMES.index(token)
    run = _cone_run(alpha)
    stays = (run.selection[-1, :, 0] == alpha).reshape(len(RADII), len(ANGLES))
    row, column = np.asarray(cell, dtype=int).T
    k = row * len(ANGLES) + column
    direction = np.stack([_directions()[0][alpha], np.zeros(2)], axis=-1)
    angle = np.degrees(np.arccos(correlation(run.W[:, k], direction)))  # p is the only column of W
    half = np.diff(ANGLES)[0] / 2, np.diff(np.log10(RADII))[0] / 2
    extent = (ANGLES[0] - half[0], ANGLES[-1] + half[0], -half[1], 2.0 + half[1])
    marks = {
        "stays": Heatmap(
            stays[None].astype(float), limits=(0.0, 1.0), extent=extent, format=".0f", label="1: selects the token"
        ),
        "angle": Line(COUNTS[None].astype(float), angle.T, style="W", panel="angle"),
    }
    readouts = {
        "winner": Readout(np.array(NAMES)[run.selection[-1, k, 0]], "selected in the end"),
        "radius": Readout(RADII[row], "distance of the start", ".1f"),
        "angle": Readout(angle[-1], "angle in the end", ".1f", "°"),
    }
    return Scene(marks, readouts)


# --- two arithmetics: data sets of the paper's experiment, exact steps beside those of the papers ---

SEEDS = tuple(range(8))
MODELS = ("W", "(K, Q)", "(K, Q) with weight decay")
STEPS = (0.05, 0.1, 0.5)
TIMES = np.unique(np.rint(np.geomspace(2, 400, 36))) / 2  # steps times step size: whole steps of every size
LIMIT = 35.0


@functools.cache
def _two_runs(model, step):
    """Runs in exact and in the papers' arithmetic on the data sets of SEEDS."""
    data, head, starts = local_problems(SEEDS)
    name = "W" if model == "W" else "KQ"
    checkpoints = np.rint(TIMES / step).astype(int)
    options = {
        "parameterization": name,
        "start": starts[name],
        "steps": int(checkpoints[-1]),
        "step": step,
        "weight_decay": 2.2e-16 if model.endswith("decay") else 0.0,
        "checkpoints": checkpoints,
    }
    return data, {kind: train(data, head, arithmetic=kind, **options) for kind in ("exact", "paper")}


@scene(
    title="Where rounding takes over",
    instruction=(
        "Look where the two curves part, and which margin they have there. Then add the weight decay of 2.2e-16, and "
        "train W."
    ),
    caption=(
        "One of the paper's random data sets, trained twice from the same start: with the saturation-proof gradient "
        "(dotted) and in ordinary arithmetic (dash-dotted). Left: 1 − corr with the max-margin direction of the "
        "tokens that the run selects. Right: its smallest margin; the ordinary gradient loses digits as it "
        "grows, and is noise beyond the gray line, at 35."
    ),
    parameters={
        "seed": Slider("data set", SEEDS, start=1, format=".0f", only_grid=True),
        "model": Choice("trained", MODELS, start="(K, Q)"),
        "step": Slider("step size η", STEPS, start=0.1, format=".2f", only_grid=True),
    },
    panels={
        "direction": Panel(
            "direction",
            xlabel="steps times η",
            ylabel="1 − corr",
            xscale="log",
            yscale="log",
            xlim=(1, TIMES[-1]),
            ylim=(1e-5, 2.0),
        ),
        "margin": Panel(
            "smallest margin",
            xlabel="steps times η",
            ylabel="margin",
            xscale="log",
            yscale="log",
            xlim=(1, TIMES[-1]),
            ylim=(0.1, 1e5),
        ),
    },
)
def two_arithmetics(seed, model, step):
    r"""Learning curves of one data set of `local_convergence` in both arithmetics.

    1 - corr(W(k), W_mm(alpha)) (nuclear solution for (K, Q)) and min_k d_k^T W z_k, with alpha the selection at the
    last step of each run. Source: arXiv 2308.16898, section 5; the comparison is ours.
    """
    data, runs = _two_runs(model, step)
    k = int(seed)
    one = TokenData(data.X[k], data.Z[k], data.Y[k])
    marks, readouts = {}, {}
    for kind, words, style in (("exact", "saturation-proof", "series-3"), ("paper", "ordinary", "series-4")):
        run = runs[kind]
        W, alpha = run.W[:, k], run.selection[-1, k]
        solution = att_svm(one, alpha, norm="frobenius" if model == "W" else "nuclear")
        lost = 1 - correlation(W, solution.W)
        rows = token_rows(one, alpha)
        margins = np.array([rows.margins(V).min() for V in W])
        marks |= {
            f"lost {kind}": Line(TIMES, lost, style=style, label=f"{words} gradient"),
            f"margin {kind}": Line(TIMES, np.where(margins > 0, margins, np.nan), style=style, panel="margin"),
        }
        readouts |= {
            f"lost {kind}": Readout(lost[-1], f"1 − corr in the end, {words}", ".1e"),
            f"margin {kind}": Readout(margins[-1], f"margin in the end, {words}", ".3g"),
        }
    marks["limit"] = Line([1, TIMES[-1]], [LIMIT, LIMIT], style="boundary", panel="margin", label="margin 35")
    return Scene(marks, readouts)
