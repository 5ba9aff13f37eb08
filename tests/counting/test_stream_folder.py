"""The saved state of a stream: it goes on where it stopped, survives crashes, and is for its owner alone."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from discreet.common import replacing
from discreet.counting import StreamingBound
from discreet.errors import ReleaseError

ITEMS = list("abcde")


def held(stream: StreamingBound) -> tuple[str, ...]:
    return tuple(sorted(stream.records().to_frame()["item_id"]))


@pytest.mark.parametrize("choice", ["uniform", "popularity"])
def test_the_state_goes_on_where_it_stopped(counts, choice: str, tmp_path: Path) -> None:
    popularity = counts(a=5, b=4, c=3) if choice == "popularity" else None
    items = ITEMS if popularity is None else None
    stream = StreamingBound(2, choice=choice, popularity=popularity, items=items, name="day")  # type: ignore[arg-type]
    stream.add([("u", "c"), ("u", "d"), ("u", "e")])
    stream.save(tmp_path / "state")
    again = StreamingBound.resume(tmp_path / "state")
    assert held(again) == held(stream)
    assert again.records().fingerprint == stream.records().fingerprint
    again.add([("u", "a"), ("v", "b")])
    again.save(tmp_path / "state")
    assert (
        len(list((tmp_path / "state").iterdir()))
        == len(json.loads((tmp_path / "state/state.json").read_text())["tables"]) + 1
    )
    once_more = StreamingBound.resume(tmp_path / "state")
    assert held(once_more) == held(again)
    if choice == "popularity":
        assert held(once_more) == ("a", "b", "c")
    once_more.merge(StreamingBound.resume(tmp_path / "state"))


def test_the_state_is_for_its_owner_alone(tmp_path: Path) -> None:
    stream = StreamingBound(1, items=ITEMS)
    stream.add([("u", "a")])
    folder = stream.save(tmp_path / "state")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert "secret" in (folder / "state.json").read_text()


def test_a_crash_while_saving_leaves_the_state_before(tmp_path: Path, monkeypatch) -> None:
    stream = StreamingBound(3, items=ITEMS)
    stream.add([("u", "a")])
    folder = stream.save(tmp_path / "state")
    stream.add([("u", "b")])
    for broken, name in ((os, "fsync"), (replacing, "exchange")):
        with monkeypatch.context() as patched:

            def fails(*arguments: object) -> None:
                raise OSError(28, "No space left on device")

            patched.setattr(broken, name, fails)
            with pytest.raises(ReleaseError, match="No space"):
                stream.save(folder)
        assert held(StreamingBound.resume(folder)) == ("a",)
    stream.save(folder)
    assert held(StreamingBound.resume(folder)) == ("a", "b")


def test_damaged_and_foreign_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="no state"):
        StreamingBound.resume(tmp_path)
    (tmp_path / "mine.txt").write_text("mine")
    stream = StreamingBound(1, items=ITEMS)
    stream.add([("u", "a")])
    with pytest.raises(ReleaseError, match="not wholly a state"):
        stream.save(tmp_path)
    folder = stream.save(tmp_path / "state")
    records = next(folder.glob("records-*.arrow"))
    records.write_bytes(records.read_bytes()[:-1] + b"?")
    with pytest.raises(ReleaseError, match="damaged"):
        StreamingBound.resume(folder)
    facts = json.loads((folder / "state.json").read_text())
    for change in ({"version": 99}, {"format": "other"}, {"tables": {"records": {"file": "../../etc/passwd"}}}):
        (folder / "state.json").write_text(json.dumps({**facts, **change}))
        with pytest.raises(ReleaseError):
            StreamingBound.resume(folder)
