"""What an audit found, in words, as JSON and as a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.attacks.audit.verdicts import Score
from discreet.errors import ReleaseError
from discreet.privacy.guarantees import Guarantee

__all__ = ["AuditReport"]


@dataclass(frozen=True, eq=False)
class AuditReport:
    """The outcome of an audit.

    Parameters
    ----------
    model, settings
        What was audited, and how.
    guarantee
        What the model promises; None for one that promises nothing.
    confidence
        How sure all bounds together are.
    scores
        One for each attack that was played.
    skipped
        The other attacks, with the reason.
    """

    model: str
    settings: Mapping[str, Any]
    guarantee: Guarantee | None
    confidence: float
    scores: tuple[Score, ...]
    skipped: Mapping[str, str]

    def __getitem__(self, game: str) -> Score:
        """The score of a game."""
        for score in self.scores:
            if score.game == game:
                return score
        raise KeyError(game)

    @property
    def refuted(self) -> bool:
        """Whether some attack proves more than the model claims."""
        return any(score.verdict == "refuted" for score in self.scores)

    @property
    def worst(self) -> Score:
        """The attack that decides: one that refutes, else the one that proves most of its claim."""
        return max(self.scores, key=_weight)

    @property
    def verdict(self) -> str:
        """One sentence."""
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
            enough = "no number of runs could" if needed is None else f"needs N ≥ {needed:,} runs in each world"
            return f"inconclusive: {enough} (claimed {claim}; {_runs(score)} can show at most {most:.2f})"
        return (
            f"consistent with {claim}: the attacks prove at least {claim.measure} = {shown:.3g} at {sure}; "
            f"{_runs(score)} could have shown up to {most:.2f}"
        )

    # On paper

    @staticmethod
    def headings() -> list[str]:
        """The columns of the printed table."""
        return ["attack", "view", "runs", "TPR", "FPR", "at least", "ceiling", "claimed", "verdict"]

    def cells(self) -> list[list[str]]:
        """The printed table, line by line."""
        return [_line(score) for score in self.scores]

    def __str__(self) -> str:
        lines = [self.headings(), *self.cells()]
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        return "\n".join([f"{self.model}: {self.verdict}", "", *table])

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
        }

    def html(self) -> str:
        """A page to open in a browser: one file, no scripts, nothing loaded from elsewhere."""
        from discreet.attacks.audit.page import page

        return page(self)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file."""
        target = Path(path)
        try:
            target.write_text(self.html(), encoding="utf-8")
        except OSError as error:
            raise ReleaseError(f"cannot write {target}: {error.strerror or error}.") from error
        return target


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
