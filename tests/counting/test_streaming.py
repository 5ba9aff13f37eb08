"""Bounding in a stream: equal in law to the batch, whatever comes when."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare

import discreet as dc
from discreet.counting import ItemCounts, StreamingBound, streaming
from discreet.counting.cells import Cells, best_records
from discreet.errors import BudgetError, DataError, PrivacyError, ReleaseError, UsageError
from discreet.privacy.bounding import cap_records

ITEMS = list("abcde")


def held(stream: StreamingBound) -> tuple[str, ...]:
    return tuple(sorted(stream.records().to_frame()["item_id"]))


COPIES = 400


def copies(records: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The records of many groups of users that do the same: each of them is a draw of its own."""
    return [(f"{user}{copy}", item) for copy in range(COPIES) for user, item in records]


def outcomes_of(drawn: Iterable[tuple[str, str]]) -> Counter[tuple[str, ...]]:
    """What was kept of each of the copies."""
    kept: dict[str, list[str]] = {}
    for user, item in drawn:
        kept.setdefault(user[1:], []).append(item)
    assert len(kept) == COPIES
    return Counter(tuple(sorted(items)) for items in kept.values())


def streamed(stream: StreamingBound, records: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """What a stream keeps of the copies, in batches of three records of each."""
    many = copies(records)
    for begin in range(0, len(records), 3):
        stream.add([one for place, one in enumerate(many) if begin <= place % len(records) < begin + 3])
    return stream.records().to_frame().select("user_id", "item_id").rows()


def law(make, batches: list[list[tuple[str, str]]], monkeypatch: pytest.MonkeyPatch) -> dict[tuple[str, ...], Fraction]:
    """The exact law of what is held: every order of the keys is equally likely."""
    size = sum(map(len, batches))
    found: Counter[tuple[str, ...]] = Counter()
    orders = list(itertools.permutations(range(size)))
    for order in orders:
        keys = iter(order)
        monkeypatch.setattr(
            streaming,
            "numbered",
            lambda users, words, keys=keys: np.array(list(itertools.islice(keys, users.size)), dtype=np.uint64),
        )
        stream = make()
        for batch in batches:
            stream.add(batch)
        found[held(stream)] += 1
    return {subset: Fraction(count, len(orders)) for subset, count in found.items()}


def splits(records: list[tuple[str, str]]) -> list[list[list[tuple[str, str]]]]:
    return [[records], [records[:1], records[1:]], [records[2:], records[:2]]]


@pytest.mark.parametrize("cap", [1, 2])
def test_every_subset_is_equally_likely_however_records_come(cap: int, monkeypatch) -> None:
    """Four records of one user: exactly the law of drawing so many of them."""
    records = [("u", item) for item in "abcd"]
    expected = {subset: Fraction(1, len(list(itertools.combinations("abcd", cap))))
                for subset in itertools.combinations("abcd", cap)}  # fmt: skip
    for batches in splits(records):
        assert law(lambda: StreamingBound(cap, items=ITEMS), batches, monkeypatch) == expected


def test_the_most_popular_are_held_and_ties_are_drawn(counts, monkeypatch) -> None:
    """b, c and d are equally popular: two of them share the place that a leaves."""
    release = counts(a=9, b=4, c=4, d=4, e=1)
    records = [("u", item) for item in "ebcda"[1:]]
    expected = {("a", other): Fraction(1, 3) for other in "bcd"}
    for batches in splits(records):
        found = law(lambda: StreamingBound(2, choice="popularity", popularity=release), batches, monkeypatch)
        assert found == expected


def test_what_nobody_is_known_to_like_is_drawn_at_random(counts, monkeypatch) -> None:
    """As HPA does: counts of 0 or less say nothing about an order."""
    release = counts(a=9, b=-2, c=0, d=-7)
    records = [("u", item) for item in "abcd"]
    expected = {("a", other): Fraction(1, 3) for other in "bcd"}
    for batches in splits(records):
        found = law(lambda: StreamingBound(2, choice="popularity", popularity=release), batches, monkeypatch)
        assert found == expected


def test_stream_and_batch_of_popular_records_have_one_law(counts, fixed_bits) -> None:
    """HPA's own choice, and the stream's, against the exact law: repeats, ties, and counts below 0."""
    release = counts(a=4, b=4, c=7, d=-1, e=-3)
    records = [("u", item) for item in "aabde"] + [("v", item) for item in "cde"]
    exact = Counter(tuple(sorted((*two, "c", other))) for two in itertools.combinations("aab", 2) for other in "de")
    outcomes = sorted(exact)
    expected = np.array([exact[outcome] for outcome in outcomes], dtype=float)
    data = dc.Interactions(copies(records), items=ITEMS, duplicates="keep")
    cells, users = Cells.of(data), data.users.ids()
    kept = cells.keep(best_records(cells, 2, np.array([4, 4, 7, 0, 0])))
    batch = [(users[user], ITEMS[item]) for user, item in zip(kept.user, kept.item, strict=True)]
    for drawn in (streamed(StreamingBound(2, choice="popularity", popularity=release), records), batch):
        seen = outcomes_of(drawn)
        assert set(seen) <= set(outcomes)
        assert chisquare([seen[o] for o in outcomes], COPIES * expected / expected.sum()).pvalue > 1e-6


def test_a_biased_reservoir_is_caught(monkeypatch) -> None:
    """The broken mechanism keeps the first records: its law is not the batch's."""

    class Lazy(StreamingBound):
        def _drawn(self, frame: pl.DataFrame) -> pl.DataFrame:
            later = super()._drawn(frame)
            return later.with_columns(pl.col("_key") + (0 if self._held is None else 2**40))

    records = [("u", item) for item in "abcd"]
    assert len(law(lambda: Lazy(1, items=ITEMS), [records[:1], records[1:]], monkeypatch)) == 1


def test_stream_and_batch_have_one_law(fixed_bits) -> None:
    """Real bits, repeats and two users: samples of both against each other's exact law."""
    records = [("u", item) for item in "aabcd"] + [("v", "e")]
    exact = Counter(tuple(sorted((*pair, "e"))) for pair in itertools.combinations("aabcd", 2))
    outcomes = sorted(exact)
    expected = np.array([exact[outcome] for outcome in outcomes], dtype=float)
    batch = cap_records(dc.Interactions(copies(records), items=ITEMS, duplicates="keep"), 2).records.to_frame()
    for drawn in (
        streamed(StreamingBound(2, items=ITEMS), records),
        batch.select("user_id", "item_id").rows(),
    ):
        seen = outcomes_of(drawn)
        assert set(seen) <= set(outcomes)
        assert chisquare([seen[o] for o in outcomes], COPIES * expected / expected.sum()).pvalue > 1e-6


def test_merged_streams_are_one_stream(monkeypatch) -> None:
    records = [("u", item) for item in "abcd"]

    class Merged:
        def __init__(self) -> None:
            self.parts = [StreamingBound(2, items=ITEMS), StreamingBound(2, items=ITEMS)]
            self.added = 0

        def add(self, batch) -> None:
            self.parts[self.added].add(batch)
            self.added += 1

        def records(self) -> dc.Interactions:
            self.parts[0].merge(self.parts[1])
            return self.parts[0].records()

    found = law(Merged, [records[:1], records[1:]], monkeypatch)
    assert found == {subset: Fraction(1, 6) for subset in itertools.combinations("abcd", 2)}
    with pytest.raises(UsageError, match="same way"):
        StreamingBound(2, items=ITEMS).merge(StreamingBound(3, items=ITEMS))
    with pytest.raises(UsageError, match="same way"):
        StreamingBound(2, items=ITEMS).merge(StreamingBound(2, items=ITEMS[:3]))


def test_a_user_with_a_million_records_is_bounded() -> None:
    stream = StreamingBound(10, items=[f"i{n}" for n in range(100)])
    for _ in range(4):
        frame = pl.DataFrame(
            {"user_id": pl.Series(["bot"] * 250_000), "item_id": [f"i{n % 100}" for n in range(250_000)]}
        )
        stream.add(frame)
        assert len(stream) == 10
    stream.add([("ann", "i3")])
    assert stream.records().records_per_user.tolist() == [1, 10]


def test_what_is_dropped_is_gone() -> None:
    """Text of dropped records does not live on in the memory, or the file, of those that are held."""
    secret = "the-private-clinic-on-the-hill"
    stream = StreamingBound(1, context=["note"])
    stream.add(
        pl.DataFrame({"user_id": ["u"] * 400, "item_id": ["x"] * 400, "note": [f"{secret}-{n}" for n in range(400)]})
    )
    kept = stream.records().context["note"].item()
    assert stream._held is not None
    assert stream._held.estimated_size() < 2_000
    from discreet.counting.stream_folder import table_as_bytes

    assert table_as_bytes(stream._held).count(secret.encode()) == 1
    assert kept.startswith(secret)


def test_everything_comes_through() -> None:
    frame = pl.DataFrame(
        {"user_id": [3, 1], "item_id": [7, 8], "rating": [4, 2], "timestamp": [50, 60], "device": ["phone", "tv"]}
    )
    stream = StreamingBound(
        5,
        items=pl.DataFrame({"item_id": [7, 8, 9], "title": ["G", "H", "I"]}),
        context=["device"],
        scale="1:5",
        name="tv",
    )
    stream.add(frame)
    stream.add(dc.Interactions(frame.with_columns(user_id=pl.lit(5)), context=["device"], scale="1:5"))
    records = stream.records()
    assert repr(records) == "Interactions('tv': 4 records, 3 users, 3 items, ratings 1:5:1, times, device)"
    assert records.titles([0]) == ["G"]
    assert records.catalog_is_public
    assert records.may_repeat
    one = records.to_frame().filter(pl.col("user_id") == 3)
    assert one.rows() == [(3, 7, 4.0, 50, "phone")]


def test_the_latest_record_of_an_item_takes_its_place() -> None:
    stream = StreamingBound(2, items=ITEMS, duplicates="last")
    stream.add([("u", "a", 1.0, 10), ("u", "b", 2.0, 10)])
    stream.add([("u", "a", 5.0, 20)])
    stream.add([("u", "b", 9.0, 5)])
    records = stream.records()
    assert not records.may_repeat
    assert records.to_frame().select("item_id", "rating").rows() == [("a", 5.0), ("b", 2.0)]


def test_a_stream_has_one_account(tmp_path: Path) -> None:
    """Every snapshot has its own fingerprint, and all are charged to the account that was opened for one."""
    ledger = dc.Ledger(tmp_path / "ledger.db")
    stream = StreamingBound(2, items=ITEMS, name="visits")
    stream.add([("u", "a"), ("v", "b")])
    monday = stream.records()
    ledger.open(monday, epsilon=1, unit="user")
    ItemCounts(epsilon="1/2", cap=2).release(monday, ledger=ledger)
    stream.save(tmp_path / "state")
    stream = StreamingBound.resume(tmp_path / "state")
    stream.add([("u", "c"), ("w", "d")])
    tuesday = stream.records()
    assert tuesday.fingerprint != monday.fingerprint
    ItemCounts(epsilon="1/2", cap=2).release(tuesday, ledger=ledger)
    assert ledger.statement("visits").spent.epsilon == 1
    with pytest.raises(BudgetError):
        ItemCounts(epsilon="1/2", cap=2).release(tuesday, ledger=ledger)


def test_without_a_catalog_nothing_is_released() -> None:
    stream = StreamingBound(2)
    stream.add([("u", "a")])
    with pytest.raises(PrivacyError):
        ItemCounts(epsilon=1, cap=2).release(stream.records())


@pytest.mark.parametrize(
    "settings",
    [
        {"cap": 0},
        {"cap": 1, "choice": "newest"},
        {"cap": 1, "choice": "popularity"},
        {"cap": 1, "duplicates": "error"},
    ],
)
def test_impossible_settings(settings) -> None:
    with pytest.raises(UsageError):
        StreamingBound(settings.pop("cap"), **settings)


def test_impossible_popularity(counts) -> None:
    with pytest.raises(UsageError):
        StreamingBound(1, popularity=counts(a=1))
    with pytest.raises(UsageError, match="different items"):
        StreamingBound(1, choice="popularity", popularity=counts(a=1), items=["x"])
    shop = dc.Interactions([("u", "a")], items=ITEMS)
    with pytest.raises(ReleaseError):
        StreamingBound(1, choice="popularity", popularity=dc.counting.TopItems(k=1, epsilon=1).release(shop))


@pytest.mark.parametrize(
    "batch",
    [
        [("u", "not in the catalog")],
        [(7, "a")],
        pl.DataFrame({"user_id": ["u"], "item_id": ["a"], "rating": [3.0]}),
        pl.DataFrame({"user_id": ["u"]}),
    ],
)
def test_a_batch_is_taken_whole_or_not_at_all(batch) -> None:
    stream = StreamingBound(3, items=ITEMS)
    stream.add([("u", "a")])
    with pytest.raises(DataError):
        stream.add(batch)
    assert held(stream) == ("a",)


def test_a_day_on_which_nobody_came() -> None:
    stream = StreamingBound(3, items=ITEMS, context=["device"], scale="1:5")
    assert stream.records().scale is not None
    stream.add(pl.DataFrame({"user_id": ["u"], "item_id": ["a"], "rating": [4.0], "timestamp": [1], "device": ["tv"]}))
    stream.add({"user_id": [], "item_id": [], "device": []})
    assert stream.records().to_frame().rows() == [("u", "a", 4.0, 1, "tv")]


def test_nothing_came_yet() -> None:
    stream = StreamingBound(3, items=ITEMS)
    assert len(stream) == 0
    assert stream.records().n_users == 0
    stream.add([])
    assert stream.records().n_items == len(ITEMS)
    stream.add([("u", "a")])
    stream.add([])
    assert held(stream) == ("a",)
