r"""Margin constraints of a selection, as rows (d_k, z_k) with the meaning d_k^T W z_k >= 1.

Selecting token alpha_i in sequence i asks, for each other token t,

.. math:: (x_{i\alpha_i} - x_{it})^\top W z_i \ge 1 .

Each constraint is linear in W with the rank-one coefficient d_k z_k^T, where d_k is a difference of tokens and
z_k a query. The solvers of `attsvm_lib.svm` see only these rows. Source: arXiv 2308.16898, section 2 (Att-SVM).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.data import check_data
from attsvm_lib.validation import integer_array

__all__ = ["Rows", "token_rows"]


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
    if check_data(data).batch_shape:
        raise ValueError(f"data must be one data set without batch axes, got batch shape {data.batch_shape}")
    n, T = data.n, data.T
    alpha = integer_array("alpha", alpha, (n,), 0, T)
    others = np.arange(T) != alpha[:, None]
    i, t = np.nonzero(others)
    return Rows(data.X[i, alpha[i]] - data.X[i, t], data.Z[i], np.stack([i, t], axis=1))
