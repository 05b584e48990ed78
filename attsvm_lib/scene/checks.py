"""Input checks shared by the scene types: each returns its value in canonical form, or raises a ValueError.

What is drawn lies in a documented range: axis coordinates (values; exponents on a log axis) have at most the
magnitude `LARGEST`, values on a log axis an exponent of at most `LARGEST_EXPONENT`, and the ends of an axis differ by
at least `SMALLEST_SPAN` times the larger of 1 and their magnitude. Outside of it, ticks have no distinct labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

LARGEST = 1e12
LARGEST_EXPONENT = 300
SMALLEST_SPAN = 1e-12


def numbers(
    name: str, values: Any, *, nan: bool = False, shape: tuple[int, ...] | None = None, largest: float = math.inf
) -> np.ndarray:
    """A read-only float64 copy of ``values``; NaN only if allowed, infinities and masked entries never."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf" or np.ma.is_masked(values):
            raise TypeError
        out = np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} must be an array of real numbers, got {values!r}") from None
    bad = np.isinf(out) if nan else ~np.isfinite(out)
    if bad.any():
        raise ValueError(f"{name} must be finite{' or NaN (absent)' if nan else ''}, got {out[bad].ravel()[0]}")
    if shape is not None and out.shape != shape:
        raise ValueError(f"{name} must be {' x '.join(map(str, shape))} numbers, got {values!r}")
    if (np.abs(out) > largest).any():
        raise ValueError(f"{name} must lie within ±{largest:g}, got {out.ravel()[np.nanargmax(np.abs(out))]:g}")
    out.flags.writeable = False
    return out


def _is_number(value: Any) -> bool:
    """Whether ``value`` is one finite real number; a truth value, a string and an array with axes are not."""
    if isinstance(value, int) and not isinstance(value, bool):
        return abs(value) <= 1e300
    plain = isinstance(value, (float, np.floating, np.integer)) or (isinstance(value, np.ndarray) and value.ndim == 0)
    return plain and not np.ma.is_masked(value) and np.asarray(value).dtype.kind in "iuf" and math.isfinite(value)


def number(name: str, value: Any, low: float = -LARGEST, high: float = LARGEST) -> float:
    """One real number from ``low`` to ``high``."""
    if not _is_number(value) or not low <= value <= high:
        raise ValueError(f"{name} must be a number from {low:g} to {high:g}, got {value!r}")
    return float(value)


def whole(name: str, value: Any, low: int, high: int, what: str = "an integer") -> int:
    """One integer from ``low`` to ``high``."""
    if not _is_number(value) or int(value) != value or not low <= value <= high:
        raise ValueError(f"{name} must be {what} from {low} to {high}, got {value!r}")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def text(name: str, value: Any) -> str:
    """A string, possibly empty."""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a string, got {value!r}")
    return str(value)


def number_format(name: str, value: Any) -> str:
    """A Python format of floats, such as ".2f"."""
    try:
        format(0.5, text(name, value))
    except ValueError:
        raise ValueError(f"{name} must be a Python format of numbers such as '.2f', got {value!r}") from None
    return value


def words(name: str, values: Any) -> tuple[str, ...]:
    """A tuple of strings, from any sequence of them."""
    found = tuple(values) if np.iterable(values) and not isinstance(values, str) else (None,)
    if not all(isinstance(v, str) for v in found):
        raise ValueError(f"{name} must be a sequence of strings, got {values!r}")
    return found


def mapping(name: str, values: Any, kind: type | tuple[type, ...], what: str) -> dict[str, Any]:
    """A dict from names to ``kind``."""
    if not isinstance(values, Mapping):
        raise ValueError(f"{name} must map names to {what}, got {values!r}")
    for key, value in values.items():
        if not isinstance(key, str) or not key or not isinstance(value, kind):
            raise ValueError(f"{name}[{key!r}] must be {what}, under a name that is a string; got {value!r}")
    return dict(values)


def limits(name: str, limits: Any, *, log: bool = False) -> tuple[float, float] | None:
    """Two different numbers, far enough apart for an axis; reversed limits turn it round."""
    if limits is None:
        return None
    out = numbers(name, limits)
    if out.shape != (2,) or out[0] == out[1]:
        raise ValueError(f"{name} must be two different numbers, got {limits!r}")
    if log and out.min() <= 0:
        raise ValueError(f"{name} must be positive on a log axis, got {limits!r}")
    ends, largest = (np.log10(out), LARGEST_EXPONENT) if log else (out, LARGEST)
    if np.abs(ends).max() > largest or not wide_enough(*ends.tolist()):
        low, high = (f"1e-{largest}", f"1e{largest}") if log else (f"{-largest:g}", f"{largest:g}")
        raise ValueError(
            f"{name} must lie from {low} to {high} and differ by a share of at least {SMALLEST_SPAN:g}, got {limits!r}"
        )
    return float(out[0]), float(out[1])


def wide_enough(low: float, high: float) -> bool:
    """Whether two axis coordinates can be told apart on an axis between them."""
    return abs(high - low) >= SMALLEST_SPAN * max(1.0, abs(low), abs(high))


def tick_texts(name: str, values: Any, *, log: bool = False) -> dict[float, str] | None:
    """A dict {position: text}; the positions positive on a log axis."""
    if values is None:
        return None
    if not isinstance(values, Mapping):
        raise ValueError(f"{name} must map positions to texts, got {values!r}")
    for position, label in values.items():
        if not _is_number(position) or not isinstance(label, str) or (log and position <= 0):
            raise ValueError(
                f"{name} must map {'positive ' if log else ''}numbers to strings, got {position!r}: {label!r}"
            )
    return dict(values)


def known(name: str, value: Any, allowed: Any) -> str:
    """One of a few strings."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
    return str(value)
