"""The ledger: what the sources claim, how we measure it, and the verdict on record.

A chapter calls `check` with what it has just measured. It prints one line, and raises when the verdict differs
from the one on record, in either direction: a claim that starts to hold is as much news as one that stops.
`table` collects these lines from the chapters, which the tests re-execute, into the page of claims.
"""

from __future__ import annotations

import html
import json
from pathlib import Path

from attsvm_lib.claims import (
    circle,
    gen_svm,
    global_convergence,
    implicit_bias,
    local_convergence,
    one_cluster,
    particles,
    sequences,
    token_selection,
    two_time_scales,
)
from attsvm_lib.claims.record import KINDS, VERDICTS, Claim, Criterion, Measured

__all__ = ["KINDS", "LEDGER", "VERDICTS", "Claim", "ClaimError", "Criterion", "check", "summary", "table"]

CHAPTERS = {
    "token_selection": token_selection.CLAIMS,
    "implicit_bias": implicit_bias.CLAIMS,
    "global_convergence": global_convergence.CLAIMS,
    "local_convergence": local_convergence.CLAIMS,
    "gen_svm": gen_svm.CLAIMS,
    "sequences": sequences.CLAIMS,
    "particles": particles.CLAIMS,
    "one_cluster": one_cluster.CLAIMS,
    "two_time_scales": two_time_scales.CLAIMS,
    "circle": circle.CLAIMS,
}


class ClaimError(AssertionError):
    """The measured verdict is not the one on record."""


LEDGER = {claim.id: claim for claims in CHAPTERS.values() for claim in claims}
"""All claims by id."""


def check(claim_id, **measured):
    """Judge a claim by what was measured: print one line, raise when the verdict is not the one on record.

    Parameters
    ----------
    claim_id : str
        Id in the ledger.
    **measured : float or array
        One entry for each criterion; an array holds one number a run (the mean decides).

    Raises
    ------
    ClaimError
        When the verdict differs from the one on record. Experiments of quick size are printed, not judged.
    ValueError
        When the claim or a criterion is unknown or missing, or a measurement is no finite real number.
    """
    from attsvm_lib.experiments import default_size

    if not isinstance(claim_id, str) or claim_id not in LEDGER:
        raise ValueError(f"claim_id must be one of {', '.join(LEDGER)}, got {claim_id!r}")
    claim = LEDGER[claim_id]
    names = [criterion.name for criterion in claim.criteria]
    if set(measured) != set(names):
        raise ValueError(f"claim {claim_id} needs exactly the measurements {names}, got {sorted(measured)}")
    results = [Measured.of(criterion, measured[criterion.name]) for criterion in claim.criteria]
    verdict = claim.judge(results)
    judged = default_size() == "full"
    print(f"[{claim_id}] {verdict if judged else 'not judged at quick size'}: " + "; ".join(map(str, results)))
    if judged and verdict != claim.verdict:
        raise ClaimError(f"claim {claim_id}: measured verdict {verdict!r}, on record {claim.verdict!r}")


def printed_lines(chapter):
    """The lines that `check` printed in a chapter, by claim id, from the outputs stored in its notebook."""
    cells = json.loads(Path(chapter).read_text(encoding="utf-8"))["cells"]
    outputs = [out for cell in cells if cell["cell_type"] == "code" for out in cell["outputs"]]
    text = "".join("".join(out.get("text", "")) for out in outputs if out.get("name") == "stdout")
    lines = [line for line in text.splitlines() if line.startswith("[") and "] " in line]
    return {line[1 : line.index("]")]: line[line.index("]") + 2 :] for line in lines}


def summary():
    """Print how many claims of each chapter have each verdict."""
    for chapter, group in CHAPTERS.items():
        counts = {verdict: sum(claim.verdict == verdict for claim in group) for verdict in VERDICTS}
        print(f"{chapter}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count))


def table(folder="."):
    """The page of claims, as HTML: source, statement, paper, ours, tolerance, verdict, why, and a link to the cell.

    Parameters
    ----------
    folder : path
        Where the chapters' notebooks are.

    Raises
    ------
    ClaimError
        When a claim on record as tried was not checked in its chapter.
    """
    from IPython.display import HTML

    rows = []
    for chapter, claims in CHAPTERS.items():
        lines = printed_lines(Path(folder) / f"{chapter}.ipynb")
        for claim in claims:
            if claim.id not in lines and claim.verdict != "not tried":
                raise ClaimError(f"claim {claim.id} is on record as tried, but {chapter}.ipynb does not check it")
            rows.append(_card(claim, chapter, lines.get(claim.id, "")))
    return HTML("\n".join(rows))


def _card(claim, chapter, line):
    ours = line.partition(": ")[2]
    meaning = "; ".join(f"{c.name} is the {c.meaning}" for c in claim.criteria)
    fields = {
        "Source": f"{claim.source} ({claim.kind})",
        "Paper": claim.paper,
        "Ours": f"{ours}. Here {meaning}." if ours else "",
        "Setup": claim.setup,
        "Tolerance": claim.tolerance,
        "Why": claim.why,
    }
    rows = "".join(f"<dt>{name}</dt><dd>{html.escape(text)}</dd>" for name, text in fields.items() if text)
    mark = {"reproduced": "✓", "in kind only": "≈", "not reproduced": "✗", "not tried": "–"}[claim.verdict]
    cell = f"{chapter}.html#claim-{claim.id.lower()}"  # Sphinx writes anchors in lower case
    return (
        f'<section class="claim" id="{claim.id}"><p class="claim-head"><code>{claim.id}</code> '
        f'<strong>{mark} {claim.verdict}</strong> <a href="{cell}">see it measured</a></p>'
        f"<p>{html.escape(claim.statement)}</p><dl>{rows}</dl></section>"
    )
