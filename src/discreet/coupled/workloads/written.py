"""Workloads written down: a list of questions in Python or JSON, with mistakes named by question, attribute, value."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.common.arrays import Mask
from discreet.common.plain_json import parse_json
from discreet.coupled.workloads.builders import RandomWorkload, all_marginals, domains_of, marginals, prefix_sums
from discreet.coupled.workloads.product import Choice, ProductWorkload, bin_ends
from discreet.coupled.workloads.workload import GRID, Workload
from discreet.data.domains import Domain, IntegerDomain
from discreet.errors import DataError, UsageError

__all__ = ["queries_from_json", "query_from"]

FORMS = 'a value, [low, high], {"in": [values]}, {"ranges": [[low, high], …]} or {"weights": [one a code]}'


def queries_from_json(about: Any, given: Any) -> Workload:
    """A workload from a JSON file, JSON text, or what they would hold.

    Parameters
    ----------
    about
        A ``Table`` or domains.
    given
        A path, text, a list of questions, or a mapping with one of "queries" (such a list), "random" (``queries``,
        ``seed``, ``kind``), "marginals" (lists of attributes), "all_marginals" (how many attributes each) and
        "prefix_sums" (an attribute). A question maps attributes to what it asks of them: a value, ``[low, high]`` with
        both ends inside, ``{"in": [values]}``, ``{"ranges": [[low, high], …]}`` or ``{"weights": [one a code]}``; an
        empty one counts all rows.

    Examples
    --------
    >>> survey = {"gender": ["F", "M"], "age": range(100)}
    >>> queries_from_json(survey, [{"age": [18, 30], "gender": "F"}, {"gender": {"in": ["F", "M"]}}]).labels()
    ['gender = F and age = 18 … 30', 'all rows']
    >>> queries_from_json(survey, '{"random": {"queries": 5, "seed": 1}}')
    RandomWorkload(5 queries, 200 cells)
    """
    domains = domains_of(about)
    read = _read(given)
    if isinstance(read, Sequence) and not isinstance(read, str):
        read = {"queries": read}
    if not isinstance(read, Mapping) or len(read) != 1 or next(iter(read)) not in _BUILDERS:
        raise UsageError(
            f"a workload is a list of queries or a mapping with one of {', '.join(_BUILDERS)}.",
            remedy='Write for example [{"age": [18, 30]}] or {"random": {"queries": 1000, "seed": 1}}.',
        )
    form, content = next(iter(read.items()))
    return _BUILDERS[form](domains, content)


def query_from(domains: Mapping[str, Domain], question: Any, place: int) -> dict[str, Choice]:
    """One question, attribute by attribute; ``place`` is its number in messages."""
    if not isinstance(question, Mapping):
        raise UsageError(
            f"query {place} is {question!r}, not a mapping of attributes.",
            remedy='Write for example {"age": [18, 30]}.',
        )
    choices = {}
    for name, asked in question.items():
        if name not in domains:
            raise UsageError(
                f"query {place}: there is no attribute {name!r}.",
                remedy=f"Choose from {', '.join(map(repr, domains))}.",
            )
        choice = _Asked(domains[name], f"query {place}, attribute {name!r}").choice(asked)
        if not choice.is_all(domains[name].size):
            choices[name] = choice
    return choices


class _Asked:
    """Reads what a question asks of one attribute."""

    def __init__(self, domain: Domain, where: str) -> None:
        self.domain, self.where = domain, where

    def choice(self, asked: Any) -> Choice:
        if isinstance(asked, list | tuple):
            return Choice.codes(self._range(asked))
        if not isinstance(asked, Mapping):
            return Choice.codes(self._value(asked))
        if len(asked) == 1:
            ((form, content),) = asked.items()
            if form == "in" and isinstance(content, list | tuple) and content:
                return Choice.codes(np.logical_or.reduce([self._value(value) for value in content]))
            if form == "ranges" and isinstance(content, list | tuple) and content:
                return Choice.codes(np.logical_or.reduce([self._range(ends) for ends in content]))
            if form == "weights":
                return self._weights(content)
        raise self._refusal(f"{asked!r} is not understood", f"Write {FORMS}.")

    def _value(self, value: Any) -> Mask:
        code = self._code(value)
        if isinstance(self.domain, IntegerDomain):
            self._check_whole_bins(int(value), int(value))
        return np.arange(self.domain.size) == code

    def _range(self, ends: Any) -> Mask:
        if not isinstance(self.domain, IntegerDomain):
            raise self._refusal(f"{ends!r}: categories have no ranges", 'Write {"in": [values]}.')
        if not isinstance(ends, list | tuple) or len(ends) != 2:
            raise self._refusal(f"{ends!r} is not a range", "Write [low, high], both inside.")
        first, last = self._code(ends[0]), self._code(ends[1])
        low, high = int(ends[0]), int(ends[1])
        if low > high:
            raise self._refusal(f"the range from {low} to {high} is empty", "Write the smaller end first.")
        self._check_whole_bins(low, high)
        codes = np.arange(self.domain.size)
        return (codes >= first) & (codes <= last)

    def _check_whole_bins(self, low: int, high: int) -> None:
        """Refuse what cuts through a bin: the table does not tell the numbers of one bin apart."""
        if self.domain.bins is None:  # type: ignore[union-attr]
            return
        ends = [bin_ends(label) for label in self.domain.labels()]
        if low not in {first for first, _ in ends} or high not in {last for _, last in ends}:
            asked = f"{low}" if low == high else f"{low} to {high}"
            raise self._refusal(
                f"{asked} cuts through a bin of {', '.join(self.domain.labels())}",
                "Begin and end where bins do, or declare narrower bins.",
            )

    def _weights(self, content: Any) -> Choice:
        values = np.asarray(content, dtype=np.float64) if isinstance(content, list | tuple) and content else None
        if values is None or values.shape != (self.domain.size,) or not np.all((values >= 0) & (values <= 1)):
            raise self._refusal(
                f"{content!r} are not {self.domain.size} weights from 0 to 1", "Give one a code, in their order."
            )
        steps = np.rint(values * GRID).astype(np.int64)
        if not steps.any():
            raise self._refusal("all weights are 0", "Give at least one code a weight.")
        return Choice.steps(steps)

    def _code(self, value: Any) -> int:
        try:
            code = -1 if value is None else int(self.domain.encode(pl.Series([value]))[0])
        except (TypeError, OverflowError, pl.exceptions.PolarsError):
            code = -1
        if code < 0:
            raise self._refusal(f"{value!r} is outside the declared domain {self.domain}", "Ask for a value of it.")
        return code

    def _refusal(self, what: str, remedy: str) -> UsageError:
        return UsageError(f"{self.where}: {what}.", remedy=remedy)


def _questions(domains: Mapping[str, Domain], content: Any) -> ProductWorkload:
    if not isinstance(content, list | tuple) or not content:
        raise UsageError("a workload needs at least one query.", remedy='Write for example [{"age": [18, 30]}].')
    return ProductWorkload(domains, [query_from(domains, question, place) for place, question in enumerate(content)])


def _random(domains: Mapping[str, Domain], content: Any) -> RandomWorkload:
    try:
        return RandomWorkload(domains, **content)
    except TypeError:
        raise UsageError(
            f"{content!r} does not describe random queries.", remedy='Write {"queries": 1000, "seed": 1}.'
        ) from None


_BUILDERS: dict[str, Callable[[Mapping[str, Domain], Any], Workload]] = {
    "queries": _questions,
    "random": _random,
    "marginals": marginals,
    "all_marginals": all_marginals,
    "prefix_sums": prefix_sums,
}


def _read(given: Any) -> Any:
    """What a file or a text holds; anything else is taken as it is."""
    if not isinstance(given, str | Path):
        return given
    is_text = isinstance(given, str) and given.lstrip()[:1] in ("[", "{")
    try:
        text = str(given) if is_text else Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise DataError(f"cannot be read: {error}.", file=given, remedy="Give a JSON file of queries.") from error
    try:
        return parse_json(text, finite=True)
    except json.JSONDecodeError as error:
        raise DataError(
            f"this is not JSON: {error.msg}.",
            file=None if is_text else given,
            line=error.lineno,
            remedy='Write for example [{"age": [18, 30], "gender": "F"}].',
        ) from None
    except ValueError as error:
        raise DataError(f"these queries cannot be read: {error}.", file=None if is_text else given) from None
