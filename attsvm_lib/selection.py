"""Which token does attention select? Scores, optimal tokens, local optimality, alignment of directions."""

from __future__ import annotations

import numpy as np

from attsvm_lib.data import check_data
from attsvm_lib.validation import bounded, common_batch, positive, real_array

__all__ = ["TieError", "check_solution", "correlation", "locally_optimal", "optimal_tokens", "scores", "token_scores"]


class TieError(ValueError):
    """The optimal token of a sequence is not unique.

    Attributes
    ----------
    tied : list of (index, tokens)
        The index of each tied sequence (a tuple, batch axes first) and the tokens that share its maximum.
    """

    def __init__(self, tied):
        self.tied = tied
        index, tokens = tied[0]
        more = f" (and {len(tied) - 1} more)" if len(tied) > 1 else ""
        super().__init__(
            f"the optimal token is not unique: tokens {tokens} of sequence {index[-1]} have equal scores{more}; "
            "choose alpha by hand, or use generic scores"
        )

    def __reduce__(self):
        return type(self), (self.tied,)


def scores(data, v):
    """Score gamma_it = Y_i v^T x_it of each token under a linear head.

    Parameters
    ----------
    data : TokenData
    v : array_like, shape (..., d)
        The head h(x) = v^T x; leading axes broadcast against the data's batch axes.

    Returns
    -------
    array, shape (..., n, T)
        -inf where query i may not attend to token t.

    Raises
    ------
    ValueError
        When v is not finite, its last axis is not d, or its batch axes do not fit the data's.
    FloatingPointError
        When a score overflows.

    Notes
    -----
    Source: arXiv 2308.16898, section 2 (token score).
    """
    v = real_array("v", v, (..., check_data(data).d), axes=f"(..., {data.d})")
    common_batch({"v": v.shape[:-1], "data": data.batch_shape})
    return token_scores(data, v[..., None, :])


def token_scores(data, g):
    """Scores Y_i g_i^T x_it for one vector g_i per query, (..., n, d) or (..., 1, d); -inf where masked.

    FloatingPointError when a score overflows.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        gamma = np.einsum("...ntd,...nd->...nt", data.X, g)
    gamma = data.Y[..., None] * bounded("the scores v^T x", gamma)
    return gamma if data.allowed is None else np.where(data.allowed, gamma, -np.inf)


def optimal_tokens(gamma, *, tol=0.0):
    """Optimal token opt_i = argmax_t gamma_it of each sequence; a tie raises.

    Parameters
    ----------
    gamma : array_like, shape (..., n, T)
        Scores; those of tokens that may not be selected are -inf.
    tol : float
        Scores within `tol` of the maximum count as tied with it.

    Returns
    -------
    array of int, shape (..., n)

    Raises
    ------
    TieError
        When a maximum is not unique; `.tied` lists the sequences and tokens.

    Notes
    -----
    Source: arXiv 2308.16898, section 2.
    """
    gamma = real_array("gamma", gamma, (..., None, None), axes="(..., n, T)", minus_infinity=True)
    tol = positive("tol", tol, zero=True)
    top = gamma >= gamma.max(-1, keepdims=True) - tol
    tied = np.argwhere(top.sum(-1) > 1)
    if len(tied):
        raise TieError([(tuple(map(int, i)), np.flatnonzero(top[tuple(i)]).tolist()) for i in tied])
    return gamma.argmax(-1)


def correlation(A, B):
    """Cosine of the angle between matrices, corr(A, B) = <A, B> / (||A||_F ||B||_F).

    Parameters
    ----------
    A, B : array_like, shape (..., p, q)
        Non-zero matrices; leading axes broadcast.

    Returns
    -------
    array or float, shape (...), in [-1, 1]

    Raises
    ------
    ValueError
        When a matrix is zero or not finite, or the shapes differ.

    Notes
    -----
    Source: arXiv 2308.16898, section 5.
    """
    A, B = (real_array(k, M, (..., None, None), axes="(..., p, q)") for k, M in (("A", A), ("B", B)))
    if A.shape[-2:] != B.shape[-2:]:
        raise ValueError(f"A and B must have the same last two axes, got {A.shape} and {B.shape}")
    common_batch({"A": A.shape[:-2], "B": B.shape[:-2]})
    unit = []
    for name, M in (("A", A), ("B", B)):
        scale = np.abs(M).max((-2, -1), keepdims=True)
        if (scale == 0).any():
            raise ValueError(f"{name} must not be the zero matrix: it has no direction")
        M = M / scale
        unit.append(M / np.linalg.norm(M, axis=(-2, -1), keepdims=True))
    return np.clip((unit[0] * unit[1]).sum((-2, -1)), -1.0, 1.0)[()]


def check_solution(solution):
    """Return `solution` when it has what a `Solution` of `att_svm` has, or raise ValueError."""
    if isinstance(solution, type) or not all(hasattr(solution, k) for k in ("W", "alpha", "rows", "support")):
        given = solution.__name__ if isinstance(solution, type) else type(solution).__name__
        raise ValueError(f"solution must be a Solution, as att_svm returns it, got {given}")
    return solution


def locally_optimal(solution, gamma):
    """Whether a selection is locally optimal: each support token scores below the selected one.

    Parameters
    ----------
    solution : Solution
        Att-SVM solution of the selection, with the norm that fits the parameterization (Frobenius for W,
        nuclear for (K, Q)).
    gamma : array_like, shape (n, T)
        Scores; (n, T, T) for the solution of `sequential_svm`.

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        When an argument is of another kind, or gamma does not fit the solution.

    Notes
    -----
    Source: arXiv 2308.16898, section 5 (locally optimal tokens).
    """
    check_solution(solution)
    if len(getattr(solution, "equality_multipliers", ())):
        raise ValueError("solution must select one token in each sequence, got one of gen_svm that keeps several")
    shape = solution.alpha.shape
    gamma = real_array("gamma", gamma, (*shape, None), axes=f"({', '.join(map(str, shape))}, T)", minus_infinity=True)
    *at, t = solution.rows[solution.support].T
    if len(t) and t.max() >= gamma.shape[-1]:
        raise ValueError(f"gamma must have a column for token {t.max()}, got shape {gamma.shape}")
    selected = solution.alpha[tuple(at)]
    return bool((gamma[(*at, t)] < gamma[(*at, selected)]).all())
