r"""Scenes of chapter 6: causal attention that hardens beside its SVM, and what a causal mask costs or saves.

Source: arXiv 2308.16898, section 7 (sequential prediction). In each scene one sequence, whose tokens are its queries.
"""

from __future__ import annotations

import functools

import numpy as np

from attsvm_lib.constraints import sequential_rows
from attsvm_lib.data import TokenData
from attsvm_lib.experiments import sequential_problem
from attsvm_lib.heads import LinearHead
from attsvm_lib.scene import (
    Arrows,
    Choice,
    Drag,
    Heatmap,
    Line,
    Panel,
    Points,
    Readout,
    Scene,
    Segments,
    Slider,
    Time,
    scene,
)
from attsvm_lib.selection import correlation
from attsvm_lib.svm import ConvergenceError, InfeasibleError, sequential_svm
from attsvm_lib.training import train

__all__ = ["drag_the_last_token", "hardening", "two_positions", "two_tokens"]

MASKS = ("causal", "none")

# --- attention hardens: n = 1, T = 5, d = 6 ---

T, D = 5, 6
SETS = (1, 2, 3, 4)
SEEDS = (25, 5, 21, 23)  # of `sequential_problem`; in the last one descent misses some optimal tokens
LABELS = ("one for the sequence", "one for each position")
STEPS = np.unique(np.rint(np.geomspace(1, 1000, 31)).astype(int))
STEP = 0.2


@scene(
    title="Attention hardens, row by row",
    instruction=(
        "Press play. Watch which rows of the matrix harden first, and where the lowest filled circles end up. Then go "
        "back and switch the causal mask off."
    ),
    caption=(
        "Left: attention of each position (row) to each token (column) while W is trained; hatched cells are hidden by "
        "the causal mask, stars mark the tokens selected at the end. Right: the margin of each row of the SVM, in the "
        "units of its solution. Filled circles: the trained W. Hollow circles: the SVM, none below the dashed line at "
        "1. Training moves the filled circles into the hollow ones."
    ),
    parameters={
        "mask": Choice("mask", MASKS),
        "labels": Choice("labels", LABELS),
        "tokens": Slider("tokens, set", SETS, start=1, format=".0f", only_grid=True),
    },
    panels={
        "attention": Panel(
            "attention",
            xlabel="token t",
            ylabel="position j",
            xlim=(-0.5, T - 0.5),
            ylim=(T - 0.5, -0.5),
            xticks={t: f"{t + 1}" for t in range(T)},
            yticks={j: f"{j + 1}" for j in range(T)},
            height=0.9,
        ),
        "margins": Panel(
            "margins",
            xlabel="position j, its tokens in order",
            ylabel="margin over the SVM's norm",
            xlim=(-0.7, T * (T + 1) - 1.3),
            ylim=(-1.2, 4.0),
            xticks={j * (T + 1) + (T - 1) / 2: f"{j + 1}" for j in range(T)},
            height=0.9,
        ),
    },
    time=Time("step", STEPS, start=int(np.searchsorted(STEPS, 10)), format=".0f", seconds=6.0),
)
def hardening(mask, labels, tokens):
    r"""Attention and margins along normalized descent from W = 0, beside the SVM of the tokens it selects.

    The margin of row (j, t) is :math:`(x_{\alpha_j} - x_t)^\top W(k) x_j\, \|W_{mm}\| / \|W(k)\|`; for W(k)
    proportional to W_mm it is that of W_mm. Source: arXiv 2308.16898, section 7.
    """
    causal = mask == "causal"
    X, run = _run(causal, LABELS.index(labels), SETS.index(int(tokens)))
    alpha = run.selection[-1][None]
    solution, rows = sequential_svm(X, alpha, causal=causal), sequential_rows(X, alpha, causal=causal)
    along = np.stack([rows.margins(W) for W in run.W]) * (solution.objective / run.norm)[:, None]
    _, j, t = rows.index.T
    place = j * T + t
    x = (j * (T + 1) + t).astype(float)
    trained, predicted = np.full((len(STEPS), T * T, 2), np.nan), np.full((T * T, 2), np.nan)
    trained[:, place] = np.stack([np.broadcast_to(x, along.shape), along], axis=-1)
    predicted[place] = np.stack([x, rows.margins(solution.W)], axis=-1)
    seen = np.tri(T, dtype=bool) if causal else np.ones((T, T), dtype=bool)
    stars = np.stack([alpha[0], np.arange(T)], axis=1).astype(float)
    selected = np.take_along_axis(run.probabilities, alpha[..., None], -1)
    marks = {
        "attention": Heatmap(np.where(seen, run.probabilities, np.nan), limits=(0, 1), scale="attention"),
        "selected": Points(stars, style="selected-1", label="selected at the end"),
        "one": Segments([[-0.7, 1.0]], [[T * (T + 1) - 1.3, 1.0]], style="boundary", panel="margins"),
        "svm": Points(predicted, style="highlight", label="margins of the SVM", panel="margins"),
        "trained": Points(trained, style="W", label="margins of W(k)", panel="margins"),
    }
    readouts = {
        "correlation": Readout(correlation(run.W, solution.W), "correlation with the SVM", ".4f"),
        "least": Readout(along.min(1), "least margin", ".3f"),
        "attention": Readout(selected.min((1, 2)), "least attention on a star", ".3f"),
        "norm": Readout(run.norm, "norm of W", ".1f"),
        "support": Readout(f"{int(solution.support.sum())} of {len(rows)}", "rows at margin 1"),
    }
    return Scene(marks, readouts)


@functools.cache
def _runs(causal):
    """Tokens of each set, and the run of all labels and sets: leading axes (labels, sets)."""
    kinds = ("sequence", "position")
    problems = [[sequential_problem(1, T, D, seed=s, causal=causal, labels=k) for s in SEEDS] for k in kinds]
    fields = ("X", "Z", "Y") + (("allowed",) if causal else ())
    stacked = [np.stack([[getattr(data, name) for data, _ in row] for row in problems]) for name in fields]
    head = LinearHead(np.stack([[head.v for _, head in row] for row in problems]))
    run = train(TokenData(*stacked), head, steps=int(STEPS[-1]), step=STEP, checkpoints=STEPS)
    return stacked[0][0, :, :1], run


class _OneRun:
    """The records of one run of a batch that `hardening` reads."""

    def __init__(self, run, index):
        pick = (slice(None), *index)
        self.W, self.norm = run.W[pick], run.norm[pick]
        self.probabilities, self.selection = run.probabilities[pick], run.selection[pick]


def _run(causal, labels, tokens):
    X, run = _runs(causal)
    return X[tokens], _OneRun(run, (labels, tokens))


# --- two positions: n = 1, T = 2 unit tokens in the plane ---

ANGLES = tuple(range(10, 171, 5))
WISHES = ("both want token 1", "each wants itself")
SELECTED = dict(zip(WISHES, ([[0, 0]], [[0, 1]]), strict=True))
CURVES = {
    "causal": ("reference", "causal mask", WISHES[0], True),
    "same": ("series-1", "no mask, both want token 1", WISHES[0], False),
    "own": ("series-2", "no mask, each wants itself", WISHES[1], False),
}
BOX = 3.0


def two_tokens(angle):
    """Two unit tokens of the plane at an angle (in degrees), symmetric about the vertical axis, shape (1, 2, 2)."""
    half = np.radians(angle) / 2
    return np.array([[[-np.sin(half), np.cos(half)], [np.sin(half), np.cos(half)]]])


@scene(
    title="Two positions share one matrix",
    instruction="Turn the tokens. When is it cheaper that both positions want the same token, when that they differ?",
    caption=(
        "Left: the two tokens, which are also the two queries, and for each query the line that u = Wᵀ(x₁ − x₂) has to "
        "reach; under the causal mask position 1 sees one token only and asks for nothing. The arrow is the shortest "
        "u. Right: the norm of the solution against the angle; what the positions want decides which price grows when "
        "the tokens come close or become opposite."
    ),
    parameters={
        "angle": Slider("angle between the tokens", ANGLES, start=70, format=".0f", unit="°"),
        "wish": Choice("selection", WISHES),
        "mask": Choice("mask", MASKS, start="none"),
    },
    panels={
        "plane": Panel("tokens and u", xlabel="first coordinate", ylabel="second coordinate",
                       xlim=(-BOX, BOX), ylim=(-BOX, BOX), equal=True),
        "norm": Panel("norm of the solution", xlabel="angle (degrees)", ylabel="norm", yscale="log",
                      xlim=(5, 175), ylim=(0.4, 80), height=1.0),
    },
)  # fmt: skip
def two_positions(angle, wish, mask):
    r"""SVM of one sequence of two unit tokens at an angle: closed forms of the chapter, drawn as the solver finds them.

    With d = x_1 - x_2 the solution is :math:`W = d\,u^\top / \|d\|^2`, where u is the shortest vector with
    :math:`s_j\, u^\top x_j \ge 1` for each position j that has a choice, s_j = +1 when it wants token 1 and -1 for
    token 2. Source: arXiv 2308.16898, section 7.
    """
    X, alpha, causal = two_tokens(angle), SELECTED[wish], mask == "causal"
    solution = sequential_svm(X, alpha, causal=causal)
    x1, x2 = X[0]
    u = solution.W.T @ (x1 - x2)
    signs = 1.0 - 2.0 * np.array(alpha[0])
    lines = np.stack([_line_at(s * x) for s, x in zip(signs, X[0], strict=True)])
    if causal:
        lines[0] = np.nan
    inside = u if np.abs(u).max() <= BOX else np.full(2, np.nan)
    marks = {
        "token 1": Points(x1[None], style="token-1", text=("x₁",), label="token 1 = query 1"),
        "token 2": Points(x2[None], style="token-2", text=("x₂",), label="token 2 = query 2"),
        "line 1": Line(*lines[0].T, style="token-1"),
        "line 2": Line(*lines[1].T, style="query-2"),
        "u": Arrows([[0.0, 0.0]], inside[None], style="svm", label="u"),
    }
    for name, (style, label, _, _) in CURVES.items():
        marks[name] = Line(np.array(ANGLES, dtype=float), _norms()[name], style=style, label=label, panel="norm")
    marks["now"] = Points([[float(angle), solution.objective]], style="highlight", panel="norm")
    readouts = {
        "norm": Readout(solution.objective, "norm of W", ".3f"),
        "margin": Readout(solution.margin, "margin", ".3f"),
        "rank": Readout(solution.rank, "rank of W", ".0f"),
        "rows": Readout(len(solution.rows), "rows", ".0f"),
    }
    far = f"u is {np.linalg.norm(u):.1f} long here, beyond the picture." if np.isnan(inside).any() else None
    return Scene(marks, readouts, far)


@functools.cache
def _norms():
    """||W_mm|| over ANGLES for each curve of the right panel."""
    return {
        name: np.array([sequential_svm(two_tokens(a), SELECTED[wish], causal=causal).objective for a in ANGLES])
        for name, (_, _, wish, causal) in CURVES.items()
    }


def _line_at(z):
    """Two points of the line {u: u^T z = 1} for a unit vector z, far enough apart to cross the panel."""
    along = np.array([-z[1], z[0]])
    reach = np.sqrt(BOX**2 - 1)
    return z + np.array([[-reach], [reach]]) * along


# --- drag the last token: n = 1, T = 3, d = 2 ---

FIRST = np.array([[0.9, 0.3], [-0.4, 0.8]])
GRID = np.round(np.linspace(-1.2, 1.2, 19), 3)
EDGE = 1.2 + 2.4 / 36  # outer edge of the cells
WANTED = {"all want token 1": (0, 0, 0), "each wants itself": (0, 1, 2)}


@scene(
    title="Drag the last token",
    instruction=(
        "Drag token 3 over the plane, first with the causal mask, then without. Where does the mask decide whether any "
        "W exists? Positions 1 and 2 never see token 3 under the mask: which arrows turn all the same?"
    ),
    caption=(
        "One sequence of three tokens in the plane. Colors: the largest margin for each place of token 3, hatched "
        "where no W exists. Arrows: the directions of W x₁, W x₂, W x₃, the way in which each position looks. That all "
        "want token 1 is impossible in a whole region without the mask, and almost nowhere with it."
    ),
    parameters={
        "token": Drag("token x₃", GRID, GRID, start=(0.8, -0.4), panel="plane"),
        "wish": Choice("selection", tuple(WANTED)),
        "mask": Choice("mask", MASKS),
    },
    panels={
        "plane": Panel("margin over the places of x₃", xlabel="first coordinate", ylabel="second coordinate",
                       xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE), equal=True),
    },
)  # fmt: skip
def drag_the_last_token(token, wish, mask):
    """SVM of three tokens in the plane while the last one moves, with and without a causal mask.

    Source: arXiv 2308.16898, section 7.
    """
    causal = mask == "causal"
    margins, solution = _margins(wish, causal), _solve_three(token, wish, causal)
    absent = solution is None
    X = np.vstack([FIRST, [token]])
    looks = X @ (np.full((2, 2), np.nan) if absent else solution.W).T
    looks = looks / np.linalg.norm(looks, axis=1, keepdims=True)
    edges = (-EDGE, EDGE, -EDGE, EDGE)
    marks = {"margin": Heatmap(margins, limits=(0, 1.25), extent=edges, label="margin")}
    for j, style in enumerate(("series-1", "series-2", "svm")):
        marks[f"look {j + 1}"] = Arrows(np.zeros((1, 2)), looks[j : j + 1], style=style, label=f"W x{'₁₂₃'[j]}")
    marks["first tokens"] = Points(FIRST, style="selected-1", text=("x₁", "x₂"), label="x₁, x₂")
    readouts = {
        "margin": Readout(np.nan if absent else solution.margin, "margin", ".3f"),
        "support": Readout(np.nan if absent else float(solution.support.sum()), "rows at margin 1", ".0f"),
        "share": Readout(np.isfinite(margins).mean(), "share of places with a W", ".0%"),
    }
    message = "No W exists: the positions contradict each other." if absent else None
    return Scene(marks, readouts, message)


@functools.lru_cache(maxsize=4 * len(GRID) ** 2)
def _solve_three(token, wish, causal):
    """The SVM with the last token there, or None where there is none."""
    try:
        return sequential_svm([np.vstack([FIRST, [token]])], [WANTED[wish]], causal=causal)
    except (InfeasibleError, ConvergenceError):
        return None


@functools.cache
def _margins(wish, causal):
    """Margin for each place of the last token (row: second coordinate), NaN where there is no W."""
    found = [[_solve_three((x, y), wish, causal) for x in GRID.tolist()] for y in GRID.tolist()]
    return np.array([[np.nan if s is None else s.margin for s in row] for row in found])
