"""What is public about the data of a curator, in a form that a release can hold: a catalog, or lists of tags."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import polars as pl

from discreet.data.interactions import Interactions
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.errors import ReleaseError, UsageError
from discreet.models.registry import entry_of
from discreet.privacy.bounding import require_catalog
from discreet.privacy.method import Method, Parts, Plan
from discreet.privacy.release import Release
from discreet.series.records import RecordShape

__all__ = ["PublicRecords", "PublicSide", "PublicTags", "public_side", "public_side_of_release"]

CATALOG = "catalog"


class PublicSide(ABC):
    """What is public about the data of a curator. All curators need the same."""

    contexts: tuple[str, ...] = ()

    @property
    @abstractmethod
    def public(self) -> Any:
        """What a plan is made from."""

    @property
    def nobody(self) -> Any:
        """Data without records."""
        return self.public

    @property
    @abstractmethod
    def parts(self) -> Parts:
        """The parts of a release that hold it."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Everything else."""

    @abstractmethod
    def require_same(self, other: Any, whose: str, settings: Mapping[str, Any]) -> None:
        """Refuse what is not the same, of data of the same kind."""

    def plan(self, method: Method) -> Plan:
        """The plan of the method."""
        return method.plan(self.public)

    def of_all(self, others: Sequence[Any]) -> Self:
        """What is public about the data of all curators together."""
        return self

    def after(self, combined: Any) -> Self:
        """What later rounds are planned from, where this is what was combined before."""
        return self


@dataclass(frozen=True, eq=False)
class PublicRecords(PublicSide):
    """Of records of users and items: the catalog, the rating scale, and what is counted by."""

    shape: RecordShape
    contexts: tuple[str, ...] = ()
    given: Interactions | None = None

    @classmethod
    def of(cls, method: Method, data: Interactions, contexts: Sequence[Any] = ()) -> Self:
        require_catalog(data, "a release that several curators combine")
        public, declared = data.emptied(), tuple(str(one) for one in contexts)
        used = method.plan(public, **({"contexts": contexts} if contexts else {})).details.get("contexts", ())
        return cls(RecordShape.of(public, list(used)), declared, public)

    @classmethod
    def of_release(cls, release: Release) -> Self:
        known = release.parameters
        return cls(RecordShape.from_json(known["shape"], release.table(CATALOG)), tuple(known["contexts"]))

    @property
    def public(self) -> Interactions:
        return self.shape.public if self.given is None else self.given

    @property
    def parts(self) -> Parts:
        return {CATALOG: self.shape.catalog}

    def to_json(self) -> dict[str, Any]:
        return self.shape.to_json()

    def plan(self, method: Method) -> Plan:
        return method.plan(self.public, **({"contexts": self.contexts} if self.contexts else {}))

    def require_same(self, other: PublicRecords, whose: str, settings: Mapping[str, Any]) -> None:
        if self.contexts != other.contexts:
            raise ReleaseError(f"{whose} has the contexts {list(other.contexts)}, not {list(self.contexts)}.")
        require_same_list(self.shape.catalog["item_id"], other.shape.catalog["item_id"], whose)
        for name in settings.get("features", ()):
            if not self.shape.catalog[name].equals(other.shape.catalog[name]):
                raise ReleaseError(f"{whose} has another column {name!r} in its catalog.")
        words = {
            "scale": "the rating scale",
            "rated": "that there are ratings",
            "may_repeat": "that records may repeat",
        }
        for name, what in words.items():
            mine, theirs = getattr(self.shape, name), getattr(other.shape, name)
            if mine != theirs:
                raise ReleaseError(
                    f"{what} is declared as {theirs!r} in {whose}, and as {mine!r} otherwise.",
                    remedy="All curators need to read their records with the same options.",
                )


@dataclass(frozen=True, eq=False)
class PublicTags(PublicSide):
    """Of tags: the public lists that the method needs, by name."""

    lists: Mapping[str, pl.Series]

    @classmethod
    def of(cls, method: Method, data: TagAssignments) -> Self:
        if getattr(method, "posts_are_public", False):
            raise UsageError(
                f"{method.name} cannot be combined: it releases the posts of one curator, which others have not.",
                remedy="Take ptr-j, ptr-s or private-topics.",
            )
        method.plan(data.emptied())  # refuses data without the lists
        needed = getattr(method, "_lists", tuple(LISTS))
        return cls({name: getattr(data, name).series.alias(LISTS[name]) for name in needed})

    @classmethod
    def of_release(cls, release: Release) -> Self:
        lists = release.parameters["shape"]["lists"]
        return cls({name: release.table(name)[LISTS[name]] for name in lists})

    @cached_property
    def public(self) -> TagAssignments:  # type: ignore[override]
        empty = TagAssignments(pl.DataFrame(schema=dict.fromkeys(("user_id", "resource_id", "tag"), pl.String)))
        listed = empty.with_vocabulary(self.lists["tags"])
        return listed.with_resources(self.lists["resources"]) if "resources" in self.lists else listed

    @property
    def parts(self) -> Parts:
        return {name: ids.to_frame() for name, ids in self.lists.items()}

    def to_json(self) -> dict[str, Any]:
        return {"kind": "tags", "lists": list(self.lists)}

    def require_same(self, other: PublicTags, whose: str, settings: Mapping[str, Any]) -> None:
        for name, ids in self.lists.items():
            if name not in other.lists:
                raise ReleaseError(f"{whose} has no list of {name}.")
            require_same_list(ids, other.lists[name], whose)


LISTS = {"tags": "tag", "resources": "resource_id"}
"""The column of each list."""

IDS = {
    "item_id": ("items", "catalog", "--catalog"),
    "tag": ("tags", "list of tags", "--vocabulary"),
    "resource_id": ("resources", "list of resources", "--resources"),
}
"""What the ids of a column are, what a list of them is called, and the option that gives it."""


def public_side(method: Method, data: Any, *asked: Any, **options: Any) -> PublicSide:
    """What is public about the data of a curator.

    ``asked`` and ``options`` are what else the plan of the method takes: contexts, or queries with their coupling.
    """
    given = {name: value for name, value in options.items() if value is not None and value != ()}
    takes = TAKES[entry_of(method.name).takes]
    if not isinstance(data, takes):
        raise UsageError(f"{method.name} is computed from {takes.__name__}, not from {type(data).__name__}.")
    if isinstance(data, Table):
        from discreet.combining.tables import PublicTable

        return PublicTable.of(data, *asked, **given)
    tags = isinstance(data, TagAssignments)
    if asked or given.keys() - ({"contexts"} if not tags else set()):
        raise UsageError(f"queries and couplings are for tables, contexts for records, not for {method.name}.")
    return PublicTags.of(method, data) if tags else PublicRecords.of(method, data, **given)


TAKES: dict[str, type[Any]] = {"interactions": Interactions, "tags": TagAssignments, "table": Table}
"""The data that methods are computed from, as the registry names them."""


def public_side_of_release(release: Release) -> PublicSide:
    """What is public about the data that a round was released of."""
    kind = release.parameters["shape"].get("kind")
    if kind == "table":
        from discreet.combining.tables import PublicTable

        return PublicTable.of_release(release)
    return PublicTags.of_release(release) if kind == "tags" else PublicRecords.of_release(release)


def require_same_list(mine: pl.Series, theirs: pl.Series, whose: str) -> None:
    """Refuse another list of ids, or the same one in another order; the name of the column says what they are."""
    if mine.dtype == theirs.dtype and mine.equals(theirs):
        return
    ids, what, option = IDS[mine.name]
    same = mine.dtype == theirs.dtype and set(mine.to_list()) == set(theirs.to_list())
    how = f"the same {ids} in another order" if same else f"another {what}"
    raise ReleaseError(f"{whose} has {how}.", remedy=f"Give all curators the same {what} ({option} FILE).")
