"""Statistics of counting methods are sums over users: any split of them gives the sums of all, to the last bit."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.counting import DFT, GS, HPA, LPA, SRA, HybridCounts, ItemCounts, ItemPairs, TopItems
from discreet.counting.caps import CapChoice

METHODS: dict[str, Any] = {
    "weighted": ItemCounts(1, 4),
    "weighted, delta": ItemCounts(1, 4, "1e-6"),
    "hybrid": HybridCounts(1, 4),
    "hybrid, delta": HybridCounts(1, 4, delta="1e-6"),
    "sra": SRA(1, 3),
    "hpa": HPA(1, 3),
    "lpa": LPA(1, 3),
    "dft": DFT(1, 3, coefficients=4),
    "gs": GS(1, 3, width=5),
    "pairs": ItemPairs(1, 3, head=6),
    "pairs, delta": ItemPairs(1, 3, head=6, delta="1e-6"),
    "top": TopItems(1, 4, count_share="1/2", count_cap=2),
    "cap": CapChoice(1, 1, most=64),
    "cap by rank": CapChoice(1, 1, method="rank", most=64),
}


@pytest.mark.parametrize("by_day", [False, True])
@pytest.mark.parametrize("name", METHODS)
def test_any_split_of_the_users_gives_the_sums_of_all(name: str, by_day: bool) -> None:
    method, data = METHODS[name], dc.synthetic.checkins(users=40, items=15, seed=3)
    contexts = {"contexts": ["weekday"]} if by_day else {}
    if by_day and name.startswith(("pairs", "cap")):
        pytest.skip("it has no contexts")
    plan = method.plan(data, **contexts)
    groups = np.random.default_rng(1).integers(0, 3, data.n_users)
    split = [data.filter((groups == group)[data.user]) for group in range(3)]
    whole, parts = method._prepare(data, plan), [method._prepare(part, plan) for part in split]
    rounds, answer = method._rounds(plan), None
    while True:
        try:
            asked = rounds.send(answer)
        except StopIteration:
            return
        several = isinstance(asked.mechanism, tuple)
        together = asked.statistics(whole) if several else (asked.statistics(whole),)
        apart = [asked.statistics(part) if several else (asked.statistics(part),) for part in parts]
        for expected, sums in zip(together, zip(*apart, strict=True), strict=True):
            found = reduce(add, sums)
            arrays = [(one.values,) if hasattr(one, "values") else one.matrices for one in (expected, found)]
            for one, other in zip(*arrays, strict=True):
                np.testing.assert_array_equal(one, other)
        answer = asked.released([whole], plan.unit)
