"""The whole registry: a method gives the same release from parts, bit for bit, or declares what else it reads.

Every registered class is looked at, so that a new one cannot be forgotten. The checks are functions of a class, and the
last tests see that they refuse classes which break the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args
from unittest import mock

import numpy as np
import polars as pl
import pytest
from tests.engines.test_scanning import Replayed

import discreet as dc
from discreet.counting.counts import CountMethod
from discreet.coupled import Coupling, QueryMethod, all_marginals
from discreet.data.interactions import Interactions
from discreet.data.parted import Parted
from discreet.engines.scanning import ScannedInteractions
from discreet.errors import UsageError
from discreet.factors import private_ratings, tastes
from discreet.models.recommender import Recommender
from discreet.models.registry import REGISTRY, settings_of
from discreet.privacy import Release, entropy
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.method import Made, Method, Plan, Reads, Round, Rounds
from discreet.privacy.units import Unit
from discreet.tagging.ptr_t import PTRT

T = TypeVar("T")

FILMS = dc.synthetic.films(users=120, items=30, seed=7)
PLAIN = dc.Interactions(FILMS.to_frame(), items=FILMS.items.series, scale="1:5", name="films")
TAGS = dc.synthetic.tags(users=30, resources=12, vocabulary=40, seed=3)
TAGS = TAGS.with_vocabulary("observed").with_resources("observed")
SURVEY = dc.synthetic.survey(households=60, seed=3)

DRAWING: set[type] = {Method, CountMethod}
"""Classes whose ``_draw`` runs the rounds over the parts. ``CountMethod`` finishes counts after that."""


# Data in parts that say what was asked of them


class Pieces(Parted):
    """Data in memory, cut by person, row or group: parts of any kind of data."""

    def __init__(self, data: Any, owner: np.ndarray, many: int) -> None:
        self.pieces = [data.filter(owner == number, independent=True) for number in range(many)]
        super().__init__(data.emptied())

    @property
    def n_parts(self) -> int:
        return len(self.pieces)

    def each(self, function: Callable[[Any], T]) -> Iterator[T]:
        return (function(piece) for piece in self.pieces)

    def of_users(self, users: Sequence[Any]) -> Interactions:
        raise NotImplementedError

    def require_open(self) -> None: ...


class Watched:
    """How many passes over all parts there were, and how much of the data was in one part at most."""

    def __init__(self) -> None:
        self.passes, self.largest = 0, 0.0

    def watch(self, each: Callable[..., Any]) -> Callable[..., Any]:
        def watched(data: Any, function: Callable[[Any], T]) -> Iterator[T]:
            self.passes += 1
            sizes: list[int] = []

            def noted(part: Any) -> T:
                sizes.append(len(part))
                return function(part)

            yield from each(data, noted)
            assert len(sizes) == data.n_parts
            self.largest = max(self.largest, max(sizes) / max(1, sum(sizes)))

        return watched


def in_memory(takes: str) -> Any:
    return {"interactions": PLAIN, "tags": TAGS, "table": SURVEY}[takes]


def in_parts(takes: str, folder: Path) -> Parted:
    if takes == "interactions":
        scanned = dc.scan(
            PLAIN.to_frame().lazy(), items=FILMS.items.series, scale="1:5", name="films", parts=4, folder=folder
        )
        assert isinstance(scanned, ScannedInteractions)
        return scanned
    data = in_memory(takes)
    owner = data.user % 4 if takes == "tags" else data.group % 4
    return Pieces(data, owner, 4)


# The rule


def require_declared(kind: type[Any]) -> str:
    """What a class declares to read; an error for one that declares neither sums nor anything else."""
    declared = next((one for one in kind.__mro__ if "reads" in vars(one)), None)
    assert declared is not None, f"{kind.__name__} declares neither statistics nor what else it reads"
    assert kind.reads in get_args(Reads), f"{kind.__name__} declares {kind.reads!r}"
    if not issubclass(kind, Method):
        assert kind.reads != "sums", f"{kind.__name__} has no rounds whose sums could be added"
        return kind.reads
    draws = next(one for one in kind.__mro__ if "_draw" in vars(one))
    if kind.reads == "sums":
        assert kind._rounds is not Method._rounds, f"{kind.__name__} declares statistics and has none"
        assert draws in DRAWING, f"{kind.__name__} draws in a way of its own: declare what it reads"
    else:
        assert declared is not Method, f"{kind.__name__} does not declare what it reads"
        assert draws not in DRAWING, f"{kind.__name__} declares {kind.reads!r} and releases sums"
    return kind.reads


def released(made: Any, data: Any) -> tuple[Release, int]:
    """What a method releases with fixed randomness, and how often it asked for random bytes."""
    bits = Replayed()
    with (
        mock.patch.object(entropy, "random_bytes", bits),
        mock.patch.object(entropy, "public_bytes", Replayed()),
        mock.patch.object(entropy, "bounding_key", return_value=(1, 2)),
    ):
        # Queries take the number of rows for public and PTR-T the posts: their plans are made from the whole.
        if isinstance(made, QueryMethod):
            plan = made.plan(SURVEY, all_marginals(SURVEY, 1), coupling=Coupling.by_group(SURVEY))
        elif isinstance(made, PTRT):
            plan = made.plan(TAGS)
        else:
            return made.release(data, allow_refuted=True), bits.asked
        return made._release(data, plan, ledger=None, allow_refuted=True), bits.asked


def require_same_release(make: Callable[[], Any], whole: Any, parts: Parted) -> int:
    """Compare the release from parts with that from memory; the number of passes over the parts."""
    expected, before = released(make(), whole)
    assert before, "nothing was drawn: equal releases would say nothing"
    watched = Watched()
    with mock.patch.object(type(parts), "each", watched.watch(type(parts).each)):
        found, asked = released(make(), parts)
    assert asked == before
    assert found.guarantee == expected.guarantee
    assert dict(found.parameters) == dict(expected.parameters)
    assert found.parts.keys() == expected.parts.keys()
    for name, value in expected.parts.items():
        theirs: Any = found.parts[name]
        same = value.equals(theirs) if isinstance(value, pl.DataFrame) else np.array_equal(value, theirs)
        assert same, f"{name} differs"
    assert watched.passes, "the parts were not asked"
    assert watched.largest < 0.9, "one part had nearly everybody"
    return watched.passes


def settings(kind: type[Any]) -> list[dict[str, Any]]:
    """Settings with a budget that leaves something to compare; with normal noise, too, where a method has both."""
    known = settings_of(kind)
    # The cap is below what people have, so that it matters whether all of somebody's records are in one part.
    given: dict[str, Any] = {"epsilon": 8, "k": 5, "cap": 3, "head": 12}
    needed = {name: given[name] for name, required in known.items() if required or name == "cap"}
    return [needed, {**needed, "delta": "1e-6"}] if "delta" in known else [needed]


SUMS = [name for name, entry in REGISTRY.items() if getattr(entry.load(), "reads", "") == "sums"]


@pytest.mark.parametrize("name", REGISTRY)
def test_everything_declares_what_it_reads(name: str) -> None:
    require_declared(REGISTRY[name].load())


@pytest.mark.parametrize("name", SUMS)
def test_the_same_release_from_parts(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What is learned from many people only is learned from few here, so that every round is seen.
    monkeypatch.setattr(tastes, "CROSSOVER", 0)
    monkeypatch.setattr(private_ratings, "CROSSOVER", 0)
    monkeypatch.setattr(private_ratings, "LEAST_RATINGS", 0)
    kind, takes = REGISTRY[name].load(), REGISTRY[name].takes
    for chosen in settings(kind):
        try:
            kind(**chosen)
        except UsageError:
            assert "delta" in chosen, "the settings of this test do not fit"
            continue
        passes = require_same_release(lambda one=chosen: kind(**one), in_memory(takes), in_parts(takes, tmp_path))
        assert passes >= ROUNDS.get(name, 1)


ROUNDS = {"private-recommender": 2, "private-ratings": 2, "private-item-knn": 2, "dp-als": 3, "hybrid": 1}
"""Methods with several rounds: all of them must have been seen."""


@pytest.mark.parametrize("name", [name for name in REGISTRY if name not in SUMS])
def test_everything_else_needs_memory_and_says_so(name: str, tmp_path: Path) -> None:
    entry = REGISTRY[name]
    kind = entry.load()
    if entry.gives == "tag recommender":
        return  # they are fitted on triples, which is no release
    made = kind(**settings(kind)[0])
    data = in_parts(entry.takes, tmp_path)
    with pytest.raises(UsageError, match="looks at everybody at once and needs the data in memory"):
        made.fit(data) if isinstance(made, Recommender) else made.release(data, allow_refuted=True)


# The rule cannot be met by accident


@dataclass(frozen=True)
class Counted(Method):
    """Counts, one for each user and item."""

    name: ClassVar[str] = "counted"
    kind: ClassVar[str] = "item-counts"
    epsilon: int = 8

    def _plan(self, public: Any) -> Plan:
        budget = Budget(epsilon=self.epsilon)
        return Plan(budget.loss, "Laplace mechanism", "counts of items", public=public)

    def _rounds(self, plan: Plan) -> Rounds:
        answer = yield Round(self.statistics, Budget(epsilon=self.epsilon).for_sums())
        return {"counts": np.asarray(answer)}

    def statistics(self, part: Interactions) -> BoundedSums:
        return _sums(part, part.records_per_item)


def _sums(part: Interactions, counts: Any) -> BoundedSums:
    values, most = np.asarray(counts, dtype=np.int64), Fraction(part.n_items)
    return BoundedSums(values, Fraction(1), most, most, Fraction(1), True, Unit("user"), ())


class ByPart(Counted):
    """Its statistics depend on how many people are in the part."""

    def statistics(self, part: Interactions) -> BoundedSums:
        return _sums(part, part.records_per_item * (part.n_users % 7))


class OwnWay(Counted):
    """It inherits the declaration of sums and draws in a way of its own."""

    def _draw(self, data: Any, plan: Plan) -> Made:
        return {"counts": data.records_per_item}


class Nothing(Recommender):
    """It declares nothing."""


class Empty(Method):
    """It inherits the declaration of sums and has none."""


class Odd(Counted):
    reads: ClassVar[Any] = "something"


class SumsInDisguise(Counted):
    reads: ClassVar[Reads] = "records"


def test_the_example_itself_conforms(tmp_path: Path) -> None:
    assert require_declared(Counted) == "sums"
    assert require_same_release(Counted, in_memory("interactions"), in_parts("interactions", tmp_path)) == 1


def test_statistics_that_do_not_add_up_are_found(tmp_path: Path) -> None:
    assert require_declared(ByPart) == "sums"
    with pytest.raises(AssertionError, match="counts differs"):
        require_same_release(ByPart, in_memory("interactions"), in_parts("interactions", tmp_path))


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (OwnWay, "draws in a way of its own"),
        (Nothing, "declares neither"),
        (Empty, "declares statistics and has none"),
        (Odd, "declares 'something'"),
        (SumsInDisguise, "releases sums"),
    ],
)
def test_a_class_that_breaks_the_rule_is_found(kind: type[Any], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        require_declared(kind)


def test_parts_that_hold_nearly_everybody_are_no_test(tmp_path: Path) -> None:
    whole = in_memory("interactions")
    with pytest.raises(AssertionError, match="nearly everybody"):
        require_same_release(Counted, whole, Pieces(whole, np.zeros(len(whole), dtype=int), 4))
