from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from discreet.data import Interactions
from discreet.data.readers import detect, read
from discreet.errors import DataError, UsageError

FIXTURES = Path(__file__).parent / "fixtures"


def load(name: str, **options: Any) -> Interactions:
    data = read(FIXTURES / name, **options)
    assert isinstance(data, Interactions)
    return data


def test_gowalla_keeps_repeated_visits() -> None:
    assert detect(FIXTURES / "gowalla").name == "gowalla"
    data = load("gowalla")
    assert data.may_repeat
    assert data.rating is None
    assert not data.catalog_is_public
    assert [row[:2] for row in data.to_frame().rows()] == [(0, 22847), (0, 22847), (0, 420315), (1, 23261)]
    assert data.to_frame()["timestamp"][0] == int(datetime(2010, 10, 19, 23, 55, 27, tzinfo=UTC).timestamp())


def test_weekday_of_gowalla_is_that_of_utc() -> None:
    frame = load("gowalla", context=["weekday", "latitude"]).to_frame()
    days = [datetime.fromtimestamp(time, tz=UTC).weekday() for time in frame["timestamp"]]
    assert frame["weekday"].to_list() == days
    assert frame["latitude"][0] == 30.2359091167


def test_weekday_of_foursquare_is_local() -> None:
    frame = load("foursquare", context=("weekday", "category")).to_frame()
    # Two in the morning of Wednesday in Greenwich is still Tuesday in New York.
    assert frame.filter(frame["user_id"] == 979)["weekday"].to_list() == [1]
    assert frame["category"].to_list() == ["Arts & Crafts Store", "Arts & Crafts Store", "Café"]


def test_an_unknown_context_column() -> None:
    with pytest.raises(UsageError, match="'mood'") as caught:
        load("foursquare", context="mood")
    assert "category" in caught.value.remedy


@pytest.mark.parametrize(
    "line", ["0\t2010-13-19T23:55:27Z\t1.0\t2.0\t5", "0\tyesterday\t1.0\t2.0\t5", "0\t2010-10-19 23:55\t1.0\t2.0\t5"]
)
def test_a_bad_time_names_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "loc-gowalla_totalCheckins.txt"
    path.write_text(f"0\t2010-10-19T23:55:27Z\t1.0\t2.0\t5\n{line}\n")
    with pytest.raises(DataError, match="not a time") as caught:
        read(path)
    assert (caught.value.line, caught.value.column) == (2, "time")


def test_a_weekday_that_does_not_fit_its_date(tmp_path: Path) -> None:
    path = tmp_path / "dataset_TSMC2014_TKY.txt"
    path.write_text("1\ta\tb\tc\t1.0\t2.0\t540\tMon Apr 03 18:00:09 +0000 2012\n")
    with pytest.raises(DataError, match="not a time"):
        read(path)
