"""Items in the codes of a public catalog, tables of items and users, and public lists of tags and resources.

The type of a column of ids follows from everybody's records: one text among a million numbers makes all of it text.
So ids are compared with a public list one by one, each in the type of the list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arguments import require_choice
from discreet.data.fingerprints import cut_from
from discreet.data.frames import as_frame
from discreet.data.id_forms import IdKind, coded, recognized, written
from discreet.data.ids import Codes, IdMap, compact
from discreet.data.repeats import settle_repeats
from discreet.errors import DataError, Remedy, UsageError

if TYPE_CHECKING:
    from discreet.data.interactions import Interactions

__all__ = [
    "NOT_IN_CATALOG",
    "Outside",
    "aligned",
    "coded_items",
    "public_list",
    "recoded",
    "recoded_catalog",
    "retyped_items",
    "side_table",
]

Outside = Literal["error", "drop"]
"""What happens to a record of an id that is not on the public list."""

NOT_IN_CATALOG = Remedy(
    "Complete the catalog, or declare with items_public=True that it is public which items occur.",
    cli="Complete the catalog, or declare with --items-public that it is public which items occur.",
)


# Interactions


def coded_items(column: pl.Series, kind: IdKind | None, catalog: IdMap | None) -> tuple[IdMap, Codes]:
    """The items and the code of each row; a DataError at a row of an item that is not in the catalog."""
    if catalog is None:
        return coded(column, kind, what="item")
    seen, places = coded(column, kind, what="item")
    codes = catalog.encode(seen.series, unknown="mark")[places]
    if codes.size and codes.min() < 0:
        row = int(np.argmax(codes < 0))
        raise DataError(
            "the item is not in the public catalog.",
            row=row,
            column=column.name,
            value=column[row],
            remedy=NOT_IN_CATALOG,
        )
    return catalog, codes


def recoded_catalog(data: Interactions, items: Any, *, item: str, unknown: Outside) -> Interactions:
    """The work of ``Interactions.with_catalog``."""
    require_choice(unknown, "unknown", ("error", "drop"))
    if items is None or (isinstance(items, str) and items != "observed"):
        raise UsageError(f"a catalog cannot be {items!r}.", remedy='Give the ids, a table, or "observed".')
    seen, codes = compact(data.items, data.item)
    catalog, table = (seen, None) if isinstance(items, str) else side_table(items, item, what="item")
    assert catalog is not None
    if unknown == "drop" and seen.series.dtype != catalog.series.dtype and len(catalog):
        if catalog.series.dtype not in (pl.String, pl.Int64):
            raise UsageError("ids of this catalog are neither numbers nor text.", remedy="Give them as text.")
        retyped = retyped_items(data, "text" if catalog.series.dtype == pl.String else "number")
        if retyped.items.series.dtype == catalog.series.dtype:
            return recoded_catalog(retyped, items, item=item, unknown="drop")
    if unknown == "drop":
        known = catalog.encode(seen.series, unknown="mark") >= 0
        return recoded_catalog(data._part(known[codes], cut="items"), items, item=item, unknown="error")
    if table is None and data.item_table is not None:
        table = aligned(data.item_table.with_columns(data.items.series.alias(item)), item, catalog)
    whole = data._rewritten(items=catalog, item=catalog.encode(seen.series)[codes])
    whole.catalog_is_public, whole.item_table = True, table
    return whole


def retyped_items(data: Interactions, kind: IdKind) -> Interactions:
    """The work of ``Interactions.with_item_ids``."""
    require_choice(kind, "kind of ids", ("text", "number"))
    dtype = pl.String() if kind == "text" else pl.Int64()
    known = np.array([name is not None for name in written(data.items.ids(), dtype)], dtype=bool)
    part = data._part(known[data.item], cut="items")
    names = pl.Series(written(part.items.ids(), dtype), dtype=dtype)
    ids = IdMap(names.drop_nulls(), what="item")
    # Items of a public catalog that have no such id have no records either; any code will do for them.
    codes = np.maximum(ids.encode(names.fill_null("" if kind == "text" else 0), unknown="mark"), 0)
    retyped = part._rewritten(items=ids, item=codes[part.item])
    if part.item_table is not None:
        first = np.full(len(ids), -1, dtype=np.int64)
        known_codes = np.flatnonzero(names.is_not_null().to_numpy())
        first[codes[known_codes][::-1]] = known_codes[::-1]
        retyped.item_table = part.item_table[first]
    # Where 1 and "1" have become one item, a user with records of both has several of one now.
    settle_repeats(retyped, "keep" if data.may_repeat else "last")
    # Numbers among themselves, and texts, stay apart. Elsewhere the later of two records stays, which depends on the
    # user's other records.
    apart = data.may_repeat or data.items.series.dtype in (pl.Int64, pl.String)
    retyped.lineage = cut_from(part, "rewritten" if apart else "users")
    return retyped


# Tags and resources


def public_list(seen: IdMap, given: Any, what: str) -> IdMap:
    """A list that the caller declares public: ids, or ``"observed"`` for those that occur."""
    if isinstance(given, str):
        if given != "observed":
            raise UsageError(f"a {what} cannot be {given!r}.", remedy='Give the ids, or "observed".')
        return seen
    try:
        listed = given if isinstance(given, IdMap) else IdMap(given, what=seen.what)
    except TypeError:
        raise UsageError(
            f"a {what} cannot be read from {type(given).__name__}.", remedy='Give the ids, or "observed".'
        ) from None
    kinds = {type(one) for one in listed.series} if listed.series.dtype == pl.Object else set()
    if len(kinds) > 1 or kinds & {bool, float}:
        raise UsageError(
            f"this {what} has entries of the type{'s' if len(kinds) > 1 else ''} "
            f"{', '.join(sorted(kind.__name__ for kind in kinds))}.",
            remedy="Give all of them as text, or all as whole numbers.",
        )
    return listed


def recoded(old: IdMap, new: IdMap, codes: Codes, outside: Outside) -> Codes:
    """Codes of the same ids in another map; −1 for those to drop."""
    require_choice(outside, "outside", ("error", "drop"))
    code_of = recognized(new, old.series)
    found = code_of[codes]
    if outside == "error" and found.size and found.min() < 0:
        culprit = old.decode([codes[int(np.argmax(found < 0))]])[0]
        raise DataError(
            f"the {old.what} {culprit!r} occurs, but it is not on the public list.",
            value=culprit,
            remedy=Remedy("Complete the list, or choose outside='drop'.", cli="Complete the list."),
        )
    if outside == "error":
        _refuse_merging(old, new, np.unique(codes), code_of)
    return found


def _refuse_merging(old: IdMap, new: IdMap, seen: NDArray[np.integer[Any]], code_of: Codes) -> None:
    """Refuse two ids that are one entry of the list, such as 1 and "1": records would be merged."""
    many = np.bincount(code_of[seen], minlength=len(new))
    if (many > 1).any():
        both = old.decode(seen[code_of[seen] == int(np.argmax(many > 1))])
        raise DataError(
            f"the {old.what}s {' and '.join(map(repr, both))} are the same entry of the public list.",
            value=both[0],
            remedy=Remedy("Write them alike, or choose outside='drop'.", cli="Write them alike."),
        )


# Tables of items or users, in the order of the codes


def side_table(
    given: Any, column: str, *, what: str, kind: IdKind | None = None
) -> tuple[IdMap | None, pl.DataFrame | None]:
    """The ids of a table of items or users, in the declared type if there is one, and the table in their order."""
    if given is None:
        return None, None
    if type(given).__module__.partition(".")[0] == "pandas" and not hasattr(given, "columns"):
        given = list(given)  # one column, or an index
    if isinstance(given, list | tuple | set | frozenset | range | np.ndarray | pl.Series):
        given = IdMap(list(given) if isinstance(given, set | frozenset) else given, what=what)
    if isinstance(given, IdMap):
        return coded(given.series, kind, what=what)[0] if kind else given, None
    frame = as_frame(given, [column], ids=(column,))
    if column not in frame.columns:
        known = ", ".join(map(repr, frame.columns))
        raise DataError(f"the table of {what}s has no column {column!r}; the columns are {known}.", column=column)
    ids = coded(frame[column], kind, what=what)[0]
    return ids, aligned(frame, column, ids, kind=kind)


def aligned(frame: pl.DataFrame, column: str, ids: IdMap, *, kind: IdKind | None = None) -> pl.DataFrame:
    """The table with one row for each id, in code order; rows of other ids are left out, missing rows are null."""
    if column not in frame.columns:
        raise DataError(f"the table of {ids.what}s has no column {column!r}.", column=column)
    named, rows = coded(frame[column], kind, what=ids.what)
    codes = ids.encode(named.series, unknown="mark")[rows]
    row_of = np.full(len(ids), -1, dtype=np.int64)
    row_of[codes[codes >= 0]] = np.flatnonzero(codes >= 0)
    known = int((codes >= 0).sum())
    if known != int((row_of >= 0).sum()):
        values, counts = np.unique(codes[codes >= 0], return_counts=True)
        raise DataError(
            f"the table of {ids.what}s has {ids.decode([values[np.argmax(counts)]])[0]!r} more than once.",
            column=column,
        )
    index = pl.Series(np.where(row_of < 0, 0, row_of))
    table = frame.drop(column)[index] if known else frame.drop(column).clear(len(ids))
    present = pl.Series(row_of >= 0)
    if known and not present.all():
        table = table.select(pl.when(present).then(pl.col(name)).alias(name) for name in table.columns)
    return table
