"""Arrow files are checked before polars reads them: a wrong length in a file would crash the process."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["check_parquet", "read_arrow"]

CHECKED_BYTES = 1 << 26
"""Parquet files up to this size are read twice: first by pyarrow, to check them."""


def read_arrow(source: bytes | Path) -> pl.DataFrame:
    """The table of an Arrow file.

    Raises
    ------
    ValueError
        If the file is damaged: its lengths, offsets or texts do not fit together, or it holds types that are not known.

    Examples
    --------
    >>> import polars as pl
    >>> file = io.BytesIO()
    >>> pl.DataFrame({"tea": [1]}).write_ipc(file)
    >>> read_arrow(file.getvalue()).rows()
    [(1,)]
    >>> read_arrow(file.getvalue()[:-9])
    Traceback (most recent call last):
    ...
    ValueError: it is damaged or cut off
    """
    import polars as pl
    import pyarrow as pa

    try:
        file = pa.BufferReader(source) if isinstance(source, bytes) else pa.memory_map(str(source))
        with file, pa.ipc.open_file(file) as reader:
            for number in range(reader.num_record_batches):
                reader.get_batch(number).validate(full=True)
    except pa.ArrowNotImplementedError as error:
        raise ValueError(f"it holds a type that is not known ({error})") from None
    except (pa.ArrowException, MemoryError, OSError):
        raise ValueError("it is damaged or cut off") from None
    return pl.read_ipc(io.BytesIO(source)) if isinstance(source, bytes) else pl.read_ipc(source)


def check_parquet(source: bytes | Path) -> None:
    """Raise ``ValueError`` if a Parquet file is damaged; files of more than 64 MB are not checked."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    if size > CHECKED_BYTES:
        return
    try:
        with pq.ParquetFile(pa.BufferReader(source) if isinstance(source, bytes) else str(source)) as file:
            for _ in file.iter_batches():
                pass
    except pa.ArrowNotImplementedError:
        return  # a type that polars may know
    except (pa.ArrowException, MemoryError, OSError):
        raise ValueError("it is damaged or cut off") from None
