"""The durable book of what each dataset has spent: estimate, reserve, run, settle."""

from discreet.privacy.ledger.accounts import Account, Amount, Estimate
from discreet.privacy.ledger.book import Dataset, Ledger, Spend
from discreet.privacy.ledger.statements import Entry, Statement

__all__ = ["Account", "Amount", "Dataset", "Entry", "Estimate", "Ledger", "Spend", "Statement"]
