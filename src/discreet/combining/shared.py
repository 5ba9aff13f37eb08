"""What curators have to agree on, and how releases of theirs are found and named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from discreet.data.interactions import Interactions
from discreet.errors import ReleaseError
from discreet.models.registry import create
from discreet.privacy.method import Method, Plan, settings_as_json
from discreet.privacy.numbers import as_fraction
from discreet.privacy.release import Release
from discreet.series.records import RecordShape

__all__ = [
    "BUDGET",
    "CATALOG",
    "ROUND",
    "Shared",
    "leaf_parts",
    "leaves",
    "loaded",
    "named",
    "require_round",
    "require_same_items",
]

ROUND, CATALOG = "round", "catalog"
BUDGET = ("epsilon", "delta")


@dataclass(frozen=True, eq=False)
class Shared:
    """What curators have to agree on: the method with its settings but for the budget, the catalog, the rating scale.

    Parameters
    ----------
    name
        The method, by its name.
    settings
        All of its settings, JSON-able.
    contexts
        What is counted by, as it was declared.
    shape
        What is public about the records.
    """

    name: str
    settings: Mapping[str, Any]
    contexts: tuple[str, ...]
    shape: RecordShape

    @classmethod
    def of(cls, method: Method, public: Interactions, contexts: Sequence[Any], used: Sequence[str]) -> Shared:
        declared = tuple(str(one) for one in contexts)
        return cls(method.name, settings_as_json(method), declared, RecordShape.of(public, list(used)))

    @classmethod
    def of_release(cls, release: Release) -> Shared:
        """As a round says it."""
        known = release.parameters
        shape = RecordShape.from_json(known["shape"], release.table(CATALOG))
        return cls(known["method"], known["settings"], tuple(known["contexts"]), shape)

    def to_json(self) -> dict[str, Any]:
        """Everything but the catalog."""
        return {
            "method": self.name,
            "settings": dict(self.settings),
            "contexts": list(self.contexts),
            "shape": self.shape.to_json(),
        }

    def method(self, epsilon: Any, delta: Any) -> Method:
        """The method with another budget."""
        budget = {name: value for name, value in zip(BUDGET, (epsilon, delta), strict=True) if name in self.settings}
        return create(self.name, **{**self.settings, **budget})

    def plan(self, method: Method, public: Any) -> Plan:
        """The plan of the method with some budget."""
        return method.plan(public, **({"contexts": self.contexts} if self.contexts else {}))

    def require_same(self, other: Shared, whose: str) -> None:
        """Refuse another method, other settings, another catalog; budgets may differ."""
        if other.name != self.name:
            raise ReleaseError(f"{whose} is a round of {other.name}, not of {self.name}.")
        for name in {**self.settings, **other.settings}:
            mine, theirs = self.settings.get(name), other.settings.get(name)
            if name not in BUDGET and mine != theirs:
                raise ReleaseError(
                    f"{whose} was made with {name} = {theirs!r}, not {mine!r}.",
                    remedy="All curators need the same settings; epsilon and delta may differ.",
                )
        if (as_fraction(self.settings.get("delta", 0)) > 0) != (as_fraction(other.settings.get("delta", 0)) > 0):
            raise ReleaseError(
                f"of {whose} and the others one has delta = 0 and the other has not: their sums are bounded in "
                "different ways, and do not add up.",
                remedy="All curators need a delta above 0, or none.",
            )
        if self.contexts != other.contexts:
            raise ReleaseError(f"{whose} has the contexts {list(other.contexts)}, not {list(self.contexts)}.")
        self._require_same_public(other, whose)

    def _require_same_public(self, other: Shared, whose: str) -> None:
        require_same_items(self.shape.catalog["item_id"], other.shape.catalog["item_id"], whose)
        for name in self.settings.get("features", ()):
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


def require_same_items(mine: pl.Series, theirs: pl.Series, whose: str) -> None:
    """Refuse another catalog, or the same one in another order."""
    if mine.dtype == theirs.dtype and mine.equals(theirs):
        return
    same = mine.dtype == theirs.dtype and set(mine.to_list()) == set(theirs.to_list())
    how = "the same items in another order" if same else "another catalog"
    raise ReleaseError(f"{whose} has {how}.", remedy="Give all curators the same catalog file (--catalog).")


def loaded(release: Release | str | Path) -> Release:
    """A release, or the one in a folder."""
    return release if isinstance(release, Release) else Release.load(release)


def require_round(release: Release, what: str) -> None:
    """Refuse what is not the release of a round."""
    if release.kind != ROUND:
        raise ReleaseError(
            f"{what} must be the release of a round, not of {release.kind!r}.",
            remedy="Make one with --round 1, or with release_round().",
        )
    known = release.parameters.get("round")
    if not isinstance(known, dict) or not {"number", "after", "before", "like", "noise"} <= set(known):
        raise ReleaseError(f"{named(release)} is not a complete round.", remedy="Get the release again.")


def leaves(release: Release) -> list[str]:
    """The ids of the releases that a combination is made of; that of a single release."""
    return [part["id"] for part in leaf_parts(release)]


def leaf_parts(release: Release) -> list[Mapping[str, Any]]:
    """The single releases that a combination is made of, as it describes them."""
    known = release.parameters.get("round", {}) if release.kind == ROUND else {}
    parts = release.parameters.get("combined", {}).get("parts")
    return _leaf_parts({"id": release.id, "took_part_before": known.get("took_part"), "parts": parts})


def _leaf_parts(part: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [leaf for one in part["parts"] for leaf in _leaf_parts(one)] if part.get("parts") else [part]


def named(release: Release) -> str:
    """A release in a sentence."""
    place = "" if release.loaded_from is None else f"{release.loaded_from.name}/ "
    return f"{place}{release.dataset or 'an unnamed release'} ({release.id[:12]})"
