"""Files of records, read a batch at a time: each record as ``read`` reads it."""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet

from discreet.data.id_forms import IdKinds, id_kinds
from discreet.data.problems import FILL_OR_DROP, Found, Missing, Problems
from discreet.data.readers.delimited import read_in_blocks
from discreet.data.readers.drafts import as_catalog, without_missing
from discreet.data.readers.formats import Location
from discreet.data.readers.generic import Roles, text_file
from discreet.data.readers.records import Origins, Records, with_seconds
from discreet.data.readers.released import release_of
from discreet.data.readers.stored import FACTS_FILE, facts_of, is_stored
from discreet.data.screening import lacks_id, lacks_value
from discreet.errors import DataError, Remedy, UsageError

__all__ = ["ENDINGS", "Source", "catalog_of", "files_of", "holds_interactions", "opened", "require_items"]

BATCH = 1_000_000
ENDINGS = {".parquet": "parquet", ".pq": "parquet"} | dict.fromkeys((".arrow", ".ipc", ".feather"), "arrow")
ENDINGS |= dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), "text")
IDS, VALUES = ("user_id", "item_id"), ("rating", "timestamp")
TEXT_OF_A_VALUE = 20
"""About so many bytes take a text and its place in a temporary file."""


def no_release() -> None:
    """Records that nobody released."""


@dataclass
class Source:
    """Records of several files or of a ``LazyFrame``, under the names of this package.

    Parameters
    ----------
    files
        The files; none for a ``LazyFrame``.
    columns
        user_id, item_id, perhaps rating and timestamp, and the contexts.
    readers
        Reads each file from its beginning.
    problems
        What is wrong with rows, and how rows with missing values are treated.
    ids
        The declared type of ids of text files.
    typed
        Whether the files declare types, as Parquet does.
    blanks
        Whether blank text is an id.
    declared
        What files of discreet's own declare: scale, duplicates, items, users, public_user_columns.
    lineage
        Of files of discreet's own.
    released
        Which release the records are, told after they were read; of files of discreet's own.
    name
        What the records are called.
    records, size
        About how many records there are, and how many bytes they take in temporary files.
    """

    files: tuple[Path, ...]
    columns: tuple[str, ...]
    readers: list[Callable[[], Iterator[Records]]]
    problems: Problems
    ids: Mapping[str, Any] = field(default_factory=dict)
    typed: bool = True
    blanks: bool = False
    declared: Mapping[str, Any] = field(default_factory=dict)
    lineage: tuple[str, ...] = ()
    released: Callable[[], Mapping[str, Any] | None] = no_release
    name: str = ""
    records: int = 0
    size: int = 0

    @property
    def context(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if name not in (*IDS, *VALUES))

    def batches(self) -> Iterator[pl.DataFrame]:
        """The rows that are read; afterwards what is wrong with others is raised, or told where they were dropped."""
        for reader in self.readers:
            for records in reader():
                yield self.good(records).frame.select(self.columns)
        self.problems.require_none()
        self.problems.tell_dropped(self.name, stacklevel=5)

    def good(self, records: Records) -> Records:
        """The rows in which every value is there, with times in seconds."""
        if self.files and records.frame.schema.get("timestamp") == pl.String:
            records = with_seconds(records, "timestamp", None, self.problems)
        frame = records.frame
        categories = [name for name in IDS if isinstance(frame.schema[name], pl.Categorical | pl.Enum)]
        if categories:
            records = records.with_frame(frame.with_columns(pl.col(categories).cast(pl.String)))
        if self.problems.missing == "drop":
            return without_missing(records, IDS, VALUES, self.problems)
        lacking = [(name, lacks_id(frame[name], blank=not self.blanks)) for name in IDS]
        lacking += [(name, lacks_value(frame[name])) for name in VALUES if name in frame.columns]
        return records.without(
            [Found(rows, name, "the value is missing.", FILL_OR_DROP, missing=True) for name, rows in lacking],
            self.problems,
        )


def files_of(source: str | Path | Iterable[str | Path]) -> list[Path]:
    """The files of a path, a pattern, a folder, or several of them, by name.

    A folder stands for the files in it that can be scanned, or for the dataset that discreet wrote there.
    """
    given = [source] if isinstance(source, str | Path) else list(source)
    found: list[Path] = []
    for one in given:
        text = str(one)
        named = [Path(text)] if Path(text).exists() or not glob.has_magic(text) else map(Path, sorted(glob.glob(text)))
        for path in named:
            found += _in_folder(path) if path.is_dir() else [path]
    for path in found:
        if not path.is_file():
            raise DataError("this file is not there.", file=path, remedy="Check the path.")
        if _kind(path) is None:
            raise DataError("this kind of file is not scanned.", file=path, remedy=f"Give {', '.join(ENDINGS)} files.")
    if not found:
        raise DataError(f"no file is called like {source}.", remedy="Check the path.")
    return found


def holds_interactions(path: Path, **roles: Any) -> bool:
    """Whether ``read`` takes the records of a file for interactions, and not for tags or a table."""
    if _kind(path) == "text":
        return text_file(path, **roles).what == "interactions"
    if is_stored(Location(path)):
        return facts_of(path)[0]["kind"] == "interactions"
    schema = _arrow_schema(path) if _is_arrow(path) else pyarrow.parquet.read_schema(path)
    return Roles(**roles).matched(schema.names, path)[0] == "interactions"


def _in_folder(folder: Path) -> list[Path]:
    if (folder / FACTS_FILE).is_file():
        return [folder / FACTS_FILE]
    found = sorted(path for path in folder.iterdir() if path.is_file() and _kind(path) and path.name[0] not in "._")
    if not found:
        raise DataError(
            "no file of this folder can be scanned.", file=folder, remedy=f"Give {', '.join(ENDINGS)} files."
        )
    return found


def _kind(path: Path) -> str | None:
    plain = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return "stored" if path.name == FACTS_FILE else ENDINGS.get(plain.suffix.lower())


def opened(
    source: str | Path | Iterable[str | Path] | pl.LazyFrame,
    *,
    missing: Missing = "error",
    ids: IdKinds = None,
    encoding: str = "utf-8",
    name: str | None = None,
    **roles: Any,
) -> Source:
    """What is read, and how, by the names of columns and by what was declared. No record is read.

    Parameters
    ----------
    roles
        The names of columns (user, item, rating, timestamp, context); those that are not given are recognized.
    """
    problems = Problems(missing)
    if isinstance(source, pl.LazyFrame):
        found = [_lazy(source, Roles(**roles, what="interactions"))]
    else:
        found = [_file(path, problems, ids, encoding, roles) for path in files_of(source)]
    first = found[0]
    for one in found[1:]:
        if set(one.columns) != set(first.columns):
            raise DataError(
                f"the files have different columns: {', '.join(first.columns)} and {', '.join(one.columns)}.",
                file=one.files[0],
                remedy="Scan them one by one, or name the columns.",
            )
    declared = first.declared if len(found) == 1 else _agreed(found)
    called = first.name if len(found) == 1 else first.files[0].resolve().parent.name
    return Source(
        files=tuple(path for one in found for path in one.files),
        columns=first.columns,
        readers=[reader for one in found for reader in one.readers],
        problems=problems,
        ids=first.ids,
        typed=all(one.typed for one in found),
        blanks=all(one.blanks for one in found),
        declared=declared,
        lineage=tuple(dict.fromkeys(entry for one in found for entry in one.lineage)),
        # Several releases together have no guarantee that is written anywhere.
        released=first.released if len(found) == 1 else no_release,
        name=called if name is None else name,
        records=sum(one.records for one in found),
        size=sum(one.size for one in found),
    )


def _agreed(found: Sequence[Source]) -> dict[str, Any]:
    """What several files of discreet's own declare alike; their lists are not put together."""
    first = found[0].declared
    for one in found[1:]:
        for name in ("scale", "duplicates"):
            if one.declared.get(name) != first.get(name):
                raise DataError(
                    f"the files declare different {name}: {first.get(name)} and {one.declared.get(name)}.",
                    file=one.files[0],
                    remedy="Scan them one by one.",
                )
    if any("users" in one.declared for one in found):
        raise DataError("one of several files has a table of users.", remedy="Write the data as one dataset.")
    return {name: value for name, value in first.items() if name in ("scale", "duplicates")}


# One file


def _file(path: Path, problems: Problems, ids: IdKinds, encoding: str, roles: Mapping[str, Any]) -> Source:
    if _kind(path) == "text":
        return _text(path, problems, ids, encoding, roles)
    if ids is not None and id_kinds(ids, ("user", "item")):
        raise UsageError(f"{path.name} declares the types of its ids.", remedy="Leave ids out.")
    return _stored(path, roles) if is_stored(Location(path)) else _binary(path, Roles(**roles, what="interactions"))


def _text(path: Path, problems: Problems, ids: IdKinds, encoding: str, roles: Mapping[str, Any]) -> Source:
    text = text_file(path, ids=ids or "text", encoding=encoding, what="interactions", **roles)
    kinds = {column.name: column.dtype for column in text.layout.columns if column.name}

    def read() -> Iterator[Records]:
        yield _nobody(pl.DataFrame(schema={role: kinds[role] for role in text.matched.values()}))
        yield from read_in_blocks(path, text.layout, problems, remedy=FILL_OR_DROP)

    size = path.stat().st_size * (4 if path.suffix.lower() == ".gz" else 1)
    columns = tuple(text.matched.values())
    return Source(
        (path,),
        columns,
        [read],
        problems,
        ids=text.ids,
        typed=False,
        name=_stem(path),
        records=size // 25,
        size=2 * size,
    )


def _binary(path: Path, roles: Roles) -> Source:
    arrow = _is_arrow(path)
    schema = _arrow_schema(path) if arrow else pyarrow.parquet.read_schema(path)
    _, matched = roles.matched(schema.names, path)
    names = {role: name for name, role in matched.items()}
    chosen = pa.schema([schema.field(name) for name in matched])

    def read() -> Iterator[Records]:
        yield _nobody(_frame(chosen.empty_table(), matched))
        row = 0
        for batch in (_arrow_batches if arrow else _parquet_batches)(path, list(matched)):
            frame, origins = _frame(pa.Table.from_batches([batch]), matched), Origins()
            origins.add_lines(0, path, np.arange(row, row + frame.height), by_line=False)
            row += frame.height
            yield Records(frame, origins, names)

    rows = _arrow_rows(path) if arrow else pyarrow.parquet.read_metadata(path).num_rows
    width = sum(getattr(kind, "bit_width", 0) // 8 if _has_width(kind) else TEXT_OF_A_VALUE for kind in chosen.types)
    return Source(
        (path,), tuple(matched.values()), [read], Problems(), name=_stem(path), records=rows, size=rows * max(width, 1)
    )


def _stored(path: Path, roles: Mapping[str, Any]) -> Source:
    """A dataset that discreet wrote: it names its columns, and declares what is public."""
    facts, main, tables = facts_of(path)
    if facts["kind"] != "interactions":
        raise UsageError(f"{path} holds {facts['kind']}; interactions (user, item, …) are scanned.")
    contexts = tuple(facts.get("context", ()))
    if unknown := [name for name in roles.get("context", ()) if name not in contexts]:
        raise DataError("there is no such context.", file=path, column=unknown[0], remedy="Check the name.")
    plain = _binary(main, Roles(context=contexts, what="interactions"))
    items = tables.get("items")
    declared = {
        "scale": facts.get("scale"),
        "duplicates": facts.get("duplicates", "error"),
        "items": "observed" if items is None and facts.get("catalog_is_public") else items,
        **({"users": tables["users"]} if "users" in tables else {}),
        "public_user_columns": tuple(facts.get("public_user_columns", ())),
    }
    plain.declared = {name: value for name, value in declared.items() if value is not None}
    plain.lineage, plain.blanks = tuple(facts.get("lineage", ())), True
    plain.released = lambda: release_of(path, facts, [main.stem, *tables])
    plain.files, plain.name = tuple(dict.fromkeys((path, main))), facts.get("name") or plain.name
    return plain


def _lazy(frame: pl.LazyFrame, roles: Roles) -> Source:
    _, matched = roles.matched(frame.collect_schema().names(), None)
    names = {role: name for name, role in matched.items()}
    chosen = frame.select(list(matched)).rename(matched)

    def read() -> Iterator[Records]:
        yield _nobody(chosen.head(0).collect())
        for batch in chosen.collect_batches(chunk_size=BATCH):
            yield Records(batch, Origins(), names)

    rows = int(frame.select(pl.len()).collect(engine="streaming").item())
    columns = tuple(matched.values())
    return Source((), columns, [read], Problems(), blanks=True, records=rows, size=rows * len(columns) * 10)


# Readers that hold one batch: a scanner of pyarrow.dataset reads the whole file ahead of a slower consumer.


def _parquet_batches(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:
        yield from file.iter_batches(batch_size=BATCH, columns=columns)


def _arrow_batches(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number).select(columns)
            batch.validate(full=True)  # a wrong length in a damaged file would end the process
            for begin in range(0, batch.num_rows, BATCH):
                yield batch.slice(begin, BATCH)


def _is_arrow(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(6) == b"ARROW1"


def _arrow_schema(path: Path) -> pa.Schema:
    with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        return reader.schema


def _arrow_rows(path: Path) -> int:
    with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        return sum(reader.get_batch(number).num_rows for number in range(reader.num_record_batches))


def _has_width(kind: pa.DataType) -> bool:
    return pa.types.is_primitive(kind)


def _frame(table: pa.Table, matched: Mapping[str, str]) -> pl.DataFrame:
    frame = pl.DataFrame(pl.from_arrow(table))
    return frame.select(list(matched)).rename(dict(matched))


def _nobody(frame: pl.DataFrame) -> Records:
    """The columns without rows: data without records are read like any other."""
    return Records(frame.clear(), Origins())


def _stem(path: Path) -> str:
    return path.name.partition(".")[0]


def catalog_of(given: Any, source: Source, item: str | None) -> tuple[pl.DataFrame | None, bool]:
    """The public catalog as a table with the column item_id, and whether items that occur are public beside it."""
    known = source.declared.get("items")
    observed = isinstance(given, str) and given == "observed"
    chosen = known if observed or given is None else given
    if isinstance(chosen, str) and chosen == "observed":
        return None, True
    return as_catalog(chosen, item), observed


def require_items(given: Any, source: Source) -> None:
    """Refuse a scan without a public catalog."""
    if given is None and source.declared.get("items") is None:
        raise UsageError(
            "a scan needs the public list of items.",
            remedy=Remedy(
                'Give items=…, a table or the ids; or items="observed", if it is public knowledge which items occur.',
                cli="Give --catalog FILE; or --items-public, if it is public knowledge which items occur.",
            ),
        )
