"""What may be replaced, by what, and that nothing is lost when two processes want the same place."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet.common import renaming, replacing
from discreet.common.folders import MODEL, RELEASE
from discreet.common.replacing import Kind, place_for, strangers
from discreet.errors import DiscreetWarning, ReleaseError, UsageError
from discreet.privacy import Guarantee, Pure, Release, Standing, Unit

TEXT = Kind("list", lambda path: None, is_folder=False, marked=False)


def release(kind: str = "item-counts", *, model: bool = False) -> Release:
    guarantee = Guarantee(Pure(Fraction(1)), Unit(), Standing.PROVED, "Theorem", "counts")
    return Release(kind, guarantee, "m", {}, {"counts": np.ones(3)}, model=model)


@pytest.fixture(params=["one call", "several calls"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems that can exchange two names, and those that cannot."""
    if request.param == "several calls":
        monkeypatch.setattr(renaming, "_system_call", lambda: None)


def on_disk(folder: Path) -> set[str]:
    """Ids of all releases in a folder."""
    return {Release.load(path).id for path in folder.iterdir()}


@pytest.mark.usefixtures("system")
@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("occupied", [False, True])
def test_of_two_that_looked_at_the_same_place_both_are_kept(tmp_path: Path, overwrite: bool, occupied: bool) -> None:
    target = tmp_path / "counts"
    if occupied and not overwrite:
        return
    if occupied:
        release().save(target)
    first, second = (place_for(target, RELEASE, overwrite=overwrite) for _ in range(2))
    one, two = release(), release()
    assert first.put(one.write_into) == target
    with pytest.warns(DiscreetWarning, match="in the meantime") as told:
        where = second.put(two.write_into)
    assert on_disk(tmp_path) == {one.id, two.id}
    assert Release.load(where).id == two.id
    others = [path for path in tmp_path.iterdir() if path != target]
    assert [str(path) in str(told[0].message) for path in others] == [True]


RACER = """
import sys, time, warnings
sys.path.insert(0, sys.argv[3])
from test_replacing import release
from discreet.common.replacing import place_for
from discreet.common.folders import RELEASE
from pathlib import Path

warnings.simplefilter("ignore")
mine = release()
place = place_for(sys.argv[1], RELEASE, overwrite=True)
print(mine.id, flush=True)
sys.stdin.readline()
place.put(mine.write_into)
"""


@pytest.mark.parametrize("occupied", [False, True])
def test_many_processes_at_once_lose_nothing(tmp_path: Path, occupied: bool) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    if occupied:
        release().save(folder / "counts")
    command = [sys.executable, "-c", RACER, str(folder / "counts"), "x", str(Path(__file__).parent)]
    racers = [subprocess.Popen(command, stdin=-1, stdout=-1, text=True) for _ in range(4)]
    ids = {racer.stdout.readline().strip() for racer in racers if racer.stdout}  # all have looked
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("\n")
        racer.stdin.flush()
    assert [racer.wait(timeout=100) for racer in racers] == [0] * 4
    for racer in racers:
        racer.communicate()
    assert on_disk(folder) == ids


@pytest.mark.usefixtures("system")
def test_a_place_that_is_gone_is_filled(tmp_path: Path) -> None:
    release().save(tmp_path / "counts")
    place = place_for(tmp_path / "counts", RELEASE, overwrite=True)
    (tmp_path / "counts").rename(tmp_path / "moved")
    new = release()
    place.put(new.write_into)
    assert Release.load(tmp_path / "counts").id == new.id
    assert len(on_disk(tmp_path)) == 2


def test_files_that_were_added_meanwhile_are_kept(tmp_path: Path) -> None:
    target = release().save(tmp_path / "counts")
    place = place_for(target, RELEASE, overwrite=True)
    stamp = os.stat(target)
    (target / "notes.txt").write_text("mine")
    os.utime(target, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    with pytest.warns(DiscreetWarning, match="before is kept as"):
        place.put(release().write_into)
    (kept,) = (path for path in tmp_path.iterdir() if path != target)
    assert (kept / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_text("mine"),
        lambda path: (path.mkdir(), (path / "thesis.txt").write_text("mine")),
        lambda path: path.symlink_to(path.parent / "nowhere"),
        lambda path: (path.with_name("real").mkdir(), path.symlink_to(path.with_name("real"))),
        lambda path: os.mkfifo(path),
        lambda path: (path.mkdir(), (path / "manifest.json").write_text("{}")),
        lambda path: (release().save(path), (path / "notes.txt").write_text("mine")),
        lambda path: (release().save(path), (path / "more").mkdir()),
        lambda path: release("ease", model=True).save(path),
        lambda path: (release().save(path), (path / "model.json").write_text("{}")),
    ],
)
def test_nothing_else_is_replaced(tmp_path: Path, make) -> None:
    make(tmp_path / "there")
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    for overwrite in (False, True):
        with pytest.raises(ReleaseError, match="is there already" if not overwrite else "is not replaced"):
            release().save(tmp_path / "there", overwrite=overwrite)
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before


def test_models_replace_models_and_releases_replace_releases(tmp_path: Path) -> None:
    counts, model = release().save(tmp_path / "counts"), release("ease", model=True).save(tmp_path / "model")
    release("top-items").save(counts, overwrite=True)
    release("knn", model=True).save(model, overwrite=True)
    with pytest.raises(ReleaseError, match="not wholly a release"):
        place_for(model, RELEASE, overwrite=True)
    with pytest.raises(ReleaseError, match="not wholly a model"):
        place_for(counts, MODEL, overwrite=True)


def test_an_empty_folder_is_nothing_to_lose(tmp_path: Path) -> None:
    (tmp_path / "counts").mkdir()
    with pytest.raises(ReleaseError, match="already"):
        release().save(tmp_path / "counts")
    assert len(on_disk(release().save(tmp_path / "counts", overwrite=True).parent)) == 1


@pytest.mark.parametrize("place", [".", "..", "/", "inner/..", "counts"])
def test_the_current_folder_and_what_it_is_in(tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    release().save(tmp_path / "counts")
    (tmp_path / "counts" / "inner").mkdir()
    monkeypatch.chdir(tmp_path / "counts" / ("" if place != "counts" else "inner"))
    where = tmp_path / "counts" if place == "counts" else place
    with pytest.raises(ReleaseError, match=r"is the current folder|is a folder that the current|is the root"):
        place_for(where, RELEASE, overwrite=True)


def test_sources_under_every_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / "data" / "films.txt"
    source.parent.mkdir()
    source.write_text("records")
    (tmp_path / "soft.txt").symlink_to(source)
    os.link(source, tmp_path / "hard.txt")
    (tmp_path / "way").symlink_to(tmp_path / "data")
    for name in ("data/films.txt", "data/../data/films.txt", "soft.txt", "hard.txt", "way/films.txt"):
        with pytest.raises(ReleaseError, match="is read by this command"):
            place_for(name, TEXT, overwrite=True, sources=[None, "data/films.txt"])
        with pytest.raises(ReleaseError, match="is read by this command"):
            place_for(source, TEXT, overwrite=True, sources=[name])
    for name in ("data", "way"):
        with pytest.raises(ReleaseError, match="which this command reads"):
            place_for(name, RELEASE, overwrite=True, sources=["soft.txt"])
    with pytest.raises(ReleaseError, match="is part of"):
        place_for(source, TEXT, overwrite=True, sources=["way"])
    place_for("data/new.txt", TEXT, overwrite=True, sources=["data"])


def test_a_file_without_a_mark_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("mine")
    with pytest.warns(DiscreetWarning, match="is kept as"):
        place_for(path, TEXT, overwrite=True).put(lambda aside: aside.write_text("new"))
    (kept,) = (other for other in tmp_path.iterdir() if other != path)
    assert (path.read_text(), kept.read_text(), kept.suffix) == ("new", "mine", ".txt")


@pytest.mark.parametrize("name", ["x" * 300, "file/inside", "a\0b"])
def test_places_that_cannot_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((ReleaseError, UsageError), match=r"cannot write|not a path"):
        place_for(tmp_path / name, RELEASE, overwrite=True)


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    assert release().save(tmp_path / ("x" * 255)).name == "x" * 255


@pytest.mark.parametrize("stop", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_is_interrupted_leaves_nothing_behind(tmp_path: Path, stop: BaseException) -> None:
    def fails(aside: Path) -> None:
        aside.mkdir()
        (aside / "half").write_text("")
        raise stop

    old = release()
    target = old.save(tmp_path / "counts")
    with pytest.raises((ReleaseError, KeyboardInterrupt)):
        place_for(target, RELEASE, overwrite=True).put(fails)
    assert [path.name for path in tmp_path.iterdir()] == ["counts"]
    assert on_disk(tmp_path) == {old.id}


def test_when_the_rename_fails_what_was_made_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(replacing, "rename_new", fails)
    made = release()
    with pytest.raises(ReleaseError, match="Input/output") as caught:
        made.save(tmp_path / "counts")
    (kept,) = tmp_path.iterdir()
    assert str(kept) in caught.value.remedy
    assert Release.load(kept).id == made.id


def test_strangers(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c.txt").touch()
    assert strangers(tmp_path, ["a/b/c.txt"]) is None
    assert "a/b/c.txt" in (strangers(tmp_path, ["a/b/"]) or "")
    assert "'a'" in (strangers(tmp_path, ["x"]) or "")
    (tmp_path / "a" / "b" / "c.txt").unlink()
    assert strangers(tmp_path, ["a/b/"]) is None


def test_what_follows_is_told_the_name_in_the_end(tmp_path: Path) -> None:
    told: list[Path] = []
    inner = place_for(tmp_path / "inner", RELEASE, overwrite=False)
    inner.put(Path.mkdir, then=told.append)
    assert told == [tmp_path / "inner"]

    def save(aside: Path) -> None:
        place_for(aside, RELEASE, overwrite=False).put(Path.mkdir, then=told.append)
        assert len(told) == 1, "it has no name yet"

    place_for(tmp_path / "outer", RELEASE, overwrite=False).put(save)
    assert told[1:] == [tmp_path / "outer"]

    def fail(aside: Path) -> None:
        save(aside)
        raise OSError("no space left")

    told.pop()
    with pytest.raises(ReleaseError):
        place_for(tmp_path / "never", RELEASE, overwrite=False).put(fail)
    assert told == [tmp_path / "inner"]
