"""Which data an account stands for: fingerprints, what data were cut from, and which promises hold for a part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from sqlalchemy.engine import Connection

from discreet.data.fingerprints import left_whole, origin_of
from discreet.data.interactions import Interactions
from discreet.data.parted import fingerprint_of_people
from discreet.errors import BudgetError, LedgerError, PrivacyError, Remedy, UsageError
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
    "earlier_fingerprints",
    "family_of",
    "name_of",
    "name_of_account",
    "require_covered",
    "whose_data",
    "without_account",
]


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
    if not isinstance(data, Interactions):
        return ()
    hashes = dict.fromkeys((data.hash_by_person, data.hash_by_person_without_context))
    return tuple(fingerprint_of_people(*one) for one in hashes)


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
    # A cut that happened to leave nothing out is a cut all the same: to let it pass would tell so.
    if not left_whole(data) and tables.accounts_of(connection, [data.fingerprint, *earlier_fingerprints(data)]):
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
