"""Records of users and items: the data that every recommender starts from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arguments import require_choice
from discreet.data.catalogs import aligned, coded_items, recoded_catalog, retyped_items, side_table
from discreet.data.dataset import UserRecords, check_size, frozen, quantiles
from discreet.data.diagnosis import Columns, Declared, all_problems
from discreet.data.fingerprints import WITHOUT_MISSING, Cut, HashedColumns, cut_from
from discreet.data.frames import as_frame, numeric_column, require_columns, time_column, times_within, typed_columns
from discreet.data.id_forms import IdKind, IdKinds, coded, id_kinds
from discreet.data.ids import Codes, IdMap, code_order, compact, taken
from discreet.data.periods import Window, date_of
from discreet.data.problems import Missing, Problems
from discreet.data.repeats import POLICIES, Duplicates, repeated_records, settle_repeats
from discreet.data.scales import RatingScale, check_ratings
from discreet.data.screening import dropped_missing
from discreet.errors import DataError, Remedy, UsageError

if TYPE_CHECKING:
    from scipy.sparse import csc_array, csr_array

__all__ = ["Duplicates", "Interactions"]

NAME_COLUMNS = Remedy(
    "Name the columns with user=, item=, rating=, timestamp=, context=.",
    cli="Name the columns: --column user=… --column item=….",
)


class Interactions(UserRecords):
    """Records of users and items, with a rating, a time and a context where there are any. Immutable.

    Records are sorted by user, then item, whatever order they came in.

    Parameters
    ----------
    data
        A polars, pandas or Arrow table with the columns below; a ``scipy.sparse`` matrix (rows are users); or an
        iterable of tuples ``(user, item[, rating[, timestamp]])``. Arrays go in as a mapping of columns.
    user, item, rating, timestamp
        Names of the columns. A rating or timestamp column that is not there is left out.
    context
        Names of further columns to keep with each record (weekday, device, place …). Columns of a table keep their
        types; Python values (lists, object columns of pandas) become text, each by its own type: ``True`` is "true",
        ``1.0`` is "1", a date is "2024-02-01".
    scale
        The public rating scale, as ``RatingScale``, ``(low, high[, step])`` or ``"1:5"``. Ratings outside it are an
        error. Without a scale ratings are plain weights (play counts, amounts).
    duplicates
        What to do when a user has several records of one item: ``"error"``, ``"last"`` (keep the latest), ``"sum"``
        (add up quantities; time and context are those of the latest), ``"keep"``. With ``"last"`` and ``"sum"`` one
        record can change another. Whole users can then be protected, or the value of a rating, but not the presence of
        one record: such guarantees are refused, whether or not a record was changed.
    missing
        What to do with a row whose user, item, rating or time is missing (None, null, NaN): ``"error"``, or ``"drop"``
        it. With ``"drop"`` blank text is missing too. A missing context is a value like any other.
    items
        The **public** catalog: a table with the item column (and title, genres …) or just the ids. Without it the
        list of items is secret, and mechanisms that need a public list refuse the data.
    users
        A table of the users (gender, age …). Secret unless named in ``public_user_columns``. Its types are treated
        like those of contexts.
    ids
        The declared type of the ids: "text", "number" (whole numbers), or one for each of them, as in
        ``"user=number,item=text"``. Without it every id keeps the type that it came with.
    window, time_zone
        The days that the data are about, such as "2026-11" or "2026-11-01..2026-11-30", and where days begin. Records
        of other times, and without a time, are left out one by one, before anything else looks at them.
    name
        What the data are called in messages and in the ledger.

    Attributes
    ----------
    users, items : IdMap
        Ids and their codes. Without a catalog, items are those that occur.
    typed_columns : frozenset of str
        Contexts and columns of the table of users that came with a type. The type counts as declared by the caller: no
        guarantee covers how it was chosen.
    user, item : int32 arrays
        Codes of each record.
    rating : float array or None
    timestamp : int64 array of seconds since 1970, or None
    context : polars.DataFrame
        The context columns, one row per record.
    catalog_is_public : bool
        Whether the list of items was declared public.
    may_repeat : bool
        Whether a user may have several records of one item. It follows from ``duplicates``, which is public, and not
        from the records.
    dropped_duplicates : int
        How many records ``duplicates="last"`` left out, or ``"sum"`` added to others. Not private: for the owner of
        the records only, like the next two.
    dropped_missing : int
        How many rows ``missing="drop"`` left out.
    missing_by_column : dict
        How many of them lack a value in each column.

    Examples
    --------
    >>> shop = Interactions([("ann", "tea", 5), ("bob", "tea", 3), ("ann", "rum", 4)], scale="1:5")
    >>> shop
    Interactions(3 records, 2 users, 2 items, ratings 1:5:1)
    >>> shop.csr.toarray()
    array([[4., 5.],
           [0., 3.]], dtype=float32)
    """

    items: IdMap
    n_items: int
    item: Codes
    rating: NDArray[np.floating] | None
    timestamp: NDArray[np.int64] | None
    context: pl.DataFrame
    scale: RatingScale | None
    catalog_is_public: bool
    item_table: pl.DataFrame | None
    user_table: pl.DataFrame | None
    public_user_columns: frozenset[str]
    may_repeat: bool
    dropped_duplicates: int = 0
    dropped_missing: int = 0
    missing_by_column: Mapping[str, int] = MappingProxyType({})
    typed_columns: frozenset[str]
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
        missing: Missing = "error",
        items: Any = None,
        users: Any = None,
        public_user_columns: Iterable[str] = (),
        ids: IdKinds = None,
        window: Window | str | Sequence[str] | None = None,
        time_zone: str | None = None,
        name: str = "",
    ) -> None:
        kinds = id_kinds(ids, ("user", "item"))
        require_choice(duplicates, "duplicates", POLICIES)
        require_choice(missing, "missing", ("error", "drop"))
        names = [user, item, rating or "rating", timestamp or "timestamp"]
        frame = as_frame(data, names, ids=(user, item), as_text=context)
        require_columns(frame, (user, item, *context), NAME_COLUMNS)
        self.window = Window.declared(window, time_zone)
        self.name, self.lineage = name, ()
        typed = typed_columns(data) & set(context)
        self.once_inferred = frozenset(context) - typed
        self.typed_columns = frozenset(typed | (typed_columns(users) - {user}))
        columns = Columns(user, item, rating, timestamp)
        settings = Declared(
            columns, kinds, None if scale is None else RatingScale.of(scale), items, duplicates, missing, self.window
        )
        try:
            self._read(frame, settings, tuple(context))
            self._set_user_table(users, user, kinds["user"], public_user_columns)
            settle_repeats(self, duplicates)
        except DataError as error:
            raise all_problems(frame, settings) or error from None

    def _read(self, frame: pl.DataFrame, declared: Declared, context: tuple[str, ...]) -> None:
        """Everything but the table of users, from rows as they came."""
        (user, item, rating, timestamp), scale = declared.columns, declared.scale
        if declared.missing == "drop":
            problems = Problems("drop")
            frame = dropped_missing(frame, (user, item), [name for name in (rating, timestamp) if name], problems)
            self.dropped_missing, self.missing_by_column = problems.dropped, problems.dropped_by_column
            self.lineage = (WITHOUT_MISSING,)
        if self.window is not None:
            frame = frame.filter(times_within(frame, timestamp, self.window))
        rating_values = numeric_column(frame, rating)
        if rating_values is None and scale is not None and frame.is_empty():
            # No tuples have no columns; the scale says that there are ratings.
            rating_values = np.zeros(0)
        check_ratings(rating_values, scale)
        catalog, self.item_table = side_table(declared.items, item, what="item", kind=declared.kinds["item"])
        self.catalog_is_public = catalog is not None
        known_users, user_codes = coded(frame[user], declared.kinds["user"], what="user")
        known_items, item_codes = coded_items(frame[item], declared.kinds["item"], catalog)
        self._set_columns(
            users=known_users,
            items=known_items,
            user=user_codes,
            item=item_codes,
            rating=rating_values,
            timestamp=time_column(frame, timestamp),
            context=frame.select(list(context)),
            scale=scale,
        )

    def _set_user_table(self, users: Any, column: str, kind: IdKind | None, public: Iterable[str]) -> None:
        self.user_table, self.public_user_columns = None, frozenset(public)
        if users is not None:
            table = as_frame(users, [column], ids=(column,), as_text=None)
            self.user_table = aligned(table, column, self.users, kind=kind)
        unknown = self.public_user_columns - set([] if self.user_table is None else self.user_table.columns)
        if unknown:
            raise UsageError(f"the table of users has no column {sorted(unknown)[0]!r}, named in public_user_columns.")

    def _set_columns(
        self,
        *,
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
        check_size(user.size, "records")
        self.items, self.n_items, self.scale = items, len(items), scale
        if not _is_sorted(user, item):
            order = code_order([(user, len(users)), (item, len(items))])
            user, item = taken(user, order), taken(item, order)
            rating = None if rating is None else taken(rating, order)
            timestamp = None if timestamp is None else taken(timestamp, order)
            context = context[order] if context.width else context
        if rating is not None:
            rating = rating.astype(rating.dtype if scale is None else scale.dtype, copy=False)
        self._set_users(users, user)
        self.item, self.context = frozen(item), context
        self.rating = None if rating is None else frozen(rating)
        self.timestamp = None if timestamp is None else frozen(timestamp)

    def _rewritten(self, **columns: Any) -> Interactions:
        """A copy with some columns replaced."""
        names = ("users", "items", "user", "item", "rating", "timestamp", "context", "scale")
        copy = self._copy()
        copy._set_columns(**{name: columns.get(name, getattr(self, name)) for name in names})
        return copy

    # Properties

    def _parts_of_repr(self) -> list[str]:
        parts = [f"{len(self):,} records", f"{self.n_users:,} users", f"{self.n_items:,} items"]
        if self.rating is not None:
            parts.append(f"ratings {self.scale}" if self.scale else "weights")
        if self.timestamp is not None:
            parts.append("times")
        return [*parts, *self.context.columns]

    @cached_property
    def records_per_item(self) -> NDArray[np.int64]:
        return np.bincount(self.item, minlength=self.n_items)

    @cached_property
    def csr(self) -> csr_array:
        """Users × items: ratings, or 1 where there are none; kept duplicates are summed."""
        from scipy.sparse import csr_array

        values = np.ones(len(self), dtype=np.float32) if self.rating is None else self.rating
        matrix = csr_array((values, self.item, self.user_starts), shape=(self.n_users, self.n_items), copy=False)
        if self._repeats:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return matrix

    @cached_property
    def csc(self) -> csc_array:
        """The same matrix by item."""
        return self.csr.tocsc()

    def _hashed(self) -> HashedColumns:
        contexts = {name: self.context[name] for name in sorted(self.context.columns)}
        return HashedColumns(
            "interactions",
            {"user_id": (self.users, self.user), "item_id": (self.items, self.item)},
            {"rating": self.rating, "timestamp": self.timestamp, **contexts},
            self._repeats,
        )

    def describe(self) -> dict[str, Any]:
        """Facts about these records, for their owner: they are **not** private and not for publication."""
        facts: dict[str, Any] = {
            "name": self.name,
            "records": len(self),
            "users": self.n_users,
            "items": self.n_items,
            "items_public": self.catalog_is_public,
            "items_with_records": int((self.records_per_item > 0).sum()),
            "density": len(self) / max(1, self.n_users * self.n_items),
            "records_per_user": quantiles(self.records_per_user),
            "records_per_item": quantiles(self.records_per_item),
            "scale": None if self.scale is None else str(self.scale),
            "rating_mean": None if self.rating is None or not len(self) else float(self.rating.mean()),
            "context": self.context.columns,
            "user_columns": [] if self.user_table is None else self.user_table.columns,
            "item_columns": [] if self.item_table is None else self.item_table.columns,
            "fingerprint": self.fingerprint,
            "window": None if self.window is None else str(self.window),
            "dropped_missing": self.dropped_missing,
            "missing_by_column": dict(self.missing_by_column),
        }
        if self.timestamp is not None and len(self):
            facts["first_time"], facts["last_time"] = date_of(self.timestamp.min()), date_of(self.timestamp.max())
        return facts

    def to_frame(self) -> pl.DataFrame:
        """The records with the caller's ids: user_id, item_id[, rating][, timestamp][, context …]."""
        columns: dict[str, Any] = {"user_id": self.users.take(self.user), "item_id": self.items.take(self.item)}
        if self.rating is not None:
            columns["rating"] = self.rating
        if self.timestamp is not None:
            columns["timestamp"] = self.timestamp
        return pl.DataFrame(columns).hstack(self.context.get_columns())

    def titles(self, codes: Sequence[int] | NDArray[np.integer[Any]]) -> list[str]:
        """Names of items for people: the title where the catalog has one, the id elsewhere."""
        if self.item_table is None or "title" not in self.item_table.columns:
            return [str(name) for name in self.items.decode(codes)]
        return [str(title) for title in self.item_table["title"].gather(np.asarray(codes, dtype=np.int64))]

    # Parts and other shapes

    def with_catalog(
        self, items: Any, *, item: str = "item_id", unknown: Literal["error", "drop"] = "error"
    ) -> Interactions:
        """The same records with a public catalog: a table, a list of ids, or ``"observed"``.

        ``"observed"`` declares that it is public knowledge which items occur. Nobody can check this for you: the range
        of a shop is public, a private address that somebody visited is not.

        Records of items that are not in the catalog are an error, or dropped. With ``"drop"`` the result is a part of
        these records, whether or not one was dropped.
        """
        return recoded_catalog(self, items, item=item, unknown=unknown)

    def with_item_ids(self, kind: Literal["text", "number"]) -> Interactions:
        """The same records with item ids of one declared type; records of items without such an id are dropped.

        As text: whole numbers and text. As numbers: whole numbers, and text that is one. The type is declared, because
        the type of the column may follow from a single record. Where the ids are objects of several types, 1 and "1"
        become one item; of two records of one user that then are of one item, the later one stays.
        """
        return retyped_items(self, kind)

    def without_repeats(self) -> Interactions:
        """The same records, declared to hold each user and item once."""
        if self._repeats:
            raise DataError("a user has several records of one item.", remedy="Choose one of them first.")
        copy = self._copy()
        copy.may_repeat = False
        return copy

    def with_ratings(self, rating: NDArray[np.floating], scale: RatingScale | None) -> Interactions:
        """The same records with other ratings, in the same order."""
        check_ratings(rating, scale)
        copy = self._rewritten(rating=rating.copy(), scale=scale)
        copy.lineage, copy.released = cut_from(self, "rewritten"), None  # nobody knows where the ratings come from
        return copy

    def _part(self, mask: NDArray[np.bool_], *, cut: Cut | None) -> Interactions:
        """Records under the mask; users without records go, items go only when the catalog is not public."""
        users, user = compact(self.users, self.user[mask])
        items, item = self.items, self.item[mask]
        if not self.catalog_is_public:
            items, item = compact(items, item)
        part = self._rewritten(
            users=users,
            items=items,
            user=user,
            item=item,
            rating=None if self.rating is None else self.rating[mask],
            timestamp=None if self.timestamp is None else self.timestamp[mask],
            context=self.context.filter(pl.Series(mask)) if self.context.width else self.context,
        )
        if self.user_table is not None:
            part.user_table = self.user_table[self.users.encode(users.series)]
        part._repeats = bool(repeated_records(part.user, part.item).any())
        if cut is not None:
            part.lineage = cut_from(self, cut)
        return part


def _is_sorted(user: Codes, item: Codes) -> bool:
    rising = user[1:] > user[:-1]
    return bool(np.all(rising | ((user[1:] == user[:-1]) & (item[1:] >= item[:-1]))))
