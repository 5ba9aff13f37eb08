"""What version 0.1 wrote still opens, and answers as it did: models, releases, streams and a ledger.

``tests/fixtures/make_0_1.py`` wrote the files with version 0.1, and beside each of them what 0.1 answered.
"""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.counting import ContextPopularity, StreamingBound, bought_together, chosen_cap, top
from discreet.errors import BudgetError, DiscreetWarning, ReleaseError
from discreet.models.recommender import load_model
from discreet.tagging import recommender, topics_of_release

OLD = Path(__file__).parent / "fixtures" / "0.1"

REMOVED: set[str] = {"noisy-neighbor-mean", "shrunk-pncf"}
"""Models of 0.1 that there are no longer: their files open as a release, with the guarantee that they were given."""

REMOVED_METHODS: set[str] = set()
"""Names of releases by methods that there are no longer; they open, but nothing else has to read them."""


def recorded(kind: str) -> list[str]:
    return sorted(path.stem for path in (OLD / kind).glob("*.json"))


def record(kind: str, name: str) -> dict[str, Any]:
    return json.loads((OLD / kind / f"{name}.json").read_text(encoding="utf-8"))


# Models


@pytest.mark.parametrize("name", sorted(set(recorded("models")) - REMOVED))
def test_models_open_and_answer_as_they_did(name: str) -> None:
    was, model = record("models", name), load_model(OLD / "models" / name)
    assert model.name == name
    assert_same_guarantee(model.guarantee, was["guarantee"])
    assert model.items_.ids() == was["items"]
    said = {
        "recommend": model.recommend(history=was["history"], n=5),
        "predict": model.predict(was["items"], history=was["history"]),
    }
    if "similar_items" in was["answers"]:
        said["similar_items"] = model.similar_items(was["similar_to"], n=3)
    for question, answer in said.items():
        if was["same_every_time"]:
            assert_same_table(answer, was["answers"][question])
        else:
            assert answer.columns == list(was["answers"][question])
            assert answer.height == len(was["answers"][question]["item_id"])


def test_a_model_that_was_removed_says_so() -> None:
    for name in REMOVED:
        with pytest.raises(ReleaseError, match=name):
            load_model(OLD / "models" / name)


@pytest.mark.parametrize("name", recorded("models"))
def test_what_a_model_released_opens_as_a_release(name: str) -> None:
    was = record("models", name)
    if "release" in was:
        assert_same_release(dc.Release.load(OLD / "models" / name), was["release"])
    else:
        assert name not in REMOVED, "the fixture of a removed model has no release"


# Releases


@pytest.mark.parametrize("name", recorded("releases"))
def test_releases_open_with_their_guarantee(name: str) -> None:
    assert_same_release(dc.Release.load(OLD / "releases" / name), record("releases", name))


@pytest.mark.parametrize("name", sorted(set(recorded("releases")) - REMOVED_METHODS))
def test_releases_are_read_as_they_were(name: str) -> None:
    release, was = dc.Release.load(OLD / "releases" / name), record("releases", name)["answers"]
    if "top" in was:
        assert_same_table(top(release, 5), was["top"])
    if "popular" in was:
        popular = ContextPopularity.of_release(release).recommend(context={"weekday": "Tuesday"}, n=5)
        assert_same_table(popular, was["popular"])
    if "also" in was:
        assert_same_table(bought_together(release, was["item"], 3), was["also"])
    if "cap" in was:
        assert chosen_cap(release) == was["cap"]
    if "recommend" in was:
        queries = [(user, resource) for user, resource in was["queries"]]
        assert_same_table(recommender(release).recommend(queries, n=3), was["recommend"])
    if "topics" in was:
        assert list(topics_of_release(release).tag_given_topic.shape) == was["topics"]


def test_a_changed_release_of_0_1_is_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(OLD / "releases" / "count-weighted", tmp_path / "release"))
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["dataset"] = "other data"
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(ReleaseError, match="changed"):
        dc.Release.load(folder)


# Streams and the ledger


@pytest.mark.parametrize("name", recorded("streams"))
def test_streams_go_on(name: str, tmp_path: Path) -> None:
    was = record("streams", name)
    stream = StreamingBound.resume(shutil.copytree(OLD / "streams" / name, tmp_path / "stream"))
    assert (stream.cap, stream.choice) == (was["cap"], was["choice"])
    records = stream.records()
    assert len(records) == was["records"]
    assert records.records_per_item.tolist() == was["records_per_item"]
    held = records.to_frame()
    stream.add(held.with_columns(user_id=pl.lit("somebody new")).head(2))
    assert len(stream) == was["records"] + 2


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    """A copy of the ledger of 0.1, which is migrated when it is opened."""
    path = shutil.copy(OLD / "ledger.sqlite", tmp_path / "ledger.sqlite")
    with pytest.warns(DiscreetWarning, match="migrated"):
        return dc.Ledger(path)


def test_the_ledger_knows_its_data_again(ledger: dc.Ledger) -> None:
    films = dc.read(OLD / "films.parquet")
    assert ledger.statement(films).account.name == "films"
    assert isinstance(films, dc.Interactions)
    assert ledger.statement(films.filter(lambda frame: frame["rating"] > 3)).account.name == "films"
    records = StreamingBound.resume(OLD / "streams" / "uniform").records()
    assert ledger.statement(records).account.name == "stream of visits"


def test_the_ledger_opens_and_can_be_charged(ledger: dc.Ledger) -> None:
    was = json.loads((OLD / "ledger.json").read_text(encoding="utf-8"))
    assert [account.name for account in ledger.datasets()] == list(was["accounts"])
    for account in ledger.datasets():
        statement, before = ledger.statement(account.name), was["accounts"][account.name]
        assert account.unit.code == before["unit"]
        assert account.view == before["view"]
        assert list(account.fingerprints) == before["fingerprints"]
        for amount in ("spent", "reserved", "left"):
            shown = getattr(statement, amount)
            assert [str(shown.epsilon), str(shown.delta)] == before[amount], amount
        assert [entry.mechanism for entry in statement.entries] == before["entries"]
        assert [entry.mechanism for entry in statement.refuted] == before["refuted"]
    for release_id in was["releases"]:
        account = ledger.account_of_release(release_id)
        assert account is not None
        assert account.name == "films"
    guarantee = dc.Release.load(OLD / "releases" / "count-weighted").guarantee
    with ledger.charge("films", guarantee, mechanism="weighted") as spend:
        spend.settle("release-2")
    left = Fraction(was["accounts"]["films"]["left"][0]) - 4
    assert ledger.statement("films").left.epsilon == left
    with pytest.raises(BudgetError, match="requested"):
        ledger.charge("films", guarantee, mechanism="weighted")


def test_every_kind_of_file_of_0_1_has_a_fixture() -> None:
    """The registries of version 0.1, as they were."""
    counts = ("weighted", "clipped", "hybrid", "head-tail", "sra", "hpa", "lpa", "dft", "gs")
    tags = ("ptr-j", "ptr-s", "ptr-l", "ptr-t", "private-topics", "pritop")
    queries = ("pmw", "mwem", "histogram", "shrunk-histogram", "strategy", "tree", "lm-gs", "lm-cs", "cim")
    wanted = {f"count-{name}{suffix}" for name in counts for suffix in ("", "-by-context")}
    wanted |= {f"tags-{name}" for name in tags} | {f"query-{name}" for name in queries}
    assert wanted <= set(recorded("releases"))
    assert len(recorded("models")) == 23
    assert set(recorded("models")) >= REMOVED
    assert set(recorded("releases")) >= REMOVED_METHODS


# What is compared


def assert_same_release(release: dc.Release, was: dict[str, Any]) -> None:
    assert (release.id, release.kind, release.mechanism) == (was["id"], was["kind"], was["mechanism"])
    assert release.version == "0.1.0"
    assert dict(release.parameters) == was["parameters"]
    assert_same_guarantee(release.guarantee, was["guarantee"])
    assert sorted(release.parts) == sorted(was["parts"])
    for name, part in was["parts"].items():
        if "columns" in part:
            table = release.table(name)
            assert (table.columns, table.height) == (part["columns"], part["height"])
            assert [list(row) for row in table.head(3).rows()] == part["rows"]
        else:
            array = release.array(name)
            assert (list(array.shape), str(array.dtype)) == (part["shape"], part["dtype"])
            assert float(np.asarray(array, dtype=np.float64).sum()) == pytest.approx(part["sum"], nan_ok=True)


def assert_same_guarantee(guarantee: dc.Guarantee | None, was: dict[str, Any] | None) -> None:
    """Loss, unit and standing are those of 0.1; words may be others."""
    if guarantee is None or was is None:
        assert guarantee is was
        return
    numbers = {name: Fraction(value) for name, value in was["loss"].items() if name != "kind"}
    assert guarantee.loss.kind == was["loss"]["kind"]
    assert {name: getattr(guarantee.loss, name) for name in numbers} == numbers
    assert float(guarantee.loss.epsilon_at(Fraction(1, 100))) == pytest.approx(was["epsilon_at_0.01"], rel=1e-6)
    assert guarantee.unit.code == was["unit"]
    assert guarantee.standing.name == was["standing"]
    assert guarantee.joint == was["joint"]


def assert_same_table(table: pl.DataFrame, was: dict[str, list[Any]]) -> None:
    assert table.columns == list(was)
    for name, values in was.items():
        if table[name].dtype.is_float():
            now = table[name].to_list()
            assert [value is None for value in now] == [value is None for value in values]
            known = [value for value in values if value is not None]
            assert [value for value in now if value is not None] == pytest.approx(known, rel=1e-6, abs=1e-9)
        else:
            assert table[name].to_list() == values
