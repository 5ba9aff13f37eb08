"""Records in parts, each with all records of its people: what is never in memory at once.

A method adds up the sums of the parts, which are the sums of the whole to the last bit (``docs/proofs/bounding.md``).
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

from discreet.data.interactions import Interactions
from discreet.data.periods import Window
from discreet.errors import UsageError

__all__ = ["PartedInteractions", "fingerprint_of_people"]


class PartedInteractions(ABC):
    """Interactions in parts.

    Parameters
    ----------
    public
        The data without records: catalog, rating scale, names of contexts.

    Attributes
    ----------
    n_parts : int
        How many parts there are. It decides nothing about a release.
    fingerprint : str
        The same as ``fingerprint_by_person`` of the same records in memory.
    """

    def __init__(self, public: Interactions) -> None:
        self.public = public

    @property
    @abstractmethod
    def n_parts(self) -> int: ...

    @abstractmethod
    def part(self, number: int) -> Interactions:
        """The records of a part, in memory."""

    @abstractmethod
    def of_users(self, users: Sequence[Any]) -> Interactions:
        """The records of these users, in memory; users who are not there have none."""

    def __iter__(self) -> Iterator[Interactions]:
        return (self.part(number) for number in range(self.n_parts))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}: {self.n_parts} parts, {self.n_items:,} items)"

    def require_sums(self, method: Any) -> None:
        """Refuse a method that looks at everybody at once; called before anything is charged."""
        if getattr(method, "reads", "") != "sums":
            raise UsageError(
                f"{method.name} looks at everybody at once and needs the data in memory.",
                remedy="Read the data with read() instead of scan().",
            )

    @property
    def name(self) -> str:
        return self.public.name

    @property
    def lineage(self) -> tuple[str, ...]:
        return self.public.lineage

    @property
    def window(self) -> Window | None:
        return self.public.window

    @property
    def n_items(self) -> int:
        return self.public.n_items

    @cached_property
    def fingerprint(self) -> str:
        return self._combined("hash_by_person")

    @cached_property
    def fingerprint_without_context(self) -> str:
        """The fingerprint of the same records without their context columns."""
        return self._combined("hash_by_person_without_context") if self.public.context.columns else self.fingerprint

    def _combined(self, name: str) -> str:
        people, total = 0, 0
        for part in self:
            here, added = getattr(part, name)
            people, total = people + here, (total + added) % 2**256
        return fingerprint_of_people(people, total)


def fingerprint_of_people(people: int, total: int) -> str:
    """The fingerprint of so many people whose hashes add up to this."""
    return hashlib.sha256(f"discreet/people/1/{people}/{total:064x}".encode()).hexdigest()
