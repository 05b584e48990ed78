"""Checks at the door: every public function turns its arguments into validated, read-only arrays here.

An error names the argument, what was expected and what was given; nothing is repaired silently.
"""

from __future__ import annotations

import numpy as np

__all__ = [
    "batch_axes",
    "boolean_array",
    "bounded",
    "choice",
    "common_batch",
    "generator",
    "integer",
    "integer_array",
    "nonnegative_array",
    "not_a_pair",
    "positive",
    "real_array",
    "seed_sequence",
]

LIMIT = np.finfo(np.float64).max / 4
"""Differences of two numbers below this do not overflow."""


def _shape_text(shape):
    return "(" + ", ".join("..." if s is Ellipsis else "any" if s is None else str(s) for s in shape) + ")"


def _shape_fits(actual, expected):
    if Ellipsis in expected:
        tail = expected[1:]
        if len(actual) < len(tail):
            return False
        actual = actual[len(actual) - len(tail) :]
        expected = tail
    return len(actual) == len(expected) and all(e is None or a == e for a, e in zip(actual, expected))


def _not_masked(name, value):
    """Raise ValueError when `value` is an array with masked entries: NumPy would bring back what is under the mask."""
    if np.ma.is_masked(value):
        raise ValueError(f"{name} must have no masked entries, got {np.ma.count_masked(value)} of {np.size(value)}")


def real_array(name, value, shape=None, *, axes=None, minus_infinity=False):
    """Return `value` as a finite, read-only float64 copy of the expected shape.

    Parameters
    ----------
    name : str
        The argument's name, for the error message.
    value : array_like of real numbers
    shape : tuple of int, None or a leading Ellipsis, optional
        None stands for any length of at least 1, a leading Ellipsis for any batch axes.
    axes : str, optional
        How the message writes the shape, e.g. "(..., n, T, d)".
    minus_infinity : bool
        Whether entries may be -inf, the score of a token that a query may not attend to.

    Raises
    ------
    ValueError
        When the value is not a real array of that shape, or holds NaN, infinity or masked entries.
    """
    expected = axes or (_shape_text(shape) if shape is not None else "any")
    _not_masked(name, value)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError
        array = np.array(array, dtype=np.float64)
    except (TypeError, ValueError):
        kind = getattr(getattr(value, "dtype", None), "name", type(value).__name__)
        raise ValueError(f"{name} must be a real array of shape {expected}, got {kind}") from None
    if shape is not None and not _shape_fits(array.shape, shape):
        raise ValueError(f"{name} must have shape {expected}, got {array.shape}")
    if 0 in array.shape:
        raise ValueError(f"{name} must have no empty axis, shape {expected}, got {array.shape}")
    bad = ~np.isfinite(array)
    if minus_infinity:
        bad &= ~np.isneginf(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{name} must be finite, got {array[where]} at index {where}")
    array.flags.writeable = False
    return array


def integer_array(name, value, shape, low, high, *, axes=None):
    """Return `value` as a read-only integer array with entries in low <= value < high, or raise ValueError."""
    expected = axes or _shape_text(shape)
    _not_masked(name, value)
    try:
        array = np.asarray(value)
    except ValueError:  # lists of unequal length
        raise ValueError(f"{name} must be an integer array of shape {expected}, got {value!r}") from None
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be an integer array of shape {expected}, got dtype {array.dtype}")
    if not _shape_fits(array.shape, shape):
        raise ValueError(f"{name} must have shape {expected}, got {array.shape}")
    bad = (array < low) | (array >= high)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{name} must lie in {low}..{high - 1}, got {array[where]} at index {where}")
    array = np.array(array, dtype=np.intp)
    array.flags.writeable = False
    return array


def boolean_array(name, value, shape, *, axes=None):
    """Return `value` as a read-only boolean array of that shape, or raise ValueError; 0 and 1 are no booleans."""
    expected = axes or _shape_text(shape)
    _not_masked(name, value)
    try:
        array = np.array(value)
    except ValueError:  # lists of unequal length
        raise ValueError(f"{name} must be a boolean array of shape {expected}, got {value!r}") from None
    if array.dtype.kind != "b":
        raise ValueError(f"{name} must be a boolean array of shape {expected}, got dtype {array.dtype}")
    if not _shape_fits(array.shape, shape):
        raise ValueError(f"{name} must have shape {expected}, got {array.shape}")
    array.flags.writeable = False
    return array


def integer(name, value, low):
    """Return `value` as an int of at least `low`, or raise ValueError."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < low:
        raise ValueError(f"{name} must be an integer of at least {low}, got {value!r}")
    return int(value)


def batch_axes(name, value):
    """Return `value` as a tuple of ints of at least 1, the lengths of batch axes, or raise ValueError."""
    whole = isinstance(value, tuple) and all(
        isinstance(k, (int, np.integer)) and not isinstance(k, (bool, np.bool_)) and k >= 1 for k in value
    )
    if not whole:
        raise ValueError(f"{name} must be a tuple of integers of at least 1, got {value!r}")
    return tuple(map(int, value))


def common_batch(shapes):
    """Return the shape that the batch axes of several arguments broadcast to, or raise ValueError.

    Parameters
    ----------
    shapes : dict of str to tuple of int
        The batch axes of each argument, by name.
    """
    first, *others = shapes.values()
    if others.count(first) == len(others):
        return first
    try:
        return np.broadcast_shapes(first, *others)
    except ValueError:
        given = ", ".join(f"{shape} for {name}" for name, shape in shapes.items())
        *names, last = shapes
        names = f"{', '.join(names)} and {last}"
        raise ValueError(f"{names} must have batch axes that broadcast against each other, got {given}") from None


def bounded(what, array):
    """Return a computed `array` when a difference of two entries cannot overflow, or raise FloatingPointError."""
    if not (np.abs(array) < LIMIT).all():
        raise FloatingPointError(f"{what} overflow: rescale the data, the head or the weights")
    return array


def not_a_pair(name, value, hint):
    """Raise ValueError when `value` is a pair of matrices: as one array it would become a batch of two."""
    if isinstance(value, (tuple, list)) and len(value) == 2:
        if all(isinstance(part, np.ndarray) and part.ndim >= 2 for part in value):
            raise ValueError(f"{name} must be one array, got a pair of arrays: {hint}")


def positive(name, value, *, zero=False):
    """Return `value` as a finite float above 0 (or at least 0 with `zero`), or raise ValueError."""
    kind = "non-negative" if zero else "positive"
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a {kind} finite number, got {value!r}") from None
    if not np.isfinite(number) or number < 0 or (number == 0 and not zero):
        raise ValueError(f"{name} must be a {kind} finite number, got {value!r}")
    return number


def choice(name, value, allowed):
    """Return `value` when it is one of `allowed`, or raise ValueError listing them."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return value


def generator(name, value):
    """Return `value` when it is a numpy random Generator, or raise ValueError saying how to make one."""
    if not isinstance(value, np.random.Generator):
        raise ValueError(
            f"{name} must be a numpy.random.Generator, such as np.random.default_rng(0), got {type(value).__name__}"
        )
    return value


def seed_sequence(name, value):
    """Return `value` as a tuple of different integers of at least 0, at least one, or raise ValueError."""
    if isinstance(value, (str, bytes)) or not np.iterable(value):
        raise ValueError(f"{name} must be a sequence of integers, such as range(100), got {value!r}")
    seeds = tuple(integer(f"each of {name}", seed, 0) for seed in value)
    if not seeds:
        raise ValueError(f"{name} must hold at least one seed, got none")
    if len(set(seeds)) < len(seeds):
        twice = next(seed for seed in seeds if seeds.count(seed) > 1)
        raise ValueError(f"{name} must be different from each other, got {twice} more than once")
    return seeds


def nonnegative_array(name, value):
    """Return `value` as a finite, read-only float64 array with entries of at least 0, or raise ValueError."""
    array = real_array(name, value)
    if (array < 0).any():
        raise ValueError(f"{name} must be at least 0, got {array[array < 0][0]}")
    return array
