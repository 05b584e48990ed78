"""Scene of the book's first page: turn the head, and see what gradient descent makes attention select."""

from __future__ import annotations

import functools

import numpy as np

from attsvm_lib.data import TokenData
from attsvm_lib.heads import LinearHead
from attsvm_lib.scene import Arrows, Bars, Panel, Points, Readout, Scene, Slider, Time, scene
from attsvm_lib.selection import optimal_tokens, scores
from attsvm_lib.svm import att_svm
from attsvm_lib.training import train

__all__ = ["STEPS", "TOKENS", "turn_the_head"]

TOKENS = np.array([[1.0, 0.25], [0.35, 1.0], [-0.75, 0.7], [-0.6, -0.85], [0.6, -0.75]])
TOKENS.flags.writeable = False
QUERY = np.array([1.0, 0.0])
STEPS = (
    *(0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 63, 80),
    *(100, 126, 160, 200, 250, 320, 400, 500, 630, 800, 1000),
)
NAMES = ("1", "2", "3", "4", "5")


@scene(
    title="Turn the head, press play",
    instruction=(
        "Turn the head until attention picks another token. Then play the training from the start: the blue arrow "
        "comes to lie on the black one, and one bar takes all."
    ),
    caption=(
        "Left: five tokens in the plane, the head v that scores them, the direction W z reached by gradient descent "
        "and the max-margin direction of the support vector machine. Right: the attention each token receives. "
        "Training starts from zero weights, which have no direction, with uniform attention. Whatever the head, it "
        "ends with all attention on the token of the best score, along the SVM direction."
    ),
    parameters={
        "angle": Slider("angle of the head v", np.arange(0.0, 360.0, 5.0), start=70.0, format=".0f", unit="°"),
    },
    panels={
        "plane": Panel("tokens", xlabel="x₁", ylabel="x₂", xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), equal=True),
        "attention": Panel(
            "attention", xlabel="token", ylabel="probability", xlim=(0.4, 5.6), ylim=(0.0, 1.0),
            xticks=dict(zip(range(1, 6), NAMES)), height=1.0,
        ),
    },
    time=Time("gradient step", STEPS, format=".0f"),
    vectorized=True,
)  # fmt: skip
def turn_the_head(angle):
    """One sequence of five tokens, query z = e_1, head v at the given angle, W trained from 0.

    Normalized gradient descent of step 0.1 on the logistic loss; the label is +1, so the score of a token is
    v^T x. The direction drawn is W(k) z / ||W(k) z||, and that of the SVM is W_mm z / ||W_mm z||
    (arXiv 2308.16898, sections 2 and 4).
    """
    theta = np.radians(angle)
    v = np.stack([np.cos(theta), np.sin(theta)], axis=-1)
    count = len(v)
    data = TokenData(np.tile(TOKENS, (count, 1, 1, 1)), np.tile(QUERY, (count, 1, 1)), np.ones((count, 1)))
    alpha = optimal_tokens(scores(data, v))[:, 0]
    run = train(data, LinearHead(v), step=0.1, steps=STEPS[-1], checkpoints=STEPS)
    reached = _unit(np.moveaxis(run.W @ QUERY, 0, 1))
    best = _svm_directions()[alpha]
    zero = np.zeros((1, 1, 2))
    share = np.moveaxis(run.probabilities[..., 0, :], 0, 1)
    turn = np.degrees(np.arccos(np.clip((reached * best[:, None]).sum(-1), -1, 1)))
    norms = np.moveaxis(np.linalg.norm(run.W, axis=(-2, -1)), 0, 1)
    return Scene(
        marks={
            "tokens": Points(TOKENS[None], style="token-1", label="token", text=NAMES),
            "selected": Points(TOKENS[alpha][:, None], style="selected-1", label="best score"),
            "head": Arrows(zero, 0.75 * v[:, None], style="reference", label="head v"),
            "svm": Arrows(zero, best[:, None], style="svm", label="SVM direction"),
            "trained": Arrows(np.zeros_like(reached[:1, :, None]), reached[:, :, None], style="W", label="trained W z"),
            "share": Bars(np.arange(1.0, 6.0)[None], share, style="W", panel="attention"),
        },
        readouts={
            "turn": Readout(turn, "angle between the two directions", ".2f", unit="°"),
            "norm": Readout(norms, "norm of W", ".2f"),
            "share": Readout(share.max(-1), "largest attention", ".4f"),
        },
    )


@functools.cache
def _svm_directions():
    """Unit vector W_mm z for each token as the selected one."""
    data = TokenData(TOKENS[None], QUERY[None], np.ones(1))
    return _unit(np.array([att_svm(data, [t]).W @ QUERY for t in range(len(TOKENS))]))


def _unit(vectors):
    """Divide by the norm; a zero vector has no direction: NaN, which a scene draws as absent."""
    size = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.where(size > 0, vectors / np.where(size > 0, size, 1), np.nan)
