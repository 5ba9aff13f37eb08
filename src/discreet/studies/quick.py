"""What a quick run takes of large data: some people and some items, so that it ends within a minute on any input."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.common.arrays import Integers, Mask
from discreet.data.interactions import Interactions
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments

__all__ = ["Most", "reduced"]

Data = Interactions | TagAssignments | Table

ENOUGH, HEAVY = 5, 20
"""Those with fewer records of the kept items, and those who have a twentieth of all that is taken, come last."""


@dataclass(frozen=True)
class Most:
    """How much a quick run takes.

    Parameters
    ----------
    people
        Users, drawn at random, those with at least five records of the kept items first and nobody without any;
        groups of a table, where it has groups.
    items
        Items or resources, those with the most records.
    records
        Records or rows: fewer people are taken if theirs are more.
    """

    people: int = 2_000
    items: int = 2_000
    records: int = 100_000


def reduced(data: Data, most: Most, *, seed: int) -> tuple[Data, str]:
    """A part of large data, and how many of how many it has; data that are not large, and nothing to say.

    A part that is chosen by popularity is good for a look and nothing else: a report on it says so. It releases
    nothing.

    Examples
    --------
    >>> data = Interactions([(user, item) for user in "abcdef" for item in "xyz"] + [("a", "rare")])
    >>> part, told = reduced(data, Most(people=4, items=3), seed=0)
    >>> part.n_users, part.n_items, told
    (4, 3, '4 of 6 people (drawn, those with 5 records first) and 3 of 4 items, those with the most; 12 of 19 records')
    """
    if isinstance(data, Table):
        return _fewer_rows(data, most, seed=seed)
    of_items = isinstance(data, Interactions)
    n_items, of = (data.n_items, data.item) if of_items else (data.n_resources, data.resource)
    told = []
    kept = np.ones(len(data), dtype=bool)
    if n_items > most.items:
        held = np.bincount(of, minlength=n_items)
        popular = np.zeros(n_items, dtype=bool)
        popular[np.argsort(-held, kind="stable")[: most.items]] = True
        kept = popular[of]
        told.append(f"{most.items:,} of {n_items:,} {'items' if of_items else 'resources'}, those with the most")
    held = np.bincount(data.user[kept], minlength=data.n_users)
    people = _people(held, most, seed=seed)
    of_people = f"{np.count_nonzero(people):,} of {data.n_users:,} people"
    if np.count_nonzero(people) < np.count_nonzero(held):
        kept &= people[data.user]
        told.insert(0, f"{of_people} (drawn, those with {ENOUGH} records first)")
    elif told and not people.all():
        told.insert(0, f"{of_people} (all who have any)")
    if not told:
        return data, ""
    return _part(data, kept), f"{' and '.join(told)}; {int(kept.sum()):,} of {len(data):,} records"


def _people(held: Integers, most: Most, *, seed: int) -> Mask:
    """Who is taken, given how many records each has: in random order until there are enough people or records."""
    present = held > 0
    if present.sum() <= most.people and held.sum() <= most.records:
        return present
    order = np.random.default_rng([seed, 41]).permutation(held.size)
    order = order[present[order]]
    usual = (held[order] >= ENOUGH) & (held[order] <= most.records / HEAVY)
    order = np.concatenate([order[usual], order[~usual]])
    fits = np.cumsum(held[order]) <= most.records
    fits[0] = True
    taken = np.zeros(held.size, dtype=bool)
    taken[order[fits][: most.people]] = True
    return taken


def _part(data: Interactions | TagAssignments, kept: Mask) -> Interactions | TagAssignments:
    """The records under the mask, with the items that they have."""
    part = data.filter(kept)
    if isinstance(part, TagAssignments) or not part.catalog_is_public:
        return part
    codes = np.unique(part.item)
    catalog = pl.DataFrame({"item_id": part.items.take(codes)})
    if part.item_table is not None:
        catalog = catalog.hstack(part.item_table[codes])
    return part.with_catalog(catalog)


def _fewer_rows(data: Table, most: Most, *, seed: int) -> tuple[Table, str]:
    if len(data) <= most.records:
        return data, ""
    held = np.ones(len(data), dtype=np.int64) if data.group is None else np.bincount(data.group)
    taken = _people(held, Most(people=held.size, records=most.records), seed=seed)
    part = data.filter(taken if data.group is None else taken[data.group]).to_frame()
    # A table of its own: rows were drawn whatever their values are.
    group = next((name for name in part.columns if name not in data.domains), None)
    return Table(part, domains=data.domains, group=group, name=data.name), f"{part.height:,} of {len(data):,} rows"
