"""Claims of chapter 4: arXiv 2308.16898, section 5."""

from attsvm_lib.claims.record import Claim, Criterion

SETTING = (
    "n = 6, T = 8, d = 10; tokens, queries and head uniform on the unit sphere, labels fair signs; entries of W0 (of "
    "K0 and Q0, m = d) uniform in +-1/sqrt(d); logistic loss; normalized steps of 0.1; 100 data sets"
)
CODE = "github.com/umich-sota/TF-as-SVM, local_converge.ipynb"
PAPER = f"{SETTING}; 2000 steps in the papers' arithmetic (c_it by subtraction, 2.2e-16 added to the norm that divides)"

CLAIMS = (
    Claim(
        id="local-cones",
        source="arXiv 2308.16898, section 5, Theorem 7",
        statement=(
            "Gradient descent that starts far out in a cone around W_mm(alpha) converges to it in direction when alpha "
            "is locally optimal; several such directions coexist, and others do not attract."
        ),
        kind="theorem",
        paper="a limit; how far out and how wide the cone is are not explicit",
        setup=(
            f"{SETTING}, cross- and self-attention; saturation-proof gradient; start 20 W_mm(alpha) plus a random "
            "matrix of a fifth of its norm, 3000 steps; alpha: what descent selects, and a random selection."
        ),
        tolerance="all but a few: the radius 20 and the fifth are our choice, not the theorem's",
        criteria=(
            Criterion("stayed", "fraction of runs from locally optimal alpha that stay", (0.95, 1), format=".2f"),
            Criterion(
                "lost", "median of their 1 - corr with W_mm(alpha) in the end", (0, 2e-3), (0, 2e-2), format=".3f"
            ),
            Criterion("others", "fraction of runs from other alpha that stay", (0, 0.05), format=".2f"),
            Criterion("several", "most selections that descent makes on one data set", (2, 100), format=".0f"),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="local-curves",
        source="arXiv 2308.16898, section 5, figure of softmax probabilities and correlations against the step",
        statement=(
            "Attention becomes one-hot; W turns to W_mm(alpha) and K Q^T to W*_mm(alpha) for the selected tokens "
            "alpha, each more than to the other."
        ),
        kind="simulated",
        paper="read by eye: probabilities 1; W 0.99 with W_mm and 0.86 with W*_mm; (K, Q) 0.99 with W*_mm",
        setup=(
            f"{PAPER}, and for (K, Q) with the weight decay of 2.2e-16 of the public code ({CODE}); alpha is the last "
            "argmax."
        ),
        tolerance="0.02, the accuracy of reading the figure",
        criteria=(
            Criterion("softmax", "mean probability of the selected token, W and (K, Q)", (0.98, 1), format=".2f"),
            Criterion("W", "corr of W with W_mm", (0.97, 1), format=".2f"),
            Criterion("W_other", "corr of W with W*_mm", (0.84, 0.88), format=".2f"),
            Criterion("KQ", "corr of K Q^T with W*_mm", (0.97, 1), format=".2f"),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="local-optimality",
        source="arXiv 2308.16898, section 5",
        statement="The selections that gradient descent makes are locally optimal.",
        kind="simulated",
        paper="the definition uses the Frobenius Att-SVM",
        setup=(
            f"{SETTING}; saturation-proof gradient, 5000 steps, no weight decay; local optimality by the support of "
            "W_mm for W, of W*_mm for (K, Q)."
        ),
        tolerance="all but a few: runs are finite",
        criteria=(
            Criterion("W", "fraction for W, support of W_mm", (0.97, 1), format=".2f"),
            Criterion("KQ", "fraction for (K, Q), support of W*_mm", (0.97, 1), format=".2f"),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="local-arithmetic",
        source=(
            "our reading of the figure in arXiv 2308.16898, section 5, that plots correlations against the step; not "
            f"a claim of the authors. Arithmetic of their public code, {CODE}"
        ),
        statement="The curves of the experiment show gradient descent, up to their last step.",
        kind="simulated",
        paper="2000 steps; rounding is not mentioned",
        setup=f"{PAPER}; W. At the recorded weights the direction of a step is compared with the saturation-proof one.",
        tolerance="a direction is right to one percent, or at least to 10 percent",
        criteria=(
            Criterion("early", "median error of the direction at step 500", (0, 1e-2), (0, 0.1), format=".2f"),
            Criterion("late", "median error of the direction at step 2000", (0, 1e-2), (0, 0.1), format=".0f"),
        ),
        verdict="not reproduced",
        why=(
            "The weights of the gradient are differences of numbers that agree ever better as the margin grows; "
            "beyond about 35 its direction is rounding noise. The mean correlations stay close to the right ones, "
            "because the number added to the norm that divides stops the weights."
        ),
    ),
    Claim(
        id="local-KQ-descent",
        source="arXiv 2308.16898, section 5, figure of softmax probabilities and correlations against the step",
        statement="Gradient descent on (K, Q) turns to the nuclear direction W*_mm(alpha).",
        kind="simulated",
        paper=f"read by eye: correlation 0.99; the public code ({CODE}) adds a weight decay of 2.2e-16",
        setup=f"{SETTING}; 5000 steps, K and Q divided by their own norms; saturation-proof gradient, no weight decay.",
        tolerance="0.02, the accuracy of reading the figure; in kind: 0.9, more than W reaches (0.86)",
        criteria=(Criterion("descent", "corr with W*_mm without weight decay", (0.97, 1), (0.9, 1), format=".3f"),),
        verdict="reproduced",
        why=(
            "With a gradient that rounding cannot reach. In ordinary arithmetic the run without decay turns away again "
            "once attention saturates; in the public code the weight decay of 2.2e-16 prevents that."
        ),
    ),
)
