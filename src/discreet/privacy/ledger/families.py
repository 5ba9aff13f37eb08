"""Which data an account stands for: fingerprints, what data were cut from, and which promises hold for a part."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from sqlalchemy.engine import Connection

from discreet.data.dataset import Dataset as Records
from discreet.data.fingerprints import left_whole, origin_of
from discreet.data.parted import Parted, fingerprint_of_people
from discreet.errors import BudgetError, DiscreetWarning, LedgerError, PrivacyError, Remedy, UsageError
from discreet.privacy import entropy
from discreet.privacy.charging import require_covered_as_read
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.ledger import tables
from discreet.privacy.ledger.accounts import Account
from discreet.privacy.units import Unit

__all__ = [
    "Dataset",
    "account_of",
    "by_person",
    "cannot_tell",
    "earlier_fingerprints",
    "family_of",
    "is_known_by_scan",
    "known_as",
    "name_of",
    "name_of_account",
    "not_comparable",
    "require_covered",
    "require_told_apart",
    "whose_data",
    "without_account",
]


FINGERPRINT = re.compile(r"[0-9a-f]{64}")


class Dataset(Protocol):
    """What a ledger wants to know of data: Interactions, TagAssignments and Table all tell it.

    Attributes
    ----------
    fingerprint : str
        Which records these are. (Typed as Any: type checkers do not see the text behind a cached property.)
    lineage
        Fingerprints of what they were cut from, the oldest first.
    name
        What people call them.
    """

    @property
    def fingerprint(self) -> Any: ...

    @property
    def lineage(self) -> tuple[str, ...]: ...

    @property
    def name(self) -> str: ...


def family_of(data: Dataset | str) -> tuple[str, ...]:
    """The fingerprint of the data, then those of what they were cut from."""
    if isinstance(data, str):
        return (data,)
    try:
        return (data.fingerprint, *(origin for origin in map(origin_of, data.lineage) if origin))
    except AttributeError:
        raise UsageError(
            f"a {type(data).__name__} has no fingerprint to be charged under.",
            remedy="Give Interactions, TagAssignments, a Table, a fingerprint, or the name of an account.",
        ) from None


def by_person(data: Dataset | str) -> tuple[str, ...]:
    """The fingerprints that the same records have where they are read in parts, with their contexts and without."""
    if not isinstance(data, Records):
        return ()
    hashes = dict.fromkeys((data.hash_by_person, data.hash_by_person_without_context))
    return tuple(fingerprint_of_people(*one) for one in hashes)


BY_PERSON, IN_MEMORY, IN_PARTS, OTHER_KIND = "by-person:", "in-memory:", "in-parts:", "other-kind:"
"""Marks before fingerprints that say how else a ledger knows them.

``by-person:F``: the data with the fingerprint F of memory are known by person, too. ``in-memory:P``: those with the
fingerprint P by person are known as in memory, too. ``in-parts:P``: P was given by data in parts. ``other-kind:F``: F
is of data that have no parts. What has no mark comes from an earlier version, or is what a part was cut from.
"""


def known_as(data: Dataset | str) -> tuple[str, ...]:
    """Everything that a ledger writes down to know data again: in memory, in parts, and what is cut from them."""
    family = family_of(data)
    if isinstance(data, Parted):
        both = dict.fromkeys((data.fingerprint, data.fingerprint_without_context))
        return (*family, *both, *(IN_PARTS + one for one in both))
    if isinstance(data, str) or not FINGERPRINT.fullmatch(family[0]):
        return family
    people = by_person(data)
    mark = BY_PERSON if people else OTHER_KIND
    return (*family, *people, mark + family[0], *(IN_MEMORY + one for one in people))


def not_comparable(data: Dataset | str | None, accounts: Sequence[Account]) -> list[Account]:
    """Those accounts that may stand for the same people without the ledger being able to tell.

    Data in parts are compared by person, and earlier versions wrote down no such fingerprint. What was cut in memory
    names the fingerprint of the whole in memory, which an account that was opened with a scan does not have.
    """
    if data is None or isinstance(data, str):
        return []
    is_part = any(map(origin_of, data.lineage))
    return [
        account
        for account in accounts
        if (isinstance(data, Parted) and _in_memory_alone(account)) or (is_part and _in_parts_alone(account))
    ]


def _in_memory_alone(account: Account) -> bool:
    """Whether the account has data that a ledger would not know in parts."""
    marks = set(account.marks)
    told = {mark.partition(":")[2] for mark in marks}
    plain = (one for one in account.fingerprints if FINGERPRINT.fullmatch(one))
    return any(one not in told for one in plain)


def _in_parts_alone(account: Account) -> bool:
    """Whether the account has data that a ledger would not know by what is cut from them in memory."""
    marks = set(account.marks)
    scanned = (mark.removeprefix(IN_PARTS) for mark in marks if mark.startswith(IN_PARTS))
    return any(IN_MEMORY + one not in marks for one in scanned)


def is_known_by_scan(data: Dataset | str, account: Account) -> bool:
    """Whether whole data in memory are known to their account by a scan alone."""
    if not isinstance(data, Records) or any(map(origin_of, data.lineage)):
        return False  # a part would become data of its own
    return data.fingerprint not in account.fingerprints and bool({*by_person(data)} & {*account.fingerprints})


def require_told_apart(data: Dataset | str | None, accounts: Sequence[Account], *, other_people: bool) -> None:
    """Refuse a new account for people who may have one under a fingerprint that cannot be compared.

    Parameters
    ----------
    other_people
        Whether it was declared that they have none: then this is only said.
    """
    if unclear := not_comparable(data, accounts):
        if not other_people:
            raise cannot_tell(data, unclear)
        known = ", ".join(account.name for account in unclear)
        warnings.warn(
            f"whether {name_of(data or '')} is about the people of {known} cannot be told from its fingerprint. A new "
            "account is opened, as it was declared that these are other people.",
            DiscreetWarning,
            stacklevel=4,
        )


def cannot_tell(data: Any, accounts: Sequence[Account]) -> LedgerError:
    """The error for data that may be those of an account, where the ledger cannot compare them."""
    known, first = ", ".join(account.name for account in accounts), accounts[0].name
    parts = isinstance(data, Parted)
    reason = (
        "is in parts, and the ledger knows data of {} as they are in memory alone"
        if parts
        else "was cut from other data in memory, and the ledger knows data of {} by a scan alone"
    )
    what, called = ("the same data, read in memory", "read(…)") if parts else ("the whole, read in memory", "whole")
    return LedgerError(
        f"{name_of(data)} {reason.format(known)}: whether these are the same people cannot be told.",
        remedy=Remedy(
            f"If they are, attach {what}, once: ledger.attach({called}, {first!r}); after that they are known."
            + (f" Data that do not fit into memory: ledger.attach(data, {first!r})." if parts else "")
            + " If these are other people: ledger.open(data, population=…, epsilon=…, other_people=True).",
            cli=f"If they are, attach {what}, once: discreet ledger attach DATA {first} --parts memory --ledger …; "
            "after that they are known."
            + (f" Data that do not fit into memory: discreet ledger attach DATA {first} --ledger …." if parts else "")
            + " If these are other people: discreet ledger open DATA --new-people --population NAME --epsilon ….",
        ),
    )


def earlier_fingerprints(data: Dataset | str) -> tuple[str, ...]:
    """Fingerprints that version 0.1 gave the same data, when it inferred the types of their columns."""
    return getattr(data, "earlier_fingerprints", ())


def account_of(connection: Connection, data: Dataset | str) -> Account | None:
    """By the fingerprints of the data and of what they were cut from; by name, if text was given."""
    found = tables.accounts_of(connection, family_of(data))
    if not found and isinstance(data, str):
        return tables.account_named(connection, data)
    if not found:
        found = tables.accounts_of(connection, (*earlier_fingerprints(data), *by_person(data)))
    if not found and not isinstance(data, str) and (plain := getattr(data, "fingerprint_without_context", None)):
        found = tables.accounts_of(connection, [plain])
    if len(found) > 1:
        raise LedgerError(
            f"{name_of(data)} comes from the data of several accounts: {', '.join(a.name for a in found)}.",
            remedy="One release is charged to one account: release from each of them by itself.",
        )
    return found[0] if found else None


def without_account(data: Dataset | str, where: str, accounts: Sequence[Account] = ()) -> BudgetError:
    """The error for data whose people have no account.

    Parameters
    ----------
    accounts
        Those that the ledger has: the people may be known under another file.
    """
    opening = Remedy(
        'Open one with ledger.open(data, population="customers", epsilon=…, delta=…).',
        cli="Open one with discreet ledger open DATA --population customers --epsilon … --delta … --ledger ….",
    )
    known = ", ".join(account.name for account in accounts)
    attaching = Remedy(
        f"If these are the people of one of its accounts ({known}), charge ledger.about(population): that attaches the "
        "data. If they are other people, ledger.open(data, population=…, epsilon=…).",
        cli=f"If these are the people of one of its accounts ({known}), give --population NAME: that attaches the "
        "data. If they are other people: discreet ledger open DATA --new-people --population NAME --epsilon ….",
    )
    return BudgetError(f"{name_of(data)} has no account in {where}.", remedy=attaching if accounts else opening)


def require_covered(connection: Connection, data: Dataset | str, account: Account, guarantee: Guarantee) -> None:
    """Refuse a promise about a part that is none about the whole, unless the part has become data of its own."""
    if isinstance(data, str):
        return
    unit = guarantee.unit
    require_covered_as_read(data, unit)
    # A cut that happened to leave nothing out is a cut all the same: to let it pass would tell so. Of a part that was
    # scanned it is not known whether it has the fingerprint of the whole.
    own = not left_whole(data) and not (isinstance(data, Parted) and any(map(origin_of, data.lineage)))
    if own and tables.accounts_of(connection, [data.fingerprint, *earlier_fingerprints(data)]):
        return
    if unit.covers(data.lineage):
        return
    if not Unit().covers(data.lineage):
        raise PrivacyError(
            f"{name_of(data)} was cut from the data of {account.name!r} by a rule that may look at everybody: one user "
            "more could change all of it, and a promise about the part would be none about the whole.",
            remedy=Remedy(
                "Cut user by user and say so, data.filter(…, independent=True); or, to treat the part as data of "
                "its own, ledger.attach(part, population).",
                cli="Use the whole data; or, to treat the part as data of its own, discreet ledger attach DATA "
                "POPULATION --ledger ….",
            ),
        )
    if unit.relation == "add-remove":
        raise PrivacyError(
            f"{name_of(data)} was cut from the data of {account.name!r} by a rule about all records of a user: one "
            f"record more could change the rest of that user's part, and the promise is about {unit}.",
            remedy=Remedy(
                'Cut record by record and say so, data.filter(…, independent="record"), or protect whole users.',
                cli="Use the whole data, or protect whole users with --unit user.",
            ),
        )
    raise PrivacyError(
        f"{name_of(data)} has those records of {account.name!r} that a rule picked: with another content one might not "
        f"have been picked, and the promise is about {unit}.",
        remedy="Take the whole; of a table, with the condition in the queries.",
    )


def whose_data(name: str, accounts: Iterable[Account]) -> LedgerError:
    """The error for data in a ledger that has accounts, where nobody said whether their people have one of them.

    A new account for people who have one would let them lose both limits.
    """
    known = ", ".join(account.name for account in accounts)
    first = next(iter(accounts)).name
    return LedgerError(
        f"this ledger has accounts ({known}), and it was not said whether {name} is about the people of one of them.",
        remedy=Remedy(
            f'If it is, ledger.attach(data, "{first}"); if these are other people, give population= with a new name.',
            cli=f"If it is, give --same-people-as {first}; if these are other people, give --new-people.",
        ),
    )


def name_of_account(data: Dataset | str) -> str:
    """What to call an account that was given no name; never after the fingerprint, which is as secret as the data."""
    named = data if isinstance(data, str) else data.name
    return named or f"dataset-{entropy.public_bytes(4).tobytes().hex()}"


def name_of(data: Dataset | str) -> str:
    return data if isinstance(data, str) else (data.name or "this dataset")
