"""Folders of plain models: sealed, hashed, and those of earlier versions still open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.counting import ContextPopularity
from discreet.data import Interactions, synthetic
from discreet.data.readers import write
from discreet.errors import ReleaseError
from discreet.factors import Popularity
from discreet.models.recommender import load_model
from discreet.neighbors import KNN

DESCRIPTION = "model.json"


@pytest.fixture(scope="module")
def films() -> Interactions:
    return synthetic.films(users=30, items=10, seed=1)


@pytest.fixture
def saved(films: Interactions, tmp_path: Path) -> Path:
    return Popularity().fit(films).save(tmp_path / "model")


def edit(folder: Path, **changes: object) -> None:
    path = folder / DESCRIPTION
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_every_file_of_the_records_is_hashed(saved: Path) -> None:
    described = json.loads((saved / DESCRIPTION).read_text())
    assert set(described["files"]) == {f"records/{path.name}" for path in (saved / "records").iterdir()}
    assert isinstance(load_model(saved), Popularity)


@pytest.mark.parametrize("name", ["interactions.parquet", "items.parquet", "dataset.json"])
@pytest.mark.parametrize("damage", ["flip", "remove", "swap"])
def test_changed_records_are_refused(saved: Path, films: Interactions, name: str, damage: str, tmp_path: Path) -> None:
    path = saved / "records" / name
    if damage == "remove":
        path.unlink()
    elif damage == "flip":
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    else:
        other = write(synthetic.films(users=31, items=10, seed=2), tmp_path / "other")
        path.write_bytes((other / name).read_bytes() + b" ")
    with pytest.raises(ReleaseError, match=name):
        load_model(saved)


@pytest.mark.parametrize(
    "change", [{"config": {}}, {"guarantee": None}, {"files": {}}, {"id": ""}, {"config": []}, {"files": []}]
)
def test_a_changed_description_is_refused(saved: Path, change: dict[str, object]) -> None:
    edit(saved, note="x", **change)
    with pytest.raises(ReleaseError):
        load_model(saved)


def test_a_description_names_no_other_files(saved: Path) -> None:
    described = json.loads((saved / DESCRIPTION).read_text())
    del described["id"]
    for name in ("../other/x", "/etc/passwd", "records/../model.json", "records", "records/.."):
        (saved / DESCRIPTION).write_text(json.dumps({**described, "files": {name: "0"}}))
        with pytest.raises(ReleaseError, match="is not a file of its records"):
            load_model(saved)


def test_models_of_earlier_versions_still_open(saved: Path) -> None:
    described = json.loads((saved / DESCRIPTION).read_text())
    for name in ("id", "files"):
        del described[name]
    (saved / DESCRIPTION).write_text(json.dumps(described))
    assert isinstance(load_model(saved), Popularity)
    KNN(k=3).fit(synthetic.films(users=30, items=10, seed=1)).save(saved, overwrite=True)
    assert isinstance(load_model(saved), KNN)


def test_settings_beside_a_release_are_sealed(films: Interactions, tmp_path: Path) -> None:
    folder = ContextPopularity(epsilon=1).fit(films).save(tmp_path / "model")
    assert isinstance(load_model(folder), ContextPopularity)
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["parameters"]["epsilon"] = "1/100"
    path.write_text(json.dumps(manifest))
    with pytest.raises(ReleaseError, match="changed"):
        load_model(folder)


@pytest.mark.parametrize("kind", [["ease"], None, {"a": 1}, 5, "nothing"])
def test_names_that_are_no_models(tmp_path: Path, kind: object) -> None:
    (tmp_path / DESCRIPTION).write_text(json.dumps({"model": kind}))
    with pytest.raises(ReleaseError):
        load_model(tmp_path)
