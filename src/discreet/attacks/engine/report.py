"""What an audit found, in words, as JSON and as a page for a privacy officer."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.attacks.engine.verdicts import Score, line, weight
from discreet.attacks.games.game import VIEWS, View
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.ledger import Dataset, Ledger
from discreet.privacy.ledger.audits import KeptAudit
from discreet.reports import save_page, text_table

__all__ = ["AuditReport"]


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
        return max(self.scores, key=weight)

    @property
    def attacked(self) -> list[View]:
        """The views that some attack looked at, and saw something."""
        return [view for view in VIEWS if any(view in score.view and not score.blind for score in self.scores)]

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
            if any(view in score.view for score in self.scores):
                unseen[view] = "the model showed nothing there in any run"
            elif view in self.shown:
                unseen[view] = "choose attacks that look at them" if view != "white box" else "choose attacks on it"
            elif view == "white box":
                unseen[view] = "give the model a `release_`"
        return unseen

    @property
    def verdict(self) -> str:
        """What the audit found, which views it attacked and which it did not: two sentences at most."""
        seen = ", ".join(self.attacked) or "nothing"
        unseen = "; ".join(f"{view} not tested: {remedy}" for view, remedy in self.not_tested.items())
        return f"{self._finding()}. Attacked: {seen}" + (f"; {unseen}" if unseen else "")

    @property
    def headline(self) -> str:
        """What the audit found, in one line."""
        score = self.worst
        claim = score.claim
        if claim is None:
            return f"Nothing is claimed, and at least ε = {score.proved.epsilon:.2f} is lost."
        if score.verdict == "refuted":
            lost = f"{claim.measure} = {score.proved.of(claim.measure):.2f}"
            return f"Refuted: {claim} is claimed, and at least {lost} is lost."
        if score.verdict == "inconclusive":
            return f"Inconclusive: {'who is shown nothing' if score.blind else 'so few runs'} cannot refute {claim}."
        return f"No attack refutes the claim of {claim}{self._limits()}."

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
        if score.blind:
            return f"inconclusive: the model showed nothing in any run, so {claim} was not tested"
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
        return [line(score) for score in self.scores]

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
        from discreet.attacks.engine.page import page_of

        return page_of(self).html()

    def plot(self) -> Any:
        """An Altair chart: what each attack proves, what as many runs could have proved, and what is claimed."""
        from discreet.attacks.engine.showing import chart_of

        return chart_of(self)

    def _repr_html_(self) -> str:
        from discreet.attacks.engine.showing import card_of

        return card_of(self).html()

    @property
    def digest(self) -> str:
        """SHA-256 of the page: ``sha256sum audit.html`` shows the same."""
        return hashlib.sha256(self.html().encode()).hexdigest()

    def keep(self, ledger: Ledger, data: Dataset | str, *, page: str | Path | None = None) -> KeptAudit:
        """Record verdict, time and the hash of the page in a ledger; nothing is charged.

        Parameters
        ----------
        data
            The records that were played with, or the name of their population.
        page
            Where the page was saved.
        """
        claim = self.worst.claim
        return ledger.keep_audit(
            data,
            model=self.model,
            outcome=self.worst.verdict,
            verdict=self.verdict + (" (stopped before it was done)" if self.interrupted else ""),
            digest=self.digest,
            claim=None if claim is None else str(claim),
            settings=self.settings,
            saved_in=None if page is None else str(Path(page).resolve()),
        )

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the page to a file; a page of discreet that is there is replaced if ``overwrite``."""
        return save_page(self.html(), path, overwrite=overwrite)


def _runs(score: Score) -> str:
    return f"N = {score.runs_present:,}"
