"""All tiny datasets: small enough to try every one against every neighbor."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from discreet.data.interactions import Interactions

__all__ = ["neighboring_datasets", "tiny_histories"]

History = tuple[str, ...]


def tiny_histories(items: Sequence[str], *, most: int, repeats: bool = False) -> list[History]:
    """Every history of 1 to ``most`` records over these items.

    Examples
    --------
    >>> tiny_histories("ab", most=2)
    [('a',), ('b',), ('a', 'b')]
    >>> tiny_histories("ab", most=2, repeats=True)
    [('a',), ('b',), ('a', 'a'), ('a', 'b'), ('b', 'b')]
    """
    choose = itertools.combinations_with_replacement if repeats else itertools.combinations
    return [history for size in range(1, most + 1) for history in choose(items, size)]


def neighboring_datasets(
    items: Sequence[str], *, most_users: int = 2, most_records: int = 3, repeats: bool = False
) -> Iterator[tuple[Interactions, Interactions]]:
    """Every dataset of up to so many users with every dataset that has one user more.

    The catalog is public and the same on both sides; with ``repeats`` a user may have several records of an item.
    """
    histories = tiny_histories(items, most=most_records, repeats=repeats)
    for n in range(most_users + 1):
        for others in itertools.combinations_with_replacement(histories, n):
            without = _dataset(others, items, repeats)
            for history in histories:
                yield without, _dataset((*others, history), items, repeats)


def _dataset(histories: Sequence[History], items: Sequence[str], repeats: bool) -> Interactions:
    rows = [(f"u{number}", item) for number, history in enumerate(histories) for item in history]
    return Interactions(rows, items=list(items), duplicates="keep" if repeats else "error")
