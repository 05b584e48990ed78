"""Claims of the chapter on the circle, repulsion and leaders: arXiv 2312.10794, Part 3, and arXiv 2305.05465."""

from attsvm_lib.claims.record import Claim, Criterion

GENERAL = "arXiv 2312.10794, Part 3 (general matrices; section 9 in version 4)"

CLAIMS = (
    Claim(
        id="kuramoto",
        source="arXiv 2312.10794, Part 3 (dynamics on the circle; section 7 in version 4)",
        statement="On the circle (d = 2) at beta = 0 self-attention is the Kuramoto model of identical oscillators.",
        kind="theorem",
        paper="the two equations are the same; no numbers",
        setup=(
            "SA, Q = K = V = I, d = 2, beta = 0; 64 starts of n = 32 uniform tokens; Runge-Kutta steps of 0.1. For the "
            "closed form 512 equally spaced tokens after a Moebius map, R(0) = 0.05, 0.1, 0.2, 0.4, up to t = 4."
        ),
        tolerance=(
            "field: rounding; law: errors of the steps, and the finite number of tokens adds R^512 < 1e-9; constants: "
            "errors of the steps; together: all but a null set of starts, and exp(-t) is 1e-13 at t = 30"
        ),
        criteria=(
            Criterion("field", "fraction of velocities equal to R sin(psi - theta) to 1e-12", (1, 1), format=".2f"),
            Criterion(
                "law", "fraction of recorded order parameters within 1e-6 of the closed form", (1, 1), format=".2f"
            ),
            Criterion("constant", "fraction of cross-ratios constant to 1e-6 up to t = 3", (1, 1), format=".2f"),
            Criterion("together", "fraction of starts with R > 0.999 at t = 30", (1, 1), format=".2f"),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="repulsion",
        source=f"{GENERAL}; optimality: Cohn and Kumar, arXiv math/0607446",
        statement=(
            "With V = -I tokens spread to well separated, optimal configurations: the simplex for n = d + 1, the "
            "cross-polytope for n = 2d, the icosahedron for n = 12, d = 3."
        ),
        kind="simulated",
        paper="a picture; no rate and no share of starts",
        setup=(
            "SA, Q = K = I, V = -I; 32 uniform starts each; Runge-Kutta steps of 0.5. Simplex: d = 2, 3, 5, 8 at beta "
            "= 1; cross-polytope: d = 2, 3, 4, 8 at beta = 2; icosahedron: beta = 4; all up to T = 400."
        ),
        tolerance=(
            "1e-8 relative: energies are quadratic at their minimum, and every other local minimum is further off; "
            "bound: rounding"
        ),
        criteria=(
            Criterion("simplex", "fraction that end at the simplex's energy to 1e-8", (1, 1), (0.5, 1), ".2f"),
            Criterion("cross", "fraction that end at the cross-polytope's energy to 1e-8", (1, 1), (0.5, 1), ".2f"),
            Criterion("icosahedron", "fraction that end at the icosahedron's energy to 1e-8", (1, 1), (0.5, 1), ".2f"),
            Criterion(
                "bound",
                "fraction of (configuration, beta) whose energy is the linear programming bound to 1e-12",
                (1, 1),
                format=".2f",
            ),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="leaders",
        source="arXiv 2305.05465, Theorem 2.1 (tokens on a line) and section 3 (V = I)",
        statement=(
            "Off the sphere, with V = I, rescaled tokens go to the vertices of a polytope, the leaders; the attention "
            "matrix becomes 0-1, and its numerical rank is the number of leaders and of clusters: 1 or 2 on a line."
        ),
        kind="theorem",
        paper=(
            "proved: 0-1 rows, but for at most one, and generically rank 1 or 2 on a line, and the polytope; in the "
            "plane the equality of the three numbers is read off pictures"
        ),
        setup=(
            "x_i' = sum_j P_ij x_j, Q = K = I, standard Gaussian tokens, 20 starts each: n = 50, d = 1, T = 15; n = "
            "40, d = 2 and d = 3, T = 10; Runge-Kutta steps of 0.05 in the rescaled coordinates, scores in log-sum-exp "
            "form. Rank and 0-1 to 1e-3; clusters joined at 1 percent of the first diameter."
        ),
        tolerance=(
            "exact counts. The limit holds for all but exceptional starts; 90 percent of them must have reached it by T"
        ),
        criteria=(
            Criterion("sharp", "fraction of runs with a 0-1 attention matrix at T", (0.9, 1), (0.5, 1), ".2f"),
            Criterion("equal", "fraction with rank = leaders = clusters at T", (0.9, 1), (0.5, 1), ".2f"),
            Criterion("vertices", "fraction whose clusters are vertices of their polytope", (0.9, 1), (0.5, 1), ".2f"),
            Criterion("line", "largest rank on a line", (1, 2), format=".0f"),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="hyperplanes",
        source="arXiv 2305.05465, section 4 (V with one positive eigenvalue)",
        statement=(
            "Off the sphere, when V has one positive eigenvalue, which is simple and larger than the modulus of all "
            "others, rescaled tokens go to a few parallel hyperplanes (at most three), and need not meet inside them."
        ),
        kind="theorem",
        paper="at most three hyperplanes; without numbers",
        setup=(
            "V = diag(1, -0.5, -0.7), Q = K = I, 20 starts of n = 40 standard Gaussian tokens, T = 12; Runge-Kutta "
            "steps of 0.05. First coordinates of exp(-tV) x count as one when a chain of steps below 1 percent of the "
            "first diameter joins them."
        ),
        tolerance="exact counts; the other coordinates of exp(-tV) x grow like exp(t/2), 403-fold at T",
        criteria=(
            Criterion("sheets", "largest number of hyperplanes, over runs", (1, 3), format=".0f"),
            Criterion(
                "apart", "fraction of runs with other coordinates spread over more than 100", (1, 1), format=".2f"
            ),
        ),
        verdict="reproduced",
    ),
)
