"""Who may do what: roles, and the one table that every route and every page asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from discreet.service.problems import Problem

__all__ = ["ACTIONS", "ROLES", "Caller", "Role"]

Role = Literal["curator", "analyst", "application", "auditor"]
ROLES: tuple[Role, ...] = get_args(Role)

ACTIONS: Mapping[str, frozenset[Role]] = {
    name: frozenset(roles)  # type: ignore[arg-type]
    for name, roles in {
        "manage keys": ["curator"],
        "read keys": ["curator"],
        "manage data": ["curator"],
        "read data": ["curator"],
        "open populations": ["curator"],
        "read populations": ["curator", "analyst", "auditor"],
        "read statements": ["curator", "auditor"],
        "read methods": ["curator", "analyst", "auditor", "application"],
        "estimate": ["curator", "analyst"],
        "rehearse": ["curator", "analyst"],
        "run": ["curator", "analyst"],
        "hold sessions": ["curator", "analyst"],
        "read jobs": ["curator", "analyst"],
        "cancel jobs": ["curator", "analyst"],
        "read releases": ["curator", "analyst", "auditor", "application"],
        "download releases": ["curator", "analyst", "auditor"],
        "ask": ["curator", "analyst", "application"],
        "ask for users": ["curator", "application"],
        "run reports": ["curator"],
        "read reports": ["curator", "auditor"],
        "read series": ["curator", "auditor"],
        "read log": ["curator", "auditor"],
        "read metrics": ["curator", "auditor"],
    }.items()
}
"""Action: the roles that may. What belongs to another tenant is not there for anybody."""


@dataclass(frozen=True)
class Caller:
    """Who asks: the key of a request, or of the session of a browser.

    Attributes
    ----------
    key, name, role, tenant
        Of the key.
    scope
        Limits of the key: "releases" (the ids that it may ask; absent for all), and "users" ("all", or a list of the
        users that it may ask for; absent for none).
    """

    key: str
    name: str
    role: Role
    tenant: str
    scope: Mapping[str, Any] = field(default_factory=dict)

    @property
    def who(self) -> str:
        """How the log and the ledger name the caller."""
        return f"{self.name} ({self.role}, {self.key})"

    @property
    def is_curator(self) -> bool:
        return self.role == "curator"

    def may(self, action: str) -> bool:
        return self.role in ACTIONS[action]

    def require(self, action: str) -> None:
        """Refuse what the role may not do."""
        if not self.may(action):
            raise Problem(
                403,
                "forbidden",
                f"A key of the role {self.role} may not {action}.",
                remedy=f"Use a key of the role {' or '.join(sorted(ACTIONS[action]))}.",
            )

    def may_ask_for(self, users: Iterable[Any]) -> bool:
        """Whether the key may ask for these users."""
        allowed = "all" if self.is_curator else self.scope.get("users", ())
        return allowed == "all" or all(str(user) in allowed for user in users)
