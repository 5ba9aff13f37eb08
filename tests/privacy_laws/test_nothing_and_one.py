"""No records, one record, one user: everything that is PROVED releases in all of these, and guarantees the same.

A method that refuses data without records and answers with one person more tells the two apart with certainty.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from discreet.counting import (
    ItemPairs,
    StreamingBound,
    TopItems,
    choose_cap,
    discover_items,
)
from discreet.coupled import QuerySession, marginals
from discreet.coupled.pmw import PMW
from discreet.data import Interactions, Table, TagAssignments
from discreet.data.contexts import Context
from discreet.factors import SyntheticInteractions
from discreet.models.registry import create, names, registered, settings_of
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.release import Release
from discreet.subsets import ScreenLists
from discreet.tagging.vocabulary import discover_resources, discover_tags

ITEMS = [f"i{place}" for place in range(8)]
TYPES = {
    "user_id": pl.String,
    "item_id": pl.String,
    "rating": pl.Float64,
    "timestamp": pl.Int64,
    "device": pl.String,
}

ROWS = {
    "nothing": [],
    "one record": [("ann", "i1", 5.0, 7, "phone")],
    "one user with everything": [("ann", item, 3.0, 7, "phone") for item in ITEMS],
    "one user who likes nothing": [("ann", "i1", 1.0, 7, "unknown")],
    "two equal users": [(user, "i1", 5.0, 7, "phone") for user in ("ann", "bob")],
}


def ratings(rows: list[Any], *, duplicates: str = "error") -> Interactions:
    frame = pl.DataFrame(rows, schema=TYPES, orient="row")
    return Interactions(
        frame,
        scale="1:5",
        items=ITEMS,
        context=["device"],
        duplicates=duplicates,  # type: ignore[arg-type]
        name="ratings",
    )


def triples(rows: list[Any]) -> TagAssignments:
    frame = pl.DataFrame(rows, schema=["user_id", "resource_id", "tag"], orient="row").cast(pl.String)
    return TagAssignments(frame, name="tags").with_vocabulary(["t1", "t2", "t3"]).with_resources(["r1", "r2"])


def guarantees(run: Callable[[Any], Release | Guarantee], datasets: dict[str, Any]) -> None:
    """Run in every dataset, with warnings as errors, and compare what is guaranteed and what is public."""
    seen: dict[str, tuple[Any, ...]] = {}
    for name, data in datasets.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = run(data)
        if isinstance(made, Guarantee):
            seen[name] = (made,)
            continue
        shapes = {part: _shape(made.parts[part]) for part in made.parts}
        seen[name] = (made.guarantee, made.kind, made.mechanism, made.parameters, shapes)
    first = seen["nothing"]
    assert first[0].standing is Standing.PROVED
    assert "docs/proofs/" in first[0].basis
    assert all(other == first for other in seen.values()), seen


def _shape(part: Any) -> Any:
    return part.columns if isinstance(part, pl.DataFrame) else part.dtype


def test_no_tuples_are_data_as_well() -> None:
    """A list of no tuples has no columns. What is declared decides: a scale says that there are ratings."""
    nothing = Interactions([], scale="1:5", items=ITEMS)
    assert nothing.rating is not None
    for name, settings in (("private-ratings", {}),):
        numbered = registered(name)(**{"epsilon": 1, **settings}).fit(
            Interactions([(1, "i1", 3.0)], scale="1:5", items=ITEMS)
        )
        assert registered(name)(**{"epsilon": 1, **settings}).fit(nothing).guarantee == numbered.guarantee


# Recommenders

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "private-recommender": [{}, {"epsilon": 1, "positive": 4}],
    "private-ratings": [{}, {"unit": "rating"}],
    "dp-als": [{"factors": 2}],
    "private-item-knn": [{}, {"unit": "rating"}, {"delta": 0}],
    "private-slope-one": [{}, {"unit": "rating"}, {"unit": "value"}],
    "private-cosine": [{}, {"unit": "rating"}],
    "context-popularity": [{"epsilon": 1}, {"epsilon": 1, "contexts": ["device=phone,laptop"]}],
}
UNPROVED = {
    *("ease", "als", "popularity", "biases", "knn", "uniform-neighbors", "npns", "naive-exponential", "pncf", "ppns"),
    *("ppns-assured", "slope-one", "copurchase-cosine", "published-slope-one", "published-cosine"),
}


def test_every_model_is_here() -> None:
    assert set(SETTINGS) | UNPROVED == set(names("recommender"))
    for name in UNPROVED:
        model = create(name, "recommender", **dict.fromkeys({"epsilon"} & set(settings_of(registered(name))), 1)).fit(
            ratings(ROWS["one record"]), allow_refuted=True
        )
        assert model.guarantee is None or model.guarantee.standing is not Standing.PROVED


@pytest.mark.parametrize(("name", "settings"), [(name, one) for name, every in SETTINGS.items() for one in every])
def test_models(name: str, settings: dict[str, Any]) -> None:
    def run(data: Interactions) -> Guarantee:
        model = registered(name)(**{"epsilon": 1, **settings}).fit(data)
        assert model.guarantee is not None
        scores = model.recommend(history={"i1": 5.0}, n=3)
        assert scores["score"].is_finite().all()
        model.predict(["i2"], history={"i1": 4.0})
        if data.n_users:
            model.recommend(data.users.ids()[:1], n=2)
        return model.guarantee

    guarantees(run, {dataset: ratings(rows) for dataset, rows in ROWS.items()})


# Counts, lists, pairs, catalogs, caps

COUNT_SETTINGS: dict[str, list[dict[str, Any]]] = {
    "weighted": [{"cap": 3}, {"cap": 4, "delta": "1e-6"}],
    "hybrid": [{"cap": 3}, {"cap": 3, "delta": "1e-6"}],
    "sra": [{"cap": 3}],
    "hpa": [{"cap": 3}],
    "lpa": [{"cap": 3}],
    "dft": [{"cap": 3, "coefficients": 3}],
    "gs": [{"cap": 3, "width": 2}],
}


def test_every_counting_method_is_here() -> None:
    assert set(COUNT_SETTINGS) == set(names("counts"))


@pytest.mark.parametrize("contexts", [(), ("device=phone,laptop",)])
@pytest.mark.parametrize(("name", "settings"), [(name, one) for name, all_ in COUNT_SETTINGS.items() for one in all_])
def test_counts(name: str, settings: dict[str, Any], contexts: tuple[str, ...]) -> None:
    method = create(name, "counts", epsilon=1, **settings)

    def run(data: Interactions) -> Release:
        return method.release(data, contexts=contexts)

    for duplicates in ("error", "keep"):
        guarantees(run, {dataset: ratings(rows, duplicates=duplicates) for dataset, rows in ROWS.items()})


OTHERS: dict[str, Callable[[Interactions], Release]] = {
    "top": lambda data: TopItems(k=3, epsilon=1).release(data),
    "top, zCDP": lambda data: TopItems(k=3, epsilon=1, delta="1e-6").release(data),
    "top with counts": lambda data: TopItems(k=3, epsilon=1, count_share="1/2").release(data),
    "top in contexts": lambda data: TopItems(k=3, epsilon=1).release(data, contexts=[Context("device", ("phone",))]),
    "pairs": lambda data: ItemPairs(epsilon=1, cap=3, head=3).release(data),
    "pairs of listed items": lambda data: ItemPairs(epsilon=1, cap=3, head=ITEMS[:3]).release(data),
    "pairs, zCDP": lambda data: ItemPairs(epsilon=1, delta="1e-6", cap=3, head=3).release(data),
    "synthetic": lambda data: SyntheticInteractions(epsilon=1, people=3).release(data),
    "synthetic in contexts": lambda data: SyntheticInteractions(
        epsilon=1, people=3, contexts=["device=phone,laptop"]
    ).release(data),
    "catalog": lambda data: discover_items(data, epsilon=1, delta="1e-6", cap=3),
    "cap by histogram": lambda data: choose_cap(data, epsilon=1, counts_epsilon=1, most=16),
    "cap by rank": lambda data: choose_cap(data, epsilon=1, counts_epsilon=1, most=16, method="rank"),
    "norm": lambda data: choose_cap(data, epsilon=1, counts_epsilon=1, counts_delta="1e-6", most=16),
}


@pytest.mark.parametrize("name", OTHERS)
def test_lists_pairs_catalogs_and_caps(name: str) -> None:
    for duplicates in ("error", "keep"):
        guarantees(OTHERS[name], {dataset: ratings(rows, duplicates=duplicates) for dataset, rows in ROWS.items()})


def test_streams() -> None:
    def stream(rows: list[Any]) -> Interactions:
        held = StreamingBound(2, items=ITEMS, context=["device"], scale="1:5", name="stream")
        held.add(pl.DataFrame(rows, schema=TYPES, orient="row"))
        return held.records()

    method = create("weighted", "counts", epsilon=1, cap=2)
    guarantees(method.release, {dataset: stream(rows) for dataset, rows in ROWS.items()})


@pytest.mark.parametrize("sampler", ["subset", "gumbel", "permute-and-flip"])
def test_lists_for_onlookers(sampler: str) -> None:
    """Of a model that was fitted on nobody and is handed one person's records."""
    for rows in ROWS.values():
        model = registered("private-ratings")(1).fit(ratings(rows)).attach(ratings(ROWS["one record"]))
        lists = ScreenLists(model, k=3, epsilon=1, sampler=sampler)  # type: ignore[arg-type]
        assert lists.show("ann").items.height == 3


# Tags

TAG_ROWS = {
    "nothing": [],
    "one triple": [("ann", "r1", "t1")],
    "one user with everything": [("ann", resource, tag) for resource in ("r1", "r2") for tag in ("t1", "t2", "t3")],
    "two equal users": [(user, "r1", "t1") for user in ("ann", "bob")],
}
TAG_SETTINGS: dict[str, list[dict[str, Any]]] = {
    "ptr-j": [{"delta": "1e-6"}, {"delta": 0, "unit": "assignment"}],
    "ptr-s": [{"delta": "1e-6", "users": 5, "topics": 2}],
    "private-topics": [{"delta": "1e-6", "topics": 2, "method": "gram"}, {"delta": "1e-6", "topics": 2}],
}
PUBLIC_POSTS = {"ptr-t"}
"""Methods under which who is in the data, or who tagged what, is public: data with more or fewer are no neighbors."""


def test_every_way_to_release_tags_is_here() -> None:
    assert set(TAG_SETTINGS) | PUBLIC_POSTS | {"pritop"} == set(names("tags"))


@pytest.mark.parametrize(("name", "settings"), [(name, one) for name, all_ in TAG_SETTINGS.items() for one in all_])
def test_tags(name: str, settings: dict[str, Any]) -> None:
    guarantees(
        create(name, "tags", epsilon=1, **settings).release,
        {dataset: triples(rows) for dataset, rows in TAG_ROWS.items()},
    )


@pytest.mark.parametrize(("name", "settings"), [("ptr-t", {}), ("ptr-t", {"delta": "1e-6"})])
def test_tags_of_public_posts(name: str, settings: dict[str, Any]) -> None:
    for rows in TAG_ROWS.values():
        made = create(name, "tags", epsilon=1, **settings).release(triples(rows))
        assert made.guarantee.standing is Standing.PROVED


@pytest.mark.parametrize("way", ["laplace", "gaussian", "policy"])
@pytest.mark.parametrize("discover", [discover_tags, discover_resources])
def test_vocabularies(discover: Callable[..., Release], way: str) -> None:
    guarantees(
        lambda data: discover(data, epsilon=1, delta="1e-6", cap=2, way=way),
        {dataset: triples(rows) for dataset, rows in TAG_ROWS.items()},
    )


# Tables: the number of rows is public, so that none and one are no neighbors. One row is answered like many.

ROW = Table({"flu": ["yes"], "home": [1]}, domains={"flu": ["yes", "no"]}, group="home", name="survey")


@pytest.mark.parametrize("name", [name for name in names("answers") if name not in ("cim", "lm-cs")])
def test_queries_on_one_row(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        create(name, epsilon=1).release(ROW, marginals(ROW, ["flu"]))


def test_sessions_on_one_row() -> None:
    with QuerySession.open(ROW, PMW(epsilon=1, updates=2)) as session:
        assert session.ask({"flu": "yes"}).source in ("estimate", "measured")
