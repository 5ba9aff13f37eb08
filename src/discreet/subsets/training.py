"""Which training of a model a list belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.recommender import Recommender

__all__ = ["Training"]


@dataclass(frozen=True, eq=False)
class Training:
    """What changes when a model is fitted again or gets other records.

    All of it is public, unlike scores: a list that was drawn anew because *scores* changed would tell that they did.
    """

    parts: tuple[Any, ...]
    config: dict[str, Any]

    @classmethod
    def of(cls, model: Recommender) -> Training:
        parts = tuple(getattr(model, name, None) for name in ("items_", "guarantee_", "records_", "release_"))
        return cls(parts, model.config())

    def same(self, other: Training) -> bool:
        return all(a is b for a, b in zip(self.parts, other.parts, strict=True)) and self.config == other.config
