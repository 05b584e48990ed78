"""What a training run returns: its weights, risk and attention at checkpoints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.attention import attention_probabilities, frobenius, loss, product

__all__ = ["Run", "record"]


@dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A training run, recorded at c checkpoints. The batch axes `...` are those of data, head and start
    together.

    Attributes
    ----------
    steps : array of int, shape (c,)
        Checkpoints: entry j of every record is the value after `steps[j]` steps, so 0 is the start.
    W : array, shape (c, ..., d, d)
        Key-query matrix, W = K Q^T for the factored model.
    K, Q : array, shape (c, ..., d, m), or None when W is trained
        Factors.
    loss : array, shape (c, ...)
        Risk L(W).
    probabilities : array, shape (c, ..., n, T)
        Attention probabilities softmax(X_i W z_i).
    status : str, or array of str of shape (...)
        "finished", or "zero gradient" for a run that stopped at a stationary point (its later records
        repeat it).
    stopped_at : int, or array of int of shape (...)
        Steps taken: fewer than asked for where the gradient vanished.
    """

    steps: np.ndarray
    W: np.ndarray
    K: np.ndarray | None
    Q: np.ndarray | None
    loss: np.ndarray
    probabilities: np.ndarray
    status: np.ndarray
    stopped_at: np.ndarray

    @property
    def selection(self):
        """Token of largest attention, shape (c, ..., n)."""
        return self.probabilities.argmax(-1)

    @property
    def selected_probability(self):
        """Attention probability of the token selected at that checkpoint, shape (c, ..., n)."""
        return self.probabilities.max(-1)

    @property
    def norm(self):
        """||W||_F, shape (c, ...)."""
        return frobenius(self.W)

    def __repr__(self):
        model = "W" if self.K is None else f"(K, Q) of width {self.K.shape[-1]}"
        batch = f", batch={self.W.shape[1:-2]}" if self.W.ndim > 3 else ""
        stopped = int((np.asarray(self.status) != "finished").sum())
        ended = f"{stopped} of {np.size(self.status)} stopped at a zero gradient" if stopped else "finished"
        records = f"{len(self.steps)} checkpoints up to step {self.steps[-1]}"
        return f"Run({model}{batch}, {records}, {np.max(self.stopped_at)} steps taken, {ended})"


def record(data, head, checkpoints, weights, steps, stopped_at):
    """The `Run` of weights (W,) or (K, Q), each stacked over the checkpoints along its first axis."""
    W = product(*weights) if len(weights) == 2 else weights[0]
    K, Q = weights if len(weights) == 2 else (None, None)
    status = np.where(stopped_at < steps, "zero gradient", "finished")
    risk, probabilities = loss(data, head, W), attention_probabilities(data, W)
    return Run(checkpoints, W, K, Q, risk, probabilities, status[()], stopped_at[()])
