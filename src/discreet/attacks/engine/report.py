"""What an audit found, in words, as JSON and as a page for a privacy officer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.attacks.engine.claims import Claim
from discreet.attacks.engine.verdicts import Score
from discreet.attacks.games.game import VIEWS, View
from discreet.common.arrays import Floats
from discreet.errors import PrivacyError
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.losses import GaussianLoss
from discreet.privacy.numbers import as_fraction
from discreet.reports import Page, save_page, text_table

__all__ = ["AuditReport", "allowed", "roc", "roc_picture"]

SIDE, MARGIN = 220, 26
POINTS = 81
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
    "Each curve is one attack: how often it is right about records that were used, against how often it is wrong about "
    "records that were not, for every threshold. The shaded area is what the claim allows. A curve may leave it by "
    "chance where runs are few; the verdicts take that into account."
)
CLOSING = (
    "Nothing was charged for these fits and none of them was kept. What was played on real records is for their owner; "
    "this page is not for publication."
)


@dataclass(frozen=True, eq=False)
class AuditReport:
    """The outcome of an audit.

    Parameters
    ----------
    model, settings
        What was audited, and how.
    guarantee
        The guarantee of the model; None for one that claims nothing.
    confidence
        How sure all bounds together are.
    scores
        One for each attack that was played.
    skipped
        The other attacks, with the reason.
    notes
        What else there is to say: about the noise of the model, about how the audit was played.
    interrupted
        Whether somebody stopped it before it was done.
    shown
        The views that the model offers. An audit that did not attack all of them says so.
    """

    model: str
    settings: Mapping[str, Any]
    guarantee: Guarantee | None
    confidence: float
    scores: tuple[Score, ...]
    skipped: Mapping[str, str]
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    shown: frozenset[View] = frozenset()

    def __getitem__(self, game: str) -> Score:
        """The score of a game."""
        return {score.game: score for score in self.scores}[game]

    @property
    def refuted(self) -> bool:
        """Whether some attack proves more than the model claims."""
        return any(score.verdict == "refuted" for score in self.scores)

    @property
    def worst(self) -> Score:
        """The attack that decides: one that refutes, else the one that proves most of its claim."""
        return max(self.scores, key=_weight)

    @property
    def attacked(self) -> list[View]:
        """The views that some attack looked at."""
        return [view for view in VIEWS if any(view in score.view for score in self.scores)]

    @property
    def not_tested(self) -> dict[View, str]:
        """The views that no attack looked at, each with what to do about it.

        Every system has something that it keeps after training, so the white box is among them where the model has no
        ``release_``. Other views are among them where the model offers them.
        """
        unseen: dict[View, str] = {}
        for view in VIEWS:
            if view in self.attacked:
                continue
            if view in self.shown:
                unseen[view] = "choose attacks that look at them" if view != "white box" else "choose attacks on it"
            elif view == "white box":
                unseen[view] = "give the model a `release_`"
        return unseen

    @property
    def verdict(self) -> str:
        """What the audit found, which views it attacked and which it did not: two sentences at most."""
        seen = ", ".join(self.attacked)
        unseen = "; ".join(f"{view} not tested: {remedy}" for view, remedy in self.not_tested.items())
        return f"{self._finding()}. Attacked: {seen}" + (f"; {unseen}" if unseen else "")

    def _finding(self) -> str:
        score, sure = self.worst, f"{self.confidence:.0%}".replace("%", " %")
        claim = score.claim
        if claim is None:
            return (
                f"at least ε = {score.proved.epsilon:.2f} at {sure} ({score.game}, {score.view}); nothing is claimed "
                f"about it, and {_runs(score)} could have shown up to {score.ceiling.epsilon:.2f}"
            )
        shown, most = score.proved.of(claim.measure), score.ceiling.of(claim.measure)
        if score.verdict == "refuted":
            found = f"{claim.measure} = {shown:.2f}" if claim.measure != "ε" else f"{score.proved.epsilon:.2f}"
            return f"REFUTED: at least {found} at {sure} (claimed {claim}; {score.game}, {score.view})"
        if score.verdict == "inconclusive":
            needed = score.needs
            enough = "no number of runs could" if needed is None else f"needs N ≥ {needed:,} runs on each dataset"
            return f"inconclusive: {enough} (claimed {claim}; {_runs(score)} can show at most {most:.2f})"
        return (
            f"consistent with {claim}{self._limits()}: the attacks prove at least {claim.measure} = {shown:.3g} "
            f"at {sure}; {_runs(score)} could have shown up to {most:.2f}"
        )

    def _limits(self) -> str:
        """What "consistent" is restricted to where the release was not seen."""
        if "white box" in self.attacked:
            return ""
        return f" as far as {' and '.join(self.attacked)} show"

    @staticmethod
    def headings() -> list[str]:
        """The columns of the printed table."""
        return ["attack", "view", "runs", "TPR", "FPR", "at least", "ceiling", "claimed", "verdict"]

    def cells(self) -> list[list[str]]:
        """The printed table, line by line."""
        return [_line(score) for score in self.scores]

    def __str__(self) -> str:
        table = text_table(self.headings(), self.cells())
        unplayed = [f"not played: {', '.join(names)} ({reason})" for reason, names in self.reasons().items()]
        head = [f"{self.model}: {self.verdict}.", *self.notes, ""]
        return "\n".join([*head, table, *([""] if unplayed else []), *unplayed])

    def reasons(self) -> dict[str, list[str]]:
        """Why attacks were not played, and which those are."""
        found: dict[str, list[str]] = {}
        for name, reason in self.skipped.items():
            found.setdefault(reason.rstrip("."), []).append(name)
        return found

    def to_json(self) -> dict[str, Any]:
        """The report as JSON-like values."""
        return {
            "model": self.model,
            "settings": dict(self.settings),
            "guarantee": None if self.guarantee is None else self.guarantee.to_json(),
            "confidence": self.confidence,
            "verdict": self.verdict,
            "refuted": self.refuted,
            "scores": [score.to_json() for score in self.scores],
            "skipped": dict(self.skipped),
            "notes": list(self.notes),
            "interrupted": self.interrupted,
            "attacked": list(self.attacked),
            "not_tested": dict(self.not_tested),
        }

    def html(self) -> str:
        """A page to open in a browser: one file, no scripts, nothing loaded from elsewhere."""
        return _page(self)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page to a file; a page of discreet that is there is replaced if ``overwrite``."""
        return save_page(self.html(), path, overwrite=overwrite)


def _weight(score: Score) -> tuple[int, float]:
    """Refuted before consistent before inconclusive before nothing claimed, and within each the more the higher."""
    order = {"no claim": 0, "inconclusive": 1, "consistent": 2, "refuted": 3}[score.verdict]
    claim = score.claim
    if claim is None:
        return order, score.proved.epsilon
    return order, max(score.proved.of(claim.measure) / claim.value if claim.value else 0.0, 0.0)


def _runs(score: Score) -> str:
    return f"N = {score.runs_present:,}"


def _line(score: Score) -> list[str]:
    claim = score.claim
    measure = "ε" if claim is None else claim.measure
    return [
        score.game,
        score.view,
        f"{score.runs_present:,}",
        f"{score.hits / max(1, score.runs_present):.3f}",
        f"{score.false_alarms / max(1, score.runs_absent):.3f}",
        f"{measure} {score.proved.of(measure):.3f}",
        f"{score.ceiling.of(measure):.2f}",
        "–" if claim is None else f"{measure} {claim.value:.3g}",
        "REFUTED" if score.verdict == "refuted" else score.verdict,
    ]


# The page


def _page(report: AuditReport) -> str:
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
        parts.append(f'<polygon points="{_points(np.vstack([upper, lower]))}" fill="#dfeae8"/>')
    box = f'<rect x="{MARGIN}" y="{MARGIN}" width="{SIDE}" height="{SIDE}" fill="none" stroke="#c5ccd4"/>'
    parts += [box, _polyline(np.array([[0, 0], [1, 1]]), "#c5ccd4", 'stroke-dasharray="4 4"')]
    parts.append(_polyline(roc(score), "#b3392b" if score.verdict == "refuted" else "#1d2430", 'stroke-width="2"'))
    rates = score.false_alarms / max(1, score.runs_absent), score.hits / max(1, score.runs_present)
    x, y = _place(*rates)
    parts.append(f'<circle cx="{x}" cy="{y}" r="4" fill="#c79a2b"><title>the rule that was used</title></circle>')
    for text, x, y, turn in (("FPR", size / 2, size - 6, 0), ("TPR", 14, size / 2, -90)):
        words = f'font-size="12" fill="#5b6675" text-anchor="middle" transform="rotate({turn} {x} {y})"'
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
