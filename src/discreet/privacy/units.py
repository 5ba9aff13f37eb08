"""Whose secret: what one neighboring step changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from discreet.errors import UsageError

__all__ = ["Relation", "Unit", "What"]

What = Literal["record", "user", "group"]
Relation = Literal["add-remove", "replace", "value"]

_WHATS = ("record", "user", "group")
_RELATIONS = ("add-remove", "replace", "value")


@dataclass(frozen=True)
class Unit:
    """What is protected: one record, one user, or one group of coupled records.

    Parameters
    ----------
    what
        "record", "user" (all records of one person) or "group" (records that depend on each other).
    relation
        "add-remove": it may or may not be in the data. "replace": it is in the data, with any content; how many
        there are is public. "value": only a record's value may differ; that the record exists is public.
    size
        For groups: the most records that one group has.

    Examples
    --------
    >>> print(Unit.of("user"))
    the whole history of one user, present or absent
    >>> Unit.of("group/replace:4").size
    4
    """

    what: What = "user"
    relation: Relation = "add-remove"
    size: int = 1

    def __post_init__(self) -> None:
        if self.what not in _WHATS or self.relation not in _RELATIONS:
            raise UsageError(
                f"unit {self.what!r} with relation {self.relation!r} is not known.",
                remedy=f"Units are {', '.join(_WHATS)}; relations are {', '.join(_RELATIONS)}.",
            )
        if self.size < 1 or (self.size != 1 and self.what != "group"):
            raise UsageError(f"a {self.what} cannot have size {self.size}.")
        if self.relation == "value" and self.what == "user":
            raise UsageError("the relation 'value' is about one record.", remedy="Use user/replace.")

    @classmethod
    def of(cls, given: Unit | str) -> Unit:
        """Read a unit from text: "user", "record", "user/replace", "group:4", "group/replace:4"."""
        if isinstance(given, Unit):
            return given
        text, _, size = given.partition(":")
        what, _, relation = text.partition("/")
        if size and not size.isdigit():
            raise UsageError(f"{given!r} is not a unit.", remedy='Write for example "user" or "group:4".')
        return cls(what, relation or "add-remove", int(size or 1))  # type: ignore[arg-type]

    def __str__(self) -> str:
        whose = {
            "record": "one record",
            "user": "the whole history of one user",
            "group": f"one group of at most {self.size} records that depend on each other",
        }[self.what]
        how = {
            "add-remove": "present or absent",
            "replace": "replaced by any other (how many there are is public)",
            "value": "with any other value (that it exists is public)",
        }[self.relation]
        return f"{whose}, {how}"

    @property
    def code(self) -> str:
        """The text that ``Unit.of`` reads."""
        return f"{self.what}/{self.relation}" + (f":{self.size}" if self.size != 1 else "")

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, "relation": self.relation, "size": self.size}
