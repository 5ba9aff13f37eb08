"""What curators have to agree on, and how releases of theirs are found and named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.combining.public_side import PublicSide, public_side, public_side_of_release
from discreet.errors import ReleaseError
from discreet.models.registry import create
from discreet.privacy.method import Method, settings_as_json
from discreet.privacy.numbers import as_fraction
from discreet.privacy.release import Release

__all__ = [
    "BUDGET",
    "ROUND",
    "Shared",
    "leaf_parts",
    "leaves",
    "loaded",
    "named",
    "require_round",
]

ROUND = "round"
BUDGET = ("epsilon", "delta")


@dataclass(frozen=True, eq=False)
class Shared:
    """What curators have to agree on: the method with its settings but for the budget, and what is public of the data.

    Parameters
    ----------
    name
        The method, by its name.
    settings
        All of its settings, JSON-able.
    side
        What is public about the data.
    """

    name: str
    settings: Mapping[str, Any]
    side: PublicSide

    @classmethod
    def of(cls, method: Method, data: Any, *asked: Any, **options: Any) -> Shared:
        return cls(method.name, settings_as_json(method), public_side(method, data, *asked, **options))

    @classmethod
    def of_release(cls, release: Release) -> Shared:
        """As a round says it."""
        known = release.parameters
        return cls(known["method"], known["settings"], public_side_of_release(release))

    def to_json(self) -> dict[str, Any]:
        """Everything but the parts of ``side``."""
        return {
            "method": self.name,
            "settings": dict(self.settings),
            "contexts": list(self.side.contexts),
            "shape": self.side.to_json(),
        }

    def method(self, epsilon: Any, delta: Any) -> Method:
        """The method with another budget."""
        budget = {name: value for name, value in zip(BUDGET, (epsilon, delta), strict=True) if name in self.settings}
        return create(self.name, **{**self.settings, **budget})

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
        self.side.require_same(other.side, whose, self.settings)


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
