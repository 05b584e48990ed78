r"""How fast gradient descent turns to the max-margin direction: arXiv 2308.16898, sections 4 and 9.

Once attention is nearly one-hot, W(k) = r(k) W_mm + B + W_out + o(1), where r grows, B is the offset of
`predicted_constant` and W_out is what the run gathered off the span of the support rows before. Hence

.. math:: 1 - \mathrm{corr}(W(k), W_{mm}) \approx \frac{\|B\|_F^2 + \|W_{out}\|_F^2}{2 \|W(k)\|_F^2},

and the rate in k is that of the norm: eta k for normalized steps, ||W_mm|| log(eta k) for plain ones. The expansion is
ours, along the lines of what is known for linear classifiers (Soudry et al., JMLR 19, 2018).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.constraints import token_rows
from attsvm_lib.excess import log_excess_loss
from attsvm_lib.experiments.paths import path_problem
from attsvm_lib.experiments.problems import stacked
from attsvm_lib.regularization import predicted_constant
from attsvm_lib.selection import correlation, scores
from attsvm_lib.svm import att_svm
from attsvm_lib.sweep import sweep
from attsvm_lib.training import train
from attsvm_lib.validation import integer

__all__ = ["RateRuns", "off_span", "rates"]


class RateRuns(NamedTuple):
    """Runs from W = 0 on s data sets, recorded at c checkpoints.

    steps : array of int, shape (c,)
    optimal : array of bool, shape (s,)
        Whether the run selects the optimal tokens at the end; what follows is about these.
    norm : array, shape (s, c)
        ||W||_F.
    lost : array, shape (s, c)
        1 - corr(W, W_mm).
    log_excess : array, shape (s, c)
        log(L - L_*).
    size : array, shape (s,)
        ||W_mm||_F.
    constant : array, shape (s,)
        (||B||_F^2 + ||W_out||_F^2) / 2: the predicted limit of (1 - corr) ||W||_F^2, with W_out at the last checkpoint.
    """

    steps: np.ndarray
    optimal: np.ndarray
    norm: np.ndarray
    lost: np.ndarray
    log_excess: np.ndarray
    size: np.ndarray
    constant: np.ndarray

    def reached(self):
        """The runs that end at the optimal tokens."""
        on = self.optimal
        return RateRuns(self.steps, on[on], *(values[on] for values in self[2:]))


def rates(
    n=6,
    T=8,
    d=10,
    *,
    steps,
    step,
    checkpoints,
    normalized=True,
    seeds=range(20),
    attention="cross",
    progress=None,
):
    """Train from W = 0 and follow norm, direction and risk, with the rate that the SVM predicts.

    Parameters
    ----------
    n, T, d : int
        Sequences, tokens (at least 2), dimension.
    seeds : sequence of int
        One data set each, drawn as in `path_problem`.
    steps, step, normalized
        As in `train`, with the exact gradient.
    checkpoints : sequence of int
        Step counts from 1 to `steps`.
    attention : {"cross", "self"}
    progress : bool, optional
        As in `sweep`.

    Returns
    -------
    RateRuns

    Raises
    ------
    InfeasibleError
        When the optimal tokens of a data set are not separable: choose a larger d.
    ValueError
        When an argument does not fit, or a checkpoint is 0, where W = 0 has no direction.

    Notes
    -----
    Source: arXiv 2308.16898, section 4 (norm growth) and section 9 (finite-time rates, open); the rates are ours.
    """
    checkpoints = tuple(integer("checkpoints", k, 1) for k in checkpoints)
    found = sweep(
        _rates,
        seeds,
        size=20,
        progress=progress,
        name="rates",
        sizes=(n, T, d),
        attention=attention,
        steps=steps,
        step=step,
        normalized=normalized,
        checkpoints=checkpoints,
    )
    return RateRuns(np.array(checkpoints), *found)


@cached
def _rates(seeds, sizes, attention, **options):
    problems = [path_problem(*sizes, index=seed, attention=attention) for seed in seeds]
    data, head = stacked(problems)
    run = train(data, head, **options)
    best = scores(data, head.v).argmax(-1)
    solutions = [att_svm(one, alpha) for (one, _), alpha in zip(problems, best, strict=True)]
    W_mm = np.stack([solution.W for solution in solutions])
    constants = [
        (predicted_constant(one, v, solution) ** 2 + off_span(one, solution, W) ** 2) / 2
        for (one, v), solution, W in zip(problems, solutions, run.W[-1], strict=True)
    ]
    return (
        (run.selection[-1] == best).all(-1),
        run.norm.T,
        1 - correlation(run.W, W_mm).T,
        log_excess_loss(data, head, run.W).T,
        np.array([solution.objective for solution in solutions]),
        np.array(constants),
    )


def off_span(data, solution, W):
    """||W_out||_F: the norm of the part of W (d, d) off the span of the support rows d_k z_k^T of a solution."""
    rows = token_rows(data, solution.alpha)
    on = solution.support
    A = (rows.D[on, :, None] * rows.Z[on, None, :]).reshape(on.sum(), -1)
    basis = np.linalg.qr(A.T)[0]
    w = W.ravel()
    return np.linalg.norm(w - basis @ (basis.T @ w))
