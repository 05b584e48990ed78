r"""Gen-SVM against gradient descent: a ReLU head that keeps several tokens.

Data, head and start are drawn anew for each seed; normalized descent runs for 2000 steps; the tokens of probability
above 1e-3 are the selected sets O_i. The direction of W is compared with three of an SVM:

.. math:: W_{\mathrm{svmeq}} = W_{\mathrm{fin}} + R\, W_{\mathrm{mm}},\qquad W_{\mathrm{mm}},\qquad
          W_{\mathrm{1token}},

the projection of W on the span of the equalities and of the Gen-SVM solution, that solution alone, and the Att-SVM
solution of the most probable tokens. The protocol rejects runs that have not separated: those with a probability in
(1e-6, 1e-3], and those without any probability of at most 1e-6. Source: arXiv 2308.16898, section 6, experiment.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.data import TokenData, random_data
from attsvm_lib.heads import ReluHead
from attsvm_lib.selection import correlation
from attsvm_lib.svm import InfeasibleError, att_svm, gen_svm
from attsvm_lib.svm.generalized import equality_projection
from attsvm_lib.sweep import sweep
from attsvm_lib.training import random_start, train
from attsvm_lib.validation import choice, integer, positive, seed_sequence

__all__ = ["MultiTokenStatistics", "multi_token_convergence", "multi_token_problem"]

LOW, HIGH = 1e-6, 1e-3
"""Probabilities up to LOW are masked, those above HIGH selected; a run with one in between is rejected."""
BLOCK = 200
ACCEPTED, MIDDLE, FINITE, INFEASIBLE = range(4)


class MultiTokenStatistics(NamedTuple):
    """What `multi_token_convergence` measures; entries of arrays are the accepted data sets, in the order of the seeds.

    lost_svmeq, lost_mm, lost_one_token : arrays, shape (accepted,)
        1 - corr of W with W_svmeq, W_mm and W_1token.
    masked : array, shape (accepted,)
        Largest probability of a masked token.
    kept : array of int, shape (accepted, n)
        Number of selected tokens in each sequence.
    seeds : array of int, shape (accepted,)
    tried, middle_band, finite, infeasible : int
        Data sets tried, and how many of them were rejected for each reason.
    """

    lost_svmeq: np.ndarray
    lost_mm: np.ndarray
    lost_one_token: np.ndarray
    masked: np.ndarray
    kept: np.ndarray
    seeds: np.ndarray
    tried: int
    middle_band: int
    finite: int
    infeasible: int

    @property
    def acceptance(self):
        """Share of the data sets tried that were accepted."""
        return len(self.seeds) / self.tried


def multi_token_problem(d, seed, *, n=3, T=4, attention="cross"):
    """Data with at least one label -1, a ReLU head with ||V||_F = 1 and d units, and a start: (data, head, W0).

    Tokens and queries are uniform on the unit sphere, V is Gaussian, entries of W0 uniform in +-1/sqrt(d); the
    generator is seeded by (seed, n, T, d).
    """
    n, T, d, seed = integer("n", n, 1), integer("T", T, 1), integer("d", d, 1), integer("seed", seed, 0)
    rng = np.random.default_rng([seed, n, T, d])
    data = random_data(n, T, d, rng=rng, attention=attention)
    Y = data.Y
    while Y.min() > 0:
        Y = rng.choice([-1.0, 1.0], size=n)
    V = rng.standard_normal((d, d))
    return TokenData(data.X, data.Z, Y), ReluHead(V / np.linalg.norm(V)), random_start(d, rng=rng)


def multi_token_convergence(
    d, *, n=3, T=4, accepted=500, seeds=range(60_000), steps=2000, step=0.1, attention="cross", arithmetic="paper",
    progress=None,
):  # fmt: skip
    """Directions that descent with a ReLU head takes, against Gen-SVM, on the first `accepted` data sets that separate.

    Parameters
    ----------
    d, n, T : int
        Dimension (and hidden units), sequences, tokens.
    accepted : int
        Data sets wanted; they are tried in the order of `seeds` until that many are accepted.
    seeds : sequence of int
        One data set each (`multi_token_problem`).
    steps, step
        Normalized steps, as in `train`.
    attention : {"cross", "self"}
    arithmetic : {"paper", "exact"}
        As in `train`. In the papers' arithmetic rounding freezes a run once its masked probabilities fall below about
        1e-16.
    progress : bool, optional
        As in `sweep`.

    Returns
    -------
    MultiTokenStatistics

    Raises
    ------
    ArithmeticError
        When the seeds are used up before enough data sets are accepted.
    ValueError
        When an argument does not fit.

    Notes
    -----
    Blocks of seeds go through joblib (`attsvm_lib.sweep`). Source: arXiv 2308.16898, section 6, experiment.
    """
    settings = {
        "d": integer("d", d, 1),
        "n": integer("n", n, 1),
        "T": integer("T", T, 2),
        "steps": integer("steps", steps, 1),
        "step": positive("step", step),
        "attention": choice("attention", attention, ("cross", "self")),
        "arithmetic": choice("arithmetic", arithmetic, ("paper", "exact")),
    }
    accepted, seeds = integer("accepted", accepted, 1), seed_sequence("seeds", seeds)
    found, count = [], 0
    for k in range(0, len(seeds), 4 * BLOCK):
        name = f"Gen-SVM, d = {d}, seed {seeds[k]} on"
        found.append(sweep(_runs, seeds[k : k + 4 * BLOCK], size=BLOCK, progress=progress, name=name, **settings))
        count += int((found[-1][0] == ACCEPTED).sum())
        if count >= accepted:
            return _first(accepted, np.array(seeds), *(np.concatenate(part) for part in zip(*found)))
    raise ArithmeticError(f"only {count} of {len(seeds)} data sets are accepted, {accepted} are wanted")


def _first(accepted, seeds, verdict, lost, masked, kept):
    """The statistics up to the last data set that is needed."""
    at = np.flatnonzero(verdict == ACCEPTED)[:accepted]
    tried = int(at[-1]) + 1
    reasons = [int((verdict[:tried] == reason).sum()) for reason in (MIDDLE, FINITE, INFEASIBLE)]
    return MultiTokenStatistics(*lost[at].T, masked[at], kept[at], seeds[at], tried, *reasons)


@cached
def _runs(seeds, d, n, T, steps, step, attention, arithmetic):
    """Verdict (b,), 1 - corr with the three directions (b, 3), largest masked probability (b,), tokens kept (b, n).

    Entries of rejected runs are meaningless.
    """
    problems = [multi_token_problem(d, seed, n=n, T=T, attention=attention) for seed in seeds]
    X, Z, Y, V, W0 = (
        np.stack(part) for part in zip(*((data.X, data.Z, data.Y, head.V, W0) for data, head, W0 in problems))
    )
    run = train(
        TokenData(X, Z, Y), ReluHead(V), start=W0, steps=steps, step=step, arithmetic=arithmetic, checkpoints=[steps]
    )
    s, W = run.probabilities[-1], run.W[-1]
    middle = ((s > LOW) & (s <= HIGH)).any((1, 2))
    verdict = np.where(middle, MIDDLE, np.where((s > LOW).all((1, 2)), FINITE, ACCEPTED))
    lost = np.zeros((len(seeds), 3))
    for k in np.flatnonzero(verdict == ACCEPTED):
        try:
            lost[k] = _lost(problems[k][0], s[k], W[k])
        except InfeasibleError:
            verdict[k] = INFEASIBLE
    masked = np.where(s <= LOW, s, 0.0).max((1, 2))
    return verdict, lost, masked, (s > HIGH).sum(-1)


def _lost(data, s, W):
    """1 - corr of W with W_svmeq, W_mm and W_1token."""
    W_mm = gen_svm(data, s > HIGH).W
    R = (W * W_mm).sum() / (W_mm * W_mm).sum()
    W_svmeq = equality_projection(data, s > HIGH, W) + R * W_mm
    return [1 - correlation(W, M) for M in (W_svmeq, W_mm, att_svm(data, s.argmax(-1)).W)]
