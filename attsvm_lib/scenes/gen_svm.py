r"""Scenes of chapter 5, *Beyond one token: Gen-SVM* (arXiv 2308.16898, section 6).

A quadratic head :math:`h(x) = v^\top x - \lambda \|x\|^2` wants the point of the tokens' hull nearest to
:math:`u = v / (2\lambda)` when Y = +1, and the farthest vertex when Y = -1.
"""

from __future__ import annotations

import functools

import numpy as np

from attsvm_lib.data import TokenData
from attsvm_lib.experiments.multi_token import HIGH, LOW, multi_token_problem
from attsvm_lib.experiments.quadratic import SELECTED, orthonormal_problem
from attsvm_lib.heads import QuadraticHead, ReluHead, hull_projection, optimal_attention
from attsvm_lib.scene import (
    Bars,
    Choice,
    Drag,
    Heatmap,
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
from attsvm_lib.selection import correlation
from attsvm_lib.svm import gen_svm
from attsvm_lib.svm.generalized import equality_projection, finite_part
from attsvm_lib.training import train

__all__ = ["drag_the_target", "kept_tokens", "relu_run", "triangle_data", "wanted_attention"]

# --- drag the target: n = 1 sequence of T = 3 tokens in the plane ---

TRIANGLE = np.array([[-0.9, -0.6], [0.9, -0.5], [0.1, 0.9]])
QUERY = np.array([1.0, 0.0])
GRID = np.round(np.linspace(-1.5, 1.5, 13), 2)
LABELS = {"+1: come near": 1.0, "−1: keep away": -1.0}
CURVATURE, STEP = 0.5, 4.0
STEPS = np.unique(np.concatenate([[0], np.rint(np.geomspace(1, 500, 27)).astype(int)]))
FAR = 12.0
LOCAL = "Descent ends at a vertex that is not the farthest one: a local optimum."


def triangle_data(Y):
    """The hero's data: one sequence of three tokens in the plane, the query e_1 and the label Y."""
    return TokenData(TRIANGLE[None], QUERY[None], [Y])


def wanted_attention(u, Y):
    """Probabilities (3,) of the output that label Y wants: nearest to u in the triangle, or farthest from it."""
    if Y > 0:
        return hull_projection(TRIANGLE, u)
    return np.eye(3)[np.linalg.norm(TRIANGLE - u, axis=1).argmax()]


@scene(
    title="Drag the target",
    instruction=(
        "Drag the target around the triangle. When does attention keep one token, two, or all three, and what do the "
        "weights do then?"
    ),
    caption=(
        "Left: three tokens of one sequence. The head rewards outputs near the circled target u, so attention should "
        "reach the diamond, the nearest point of the triangle; stars are the tokens it mixes. The blue path is the "
        "output during training. Right: the blue path is W(k) z. It runs to the thick line W_fin z + c Wₘₘ z, which "
        "need not pass through 0; with all tokens kept there is no line, and the path stops at the cross."
    ),
    parameters={
        "target": Drag("target u = v / 2λ", GRID, GRID, start=(1.0, 0.75), panel="tokens"),
        "label": Choice("label Y", tuple(LABELS)),
    },
    panels={
        "tokens": Panel(
            "Tokens and output",
            xlabel="first coordinate",
            ylabel="second coordinate",
            xlim=(-1.6, 1.6),
            ylim=(-1.6, 1.6),
            equal=True,
        ),
        "weights": Panel(
            "Weights W(k) z",
            xlabel="first coordinate",
            ylabel="second coordinate",
            xlim=(-5, 5),
            ylim=(-5, 5),
            equal=True,
        ),
    },
    time=Time("step", STEPS, format=".0f"),
    vectorized=True,
)
def drag_the_target(target, label):
    r"""Plain descent with a quadratic head on three tokens of the plane, beside Gen-SVM and the finite part.

    Of W only :math:`p = W z` acts. The selected set is the face of the triangle that holds the point to reach.
    Source: arXiv 2308.16898, section 6 (Gen-SVM, Lemma 6); the geometry for any tokens is ours.
    """
    Y = LABELS[label]
    data, head = triangle_data(Y), QuadraticHead(2 * CURVATURE * target, CURVATURE)
    run = train(data, head, steps=int(STEPS[-1]), step=STEP, normalized=False, checkpoints=STEPS, arithmetic="paper")
    wanted = np.array([wanted_attention(u, Y) for u in target])
    W_mm = np.array([gen_svm(data, [s > 0]).W for s in wanted])
    W_fin = np.array([finite_part(data, [s > 0], [s]) for s in wanted])
    p, far = run.W[..., 0].swapaxes(0, 1), W_mm[..., 0]
    length = np.linalg.norm(far, axis=-1, keepdims=True)
    along = np.divide(far, length, out=np.zeros_like(far), where=length > 0)
    ends_elsewhere = run.selection[-1, :, 0] != wanted.argmax(-1)
    marks = _plane(target, wanted, run) | _weights(p, W_fin[..., 0], along)
    readouts = {
        "kept": Readout((wanted > 0).sum(-1), "tokens to keep", ".0f"),
        "shares": Readout(_shares(run.probabilities[:, :, 0]), "attention left / right / top"),
        "norm": Readout(np.linalg.norm(p, axis=-1), "‖W‖", ".2f"),
        "off": Readout(_distance(p, W_fin[..., 0], along), "distance of W z to the prediction", ".2f"),
    }
    return Scene(marks, readouts, [LOCAL if Y < 0 and odd else None for odd in ends_elsewhere])


def _shares(s):
    """Attention s (frames, G, 3) in words, shape (G, frames)."""
    return np.array([[" / ".join(f"{t:.2f}" for t in tokens) for tokens in frame] for frame in s]).T


def _plane(target, wanted, run):
    kept = (wanted > 0)[..., None]
    best, outline = wanted @ TRIANGLE, TRIANGLE[None, [0, 1, 2, 0]]
    return {
        "triangle": Line(outline[..., 0], outline[..., 1], style="guide"),
        "way": Segments(target[:, None], best[:, None], style="boundary"),
        "masked": Points(np.where(kept, np.nan, TRIANGLE), style="token-1", label="masked token"),
        "kept": Points(np.where(kept, TRIANGLE, np.nan), style="selected-1", label="star: token to keep"),
        "best": Points(best[:, None], style="svm", label="point to reach"),
        "output": Path((run.probabilities[:, :, 0] @ TRIANGLE).swapaxes(0, 1), style="W", label="training"),
    }


def _weights(p, finite, along):
    none = ~along.any(-1, keepdims=True)
    far = np.where(none, np.nan, FAR * along)
    line = finite[:, None] + np.stack([0 * far, far], axis=1)
    return {
        "ray": Segments(0 * far[:, None], far[:, None], style="boundary", panel="weights", label="c Wₘₘ z alone"),
        "prediction": Line(line[..., 0], line[..., 1], style="svm", panel="weights", label="W_fin z + c Wₘₘ z"),
        "finite": Points(finite[:, None], style="reference", panel="weights", label="W_fin z"),
        "path": Path(p, style="W", panel="weights"),
    }


def _distance(p, finite, along):
    """Distance of each p (G, frames, 2) to the ray finite + c along, c >= 0."""
    off = p - finite[:, None]
    c = np.maximum((off * along[:, None]).sum(-1, keepdims=True), 0.0)
    return np.linalg.norm(off - c * along[:, None], axis=-1)


# --- kept tokens: orthonormal tokens, curvature lam ---

SIZE = {"n": 2, "T": 5, "d": 6}
SEED = 221
CURVATURES = np.geomspace(0.02, 1.28, 25)
TIMES = np.unique(np.rint(np.geomspace(1, 1500, 30)).astype(int))
FLOOR = -8.0


@scene(
    title="Kept tokens",
    instruction="Raise the curvature λ step by step. Before each step, guess which falling curve will level off next.",
    caption=(
        "One sequence with label +1 and five orthonormal tokens, of two that are trained together. Left: its attention "
        "at this step (bars) beside the closed form of Lemma 6, sparsemax at temperature 2λ (diamonds). Right: the "
        "logarithm of each token's attention against the step. Tokens to keep level off (solid), masked ones fall for "
        "ever (dashed)."
    ),
    parameters={
        "lam": Slider("curvature λ", CURVATURES, start=0.16, format=".3f"),
        "attention": Choice("queries", ("cross-attention", "self-attention")),
    },
    panels={
        "bars": Panel(
            "Attention",
            xlabel="token",
            ylabel="probability",
            xlim=(0.4, 5.6),
            ylim=(0, 1.05),
            xticks={k: f"{k}" for k in range(1, 6)},
        ),
        "fall": Panel(
            "Its logarithm",
            xlabel="step",
            ylabel="log₁₀ probability",
            xscale="log",
            xlim=(1, 1500),
            ylim=(FLOOR, 0.5),
        ),
    },
    time=Time("step", TIMES, format=".0f"),
    vectorized=True,
)
def kept_tokens(lam, attention):
    r"""Normalized descent with a quadratic head on orthonormal tokens, beside `optimal_attention`.

    Beside it the correlation of W with Gen-SVM of the tokens to keep, and with W_fin + R W_mm, where W_fin has the
    ratios of the closed form and R = <W, W_mm> / ||W_mm||^2. Source: arXiv 2308.16898, section 6, Lemma 6.
    """
    data, head, W0 = orthonormal_problem(1.0, SEED, attention=attention.removesuffix("-attention"), **SIZE)
    X, Z, Y = (np.broadcast_to(a, (len(lam), *a.shape)) for a in (data.X, data.Z, data.Y))
    batch, heads = TokenData(X, Z, Y), QuadraticHead(head.v, lam)
    run = train(batch, heads, start=W0, steps=int(TIMES[-1]), checkpoints=TIMES)
    best = optimal_attention(batch, heads)
    s = run.probabilities[:, :, 0].swapaxes(0, 1)
    index = np.arange(1.0, SIZE["T"] + 1)
    wanted = np.stack([np.broadcast_to(index, best[:, 0].shape), best[:, 0]], axis=-1)
    lost = np.array([_lost(data, best[g], run.W[:, g]) for g in range(len(lam))])
    return Scene(
        {
            "attention": Bars(index[None], s, style="W"),
            "best": Points(wanted, style="svm", label="closed form"),
            **_falls(s, best[:, 0] > 0),
        },
        {
            "kept": Readout((s > SELECTED).sum(-1), "tokens above 0.001", ".0f"),
            "best": Readout((best[:, 0] > 0).sum(-1), "tokens to keep", ".0f"),
            "predicted": Readout(lost[:, 0], "1 − corr, W_fin + c Wₘₘ", ".4f"),
            "W_mm": Readout(lost[:, 1], "1 − corr, Wₘₘ alone", ".4f"),
        },
    )


def _falls(s, kept):
    """Paths of log10 s against the step, kept tokens and masked ones apart."""
    steps = np.broadcast_to(TIMES[:, None].astype(float), s.shape)
    with np.errstate(divide="ignore"):
        curves = np.stack([steps, np.maximum(np.log10(s), 2 * FLOOR)], axis=-1)
    kept = kept[:, None, :, None]
    return {
        "kept": Path(np.where(kept, curves, np.nan), style="series-1", panel="fall", label="token to keep"),
        "masked": Path(np.where(kept, np.nan, curves), style="series-2", panel="fall", label="masked token"),
    }


def _lost(data, best, W):
    """1 - corr of each W (frames, d, d) with the predicted direction and with W_mm alone, shape (2, frames)."""
    W_mm = gen_svm(data, best > 0).W
    R = (W * W_mm).sum((-2, -1), keepdims=True) / (W_mm * W_mm).sum()
    return [1 - correlation(W, finite_part(data, best > 0, best) + R * W_mm), 1 - correlation(W, W_mm)]


# --- a run with a ReLU head, as the paper's experiment judges it ---

DIMENSIONS = (4, 6, 8, 10)
RUNS = tuple(range(1, 13))
MOMENTS = np.unique(np.rint(np.geomspace(1, 2000, 30)).astype(int))
BOTTOM = -18.0
MIDDLE_BAND = "Rejected: some probability ends between 1e-6 and 1e-3 (dotted)."
FINITE = "Rejected: no probability falls to 1e-6, so nothing is masked yet."


@functools.cache
def _relu_runs(d):
    """The problems of RUNS in dimension d, and their training in the papers' arithmetic, recorded at MOMENTS."""
    problems = [multi_token_problem(d, run) for run in RUNS]
    X, Z, Y, V, W0 = (np.stack(part) for part in zip(*((p.X, p.Z, p.Y, h.V, W0) for p, h, W0 in problems)))
    how = {"steps": int(MOMENTS[-1]), "checkpoints": MOMENTS, "arithmetic": "paper"}
    return [data for data, _, _ in problems], train(TokenData(X, Z, Y), ReluHead(V), start=W0, **how)


@scene(
    title="Accepted or not",
    instruction=(
        "Step through the data sets at d = 4 until one is accepted, and play it. Then try d = 10: what keeps those "
        "runs from being accepted?"
    ),
    caption=(
        "A ReLU head, n = 3 sequences of T = 4 tokens. Left: the logarithm of the attention of each token. Right: the "
        "same numbers against the step. At the end tokens above 1e-3 are selected (solid), those below 1e-6 masked "
        "(dashed); a run with a token between the gray lines (dotted), or with none below them, is rejected."
    ),
    parameters={
        "d": Slider("dimension d", DIMENSIONS, start=4, format=".0f", only_grid=True),
        "run": Slider("data set", RUNS, start=1, format=".0f", only_grid=True),
    },
    panels={
        "tokens": Panel(
            "Attention now",
            xlabel="token",
            ylabel="sequence",
            xticks={k: f"{k + 1}" for k in range(4)},
            yticks={k: f"{k + 1}" for k in range(3)},
        ),
        "fall": Panel(
            "Attention of each token",
            xlabel="step",
            ylabel="log₁₀ probability",
            xscale="log",
            xlim=(1, 2000),
            ylim=(BOTTOM, 0.5),
        ),
    },
    time=Time("step", MOMENTS, format=".0f"),
)
def relu_run(d, run):
    r"""One data set of `multi_token_problem` trained for 2000 normalized steps, and the verdict of the protocol.

    For an accepted run, at each step the correlation of W with W_fin + R W_mm (projected) and with W_mm, both of the
    final sets. Source: arXiv 2308.16898, section 6, experiment with the ReLU head.
    """
    problems, runs = _relu_runs(int(d))
    k = RUNS.index(int(run))
    s, W = runs.probabilities[:, k], runs.W[:, k]
    end = s[-1]
    middle = (end > LOW) & (end <= HIGH)
    rejected = MIDDLE_BAND if middle.any() else FINITE if (end > LOW).all() else None
    lost = np.full((2, len(MOMENTS)), np.nan) if rejected else _lost_so_far(problems[k], end > HIGH, W)
    with np.errstate(divide="ignore"):
        fall = np.maximum(np.log10(s), 2 * BOTTOM)
    marks = {"heat": Heatmap(fall, limits=(-8, 0), scale="attention", label="log₁₀ attention", format=".1f")}
    for name, style, mask, label in (
        ("selected", "series-1", end > HIGH, "selected"),
        ("masked", "series-2", end <= LOW, "masked"),
        ("between", "series-3", middle, "in the middle band"),
    ):
        marks[name] = Path(_curves(fall, mask), style=style, panel="fall", label=label)
    band = np.log10([[LOW], [HIGH]])
    marks["band"] = Segments(
        np.hstack([np.ones((2, 1)), band]), np.hstack([np.full((2, 1), 2000.0), band]), style="boundary", panel="fall"
    )
    readouts = {
        "accepted": Readout("no" if rejected else "yes", "accepted"),
        "selected": Readout((s > HIGH).sum((-2, -1)), "tokens above 1e-3", ".0f"),
        "svmeq": Readout(lost[0], "1 − corr, W_fin + R Wₘₘ", ".3f"),
        "mm": Readout(lost[1], "1 − corr, Wₘₘ", ".3f"),
    }
    return Scene(marks, readouts, rejected)


def _curves(fall, mask):
    """(step, log10 s) of all n T tokens, absent where the mask is not set: (frames, n T, 2)."""
    steps = np.broadcast_to(MOMENTS[:, None, None].astype(float), fall.shape)
    curves = np.where(mask[..., None], np.stack([steps, fall], axis=-1), np.nan)
    return curves.reshape(len(fall), -1, 2)


def _lost_so_far(data, selected, W):
    """1 - corr of each W (frames, d, d) with its projection W_fin + R W_mm and with W_mm, shape (2, frames)."""
    W_mm = gen_svm(data, selected).W
    R = (W * W_mm).sum((-2, -1), keepdims=True) / (W_mm * W_mm).sum()
    return np.array([1 - correlation(W, M) for M in (equality_projection(data, selected, W) + R * W_mm, W_mm)])
