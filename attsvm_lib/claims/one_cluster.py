"""Claims of the chapter on one cluster: arXiv 2312.10794, sections 4 and 5 (section 6 of version 4)."""

from attsvm_lib.claims.record import Claim, Criterion

BASE = "SA, Q = K = V = I, tokens independent and uniform on the sphere"

CLAIMS = (
    Claim(
        id="one-cluster",
        source="arXiv 2312.10794, Theorem 4.1 in the numbering of the first versions (section 6 of version 4)",
        statement="For d >= n almost every start collapses to one point, exponentially fast.",
        kind="theorem",
        paper="no numbers; the rate of the theorem is not explicit",
        setup=(
            f"{BASE}. End: n = d = 16, beta = 1, 4, 9, 20 starts each, adaptive steps of tolerance 1e-8 with merging, "
            "T = 1e6. Rate: n = d = 32, 32 starts each, SA with beta = 1, 4 and USA with beta = 1, Runge-Kutta steps "
            "of 0.2; slope of the logarithm of the largest 1 - <x_i, x_j> of a pair between 1e-3 and 1e-8, over 2 "
            "(SA) or 2 exp(beta) (USA), the rate of the linearization at one cluster."
        ),
        tolerance="end and cone: exact statements, 1e-6 for the steps; rate: 1 percent, since gaps of 1e-3 are not 0",
        criteria=(
            Criterion("one", "fraction of starts in one cluster at T", (1, 1), format=".2f"),
            Criterion(
                "cone", "fraction of starts whose least <x_i, w> never falls by more than 1e-6", (1, 1), format=".2f"
            ),
            Criterion("rate", "contraction rate over that of the linearization", (0.99, 1.01), format=".2f"),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="wendel",
        source="Wendel (1962), as used in arXiv 2312.10794, section 4",
        statement=(
            "n uniform points of the sphere of R^d lie in some open half-space with probability 2^-(n-1) times the "
            "sum over k < d of C(n-1, k)."
        ),
        kind="theorem",
        paper="the formula",
        setup=(
            "d = 2, 8 and n/d from 1 to 4, 1000 draws each; a half-space is found, or excluded by a convex "
            "combination of the points that is 0, by non-negative least squares."
        ),
        tolerance="the largest of 12 standard normal numbers exceeds 3.5 in less than one case in a hundred",
        criteria=(
            Criterion("excess", "largest distance from the formula, in standard errors", (0, 3.5), format=".1f"),
            Criterion("certain", "share of draws with n <= d in a half-space", (1, 1), format=".2f"),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="equiangular",
        source="arXiv 2312.10794, section 4 (the equation); the closed form of the time is ours",
        statement=(
            "Tokens that start orthogonal keep one common inner product, which solves one explicit differential "
            "equation."
        ),
        kind="theorem",
        paper="the equation",
        setup=(
            "n = d = 32, SA and USA, beta = 1, 4, 9, Q = K = V = I; particles by adaptive steps of tolerance 1e-12, 61 "
            "times up to t = 20 (USA: t exp(beta) = 20 n); compared with the inverse of the closed form."
        ),
        tolerance="exact statements: 1e-8 for the accumulated errors of the steps",
        criteria=(
            Criterion("spread", "fraction of runs whose pairs differ by less than 1e-8", (1, 1), format=".2f"),
            Criterion("law", "fraction of runs within 1e-8 of the closed form", (1, 1), format=".2f"),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="concentration",
        source="arXiv 2312.10794, sections 4 and 5",
        statement="In high dimension the inner products of a random start stay near those of the orthogonal start.",
        kind="theorem",
        paper="histograms over time, read by eye; a bound of the shape sqrt(log(d) / d)",
        setup=(
            f"{BASE}; n = 32, d = 64, 256, ..., 65536, beta = 1, 4, 32 starts each, Runge-Kutta steps of 0.2 on "
            "Gram matrices. Deviation: the largest |<x_i, x_j> - gamma(t)| over pairs and over 41 times up to t = 20."
        ),
        tolerance=(
            "the start alone deviates as d^-1/2 at fixed n, and the flow multiplies that by a factor which does not "
            "depend on d in the limit: exponent -1/2 within 0.1; 0.1 at d = 4096 is twice the deviation of the start"
        ),
        criteria=(
            Criterion("exponent", "exponent of the mean deviation in d", (-0.6, -0.4), (-0.8, -0.3), format=".1f"),
            Criterion("largest", "mean deviation at d = 4096, largest over beta", (0, 0.1), format=".2f"),
            Criterion(
                "bound",
                "deviation over sqrt(log(d) / d), d = 65536 against d = 64, largest over beta",
                (0, 1),
                format=".1f",
            ),
        ),
        verdict="reproduced",
        why=(
            "For fixed beta only: at beta = 9, over times that include the transition (t up to 300), the deviation is "
            "of order one up to d in the thousands."
        ),
    ),
    Claim(
        id="phase-diagrams",
        source="arXiv 2312.10794, section 5 (phase diagrams)",
        statement=(
            "The share of pairs that have met, over time and beta, has a front that approaches the curve of the "
            "orthogonal start as d grows."
        ),
        kind="simulated",
        paper="six pictures, read by eye; in the public code the pictures default to n = 32, their curve to n = 128",
        setup=(
            f"{BASE}; n = 32, d = 2, 8, 32, 128, 512, 1024; 45 betas from 0.1 to 9, 150 times up to t = 30, 64 "
            "starts (32 for d > 32); met: inner product above 0.999; Runge-Kutta steps of 0.2, float32. Front: where "
            "half of the pairs have met, against transition_time; only betas with both in the picture."
        ),
        tolerance=(
            "d = 1024: 2 percent in time, one step of the time axis at t = 10; for the curve of n = 128 and for d = 2 "
            "the same distance must be at least five times as large"
        ),
        criteria=(
            Criterion("front", "mean |t_half / t* - 1| at d = 1024", (0, 0.02), (0, 0.1), format=".2f"),
            Criterion("cells", "share of cells on the wrong side of the curve, d = 1024", (0, 0.01), format=".3f"),
            Criterion("other", "mean |t_half / t* - 1| with t* of n = 128, d = 1024", (0.1, 1), format=".2f"),
            Criterion("plane", "mean |t_half / t* - 1| at d = 2", (0.1, 10), format=".1f"),
        ),
        verdict="reproduced",
    ),
)
