"""The exception tree: every failure that a caller can do something about.

A message says what was wrong, where, and what to do; the parts are kept as attributes so that programs can read
them too. Anything else that escapes from discreet is a defect of discreet.
"""

from __future__ import annotations

from pathlib import Path

__all__ = [
    "BudgetError",
    "BudgetWarning",
    "DataError",
    "DiscreetError",
    "DiscreetWarning",
    "DuplicatesWarning",
    "EvaluationError",
    "LedgerError",
    "MissingExtraError",
    "OverLimitError",
    "PrivacyError",
    "ReleaseError",
    "Remedy",
    "UnknownItemsWarning",
    "UsageError",
]


class Remedy(str):
    """What the caller can do about an error: the text for Python, and the same for the command line.

    Parameters
    ----------
    python
        The text for a caller in Python, which is what the object is as text.
    cli
        The text for somebody who typed a command; the same unless given.

    Examples
    --------
    >>> remedy = Remedy('Declare it: Interactions(…, scale="1:5").', cli="Declare it with --scale 1:5.")
    >>> str(DiscreetError("ratings need a public scale.", remedy=remedy))
    'ratings need a public scale. Declare it: Interactions(…, scale="1:5").'
    >>> DiscreetError("ratings need a public scale.", remedy=remedy).cli_message
    'ratings need a public scale. Declare it with --scale 1:5.'
    """

    cli: str

    def __new__(cls, python: str = "", *, cli: str | None = None) -> Remedy:
        remedy = super().__new__(cls, python)
        remedy.cli = getattr(python, "cli", python) if cli is None else cli
        return remedy


class DiscreetError(Exception):
    """Root of the tree.

    Parameters
    ----------
    what
        What was wrong, in one sentence.
    remedy
        What the caller can do about it: a text, or a :class:`Remedy` where the command line needs other words.

    Attributes
    ----------
    cli_message
        The message for somebody who typed a command; ``str()`` gives the one for Python.
    """

    def __init__(self, what: str, *, remedy: str = "") -> None:
        self.what = what
        self.remedy = Remedy(remedy)
        self.cli_message = f"{what} {self.remedy.cli}".strip()
        super().__init__(f"{what} {remedy}".strip())


class UsageError(DiscreetError):
    """An argument is of the wrong kind or outside its range."""


class DataError(DiscreetError):
    """Records that cannot be read, or that are not what they were declared to be.

    Parameters
    ----------
    file, line, row, column, value
        Where the error is, as far as it is known: lines count from 1 as in an editor, rows of a table from 0.
    """

    def __init__(
        self,
        what: str,
        *,
        remedy: str = "",
        file: str | Path | None = None,
        line: int | None = None,
        row: int | None = None,
        column: str | None = None,
        value: object = None,
    ) -> None:
        self.file = None if file is None else str(file)
        self.line = line
        self.row = row
        self.column = column
        self.value = value
        place = self._place()
        super().__init__(f"{place}: {what}" if place else what, remedy=remedy)
        self.what = what

    def _place(self) -> str:
        parts = [] if self.file is None else [self.file]
        if self.line is not None:
            parts.append(f"line {self.line}")
        if self.row is not None:
            parts.append(f"row {self.row}")
        if self.column is not None:
            parts.append(f"column {self.column!r}")
        if self.value is not None:
            parts.append(f"value {_short(self.value)}")
        return ", ".join(parts)


class PrivacyError(DiscreetError):
    """What was asked for would not be private, or not as private as it says."""


class BudgetError(PrivacyError):
    """The ledger refused: nothing was spent, nothing was drawn."""


class OverLimitError(BudgetError):
    """A request does not fit into what is left of the limit; nothing was spent."""


class LedgerError(DiscreetError):
    """The ledger itself cannot be read or written, or has lost something."""


class ReleaseError(DiscreetError):
    """A saved release is missing, damaged, altered, or from a newer major version."""


class EvaluationError(DiscreetError):
    """A metric or a protocol was given something it is not defined for."""


class MissingExtraError(DiscreetError):
    """An optional part is not installed.

    Parameters
    ----------
    package
        The module that could not be imported.
    extra
        The extra of discreet that brings it.
    """

    def __init__(self, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(f"{package} is not installed.", remedy=f"Install it with: pip install 'discreet[{extra}]'.")


class DiscreetWarning(UserWarning):
    """Something worth a second look that does not stop the work."""


class BudgetWarning(DiscreetWarning):
    """A limit of the ledger is nearly used up, or a run was charged a second time."""


class DuplicatesWarning(DiscreetWarning):
    """Rows of a file were merged or left out because they repeat others. For the owner of the records only."""


class UnknownItemsWarning(DiscreetWarning):
    """Items of a history that a model does not know were ignored."""


def _short(value: object, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
