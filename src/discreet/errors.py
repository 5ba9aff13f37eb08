"""The exception tree: every failure that a caller can do something about.

A message says what was wrong, where, and what to do; the parts are kept as attributes so that programs can read
them too. Anything else that escapes from discreet is a defect of discreet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "BudgetError",
    "BudgetWarning",
    "DataError",
    "DiscreetError",
    "DiscreetWarning",
    "DuplicatesWarning",
    "EvaluationError",
    "Example",
    "LedgerError",
    "MissingExtraError",
    "MissingWarning",
    "OverLimitError",
    "PrivacyError",
    "Problem",
    "RecordsError",
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

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors travel between processes as they are: their arguments are not those of the constructor."""
        return _restored, (type(self), self.args, vars(self))


def _restored(kind: type[DiscreetError], args: tuple[Any, ...], state: dict[str, Any]) -> DiscreetError:
    error = kind.__new__(kind, *args)
    vars(error).update(state)
    return error


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

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong, by kind."""
        example = Example(self.file, self.line, self.row, self.value)
        return (Problem(self.what, self.column, 1, (example,), self.remedy),)

    def report(self) -> dict[str, Any]:
        """What is wrong as plain values, for JSON. It quotes records: for their owner only."""
        return {"message": self.what, "rows": None, "problems": [problem.to_json() for problem in self.problems]}

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


@dataclass(frozen=True)
class Example:
    """One place where a problem occurs: lines count from 1, rows of a table from 0."""

    file: str | None
    line: int | None
    row: int | None
    value: object = None

    @property
    def _order(self) -> tuple[int, str, int]:
        place = self.line if self.line is not None else self.row
        return (place is None, self.file or "", place or 0)

    def _words(self, file: str | None) -> str:
        """The place and the value; the file only where it is another one."""
        other = "" if self.file in (None, file) else f"{self.file} "
        place = f"line {self.line}" if self.line is not None else f"row {self.row}" if self.row is not None else ""
        return f"{other}{place}{'' if self.value is None else f' ({_short(self.value)})'}".strip()


@dataclass(frozen=True)
class Problem:
    """One kind of problem in records.

    Attributes
    ----------
    what
        What is wrong, in one sentence.
    column
        The column, as it is called in the file or table; None where the whole row is concerned.
    count
        How many rows have it.
    examples
        The first of them.
    remedy
        What the caller can do about it.
    """

    what: str
    column: str | None
    count: int
    examples: tuple[Example, ...]
    remedy: Remedy

    def to_json(self) -> dict[str, Any]:
        """The same as plain values."""
        examples = [
            {"file": e.file, "line": e.line, "row": e.row, "value": None if e.value is None else _short(e.value)}
            for e in self.examples
        ]
        return {"what": self.what, "column": self.column, "rows": self.count, "examples": examples,
                "remedy": str(self.remedy)}  # fmt: skip

    def _where(self, file: str | None) -> str:
        """The places of the examples, shortened to one line."""
        places = [words for example in self.examples if (words := example._words(file))]
        return ", ".join(places) + ("" if not places else ", …" if self.count > len(places) else ".")

    def _words(self, file: str | None, remedy: str) -> str:
        rows = "1 row" if self.count == 1 else f"{self.count:,} rows"
        column = "" if self.column is None else f", column {self.column!r}"
        where = self._where(file)
        sentence = f" {where[0].upper()}{where[1:]}" if where else ""
        return f"- {rows}{column}: {self.what}{sentence} {remedy}".rstrip()


class RecordsError(DataError):
    """All problems of the records that were read, each kind with its count and the first examples.

    ``file``, ``line``, ``row``, ``column``, ``value``, ``what`` and ``remedy`` are those of the first problem.

    Parameters
    ----------
    problems
        The kinds of problems. The first is the one that occurs first.
    rows
        How many rows have a problem.

    Examples
    --------
    >>> blank = Problem("the field is blank.", "customer", 9, (Example("shop.csv", 3, None),), Remedy("Fill it."))
    >>> wrong = Problem("this is not a number.", "stars", 1, (Example("shop.csv", 7, None, "five"),), Remedy())
    >>> print(RecordsError([wrong, blank], rows=10))
    shop.csv: 10 rows have problems; nothing was read.
    - 9 rows, column 'customer': the field is blank. Line 3, … Fill it.
    - 1 row, column 'stars': this is not a number. Line 7 ('five').
    """

    def __init__(self, problems: Sequence[Problem], *, rows: int) -> None:
        self._problems = tuple(sorted(problems, key=lambda problem: problem.examples[0]._order))
        self.rows = rows
        first = self._problems[0]
        at = first.examples[0]
        place: dict[str, Any] = {"file": at.file, "line": at.line, "row": at.row, "value": at.value}
        super().__init__(first.what, remedy=first.remedy, column=first.column, **place)
        if len(self._problems) > 1:
            messages = [self._several(cli=cli) for cli in (False, True)]
        elif first.count > 1:
            more = f"There are {first.count:,} such rows: {first._where(at.file)}"
            messages = [f"{self} {more}", f"{self.cli_message} {more}"]
        else:
            return
        self.args, self.cli_message = (messages[0],), messages[1]

    @property
    def problems(self) -> tuple[Problem, ...]:
        return self._problems

    def report(self) -> dict[str, Any]:
        return super().report() | {"rows": self.rows}

    def _several(self, *, cli: bool) -> str:
        rows = "1 row has" if self.rows == 1 else f"{self.rows:,} rows have"
        head = f"{self.file}: {rows}" if self.file else rows
        lines = [p._words(self.file, p.remedy.cli if cli else str(p.remedy)) for p in self._problems]
        return "\n".join([f"{head} problems; nothing was read.", *lines])


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
    """Rows repeat others and were merged or left out, or users are spelled alike. For the owner of the records only."""


class MissingWarning(DiscreetWarning):
    """Rows with missing values were left out, as was asked for. For the owner of the records only."""


class UnknownItemsWarning(DiscreetWarning):
    """Items of a history that a model does not know were ignored."""


def _short(value: object, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
