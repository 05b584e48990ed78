"""Claims of the chapter on metastability: arXiv 2312.10794, Part 2 (two time scales)."""

from attsvm_lib.claims.record import Claim, Criterion

START = "Tokens independent and uniform on the circle (d = 2), SA, Q = K = V = I; inner products above 0.999 are joined"
ADAPTIVE = "adaptive Dormand-Prince steps, local error 1e-8, tokens that have met united with their masses"

CLAIMS = (
    Claim(
        id="two-time-scales",
        source="arXiv 2312.10794, Part 2 (sections 4 and 5), two time scales",
        statement=(
            "Tokens form a few clusters fast; then these merge pairwise, after times that are exponential in beta, "
            "until one is left."
        ),
        kind="simulated",
        paper="in words: exponentially slow in beta, no number; proved for separated starts in arXiv 2410.06833",
        setup=(
            f"{START}; n = 64, 32 starts; beta = 4, 9, 16 up to T = 1e4, 1e8, 1e14, 20 records a decade; {ADAPTIVE}."
        ),
        tolerance=(
            "early: sqrt(2 beta) = 5.7 at beta = 16; slope: the barrier 1 - cos(phi) is at most 2, and a factor that "
            "falls slowly with beta lowers the slope by about 0.1; ratio: records are 12 percent apart"
        ),
        criteria=(
            Criterion("early", "largest mean number of clusters at t = 10, over beta", (1.5, 6), format=".2f"),
            Criterion(
                "slope",
                "slope of log(median time of the last merger) in beta, from 4 to 16",
                (1.8, 2.05),
                (1.5, 2.5),
                format=".2f",
            ),
            Criterion(
                "ratio", "recorded time of the last merger over the one predicted from two", (0.99, 1.13), format=".2f"
            ),
            Criterion("one", "fraction of starts in one cluster at T", (1, 1), format=".2f"),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="energy-staircase",
        source="arXiv 2312.10794, Part 2 (two time scales); arXiv 2410.06833",
        statement=(
            "The energy rises along SA in steps: on a plateau it is constant, and it jumps when two clusters merge."
        ),
        kind="simulated",
        paper="read by eye",
        setup=(
            f"{START}; the runs of two-time-scales. The scaled energy 2 beta exp(-beta) E; a record is on a plateau "
            "when the number of clusters is the same a decade before and a decade after it."
        ),
        tolerance=(
            "on a plateau the scaled energy is the sum of the squared masses up to exp(-beta (1 - cos phi)), at most a "
            "percent for clusters apart; growth is exact, so only rounding is allowed"
        ),
        criteria=(
            Criterion(
                "rises", "fraction of starts whose energy never falls by more than 1e-12", (1, 1), format=".2f"
            ),
            Criterion(
                "level",
                "fraction of plateau records within 1 percent of the sum of squared masses",
                (0.98, 1),
                format=".2f",
            ),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="early-clusters",
        source="arXiv 2312.10794, Part 2 (two time scales); the constant is ours",
        statement="The number of clusters that form first grows like beta^(1/2).",
        kind="conjectured",
        paper="the exponent 1/2; no constant",
        setup=(
            f"{START}; beta = 4, 9, 16, 25, 36, 49, 64; n = 64 with 96 starts and n = 256 with 24. Counted at the "
            "first t >= 2, in steps of 0.1, at which the joined tokens are a union of cliques; Runge-Kutta steps of "
            "0.1."
        ),
        tolerance=(
            "exponent: 1/2 within 10 percent; constant: the linearization at the uniform density has its fastest "
            "ripple at k near sqrt(2 beta), within 10 percent"
        ),
        criteria=(
            Criterion("exponent", "slope of log(mean count) in log(beta), n = 64", (0.45, 0.55), (0.3, 0.7), ".2f"),
            Criterion("larger", "the same, n = 256", (0.45, 0.55), (0.3, 0.7), ".2f"),
            Criterion("constant", "mean count over sqrt(2 beta), n = 64", (0.9, 1.1), (0.7, 1.4), ".2f"),
            Criterion("denser", "the same, n = 256", (0.9, 1.1), (0.7, 1.4), ".2f"),
        ),
        verdict="reproduced",
    ),
)
