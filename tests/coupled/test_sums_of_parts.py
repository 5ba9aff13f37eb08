"""Statistics of query methods are sums over rows: any split of the rows gives the sums of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from discreet.coupled import Coupling, QueryMethod, all_marginals, prefix_sums, random_queries
from discreet.data import Table, synthetic
from discreet.models.registry import create, names, registered
from discreet.testing.parts import require_sums_add_up

SUMS = [name for name in names("answers") if registered(name).reads == "sums"]


def test_the_others_say_how_they_read_records() -> None:
    others = {name: registered(name).reads for name in names("answers") if name not in SUMS}
    assert others == {"pmw": "answers", "lm-cs": "records", "cim": "records"}


def split(table: Table, parts: int) -> list[Table]:
    """The rows in disjoint parts of uneven sizes, one of them empty."""
    owner = np.minimum(np.random.default_rng(parts).geometric(0.3, len(table)) - 1, parts - 1)
    owner[owner == 1] = 0
    return [table.filter(owner == part) for part in range(parts)]


@pytest.mark.parametrize("delta", [0, "1e-6"])
@pytest.mark.parametrize("epsilon", ["1/20", "1/2", 4])
@pytest.mark.parametrize("build", [all_marginals, prefix_sums, random_queries])
@pytest.mark.parametrize("name", SUMS)
def test_any_split_gives_the_sums_of_the_whole(
    name: str, build: Any, epsilon: Any, delta: Any, fixed_bits: object
) -> None:
    table = synthetic.survey(households=60, seed=3)
    workload = {
        all_marginals: lambda: all_marginals(table, 1),
        prefix_sums: lambda: prefix_sums(table, "age"),
        random_queries: lambda: random_queries(table, 20, seed=2),
    }[build]()
    if delta and name == "lm-gs":
        pytest.skip("it is pure")
    method: QueryMethod = create(name, "answers", epsilon=epsilon, **({"delta": delta} if delta else {}))
    plan = method.plan(table, workload, coupling=Coupling.by_group(table))
    assert require_sums_add_up(method, table, split(table, 4), plan) >= 1
