"""Small streams for tests of series."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from discreet.data.interactions import Interactions
from discreet.privacy.ledger import Ledger

ITEMS = [f"i{number}" for number in range(10)]


def visits(rows: list[tuple[Any, str, int]], *, repeats: bool = True) -> Interactions:
    """Records (user, item, time) of a shop with ten items."""
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("user_id", "item_id", "timestamp"))}
    return Interactions(columns, items=ITEMS, duplicates="keep" if repeats else "error", name="shop")


@pytest.fixture
def nights() -> list[Interactions]:
    """Four nights with three records each of ten people."""
    return [
        visits([(f"u{user}", ITEMS[(user + step + k) % 10], 100 * step + k) for user in range(10) for k in range(3)])
        for step in range(4)
    ]


@pytest.fixture
def ledger(tmp_path: Path, nights: list[Interactions]) -> Ledger:
    """A ledger with an account for the people of the shop."""
    ledger = Ledger(tmp_path / "budget.db")
    ledger.open(nights[0], epsilon=10**7, delta="1e-5", name="customers")
    return ledger
