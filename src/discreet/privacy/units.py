"""Whose secret: what one neighboring step changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discreet.common.numerals import parse_whole
from discreet.data.fingerprints import AS_READ, CUT_MARKS
from discreet.data.periods import Per, require_per
from discreet.errors import UsageError

__all__ = ["Relation", "Unit", "What"]

What = Literal["record", "user", "group", "score"]
Relation = Literal["add-remove", "replace", "value"]

_WHATS = ("record", "user", "group", "score")
_RELATIONS = ("add-remove", "replace", "value")

# The kinds of cut after which parts of neighboring datasets are neighbors again, by unit and relation.
_COVERED: dict[tuple[str, str], str] = {
    ("user", "add-remove"): "=#-^",
    ("record", "add-remove"): "#-",
    ("group", "add-remove"): "#-",
    ("user", "replace"): "=",
    ("record", "value"): "=#",
    # Scores are computed after every cut, and the guarantee is not about records.
    ("score", "value"): "=#-^~",
}
_EARLIER_NAMES = {"rating": "record", "value": "record/value"}  # in settings that version 0.1 saved


@dataclass(frozen=True)
class Unit:
    """What is protected: one record, one user, one group of coupled records, or one score of a row.

    Parameters
    ----------
    what
        "record", "user" (all records of one person), "group" (records that depend on each other), or "score" (a number
        that a model computed from records).
    relation
        "add-remove": it may or may not be in the data. "replace": it is in the data, with any content; how many
        there are is public. "value": only a record's value may differ; that the record exists is public.
    size
        For groups: the most records that one group has. For scores: how many of one row may differ.
    period
        For users in accounts per period: "year", "quarter", "month", "week" or "day". The unit is then one user's
        records of one such calendar period.

    Notes
    -----
    *Groups.* Which records form a group is a declared fact about the data, the same for every release. Every record
    is in a group, and no group has more than ``size`` records. "add-remove": groups do not overlap, and neighboring
    datasets differ in one whole group, of which one has all records and the other has none. "replace": neighboring
    datasets have the same groups, which are public, and agree in all records outside of one of them.

    *Scores.* One record can move every score of a row, and others' rows too. A promise about scores therefore says
    nothing about records: no ledger keeps an account of it, and it converts to no other unit.

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
    period: Per | None = None

    def __post_init__(self) -> None:
        if self.what not in _WHATS or self.relation not in _RELATIONS:
            raise UsageError(
                f"unit {self.what!r} with relation {self.relation!r} is not known.",
                remedy=f"Units are {', '.join(_WHATS)}; relations are {', '.join(_RELATIONS)}.",
            )
        if type(self.size) is not int:
            raise UsageError(f"the size of a unit is {self.size!r}; it must be a whole number.")
        if self.size < 1 or (self.size != 1 and self.what not in ("group", "score")):
            raise UsageError(f"a {self.what} cannot have size {self.size}.")
        if self.what == "score" and self.relation != "value":
            raise UsageError("a score can only have another value.", remedy="Write score/value.")
        if self.relation == "value" and self.what == "user":
            raise UsageError("the relation 'value' is about one record.", remedy="Use user/replace.")
        if self.period is not None:
            require_per(self.period)
            if (self.what, self.relation) != ("user", "add-remove"):
                raise UsageError("periods are for users, present or absent.", remedy='Use unit="user".')

    @classmethod
    def of(cls, given: Unit | str, offered: Sequence[str] = ()) -> Unit:
        """Read a unit from text: "user", "record", "user/replace", "group:4", "group/replace:4".

        Parameters
        ----------
        offered
            The units that a method has a proof for; another one is an error that lists them.
        """
        if offered and Unit.of(given) not in map(Unit.of, offered):
            raise UsageError(f"unit must be one of {', '.join(map(repr, offered))}, got {str(given)!r}.")
        if isinstance(given, Unit):
            return given
        given, _, period = given.partition("@")
        text, _, size = _EARLIER_NAMES.get(given, given).partition(":")
        what, _, relation = text.partition("/")
        try:
            return cls(what, relation or "add-remove", parse_whole(size or "1"), period or None)  # type: ignore[arg-type]
        except ValueError:
            raise UsageError(f"{given!r} is not a unit.", remedy='Write for example "user" or "group:4".') from None

    def __str__(self) -> str:
        whose = {
            "record": "one record",
            "user": f"one user's records of one calendar {self.period}"
            if self.period
            else "the whole history of one user",
            "group": f"one group of at most {self.size} records that depend on each other",
            "score": "one score of a row" if self.size == 1 else f"at most {self.size} scores of a row",
        }[self.what]
        how = {
            "add-remove": "present or absent",
            "replace": "replaced by any other (how many there are is public)",
            "value": "with any other value (that it exists is public)",
        }[self.relation]
        if self.what == "score":
            how = "with any other value (nothing is said about the records it was computed from)"
        return f"{whose}, {how}"

    def covers(self, lineage: Sequence[str], *, as_read: bool = False) -> bool:
        """Whether a guarantee about a part, for this unit, is a guarantee about the whole that it was cut from.

        Parameters
        ----------
        lineage
            How the part was cut: ``Dataset.lineage``.
        as_read
            Look only at cuts that were made while the records were read. Without a ledger others do not matter: a part
            may be data of its own.

        Examples
        --------
        >>> by_user = ("^" + "0" * 64,)
        >>> Unit.of("user").covers(by_user), Unit.of("record").covers(by_user)
        (True, False)
        """
        admitted = AS_READ + _COVERED.get((self.what, self.relation), "")
        entries = [entry for entry in lineage if not as_read or entry.startswith(AS_READ)]
        return all(set(entry[: len(entry) - len(entry.lstrip(CUT_MARKS))]) <= set(admitted) for entry in entries)

    @property
    def code(self) -> str:
        """The text that ``Unit.of`` reads."""
        size, period = f":{self.size}" if self.size != 1 else "", f"@{self.period}" if self.period else ""
        return f"{self.what}/{self.relation}{size}{period}"

    def to_json(self) -> dict[str, Any]:
        period = {"period": self.period} if self.period else {}
        return {"what": self.what, "relation": self.relation, "size": self.size, **period}
