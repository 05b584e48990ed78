"""Input checks shared by the scene types."""

from __future__ import annotations

from typing import Any

import numpy as np


def numbers(name: str, values: Any, *, nan: bool = False) -> np.ndarray:
    """A read-only float64 copy of ``values``; NaN only if allowed, infinities never."""
    try:
        out = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of real numbers, got {values!r}") from None
    bad = np.isinf(out) if nan else ~np.isfinite(out)
    if bad.any():
        raise ValueError(f"{name} must be finite{' or NaN (absent)' if nan else ''}, got {out[bad].ravel()[0]}")
    out.flags.writeable = False
    return out


def limits(name: str, limits: Any) -> tuple[float, float] | None:
    """Two different finite numbers; reversed limits turn the axis round."""
    if limits is None:
        return None
    out = numbers(name, limits)
    if out.shape != (2,) or out[0] == out[1]:
        raise ValueError(f"{name} must be two different numbers, got {limits!r}")
    return float(out[0]), float(out[1])


def known(name: str, value: str, allowed: Any) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")
