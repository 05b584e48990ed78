"""Claims of chapter 6: arXiv 2308.16898, section 7 and Theorem 11."""

from attsvm_lib.claims.record import Claim, Criterion

DATA = "Tokens and heads uniform on the unit sphere, labels fair signs; logistic loss; n = 3, T = 4, d = 8"
SETTINGS = "causal mask or none, one label per sequence or per position, one head or (causal) one per position"

CLAIMS = (
    Claim(
        id="sequential-gd",
        source="arXiv 2308.16898, section 7 and Theorem 11 (the rate and the sizes are ours)",
        statement=(
            "With one loss per position, causal or not, gradient descent on W turns to the SVM with one block of "
            "constraints per position. Its directions are those of locally optimal selections: started far out in the "
            "cone of one it stays, elsewhere it leaves."
        ),
        kind="theorem",
        paper="a limit, without a rate and without an experiment known to us",
        setup=(
            f"{DATA}; {SETTINGS}: 5 settings of 20 runs, exact gradient from W = 0, normalized steps of 0.1, against "
            "the Frobenius SVM of the final selection. Cones: 10 causal sequences, T = 4, d = 8, a run from near each "
            "of the 24 selections, radius 100 times the SVM's norm, noise 0.2."
        ),
        tolerance=(
            "for normalized steps 1 - corr falls like the inverse square of the step, as in cross-attention: a factor "
            "of 4 from 2000 to 4000 steps; 1e-3 there leaves room for runs that came late to their selection"
        ),
        criteria=(
            Criterion("lost", "1 - corr with the SVM of the selection at step 4000", (0, 1e-3), (0, 1e-2), ".4f"),
            Criterion("factor", "median 1 - corr at step 2000 over that at 4000, per setting", (3, 5), (1.5, 8), ".1f"),
            Criterion("local", "fraction of runs whose selection is locally optimal", (1, 1), format=".2f"),
            Criterion("stays", "fraction of locally optimal cones in which descent stays", (1, 1), format=".2f"),
            Criterion("others", "fraction of the other cones in which descent stays", (0, 0), format=".2f"),
        ),
        verdict="reproduced",
    ),
    Claim(
        id="sequential-path",
        source="arXiv 2308.16898, section 7 (the rate is ours)",
        statement=(
            "The regularization path of the sequential risk turns to the same SVM, of the optimal token of each "
            "position: W_R / R in the Frobenius norm, K_R Q_R^T / R in the nuclear norm."
        ),
        kind="theorem",
        paper="a limit, without a rate",
        setup=(
            f"{DATA}, one label per position, one head; causal mask and none, W and (K, Q) with 8 columns, 3 problems "
            "each; log(L - L_*) minimized on the sphere from the SVM direction and from the path continued from "
            "small radii."
        ),
        tolerance="the limit is exact; at R = 1e5 the rate C/R predicts 1 - corr below 1e-6 and a ratio near 1",
        criteria=(
            Criterion("lost", "1 - corr with the SVM solution at R = 1e5", (0, 1e-6), (0, 1e-3), ".0e"),
            Criterion("ratio", "distance over C/R at R = 1e5", (0.95, 1.05), (0.5, 2), ".2f"),
            Criterion("followed", "fraction of continued paths that end at the same risk", (1, 1), format=".2f"),
        ),
        verdict="reproduced",
    ),
)
