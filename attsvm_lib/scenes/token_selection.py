"""Scenes of chapter 1, *Attention as token selection* (arXiv 2308.16898, section 2)."""

from __future__ import annotations

import functools

import numpy as np

from attsvm_lib.data import TokenData
from attsvm_lib.experiments import feasible_sequences, random_problem
from attsvm_lib.heads import LinearHead
from attsvm_lib.scene import (
    Arrows,
    Bars,
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
    Time,
    scene,
)
from attsvm_lib.selection import correlation, scores
from attsvm_lib.svm import ConvergenceError, InfeasibleError, att_svm
from attsvm_lib.training import train

__all__ = ["drag_a_token", "separability_map"]

# --- drag a token: n = 2 sequences of T = 3 tokens in the plane ---

TOKENS = np.array([[[0.6, 0.7], [-0.7, 0.5], [0.3, -0.7]], [[0.9, -0.1], [0.1, -0.8], [-0.6, -0.4]]])
QUERIES = np.array([[0.8, 0.6], [-0.28, 0.96]])
LABELS = np.array([1.0, -1.0])
HEAD = np.array([0.8, 0.6])
DRAGGED = (0, 2)
GRID = np.round(np.linspace(-1, 1, 21), 2)
STEPS = np.unique(np.rint(np.geomspace(1, 400, 27)).astype(int))
STEP = 0.25
START = np.eye(2)  # W(0) = K(0) = Q(0) = I
MODELS = ("W", "(K, Q)")
EXACT = 1e-15  # scores this close are equal but for rounding
CLOSE = 1e-6  # scores this close are too close to solve for: the solution grows as 1 / distance
DUPLICATE = "The dragged token duplicates the optimal one: no W can select between them."
NEAR_DUPLICATE = "The dragged token duplicates the optimal one to within 1e-6: a W that separates them is too large."
TIE = "The dragged token scores exactly as much as the star: no token is optimal, so there is nothing to solve."
NEAR_TIE = "The dragged token scores as much as the star to within 1e-6: too close to say which one is optimal."
UNSOLVED = "The solver does not reach its accuracy here, so no solution is shown."


def plane_data(token):
    """The hero's data with x_13 at each row of `token`: TokenData with X of shape (G, 2, 3, 2)."""
    token = np.asarray(token, dtype=float)
    X = np.tile(TOKENS, (len(token), 1, 1, 1))
    X[:, DRAGGED[0], DRAGGED[1]] = token
    return TokenData(X, np.tile(QUERIES, (len(token), 1, 1)), np.tile(LABELS, (len(token), 1)))


def train_plane(data, model):
    """The hero's run: 400 normalized steps of 0.25 from W = I, or from K = Q = I with one common norm."""
    options = {"steps": int(STEPS[-1]), "step": STEP, "checkpoints": STEPS}
    if model == "W":
        return train(data, LinearHead(HEAD), start=START, **options)
    start, options["normalization"] = (START, START), "joint"
    return train(data, LinearHead(HEAD), parameterization="KQ", start=start, **options)


@scene(
    title="Drag a token",
    instruction="Drag the circled token of sequence 1, or move it with the arrow keys.",
    caption=(
        "Left: two sequences of three tokens in the plane (sequence 1 filled, sequence 2 hollow; the optimal token of "
        "each is a star, the queries are diamonds on the unit circle). Black arrows point along Wₘₘ zᵢ, or W*ₘₘ zᵢ "
        "for (K, Q). A colored path shows the direction of W(k) zᵢ during training; its distance from the center is "
        "the logarithm of the step. Beyond the dashed line the dragged token is the optimal one. Right: the "
        "attention that each star gets, and the correlation of the trained W with the solution, against the step."
    ),
    parameters={
        "token": Drag("token x₁₃", GRID, GRID, start=(0.6, 0.0), panel="plane"),
        "model": Choice("trained", MODELS),
    },
    panels={
        "plane": Panel(
            "Tokens and directions",
            xlabel="first coordinate",
            ylabel="second coordinate",
            xlim=(-1.15, 1.15),
            ylim=(-1.15, 1.15),
            equal=True,
        ),
        "training": Panel(
            "Training",
            xlabel="step",
            ylabel="attention, correlation",
            xscale="log",
            xlim=(1, 400),
            ylim=(0, 1.05),
            height=0.9,
        ),
    },
    time=Time("step", STEPS, format=".0f"),
    vectorized=True,
)
def drag_a_token(token, model):
    r"""Att-SVM of the optimal tokens and gradient descent, as one token moves.

    Solid facts per position: :math:`\alpha_i = \arg\max_t v^\top x_{it}`, :math:`W_{mm}` (Frobenius, for W) or
    :math:`W^\star_{mm}` (nuclear, for (K, Q)), and a run of normalized gradient descent on the logistic risk. Where
    the dragged token duplicates the optimal one or ties with it, to within 1e-6, the solution is absent.
    Source: arXiv 2308.16898, sections 2 and 5 (its Figures 1 and 2 draw such paths).
    """
    data = plane_data(token)
    run = train_plane(data, model)
    alpha = scores(data, HEAD).argmax(-1)
    solved = [_solution(data, alpha, g, model) for g in range(len(token))]
    solutions, messages = [s for s, _ in solved], [message for _, message in solved]
    W_mm = np.array([np.full((2, 2), np.nan) if s is None else s.W for s in solutions])
    seen = np.array([np.full(len(STEPS), np.nan) if s is None else correlation(run.W[:, g], s.W)
                     for g, s in enumerate(solutions)])  # fmt: skip
    marks = _tokens(data, alpha) | _directions(W_mm, run, model) | _training(run, alpha, seen)
    return Scene(marks, _readouts(solutions, seen), messages)


def _solution(data, alpha, g, model):
    """(solution, None), or (None, why there is none), of position g."""
    one = TokenData(data.X[g], data.Z[g], data.Y[g])
    tie = _tie(one)
    if tie is not None:
        return None, tie
    try:
        return att_svm(one, alpha[g], norm="frobenius" if model == "W" else "nuclear"), None
    except (ConvergenceError, InfeasibleError):
        return None, UNSOLVED


def _tie(data):
    """Why the two best tokens of sequence 1 are too alike to choose between them; None when they are not."""
    gamma = scores(data, HEAD)[DRAGGED[0]]
    second, first = np.argsort(gamma, kind="stable")[-2:]
    gap = gamma[first] - gamma[second]
    if gap > CLOSE:
        return None
    distance = np.linalg.norm(data.X[DRAGGED[0], first] - data.X[DRAGGED[0], second])
    if distance <= CLOSE:
        return DUPLICATE if distance == 0 else NEAR_DUPLICATE
    return TIE if gap <= EXACT else NEAR_TIE


def _tokens(data, alpha):
    """Stars at alpha_i, circles elsewhere (absent at the star), queries, and the line of equal score."""
    chosen = np.arange(3) == alpha[..., None]
    stars = np.take_along_axis(data.X, alpha[..., None, None], 2)
    others = np.where(chosen[..., None], np.nan, data.X)
    best = (TOKENS[0, :2] @ HEAD).max() * HEAD
    across = np.array([-HEAD[1], HEAD[0]])
    marks = {
        "equal score": Segments([[best - 0.9 * across]], [[best + 0.9 * across]], style="boundary",
                                label="equal scores"),
    }  # fmt: skip
    for i, name in enumerate(("1", "2")):
        label = "star: optimal token" if name == "1" else ""
        marks[f"selected {name}"] = Points(stars[:, i], style=f"selected-{name}", label=label)
        marks[f"tokens {name}"] = Points(others[:, i], style=f"token-{name}", label=f"sequence {name}")
        label = "queries z₁, z₂" if name == "1" else ""
        marks[f"query {name}"] = Points(QUERIES[None, i : i + 1], style=f"query-{name}", label=label)
    return marks


def _directions(W_mm, run, model):
    """Unit vectors W_mm z_i, and the trained directions at a radius that grows with log step."""
    arrows = W_mm @ QUERIES.T
    arrows = (arrows / np.linalg.norm(arrows, axis=1, keepdims=True)).swapaxes(1, 2)
    heads = run.W @ QUERIES.T
    radius = (1 + np.log(STEPS)) / (1 + np.log(STEPS[-1]))
    paths = radius[:, None, None, None] * heads / np.linalg.norm(heads, axis=2, keepdims=True)
    paths = paths.transpose(1, 0, 3, 2)
    absent_arrows, absent_paths = np.full_like(arrows, np.nan), np.full_like(paths, np.nan)
    trained_W = model == "W"
    origin = np.zeros((1, 2, 2))
    return {
        "W_mm": Arrows(origin, arrows if trained_W else absent_arrows, style="svm", label="Wₘₘ zᵢ (Frobenius)"),
        "W*_mm": Arrows(origin, absent_arrows if trained_W else arrows, style="nuclear", label="W*ₘₘ zᵢ (nuclear)"),
        "path W": Path(paths if trained_W else absent_paths, style="W", label="W(k) zᵢ, training W"),
        "path KQ": Path(absent_paths if trained_W else paths, style="KQ", label="W(k) zᵢ, training (K, Q)"),
    }


def _training(run, alpha, seen):
    attention = np.take_along_axis(run.probabilities, alpha[None, ..., None], -1)[..., 0]
    curves = {"attention 1": (attention[..., 0].T, "selected-1", "attention on star 1"),
              "attention 2": (attention[..., 1].T, "selected-2", "attention on star 2"),
              "correlation": (seen, "reference", "correlation with the solution")}  # fmt: skip
    steps = np.broadcast_to(STEPS.astype(float), attention.shape[1::-1])
    return {
        name: Path(np.stack([steps, y], axis=-1), style=style, label=label, panel="training")
        for name, (y, style, label) in curves.items()
    }


def _readouts(solutions, seen):
    size = np.array([np.nan if s is None else s.objective for s in solutions])
    support = [np.nan if s is None else s.support.sum() for s in solutions]
    moves = ["–" if s is None else "yes" if _supports(s) else "no" for s in solutions]
    return {
        "margin": Readout(1 / size, "margin", ".3f"),
        "norm": Readout(size, "norm of the solution", ".3f"),
        "support": Readout(np.array(support, dtype=float), "support tokens", ".0f"),
        "matters": Readout(np.array(moves), "dragged token matters"),
        "correlation": Readout(seen, "correlation with the solution", ".3f"),
    }


def _supports(solution):
    """Whether the dragged token enters the solution: selected, or a support token."""
    i, t = DRAGGED
    return solution.alpha[i] == t or bool(solution.support[(solution.rows == (i, t)).all(1)][0])


# --- where selection is possible ---

DIMENSIONS = np.arange(2, 7)
MOST = 24
SEQUENCES = np.arange(1, MOST + 1)
DRAWS = 30
LAW = 0.8  # d* ~ sqrt(0.8 n ln T), measured in the chapter


@scene(
    title="When can any W select these tokens?",
    instruction="Pick cells along one column, upward, until the problem breaks. Then choose more tokens.",
    caption=(
        "Left: share of 30 random problems that are feasible, against the dimension d and the number n of sequences; "
        "the curve is the law n = d² / (0.8 ln T), the crosses mark n = d, up to which every problem of unit tokens "
        "is proved to be feasible. Right: of the 30 problems, the one that bears the median number of sequences, cut "
        "to the picked size. Filled bars: the share of each sequence in the multipliers of the solution. "
        "Hollow bars: the Farkas vector, which proves that no W exists."
    ),
    parameters={
        "cell": Pick("cell", "share", (MOST, len(DIMENSIONS)), start=(7, 2)),
        "tokens": Choice("tokens T", ("3", "6", "12"), start="6"),
    },
    panels={
        "map": Panel(
            "Feasible share",
            xlabel="dimension d",
            ylabel="sequences n",
            xlim=(1.5, 6.5),
            ylim=(0.5, MOST + 0.5),
            xticks={int(d): str(d) for d in DIMENSIONS},
            height=0.95,
        ),
        "proof": Panel(
            "One problem", xlabel="sequence", ylabel="weight", xlim=(0.3, MOST + 0.7), ylim=(0, 1), height=0.95
        ),
    },
    vectorized=True,
)
def separability_map(cell, tokens):
    """Share of feasible problems for each (n, d), and the certificate of one problem of the picked size.

    A problem of n sequences consists of the first n of a random problem of 24: once it is infeasible, its Farkas
    vector stays a proof when sequences are added. Shown is the problem that bears the median number of sequences.
    Unit tokens and queries, tokens selected at random.
    Source: arXiv 2308.16898, section 2 (separability); the experiment is ours.
    """
    T = int(tokens)
    share = np.stack([(_reached(T, int(d)) >= SEQUENCES[:, None]).mean(1) for d in DIMENSIONS], axis=1)
    picked = [(int(row) + 1, int(DIMENSIONS[int(column)])) for row, column in cell]
    proofs = {(n, d): _certificate(T, d, n) for n, d in sorted(set(picked))}
    multipliers, farkas, margin = (np.array([proofs[p][k] for p in picked]) for k in range(3))
    fine = np.linspace(1.5, 6.5, 41)
    law = fine**2 / (LAW * np.log(T))
    x = SEQUENCES[None].astype(float)
    marks = {
        "share": Heatmap(share[None], limits=(0, 1), extent=(1.5, 6.5, 0.5, MOST + 0.5), label="feasible share"),
        "law": Line(fine[None], np.where(law <= MOST + 0.5, law, np.nan)[None], style="svm", label="law"),
        "n = d": Points(np.stack([DIMENSIONS, DIMENSIONS], axis=1)[None], style="reference", label="n = d"),
        "multipliers": Bars(x, multipliers, panel="proof", style="series-1", label="multipliers"),
        "farkas": Bars(x, farkas, panel="proof", style="series-4", label="Farkas vector"),
    }
    readouts = {
        "share": Readout(share[cell[:, 0].astype(int), cell[:, 1].astype(int)], "feasible share", ".0%"),
        "law": Readout(np.array([np.sqrt(LAW * n * np.log(T)) for n, _ in picked]), "law: d of about", ".1f"),
        "proved": Readout(np.array([n for n, _ in picked], dtype=float), "proved for d ≥", ".0f"),
        "margin": Readout(margin, "margin of this problem", ".4f"),
    }
    messages = [None if np.isfinite(m) else "No W exists: the sequences with a bar contradict each other."
                for m in margin]  # fmt: skip
    return Scene(marks, readouts, messages)


@functools.cache
def _reached(T, d):
    """Feasible sequences of each of the 30 problems."""
    return feasible_sequences(T, d, most=MOST, draws=DRAWS)


@functools.cache
def _certificate(T, d, n):
    """(multipliers, Farkas vector, margin) of n sequences of the median problem; what does not exist is NaN."""
    reached = _reached(T, d)
    median = int(np.argsort(reached, kind="stable")[DRAWS // 2])
    data, alpha = random_problem(MOST, T, d, seed=0, index=median, selection="random")
    n = min(n, int(reached[median]) + 1)
    first = TokenData(data.X[:n], data.Z[:n], data.Y[:n])
    try:
        solution = att_svm(first, alpha[:n])
        return _by_sequence(solution.multipliers, solution.rows), np.full(MOST, np.nan), solution.margin
    except InfeasibleError as error:
        return np.full(MOST, np.nan), _by_sequence(error.certificate, error.rows), np.nan


def _by_sequence(weights, rows):
    return np.bincount(rows[:, 0], weights / weights.sum(), minlength=MOST)
