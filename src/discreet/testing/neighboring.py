"""Pairs of small neighboring datasets, the difficult ones included: what ``coupled_run`` is run on.

Each function gives pairs for one unit. The datasets are small enough that a fit takes milliseconds, and they hold what
usually breaks a proof: nobody, one person, equal people, a person with everything, repeated records, ids of several
types, values that are missing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from discreet.data.interactions import Interactions
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.errors import DuplicatesWarning
from discreet.privacy.units import Unit

__all__ = ["NeighboringPair", "interaction_pairs", "table_pairs", "tag_pairs"]

ITEMS = tuple(f"i{number}" for number in range(8))
TAGS = tuple(f"t{number}" for number in range(6))
RESOURCES = tuple(f"r{number}" for number in range(5))
DEVICES = ("phone", "laptop", "radio")

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class NeighboringPair:
    """Two datasets that differ in one unit.

    Parameters
    ----------
    name
        Which datasets, and what differs.
    """

    name: str
    first: Any
    second: Any

    def __str__(self) -> str:
        return self.name


def interaction_pairs(
    unit: Unit, *, rated: bool = True, repeats: bool = False, context: bool = False
) -> Iterator[NeighboringPair]:
    """Pairs of ``Interactions`` over a public catalog of eight items.

    Parameters
    ----------
    rated
        Whether records have ratings from 1 to 5, or are plain visits.
    repeats
        Whether a user may have several records of one item.
    context
        Whether records have a context ``device`` and users a table with their ``age``.

    Examples
    --------
    >>> pairs = list(interaction_pairs(Unit("user")))
    >>> len(pairs), pairs[0].name
    (15, 'typical without u0')
    >>> len(pairs[0].first.users) - len(pairs[0].second.users)
    1
    """
    for name, rows in _histories(repeats).items():
        for what, one, two in _neighbors(rows, unit, value=2):
            pair = [_interactions(given, rated=rated, repeats=repeats, context=context) for given in (one, two)]
            yield NeighboringPair(f"{name} {what}", *pair)


def _histories(repeats: bool) -> dict[str, Rows]:
    """Rows (user, item, rating, time, device) by the name of the dataset."""
    typical = [
        (f"u{user}", ITEMS[item], 1 + (user * item) % 5, 100 * user + item, DEVICES[(user + item) % 2])
        for user in range(6)
        for item in range(8)
        if (user * 5 + item * 3) % 4 < 2
    ]
    everything = [("all", item, 5, 7, "phone") for item in ITEMS]
    some: dict[str, Rows] = {
        "typical": typical,
        "one person": [("u0", ITEMS[item], 4, item, "laptop") for item in range(3)],
        "one record": [("u0", ITEMS[7], 5, 1, "phone")],
        "equal people": [(f"u{user}", ITEMS[item], 3, 5, "phone") for user in range(4) for item in range(3)],
        "a person with everything": typical + everything,
        "only a person with everything": everything,
        "extreme ratings": [
            (f"u{user}", ITEMS[item], 5 if user else 1, 0, "radio") for user in range(3) for item in range(0, 8, 2)
        ],
        "ids of several types": [
            (user, ITEMS[(place + number) % 8], 1 + number, 3, "phone")
            for place, user in enumerate((1, "1", 2.5, ("a", 1), "ü", ""))
            for number in range(3)
        ],
        "values that are missing": [
            (f"u{user}", ITEMS[item], 4, 2, None if user == 1 else "laptop") for user in range(3) for item in range(4)
        ],
    }
    if repeats:
        some["repeated records"] = [row for row in typical for _ in range(2)] + [
            ("u0", ITEMS[0], 2, time, "phone") for time in range(5)
        ]
    return some


def _neighbors(rows: Rows, unit: Unit, *, value: int) -> Iterator[tuple[str, Rows, Rows]]:
    """Rows beside rows that differ in one unit, for some of the people or records."""
    people = list(dict.fromkeys(row[0] for row in rows))
    chosen = list(dict.fromkeys([people[0], people[-1], max(people, key=[row[0] for row in rows].count)]))
    if unit == Unit("user"):
        for person in chosen:
            yield f"without {person}", rows, [row for row in rows if row[0] != person]
    elif unit == Unit("user", "replace"):
        for person in chosen:
            theirs = [row for row in rows if row[0] == person]
            others = [row for row in rows if row[0] != person]
            # The same person with one record that nobody else need have, and with the records of somebody else.
            yield f"with one record of {person}", rows, [*others, theirs[0]]
            like = [(person, *row[1:]) for row in rows if row[0] == people[len(people) // 2]]
            yield f"with other records of {person}", rows, [*others, *like]
    elif unit == Unit("record"):
        for place in sorted({0, len(rows) // 2, len(rows) - 1}):
            yield f"without record {place}", rows, rows[:place] + rows[place + 1 :]
    elif unit == Unit("record", "value"):
        for place in sorted({0, len(rows) // 2, len(rows) - 1}):
            row = rows[place]
            for other in _other_values(row[value]):
                changed = (*row[:value], other, *row[value + 1 :])
                yield f"with another value of record {place}", rows, [*rows[:place], changed, *rows[place + 1 :]]
    else:
        raise AssertionError(f"there are no pairs for {unit}")


def _other_values(value: Any) -> tuple[Any, ...]:
    """The ends of the scale of ratings, or other tags."""
    return tuple(end for end in ((1, 5) if isinstance(value, int) else TAGS[:2]) if end != value)


def _interactions(rows: Rows, *, rated: bool, repeats: bool, context: bool) -> Interactions:
    import polars as pl

    columns = dict(zip(("user_id", "item_id", "rating", "timestamp", "device"), zip(*rows, strict=True), strict=False))
    if not rows:
        columns = dict.fromkeys(("user_id", "item_id", "rating", "timestamp", "device"), ())
    given: dict[str, Any] = {
        "user_id": list(columns["user_id"]),
        "item_id": pl.Series(columns["item_id"], dtype=pl.String),
    }
    if rated:
        given["rating"] = pl.Series(columns["rating"], dtype=pl.Float64)
    given["timestamp"] = pl.Series(columns["timestamp"], dtype=pl.Int64)
    users: Any = None
    if context:
        given["device"] = pl.Series(columns["device"], dtype=pl.String)
        ids = list(dict.fromkeys(given["user_id"]))
        ages = pl.Series([str(20 + 5 * (len(str(one)) % 7)) for one in ids], dtype=pl.String)
        users = {"user_id": ids, "age": ages}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DuplicatesWarning)  # of 1 and "1", who are two people here
        return Interactions(
            given,
            items=list(ITEMS),
            scale="1:5" if rated else None,
            duplicates="keep" if repeats else "error",
            context=("device",) if context else (),
            users=users,
            name="small",
        )


def tag_pairs(unit: Unit) -> Iterator[NeighboringPair]:
    """Pairs of ``TagAssignments`` over public lists of six tags and five resources.

    Examples
    --------
    >>> next(tag_pairs(Unit("record"))).name
    'typical without record 0'
    """
    typical = [
        (f"u{user}", RESOURCES[resource], TAGS[tag])
        for user in range(6)
        for resource in range(5)
        for tag in range(6)
        if (user * 7 + resource * 3 + tag * 5) % 11 < 3
    ]
    some: dict[str, Rows] = {
        "typical": typical,
        "different people": [
            (f"u{user}", RESOURCES[(user + step) % 5], TAGS[(user + 2 * step) % 6])
            for user in range(5)
            for step in range(1 + user % 3)
        ],
        "one person": [("u0", "r1", "t2"), ("u0", "r1", "t3")],
        "equal people": [(f"u{user}", "r0", tag) for user in range(4) for tag in TAGS[:3]],
        "a person with everything": typical + [("z", resource, tag) for resource in RESOURCES for tag in TAGS],
        "ids of several types": [(user, "r2", tag) for user in ("1", "ü", "") for tag in TAGS[1:4]],
    }
    for name, rows in some.items():
        for what, one, two in _neighbors(rows, unit, value=2):
            # Triples are a set: a value that makes two of them one would change how many there are.
            if unit == Unit("record", "value") and len(set(two)) != len(set(one)):
                continue
            pair = [
                TagAssignments(_triples(given), name="small")
                .with_vocabulary(list(TAGS))
                .with_resources(list(RESOURCES))
                for given in (one, two)
            ]
            yield NeighboringPair(f"{name} {what}", *pair)


def _triples(rows: Rows) -> dict[str, Any]:
    import polars as pl

    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    names = ("user_id", "resource_id", "tag")
    return {name: pl.Series(column, dtype=pl.String) for name, column in zip(names, columns, strict=True)}


def table_pairs(*, rows: int = 1) -> Iterator[NeighboringPair]:
    """Pairs of ``Table`` of which so many rows of one household were replaced; how many rows there are is public.

    Examples
    --------
    >>> pair = next(table_pairs())
    >>> pair.first.n_cells, len(pair.first) == len(pair.second)
    (6, True)
    """
    typical = [("yes" if number % 3 else "no", 18 + (number * 7) % 59, number // 2) for number in range(12)]
    some: dict[str, Rows] = {
        "typical": typical,
        "equal rows": [("no", 40, number // 2) for number in range(6)],
        "one household": [("no", 20, 0), ("yes", 77, 0)],
        "one row": [("yes", 30, 0)],
    }
    for name, given in some.items():
        for home in dict.fromkeys(row[2] for row in given):
            places = [place for place, row in enumerate(given) if row[2] == home][:rows]
            if len(places) < rows:
                continue
            for value in (("yes", 18), ("no", 77)):
                changed = [(*value, row[2]) if place in places else row for place, row in enumerate(given)]
                if changed != given:
                    yield NeighboringPair(f"{name}, household {home} is {value}", _table(given), _table(changed))


def _table(rows: Rows) -> Table:
    from discreet.data.domains import IntegerDomain

    smokes, age, home = zip(*rows, strict=True)
    domains = {"smokes": ["no", "yes"], "age": IntegerDomain(18, 77, bins=3)}
    return Table({"smokes": smokes, "age": age, "home": home}, domains=domains, group="home", name="small")
