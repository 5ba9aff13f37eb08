"""Releases on disk: whole or not at all, checked when read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from discreet.errors import ReleaseError
from discreet.privacy import Guarantee, Pure, Standing, Unit
from discreet.privacy import release as module
from discreet.privacy.release import Release


@pytest.fixture
def release() -> Release:
    return Release(
        kind="item-counts",
        guarantee=Guarantee(Pure(Fraction(1, 2)), Unit(), Standing.PROVED, "Theorem 1", "noisy counts", ("a cap",)),
        mechanism="item_counts",
        parameters={"epsilon": "1/2", "cap": 30, "noise_sd": 84.85},
        parts={
            "counts": pl.DataFrame({"item_id": ["a", "ü"], "count": [1.5, -2.25]}),
            "gram": np.arange(6, dtype=np.int64).reshape(2, 3).T,
        },
        dataset="films",
    )


@pytest.fixture
def saved(release: Release, tmp_path: Path) -> Path:
    return release.save(tmp_path / "counts")


def edit_manifest(folder: Path, **changes) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_round_trip(release: Release, saved: Path) -> None:
    again = Release.load(saved)
    assert again.id == release.id
    assert again.guarantee == release.guarantee
    assert again.parameters == release.parameters
    assert_frame_equal(again.table("counts"), release.table("counts"))
    np.testing.assert_array_equal(again.array("gram"), release.array("gram"))


def test_only_plain_files(saved: Path) -> None:
    assert sorted(p.name for p in saved.iterdir()) == ["counts.arrow", "gram.npy", "manifest.json"]
    assert json.loads((saved / "manifest.json").read_text())["guarantee"]["sentence"].startswith("PROVED")


def test_saved_again_from_a_copy_it_is_the_same_release(saved: Path, tmp_path: Path) -> None:
    again = Release.load(saved)
    assert Release.load(again.save(tmp_path / "copy")).id == again.id


def test_two_releases_of_the_same_numbers_have_different_ids(release: Release) -> None:
    again = Release(release.kind, release.guarantee, release.mechanism, release.parameters, release.parts)
    assert again.id != release.id


def test_an_existing_folder_is_kept(release: Release, saved: Path) -> None:
    (saved / "note.txt").write_text("mine")
    with pytest.raises(ReleaseError, match="already"):
        release.save(saved)
    with pytest.raises(ReleaseError, match=r"'note\.txt', which discreet did not write"):
        release.save(saved, overwrite=True)
    assert (saved / "note.txt").read_text() == "mine"
    (saved / "note.txt").unlink()
    release.save(saved, overwrite=True)
    assert Release.load(saved).id == release.id


@pytest.mark.parametrize("part", ["counts.arrow", "gram.npy"])
@pytest.mark.parametrize("damage", ["flip", "truncate", "remove"])
def test_damaged_parts_are_rejected(saved: Path, part: str, damage: str) -> None:
    path = saved / part
    data = bytearray(path.read_bytes())
    if damage == "flip":
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    elif damage == "truncate":
        path.write_bytes(data[:-7])
    else:
        path.unlink()
    with pytest.raises(ReleaseError, match=part):
        Release.load(saved)


def test_a_manifest_that_was_edited_is_rejected(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    manifest["guarantee"]["loss"]["epsilon"] = "1/100"
    edit_manifest(saved, guarantee=manifest["guarantee"])
    with pytest.raises(ReleaseError, match="changed"):
        Release.load(saved)


def test_a_sentence_that_says_something_else_is_rejected(saved: Path) -> None:
    manifest = json.loads((saved / "manifest.json").read_text())
    manifest["guarantee"]["sentence"] = "Perfectly safe."
    edit_manifest(saved, guarantee=manifest["guarantee"])
    with pytest.raises(ReleaseError, match="changed"):
        Release.load(saved)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format_version": "2.0"}, "newer discreet"),
        ({"format_version": "x"}, "format version"),
        ({"format": "other"}, "not the manifest"),
        ({"parts": {"../escape": {"type": "npy", "sha256": "0"}}}, "cannot be the name"),
        ({"parts": {"gram": {"type": "pickle", "sha256": "0"}}}, "unknown type"),
        ({"parts": {"gram": {}}}, "not a complete manifest"),
        ({"guarantee": None}, "not a complete manifest"),
    ],
)
def test_wrong_manifests(saved: Path, change: dict, words: str) -> None:
    edit_manifest(saved, **change)
    with pytest.raises(ReleaseError, match=words):
        Release.load(saved)


def test_a_newer_minor_version_is_read_if_its_seal_fits(saved: Path) -> None:
    edit_manifest(saved, format_version="1.7", novelty="something that only 1.7 knows")
    with pytest.raises(ReleaseError, match="changed"):
        Release.load(saved)
    manifest = json.loads((saved / "manifest.json").read_text())
    unsealed = {name: value for name, value in manifest.items() if name != "id"}
    edit_manifest(saved, id=module._seal(unsealed))
    assert Release.load(saved).kind == "item-counts"


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]"])
def test_broken_json(saved: Path, content: bytes) -> None:
    (saved / "manifest.json").write_bytes(content)
    with pytest.raises(ReleaseError):
        Release.load(saved)


def test_not_a_release(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="no manifest"):
        Release.load(tmp_path)
    with pytest.raises(ReleaseError):
        Release.load(tmp_path / "nowhere")


def test_objects_cannot_be_released(release: Release) -> None:
    with pytest.raises(ReleaseError, match="objects"):
        Release(release.kind, release.guarantee, "m", {}, {"x": np.array([object()])})


def test_wrong_kind_of_part(release: Release) -> None:
    with pytest.raises(ReleaseError, match="array"):
        release.table("gram")
    with pytest.raises(ReleaseError, match="table"):
        release.array("counts")
    with pytest.raises(ReleaseError, match="no part"):
        release.table("nothing")


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_killed_at_any_write_the_previous_release_is_there(
    saved: Path, release: Release, writes: int, in_child: Callable[[Callable[[], object]], int]
) -> None:
    newer = Release("k", release.guarantee, "m", {}, {"new": np.ones(1000)})
    real, left = os.fsync, [0] * writes

    def fsync(handle: int) -> None:
        if not left:
            os._exit(9)
        left.pop()
        real(handle)

    def killed_writer() -> None:
        os.fsync = fsync
        newer.save(saved, overwrite=True)

    assert in_child(killed_writer) == 9
    loaded = Release.load(saved)
    # Before the rename it is the old release; killed after it (while making the rename durable), the new one, whole.
    assert (loaded.id == release.id) == (writes < 2)


def test_an_unwritable_place_is_a_clear_error(release: Release, tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(ReleaseError, match="cannot write"):
        release.save(blocker / "counts")


def test_a_full_disk_leaves_nothing(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ReleaseError, match="No space"):
        release.save(tmp_path / "counts")
    assert list(tmp_path.iterdir()) == []
