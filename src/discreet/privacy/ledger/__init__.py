"""The ledger: a durable record of what each dataset has spent. Estimate, reserve, run, settle."""

from discreet.privacy.ledger.accounts import Account, Amount
from discreet.privacy.ledger.balances import Estimate
from discreet.privacy.ledger.copies import Forgotten, restore_ledger
from discreet.privacy.ledger.families import Dataset
from discreet.privacy.ledger.ledger import Ledger
from discreet.privacy.ledger.statements import Entry, Spend, Statement

__all__ = [
    "Account",
    "Amount",
    "Dataset",
    "Entry",
    "Estimate",
    "Forgotten",
    "Ledger",
    "Spend",
    "Statement",
    "restore_ledger",
]
