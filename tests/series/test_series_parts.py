"""A series that is given its records in parts has the state and the releases that it has in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from tests.engines.test_scanning import Replayed

import discreet as dc
from discreet.errors import DataError, UsageError
from discreet.models.registry import create
from discreet.privacy import entropy

ITEMS = [f"i{number}" for number in range(12)]


def nights(*, whole_numbers: bool, complete: bool) -> list[pl.DataFrame]:
    """Three steps of 40 people, who come with 0 to 9 records a step; ids of several lengths are sorted by size."""
    rng = np.random.default_rng(7)
    steps, before = [], pl.DataFrame()
    for step in range(3):
        many = rng.integers(0, 10, 40)
        user = np.repeat(np.arange(40) * 7, many)
        frame = pl.DataFrame(
            {
                "user_id": user if whole_numbers else [f"u{one}" for one in user],
                "item_id": [ITEMS[one] for one in rng.integers(0, 12, user.size)],
                "rating": rng.integers(1, 6, user.size).astype(float),
                "timestamp": rng.integers(step * 100, step * 100 + 60, user.size),
                "device": [("phone", "desk")[one] for one in rng.integers(0, 2, user.size)],
            }
        )
        before = pl.concat([before, frame], how="diagonal")
        steps.append(before if complete else frame)
    return [one.unique(["user_id", "item_id"], maintain_order=True) for one in steps]


def told(series: Any, records: list[Any]) -> list[Any]:
    """All that a series is and releases, with fixed randomness."""
    found: list[Any] = []
    with (
        mock.patch.object(entropy, "random_bytes", Replayed()),
        mock.patch.object(entropy, "bounding_key", return_value=(1, 2)),
    ):
        for step, tonight in enumerate(records):
            release = series.advance(tonight)
            found += [] if release is None else [(step, release.guarantee, dict(release.parts))]
            found.append({name: table.clone() for name, table in series._state.people.tables.items()})
    return found


def require_equal(one: Any, two: Any) -> None:
    assert type(one) is type(two)
    if isinstance(one, pl.DataFrame):
        assert one.equals(two, null_equal=True)
    elif isinstance(one, np.ndarray):
        assert np.array_equal(one, two)
    elif isinstance(one, dict):
        assert one.keys() == two.keys()
        for name in one:
            require_equal(one[name], two[name])
    elif isinstance(one, list | tuple):
        assert len(one) == len(two)
        for mine, theirs in zip(one, two, strict=True):
            require_equal(mine, theirs)
    else:
        assert one == two


@pytest.mark.parametrize("complete", [False, True])
@pytest.mark.parametrize("whole_numbers", [False, True])
@pytest.mark.parametrize(
    ("method", "settings", "contexts"),
    [
        ("weighted", {"cap": 8}, []),
        ("weighted", {"cap": 8}, ["device=phone,desk"]),
        ("private-recommender", {}, []),
        ("private-ratings", {}, []),
        ("private-item-knn", {"head": 8}, []),
    ],
)
def test_the_state_and_every_release_are_those_of_memory(
    method: str, settings: dict[str, Any], contexts: list[str], whole_numbers: bool, complete: bool, tmp_path: Path
) -> None:
    made = create(method, epsilon=8, delta="1e-6", **settings)
    options: dict[str, Any] = {"items": ITEMS, "scale": "1:5", "context": ["device"], "name": "shop"}
    given = nights(whole_numbers=whole_numbers, complete=complete)
    how: dict[str, Any] = {"steps": 3, "records": "all" if complete else "new", "enter_after": 6, "contexts": contexts}
    whole = told(dc.Series(made, **how), [dc.Interactions(frame, **options) for frame in given])
    parts = [dc.scan(frame.lazy(), parts=4, folder=tmp_path, **options) for frame in given]
    require_equal(whole, told(dc.Series(made, **how), parts))
    assert any(isinstance(one, tuple) for one in whole)
    # The last state has people who entered and whose records count; a comparison of nothing would say nothing.
    assert whole[-1]["records"].height > 30


def test_a_series_in_a_folder_goes_on_in_memory_and_in_parts(tmp_path: Path) -> None:
    first, second, _ = nights(whole_numbers=False, complete=False)
    options: dict[str, Any] = {"items": ITEMS, "scale": "1:5", "name": "shop"}
    ledger = dc.Ledger(tmp_path / "budget.db")
    data = dc.scan(first.lazy(), parts=3, folder=tmp_path, **options)
    ledger.open(data, population="customers", epsilon=4, delta="1e-6")
    series = dc.Series("weighted", steps=3, epsilon=4, delta="1e-6", folder=tmp_path / "nightly")
    series.advance(data, ledger=ledger)
    again = dc.Series.resume(tmp_path / "nightly")
    again.advance(dc.Interactions(second, **options), ledger=ledger)
    assert again.last == 1
    assert len(ledger.series_steps(again.id)) == 2


def test_what_cannot_be_used_is_refused_before_the_charge(tmp_path: Path) -> None:
    first = nights(whole_numbers=False, complete=False)[0]
    options: dict[str, Any] = {"items": ITEMS, "scale": "1:5", "folder": tmp_path, "parts": 2}
    ledger = dc.Ledger(tmp_path / "budget.db")
    data = dc.scan(first.lazy(), **options)
    ledger.open(data, population="customers", epsilon=4, delta="1e-6")
    data.close()
    with pytest.raises(DataError, match="closed"):
        dc.Series("weighted", steps=3, epsilon=4, delta="1e-6").advance(data, ledger=ledger)
    series = dc.Series("weighted", steps=3, epsilon=4, delta="1e-6", window="1970-01-01", time_zone="UTC")
    with pytest.raises(UsageError, match="were not held to"):
        series.advance(dc.scan(first.lazy(), **options), ledger=ledger)
    assert not ledger.statement("customers").entries


def test_records_outside_of_the_window_of_a_series_change_nothing(tmp_path: Path) -> None:
    given = [frame.with_columns(pl.col("timestamp") * 3600) for frame in nights(whole_numbers=False, complete=False)]
    options: dict[str, Any] = {"items": ITEMS, "scale": "1:5", "name": "shop"}
    window: dict[str, Any] = {"window": "1970-01-01..1970-01-10", "time_zone": "UTC"}
    how: dict[str, Any] = {"steps": 3, "epsilon": 4, "delta": "1e-6", **window}
    whole = told(dc.Series("weighted", **how), [dc.Interactions(frame, **options) for frame in given])
    parts = [dc.scan(frame.lazy(), parts=3, folder=tmp_path, **options, **window) for frame in given]
    found = told(dc.Series("weighted", **how), parts)
    require_equal([one for one in whole if isinstance(one, dict)], [one for one in found if isinstance(one, dict)])
