"""Which column is the user, which the item: named by the caller, or recognized by its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from discreet.data.readers.layout import listed
from discreet.errors import DataError, Remedy, UsageError

__all__ = ["Roles", "What", "column_of", "usual_column"]

What = Literal["interactions", "tags", "table"]

# In the order of preference; compared in lower case and by letters and digits only.
_USUAL = {
    "user_id": "userid user uid username reviewerid customerid memberid visitorid personid",
    "item_id": (
        "itemid item iid movieid movie filmid film artistid artist songid trackid bookid isbn productid product asin "
        "venueid venue locationid poiid placeid place businessid gameid articleid resourceid jokeid"
    ),
    "rating": "rating score stars weight playcount plays overall bookrating",
    "timestamp": "timestamp time ts datetime date unixreviewtime checkintime",
    "resource_id": "resourceid resource urlhash url itemid item movieid artistid bookmarkid",
    "tag": "tag tagvalue tagname",
}
_OPTIONS = {"user_id": "user", "item_id": "item", "resource_id": "resource", "tag": "tag"}
_ROLES: dict[What, tuple[str, ...]] = {
    "interactions": ("user_id", "item_id", "rating", "timestamp"),
    "tags": ("user_id", "resource_id", "tag"),
    "table": (),
}
_MAY_LACK = ("rating", "timestamp")


@dataclass(frozen=True)
class Roles:
    """The names that the caller gives for the columns of a table; None for a column to recognize.

    Examples
    --------
    >>> Roles(rating="stars").matched(["Stars", "movieId", "stars", "uid"], Path("x.csv"))
    ('interactions', {'uid': 'user_id', 'movieId': 'item_id', 'stars': 'rating'})
    """

    user: str | None = None
    item: str | None = None
    rating: str | None = None
    timestamp: str | None = None
    context: Sequence[str] = ()
    resource: str | None = None
    tag: str | None = None
    what: What | None = None

    def matched(self, names: Sequence[str], path: Path) -> tuple[What, dict[str, str]]:
        """The kind of data, and the role of each column that has one; a context column keeps its name.

        Raises
        ------
        DataError
            When a column is missing that must be there.
        """
        what = self.what or ("tags" if self._has_tags(names) else "interactions")
        if what not in _ROLES:
            raise UsageError(f"what must be one of {', '.join(map(repr, _ROLES))}, got {what!r}.")
        if what == "table":
            return what, {name: name for name in names}
        matched: dict[str, str] = {}
        for role in _ROLES[what]:
            given = self._given(role)
            if given is None and role in _MAY_LACK:
                name = usual_column(role, names)
            else:
                name = column_of(role, names, path, given=given)
            if name in matched:
                raise UsageError(f"column {name!r} cannot be {matched[name]} and {role}.", remedy="Name the columns.")
            if name is not None:
                matched[name] = role
        for name in [self.context] if isinstance(self.context, str) else self.context:
            matched.setdefault(column_of(name, names, path, given=name), name)
        return what, matched

    def _given(self, role: str) -> str | None:
        return getattr(self, _OPTIONS.get(role, role))

    def _has_tags(self, names: Sequence[str]) -> bool:
        if self.tag is not None or self.resource is not None:
            return True
        return self.item is None and self.rating is None and usual_column("tag", names) is not None


def column_of(role: str, names: Sequence[str], path: Path | None = None, *, given: str | None = None) -> str:
    """The column of a role.

    Raises
    ------
    DataError
        When there is none.
    """
    found = usual_column(role, names) if given is None else given if given in names else None
    if found is not None:
        return found
    option = _OPTIONS.get(role, role)
    numbers = bool(names) and all(re.fullmatch(r"[+-]?[0-9.]+", name) for name in names)
    raise DataError(
        f"there is no column {given!r}; the columns are {listed(names)}."
        if given is not None
        else f"no column looks like the {option}; the columns are {listed(names)}.",
        file=path,
        line=None if path is None else 1,
        column=given or role,
        remedy=Remedy("If there is no header, give header=False.", cli="If there is no header, add one.")
        if numbers
        else Remedy(f"Name the column with {option}=.", cli=f"Name the column with --column {option}=NAME."),
    )


def usual_column(role: str, names: Sequence[str]) -> str | None:
    """The column that has a usual name for a role."""
    return next((name for usual in _usual(role) for name in names if _plain(name) == usual), None)


def _usual(role: str) -> list[str]:
    return _USUAL.get(role, "").split()


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())
