"""What a claim is: a statement of a source, our criteria for it, and the verdict on record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from attsvm_lib.validation import real_array

__all__ = ["KINDS", "VERDICTS", "Claim", "Criterion", "Measured"]

VERDICTS = ("reproduced", "in kind only", "not reproduced", "not tried")
KINDS = ("theorem", "simulated", "conjectured", "popular account")


@dataclass(frozen=True)
class Criterion:
    """One measured quantity of a claim, and the ranges that decide.

    Attributes
    ----------
    name : str
        Keyword under which `check` takes the measurement.
    meaning : str
        What is measured, with its unit.
    reproduced : (float, float)
        Closed range in which the claim counts as reproduced.
    in_kind : (float, float), optional
        Wider range in which it holds in kind only.
    format : str
        How the number is printed: as many digits as are the same on every machine.
    """

    name: str
    meaning: str
    reproduced: tuple[float, float]
    in_kind: tuple[float, float] | None = None
    format: str = ".3g"

    def __post_init__(self):
        for key in ("reproduced", "in_kind"):
            self._check_range(key, getattr(self, key))

    def _check_range(self, key, bounds):
        if key == "in_kind" and bounds is None:
            return
        pair = np.array(bounds if isinstance(bounds, (tuple, list)) else ())
        if pair.shape != (2,) or pair.dtype.kind not in "iuf" or not pair[0] <= pair[1]:
            raise ValueError(f"criterion {self.name}: {key} must be a range (low, high), low <= high, got {bounds!r}")

    def verdict(self, value):
        """The verdict on one number."""
        for verdict, bounds in (("reproduced", self.reproduced), ("in kind only", self.in_kind)):
            if bounds is not None and bounds[0] <= value <= bounds[1]:
                return verdict
        return "not reproduced"

    def required(self):
        """The range as text, such as "<= 0.001"."""
        low, high = self.reproduced
        if low == high:
            return f"= {low:g}"
        if np.isinf(high):
            return f">= {low:g}"
        return f"<= {high:g}" if low in (0, -np.inf) else f"{low:g} to {high:g}"


@dataclass(frozen=True)
class Measured:
    """A criterion with its measurement: the mean decides, spread (standard deviation) and count are shown."""

    criterion: Criterion
    mean: float
    spread: float
    count: int

    @classmethod
    def of(cls, criterion, value):
        """From one real number, or an array of one number a run; anything else, NaN, masked or empty is refused."""
        try:
            values = real_array(criterion.name, value).ravel()
        except ValueError:
            raise ValueError(
                f"{criterion.name} must hold finite numbers, at least one and none masked, got {value!r}"
            ) from None
        return cls(criterion, float(values.mean()), float(values.std()), values.size)

    def __str__(self):
        form = self.criterion.format
        text = f"{self.criterion.name} {self.mean:{form}}"
        if self.count > 1:
            text += f" +- {self.spread:{form}} ({self.count} runs)"
        return f"{text} (required {self.criterion.required()})"


@dataclass(frozen=True)
class Claim:
    """A row of the ledger.

    Attributes
    ----------
    id : str
        Name used in the chapters.
    source : str
        arXiv id and section.
    statement : str
        The claim in our words.
    kind : str
        One of `KINDS`: proved, simulated or conjectured in the source, or said in popular accounts.
    paper : str
        The source's value, or "read by eye" where it shows a plot only.
    setup : str
        Our setup, with every default the source leaves out.
    tolerance : str
        Where the criteria come from.
    criteria : tuple of Criterion
    verdict : str
        The verdict on record, one of `VERDICTS`; the worst criterion decides.
    why : str
        Deviations and their reasons; needed unless the verdict is "reproduced".
    """

    id: str
    source: str
    statement: str
    kind: str
    paper: str
    setup: str
    tolerance: str
    criteria: tuple[Criterion, ...]
    verdict: str
    why: str = ""

    def __post_init__(self):
        if self.kind not in KINDS or self.verdict not in VERDICTS:
            raise ValueError(f"claim {self.id}: kind must be one of {KINDS} and verdict one of {VERDICTS}")
        if self.verdict != "reproduced" and not self.why:
            raise ValueError(f"claim {self.id}: a verdict of {self.verdict!r} needs a why")
        if (self.verdict == "not tried") == bool(self.criteria):
            raise ValueError(f"claim {self.id}: criteria are needed exactly when it was tried")

    def judge(self, measured):
        """The verdict that the measurements give."""
        return max((m.criterion.verdict(m.mean) for m in measured), key=VERDICTS.index)
