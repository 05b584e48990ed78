"""The ledger judges what is measured, in both directions, and its page shows every claim."""

import json

import numpy as np
import pytest

from attsvm_lib import claims
from attsvm_lib.claims import VERDICTS, Claim, ClaimError, Criterion, check, table
from attsvm_lib.claims.record import Measured


def a_claim(**changes):
    criteria = (Criterion("distance", "distance to the limit", (0, 0.1), (0, 1), format=".2f"),)
    fields = dict(
        id="toy", source="none", statement="s", kind="theorem", paper="0", setup="s", tolerance="t",
        criteria=criteria, verdict="reproduced", why="",
    )  # fmt: skip
    return Claim(**{**fields, **changes})


@pytest.fixture
def toy(monkeypatch):
    """Put one claim on record; full size."""
    monkeypatch.setenv("ATTSVM_SIZE", "full")

    def put(**changes):
        monkeypatch.setitem(claims.LEDGER, "toy", a_claim(**changes))

    return put


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(0.0, "reproduced"), (0.1, "reproduced"), (0.5, "in kind only"), (1.5, "not reproduced"), (-1, "not reproduced")],
)
def test_a_criterion_turns_a_number_into_a_verdict(value, verdict):
    assert a_claim().criteria[0].verdict(value) == verdict


def test_check_prints_one_line_with_mean_spread_and_runs(toy, capsys):
    toy()
    check("toy", distance=[0.04, 0.06])
    assert capsys.readouterr().out == "[toy] reproduced: distance 0.05 +- 0.01 (2 runs) (required <= 0.1)\n"


def test_a_worse_verdict_than_on_record_raises(toy):
    toy()
    with pytest.raises(ClaimError, match="claim toy: measured verdict 'in kind only', on record 'reproduced'"):
        check("toy", distance=0.5)


def test_a_better_verdict_than_on_record_raises_too(toy):
    toy(verdict="not reproduced", why="because")
    with pytest.raises(ClaimError, match="measured verdict 'reproduced', on record 'not reproduced'"):
        check("toy", distance=0.05)


def test_the_worst_criterion_decides():
    pair = (Criterion("a", "", (0, 1)), Criterion("b", "", (0, 1), (0, 2)))
    claim = a_claim(criteria=pair)
    assert claim.judge([Measured.of(pair[0], 0.5), Measured.of(pair[1], 1.5)]) == "in kind only"


def test_quick_experiments_are_not_judged(toy, capsys, monkeypatch):
    toy()
    monkeypatch.setenv("ATTSVM_SIZE", "quick")
    check("toy", distance=0.5)
    assert "not judged at quick size" in capsys.readouterr().out


@pytest.mark.parametrize(
    "bad",
    [np.nan, np.inf, [], "a", "1", 1 + 0j, {}, {"a": 1}, None, np.ma.masked, np.ma.array([1, 2], mask=[0, 1]),
     [[1], [1, 2]], object()],
)  # fmt: skip
def test_measurements_must_be_finite_numbers(toy, bad):
    toy()
    with pytest.raises(ValueError, match="distance must hold finite numbers"):
        check("toy", distance=bad)


def test_unknown_claims_and_measurements_are_refused(toy):
    toy()
    for unknown in ("no-such-claim", [], None, 3):
        with pytest.raises(ValueError, match="claim_id must be one of"):
            check(unknown, distance=1)
    with pytest.raises(ValueError, match=r"claim toy needs exactly the measurements \['distance'\], got \['angle'\]"):
        check("toy", angle=1)


@pytest.mark.parametrize(
    "changes", [{"verdict": "in kind only"}, {"kind": "rumor"}, {"verdict": "not tried", "why": "w"}]
)
def test_incomplete_records_are_refused(changes):
    with pytest.raises(ValueError, match="claim toy"):
        a_claim(**changes)


@pytest.mark.parametrize("bounds", [(1, 0), (0, np.nan), (0,), 3, "ab", None, ("a", 1)])
def test_a_criterion_needs_an_ordered_range(bounds):
    with pytest.raises(ValueError, match=r"criterion distance: reproduced must be a range \(low, high\), low <= high"):
        Criterion("distance", "m", bounds)
    if bounds is not None:
        with pytest.raises(ValueError, match=r"criterion distance: in_kind must be a range"):
            Criterion("distance", "m", (0, 1), bounds)


def test_each_claim_of_the_ledger_is_complete_and_named_once():
    ids = [claim.id for group in claims.CHAPTERS.values() for claim in group]
    assert len(ids) == len(set(ids))
    for claim in claims.LEDGER.values():
        assert claim.verdict in VERDICTS
        assert all((claim.source, claim.statement, claim.paper, claim.setup, claim.tolerance))


def notebook(folder, name, text):
    cell = {"cell_type": "code", "outputs": [{"name": "stdout", "text": text.splitlines(keepends=True)}]}
    (folder / f"{name}.ipynb").write_text(json.dumps({"cells": [{"cell_type": "markdown"}, cell]}))


def test_links_are_lower_case_as_the_anchors_of_built_pages_are(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "CHAPTERS", {"chapter": (a_claim(id="path-KQ"),)})
    notebook(tmp_path, "chapter", "[path-KQ] reproduced: distance 0.05 (required <= 0.1)\n")
    assert '<a href="chapter.html#claim-path-kq">' in table(tmp_path).data


def test_the_page_shows_what_the_chapter_printed_and_escapes_it(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "CHAPTERS", {"chapter": (a_claim(statement="a < b"),)})
    notebook(tmp_path, "chapter", "other output\n[toy] reproduced: distance 0.05 (required <= 0.1)\n")
    page = table(tmp_path).data
    assert "distance 0.05 (required &lt;= 0.1). Here distance is the distance to the limit." in page
    assert '<a href="chapter.html#claim-toy">' in page
    assert "a &lt; b" in page


def test_a_claim_that_its_chapter_does_not_check_stops_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "CHAPTERS", {"chapter": (a_claim(),)})
    notebook(tmp_path, "chapter", "nothing\n")
    with pytest.raises(ClaimError, match="chapter.ipynb does not check it"):
        table(tmp_path)
