r"""The orthogonal start: all pairs of n tokens keep one common inner product gamma(t), gamma(0) = 0.

With Q = K = V = I the inner product obeys

.. math:: \text{SA:}\quad \gamma' = \frac{2 (1-\gamma)((n-1)\gamma+1)}{e^{\beta(1-\gamma)} + n - 1}, \qquad
          \text{USA:}\quad \gamma' = \frac{2}{n}\, e^{\beta\gamma} (1-\gamma)((n-1)\gamma+1).

Both separate, so the time at which gamma is reached is an integral. By partial fractions, with
:math:`\epsilon = 1-\gamma` and :math:`a = n/(n-1)`,

.. math:: J = e^{-\beta}\bigl[\mathrm{Ei}(\beta) - \mathrm{Ei}(\beta\epsilon)\bigr]
          + e^{\beta/(n-1)}\bigl[E_1(\tfrac{\beta}{n-1}) - E_1(\beta(a-\epsilon))\bigr],
.. math:: t_{SA} = \frac{e^{\beta} J}{2n} + \frac{n-1}{2n} \log\frac{(n-1)\gamma+1}{1-\gamma}, \qquad
          t_{USA} = \frac{J}{2},

and both are :math:`\tfrac12 \log(((n-1)\gamma+1)/(1-\gamma))` at beta = 0. Every exponential integral is
evaluated in scaled form, :math:`e^{-x}\mathrm{Ei}(x)` and :math:`e^{x}E_1(x)`, so that J never overflows.

Source: the equations are in arXiv 2312.10794, section 4; the closed form of the time is ours.
"""

from __future__ import annotations

import numpy as np

from attsvm_lib.validation import choice, common_batch, integer, nonnegative_array, positive

__all__ = ["MODELS", "equiangular", "log_transition_time", "transition_time"]

MODELS = ("sa", "usa")
NEGLIGIBLE = 1e-17
"""Below this beta, times differ from those of beta = 0 by less than one rounding error."""
ASYMPTOTIC = 50.0
"""From here on 30 terms of the asymptotic series of Ei and E1 are exact to rounding."""
TERMS = 30
SATURATED = 40.0
"""1 - exp(-40) is 1 in double precision."""
HALVINGS = 60


def transition_time(beta, *, n, eps=1e-3, model="sa"):
    """Time at which the common inner product of an orthogonal start reaches 1 - eps, in closed form.

    Parameters
    ----------
    beta : array_like, shape (...)
        Inverse temperatures, at least 0.
    n : int
        Number of tokens, at least 2.
    eps : float
        Distance from 1 of the inner product, strictly between 0 and 1.
    model : {"sa", "usa"}

    Returns
    -------
    array or float, shape (...)
        t* in the paper's time, to about 1e-14 of its value.

    Raises
    ------
    FloatingPointError
        When a time is too large for double precision (SA, beta above about 715): use `log_transition_time`.

    Notes
    -----
    Source: the differential equation is in arXiv 2312.10794, section 4; the closed form is ours.
    """
    beta, n, eps = nonnegative_array("beta", beta), integer("n", n, 2), _fraction("eps", eps)
    growing, rest = _parts(eps, beta, n, choice("model", model, MODELS))
    # e^beta overflows before e^beta times `growing` does, hence the two halves
    half = np.exp(np.minimum(beta, 1400.0) / 2)
    with np.errstate(over="ignore", invalid="ignore"):
        time = growing * half * half + rest
    if not np.isfinite(time).all():
        largest = beta[~np.isfinite(time)].min()
        raise FloatingPointError(
            f"the transition time at beta = {largest:g} is too large for double precision: use log_transition_time"
        )
    return time[()]


def log_transition_time(beta, *, n, eps=1e-3, model="sa"):
    """Natural logarithm of `transition_time`, finite also where the time itself is not representable.

    Parameters and source as for `transition_time`. Checked up to beta = 1e4.

    Returns
    -------
    array or float, shape (...)
    """
    beta, n, eps = nonnegative_array("beta", beta), integer("n", n, 2), _fraction("eps", eps)
    growing, rest = _parts(eps, beta, n, choice("model", model, MODELS))
    if model == "usa":
        return np.log(rest)[()]
    return (beta + np.log(growing + rest * np.exp(-beta)))[()]


def equiangular(t, *, n, beta, model="sa"):
    """Common inner product gamma(t) of n tokens that start orthogonal to each other.

    Parameters
    ----------
    t : array_like, shape (...)
        Times, at least 0, in the paper's time.
    n : int
        Number of tokens, at least 2.
    beta : array_like
        Inverse temperatures, at least 0; broadcasts against t.
    model : {"sa", "usa"}

    Returns
    -------
    array or float in [0, 1]
        To 1e-12, or as far as the last bit of t determines it: for large beta the transition is so short against
        the time before it that one rounding of t moves gamma visibly.

    Notes
    -----
    The closed form of t is inverted by bisection in s = -log(1 - gamma).
    Source: arXiv 2312.10794, section 4 (the differential equation).
    """
    t, beta = nonnegative_array("t", t), nonnegative_array("beta", beta)
    n, model = integer("n", n, 2), choice("model", model, MODELS)
    shape = common_batch({"t": t.shape, "beta": beta.shape})
    t, beta = np.broadcast_to(t, shape), np.broadcast_to(beta, shape)
    shrink = np.exp(-beta) if model == "sa" else np.ones(shape)  # keeps e^beta out of both sides of the comparison
    target = t * shrink
    low, high = np.zeros(shape), np.full(shape, SATURATED)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        growing, rest = _parts(np.exp(-middle), beta, n, model)
        early = growing + rest * shrink < target
        low, high = np.where(early, middle, low), np.where(early, high, middle)
    return np.where(t == 0, 0.0, -np.expm1(-high))[()]


def _fraction(name, value):
    """A float strictly between 0 and 1."""
    number = positive(name, value)
    if number >= 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}")
    return number


def _parts(eps, beta, n, model):
    """(growing, rest): the time at which gamma = 1 - eps is e^beta growing + rest."""
    logarithm = np.log1p(n * (1 - eps) / eps)  # log(((n-1) gamma + 1) / (1 - gamma))
    tiny = beta < NEGLIGIBLE
    J = _scaled_integral(eps, np.where(tiny, 1.0, beta), n)
    if model == "sa":
        growing, rest = J / (2 * n), (n - 1) / (2 * n) * logarithm
    else:
        growing, rest = np.zeros_like(J), J / 2
    return np.where(tiny, 0.0, growing), np.where(tiny, logarithm / 2, rest)


def _scaled_integral(eps, beta, n):
    """J of the module's docstring, in terms that cannot overflow."""
    decay = np.exp(-beta * (1 - eps))
    late = _scaled_ei(beta * eps) + _scaled_e1(beta * (n / (n - 1) - eps))
    return _scaled_ei(beta) + _scaled_e1(beta / (n - 1)) - decay * late


def _scaled_ei(x):
    """exp(-x) Ei(x) for x > 0."""
    from scipy.special import expi

    return _piecewise(x, lambda near: np.exp(-near) * expi(near), _series)


def _scaled_e1(x):
    """exp(x) E1(x) for x > 0."""
    from scipy.special import exp1

    return _piecewise(x, lambda near: np.exp(near) * exp1(near), lambda far: -_series(-far))


def _piecewise(x, near, far):
    """near(x) below ASYMPTOTIC and far(x) from there on."""
    split = x >= ASYMPTOTIC
    if not split.any():
        return near(x)
    return np.where(split, far(np.maximum(x, ASYMPTOTIC)), near(np.minimum(x, ASYMPTOTIC)))


def _series(x):
    """(1/x) sum_k k! / x^k, the asymptotic series of exp(-x) Ei(x); at -x that of -exp(x) E1(x)."""
    total = 1.0
    for k in range(TERMS, 0, -1):
        total = 1 + k / x * total
    return total / x
