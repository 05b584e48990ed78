"""A thousand transition times of the orthogonal start, by the closed form: milliseconds, against the ODE solver.

The baseline is what the public notebook does: one `solve_ivp` of the differential equation for each beta, here with
the crossing as an event and tolerances at which it agrees with the closed form to 1e-8.
"""

import time

import numpy as np
from scipy.integrate import solve_ivp

from attsvm_lib.meanfield import transition_time

N = 32
BETA = np.linspace(0.01, 9, 1000)
BASELINE_EVERY = 50
REPEATS = 21
AGREEMENT = 1e-8
"""Relative; of the baseline's tolerances, our rounding is far below."""


def crossing(beta, eps=1e-3):
    """Time at which the common inner product reaches 1 - eps, by an adaptive solver with an event."""

    def slope(_, gamma):
        return 2 * (1 - gamma) * ((N - 1) * gamma + 1) / (np.exp(beta * (1 - gamma)) + N - 1)

    def reached(_, gamma):
        return gamma[0] - (1 - eps)

    reached.terminal = True
    run = solve_ivp(slope, (0, 1e6), [0.0], method="LSODA", events=reached, rtol=1e-11, atol=1e-13)
    return run.t_events[0][0]


def run():
    """`transition_times_1000_ms`; prints the baseline's time, scaled to 1000, beside it."""
    seconds = []
    for _ in range(REPEATS):
        begin = time.process_time()
        times = transition_time(BETA, n=N)
        seconds.append(time.process_time() - begin)
    begin = time.process_time()
    solved = np.array([crossing(beta) for beta in BETA[::BASELINE_EVERY]])
    baseline = (time.process_time() - begin) * BASELINE_EVERY
    off = np.abs(times[::BASELINE_EVERY] / solved - 1).max()
    if not off < AGREEMENT:
        raise AssertionError(f"transition times: closed form and solver differ by {off:.1e}")
    milliseconds = 1e3 * float(np.median(seconds))
    print(
        f"transition_times_1000_ms: {milliseconds:.2f}  (solve_ivp for each beta: {baseline:.1f} s, from "
        f"{len(solved)} of them; largest difference {off:.0e})"
    )
    return {"transition_times_1000_ms": milliseconds}
