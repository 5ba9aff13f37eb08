"""The report of an audit as a page for a privacy officer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.attacks.engine.curves import roc_picture
from discreet.reports import Page

if TYPE_CHECKING:
    from discreet.attacks.engine.report import AuditReport

__all__ = ["page"]

READING = (
    "A model keeps its guarantee if nobody can tell, much better than by chance, whether a person's records were used. "
    "So the model was fitted many times with such records and many times without, and an attacker who knows the method "
    "and all other records said each time which it was. TPR is how often it said “used” when they were, FPR how "
    "often when they were not. A guarantee limits how far these two can be apart; “at least” is the smallest loss of "
    "privacy that the counts leave possible, “ceiling” what an attacker who is always right would have shown with as "
    "many runs. More than the claim refutes it. Less does not prove it: that is what proofs are for."
)
UNSEEN = (
    "Nothing is known about views that were not tested. Most mistakes show in the release first: a model that is seen "
    "through its answers alone can lose far more than these attacks show."
)
CURVES = (
    "Each curve is one attack: how often it is right about records that were used, against how often it is wrong about "
    "records that were not, for every threshold. The shaded area is what the claim allows. A curve may leave it by "
    "chance where runs are few; the verdicts take that into account."
)
CLOSING = (
    "Nothing was charged for these fits and none of them was kept. What was played on real records is for their owner; "
    "this page is not for publication."
)


def page(report: AuditReport) -> str:
    """The page as HTML."""
    data = report.settings.get("data") or "the given records"
    seconds = sum(score.seconds for score in report.scores)
    lead = f"{len(report.scores)} attacks, on small datasets and on {data}, in {seconds:,.0f} seconds."
    made = Page(f"Audit of {report.model}", lead)
    made.verdict(f"{report.verdict}.", bad=report.refuted)
    made.text("The model has no guarantee." if report.guarantee is None else f"Its guarantee: {report.guarantee}")
    made.heading("What was tried")
    made.table(
        [*report.headings(), "how"],
        [[*line, score.how] for line, score in zip(report.cells(), report.scores, strict=True)],
        bad=[score.verdict == "refuted" for score in report.scores],
    )
    made.text(READING)
    made.text(
        f"All bounds hold together with {report.confidence:.0%} confidence: each of {len(report.scores)} attacks was "
        f"held to {1 - report.scores[0].confidence:.2%} error. The attacker's rules were learned on runs that do not "
        "count here."
    )
    made.heading("How well the attackers do")
    made.text(CURVES)
    claims = ["nothing is claimed" if one.claim is None else f"claimed {one.claim}" for one in report.scores]
    captions = [f"{one.game}: {one.view}; {claim}" for one, claim in zip(report.scores, claims, strict=True)]
    made.pictures(zip(map(roc_picture, report.scores), captions, strict=True))
    if report.not_tested or report.skipped:
        made.heading("What was not tried")
    if report.not_tested:
        made.table(["view", "how it can be tested"], list(report.not_tested.items()))
        made.text(UNSEEN)
    if report.skipped:
        rows = [[", ".join(names), reason] for reason, names in report.reasons().items()]
        made.table(["attacks", "why they were not played"], rows)
    made.text(CLOSING)
    return made.html()
