"""Files that are larger than memory, as records in parts."""

from __future__ import annotations

import glob
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from discreet.common.arguments import require_whole
from discreet.common.foreign import foreign_errors
from discreet.data.interactions import Interactions
from discreet.data.parted import Parted
from discreet.engines.spilling import Spill
from discreet.errors import DataError, UsageError

__all__ = ["ScannedInteractions", "scan"]

T = TypeVar("T")

RECORDS_AT_ONCE = 5_000_000
"""About so many records has a part where the number of parts is not given."""

BATCH = 1_000_000
ENDINGS = {".parquet": "parquet", ".arrow": "ipc", ".ipc": "ipc", ".feather": "ipc", ".csv": "csv", ".tsv": "tsv"}


class ScannedInteractions(Parted):
    """Records of a scan: in a folder of temporary files, one for each part, until ``close`` or the end of the program.

    What is in the files is what was scanned when it was made: a source that changes later changes nothing.
    """

    def __init__(self, spill: Spill, options: dict[str, Any]) -> None:
        self._spill, self._options = spill, options
        super().__init__(self._made(spill.empty).emptied())

    @property
    def n_parts(self) -> int:
        return self._spill.n_parts

    def require_open(self) -> None:
        self._spill.require_open()

    def each(self, function: Callable[[Interactions], T]) -> Iterator[T]:
        return (function(self._made(self._spill.read(number))) for number in range(self.n_parts))

    def of_users(self, users: Sequence[Any]) -> Interactions:
        key = self._options["user"]
        typed = pl.Series(key, list(users), strict=False)
        wanted = typed.cast(self._spill.empty[key].dtype, strict=False).drop_nulls()
        numbers = sorted(set(self._spill.numbers_of(wanted).to_list()))
        found = [
            self._spill.read(n).filter(pl.col(key).cast(pl.String).is_in(wanted.cast(pl.String).implode()))
            for n in numbers
        ]
        return self._made(pl.concat([self._spill.empty, *found]))

    def close(self) -> None:
        """Delete the temporary files."""
        self._spill.close()

    def __enter__(self) -> ScannedInteractions:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _made(self, frame: pl.DataFrame) -> Interactions:
        return Interactions(frame, **self._options)


def scan(
    source: str | Path | Iterable[str | Path] | pl.LazyFrame,
    *,
    items: Any,
    user: str = "user_id",
    item: str = "item_id",
    rating: str | None = None,
    timestamp: str | None = None,
    context: Sequence[str] = (),
    scale: Any = None,
    duplicates: Literal["error", "last", "keep"] = "error",
    window: Any = None,
    time_zone: str | None = None,
    name: str | None = None,
    parts: int | Literal["auto"] = "auto",
    folder: str | Path | None = None,
) -> ScannedInteractions:
    """Records that are never all in memory: read once, cut into parts by person, kept in temporary files.

    Proved methods whose statistics are sums over people take them as they take ``Interactions``, and release the same.

    Parameters
    ----------
    source
        Parquet, Arrow, CSV or TSV files: a path, a pattern such as "purchases/*.parquet" or several paths; or a polars
        ``LazyFrame``.
    items
        The public catalog, as in ``Interactions``.
    user, item, rating, timestamp, context, scale, duplicates, window, time_zone
        As in ``Interactions``. Ids and contexts of text files are text.
    name
        What the data are called; by default the name of the first file.
    parts
        How many parts; "auto" takes one for every five million records. It changes nothing about a release.
    folder
        Where the temporary files go: a folder of mode 0700 is made in it, and removed afterwards.

    Privacy
    -------
    The temporary files hold the records. What a crash leaves is removed by the next scan in the same folder.

    Examples
    --------
    >>> import tempfile, discreet as dc
    >>> films = dc.synthetic.films(users=200, items=80, seed=7)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     films.to_frame().write_parquet(f"{folder}/films.parquet")
    ...     data = scan(f"{folder}/films.parquet", items=films.items.series, rating="rating", scale="1:5", parts=3)
    ...     release = dc.counting.ItemCounts(epsilon=1, cap=30).release(data)
    >>> data, release.table("counts").height
    (ScannedInteractions('films': 3 parts), 80)
    """
    if items is None:
        raise UsageError("a scan needs the public list of items.", remedy="Give items=…, a table or the ids.")
    if parts != "auto":
        require_whole(parts, "parts")
    columns = [user, item, *(one for one in (rating, timestamp) if one is not None), *context]
    files = None if isinstance(source, pl.LazyFrame) else _files(source)
    numbers = [one for one in (rating, timestamp) if one is not None]
    with foreign_errors(lambda words: DataError(f"this cannot be read: {words}.")):
        batches = _lazy_batches(source, columns) if files is None else _batches(files, columns, numbers)
        many = _many(source if files is None else files) if parts == "auto" else parts
        spill = Spill.of(batches, columns, key=user, parts=many, folder=folder)
    first = "" if files is None else files[0].name.split(".")[0]
    options: dict[str, Any] = {
        "user": user,
        "item": item,
        "rating": rating,
        "timestamp": timestamp,
        "context": tuple(context),
        "scale": scale,
        "duplicates": duplicates,
        "items": items,
        "window": window,
        "time_zone": time_zone,
        "name": first if name is None else name,
    }
    try:
        return ScannedInteractions(spill, options)
    except BaseException:
        spill.close()
        raise


def _files(source: Any) -> list[Path]:
    given = [source] if isinstance(source, str | Path) else list(source)
    named = [sorted(glob.glob(str(one))) if glob.has_magic(str(one)) else [one] for one in given]
    found = [Path(path) for paths in named for path in paths]
    for path in found:
        if not path.is_file():
            raise DataError("this file is not there.", file=path)
        if path.suffix.lower() not in ENDINGS:
            raise DataError("this kind of file is not scanned.", file=path, remedy=f"Give {', '.join(ENDINGS)} files.")
    if not found:
        raise DataError(f"no file is called like {source}.")
    return found


def _batches(files: Sequence[Path], columns: Sequence[str], numbers: Sequence[str]) -> Iterator[pl.DataFrame]:
    """The columns of all files, a million rows at a time; those of text files as text, but for numbers."""
    for path in files:
        kind = ENDINGS[path.suffix.lower()]
        reading = _parquet if kind == "parquet" else _arrow if kind == "ipc" else _text
        for batch in reading(path, columns, numbers):
            yield pl.DataFrame(pl.from_arrow(pa.Table.from_batches([batch])))


# Readers that hold one batch: a scanner of pyarrow.dataset reads the whole file ahead of a slower consumer.


def _parquet(path: Path, columns: Sequence[str], numbers: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with pyarrow.parquet.ParquetFile(path, pre_buffer=False) as file:
        _require_columns(path, file.schema_arrow.names, columns)
        yield _nobody(pa.schema([file.schema_arrow.field(name) for name in columns]))
        yield from file.iter_batches(batch_size=BATCH, columns=list(columns))


def _arrow(path: Path, columns: Sequence[str], numbers: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(str(path)) as file, pa.ipc.open_file(file) as reader:
        _require_columns(path, reader.schema.names, columns)
        yield _nobody(pa.schema([reader.schema.field(name) for name in columns]))
        for number in range(reader.num_record_batches):
            batch = reader.get_batch(number).select(list(columns))
            for begin in range(0, batch.num_rows, BATCH):
                yield batch.slice(begin, BATCH)


def _text(path: Path, columns: Sequence[str], numbers: Sequence[str]) -> Iterator[pa.RecordBatch]:
    types = {name: pa.float64() if name in numbers else pa.string() for name in columns}
    yield _nobody(pa.schema(list(types.items())))
    reader = pyarrow.csv.open_csv(
        path,
        read_options=pyarrow.csv.ReadOptions(block_size=8 * 2**20, use_threads=False),
        parse_options=pyarrow.csv.ParseOptions(delimiter="\t" if path.suffix.lower() == ".tsv" else ","),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types=types, include_columns=list(columns), strings_can_be_null=False
        ),
    )
    for batch in reader:
        for name in columns[:2]:  # user and item
            if (pl.Series(batch[name]).str.strip_chars() == "").any():
                raise DataError("an id is missing.", file=path, column=name, remedy="Fill it, or leave such rows out.")
        yield batch


def _nobody(schema: pa.Schema) -> pa.RecordBatch:
    """The columns without rows: data without records are read like any other."""
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def _require_columns(path: Path, found: Sequence[str], columns: Sequence[str]) -> None:
    if missing := [name for name in columns if name not in found]:
        raise DataError(
            "there is no such column.", file=path, column=missing[0], remedy=f"There are {', '.join(found)}."
        )


def _lazy_batches(frame: Any, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
    yield frame.select(columns).head(0).collect()
    yield from frame.select(columns).collect_batches(chunk_size=BATCH)


def _many(source: Any) -> int:
    if isinstance(source, pl.LazyFrame):
        rows = int(source.select(pl.len()).collect(engine="streaming").item())
    else:
        rows = sum(_rows(path) for path in source)
    return max(1, math.ceil(rows / RECORDS_AT_ONCE))


def _rows(path: Path) -> int:
    kind = ENDINGS[path.suffix.lower()]
    if kind in ("csv", "tsv"):
        return path.stat().st_size // 25  # about so many bytes has a line
    if kind == "parquet":
        return pyarrow.parquet.read_metadata(path).num_rows
    return path.stat().st_size // 16
