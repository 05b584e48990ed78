"""Att-SVM: the readable cvxpy formulation, one constraint per token, against `att_svm` through its public door.

The baseline is what a reader would write first: `cp.Minimize(cp.norm(W, "fro"))` with cvxpy's default solver, or
`"nuc"` with Clarabel, and one constraint for each (sequence, token). Building the problem counts, on both sides.
"""

import time

import cvxpy as cp
import numpy as np

from attsvm_lib import att_svm, optimal_tokens, random_data, random_direction, scores, token_rows
from attsvm_lib.svm.solution import certified_gap

CASES = {
    "att_svm_frobenius_6_8_10_ratio": ("frobenius", 6, 8, 10),
    "att_svm_frobenius_10_15_20_ratio": ("frobenius", 10, 15, 20),
    "att_svm_nuclear_10_6_20_ratio": ("nuclear", 10, 6, 20),
}
DATA_SETS = 5
REPEATS = 7
"""Ours takes milliseconds, so each time is the median of this many calls."""


def baseline(data, alpha, norm):
    """(W, multipliers) by cvxpy; the multipliers are in the row order of `att_svm`."""
    W = cp.Variable((data.d, data.d))
    constraints = []
    for i in range(data.n):
        for t in range(data.T):
            if t != alpha[i]:
                constraints.append((data.X[i, alpha[i]] - data.X[i, t]) @ W @ data.Z[i] >= 1)
    kind, solver = {"frobenius": ("fro", None), "nuclear": ("nuc", cp.CLARABEL)}[norm]
    cp.Problem(cp.Minimize(cp.norm(W, kind)), constraints).solve(solver=solver)
    return W.value, np.array([float(c.dual_value) for c in constraints])


def cpu_time(call):
    """CPU seconds of one call, and its result."""
    begin = time.process_time()
    result = call()
    return time.process_time() - begin, result


def compare(norm, n, T, d, seed):
    """CPU times and certified gaps of both on one data set: (baseline s, ours s, baseline gap, our gap)."""
    rng = np.random.default_rng(seed)
    data = random_data(n, T, d, rng=rng)
    alpha = optimal_tokens(scores(data, random_direction(d, rng=rng)))
    slow, (W, lam) = cpu_time(lambda: baseline(data, alpha, norm))
    ours = [cpu_time(lambda: att_svm(data, alpha, norm=norm)) for _ in range(REPEATS)]
    fast, solution = np.median([seconds for seconds, _ in ours]), ours[0][1]
    return slow, fast, certified_gap(token_rows(data, alpha), W, np.maximum(lam, 0), norm), solution.gap


def run():
    """Median ratio over the data sets for each case; prints the protocol's numbers on the way."""
    results = {}
    for name, (norm, n, T, d) in CASES.items():
        compare(norm, 2, 3, 4, 0)  # imports and first-call work of both sides
        rows = np.array([compare(norm, n, T, d, seed) for seed in range(DATA_SETS)])
        results[name] = float(np.median(rows[:, 0] / rows[:, 1]))
        slow, fast = 1e3 * np.median(rows[:, :2], axis=0)
        theirs, ours = np.abs(rows[:, 2:]).max(0)
        print(
            f"{name}: {results[name]:.0f}  (baseline {slow:.1f} ms, att_svm {fast:.2f} ms; "
            f"largest certified gap {theirs:.0e} against {ours:.0e})"
        )
        if not ours < theirs:
            raise AssertionError(f"{name}: our gap {ours:.1e} is not below the baseline's {theirs:.1e}")
    return results
