"""The page of an audit: what was found, a curve for each attack, and what was tried."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.attacks.engine.claims import Claim
from discreet.attacks.engine.verdicts import Score, line, weight
from discreet.common.arrays import Floats
from discreet.errors import PrivacyError
from discreet.privacy.losses import GaussianLoss
from discreet.privacy.numbers import as_fraction
from discreet.reports import BROAD, COLORS, NARROW, Page
from discreet.reports.page import Tone
from discreet.reports.theme import LIGHT

if TYPE_CHECKING:
    from discreet.attacks.engine.report import AuditReport

__all__ = ["allowed", "page_of", "roc", "roc_picture"]

SIDE, MARGIN = 220, 30
POINTS = 81
ORDER = ("attack", "verdict", "at least", "claimed", "ceiling", "TPR", "FPR", "runs", "view")
"""The columns of the page; the verdict is seen without scrolling."""

DELTAS = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.2, 0.4)
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
    "Each curve is one attack: how often it is right about records that were used (TPR), against how often it is wrong "
    "about records that were not (FPR), for every threshold. The shaded area is what the claim allows. A curve may "
    "leave it by chance where runs are few; the verdicts take that into account."
)
CLOSING = (
    "Nothing was charged for these fits and none of them was kept. What was played on real records is for their owner; "
    "this page is not for publication."
)


def page_of(report: AuditReport) -> Page:
    """The page of a report."""
    data = report.settings.get("data") or "the given records"
    seconds = sum(score.seconds for score in report.scores)
    lead = f"{len(report.scores)} attacks, on small datasets and on {data}, in {seconds:,.0f} seconds."
    made = Page(f"Audit of {report.model}", lead)
    tones: dict[str, Tone] = {"refuted": "bad", "consistent": "good", "inconclusive": "warn"}
    made.verdict(report.headline, tone=tones.get(report.worst.verdict, "warn"), more=f"{report.verdict}.")
    played = sorted(report.scores, key=weight, reverse=True)
    made.chart(
        overview(played),
        "How much of the claim each attack proves to be lost; beyond the line the claim is refuted. The light bars end "
        "where an attacker who is always right would have come with as many runs.",
        label="Bars: how much each attack proves to be lost, as a share of the claim. The table below has the numbers.",
        narrow=overview(played, narrow=True),
    )
    made.heading("What was tried")
    made.table(
        ORDER,
        [[dict(zip(report.headings(), line(score), strict=True))[name] for name in ORDER] for score in played],
        numbers=["runs", "TPR", "FPR", "at least", "ceiling", "claimed"],
        bad=[score.verdict == "refuted" for score in played],
        mark="verdict",
        details=[score.how for score in played],
    )
    made.text(READING)
    made.text(
        f"All bounds hold together with {report.confidence:.0%} confidence: each of {len(report.scores)} attacks was "
        f"held to {1 - report.scores[0].confidence:.2%} error. The attacker's rules were learned on runs that do not "
        "count here."
    )
    for note in report.notes:
        made.text(f"{note}.")
    made.heading("The attackers at every threshold")
    made.text(CURVES)
    made.pictures((roc_picture(one), _caption(one)) for one in played)
    made.heading("What is claimed")
    if report.guarantee is None:
        made.text("The model has no guarantee.")
    else:
        made.labelled(report.guarantee.describe())
    if report.not_tested or report.skipped:
        made.heading("What was not tried")
    if report.not_tested:
        made.table(["view", "how it can be tested"], list(report.not_tested.items()))
        made.text(UNSEEN)
    if report.skipped:
        rows = [[", ".join(names), reason] for reason, names in report.reasons().items()]
        made.table(["attacks", "why they were not played"], rows)
    made.text(CLOSING)
    return made


def _caption(score: Score) -> str:
    claim = "nothing is claimed" if score.claim is None else f"claimed {score.claim}"
    return f"{score.game}: {score.view}; {claim}"


def overview(scores: Sequence[Score], *, narrow: bool = False) -> Any:
    """A bar for each attack: what it proves to be lost as a share of the claim, or as ε where nothing is claimed."""
    import altair as alt

    claimed = any(score.claim is not None for score in scores)
    rows = [_bar(score, claimed) for score in scores if not claimed or (score.claim and score.claim.value)]
    title = "share of the claim that is lost" if claimed else "ε that is lost"
    base = alt.Chart(alt.Data(values=rows)).encode(y=alt.Y("attack:N", sort=None, title=None))
    colors = alt.Scale(domain=["refuted", "not refuted"], range=[LIGHT["bad"], COLORS[0]])
    x = alt.X("ceiling:Q", title=title, scale=alt.Scale(domainMin=0), axis=alt.Axis(tickCount=6))
    layers = [
        base.mark_bar(color=LIGHT["line"], height=alt.RelativeBandSize(band=0.7)).encode(x=x),
        base.mark_bar(height=alt.RelativeBandSize(band=0.7)).encode(
            x="lost:Q", color=alt.Color("verdict:N", scale=colors, legend=alt.Legend(orient="top", title=None))
        ),
    ]
    if claimed:
        rule = alt.Chart(alt.Data(values=[{"claim": 1}])).mark_rule(color=LIGHT["ink"], strokeWidth=2)
        layers.append(rule.encode(x="claim:Q"))
    fit = alt.AutoSizeParams(type="fit", contains="padding")
    size: dict[str, Any] = {"width": NARROW if narrow else BROAD, "height": 90 + 19 * len(rows)}
    axis: dict[str, Any] = {"labelLimit": 150 if narrow else 260, "labelFontSize": 11 if narrow else 12}
    return alt.layer(*layers).properties(**size, autosize=fit).configure_axisY(**axis, grid=False)


def _bar(score: Score, claimed: bool) -> dict[str, Any]:
    measure, whole = (score.claim.measure, score.claim.value) if claimed and score.claim else ("ε", 1.0)
    shown = {"lost": max(0.0, score.proved.of(measure)) / whole, "ceiling": score.ceiling.of(measure) / whole}
    told = {name: value if math.isfinite(value) else 0.0 for name, value in shown.items()}
    return {"attack": score.game, "verdict": "refuted" if score.verdict == "refuted" else "not refuted", **told}


def roc(score: Score) -> Floats:
    """Points (FPR, TPR) of the attacker for every threshold, from (0, 0) to (1, 1).

    Examples
    --------
    >>> from discreet.attacks.engine.verdicts import Proved
    >>> nothing = Proved(0.0, 0.0, 0.0)
    >>> found = Score("g", "white box", "user", None, 0.95, 1, 2, 0, 2, nothing, nothing,
    ...               scores_present=np.array([1.0, 3.0]), scores_absent=np.array([0.0, 2.0]))
    >>> roc(found).tolist()
    [[0.0, 0.0], [0.0, 0.5], [0.5, 0.5], [0.5, 1.0], [1.0, 1.0]]
    """
    present, absent = score.scores_present, score.scores_absent
    if not present.size or not absent.size:
        return np.array([[0.0, 0.0], [1.0, 1.0]])
    cuts = np.unique(np.concatenate([present, absent]))[::-1]
    true = 1 - np.searchsorted(np.sort(present), cuts, side="left") / present.size
    false = 1 - np.searchsorted(np.sort(absent), cuts, side="left") / absent.size
    return np.vstack([[0.0, 0.0], np.column_stack([false, true])])


def allowed(claim: Claim, false: Floats) -> Floats:
    """The largest TPR that a claim allows at each FPR.

    Examples
    --------
    >>> from discreet.privacy.losses import Pure
    >>> from fractions import Fraction
    >>> allowed(Claim(Pure(Fraction(1)), Fraction(0)), np.array([0.0, 0.1, 1.0])).round(3).tolist()
    [0.0, 0.272, 1.0]
    """
    from scipy.special import ndtr, ndtri

    if isinstance(claim.loss, GaussianLoss):
        return np.where(false >= 1, 1.0, ndtr(ndtri(np.clip(false, 0, 1)) + claim.loss.mu))
    most = np.ones_like(false)
    # Every (ε, δ) that the claim implies is a limit; a loss with many of them has the envelope.
    for delta in {float(claim.delta), *(() if claim.measure == "ε" else DELTAS)}:
        try:
            grown = math.exp(min(700.0, float(claim.loss.epsilon_at(as_fraction(delta, "delta")))))
        except PrivacyError:
            continue
        most = np.minimum(most, np.minimum(grown * false + delta, 1 - (1 - false - delta) / grown))
    return np.clip(most, 0, 1)


def roc_picture(score: Score) -> str:
    """The curve over the area of the claim, as SVG."""
    size = SIDE + 2 * MARGIN
    parts = [f'<svg viewBox="0 0 {size} {size}" role="img" aria-label="ROC of {score.game}">']
    if score.claim is not None:
        false = np.linspace(0, 1, POINTS)
        upper = np.column_stack([false, allowed(score.claim, false)])
        # The area is symmetric: an attacker may as well be wrong as often.
        lower = 1 - upper
        parts.append(f'<polygon points="{_points(np.vstack([upper, lower]))}" fill="{LIGHT["tint"]}"/>')
    box = f'<rect x="{MARGIN}" y="{MARGIN}" width="{SIDE}" height="{SIDE}" fill="none" stroke="{LIGHT["axis"]}"/>'
    parts += [box, _polyline(np.array([[0, 0], [1, 1]]), LIGHT["axis"], 'stroke-dasharray="4 4"')]
    curve = LIGHT["bad"] if score.verdict == "refuted" else LIGHT["ink"]
    parts.append(_polyline(roc(score), curve, 'stroke-width="2.5"'))
    rates = score.false_alarms / max(1, score.runs_absent), score.hits / max(1, score.runs_present)
    x, y = _place(*rates)
    parts.append(f'<circle cx="{x}" cy="{y}" r="5" fill="{COLORS[3]}"><title>the rule that was used</title></circle>')
    low, high = MARGIN, MARGIN + SIDE
    for text, x, y, turn in (
        ("FPR", size / 2, high + 22, 0),
        ("TPR", low - 9, size / 2, -90),
        ("0", low, high + 22, 0),
        ("1", high - 4, high + 22, 0),
        ("1", low - 12, low + 12, 0),
    ):
        words = f'font-size="18" fill="{LIGHT["soft"]}" text-anchor="middle" transform="rotate({turn} {x} {y})"'
        parts.append(f'<text x="{x}" y="{y}" {words}>{text}</text>')
    return "".join([*parts, "</svg>"])


def _polyline(points: Floats, color: str, more: str) -> str:
    return f'<polyline points="{_points(points)}" fill="none" stroke="{color}" {more}/>'


def _points(points: Floats) -> str:
    if points.shape[0] > 400:
        points = points[np.linspace(0, points.shape[0] - 1, 400).round().astype(int)]
    return " ".join("{},{}".format(*_place(*point)) for point in points)


def _place(false: float, true: float) -> tuple[float, float]:
    return round(MARGIN + SIDE * float(false), 1), round(MARGIN + SIDE * (1 - float(true)), 1)
