"""Bounding in a stream: at most so many records of each user are ever held, so that raw data need not be stored.

References
----------
P. Efraimidis, P. Spirakis: Weighted random sampling with a reservoir. Information Processing Letters 2006.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import polars as pl

from discreet.common.foreign import foreign_errors
from discreet.counting.stream_folder import read_state, table_as_bytes, table_of_bytes, write_state
from discreet.data.catalogs import side_table
from discreet.data.fingerprints import read_from_stream
from discreet.data.id_forms import IdKinds
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.data.scales import RatingScale
from discreet.data.values import spelled_column
from discreet.errors import DataError, ReleaseError, UsageError
from discreet.privacy import entropy
from discreet.privacy.bounding import check_cap
from discreet.privacy.choosing import column_words, keyed_words, numbered
from discreet.privacy.release import Release

__all__ = ["StreamingBound"]

Choice = Literal["uniform", "popularity"]
Duplicates = Literal["keep", "last"]

KEY, PLACE = "_key", "_place"
"""Columns of the state: the random key of a record, and where its item stands in the order of popularity."""


class StreamingBound:
    """A reservoir for each user: what is held of a stream of records is at any time what a batch would keep of it.

    Parameters
    ----------
    cap
        The most records that are held of one user; public.
    choice
        "uniform": a random subset of the user's records, as SRA draws it. "popularity": the records of the most
        popular items, as HPA takes them; ties, and items with counts of 0 or less, at random.
    popularity
        For "popularity": a release of item counts. Its items are the catalog.
    items
        The public catalog, as for ``Interactions``; needed with "uniform" before anything is released.
    context
        Names of further columns to keep with each record.
    scale
        The public rating scale, as for ``Interactions``.
    duplicates
        "keep": every record counts (visits, plays). "last": a record of an item that is held already takes its place.
    ids
        The declared type of the ids, as for ``Interactions``. Without it, a batch whose ids are of another type than
        those before is refused.
    name
        What to call the records in messages and in the ledger.

    Privacy
    -------
    Unit: one user, with all records that ever come. What is held of a user depends on that user's records, on public
    values and on random bits alone, so whatever is private for records bounded to ``cap`` is private for the stream
    (``docs/proofs/bounding.md``, Theorem 1). That holds for several releases from one stream too, at different times:
    they are one mechanism on one choice, and what they cost adds up.

    The ledger therefore keeps **one account for a stream**. ``records()`` has a fingerprint of its own at every
    moment, and remembers the stream that it was cut from: open an account for it once, and everything that is released
    later is charged there. A record that comes can push another one out, so promises about single records are refused,
    with a ledger and without one. Data about the same people that did not come through this stream must be attached
    (``ledger.attach(data, population)``).

    **The state is secret**: it holds records of everybody, in memory and in its folder. What is dropped is gone.

    Notes
    -----
    Every record gets a key of 64 bits when it comes, a hash of the record and of a fresh key for its batch. The ``cap``
    smallest of each user are kept ("uniform"), or the smallest by place in the order of popularity, then by key. When
    records came makes no difference, which is why streams can be merged. Two keys are equal with probability 2⁻⁶⁴,
    which costs accuracy, not privacy. With "last", an item that was dropped and comes again draws a new key: it has
    better chances than a batch would give it.

    Examples
    --------
    >>> stream = StreamingBound(2, items=["tea", "rum", "gin"])
    >>> for day in ([("ann", "tea"), ("ann", "rum")], [("ann", "gin"), ("bob", "tea")]):
    ...     stream.add(day)
    >>> stream.records().records_per_user.tolist()
    [2, 1]
    """

    def __init__(
        self,
        cap: int,
        *,
        choice: Choice = "uniform",
        popularity: Release | None = None,
        items: Any = None,
        context: Sequence[str] = (),
        scale: RatingScale | str | tuple[object, ...] | None = None,
        duplicates: Duplicates = "keep",
        ids: IdKinds = None,
        name: str = "",
    ) -> None:
        check_cap(cap)
        if choice not in ("uniform", "popularity"):
            raise UsageError(f"choice must be 'uniform' or 'popularity', got {choice!r}.")
        if duplicates not in ("keep", "last"):
            raise UsageError(
                f"duplicates must be 'keep' or 'last', got {duplicates!r}: dropped records cannot be compared."
            )
        if (choice == "popularity") != (popularity is not None):
            raise UsageError(
                "a choice by popularity needs released counts, a uniform one has no use for them.",
                remedy="Give choice='popularity' together with popularity=release, or neither.",
            )
        self.cap, self.name, self.context, self.ids = cap, name, tuple(context), ids
        self.choice: Choice = choice
        self.duplicates: Duplicates = duplicates
        self.scale = None if scale is None else RatingScale.of(scale)
        self._items, self._item_table = side_table(items, "item_id", what="item")
        self._order: pl.DataFrame | None = None
        if popularity is not None:
            self._follow(popularity)
        self._origin = entropy.public_bytes(32).tobytes().hex()
        self._held: pl.DataFrame | None = None

    def _follow(self, release: Release) -> None:
        """Take the catalog and its order from released counts; items with equal counts share a place."""
        if release.kind != "item-counts":
            raise ReleaseError(f"a release of kind {release.kind!r} has no item counts.")
        counts = release.table("counts")
        released = IdMap(counts["item_id"], what="item")
        if self._items is not None and self._items != released:
            raise UsageError("the catalog and the released counts have different items.", remedy="Leave items= out.")
        if self._items is None:
            self._items, self._item_table = side_table(counts.drop("count"), "item_id", what="item")
        # As HPA does: everything that is estimated at 0 or less is equally unpopular.
        place = (-counts["count"].clip(lower_bound=0)).rank("dense").cast(pl.Int64) - 1
        self._order = pl.DataFrame({"item_id": counts["item_id"], PLACE: place})

    def __len__(self) -> int:
        """How many records are held; secret."""
        return 0 if self._held is None else self._held.height

    # Records in, records out

    def add(self, batch: Any) -> None:
        """Take in the next records: ``Interactions``, a table with user_id, item_id[, rating][, timestamp], or tuples.

        A batch that is not understood is refused whole: nothing of it is kept.
        """
        self._keep([self._held, self._drawn(self._checked(batch))])

    def merge(self, other: StreamingBound) -> None:
        """Take in what another stream holds: as if its records had come through this one.

        Both must bound in the same way. The records of the other stream are charged to the account of this one.
        """
        if self._settings() != other._settings() or not _same(self._order, other._order) or self._items != other._items:
            raise UsageError("these streams do not bound in the same way.", remedy="Give both the same settings.")
        if other._held is not None:
            self._keep([self._held, other._held])

    def records(self, *, users: Any = None, public_user_columns: Iterable[str] = ()) -> Interactions:
        """The bounded records, at most ``cap`` of each user, ready for every mechanism.

        Parameters
        ----------
        users, public_user_columns
            What is known of each user, as for ``Interactions``.
        """
        nothing = pl.DataFrame(schema=dict.fromkeys(["user_id", "item_id", *self.context], pl.String))
        records = Interactions(
            nothing if self._held is None else self._held.drop(KEY, PLACE, strict=False),
            context=self.context,
            scale=self.scale,
            duplicates=self.duplicates,
            items=self._catalog(),
            users=users,
            public_user_columns=public_user_columns,
            name=self.name,
        )
        # The stream stands for the whole that was never stored: all its snapshots belong to one account.
        records.lineage = read_from_stream(self._origin)
        # How the contexts of the batches were typed is no longer known.
        records.typed_columns |= set(self.context)
        return records

    # On disk

    def save(self, folder: str | Path) -> Path:
        """Write the state into a folder, or replace the one that is there. **It is secret.**

        Its owner alone can read it (mode 0600). It is written aside and renamed in one step: a crash leaves the state
        before. Anything else that is in the folder is refused.
        """
        tables = {"records": self._held, "order": self._order, "items": self._catalog()}
        facts = {**self._settings(), "name": self.name, "origin": self._origin}
        return write_state(Path(folder), facts, {name: table for name, table in tables.items() if table is not None})

    @classmethod
    def resume(cls, folder: str | Path) -> Self:
        """Go on with a saved state."""
        facts, tables = read_state(Path(folder))
        with foreign_errors(lambda words: ReleaseError(f"{folder} is not a complete state of a stream: {words}.")):
            stream = cls(
                facts["cap"],
                items=tables.get("items"),
                context=facts["context"],
                scale=facts["scale"],
                duplicates=facts["duplicates"],
                ids=facts.get("ids"),
                name=facts["name"],
            )
            stream.choice, stream._origin = facts["choice"], facts["origin"]
        stream._order, stream._held = tables.get("order"), tables.get("records")
        return stream

    def _catalog(self) -> pl.DataFrame | None:
        if self._items is None:
            return None
        ids = pl.DataFrame({"item_id": self._items.series})
        return ids if self._item_table is None else ids.hstack(self._item_table)

    def _settings(self) -> dict[str, Any]:
        return {
            "cap": self.cap,
            "choice": self.choice,
            "duplicates": self.duplicates,
            "context": list(self.context),
            "scale": None if self.scale is None else str(self.scale),
            "ids": dict(self.ids) if isinstance(self.ids, Mapping) else self.ids,
        }

    # Steps of add

    def _checked(self, batch: Any) -> pl.DataFrame:
        """The batch as a table of the columns that are held, every value checked."""
        frame = Interactions(
            batch.to_frame() if isinstance(batch, Interactions) else batch,
            context=self.context,
            scale=self.scale,
            duplicates="keep",
            items=self._items,
            ids=self.ids,
        ).to_frame()
        if pl.Object in (frame["user_id"].dtype, frame["item_id"].dtype):
            raise UsageError("a stream is kept in plain files: ids must be numbers or text.")
        # Context values are kept as they are written: in the types of the first batch, whoever came first would decide
        # how the values of later users are stored. An Enum is a declared type.
        plain = [name for name in self.context if not isinstance(frame[name].dtype, pl.Enum)]
        return frame.with_columns(spelled_column(frame[name]).alias(name) for name in plain)

    def _drawn(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The batch with its keys, and in the types of what is held."""
        # A fresh key for each batch: with it the number of a record follows from its user's records alone.
        key = entropy.bounding_key()
        words = keyed_words(key, [column_words(frame[name]) for name in sorted(frame.columns)])
        users = frame["user_id"].rank("dense").to_numpy().astype(np.int64) if frame.height else np.empty(0, np.int64)
        keyed = frame.with_columns(pl.Series(KEY, numbered(users, words), dtype=pl.UInt64))
        if self._order is not None:
            keyed = keyed.join(self._order, on="item_id", how="left", maintain_order="left")
        held = self._held
        if held is None or (held.is_empty() and keyed.height):
            return keyed
        if not keyed.height:
            # A day on which nobody came is a batch as well, whatever columns it has.
            return held.clear()
        if set(held.columns) != set(keyed.columns):
            raise DataError(
                f"the batch has the columns {', '.join(frame.columns)}; those before had "
                f"{', '.join(name for name in held.columns if name not in (KEY, PLACE))}."
            )
        for column in ("user_id", "item_id"):
            if held[column].dtype != keyed[column].dtype and keyed.height:
                raise DataError(
                    f"ids of the batch are {keyed[column].dtype}, those before are {held[column].dtype}.",
                    column=column,
                    remedy="Give all batches ids of one type.",
                )
        try:
            return keyed.select(held.columns).cast(dict(held.schema))  # type: ignore[arg-type]
        except pl.exceptions.PolarsError as error:
            raise DataError(f"the batch has values of another kind than those before: {error}.") from None

    def _keep(self, parts: list[pl.DataFrame | None]) -> None:
        """The records with the smallest places and keys of each user."""
        present = [part for part in parts if part is not None]
        together = pl.concat([part for part in present if part.height] or present[:1])
        if self.duplicates == "last":
            together = _latest(together)
        by = ["user_id", PLACE, KEY] if PLACE in together.columns else ["user_id", KEY]
        ordered = together.sort(by, maintain_order=True)
        user = ordered["user_id"].rle_id().to_numpy()
        starts = np.searchsorted(user, user)
        kept = np.arange(user.size) - starts < self.cap
        # Through bytes and back: text columns share memory with the rows they were picked out of, and what is dropped
        # must not live on there.
        self._held = table_of_bytes(table_as_bytes(ordered.filter(pl.Series(kept))))


def _latest(together: pl.DataFrame) -> pl.DataFrame:
    """One record of each user and item: the latest by time, or the last that came, under the first one's key."""
    by_time = together.sort("timestamp", maintain_order=True) if "timestamp" in together.columns else together
    first_key = together.group_by("user_id", "item_id", maintain_order=True).agg(pl.col(KEY).first())
    latest = by_time.unique(["user_id", "item_id"], keep="last", maintain_order=True)
    return (
        latest.drop(KEY)
        .join(first_key, on=["user_id", "item_id"], how="left", maintain_order="left")
        .select(together.columns)
    )


def _same(one: pl.DataFrame | None, two: pl.DataFrame | None) -> bool:
    return one is two if one is None or two is None else one.equals(two)
