"""Tags with a declared window: triples of other days are left out, and an account per period takes the rest."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from discreet.data import TagAssignments, read
from discreet.errors import DataError, PrivacyError, UsageError
from discreet.privacy.ledger import Ledger
from discreet.tagging import PTRJ

OCTOBER, NOVEMBER = 1790812800, 1793491200  # first seconds of months of 2026
ROWS = [("ann", "tea.org", "tea", NOVEMBER), ("ann", "tea.org", "tea", OCTOBER), ("bob", "rum.org", "rum", OCTOBER)]
COLUMNS = ("user_id", "resource_id", "tag", "timestamp")


def tags_of(path: Path, **options: object) -> list[str]:
    data = read(path, **options)  # type: ignore[arg-type]
    assert isinstance(data, TagAssignments)
    return sorted(data.to_frame()["tag"].to_list())


def test_triples_of_other_days_are_left_out_before_repeats_are_merged() -> None:
    table = {name: [row[place] for row in ROWS] for place, name in enumerate(COLUMNS)}
    held = TagAssignments(table, window="2026-11")
    assert held.to_frame().rows() == [("ann", "tea.org", "tea")]
    assert held.dropped_duplicates == 0
    assert str(held.window) == "2026-11-01..2026-11-30 (UTC)"
    assert TagAssignments(ROWS, window="2026-10..2026-11").dropped_duplicates == 1
    assert len(TagAssignments(ROWS, window="2027")) == 0
    # In Honolulu the first second of November is in October.
    assert len(TagAssignments(ROWS, window="2026-11", time_zone="Pacific/Honolulu")) == 0
    assert TagAssignments([row[:3] for row in ROWS]).window is None
    with pytest.raises(DataError, match="without times"):
        TagAssignments([row[:3] for row in ROWS], window="2026-11")
    # What is made from them keeps the window.
    assert held.with_vocabulary(["tea", "rum"]).cleaned().window == held.window


def test_reading_tags_with_a_window(tmp_path: Path) -> None:
    file = tmp_path / "bookmarks.csv"
    file.write_text(
        "user,url,tag,date\nann,tea.org,tea,2026-11-01T00:00:00\nbob,rum.org,rum,2026-10-31 23:30\n"
        "cleo,gin.org,gin,\ndan,ale.org,ale,some day\n"
    )
    # Times that nobody asked for raise no error.
    assert tags_of(file) == ["ale", "gin", "rum", "tea"]
    with pytest.raises(DataError, match="line 5"):
        tags_of(file, window="2026-11")
    file.write_text(file.read_text().replace("some day", "1793491205"))
    assert tags_of(file, window="2026-11") == ["ale", "tea"]
    assert tags_of(file, window="2026-11", time_zone="Europe/Berlin") == ["ale", "rum", "tea"]
    assert tags_of(file, window="2026-11", tag="url", resource="tag") == ["ale.org", "tea.org"]
    (tmp_path / "undated.csv").write_text("user,resource,tag\nann,tea.org,tea\n")
    with pytest.raises(DataError, match="without times"):
        tags_of(tmp_path / "undated.csv", window="2026-11")


def test_published_formats_have_times(tmp_path: Path) -> None:
    films = tmp_path / "tags.csv"
    films.write_text(f"userId,movieId,tag,timestamp\n1,2,dark,{NOVEMBER}\n1,2,funny,{OCTOBER}\n")
    assert tags_of(films, window="2026-11") == ["dark"]
    films.write_text("userId,movieId,tag\n1,2,dark\n")
    assert tags_of(films) == ["dark"]
    dat = tmp_path / "ten" / "tags.dat"
    dat.parent.mkdir()
    dat.write_text(f"1::2::dark::{NOVEMBER}\n1::2::funny::{OCTOBER}\n")
    assert tags_of(dat, window="2026-11") == ["dark"]
    folder = tmp_path / "hetrec"
    folder.mkdir()
    (folder / "tags.dat").write_text("id\tvalue\n1\tdark\n2\tfunny\n")
    days = folder / "user_taggedbookmarks.dat"
    head = "userID\tbookmarkID\ttagID\tday\tmonth\tyear\thour\tminute\tsecond\n"
    days.write_text(f"{head}8\t1\t1\t1\t11\t2026\t0\t0\t0\n8\t1\t2\t31\t10\t2026\t23\t29\t22\n")
    assert tags_of(folder, window="2026-11") == ["dark"]
    assert tags_of(folder, window="2026-11", time_zone="Europe/Berlin") == ["dark", "funny"]
    days.write_text("userID\tbookmarkID\ttagID\tday\tmonth\tyear\n8\t1\t1\t2\t11\t2026\n8\t1\t2\t31\t10\t2026\n")
    assert tags_of(folder, window="2026-11") == ["dark"]
    days.unlink()
    stamped = folder / "user_taggedbookmarks-timestamps.dat"
    stamped.write_text(f"userID\tbookmarkID\ttagID\ttimestamp\n8\t1\t1\t{NOVEMBER}000\n8\t1\t2\t{NOVEMBER - 1}999\n")
    assert tags_of(folder, window="2026-11") == ["dark"]
    tas = tmp_path / "bibsonomy" / "tas"
    tas.parent.mkdir()
    tas.write_text("1\tdark\t5\t1\t2026-11-01 00:00:00\n1\tfunny\t5\t1\t2026-10-31 23:59:59\n")
    assert tags_of(tas.parent, window="2026-11") == ["dark"]


def test_an_account_per_period_takes_tags_with_a_window_and_says_what_to_do_about_others(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "b.db", clock=lambda: datetime(2026, 11, 18, tzinfo=UTC))
    ledger.open(population="readers", epsilon=2, delta="1e-5", per="month")
    method = PTRJ(epsilon=1, delta="1e-6")
    pages = ["tea.org", "rum.org"]
    dated = TagAssignments(ROWS, window="2026-11").with_vocabulary(["tea", "rum"]).with_resources(pages)
    release = method.release(dated, ledger=ledger.about("readers"))
    assert "2026-11 (UTC)" in release.guarantee.per_period
    undated = TagAssignments([row[:3] for row in ROWS]).with_vocabulary(["tea", "rum"]).with_resources(pages)
    with pytest.raises(PrivacyError, match="no declared window") as refused:
        method.release(undated, ledger=ledger.about("readers"))
    assert "an account without periods" in str(refused.value.remedy)
    assert len(ledger.statement("readers").every) == 1


def test_a_time_zone_alone_says_nothing() -> None:
    with pytest.raises(UsageError, match="time zone without a window"):
        TagAssignments(ROWS, time_zone="UTC")
