r"""Margin constraints of a selection, as rows (d_k, z_k) with the meaning d_k^T W z_k >= 1.

Selecting token alpha_i in sequence i asks, for each other token t,

.. math:: (x_{i\alpha_i} - x_{it})^\top W z_i \ge 1 .

Each constraint is linear in W with the rank-one coefficient d_k z_k^T, where d_k is a difference of tokens and
z_k a query. Selecting a set of tokens adds rows with d_k^T W z_k = 0. The solvers of `attsvm_lib.svm` see only these
rows. Source: arXiv 2308.16898, sections 2 (Att-SVM) and 6 (Gen-SVM).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.data import check_data
from attsvm_lib.validation import boolean_array, integer_array

__all__ = ["Rows", "set_rows", "token_rows"]


@dataclass(frozen=True, eq=False)
class Rows:
    """m constraints d_k^T W z_k >= 1.

    Attributes
    ----------
    D : array, shape (m, d)
        Token differences d_k.
    Z : array, shape (m, d)
        Queries z_k.
    index : array of int, shape (m, 2)
        The (i, t) that row k stands for.
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
        Selected token of each sequence, in 0..T-1.

    Returns
    -------
    Rows
        m = n (T - 1) rows.

    Raises
    ------
    ValueError
        When data has batch axes or alpha does not fit.
    """
    _one_data_set(data)
    n, T = data.n, data.T
    alpha = integer_array("alpha", alpha, (n,), 0, T)
    return _against(data, alpha, np.arange(T) != alpha[:, None])


def set_rows(data, selected):
    """Rows of Gen-SVM: a set O_i of selected tokens in each sequence, whose first one is alpha_i.

    Parameters
    ----------
    data : TokenData
        One data set (no batch axes).
    selected : array_like of bool, shape (n, T)
        Whether token t is in O_i; at least one token of each sequence is.

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
        When data has batch axes, the mask does not fit, or a sequence has no selected token.

    Notes
    -----
    Source: arXiv 2308.16898, section 6 (Gen-SVM).
    """
    _one_data_set(data)
    selected = boolean_array("selected", selected, (data.n, data.T))
    none = np.flatnonzero(~selected.any(1))
    if len(none):
        raise ValueError(f"selected must have at least one token in each sequence, got none in sequence {none[0]}")
    alpha = selected.argmax(1)
    others = selected & (np.arange(data.T) != alpha[:, None])
    return _against(data, alpha, ~selected), _against(data, alpha, others), selected


def _one_data_set(data):
    if check_data(data).batch_shape:
        raise ValueError(f"data must be one data set without batch axes, got batch shape {data.batch_shape}")


def _against(data, alpha, others):
    """Rows of alpha_i against each token (i, t) of the mask `others`, in that order."""
    i, t = np.nonzero(others)
    return Rows(data.X[i, alpha[i]] - data.X[i, t], data.Z[i], np.stack([i, t], axis=1))
