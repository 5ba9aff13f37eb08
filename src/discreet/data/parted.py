"""Records in parts, each with all records of its people: what is never in memory at once.

A method adds up the sums of the parts, which are the sums of the whole to the last bit (``docs/proofs/bounding.md``).
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce
from operator import add, attrgetter
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from discreet.data.interactions import Interactions
from discreet.data.periods import Window
from discreet.errors import Remedy, UsageError

__all__ = ["Parted", "WithCatalog", "fingerprint_of_people"]


T = TypeVar("T")


class Parted(ABC):
    """Records in parts.

    Parameters
    ----------
    public
        The data without records: catalog, rating scale, names of contexts, declared domains.

    Attributes
    ----------
    n_parts : int
        How many parts there are. It decides nothing about a release.
    fingerprint : str
        The same as ``fingerprint_by_person`` of the same records in memory.
    """

    def __init__(self, public: Any) -> None:
        self.public = public

    @property
    @abstractmethod
    def n_parts(self) -> int: ...

    @abstractmethod
    def each(self, function: Callable[[Any], T]) -> Iterator[T]:
        """What a function makes of the records of each part, which are in memory while it runs."""

    def added(self, function: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
        """The totals of what a function makes of each part: a tuple of sums."""
        return reduce(lambda one, other: tuple(map(add, one, other)), self.each(function))

    @abstractmethod
    def of_users(self, users: Sequence[Any]) -> Interactions:
        """The records of these users, in memory; users who are not there have none."""

    def export(
        self, function: Callable[[Any], Iterator[pl.DataFrame]], path: str | Path, *, overwrite: bool, numbers: int = 0
    ) -> Path | None:
        """Write the tables that a function makes of each part, where the engine writes files itself; otherwise None.

        With ``numbers`` the function is given ranges of the numbers below it instead of records.
        """
        return None

    @abstractmethod
    def require_open(self) -> None:
        """Refuse to go on where the records are no longer there."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}: {self.n_parts} parts)"

    def require_sums(self, method: Any) -> None:
        """Refuse a method that looks at everybody at once; called before anything is charged."""
        # Where posts are public, the plan is made from all of them.
        if getattr(method, "reads", "") != "sums" or getattr(method, "posts_are_public", False):
            raise UsageError(
                f"{method.name} looks at everybody at once and needs the data in memory.",
                remedy=Remedy("Read the data with read() instead of scan().", cli="Give --parts memory."),
            )
        self.require_open()

    @property
    def name(self) -> str:
        return self.public.name

    @property
    def lineage(self) -> tuple[str, ...]:
        return self.public.lineage

    @property
    def released(self) -> Mapping[str, Any] | None:
        """Where the records were released themselves: the id and the guarantee of that release."""
        return self.public.released

    @property
    def window(self) -> Window | None:
        return self.public.window

    @cached_property
    def fingerprint(self) -> str:
        return self._combined(attrgetter("hash_by_person"))

    @cached_property
    def fingerprint_without_context(self) -> str:
        """The fingerprint of the same records without their context columns."""
        if not getattr(self.public, "context", pl.DataFrame()).columns:
            return self.fingerprint
        return self._combined(attrgetter("hash_by_person_without_context"))

    def _combined(self, hashed: Callable[[Any], tuple[int, int]]) -> str:
        people, totals = zip(*self.each(hashed), strict=True)
        return fingerprint_of_people(sum(people), sum(totals) % 2**256)


class WithCatalog(Parted):
    """The same records with another public catalog; records of items that are not in it are left out.

    For what is made of people's own records: nothing is charged for it.
    """

    def __init__(self, data: Parted, items: Any) -> None:
        self._data = data
        self._recoded = partial(_with_items, items)
        super().__init__(self._recoded(data.public))

    @property
    def n_parts(self) -> int:
        return self._data.n_parts

    def each(self, function: Callable[[Any], T]) -> Iterator[T]:
        return self._data.each(_after(self._recoded, function))

    def export(self, function: Callable[[Any], Iterator[pl.DataFrame]], *given: Any, **options: Any) -> Path | None:
        return self._data.export(
            function if options.get("numbers") else _after(self._recoded, function), *given, **options
        )

    def of_users(self, users: Sequence[Any]) -> Interactions:
        return self._recoded(self._data.of_users(users))

    def require_open(self) -> None:
        self._data.require_open()


def _with_items(items: Any, part: Interactions) -> Interactions:
    return part.with_catalog(items, unknown="drop")


def _after(first: Callable[[Any], Any], function: Callable[[Any], T]) -> Callable[[Any], T]:
    """One function after the other; it holds nothing else, because other processes may be sent it."""
    return lambda part: function(first(part))


def fingerprint_of_people(people: int, total: int) -> str:
    """The fingerprint of so many people whose hashes add up to this."""
    return hashlib.sha256(f"discreet/people/1/{people}/{total:064x}".encode()).hexdigest()
