"""Claims of chapter 1: arXiv 2308.16898, section 2."""

import numpy as np

from attsvm_lib.claims.record import Claim, Criterion

INF = np.inf
SPHERE = "Tokens, queries and head uniform on the unit sphere"

CLAIMS = (
    Claim(
        id="rank-bound",
        source="arXiv 2308.16898, section 2, Lemma 1",
        statement=(
            "The Att-SVM solution is a non-negative combination of outer products of token differences and queries, "
            "so its rank is at most n and its row space lies in the span of the queries."
        ),
        kind="theorem",
        paper="rank at most n",
        setup=f"{SPHERE}; optimal tokens; n = 5, T = 5, d = 20, 20 problems; rank counts singular values above 1e-9.",
        tolerance="exact for the rank; rounding (1e-12 of the norm) for the row space",
        criteria=(
            Criterion("excess_rank", "largest rank of W_mm minus n", (-INF, 0), format=".0f"),
            Criterion("inside", "share of solutions whose rows lie in the span of the queries", (1, 1), format=".2f"),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="separable",
        source="arXiv 2308.16898, section 2 (a special case of Theorem 8)",
        statement="If d >= max(T - 1, n), Att-SVM is feasible for almost every data set and any selection of tokens.",
        kind="theorem",
        paper="feasible almost surely",
        setup=(
            "Gaussian tokens and queries, random selections, d = max(T - 1, n), 50 problems at each of "
            "(n, T) = (3, 4), (5, 6), (8, 4), (4, 9)."
        ),
        tolerance="none: each problem must be feasible",
        criteria=(Criterion("feasible", "fraction of feasible problems", (1, 1), format=".3f"),),
        verdict="reproduced",
    ),
    Claim(
        id="separable-threshold",
        source="arXiv 2308.16898, section 2 (experiment ours)",
        statement=(
            "Feasibility comes far earlier than d = max(T - 1, n), and sharply: for unit-norm tokens and T from 3 to "
            "12 the threshold follows d ~ sqrt(0.8 n ln T). It cannot where 0.8 ln T > d, since d = n suffices."
        ),
        kind="conjectured",
        paper="the sufficient condition only; the law is measured here",
        setup=(
            "Unit tokens and queries, random selections. n* is the number of sequences at which half of 100 problems "
            "are still feasible as sequences are added; T = 2, 3, 6, 12, d = 4, 6; law for T > 2."
        ),
        tolerance="20 percent about 0.8: the spread of the law over T and d, standard error of n* about 2 percent",
        criteria=(
            Criterion("law", "mean of d^2 / (n* ln T)", (0.7, 0.9), format=".2f"),
            Criterion("cover", "ratio n* / d^2 at T = 2, which Cover's theorem puts at 2", (1.9, 2.1), format=".2f"),
            Criterion("early", "least ratio of n* to the n that the theorem allows (n = d)", (1, INF), format=".1f"),
        ),
        verdict="reproduced",
    ),
)
