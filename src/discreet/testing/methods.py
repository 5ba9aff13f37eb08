"""``check_method``: everything that a method or recommender must do to be trusted with records, in one call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.errors import DiscreetError
from discreet.models.recommender import Recommender
from discreet.models.registry import settings_of, with_settings
from discreet.privacy.method import Method
from discreet.testing.method_checks import DataKind, MethodChecks
from discreet.testing.neighboring import NeighboringPair

__all__ = ["CheckedMethod", "MethodCheckError", "check_method"]


class MethodCheckError(AssertionError):
    """What a method does that it must not do, or does not do that it must: all of it, one paragraph each."""


@dataclass(frozen=True)
class CheckedMethod:
    """What was checked, where nothing was wrong: names of checks, each with a line on what was seen."""

    name: str
    checks: Mapping[str, str]

    def __str__(self) -> str:
        width = max(map(len, self.checks), default=0)
        lines = [f"  {check:<{width}}  {seen}".rstrip() for check, seen in self.checks.items()]
        return "\n".join([f"{self.name}: {len(self.checks)} checks passed", *lines])


def check_method(
    method: Any,
    *,
    data: DataKind = "interactions",
    pairs: Iterable[NeighboringPair] | None = None,
    asked: Sequence[Any] = (),
    answers_everything: bool = True,
    **settings: Any,
) -> CheckedMethod:
    """Put a method or recommender of your own through what those of discreet are put through.

    Parameters
    ----------
    method
        A class (a ``Method``, a ``ReleasedModel`` or another ``Recommender``), or one with its settings.
    data
        What it is made for; decides on which small datasets it is run.
    pairs
        Neighboring datasets of your own to run it on, in place of the built-in ones.
    asked
        What else ``plan`` of a method takes, such as queries.
    answers_everything
        Whether a recommender scores every item for everybody.
    settings
        Of a class; epsilon is 1 where it is required and not given.

    Returns
    -------
    CheckedMethod
        What was checked; prints as a list.

    Raises
    ------
    MethodCheckError
        With everything that is wrong. A passed check is no proof: it shows that the code does what its guarantee
        says on these datasets. Write the proof, too.

    Notes
    -----
    Checked are: settings survive JSON; the plan is the same for the same public values, whatever the records are; sums
    of parts add up to the sums of the whole; neighboring datasets differ in each sum by no more than its bounds; on
    each pair of neighboring datasets, with the same randomness, nothing differs but what is charged, and the charge
    comes first (``coupled_run``); nothing is drawn where the ledger refuses; what is saved loads. A recommender also
    goes through ``RecommenderConformance``. One without a guarantee is checked as a recommender alone.

    Examples
    --------
    >>> from discreet.counting import ItemCounts
    >>> print(check_method(ItemCounts(epsilon=1, cap=2)))
    weighted: 7 checks passed
      settings        {'epsilon': '1', 'cap': 2, 'delta': '0', 'item_share': '1/2'}
      plan            ε = 1 for the whole history of one user, present or absent
      sums of parts   1 round
      bounds          32 pairs of datasets
      coupled run     32 pairs of datasets, at most ε = 1, ρ = 0.5 of ε = 1
      refused charge  nothing was drawn
      saving          a release of 1 part
    """
    made = _made(method, settings)
    checks = MethodChecks(made, data, pairs, tuple(asked), answers_everything)
    found: dict[str, str] = {}
    wrong: list[str] = []
    for name, check in checks.all():
        try:
            found[name] = check()
        except (AssertionError, DiscreetError) as error:
            wrong.append(f"{name}: {error}")
        except Exception as error:
            wrong.append(f"{name}: {type(error).__name__}: {error}")
    if wrong:
        listed = "\n\n".join(wrong)
        raise MethodCheckError(f"{checks.name} fails {len(wrong)} of {len(found) + len(wrong)} checks.\n\n{listed}")
    return CheckedMethod(checks.name, found)


def _made(method: Any, settings: Mapping[str, Any]) -> Any:
    kind = method if isinstance(method, type) else type(method)
    if not issubclass(kind, Method | Recommender):
        raise MethodCheckError(
            f"{kind.__name__} is neither a Method nor a Recommender. Derive it from one of "
            "discreet.models.ReleasedModel, discreet.models.Recommender and discreet.privacy.method.Method."
        )
    if not isinstance(method, type):
        assert not settings, "settings are for a class; this one has its settings already"
        return method
    usual = {"epsilon": 1} if settings_of(method).get("epsilon") else {}
    return with_settings(method, {**usual, **settings})
