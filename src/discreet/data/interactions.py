"""Who touched what: the records that every recommender starts from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.fingerprints import cut_from, fingerprint_of_records, kind_of_cut
from discreet.data.frames import as_frame, as_mask, numeric_column, time_column
from discreet.data.id_forms import written
from discreet.data.ids import Codes, IdMap, compact, group_order
from discreet.data.scales import RatingScale
from discreet.data.side_tables import aligned, side_table
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

__all__ = ["Duplicates", "Interactions"]

Duplicates = Literal["error", "last", "keep"]


class Interactions:
    """Records of who touched what, with a value, a time and a context where there are any. Immutable.

    Records stand sorted by user, then item, whatever the order they came in.

    Parameters
    ----------
    data
        A polars, pandas or Arrow table with the columns below; a ``scipy.sparse`` matrix (rows are users); or an
        iterable of tuples ``(user, item[, rating[, timestamp]])``. Arrays go in as a mapping of columns.
    user, item, rating, timestamp
        Names of the columns. A rating or timestamp column that is not there is left out.
    context
        Names of further columns to keep with each record (weekday, device, place …).
    scale
        The public rating scale, as ``RatingScale``, ``(low, high[, step])`` or ``"1:5"``. Ratings outside it are an
        error. Without a scale ratings are plain weights (play counts, amounts).
    duplicates
        What to do when a user has several records of one item: ``"error"``, ``"last"`` (keep the latest), ``"keep"``.
    items
        The **public** catalog: a table with the item column (and title, genres …) or just the ids. Without it the
        data do not say which items exist, and mechanisms that need a public list of items will ask for one.
    users
        What is known of each user (gender, age …). Secret unless named in ``public_user_columns``.
    name
        What to call these data in messages and in the ledger.

    Attributes
    ----------
    users, items : IdMap
        Ids and their codes. Without a catalog, items are those that occur.
    user, item : int32 arrays
        Codes of each record.
    rating : float array or None
    timestamp : int64 array of seconds since 1970, or None
    context : polars.DataFrame
        The context columns, one row a record.
    catalog_is_public : bool
        Whether the list of items was declared public.
    may_repeat : bool
        Whether a user may have several records of one item. It follows from the policy for duplicates, which is
        public, and not from the records.

    Examples
    --------
    >>> shop = Interactions([("ann", "tea", 5), ("bob", "tea", 3), ("ann", "rum", 4)], scale="1:5")
    >>> shop
    Interactions(3 records, 2 users, 2 items, ratings 1:5:1)
    >>> shop.csr.toarray()
    array([[4., 5.],
           [0., 3.]], dtype=float32)
    """

    users: IdMap
    items: IdMap
    user: Codes
    item: Codes
    rating: NDArray[np.floating] | None
    timestamp: NDArray[np.int64] | None
    context: pl.DataFrame
    scale: RatingScale | None
    catalog_is_public: bool
    item_table: pl.DataFrame | None
    user_table: pl.DataFrame | None
    public_user_columns: frozenset[str]
    name: str
    lineage: tuple[str, ...]
    may_repeat: bool
    _repeats: bool

    def __init__(
        self,
        data: Any,
        *,
        user: str = "user_id",
        item: str = "item_id",
        rating: str | None = "rating",
        timestamp: str | None = "timestamp",
        context: Sequence[str] = (),
        scale: RatingScale | str | tuple[object, ...] | None = None,
        duplicates: Duplicates = "error",
        items: Any = None,
        users: Any = None,
        public_user_columns: Iterable[str] = (),
        name: str = "",
    ) -> None:
        frame = as_frame(data, [user, item, rating or "rating", timestamp or "timestamp"], ids=(user, item))
        for column in (user, item, *context):
            if column not in frame.columns:
                raise DataError(
                    f"there is no column {column!r}; the columns are {', '.join(map(repr, frame.columns))}.",
                    column=column,
                    remedy="Name the columns with user=, item=, rating=, timestamp=, context=.",
                )
        catalog, item_table = side_table(items, item, what="item")
        self._assemble(
            users=IdMap(frame[user], what="user"),
            items=catalog or IdMap(frame[item], what="item"),
            user_ids=frame[user],
            item_ids=frame[item],
            rating=numeric_column(frame, rating),
            timestamp=time_column(frame, timestamp),
            context=frame.select(list(context)),
            scale=None if scale is None else RatingScale.of(scale),
            duplicates=duplicates,
            catalog_is_public=catalog is not None,
            item_table=item_table,
            user_table=None if users is None else as_frame(users, [user], ids=(user,)),
            user_column=user,
            public_user_columns=frozenset(public_user_columns),
            name=name,
        )

    def _assemble(
        self,
        *,
        users: IdMap,
        items: IdMap,
        user_ids: pl.Series,
        item_ids: pl.Series,
        rating: NDArray[np.floating] | None,
        timestamp: NDArray[np.int64] | None,
        context: pl.DataFrame,
        scale: RatingScale | None,
        duplicates: Duplicates,
        catalog_is_public: bool,
        item_table: pl.DataFrame | None,
        user_table: pl.DataFrame | None,
        user_column: str,
        public_user_columns: frozenset[str],
        name: str,
    ) -> None:
        if duplicates not in ("error", "last", "keep"):
            raise UsageError(f"duplicates={duplicates!r}?", remedy="Choose 'error', 'last' or 'keep'.")
        _check_ratings(rating, scale)
        item_codes = items.encode(item_ids, unknown="mark")
        if item_codes.size and item_codes.min() < 0:
            row = int(np.argmax(item_codes < 0))
            raise DataError(
                f"row {row} has the item {item_ids[row]!r}, which is not in the public catalog.",
                remedy="Complete the catalog, or leave such records out before.",
            )
        self._set_columns(users, items, users.encode(user_ids), item_codes, rating, timestamp, context, scale)
        self.catalog_is_public = catalog_is_public
        self.item_table = item_table
        self.public_user_columns = public_user_columns
        self.user_table = aligned(user_table, user_column, users) if user_table is not None else None
        if public_user_columns and (self.user_table is None or not public_user_columns <= set(self.user_table.columns)):
            raise UsageError(
                f"public_user_columns names {sorted(public_user_columns)}, which the table of users does not have."
            )
        self.name = name
        self.lineage = ()
        self._settle_duplicates(duplicates)

    def _set_columns(
        self,
        users: IdMap,
        items: IdMap,
        user: Codes,
        item: Codes,
        rating: NDArray[np.floating] | None,
        timestamp: NDArray[np.int64] | None,
        context: pl.DataFrame,
        scale: RatingScale | None,
    ) -> None:
        """Sort every column by user, then item, and freeze them."""
        self.users, self.items, self.scale = users, items, scale
        if user.size > 2**31 - 2:
            raise DataError(f"{user.size:,} records are more than one table can hold.", remedy="Split the data.")
        if not _is_sorted(user, item, len(items)):
            by_item, _ = group_order(item, len(items))
            by_user, _ = group_order(_taken(user, by_item), len(users))
            order = _taken(by_item, by_user)
            del by_item, by_user
            user, item = _taken(user, order), _taken(item, order)
            rating = None if rating is None else _taken(rating, order)
            timestamp = None if timestamp is None else _taken(timestamp, order)
            context = context[order] if context.width else context
        if rating is not None:
            rating = rating.astype(rating.dtype if scale is None else scale.dtype, copy=False)
        self.user, self.item, self.rating, self.timestamp = user, item, rating, timestamp
        self.context = context
        for column in (self.user, self.item, self.rating, self.timestamp):
            if column is not None:
                column.flags.writeable = False

    def _settle_duplicates(self, policy: Duplicates) -> None:
        repeated = np.zeros(len(self), dtype=bool)
        if len(self):
            repeated[1:] = (self.user[1:] == self.user[:-1]) & (self.item[1:] == self.item[:-1])
        self.may_repeat = policy == "keep"
        self._repeats = bool(repeated.any())
        if not self._repeats or self.may_repeat:
            return
        if policy == "error":
            row = int(np.argmax(repeated))
            raise DataError(
                f"user {self.users.decode([self.user[row]])[0]!r} has more than one record of item "
                f"{self.items.decode([self.item[row]])[0]!r} ({int(repeated.sum()):,} such records in all).",
                remedy="Choose duplicates='last' (keep the latest) or 'keep' (visits, plays).",
            )
        part = self._part(_latest(repeated, self.timestamp), independent=True, remembered=False)
        # Nothing of the longer records may stay, least of all the fingerprint that naming the part worked out.
        self.__dict__.clear()
        self.__dict__.update(part.__dict__)
        self.lineage = ()

    # What it is

    def __len__(self) -> int:
        return int(self.user.size)

    def __repr__(self) -> str:
        parts = [f"{len(self):,} records", f"{self.n_users:,} users", f"{self.n_items:,} items"]
        if self.rating is not None:
            parts.append(f"ratings {self.scale}" if self.scale else "weights")
        if self.timestamp is not None:
            parts.append("times")
        parts.extend(self.context.columns)
        name = f"{self.name!r}: " if self.name else ""
        return f"Interactions({name}{', '.join(parts)})"

    @property
    def n_users(self) -> int:
        return len(self.users)

    @property
    def n_items(self) -> int:
        return len(self.items)

    @cached_property
    def user_starts(self) -> NDArray[np.int64]:
        """Records of user ``u`` are those from ``user_starts[u]`` to ``user_starts[u + 1]``."""
        return np.searchsorted(self.user, np.arange(self.n_users + 1, dtype=np.int32)).astype(np.int64)

    @cached_property
    def records_per_user(self) -> NDArray[np.int64]:
        return np.diff(self.user_starts)

    @cached_property
    def records_per_item(self) -> NDArray[np.int64]:
        return np.bincount(self.item, minlength=self.n_items)

    @cached_property
    def csr(self) -> csr_array:
        """Users × items: ratings, or 1 where there are none; kept duplicates are summed."""
        from scipy.sparse import csr_array

        matrix = csr_array(
            (self._matrix_values, self.item, self.user_starts), shape=(self.n_users, self.n_items), copy=False
        )
        if self._repeats:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return matrix

    @cached_property
    def csc(self) -> csc_array:
        """The same matrix by item."""
        return self.csr.tocsc()

    @property
    def _matrix_values(self) -> NDArray[np.floating]:
        return np.ones(len(self), dtype=np.float32) if self.rating is None else self.rating

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the records: the same for the same records in any order, whatever the side tables say."""
        return fingerprint_of_records(
            kind="interactions",
            ids=[(self.users, self.user), (self.items, self.item)],
            values={
                "rating": self.rating,
                "timestamp": self.timestamp,
                **{name: self.context[name] for name in sorted(self.context.columns)},
            },
            repeats=self._repeats,
        )

    def describe(self) -> dict[str, Any]:
        """Facts about these records, for their owner: they are **not** private and not for publication."""
        per_user, per_item = self.records_per_user, self.records_per_item
        facts: dict[str, Any] = {
            "name": self.name,
            "records": len(self),
            "users": self.n_users,
            "items": self.n_items,
            "items_public": self.catalog_is_public,
            "items_with_records": int((per_item > 0).sum()),
            "density": len(self) / max(1, self.n_users * self.n_items),
            "records_per_user": _quantiles(per_user),
            "records_per_item": _quantiles(per_item),
            "scale": None if self.scale is None else str(self.scale),
            "rating_mean": None if self.rating is None or not len(self) else float(self.rating.mean()),
            "context": self.context.columns,
            "user_columns": [] if self.user_table is None else self.user_table.columns,
            "item_columns": [] if self.item_table is None else self.item_table.columns,
            "fingerprint": self.fingerprint,
        }
        if self.timestamp is not None and len(self):
            facts["first_time"], facts["last_time"] = int(self.timestamp.min()), int(self.timestamp.max())
        return facts

    # Parts and other shapes

    def filter(
        self,
        keep: NDArray[np.bool_] | Callable[[pl.DataFrame], pl.Series],
        *,
        independent: bool | Literal["record"] = False,
    ) -> Interactions:
        """The records for which ``keep`` is true: a mask, or a function of ``to_frame()`` that gives one.

        The part remembers where it came from, so the ledger charges what is done with it to the whole.

        Parameters
        ----------
        independent
            Declare that what is kept of one user depends on that user's records and on public facts alone; "record", if
            it depends on each record alone, which promises about single records need. Of a part that was cut in another
            way (users with many followers, items with five ratings …) nothing can be released on the account of the
            whole: one user more could change everybody's part in it.
        """
        mask = as_mask(keep(self.to_frame()) if callable(keep) else keep, len(self))
        return self._part(mask, independent=independent)

    def sample_users(self, n: int, *, seed: int) -> Interactions:
        """All records of ``n`` users chosen at random. For experiments: it releases nothing and protects nothing."""
        from discreet.data.splits import choose_users

        return self.filter(choose_users(self.n_users, n, seed=seed)[self.user])

    def with_catalog(
        self, items: Any, *, item: str = "item_id", unknown: Literal["error", "drop"] = "error"
    ) -> Interactions:
        """The same records with a public catalog: a table, a list of ids, or ``"observed"``.

        ``"observed"`` declares that it is public knowledge which items occur. That is a statement about the world
        (a shop's range is public; that somebody visited a private address is not), and nobody can check it for you.

        Records of items that are not in the catalog are an error, or dropped.
        """
        if unknown not in ("error", "drop"):
            raise UsageError(f"unknown={unknown!r}?", remedy="Choose 'error' or 'drop'.")
        if isinstance(items, str) and items != "observed":
            raise UsageError(f"a catalog cannot be {items!r}.", remedy='Give the ids, a table, or "observed".')
        seen, codes = compact(self.items, self.item)
        catalog, table = (seen, None) if isinstance(items, str) else side_table(items, item, what="item")
        if catalog is None:
            raise UsageError("there is no catalog in None.", remedy='Give the ids, a table, or "observed".')
        if unknown == "drop" and seen.series.dtype != catalog.series.dtype and len(catalog):
            # The type of the ids follows from everybody's records. Each is written in the catalog's own type by itself,
            # so that one odd id of one user does not decide about the others'.
            if catalog.series.dtype not in (pl.String, pl.Int64):
                raise UsageError("ids of this catalog are neither numbers nor text.", remedy="Give them as text.")
            written = self.with_item_ids("text" if catalog.series.dtype == pl.String else "number")
            if written.items.series.dtype == catalog.series.dtype:
                return written.with_catalog(items, item=item, unknown="drop")
        known = catalog.encode(seen.series, unknown="mark" if unknown == "drop" else "error") >= 0
        if not known.all():
            return self.filter(known[codes], independent="record").with_catalog(items, item=item)
        if table is None and self.item_table is not None:
            table = aligned(self.item_table.with_columns(self.items.series.alias(item)), item, catalog)
        whole = self._copy()
        whole._set_columns(
            self.users,
            catalog,
            self.user,
            catalog.encode(seen.series)[codes],
            self.rating,
            self.timestamp,
            self.context,
            self.scale,
        )
        whole.catalog_is_public, whole.item_table = True, table
        return whole

    def with_item_ids(self, kind: Literal["text", "number"]) -> Interactions:
        """The same records with item ids of one declared type; those of items that have no such id are dropped.

        Text is what whole numbers and text are written as; numbers are whole numbers, and text that is one. The type is
        declared because what the ids happen to be may follow from a single record.
        """
        if kind not in ("text", "number"):
            raise UsageError(f"ids of kind {kind!r}?", remedy="Choose 'text' or 'number'.")
        dtype = pl.String() if kind == "text" else pl.Int64()
        known = np.array([name is not None for name in written(self.items.ids(), dtype)], dtype=bool)
        part = self if known.all() else self.filter(known[self.item], independent="record")
        names = pl.Series(written(part.items.ids(), dtype), dtype=dtype)
        ids = IdMap(names.drop_nulls(), what="item")
        # Items of a public catalog that have no such id have no records either; any code will do for them.
        known_names = names.fill_null("" if kind == "text" else 0)
        codes = np.maximum(ids.encode(known_names, unknown="mark"), 0)
        twin = part._copy()
        twin._set_columns(
            part.users, ids, part.user, codes[part.item], part.rating, part.timestamp, part.context, part.scale
        )
        if part.item_table is not None:
            first = np.full(len(ids), -1, dtype=np.int64)
            known_codes = np.flatnonzero(names.is_not_null().to_numpy())
            first[codes[known_codes][::-1]] = known_codes[::-1]
            twin.item_table = part.item_table[first]
        # 1 and "1" have become one item: whoever had records of both has several of one now.
        twin._settle_duplicates("keep" if self.may_repeat else "last")
        # Of two records that have become one, the later one stays: that takes a look at the user's other records.
        twin.lineage = cut_from(part, "rewritten" if self.may_repeat else "users")
        return twin

    def emptied(self) -> Interactions:
        """No records, the same public facts: what an estimate may look at."""
        empty = self._part(np.zeros(len(self), dtype=bool), independent=True, remembered=False)
        empty.lineage = self.lineage
        return empty

    def without_repeats(self) -> Interactions:
        """The same records, known to hold each user and item once."""
        if self._repeats:
            raise DataError("a user has several records of one item.", remedy="Choose one of them first.")
        twin = self._copy()
        twin.may_repeat = False
        return twin

    def with_ratings(self, rating: NDArray[np.floating], scale: RatingScale | None) -> Interactions:
        """The same records with other ratings, in the same order."""
        _check_ratings(rating, scale)
        twin = self._copy()
        twin._set_columns(
            self.users, self.items, self.user, self.item, rating.copy(), self.timestamp, self.context, scale
        )
        twin.lineage = cut_from(self, "rewritten")
        return twin

    def _part(
        self, mask: NDArray[np.bool_], *, independent: bool | Literal["record"], remembered: bool = True
    ) -> Interactions:
        """Records under the mask; users without records go, items go only when the catalog is not public."""
        part = self._copy()
        user, item = self.user[mask], self.item[mask]
        users, user = compact(self.users, user)
        items = self.items
        if not self.catalog_is_public:
            items, item = compact(items, item)
        part._set_columns(
            users,
            items,
            user,
            item,
            None if self.rating is None else self.rating[mask],
            None if self.timestamp is None else self.timestamp[mask],
            self.context.filter(pl.Series(mask)) if self.context.width else self.context,
            self.scale,
        )
        if self.user_table is not None:
            part.user_table = self.user_table[self.users.encode(users.series)]
        repeated = (part.user[1:] == part.user[:-1]) & (part.item[1:] == part.item[:-1])
        part._repeats = bool(repeated.any())
        if remembered:
            part.lineage = cut_from(self, kind_of_cut(independent))
        return part

    def _copy(self) -> Interactions:
        """A shallow copy without the cached views."""
        twin = object.__new__(Interactions)
        cached = {name for name, value in vars(Interactions).items() if isinstance(value, cached_property)}
        twin.__dict__.update({name: value for name, value in self.__dict__.items() if name not in cached})
        return twin

    def to_frame(self) -> pl.DataFrame:
        """The records with the caller's ids: user_id, item_id[, rating][, timestamp][, context …]."""
        columns: dict[str, Any] = {
            "user_id": self.users.take(self.user),
            "item_id": self.items.take(self.item),
        }
        if self.rating is not None:
            columns["rating"] = self.rating
        if self.timestamp is not None:
            columns["timestamp"] = self.timestamp
        return pl.DataFrame(columns).hstack(self.context.get_columns())

    def titles(self, codes: Sequence[int] | NDArray[np.integer[Any]]) -> list[str]:
        """What to call items: the title where the catalog has one, the id elsewhere."""
        if self.item_table is None or "title" not in self.item_table.columns:
            return [str(name) for name in self.items.decode(codes)]
        return [str(title) for title in self.item_table["title"].gather(np.asarray(codes, dtype=np.int64))]


def _check_ratings(rating: NDArray[np.floating] | None, scale: RatingScale | None) -> None:
    if rating is None:
        if scale is not None:
            raise UsageError("a rating scale was given, but there are no ratings.", remedy="Name the rating column.")
        return
    wrong = ~np.isfinite(rating)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"row {row} has no usable rating.",
            column="rating",
            value=float(rating[row]),
            remedy="Ratings must be finite numbers.",
        )
    if scale is not None:
        wrong = ~scale.contains(rating)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DataError(
                f"row {row} is not on the declared scale {scale}.",
                column="rating",
                value=float(rating[row]),
                remedy="Correct the rating or declare the right scale.",
            )


def _is_sorted(user: Codes, item: Codes, n_items: int) -> bool:
    if user.size < 2:
        return True
    rising = user[1:] > user[:-1]
    return bool(np.all(rising | ((user[1:] == user[:-1]) & (item[1:] >= item[:-1]))))


def _taken(column: NDArray[Any], order: NDArray[np.int32]) -> NDArray[Any]:
    """The column in another order. polars does it with all cores, numpy with one."""
    return pl.Series(column).gather(pl.Series(order)).to_numpy()


def _latest(repeated: NDArray[np.bool_], timestamp: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Mask of one record in each run of repeats: the latest, or the last in order among equals."""
    keep = np.ones(repeated.size, dtype=bool)
    keep[:-1] = ~repeated[1:]
    if timestamp is None:
        return keep
    run = np.cumsum(~repeated) - 1
    latest = np.flatnonzero(timestamp == np.maximum.reduceat(timestamp, np.flatnonzero(~repeated))[run])
    keep[:] = False
    keep[latest[np.append(run[latest][1:] != run[latest][:-1], True)]] = True
    return keep


def _quantiles(counts: NDArray[np.int64]) -> dict[str, float]:
    if not counts.size:
        return {}
    low, median, high = np.quantile(counts, [0.05, 0.5, 0.95])
    return {
        "min": int(counts.min()),
        "5%": float(low),
        "median": float(median),
        "95%": float(high),
        "max": int(counts.max()),
        "mean": float(counts.mean()),
    }
