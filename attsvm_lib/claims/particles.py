"""Claims of the chapter on tokens as particles: arXiv 2312.10794, Part 1."""

from attsvm_lib.claims.record import Claim, Criterion

CLAIMS = (
    Claim(
        id="energy",
        source="arXiv 2312.10794, section 3",
        statement=(
            "The interaction energy E grows along both models: dE/dt = (1/n) sum |x_i'|^2 along USA, which is its "
            "Wasserstein gradient flow, and (1/n^2) sum Z_i |x_i'|^2 along SA. A single point maximizes it."
        ),
        kind="theorem",
        paper="identities, without numbers",
        setup=(
            "n = 32 tokens uniform on the sphere, d = 3, Q = K = V = I; beta = 1, 4, 9; 3 starts; adaptive steps of "
            "tolerance 1e-12 up to t = 30 (USA: t exp(beta) = 30), 81 recorded times; the sums of squares integrated "
            "by 10 Gauss points between two of them; energies scaled by 2 beta exp(-beta), so that the maximum is 1."
        ),
        tolerance="exact identities: 1e-6 for the quadrature, 1e-12 for rounding",
        criteria=(
            Criterion("balanced", "fraction of runs whose energy is the integral to 1e-6", (1, 1), format=".2f"),
            Criterion("rising", "fraction of runs in which no recorded energy is 1e-12 lower", (1, 1), format=".2f"),
            Criterion("bounded", "fraction of runs whose scaled energy stays at most 1", (1, 1), format=".2f"),
            Criterion("one", "scaled energy at beta = 1 when all tokens have met", (0.999, 1.001), format=".3f"),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="mean-field-limit",
        source="arXiv 2312.10794, Part 1 (the limit); the rate is classical",
        statement=(
            "Tokens drawn independently from a density stay within a distance of order n^-1/2 of the solution of the "
            "mean-field equation."
        ),
        kind="theorem",
        paper="n^-1/2, without numbers",
        setup=(
            "SA and USA on the circle from a smooth density of three modes; beta = 1, 4; t = 1 (USA: t exp(beta) = "
            "1); n = 50, 100, ..., 3200, 64 starts each; Runge-Kutta steps of 0.1; the limit by 192 Fourier points. "
            "Root mean square over the starts, slope in n by least squares on logarithms."
        ),
        tolerance="four standard errors of a slope from 64 starts, 0.1",
        criteria=(
            Criterion("wasserstein", "exponent of the distance W1 in n", (-0.6, -0.4), (-0.8, -0.3), format=".1f"),
            Criterion(
                "order", "exponent of the error of the order parameter", (-0.6, -0.4), (-0.8, -0.3), format=".1f"
            ),
        ),
        verdict="reproduced",
    ),
)
