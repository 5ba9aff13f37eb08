"""`--round` and `--after`: one round of a method, for several curators who combine their releases."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import typer

from discreet.cli.console import answer_json, note, working
from discreet.cli.spending import Spending, answer_release, release_facts, saved
from discreet.errors import ReleaseError, UsageError

__all__ = ["CuratorRound"]


@dataclass(frozen=True, kw_only=True)
class CuratorRound:
    """Which round is released, and what came before it."""

    PANEL: ClassVar = "Several curators"

    round: Annotated[
        int | None,
        typer.Option("--round", min=1, help="Release this round alone, to be combined with those of other curators."),
    ] = None
    after: Annotated[
        Path | None, typer.Option("--after", metavar="FOLDER", help="The combination of the round before.")
    ] = None

    @property
    def asked(self) -> bool:
        """Whether one round is wanted, and not the whole method."""
        return self.round is not None or self.after is not None

    def run(self, method: Any, records: Any, spending: Spending, *sources: Path | None, **options: Any) -> None:
        """Release the round, save it, and say what it guarantees."""
        from discreet.combining.rounds import OneRound
        from discreet.common.folders import RELEASE
        from discreet.privacy import Release
        from discreet.privacy.method import Method

        if not isinstance(method, Method):
            raise UsageError(f"{method.name} protects nobody: it has no rounds to be combined.")
        if (self.round or 2) > 1 and self.after is None:
            raise UsageError(
                f"round {self.round} needs the combination of the round before.", remedy="Give --after FOLDER."
            )
        one = OneRound(method, None if self.after is None else Release.load(self.after))
        if self.round not in (None, one.number):
            raise ReleaseError(f"{self.after} is round {one.number - 1}: what follows is round {one.number}.")
        ledger, place = spending.opened(), spending.place(spending.out, RELEASE, *sources, self.after)
        with working(one.name):
            release = one.release(records, ledger=ledger, allow_refuted=spending.allow_refuted, **options)
        folder = saved(release.save, place)
        if spending.as_json:
            answer_json(release_facts(release, folder))
            return
        answer_release(release, folder)
        note(
            "combine it with the rounds of the others: discreet release combine FOLDER FOLDER … --disjoint-people "
            "--out FOLDER (or --people-may-overlap)"
        )
