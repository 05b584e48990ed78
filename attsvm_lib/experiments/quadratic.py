r"""A quadratic head on orthonormal tokens: how many tokens attention keeps, known beforehand, against curvature.

For h(x) = v^T x - lam ||x||^2 the best attention is known in closed form (`optimal_attention`): its support O_i is what
to select and its ratios are those of the finite part. So the whole direction

.. math:: W(k) \approx W_{\mathrm{fin}} + c\, W_{\mathrm{mm}}

is predicted but for the number c. Source: arXiv 2308.16898, section 6, Lemma 6; sizes are ours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.data import TokenData, random_data, random_direction
from attsvm_lib.heads import QuadraticHead, optimal_attention
from attsvm_lib.selection import correlation
from attsvm_lib.svm import att_svm, gen_svm
from attsvm_lib.svm.generalized import finite_part
from attsvm_lib.sweep import sweep
from attsvm_lib.training import random_start, train
from attsvm_lib.validation import choice, integer, positive

__all__ = ["QuadraticStatistics", "orthonormal_problem", "quadratic_convergence"]

SELECTED = 1e-3
"""Probabilities above it count as kept by descent, as in the experiment with the ReLU head."""
BLOCK = 50


class QuadraticStatistics(NamedTuple):
    """What `quadratic_convergence` measures, for p problems.

    kept, best : arrays, shape (p,)
        Tokens kept in sequences of label +1, mean over these sequences: by descent, and by the best attention.
    wrong : array of bool, shape (p, 2)
        Whether descent keeps other tokens than the best attention does, in some sequence of label +1 and of label -1.
    lost_predicted, lost_mm, lost_one_token : arrays, shape (matched problems,)
        1 - corr of W with W_fin + R W_mm predicted from the best attention (R = <W, W_mm> / ||W_mm||^2), with W_mm, and
        with the Att-SVM solution of the most probable tokens.
    """

    kept: np.ndarray
    best: np.ndarray
    wrong: np.ndarray
    lost_predicted: np.ndarray
    lost_mm: np.ndarray
    lost_one_token: np.ndarray

    @property
    def matched(self):
        """Whether descent keeps exactly the tokens of the best attention, in every sequence, shape (p,)."""
        return ~self.wrong.any(-1)


def orthonormal_problem(lam, seed, *, n=3, T=4, d=8, attention="cross"):
    """Data with orthonormal tokens in each sequence, labels of both signs, a quadratic head and a start.

    Tokens are random orthonormal sets, queries and v uniform on the unit sphere (queries are first tokens in
    self-attention), the first label is +1 and the last -1, the others fair; n is at least 2 and T at most d. Returns
    (data, head, W0). The generator is seeded by (seed, n, T, d), whatever lam is.
    """
    n, T, d, seed = integer("n", n, 2), integer("T", T, 1), integer("d", d, 1), integer("seed", seed, 0)
    if T > d:
        raise ValueError(f"T must be at most d = {d}, since tokens are orthonormal, got {T}")
    choice("attention", attention, ("cross", "self"))
    rng = np.random.default_rng([seed, n, T, d])
    data = random_data(n, T, d, rng=rng)
    X = np.linalg.qr(rng.standard_normal((n, d, T)))[0].swapaxes(-1, -2)
    Y = np.concatenate([[1.0], data.Y[1:-1], [-1.0]])
    Z = X[:, 0] if attention == "self" else data.Z
    return TokenData(X, Z, Y), QuadraticHead(random_direction(d, rng=rng), lam), random_start(d, rng=rng)


def quadratic_convergence(
    lam, *, n=3, T=4, d=8, seeds=range(100), steps=2000, step=0.1, attention="cross", progress=None
):  # fmt: skip
    """Tokens that descent keeps under a quadratic head and the direction it takes, beside what Lemma 6 predicts.

    Parameters
    ----------
    lam : float
        Curvature of the head, positive.
    n, T, d : int
        Sequences, tokens, dimension.
    seeds : sequence of int
        One problem each (`orthonormal_problem`).
    steps, step
        Normalized steps with the exact gradient, as in `train`.
    attention : {"cross", "self"}
    progress : bool, optional
        As in `attsvm_lib.sweep.sweep`.

    Returns
    -------
    QuadraticStatistics

    Raises
    ------
    ValueError
        When an argument does not fit.

    Notes
    -----
    Source: arXiv 2308.16898, section 6, Lemma 6.
    """
    settings = {"n": integer("n", n, 2), "T": integer("T", T, 2), "d": integer("d", d, 1), "attention": attention}
    settings |= {"lam": positive("lam", lam), "steps": integer("steps", steps, 1), "step": positive("step", step)}
    kept, best, wrong, lost = sweep(_runs, seeds, size=BLOCK, progress=progress, name=f"lam = {lam:g}", **settings)
    return QuadraticStatistics(kept, best, wrong, *lost[~wrong.any(-1)].T)


@cached
def _runs(seeds, lam, n, T, d, steps, step, attention):
    """Tokens kept and best (b,), wrong (b, 2), and 1 - corr with the three directions (b, 3), 0 where unmatched."""
    problems = [orthonormal_problem(lam, seed, n=n, T=T, d=d, attention=attention) for seed in seeds]
    X, Z, Y, v, W0 = (
        np.stack(part) for part in zip(*((data.X, data.Z, data.Y, head.v, W0) for data, head, W0 in problems))
    )
    data, head = TokenData(X, Z, Y), QuadraticHead(v, lam)
    run = train(data, head, start=W0, steps=steps, step=step, checkpoints=[steps])
    s, best = run.probabilities[-1], optimal_attention(data, head)
    selected = s > SELECTED
    kept, wanted = (_mean_kept(mask, Y) for mask in (selected, best > 0))
    odd = (selected != (best > 0)).any(-1)
    wrong = np.stack([(odd & (Y == label)).any(-1) for label in (1, -1)], axis=-1)
    lost = np.zeros((len(seeds), 3))
    for k in np.flatnonzero(~wrong.any(-1)):
        lost[k] = _lost(problems[k][0], best[k], s[k], run.W[-1][k])
    return kept, wanted, wrong, lost


def _mean_kept(mask, Y):
    """Mean number of tokens in a mask over the sequences of label +1."""
    return (mask.sum(-1) * (Y > 0)).sum(-1) / (Y > 0).sum(-1)


def _lost(data, best, s, W):
    """1 - corr of W with the predicted direction, W_mm and the one-token solution."""
    W_mm = gen_svm(data, best > 0).W
    R = (W * W_mm).sum() / (W_mm * W_mm).sum()
    predicted = finite_part(data, best > 0, best) + R * W_mm
    return [1 - correlation(W, M) for M in (predicted, W_mm, att_svm(data, s.argmax(-1)).W)]
