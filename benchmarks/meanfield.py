"""Mean-field dynamics: plain particles in PyTorch against ours, and one run to astronomical times.

The baseline is what a reader would write first, and what the public experiments of arXiv 2312.10794 do: normalized
Euler steps of 0.1 on all particles, batched matrix products, float64, PyTorch on the CPU. Ours takes Runge-Kutta steps
of 0.2 in float32, on particles for d < n and on Gram matrices above. Both start from the same B = 64 systems of n = 32
tokens and record the fraction of pairs with inner product above 0.999 at 150 times up to T = 30.
"""

import time

import numpy as np
import torch

from attsvm_lib import random_direction
from attsvm_lib.meanfield import pair_fraction, pair_fraction_gram, simulate

N, SYSTEMS, T, RECORDS = 32, 64, 30.0, 150
CASES = {"meanfield_d1024_float32_ratio": (1024, (4.0,)), "meanfield_d2_ratio": (2, (1.0, 3.0, 5.0, 7.0, 9.0))}
TIMES = np.linspace(T / RECORDS, T, RECORDS)


def baseline(x0, beta, h=0.1):
    """Fraction of pairs at each time, mean over the systems."""
    x, fractions = torch.from_numpy(x0), []
    pairs = SYSTEMS * N * (N - 1)
    for k in range(round(T / h)):
        attention = torch.softmax(beta * (x @ x.mT), dim=-1)
        x = torch.nn.functional.normalize(x + h * (attention @ x), dim=-1)
        if (k + 1) % round(T / h / RECORDS) == 0:
            fractions.append((((x @ x.mT) > 0.999).sum().item() - SYSTEMS * N) / pairs)
    return np.array(fractions)


def ours(x0, beta):
    """The same statistic; rotating the systems into Gram matrices is part of the time."""
    if x0.shape[-1] < N:
        return pair_fraction(x0.astype(np.float32), TIMES, beta=beta).mean(1)
    return pair_fraction_gram((x0 @ x0.swapaxes(-1, -2)).astype(np.float32), TIMES, beta=beta).mean(1)


def cpu_time(call, *args):
    """CPU seconds of one call, and its result."""
    begin = time.process_time()
    result = call(*args)
    return time.process_time() - begin, result


def compare(d, betas):
    """CPU seconds of (baseline, ours) over all beta; the two statistics must agree to the error of the Euler steps."""
    rng, seconds = np.random.default_rng(0), np.zeros(2)
    for beta in betas:
        x0 = random_direction(d, rng=rng, batch=(SYSTEMS, N))
        slow, theirs = cpu_time(baseline, x0, beta)
        fast, here = cpu_time(ours, x0, beta)
        seconds += slow, fast
        if not np.abs(theirs - here).mean() < 0.02:
            raise AssertionError(f"d = {d}, beta = {beta}: the two runs differ by {np.abs(theirs - here).mean():.3f}")
    return seconds


def long_run():
    """CPU seconds of n = 64 tokens on the circle at beta = 16, recorded at 181 times up to 1e14, until one is left."""
    x0 = random_direction(2, rng=np.random.default_rng(0), batch=(N * 2,))
    seconds, run = cpu_time(lambda: simulate(x0, np.geomspace(1e-4, 1e14, 181), beta=16.0))
    if np.count_nonzero(run.masses[-1]) != 1:
        raise AssertionError("the run to T = 1e14 did not end in one cluster")
    return seconds


def run():
    """`meanfield_d1024_float32_ratio`, `meanfield_d2_ratio` and `metastable_run_beta16_s`, on one thread."""
    torch.set_num_threads(1)
    compare(2, (1.0,))  # first-call work of both sides
    results = {}
    for name, (d, betas) in CASES.items():
        slow, fast = compare(d, betas)
        results[name] = slow / fast
        print(f"{name}: {results[name]:.2f}  (baseline {slow:.2f} s, ours {fast:.2f} s)")
    results["metastable_run_beta16_s"] = long_run()
    print(f"metastable_run_beta16_s: {results['metastable_run_beta16_s']:.2f}")
    return results
