"""Drawing large datasets: long tails, exact totals, and many weighted choices without repetition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from discreet.common.arrays import AnyFloats, AnyIntegers, Codes, Integers
from discreet.errors import UsageError

__all__ = [
    "WeightedRows",
    "check_size",
    "distinct",
    "distinct_choices",
    "drawn",
    "long_tail",
    "numbered",
    "owners",
    "shared_out",
    "zipf_weights",
]

Counts = Integers

MOST_ROUNDS = 40
DENSE_BLOCK = 4_000_000


def check_size(value: object, name: str, *, least: int, most: int = 2**31 - 2) -> int:
    """A whole number between two ends, or a UsageError that names the argument."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value <= most:
        raise UsageError(
            f"{name}={value!r} is out of range.", remedy=f"Give a whole number from {least:,} to {most:,}."
        )
    return int(value)


def numbered(prefix: str, n: int) -> pl.Series:
    """The ids prefix1 … prefixN in the order of their codes."""
    return pl.select(pl.concat_str(pl.lit(prefix), pl.int_range(1, n + 1).cast(pl.String))).to_series().sort()


def owners(counts: Counts) -> Codes:
    """Code of the owner of each record, when owner ``u`` has ``counts[u]`` of them."""
    return np.repeat(np.arange(counts.size, dtype=np.int32), counts)


def zipf_weights(n: int, *, exponent: float = 1.0, shift: float = 0.0) -> AnyFloats:
    """Weights that fall with rank as ``1 / (rank + shift) ** exponent`` (Zipf and Mandelbrot), summing to one."""
    weights = (np.arange(1, n + 1) + shift) ** -exponent
    return weights / weights.sum()


def long_tail(n: int, *, spread: float, generator: np.random.Generator) -> AnyFloats:
    """The activity of each of ``n`` people: log-normal, as on rating sites."""
    return generator.lognormal(0.0, spread, n)


def shared_out(total: int, weights: AnyFloats, *, least: int, most: int | Counts) -> Counts:
    """Whole numbers near ``least + scale · weights``, none above ``most``, that sum to ``total`` exactly.

    Examples
    --------
    >>> shared_out(10, np.array([1.0, 1.0, 8.0]), least=1, most=5)
    array([3, 2, 5])
    """
    ceiling = np.broadcast_to(np.asarray(most, dtype=np.float64), weights.shape)

    def at(scale: float) -> AnyFloats:
        return np.minimum(least + scale * weights, ceiling)

    low, high = 0.0, 1.0
    while at(high).sum() < total and not np.array_equal(at(high), ceiling):
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle).sum() < total else (low, middle)
    exact = at(high)
    counts = np.floor(exact).astype(np.int64)
    # The largest remainders round up until the total is met; the order of codes settles ties.
    while (short := total - int(counts.sum())) > 0:
        room = np.flatnonzero(counts < ceiling)
        order = room[np.argsort(counts[room] - exact[room], kind="stable")]
        counts[order[:short]] += 1
    return counts


class WeightedRows:
    """Several weighted distributions over the same columns.

    Parameters
    ----------
    weights
        One row per distribution, none negative, not all zero.
    """

    def __init__(self, weights: AnyFloats) -> None:
        self.probabilities = weights / weights.sum(axis=1, keepdims=True)
        self._n_rows, self._n_columns = weights.shape
        # Row r of the cumulative sums lies between r and r + 1, so one search finds a column in any row.
        ends = np.cumsum(self.probabilities, axis=1)
        ends /= ends[:, -1:]
        self._ends = (ends + np.arange(self._n_rows)[:, None]).ravel()

    def draw(self, rows: AnyIntegers, generator: np.random.Generator) -> Integers:
        """One column for each entry of ``rows``."""
        found = np.searchsorted(self._ends, rows + generator.random(rows.size), side="right")
        return np.minimum(found - rows * np.int64(self._n_columns), self._n_columns - 1)


def drawn(weights: AnyFloats, n: int, generator: np.random.Generator) -> Integers:
    """``n`` columns drawn by one weighted distribution."""
    return WeightedRows(weights[None, :]).draw(np.zeros(n, dtype=np.int8), generator)


def distinct(keys: Integers) -> Integers:
    """The keys sorted, each once. Several times faster than ``np.unique``."""
    keys = np.sort(keys)
    return keys[np.append(True, keys[1:] != keys[:-1])] if keys.size else keys


def distinct_choices(
    counts: Counts,
    n_items: int,
    *,
    draw: Callable[[Codes], Integers],
    weights_of: Callable[[Codes], AnyFloats],
    generator: np.random.Generator,
) -> Integers:
    """Draw ``counts[u]`` different items for each owner ``u``, one after the other by weight.

    Repeats are drawn again; the few owners who need most of the catalog are completed by exponential clocks, which
    continue the same distribution.

    Parameters
    ----------
    draw
        One item for each owner in the array, repeats allowed.
    weights_of
        The weights of all items for each owner in the array, as in ``draw``.

    Returns
    -------
    Sorted keys ``owner · n_items + item``.
    """
    done: list[Integers] = []
    kept = np.empty(0, dtype=np.int64)
    missing = counts.copy()
    for _ in range(MOST_ROUNDS):
        owner = owners(missing)
        if not owner.size:
            break
        keys = distinct(np.concatenate([kept, owner * np.int64(n_items) + draw(owner)]))
        owner = keys // n_items
        short = missing > 0
        missing[short] = (counts - np.bincount(owner, minlength=counts.size))[short]
        # Complete owners are set aside, so that later rounds sort less.
        waits = missing[owner] > 0
        done.append(keys[~waits])
        kept = keys[waits]
    done.append(kept)
    done.append(_completed(kept, missing, n_items, weights_of, generator))
    return np.sort(np.concatenate(done))


def _completed(
    kept: Integers,
    missing: Counts,
    n_items: int,
    weights_of: Callable[[Codes], AnyFloats],
    generator: np.random.Generator,
) -> Integers:
    """Keys that are still missing: of the items not yet kept, those with the smallest exponential clocks."""
    waiting = np.flatnonzero(missing).astype(np.int32)
    keys = [np.empty(0, dtype=np.int64)]
    block = max(1, DENSE_BLOCK // n_items)
    for begin in range(0, waiting.size, block):
        some = waiting[begin : begin + block]
        clocks = generator.standard_exponential((some.size, n_items)) / np.maximum(weights_of(some), 1e-300)
        first, last = np.searchsorted(kept, [some[0] * np.int64(n_items), (some[-1] + np.int64(1)) * n_items])
        seen = kept[first:last]
        clocks[np.searchsorted(some, seen // n_items), seen % n_items] = np.inf
        ranks = np.argsort(np.argsort(clocks, axis=1), axis=1)
        row, item = np.nonzero(ranks < missing[some][:, None])
        keys.append(some[row] * np.int64(n_items) + item)
    return np.concatenate(keys)
