"""Whether the statistics of a method are sums over people: the sums of any parts add up to the sums of the whole."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any
from unittest import mock

import numpy as np

from discreet.privacy import entropy
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.gram import BoundedGram
from discreet.privacy.method import Method, Plan

__all__ = ["require_sums_add_up"]


def require_sums_add_up(method: Method, data: Any, parts: Sequence[Any], plan: Plan | None = None) -> int:
    """Run a method and compare, in each round, its sums over the whole with the total of its sums over the parts.

    Parameters
    ----------
    method
        One whose ``reads`` is "sums".
    data
        All records.
    parts
        The same records in disjoint groups of units.
    plan
        What ``method.plan`` gave, where it takes more than the data.

    Returns
    -------
    int
        How many rounds there were.

    Raises
    ------
    AssertionError
        Where a sum or a bound differs, if only in the last bit.
    """
    plan = method.plan(data) if plan is None else plan
    with mock.patch.object(entropy, "bounding_key", return_value=(1, 2)):  # everybody's records are chosen alike
        whole, split = method._prepare(data, plan), [method._prepare(part, plan) for part in parts]
        rounds, answer, count = method._rounds(plan), None, 0
        while True:
            try:
                asked = rounds.send(answer)
            except StopIteration:
                return count
            count += 1
            several = isinstance(asked.mechanism, tuple)
            expected = asked.statistics(whole) if several else (asked.statistics(whole),)
            found = [asked.statistics(part) if several else (asked.statistics(part),) for part in split]
            for one, pieces in zip(expected, zip(*found, strict=True), strict=True):
                _require_equal(one, reduce(add, pieces), f"round {count} of {method.name}")
            answer = asked.released([whole], plan.unit)


def _require_equal(one: BoundedSums | BoundedGram, other: BoundedSums | BoundedGram, where: str) -> None:
    for name, value in vars(one).items():
        theirs = getattr(other, name)
        arrays = value if isinstance(value, tuple) and value and isinstance(value[0], np.ndarray) else (value,)
        same = all(
            np.array_equal(mine, its)
            for mine, its in zip(arrays, theirs if arrays is value else (theirs,), strict=True)
        )
        assert same, f"{where}: {name} of the whole is not the total of the parts"
