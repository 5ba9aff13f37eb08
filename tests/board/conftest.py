"""A ledger of one year of a shop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.data.periods import Window
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.ledger import Ledger, Spend
from discreet.privacy.losses import GaussianLoss, Loss, Pure
from discreet.privacy.units import Unit

START = datetime(2026, 1, 5, 2, tzinfo=UTC)


@dataclass
class Shop:
    """A ledger whose clock is set by hand."""

    ledger: Ledger
    now: datetime = START

    def charge(
        self,
        people: str = "customers",
        loss: Loss | str = "1/10",
        *,
        standing: Standing = Standing.PROVED,
        mechanism: str = "item-counts",
        window: str | None = None,
        **parameters: object,
    ) -> Spend:
        lost = Pure(Fraction(loss)) if isinstance(loss, str) else loss
        told = Guarantee(lost, Unit("user"), standing, "Theorem 2", "noisy counts of 12 items")
        spend = self.ledger.charge(
            people,
            told,
            mechanism=mechanism,
            parameters=parameters,
            allow_refuted=True,
            window=None if window is None else Window.of(window),
        )
        with spend:
            spend.settle("ab" * 16)
        spend.note_saved()
        return spend

    def series(self, people: str, steps: int, nights: list[int], missed: tuple[int, ...] = ()) -> Spend:
        """A series that was opened now, with steps on some of the nights that follow."""
        spend = self.charge(people, GaussianLoss(Fraction(1, 50)), mechanism="series of x", series="s", steps=steps)
        begin = self.now
        for night in nights:
            self.now = begin + timedelta(days=night, hours=1)
            self.ledger.record_step(spend.id, "s", night, f"{night}", missed=night in missed)
        return spend


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    made: list[Shop] = []
    clock: Callable[[], datetime] = lambda: made[0].now  # noqa: E731
    made.append(Shop(Ledger(tmp_path / "budget.db", who="nightly@shop", clock=clock)))
    return made[0]
