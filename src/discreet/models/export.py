"""Lists for everybody in one file: recommendations for all users, similar items for the whole catalog."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from copy import copy
from functools import partial
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.common.arrays import Codes, Floats, Integers
from discreet.common.replacing import Kind, place_for
from discreet.data.interactions import Interactions
from discreet.data.parted import Parted
from discreet.errors import UsageError
from discreet.models.item_features import feature_columns
from discreet.models.ranking import largest

if TYPE_CHECKING:
    from discreet.models.recommender import Recommender

__all__ = ["ENDINGS", "export_recommendations", "export_similar_items", "kind_of_lists"]

Progress = Callable[[float, str], None]

ENDINGS = (".parquet", ".arrow", ".csv")
AT_ONCE = 20_000
"""Users whose lists are in memory at the same time; items are fewer, since each is compared with all."""

CELLS_AT_ONCE = 4_000_000
MARK = {b"discreet": b"lists"}
"""In the metadata of Parquet and Arrow files: discreet wrote them and may replace them."""


def export_recommendations(
    model: Recommender,
    path: str | Path,
    n: int = 10,
    *,
    users: Iterable[Hashable] | None = None,
    exclude_seen: bool = True,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write the best items of every user to a file; see ``Recommender.recommend_all``."""
    if n < 1:
        raise UsageError(f"n = {n} must be at least 1.")
    records, asked = _records(model), None if users is None else list(dict.fromkeys(users))
    if isinstance(records, Parted) and asked is not None:
        records = records.of_users(asked)
    lists_of = partial(_lists, _bare(model), users=asked, n=n, exclude_seen=exclude_seen)
    if isinstance(records, Parted):
        written = records.export(lambda part: (lists for _, lists, _ in lists_of(part)), path, overwrite=overwrite)
        if written is not None:
            return written
    many = records.n_parts if isinstance(records, Parted) else 1

    def parts() -> Iterator[pl.DataFrame]:
        done = 0
        for number, found in enumerate(records.each(lists_of) if isinstance(records, Parted) else [lists_of(records)]):
            for share, lists, people in found:
                yield lists
                done += people
                if progress is not None:
                    progress((number + share) / many, f"{done:,} users")

    return _written(parts(), path, overwrite=overwrite, secret=True)


def _lists(
    model: Recommender, records: Interactions, users: list[Hashable] | None, n: int, *, exclude_seen: bool
) -> Iterator[tuple[float, pl.DataFrame, int]]:
    """The lists of users in batches, with the share that is done and the number of users."""
    asking = copy(model)
    asking.records_ = records
    everybody = records.users.ids() if users is None else users
    known = records.users.encode(everybody, unknown="mark") >= 0 if everybody else np.zeros(0, dtype=bool)
    newcomers = asking.recommend(history={}, n=n) if not known.all() else None
    for begin in range(0, max(1, len(everybody)), AT_ONCE):
        end = min(begin + AT_ONCE, len(everybody))
        asked, here = everybody[begin:end], known[begin:end]
        lists = asking.recommend(list(compress(asked, here)), n, exclude_seen=exclude_seen)
        if newcomers is not None and not here.all():
            new = pl.DataFrame({"user_id": pl.Series(list(compress(asked, ~here)), dtype=lists["user_id"].dtype)})
            order = pl.DataFrame({"user_id": pl.Series(asked, dtype=lists["user_id"].dtype)})
            lists = order.join(
                pl.concat([lists, new.join(newcomers, how="cross")]), on="user_id", maintain_order="left"
            )
        yield end / max(1, len(everybody)), lists, len(asked)


def export_similar_items(
    model: Recommender,
    path: str | Path,
    n: int = 10,
    *,
    catalog: Interactions | None = None,
    features: Sequence[str] = (),
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write the most similar items of every item to a file; see ``Recommender.similar_all``."""
    if n < 1:
        raise UsageError(f"n = {n} must be at least 1.")
    popular = _popularity(model)
    alike = _features(model, catalog, features)
    size = len(model.items_)
    step = max(1, min(AT_ONCE, CELLS_AT_ONCE // max(1, size)))

    bare = _bare(model)

    def lists_of(numbers: range) -> Iterator[pl.DataFrame]:
        for begin in range(numbers.start, max(numbers.start + 1, numbers.stop), step):
            codes = np.arange(begin, min(begin + step, numbers.stop), dtype=np.int32)
            found, scores, source = _most_similar(bare._similar(codes), codes, popular, alike, n)
            row, place = np.nonzero(found >= 0)
            yield pl.DataFrame(
                {
                    "item_id": bare.items_.take(codes[row]),
                    "similar_id": bare.items_.take(found[row, place]),
                    "score": pl.Series(scores[row, place]).fill_nan(None),
                    "rank": place + 1,
                    "source": pl.Series(SOURCES).gather(source[row, place]),
                }
            )

    def parts() -> Iterator[pl.DataFrame]:
        for done, lists in enumerate(lists_of(range(size)), start=1):
            yield lists
            if progress is not None:
                progress(min(1.0, done * step / max(1, size)), f"{min(done * step, size):,} items")

    records = getattr(model, "records_", None)
    if isinstance(records, Parted):
        written = records.export(lists_of, path, overwrite=overwrite, numbers=size)
        if written is not None:
            return written
    return _written(parts(), path, overwrite=overwrite, secret=False)


SOURCES = ("model", "features", "popular")
"""Where a similar item comes from: the model, equal public features, or popularity alone."""


def _most_similar(
    scores: Floats, codes: Codes, popular: Integers, alike: Floats | None, n: int
) -> tuple[Integers, Floats, Integers]:
    """For each item the n best others, their scores and sources; −1 only where the catalog has no more items.

    Those that the model knows come first. Where it knows fewer, those with the most public features in common follow,
    and among equals the more popular ones.

    Parameters
    ----------
    popular
        The place of each item in the order of popularity, from 0.
    """
    rows = np.arange(codes.size)
    scores[rows, codes] = -np.inf
    best, values = largest(scores, min(n, scores.shape[1]))
    source = np.zeros(best.shape, dtype=np.int64)
    short = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if short.size:
        shared = np.zeros((short.size, scores.shape[1])) if alike is None else alike[codes[short]] @ alike.T
        # Popularity decides between equals only: all of it together is below any difference of features that counts.
        ranked = shared - popular * (1e-6 / max(1, popular.size))
        ranked[np.isfinite(scores[short])] = -np.inf
        ranked[np.arange(short.size), codes[short]] = -np.inf
        others, order = largest(ranked, best.shape[1])
        for place, row in enumerate(short):
            known = int(np.isfinite(values[row]).sum())
            fill = others[place, : best.shape[1] - known]
            common = shared[place, fill]
            best[row, known:] = np.where(np.isfinite(order[place, : fill.size]), fill, -1)
            values[row, known:] = np.where(common > 0, common, np.nan)
            source[row, known:] = np.where(common > 0, 1, 2)
    return best, values, source


def _popularity(model: Recommender) -> Integers:
    """The place of each item in the order in which a model ranks them for somebody without a history."""
    from scipy.sparse import csr_array

    scores = model._score(csr_array((1, len(model.items_))))[0]
    places = np.empty(scores.size, dtype=np.int64)
    places[np.argsort(-np.where(np.isfinite(scores), scores, -np.inf), kind="stable")] = np.arange(scores.size)
    return places


def _features(model: Recommender, catalog: Interactions | None, names: Sequence[str]) -> Floats | None:
    """Unit vectors of public features, in the order of the model's items."""
    if not names:
        return None
    if catalog is None:
        raise UsageError(
            "no catalog was given to take features from.", remedy="Give the data with their table of items."
        )
    columns, _ = feature_columns(catalog, names)
    place = catalog.items.encode(model.items_.series, unknown="mark")
    rows = np.where((place >= 0)[:, None], columns[place], 0.0)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(length > 0, length, 1.0)


def _bare(model: Recommender) -> Recommender:
    """The model without anybody's records, as other processes get it."""
    bare = copy(model)
    bare.records_ = None
    return bare


def _records(model: Recommender) -> Interactions:
    model._require_fitted()
    records = getattr(model, "records_", None)
    if records is None:
        raise UsageError("a saved model holds nobody's records.", remedy="Give it the records: attach(data).")
    return records


def kind_of_lists(path: str | Path) -> Kind:
    """What a file of lists may replace: one that discreet wrote, or nothing where that cannot be told."""
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"{path} must end in {', '.join(ENDINGS)}.", remedy="Parquet is a good choice.")
    marked = ending != ".csv"
    return Kind("file of lists", _foreign if marked else lambda path: None, False, marked, error=UsageError)


def _written(parts: Iterator[pl.DataFrame], path: str | Path, *, overwrite: bool, secret: bool) -> Path:
    """Write tables one after the other into a file that appears when it is complete."""
    kind, ending = kind_of_lists(path), Path(path).suffix.lower()

    def make(aside: Path) -> None:
        os.close(os.open(aside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if secret else 0o666))
        with ExitStack() as stack:
            write = None
            for part in parts:
                write = write or _writer(stack, aside, part, ending)
                write(part)

    return place_for(path, kind, overwrite=overwrite).put(make)


def _writer(stack: ExitStack, path: Path, first: pl.DataFrame, ending: str) -> Callable[[pl.DataFrame], Any]:
    if ending == ".csv":
        file = stack.enter_context(path.open("wb"))
        header = iter([True])
        return lambda part: part.write_csv(file, include_header=next(header, False))
    import pyarrow as pa

    schema = first.head(0).to_arrow().schema.with_metadata(MARK)
    if ending == ".arrow":
        sink = stack.enter_context(pa.OSFile(str(path), "wb"))
        writer = stack.enter_context(pa.ipc.new_file(sink, schema))
    else:
        from pyarrow.parquet import ParquetWriter

        writer = stack.enter_context(ParquetWriter(path, schema, compression="zstd"))
    return lambda part: writer.write_table(part.to_arrow().cast(schema))


def _foreign(path: Path) -> str | None:
    """Why a file is not one of lists that discreet wrote."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        arrow = path.suffix.lower() == ".arrow"
        schema = pa.ipc.open_file(path).schema if arrow else parquet.read_schema(path)
    except (pa.ArrowException, OSError):
        return "it is not a file of lists"
    return None if (schema.metadata or {}).get(b"discreet") == MARK[b"discreet"] else "discreet did not write it"
