"""Keys: shown once, kept as hashes; the one-time links and browser sessions that come from them."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Row

from discreet.errors import UsageError
from discreet.privacy import entropy
from discreet.service.access import ROLES, Caller, Role
from discreet.service.problems import Problem, not_found
from discreet.service.remembering import MOMENT, Recent
from discreet.service.schema import JOBS, KEYS, SESSIONS, TENANTS, TOKENS
from discreet.service.store import Store, fresh_id, now

__all__ = ["Keys", "require_scope"]

PREFIX = "dk"
SESSION_HOURS = 12
LINK_HOURS = 24
NOBODY = hashlib.sha256(b"no key").hexdigest()


def secret() -> str:
    """Thirty-two random bytes as text: nobody guesses it, so its hash needs no salt and no slow function."""
    return urlsafe_b64encode(entropy.public_bytes(32).tobytes()).decode().rstrip("=")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def after(hours: float) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat(timespec="seconds").replace("+00:00", "Z")


def seconds_until(time: str) -> float:
    return (datetime.fromisoformat(time) - datetime.now(UTC)).total_seconds()


class Keys:
    """Who may use a service.

    A key is ``dk_ID_SECRET``. The table has the hash of the secret; comparing takes the same time whatever is wrong,
    also where there is no such id.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._good: Recent[Caller] = Recent()

    # Tenants and their first key

    def add_tenant(self, name: str) -> tuple[str, str]:
        """A new tenant and the token of its one-time link."""
        with self.store.write("tenants") as connection:
            if connection.execute(sql.select(TENANTS.c.id).where(TENANTS.c.name == name)).first():
                raise Problem(409, "exists", f"There is a tenant called {name!r}.", remedy="Choose another name.")
            tenant = fresh_id("t")
            connection.execute(sql.insert(TENANTS).values(id=tenant, name=name, created=now()))
        return tenant, self.new_link(tenant)

    def tenants(self) -> list[str]:
        """The names of all tenants."""
        return [row.name for row in self.store.all(sql.select(TENANTS).order_by(TENANTS.c.created))]

    def tenant_name(self, tenant: str) -> str:
        """The name of a tenant."""
        row = self.store.one(sql.select(TENANTS.c.name).where(TENANTS.c.id == tenant))
        return "" if row is None else row.name

    def tenant(self, name: str) -> str:
        """The id of a tenant."""
        row = self.store.one(sql.select(TENANTS).where(TENANTS.c.name == name))
        if row is None:
            raise UsageError(f"there is no tenant {name!r}.", remedy=f"Choose from {', '.join(self.tenants())}.")
        return row.id

    def new_link(self, tenant: str) -> str:
        """The token of a one-time link by which somebody becomes a curator of a tenant."""
        token = secret()
        with self.store.write("tenants") as connection:
            connection.execute(
                sql.insert(TOKENS).values(hash=digest(token), tenant=tenant, expires=after(LINK_HOURS), used=None)
            )
        return token

    def redeem(self, token: str, name: str) -> str:
        """The first key of a curator, for the token of a link that was not used yet."""
        known = sql.select(TOKENS).where(TOKENS.c.hash == digest(token))
        _require_link(self.store.one(known))  # whoever has none does not hold the database
        with self.store.write("tenants") as connection:
            row = _require_link(connection.execute(known).first())
            connection.execute(sql.update(TOKENS).where(TOKENS.c.hash == row.hash).values(used=now()))
            return self._add(connection, row.tenant, name, "curator", {}, None, who="the setup link")[1]

    # Keys

    def issue(
        self,
        caller: Caller,
        *,
        name: str,
        role: Role,
        scope: Mapping[str, Any] | None = None,
        days: float | None = None,
    ) -> tuple[str, str]:
        """A new key of the caller's tenant: its id, and the key itself, which is not kept."""
        caller.require("manage keys")
        expires = None if days is None else after(24 * days)
        with self.store.write("keys") as connection:
            return self._add(connection, caller.tenant, name, role, dict(scope or {}), expires, who=caller.who)

    def _add(
        self,
        connection: Any,
        tenant: str,
        name: str,
        role: str,
        scope: dict[str, Any],
        expires: str | None,
        *,
        who: str,
    ) -> tuple[str, str]:
        if role not in ROLES:
            raise Problem(422, "request", f"There is no role {role!r}.", remedy=f"Choose from {', '.join(ROLES)}.")
        require_scope(role, scope)
        key, hidden = entropy.public_bytes(8).tobytes().hex(), secret()
        connection.execute(
            sql.insert(KEYS).values(
                id=key,
                tenant=tenant,
                name=name,
                role=role,
                hash=digest(hidden),
                scope=scope,
                created=now(),
                expires=expires,
                revoked=None,
                last_used=None,
            )
        )
        self.store.log(connection, tenant, who, "issue key", key, role)
        return key, f"{PREFIX}_{key}_{hidden}"

    def rotate(self, caller: Caller, key: str) -> str:
        """A new secret for a key; the old one stops working."""
        caller.require("manage keys")
        with self.store.write("keys") as connection:
            self._require(connection, caller, key)
            hidden = secret()
            connection.execute(sql.update(KEYS).where(KEYS.c.id == key).values(hash=digest(hidden)))
            self._end_sessions(connection, key)
            self.store.log(connection, caller.tenant, caller.who, "rotate key", key)
        self._good.clear()
        return f"{PREFIX}_{key}_{hidden}"

    def revoke(self, caller: Caller, key: str) -> None:
        """End a key for good."""
        caller.require("manage keys")
        with self.store.write("keys") as connection:
            self._require(connection, caller, key)
            connection.execute(sql.update(KEYS).where(KEYS.c.id == key).values(revoked=now()))
            # What the key asked for and was not charged yet is not done any more.
            unended = (JOBS.c.tenant == caller.tenant, JOBS.c.key == key, JOBS.c.state.in_(("queued", "running")))
            connection.execute(sql.update(JOBS).where(*unended).values(cancel=True))
            self._end_sessions(connection, key)
            self.store.log(connection, caller.tenant, caller.who, "revoke key", key)
        self._good.clear()

    def listed(self, caller: Caller) -> list[dict[str, Any]]:
        """The keys of the tenant, without anything that could be used as one."""
        caller.require("read keys")
        rows = self.store.all(sql.select(KEYS).where(KEYS.c.tenant == caller.tenant).order_by(KEYS.c.created))
        return [public(row) for row in rows]

    def require_known(self, caller: Caller, key: str, *, role: Role | None = None) -> None:
        """Refuse a key that the tenant does not have, or that is of another role."""
        with self.store.read() as connection:
            row = self._require(connection, caller, key)
        if role is not None and row.role != role:
            raise Problem(409, "role", f"This is a key of the role {row.role}.", remedy=f"Name a key of an {role}.")

    def _require(self, connection: Any, caller: Caller, key: str) -> Row[Any]:
        row = connection.execute(sql.select(KEYS).where(KEYS.c.id == key, KEYS.c.tenant == caller.tenant)).first()
        if row is None:
            raise not_found("key", key)
        return row

    # Checking

    def caller(self, given: str) -> Caller:
        """Who a key belongs to."""
        known = self.recent(given)
        if known is not None:
            return known
        since = self._good.cleared  # a key that is revoked while it is looked up is not remembered as good
        prefix, _, rest = given.partition("_")
        key, _, hidden = rest.partition("_")
        row = self.store.one(sql.select(KEYS).where(KEYS.c.id == key)) if prefix == PREFIX else None
        matches = hmac.compare_digest(digest(hidden), NOBODY if row is None else row.hash)
        if row is None or not matches or row.revoked is not None or (row.expires is not None and row.expires < now()):
            raise unauthorized()
        self._note_use(row)
        left = MOMENT if row.expires is None else seconds_until(row.expires)
        return self._good.put(digest(given), caller_of(row), since=since, seconds=left)

    def is_good(self, caller: Caller) -> bool:
        """Whether the key of a caller still is: for answers that take minutes."""
        row = self.store.one(sql.select(KEYS.c.revoked, KEYS.c.expires).where(KEYS.c.id == caller.key))
        if row is None:  # nobody's, where no keys are asked for
            return self.store.settings.insecure_local
        return row.revoked is None and (row.expires is None or row.expires >= now())

    def recent(self, given: str) -> Caller | None:
        """Who a key belongs to, if it was found good within the last moment."""
        return self._good.get(digest(given))

    def _note_use(self, row: Row[Any]) -> None:
        """Note that a key was used, to the minute. A full disk, or somebody who writes, is no reason to wait."""
        if row.last_used is None or row.last_used[:16] != now()[:16]:
            self.store.try_write(sql.update(KEYS).where(KEYS.c.id == row.id).values(last_used=now()))

    # Sessions of browsers

    def sign_in(self, given: str) -> str:
        """The secret of a new session, for the cookie."""
        caller, cookie = self.caller(given), secret()
        with self.store.write() as connection:
            connection.execute(sql.delete(SESSIONS).where(SESSIONS.c.expires < now()))
            connection.execute(
                sql.insert(SESSIONS).values(
                    hash=digest(cookie), key=caller.key, csrf=secret(), expires=after(SESSION_HOURS)
                )
            )
            self.store.log(connection, caller.tenant, caller.who, "sign in", caller.key)
        return cookie

    def session(self, cookie: str) -> tuple[Caller, str] | None:
        """Who a cookie belongs to, and the token that forms of the session must have."""
        row = self.store.one(
            sql.select(KEYS, SESSIONS.c.csrf, SESSIONS.c.expires.label("ends"))
            .join(SESSIONS, SESSIONS.c.key == KEYS.c.id)
            .where(SESSIONS.c.hash == digest(cookie))
        )
        if row is None or row.ends < now() or row.revoked is not None or (row.expires and row.expires < now()):
            return None
        return caller_of(row), row.csrf

    def sign_out(self, cookie: str) -> None:
        with self.store.write() as connection:
            connection.execute(sql.delete(SESSIONS).where(SESSIONS.c.hash == digest(cookie)))

    def _end_sessions(self, connection: Any, key: str) -> None:
        connection.execute(sql.delete(SESSIONS).where(SESSIONS.c.key == key))


def _require_link(row: Row[Any] | None) -> Row[Any]:
    if row is None or row.used is not None or row.expires < now():
        raise Problem(401, "link", "This link was used, has expired, or never existed.", remedy="Ask for a new one.")
    return row


def require_scope(role: str, scope: Mapping[str, Any]) -> None:
    """Refuse limits that are not understood: a limit that is ignored protects nobody."""
    users, releases = scope.get("users"), scope.get("releases")
    good = set(scope) <= {"users", "releases"}
    good &= users is None or users == "all" or (isinstance(users, list) and all(isinstance(u, str) for u in users))
    good &= releases is None or (isinstance(releases, list) and all(isinstance(r, str) for r in releases))
    if not good:
        raise Problem(
            422,
            "request",
            "The scope of the key is not understood.",
            remedy='Write {"releases": ["rel_…"], "users": ["u17"]} or {"users": "all"}.',
        )
    if users is not None and role != "application":
        raise Problem(422, "request", f"A key of the role {role} has no list of users.", remedy="Leave users out.")


def unauthorized() -> Problem:
    return Problem(
        401,
        "unauthorized",
        "There is no valid key in this request.",
        remedy="Send the header Authorization: Bearer dk_….",
        headers={"WWW-Authenticate": "Bearer"},
    )


def caller_of(row: Row[Any]) -> Caller:
    return Caller(row.id, row.name, row.role, row.tenant, row.scope)


def public(row: Row[Any]) -> dict[str, Any]:
    """What a list of keys shows."""
    shown = ("id", "name", "role", "scope", "created", "expires", "revoked", "last_used")
    return {name: getattr(row, name) for name in shown} | {"side": side_of(row.role, row.scope)}


def side_of(role: str, scope: Mapping[str, Any]) -> str:
    """Where a key stands: one that may ask for all users sees what depends on everybody's records."""
    return "curator" if role == "curator" or scope.get("users") == "all" else "public"
