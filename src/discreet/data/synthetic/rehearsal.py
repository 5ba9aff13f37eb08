"""People who do not exist, with the same public schema as a dataset: to try out a job before it is paid for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import polars as pl

from discreet.data.dataset import Dataset
from discreet.data.domains import CategoricalDomain
from discreet.data.interactions import Interactions
from discreet.data.synthetic.drawing import numbered, zipf_weights
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments

__all__ = ["like"]

Kind = TypeVar("Kind", bound=Dataset)

DAY = 86_400
LISTED = 50
"""Tags and resources where the public lists have none."""


def like(
    public: Kind,
    *,
    people: int = 1000,
    records: int = 20,
    contexts: Mapping[str, Sequence[Any]] | None = None,
    seed: int,
) -> Kind:
    """Data of invented people with the catalog, scale, domains and columns of a dataset.

    Only what is public about the dataset is looked at. Popularity falls with rank, and everything else is drawn at
    random: what a job does with such data says how it runs, and nothing about the real people.

    Parameters
    ----------
    people
        How many; for a table, how many rows.
    records
        About how many records each of them has.
    contexts
        Values of context columns, which are not known from the public side.
    """
    generator = np.random.default_rng(seed)
    if isinstance(public, Interactions):
        return _interactions(public.emptied(), people, records, contexts or {}, generator)  # type: ignore[return-value]
    if isinstance(public, TagAssignments):
        return _tags(public.emptied(), people, records, generator)  # type: ignore[return-value]
    assert isinstance(public, Table)
    return _table(public.emptied(), people, generator)  # type: ignore[return-value]


def _interactions(
    public: Interactions,
    people: int,
    records: int,
    contexts: Mapping[str, Sequence[Any]],
    generator: np.random.Generator,
) -> Interactions:
    catalog = public.items.series if public.catalog_is_public else numbered("item", LISTED)
    per_user = np.minimum(generator.geometric(1 / records, size=people), len(catalog))
    weights = zipf_weights(len(catalog))
    items = [generator.choice(len(catalog), size=n, replace=False, p=weights) for n in per_user]
    user = np.repeat(np.arange(people), per_user)
    columns: dict[str, Any] = {
        "user_id": numbered("p", people).gather(user),
        "item_id": catalog.gather(np.concatenate(items) if items else np.zeros(0, dtype=np.int64)),
    }
    if public.rating is not None:
        columns["rating"] = _ratings(public, user.size, generator)
    if public.timestamp is not None:
        first = 0 if public.window is None else int(public.window.start)
        columns["timestamp"] = first + generator.integers(0, 28 * DAY, size=user.size)
    for name in public.context.columns:
        values = pl.Series(list(contexts.get(name, ["a", "b", "c"])))
        columns[name] = values.gather(generator.integers(0, len(values), size=user.size))
    return Interactions(
        pl.DataFrame(columns),
        context=public.context.columns,
        scale=public.scale,
        duplicates="keep" if public.may_repeat else "error",
        items=_catalog(public),
        name=f"rehearsal of {public.name}",
    )


def _catalog(public: Interactions) -> Any:
    if not public.catalog_is_public:
        return None
    ids = public.items.series.alias("item_id")
    return ids.to_frame() if public.item_table is None else public.item_table.insert_column(0, ids)


def _ratings(public: Interactions, n: int, generator: np.random.Generator) -> Any:
    if public.scale is None:
        return generator.geometric(0.5, size=n).astype(float)
    low, high, step = (float(end) for end in (public.scale.low, public.scale.high, public.scale.step or 1))
    return low + step * generator.integers(0, round((high - low) / step) + 1, size=n)


def _tags(public: TagAssignments, people: int, records: int, generator: np.random.Generator) -> TagAssignments:
    resources = public.resources.series if public.resources_are_public else numbered("r", LISTED)
    words = public.tags.series if public.vocabulary_is_public else numbered("tag", LISTED)
    n = people * records
    drawn = TagAssignments(
        {
            "user_id": numbered("p", people).gather(generator.integers(0, people, size=n)),
            "resource_id": resources.gather(generator.integers(0, len(resources), size=n)),
            "tag": words.gather(generator.choice(len(words), size=n, p=zipf_weights(len(words)))),
        },
        name=f"rehearsal of {public.name}",
    )
    if public.vocabulary_is_public:
        drawn = drawn.with_vocabulary(words.to_list())
    return drawn.with_resources(resources.to_list()) if public.resources_are_public else drawn


def _table(public: Table, rows: int, generator: np.random.Generator) -> Table:
    columns: dict[str, Any] = {}
    for name, domain in public.domains.items():
        values = list(domain.values) if isinstance(domain, CategoricalDomain) else range(domain.low, domain.high + 1)
        columns[name] = [values[place] for place in generator.integers(0, len(values), size=rows)]
    if public.groups is not None:
        group = next(column for column in public.to_frame().columns if column not in public.attributes)
        columns[group] = np.arange(rows) // 2
        return Table(columns, domains=public.domains, group=group, name=f"rehearsal of {public.name}")
    return Table(columns, domains=public.domains, name=f"rehearsal of {public.name}")
