"""Degrees of coupling: given as pairs of rows, or worked out from the rows, never all pairs in memory at once.

What is worked out from the rows is as secret as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.common.arrays import Floats, Integers
from discreet.data.domains import IntegerDomain
from discreet.data.frames import as_frame, numeric_column
from discreet.data.readers.delimited import read_delimited
from discreet.data.readers.generic import read_columns, read_frame
from discreet.data.readers.layout import Column, Layout
from discreet.data.readers.records import Records
from discreet.data.tables import Table
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "block_degrees",
    "check_threshold",
    "divergence_degrees",
    "edge_degrees",
    "equal_labels",
    "pearson_degrees",
    "similarity_degrees",
]

MOST_ROWS = 2**17
"""Comparing every row with every other takes minutes from here on."""

MOST_PAIRS = 20_000_000
"""Pairs that are kept: 240 MB."""

MOST_COLUMNS = 4096
"""Values of all attributes together, for similarity."""

BLOCK = 2**23
"""Degrees in memory at once."""

LEAST_THRESHOLD = 0.01
"""With a threshold of 0 all rows would be coupled."""

ROUNDING = 1e-12
"""A degree that misses the threshold by less misses it by rounding."""

Scores = Callable[[slice, slice], Floats]
"""Scores of some rows with some others: degrees, or what degrees rise with."""

COLUMNS = (
    Column("row", "integer", ("row", "source", "from", "i")),
    Column("other", "integer", ("other", "target", "to", "j")),
    Column("degree", "number", ("degree", "delta", "weight"), optional=True),
)

BINARY = (".parquet", ".pq", ".arrow", ".feather", ".ipc")

Complaint = Callable[[int, str, str, str], DataError]
"""Makes the error about a pair from its place, the column, what is wrong, and what to do."""


def block_degrees(labels: Integers) -> csr_array:
    """Rows with the same label are fully coupled.

    Examples
    --------
    >>> block_degrees(np.array([7, 2, 7])).toarray().tolist()
    [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    """
    from scipy.sparse import csr_array

    _, label, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    pairs = int((sizes**2).sum())
    _refuse_too_many(pairs)
    order = np.argsort(label, kind="stable")
    begins = np.cumsum(sizes) - sizes
    width = sizes[label]
    starts = np.concatenate([[0], np.cumsum(width)])
    within = np.arange(pairs) - np.repeat(starts[:-1], width)
    members = order[np.repeat(begins[label], width) + within]
    return csr_array((np.ones(pairs), members, starts), shape=(labels.size, labels.size))


def equal_labels(table: Table, attributes: Sequence[str]) -> Integers:
    """One number for all rows that agree in these attributes."""
    labels = np.zeros(len(table), dtype=np.int64)
    for one in attributes:
        # Numbered anew after each attribute: the product of many domains would not fit.
        labels = np.unique(labels * table.domains[one].size + table.codes[one], return_inverse=True)[1]
    return labels.astype(np.int64)


def pearson_degrees(
    table: Table,
    attributes: Sequence[str],
    *,
    threshold: float = 0.6,
) -> csr_array:
    """Correlation of the values of two rows; a row whose values are all equal has none with others."""
    if len(attributes) < 2:
        raise UsageError(
            "rows of one value have no correlation.", remedy="Name two attributes or more, three to tell rows apart."
        )
    values = _numbers(table, attributes)
    values = values - values.mean(axis=1, keepdims=True)
    length = np.linalg.norm(values, axis=1, keepdims=True)
    values = np.divide(values, length, out=np.zeros_like(values), where=length > 0)
    least = check_threshold(threshold, least=LEAST_THRESHOLD)
    return _kept(len(table), lambda a, b: values[a] @ values[b].T, least, negative=True)


def divergence_degrees(table: Table, attributes: Sequence[str], *, threshold: float = 0.6) -> csr_array:
    """δ = e^−D with D = (KL(p‖q) + KL(q‖p))/2, where a row's profile p is where its values stand in their domains.

    A value counts as (code + 1)/size, which is never 0; the profile is scaled to sum to 1.
    """
    columns = [(table.codes[one] + 1.0) / table.domains[one].size for one in attributes]
    profile = np.stack(columns, axis=1)
    profile /= profile.sum(axis=1, keepdims=True)
    logs = np.log(profile)
    own = (profile * logs).sum(axis=1)

    def scores(a: slice, b: slice) -> Floats:
        crossed = profile[a] @ logs[b].T
        crossed += logs[a] @ profile[b].T
        crossed -= own[a][:, None]
        crossed -= own[b][None, :]
        return crossed  # −2D

    least = check_threshold(threshold, least=LEAST_THRESHOLD)
    return _kept(len(table), scores, 2 * np.log(least), degree=lambda score: np.exp(score / 2))


def similarity_degrees(table: Table, attributes: Sequence[str], *, threshold: float = 0.6) -> csr_array:
    """Mean over attributes of 1 for equal values and 0 for others; for numbers 1 − |difference of codes|/(size − 1).

    Both are products of rows of zeros and ones: one column a value, or one column a step that a number has reached.
    """
    sizes = [table.domains[one].size for one in attributes]
    if sum(sizes) > MOST_COLUMNS:
        raise UsageError(
            f"the attributes have {sum(sizes):,} values; similarity compares {MOST_COLUMNS:,} at most.",
            remedy="Name fewer attributes or declare wider bins.",
        )
    parts, sums = [], np.zeros(len(table))
    for one, size in zip(attributes, sizes, strict=True):
        codes = table.codes[one]
        if isinstance(table.domains[one], IntegerDomain) and size > 1:
            reached = (codes[:, None] >= np.arange(1, size)[None, :]).astype(np.float64)
            parts.append(np.sqrt(2 / (size - 1)) * reached)
            sums += codes / (size - 1)
        else:
            parts.append((codes[:, None] == np.arange(size)[None, :]).astype(np.float64))
    features = np.hstack(parts)
    ordered = sum(isinstance(table.domains[one], IntegerDomain) and table.domains[one].size > 1 for one in attributes)

    # |a − b| = a + b − 2·(steps that both have reached)
    def scores(a: slice, b: slice) -> Floats:
        agreed = features[a] @ features[b].T
        agreed -= sums[a][:, None]
        agreed -= sums[b][None, :]
        return agreed

    many = len(attributes)
    floor = many * check_threshold(threshold, least=LEAST_THRESHOLD) - ordered
    return _kept(len(table), scores, floor, degree=lambda score: (score + ordered) / many)


def _numbers(table: Table, attributes: Sequence[str]) -> Floats:
    """Values of the rows: numbers as they are, categories as their codes."""
    frame = table.to_frame()
    columns = [
        numeric_column(frame, one) if isinstance(table.domains[one], IntegerDomain) else table.codes[one]
        for one in attributes
    ]
    return np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)


def _kept(
    n: int,
    scores: Scores,
    floor: float,
    *,
    degree: Callable[[Floats], Floats] = lambda score: score,
    negative: bool = False,
) -> csr_array:
    """Degrees of all pairs with a score of at least ``floor`` (or at most −floor, where negative ones count), block by
    block, and 1 on the diagonal.
    """
    from scipy.sparse import coo_array, eye_array

    _check_size(n)
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    pairs, step = n, max(1, BLOCK // max(1, n))
    for begin in range(0, n, step):
        rows = slice(begin, min(begin + step, n))
        row, column, score = _above(scores(rows, slice(begin, n)), floor - ROUNDING, negative)
        # One triangle is enough.
        strong = column > row
        found.append((row[strong] + begin, column[strong] + begin, np.clip(degree(score[strong]), -1, 1)))
        pairs += 2 * found[-1][0].size
        _refuse_too_many(pairs)
    row, column, degrees = (np.concatenate(part) for part in zip(*found, strict=True))
    matrix = coo_array((degrees, (row, column)), shape=(n, n)).tocsr()
    result = (matrix + matrix.T + eye_array(n)).tocsr()
    result.sort_indices()
    return result


def _above(block: Floats, floor: float, negative: bool) -> tuple[Integers, Integers, Floats]:
    """Places and scores of a block that reach the floor."""
    high = block >= floor
    if negative:
        high |= block <= -floor
    flat = np.flatnonzero(high)
    row, column = np.divmod(flat, block.shape[1])
    return row, column, block.ravel()[flat]


def _check_size(n: int) -> None:
    if n > MOST_ROWS:
        raise UsageError(
            f"comparing {n:,} rows with each other is refused from {MOST_ROWS:,} on.",
            remedy="Use a group column, an attribute or a given graph.",
        )


def _refuse_too_many(pairs: int) -> None:
    if pairs > MOST_PAIRS:
        raise UsageError(
            f"more than {MOST_PAIRS:,} pairs of rows would be coupled.",
            remedy="Raise the threshold, or couple by smaller groups.",
        )


def check_threshold(threshold: float, *, least: float = 0.0) -> float:
    """δ₀ as a float; what is no number from ``least`` to 1 is a UsageError."""
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not least <= threshold <= 1:
        raise UsageError(
            f"threshold = {threshold!r} is no degree of coupling.", remedy=f"Give a number from {least:g} to 1."
        )
    return float(threshold)


def edge_degrees(given: Any, n_rows: int, *, threshold: float = 0.0) -> csr_array:
    """A symmetric matrix of degrees with 1 on the diagonal; pairs weaker than the threshold are left out."""
    least = check_threshold(threshold)
    if isinstance(given, str | Path):
        records = _read(Path(given))
        frame, complain = records.frame, _by_line(records)
    else:
        frame = _as_pairs(given, n_rows)
        complain = _by_row(frame)
    row, other = (_row_numbers(frame, name, n_rows, complain) for name in ("row", "other"))
    return _assembled(row, other, _degrees(frame, complain), n_rows, least, complain)


def _read(path: Path) -> Records:
    if path.suffix.lower() not in BINARY:
        separator = "\t" if path.suffix.lower() in (".tsv", ".tab") else ","
        return read_delimited(path, Layout(COLUMNS, separator=separator, header=True, quoted=True))
    present = {name.casefold() for name in read_frame(path).frame.columns}
    return read_columns(path, [c for c in COLUMNS if not c.optional or present & set(c.headers)])


def _as_pairs(given: Any, n_rows: int) -> pl.DataFrame:
    if hasattr(given, "tocoo") and given.shape != (n_rows, n_rows):
        raise UsageError(f"a matrix of shape {given.shape} does not couple {n_rows:,} rows.")
    frame = as_frame(given, ["row", "other", "degree"])
    renamed = {name: column.name for column in COLUMNS for name in frame.columns if name.casefold() in column.headers}
    frame = frame.rename(renamed)
    missing = [name for name in ("row", "other") if name not in frame.columns]
    if missing:
        raise DataError(
            f"there is no column {missing[0]!r}; the columns are {', '.join(map(repr, frame.columns))}.",
            column=missing[0],
            remedy="Name the columns row, other and degree.",
        )
    return frame


def _row_numbers(frame: pl.DataFrame, name: str, n_rows: int, complain: Complaint) -> Integers:
    column = frame[name]
    numbers = column.cast(pl.Int64, strict=False)
    wrong = numbers.is_null()
    if column.dtype.is_float():
        wrong |= (column != numbers.cast(pl.Float64)).fill_null(True)
    elif not column.dtype.is_integer() and len(column):
        wrong |= True
    wrong |= ((numbers < 0) | (numbers >= n_rows)).fill_null(True)
    if wrong.any():
        place = int(wrong.arg_max() or 0)
        raise complain(place, name, f"there is no such row; the table has {n_rows:,}.", "Rows count from 0.")
    return numbers.to_numpy()


def _degrees(frame: pl.DataFrame, complain: Complaint) -> Floats:
    if "degree" not in frame.columns:
        return np.ones(frame.height)
    degrees = frame["degree"].cast(pl.Float64, strict=False)
    wrong = ~degrees.is_between(-1, 1).fill_null(False)
    if wrong.any():
        raise complain(int(wrong.arg_max() or 0), "degree", "this is no degree of coupling.", "Write −1 to 1.")
    return degrees.to_numpy()


def _assembled(
    row: Integers, other: Integers, degree: Floats, n_rows: int, least: float, complain: Complaint
) -> csr_array:
    """Both directions of each pair and the diagonal, once each."""
    from scipy.sparse import coo_array

    itself = row == other
    if np.any(degree[itself] != 1):
        place = int(np.flatnonzero(itself & (degree != 1))[0])
        raise complain(place, "degree", "a row is fully coupled with itself.", "Leave the pair out or write 1.")
    low, high = np.minimum(row, other), np.maximum(row, other)
    order = np.lexsort((np.arange(row.size), high, low))
    same = (low[order][1:] == low[order][:-1]) & (high[order][1:] == high[order][:-1])
    clash = same & (degree[order][1:] != degree[order][:-1])
    if clash.any():
        place = int(order[1:][clash].min())
        raise complain(place, "degree", "this pair was given another degree before.", "Give each pair one degree.")
    first = np.ones(row.size, dtype=bool)
    first[order[1:][same]] = False
    keep = first & ~itself & (np.abs(degree) >= least) & (degree != 0)
    low, high, degree = low[keep], high[keep], degree[keep]
    diagonal = np.arange(n_rows)
    entries = np.concatenate([degree, degree, np.ones(n_rows)])
    places = (np.concatenate([low, high, diagonal]), np.concatenate([high, low, diagonal]))
    matrix = coo_array((entries, places), shape=(n_rows, n_rows)).tocsr()
    matrix.sort_indices()
    return matrix


def _by_line(records: Records) -> Complaint:
    return lambda place, column, what, remedy: records.error(place, what, column=column, remedy=remedy)


def _by_row(frame: pl.DataFrame) -> Complaint:
    return lambda place, column, what, remedy: DataError(
        f"pair {place}: {what}", column=column, value=frame[column][place], remedy=remedy
    )
