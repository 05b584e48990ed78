"""Training on 100 data sets: a plain PyTorch loop, one run at a time, against `experiments.local_convergence`.

The baseline is what a reader would write first, and how the papers' public experiments work: a module of linear
layers, autograd, the SGD optimizer, a Python loop over the steps, one data set after the other, in double precision.
Both sides train W, then K and Q, for 2000 normalized steps in the papers' arithmetic and keep the weights at 50
checkpoints; neither solves an SVM. The baseline is timed on 3 of the 100 data sets and scaled. The exact arithmetic is
timed too, for comparison. (A loop pared down to bare tensors, without modules and optimizer, takes about half as long
as this baseline.)

The second figure is what a step on W costs at d = 160, divided by what it costs at d = 10.
"""

import os
import time

import numpy as np
import torch

from attsvm_lib import correlation, random_data, random_direction, random_start, train
from attsvm_lib.experiments import local_convergence
from attsvm_lib.heads import LinearHead

RUNS = 100
TIMED_RUNS = 3
"""Runs of the baseline that are timed; its time for all is theirs, scaled."""

STEPS, STEP = 2000, 0.1
EPS = 2.2e-16


class Attention(torch.nn.Module):
    """One attention layer with a fixed linear head: keys x W against queries z, or keys x K against queries z Q."""

    def __init__(self, *weights):
        super().__init__()
        self.linear = torch.nn.ModuleList()
        for w in weights:
            layer = torch.nn.Linear(*w.shape, bias=False, dtype=torch.float64)
            layer.weight.data = torch.tensor(w.T.copy())
            self.linear.append(layer)

    def W(self):
        """The key-query matrix, W = K Q^T where there are two layers."""
        weights = [layer.weight.detach().clone() for layer in self.linear]
        return weights[0].T if len(weights) == 1 else weights[0].T @ weights[1]

    def forward(self, X, Z, v):
        """The outputs h(X_i^T softmax(X_i W z_i))."""
        queries = Z if len(self.linear) == 1 else self.linear[1](Z)
        s = torch.softmax(queries[:, None] @ self.linear[0](X).mT, dim=-1)
        return (s @ X)[:, 0] @ v


def baseline(X, Z, Y, v, weights, checkpoints):
    """W at the checkpoints of one run."""
    model = Attention(*weights)
    optimizer = torch.optim.SGD(model.parameters(), lr=STEP)
    X, Z, Y, v = (torch.tensor(u) for u in (X, Z, Y, v))
    records, due = [], set(checkpoints)
    for k in range(STEPS + 1):
        if k in due:
            records.append(model.W())
        risk = torch.log(1 + torch.exp(-Y * model(X, Z, v))).mean()
        if len(weights) == 2:
            risk = risk + EPS * sum(w.square().sum() for w in model.parameters())
        optimizer.zero_grad()
        risk.backward()
        for w in model.parameters():
            w.grad /= w.grad.norm() + EPS
        optimizer.step()
    return torch.stack(records).numpy()


def cpu_time(call):
    """CPU seconds of one call, and its result."""
    begin = time.process_time()
    result = call()
    return time.process_time() - begin, result


def ours(parameterization, arithmetic, runs=RUNS):
    """CPU seconds and result of `local_convergence`."""
    options = {"parameterization": parameterization, "arithmetic": arithmetic, "seeds": range(runs)}
    return cpu_time(lambda: local_convergence(**options))


def compare(parameterization):
    """CPU seconds for all runs: (baseline, ours, ours in exact arithmetic); the runs must agree."""
    fast, (data, head, run) = ours(parameterization, "paper")
    starts = (run.W[0],) if parameterization == "W" else (run.K[0], run.Q[0])
    slow = 0.0
    for k in range(TIMED_RUNS):
        weights = [w[k] for w in starts]
        seconds, W = cpu_time(
            lambda k=k, weights=weights: baseline(data.X[k], data.Z[k], data.Y[k], head.v[k], weights, run.steps)
        )
        slow += seconds * RUNS / TIMED_RUNS
        early = run.steps <= 100
        if np.abs(W[early] - run.W[early, k]).max() > 1e-7 or correlation(W[-1], run.W[-1, k]) < 0.99:
            raise AssertionError(f"run {k} of {parameterization} differs from the baseline's")
    return slow, fast, ours(parameterization, "exact")[0]


def step_seconds(d, repeats=5):
    """CPU seconds of a step on W for 100 runs in d dimensions: the least of some differences of two runs' times."""
    rng = np.random.default_rng(0)
    data = random_data(6, 8, d, rng=rng, batch=(RUNS,))
    head, start = LinearHead(random_direction(d, rng=rng, batch=(RUNS,))), random_start(d, rng=rng, batch=(RUNS,))

    def seconds(steps):
        return cpu_time(lambda: train(data, head, start=start, steps=steps, checkpoints=[steps]))[0]

    return min(seconds(550) - seconds(50) for _ in range(repeats)) / 500


def run():
    """Both figures; prints the protocol's numbers on the way."""
    torch.set_num_threads(1)
    os.environ.pop("ATTSVM_CACHE", None)  # what is timed must be computed
    for parameterization in ("W", "KQ"):
        ours(parameterization, "paper", runs=2)  # imports and first-call work
    slow, fast, exact = np.sum([compare(parameterization) for parameterization in ("W", "KQ")], axis=0)
    steps = {d: step_seconds(d) for d in (10, 160)}
    results = {"local_convergence_ratio": slow / fast, "step_cost_d160_over_d10": steps[160] / steps[10]}
    print(
        f"local_convergence_ratio: {slow / fast:.0f}  (baseline {slow:.0f} s, scaled from {TIMED_RUNS} runs; "
        f"local_convergence {fast:.2f} s; in exact arithmetic {exact:.2f} s, ratio {slow / exact:.0f})"
    )
    print(
        f"step_cost_d160_over_d10: {results['step_cost_d160_over_d10']:.2f}  "
        f"({1e6 * steps[160] / RUNS:.1f} against {1e6 * steps[10] / RUNS:.1f} microseconds a step and run)"
    )
    return results


if __name__ == "__main__":
    run()
