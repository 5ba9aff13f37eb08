"""Audits that were kept: what they found about which model, when, by whom, and the hash of their page."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from discreet.errors import LedgerError, UsageError
from discreet.privacy.ledger import chain
from discreet.privacy.ledger.accounts import Account
from discreet.privacy.ledger.families import Dataset
from discreet.privacy.ledger.requests import as_json
from discreet.privacy.ledger.schema import AUDITS
from discreet.privacy.ledger.store import Store

__all__ = ["OUTCOMES", "KeptAudit", "KeptAudits"]

OUTCOMES = ("refuted", "consistent", "inconclusive", "no claim")


@dataclass(frozen=True)
class KeptAudit:
    """One audit as the ledger has it.

    Attributes
    ----------
    id
        Its number in the ledger.
    model, settings
        What was audited.
    claim
        What it claims, in words; None where it claims nothing.
    outcome
        "refuted", "consistent", "inconclusive" or "no claim".
    verdict
        What was found, in words.
    digest
        SHA-256 of the page of the audit: ``sha256sum audit.html`` shows whether a file is that page.
    saved_in
        Where the page was written; None where it was not.
    at, who
        When it was kept, in UTC, and who ran it.
    """

    id: int
    model: str
    settings: Mapping[str, Any]
    claim: str | None
    outcome: str
    verdict: str
    digest: str
    saved_in: str | None
    at: str
    who: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class KeptAudits:
    """What a ledger does for audits."""

    _store: Store
    who: str

    @abstractmethod
    def _now(self) -> str: ...

    @abstractmethod
    def _require(self, connection: Connection, data: Any) -> Account: ...

    @abstractmethod
    def _require_ledger(self, data: Any) -> None: ...

    def account(self, data: Dataset | str) -> Account:
        """The account of a dataset or of a population; an error where there is none."""
        self._require_ledger(data)
        with self._store.read() as connection:
            return self._require(connection, data)

    def keep_audit(
        self,
        data: Dataset | str,
        *,
        model: str,
        outcome: str,
        verdict: str,
        digest: str,
        claim: str | None = None,
        settings: Mapping[str, Any] | None = None,
        saved_in: str | None = None,
    ) -> KeptAudit:
        """Record what an audit found; nothing is charged. ``AuditReport.keep`` calls this.

        Parameters
        ----------
        data
            The dataset that it was played on, or the name of its population.
        model, settings, claim, outcome, verdict, digest, saved_in
            As in ``KeptAudit``.
        """
        if outcome not in OUTCOMES:
            raise UsageError(f"an audit ends as one of {', '.join(OUTCOMES)}, not as {outcome!r}.")
        self._require_ledger(data)
        with self._store.write() as connection:
            account = self._require(connection, data)
            self._store.lock(connection, account.id)
            row = AUDITS.insert().values(
                account=account.id,
                model=model,
                settings=as_json(settings),
                claim=claim,
                outcome=outcome,
                verdict=verdict,
                digest=digest,
                saved_in=saved_in,
                at=self._now(),
                who=self.who,
            )
            key = connection.execute(row).inserted_primary_key
            assert key is not None
            number = int(key[0])
            chain.append(connection, "audit", number)
            return _audits(connection, AUDITS.c.id == number)[0]

    def audits(self, data: Dataset | str) -> tuple[KeptAudit, ...]:
        """The audits that were kept about a population, in order."""
        self._require_ledger(data)
        with self._store.read() as connection:
            return _audits(connection, AUDITS.c.account == self._require(connection, data).id)


def _audits(connection: Connection, condition: sql.ColumnElement[bool]) -> tuple[KeptAudit, ...]:
    rows = connection.execute(sql.select(AUDITS).where(condition).order_by(AUDITS.c.id))
    return tuple(_audit({**row._mapping}) for row in rows)


def _audit(row: dict[str, Any]) -> KeptAudit:
    del row["account"]
    try:
        return KeptAudit(**{**row, "settings": json.loads(row["settings"])})
    except ValueError as error:
        raise LedgerError(f"audit {row['id']} of the ledger cannot be read: {error}.") from error
