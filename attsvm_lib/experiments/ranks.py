"""Ranks of the two SVM solutions over random problems: arXiv 2308.16898, section 3."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attsvm_lib.cache import cached
from attsvm_lib.experiments.problems import random_problem
from attsvm_lib.svm import InfeasibleError, att_svm
from attsvm_lib.validation import integer

__all__ = ["RankStatistics", "rank_statistics"]


class RankStatistics(NamedTuple):
    """Ranks of the two SVM solutions over random feasible problems of one size.

    frobenius, nuclear : arrays of int, shape (problems,)
    tried : int
        Problems drawn until that many were feasible, or until the limit.
    """

    frobenius: np.ndarray
    nuclear: np.ndarray
    tried: int

    @property
    def feasible_share(self):
        """Fraction of drawn problems that were feasible."""
        return len(self.nuclear) / self.tried


def rank_statistics(n, T, d, *, problems=20, limit=400, seed=0, attention="cross"):
    """Ranks of W_mm (Frobenius) and W*_mm (nuclear) over random feasible problems; infeasible ones are counted.

    Parameters
    ----------
    n, T, d : int
        Sequences, tokens, dimension.
    problems : int
        Feasible problems wanted.
    limit : int
        Problems drawn at most.
    seed : int
    attention : {"cross", "self"}

    Returns
    -------
    RankStatistics
        Fewer than `problems` ranks, possibly none, when the limit ends the search.

    Raises
    ------
    TieError
        When the optimal token of a problem is not unique. Random tokens tie almost never, except in d = 1, where
        unit tokens are +-1.

    Notes
    -----
    Source: arXiv 2308.16898, section 3, figure of ranks. Ranks are those of certified solutions
    (`Solution.rank`), and infeasible problems have no rank.
    """
    problems, limit = integer("problems", problems, 1), integer("limit", limit, 1)
    return RankStatistics(*_rank_statistics(n, T, d, problems, limit, seed, attention))


@cached
def _rank_statistics(n, T, d, problems, limit, seed, attention):
    ranks, tried = [], 0
    while len(ranks) < problems and tried < limit:
        data, alpha = random_problem(n, T, d, seed=seed, index=tried, attention=attention)
        tried += 1
        try:
            ranks.append([att_svm(data, alpha, norm=norm).rank for norm in ("frobenius", "nuclear")])
        except InfeasibleError:
            continue
    frobenius, nuclear = np.array(ranks, dtype=int).reshape(-1, 2).T
    return frobenius, nuclear, tried
