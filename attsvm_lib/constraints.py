r"""Margin constraints of a selection, as rows (d_k, z_k) with the meaning d_k^T W z_k >= 1.

Selecting token alpha_i in sequence i asks, for each other token t,

.. math:: (x_{i\alpha_i} - x_{it})^\top W z_i \ge 1 .

Each constraint is linear in W with the rank-one coefficient d_k z_k^T, where d_k is a difference of tokens and
z_k a query. Selecting a set of tokens adds rows with d_k^T W z_k = 0. The solvers of `attsvm_lib.svm` see only these
rows. In sequential prediction each position j is a query x_ij of its own, under a causal mask one that sees the tokens
t <= j only: one block of rows per (i, j). Source: arXiv 2308.16898, sections 2 (Att-SVM), 6 (Gen-SVM) and 7
(sequential prediction).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.data import check_data
from attsvm_lib.sequences import sequence_data
from attsvm_lib.validation import boolean_array, integer_array, real_array

__all__ = ["Rows", "sequential_rows", "set_rows", "token_rows"]


@dataclass(frozen=True, eq=False)
class Rows:
    """m constraints d_k^T W z_k >= 1.

    Attributes
    ----------
    D : array, shape (m, d)
        Token differences d_k.
    Z : array, shape (m, d)
        Queries z_k.
    index : array of int, shape (m, 2) or (m, 3)
        The (i, t), in sequential prediction the (i, j, t), that row k stands for.
    """

    D: np.ndarray
    Z: np.ndarray
    index: np.ndarray

    def __len__(self):
        return len(self.D)

    def margins(self, W):
        """d_k^T W z_k for each row, shape (m,)."""
        return np.einsum("kd,kd->k", self.D @ W, self.Z)

    def combine(self, lam):
        """M(lam) = sum_k lam_k d_k z_k^T, shape (d, d)."""
        return (self.D * lam[:, None]).T @ self.Z


def token_rows(data, alpha):
    """Rows of Att-SVM(alpha): one selected token per sequence, ordered by i, then t != alpha_i.

    Parameters
    ----------
    data : TokenData
        One data set (no batch axes).
    alpha : array_like of int, shape (n,)
        Selected token of each sequence, in 0..T-1 and allowed there.

    Returns
    -------
    Rows
        m = n (T - 1) rows, fewer where data has a mask: tokens that may not be selected give no row.

    Raises
    ------
    ValueError
        When data has batch axes or alpha does not fit.
    """
    _one_data_set(data)
    n, T = data.n, data.T
    alpha = integer_array("alpha", alpha, (n,), 0, T)
    if data.allowed is not None:
        _check_allowed(data.allowed, alpha)
    return _against(data, alpha, np.arange(T) != alpha[:, None])


def set_rows(data, selected):
    """Rows of Gen-SVM: a set O_i of selected tokens in each sequence, whose first one is alpha_i.

    Parameters
    ----------
    data : TokenData
        One data set (no batch axes).
    selected : array_like of bool, shape (n, T)
        Whether token t is in O_i; at least one token of each sequence is, and only tokens that query i may see.

    Returns
    -------
    masked : Rows
        Row (i, s) for each s outside O_i, ordered by i, then s: (x_{i alpha_i} - x_is)^T W z_i >= 1.
    tied : Rows
        Row (i, t) for each other t in O_i: (x_{i alpha_i} - x_it)^T W z_i = 0. Given these, the rows of `masked` hold
        for every selected token in place of alpha_i.
    selected : array of bool, shape (n, T)
        The argument, validated.

    Raises
    ------
    ValueError
        When data has batch axes, the mask does not fit, a sequence has no selected token, or one that its query may
        not attend to.

    Notes
    -----
    Source: arXiv 2308.16898, section 6 (Gen-SVM).
    """
    _one_data_set(data)
    selected = boolean_array("selected", selected, (data.n, data.T))
    none = np.flatnonzero(~selected.any(1))
    if len(none):
        raise ValueError(f"selected must have at least one token in each sequence, got none in sequence {none[0]}")
    if data.allowed is not None and (hidden := np.argwhere(selected & ~data.allowed)).size:
        i, t = hidden[0]
        raise ValueError(f"selected must hold tokens that their query may attend to, got token {t} in sequence {i}")
    alpha = selected.argmax(1)
    others = selected & (np.arange(data.T) != alpha[:, None])
    return _against(data, alpha, ~selected), _against(data, alpha, others), selected


def _one_data_set(data):
    if check_data(data).batch_shape:
        raise ValueError(f"data must be one data set without batch axes, got batch shape {data.batch_shape}")


def _against(data, alpha, others):
    """Rows of alpha_i against each token (i, t) of the mask `others` that query i may see, in that order."""
    if data.allowed is not None:
        others = others & data.allowed
    i, t = np.nonzero(others)
    return Rows(data.X[i, alpha[i]] - data.X[i, t], data.Z[i], np.stack([i, t], axis=1))


def sequential_rows(X, alpha, *, causal=True):
    """Rows of sequential prediction: one selected token per position, ordered by i, j, then t != alpha_ij.

    Parameters
    ----------
    X : array_like, shape (n, T, d)
        Tokens of n sequences; x_ij is also the query of position j.
    alpha : array_like of int, shape (n, T)
        Selected token of each position, counted from 0.
    causal : bool
        Whether position j sees the tokens 0..j only, so that alpha_ij <= j, or all.

    Returns
    -------
    Rows
        m = n T (T - 1) / 2 causal rows, or n T (T - 1); `index` holds (i, j, t).

    Raises
    ------
    ValueError
        When X or alpha does not fit, or alpha selects a later token under a causal mask.

    Notes
    -----
    Source: arXiv 2308.16898, section 7 and Theorem 11.
    """
    X = real_array("X", X, (None, None, None), axes="(n, T, d)")
    n, T, _ = X.shape
    alpha = integer_array("alpha", alpha, (n, T), 0, T)
    data = sequence_data(X, np.ones(n), causal=causal)
    if data.allowed is not None:
        _check_allowed(data.allowed.reshape(n, T, T), alpha)
    rows = token_rows(data, alpha.ravel())
    query, t = rows.index.T
    return Rows(rows.D, rows.Z, np.stack([query // T, query % T, t], axis=1))


def _check_allowed(allowed, alpha):
    bad = ~np.take_along_axis(allowed, alpha[..., None], -1)[..., 0]
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        seen = ", ".join(map(str, np.flatnonzero(allowed[where])))
        raise ValueError(
            f"alpha must select a token that its query may attend to, one of {seen} at index {where}, "
            f"got {alpha[where]}"
        )
