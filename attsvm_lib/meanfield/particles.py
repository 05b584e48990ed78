r"""Trajectories of tokens on the sphere under self-attention.

`simulate` solves the equations of `attsvm_lib.meanfield.field` from given starts. Method "rk4" moves a whole batch by
fixed steps (float32 or float64); method "adaptive" controls the local error of each system by itself and lets tokens
that have met continue as one, so that times of 1e14 take less than a second. Source: arXiv 2312.10794, (SA), (USA).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.meanfield.field import Flow, check_start
from attsvm_lib.meanfield.integrate import integrate
from attsvm_lib.meanfield.symmetry import token_symmetry, warn_of_symmetry
from attsvm_lib.validation import choice, positive, real_array

__all__ = ["Trajectory", "check_options", "check_times", "simulate"]

LEAST_TOL = 1e-13
"""Local errors below this drown in rounding."""


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Tokens at the requested times.

    Attributes
    ----------
    times : array, shape (times,)
        In the papers' time t.
    x : array, shape (times, ..., n, d)
        Tokens; merged ones share a position.
    labels : array of int, shape (times, ..., n)
        Index of the first token of the merged group of each token (0..n-1, nobody merged: i itself).
    error : array, shape (...)
        Sum of the estimated local errors of the run (largest coordinate) and the largest distance bridged by merging.
        The estimate is that of the lower order of two, 4 for "adaptive" and 3 for "rk4", and so pessimistic; it
        does not include rounding, nor that the flow may amplify errors before clusters form.
    evaluations : array of int, shape (...)
        Evaluations of the velocity.
    """

    times: np.ndarray
    x: np.ndarray
    labels: np.ndarray
    error: np.ndarray
    evaluations: np.ndarray

    @property
    def masses(self):
        """Mass carried by each token's place, shape (times, ..., n): 0 for tokens that joined another; sums to 1."""
        n = self.labels.shape[-1]
        return (self.labels[..., None, :] == np.arange(n)[:, None]).mean(-1)

    def __repr__(self):
        n = self.labels.shape[-1]
        return f"{type(self).__name__}(times={len(self.times)}, n={n}, error={self.error.max():.1e})"


def simulate(
    x0,
    times,
    *,
    beta,
    model="sa",
    Q=None,
    K=None,
    V=None,
    method="adaptive",
    step=0.2,
    tol=1e-8,
    merge_tol=1e-6,
):
    """Move tokens on the sphere by self-attention.

    Parameters
    ----------
    x0 : array_like, shape (..., n, d)
        Unit vectors (to 1e-6) at time 0; leading axes are independent systems. The result has the dtype of x0,
        float32 or float64.
    times : array_like, shape (times,)
        Where to record, non-negative and in order, in the papers' time.
    beta : float
        Inverse temperature, at least 0.
    model : {"sa", "usa"}
        Softmax attention, or the unnormalized variant with 1/n in place of 1/Z_i.
    Q, K : array_like, shape (m, d), optional
        Query and key matrices, the identity by default.
    V : array_like, shape (d, d), optional
        Value matrix, the identity by default; -np.eye(d) repels.
    method : {"adaptive", "rk4"}
        Dormand-Prince 5(4) in float64 with merging, or classical Runge-Kutta steps in the dtype of x0.
    step : float
        Largest step of "rk4"; in t for SA, in s = t exp(beta) for USA.
    tol : float
        Largest local error of a step of "adaptive", at least 1e-13.
    merge_tol : float
        Distance, at most 30 tol whatever is asked, at which "adaptive" unites tokens that approach each other; 0 never
        does. Only for Q = K = V = I: other matrices may separate tokens again.

    Returns
    -------
    Trajectory

    Raises
    ------
    ValueError
        When an argument does not fit; "rk4" when it would need more than 5 million steps.
    FloatingPointError
        When t exp(beta), a score or a step overflows.
    ArithmeticError
        When a million adaptive steps do not reach the last time: a field that is fast (USA with large Q, K) or stays
        stiff (long times without merging).

    Warns
    -----
    SymmetricStartWarning
        When the start holds exact antipodes, is balanced (mean zero), or pulls cancel at a token: the exact solution
        keeps the symmetry and the computed one leaves it by rounding.

    Notes
    -----
    Source: arXiv 2312.10794, (SA) and (USA).
    """
    x0, times = check_start("x0", x0), check_times(times)
    flow = Flow(x0.shape[-1], beta=beta, model=model, Q=Q, K=K, V=V)
    step, tol, merge_tol = check_options(method, step, tol, merge_tol)
    inner = flow.inner_times(times)
    warn_of_symmetry("x0", token_symmetry(flow, x0))
    run = integrate(flow, x0, inner, method, step, tol, merge_tol)
    states = run.states.astype(x0.dtype, copy=False)
    return Trajectory(times, states, run.labels, run.error, run.evaluations)


def check_times(times):
    """Return times as a read-only array, non-negative and in order, or raise ValueError."""
    times = real_array("times", times, (None,), axes="(times,)")
    if times[0] < 0:
        raise ValueError(f"times must be at least 0, got {times[0]:g}")
    if (np.diff(times) < 0).any():
        k = int(np.argmax(np.diff(times) < 0))
        raise ValueError(f"times must be in order, got {times[k]:g} before {times[k + 1]:g}")
    return times


def check_options(method, step, tol, merge_tol):
    """Validated (step, tol, merge_tol), or ValueError."""
    choice("method", method, ("adaptive", "rk4"))
    step, tol, merge_tol = positive("step", step), positive("tol", tol), positive("merge_tol", merge_tol, zero=True)
    if tol < LEAST_TOL:
        raise ValueError(f"tol must be at least {LEAST_TOL:g}, got {tol:g}: smaller errors drown in rounding")
    if merge_tol > 0.1:
        raise ValueError(f"merge_tol must be at most 0.1, got {merge_tol:g}: such tokens have not met")
    return step, tol, merge_tol
