"""Tagging releases made of sums: any split of the users, or of the triples, gives the sums of the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.models.registry import create, names, registered
from discreet.testing import require_sums_add_up

SETTINGS: dict[str, list[dict[str, Any]]] = {
    "ptr-j": [{"delta": "1e-6", "gram_share": "1/4"}, {}, {"unit": "assignment"}],
    "ptr-s": [{"delta": "1e-6", "users": 5, "topics": 3}, {"users": 5}],
    "ptr-t": [{"delta": "1e-6"}, {}],
    "private-topics": [
        *(
            {"delta": "1e-6", "topics": 3, "iterations": 3, "method": method}
            for method in ("gram", "expected", "gibbs")
        ),
        {"topics": 3, "iterations": 3, "method": "expected"},
    ],
}


def parts_of(data: dc.TagAssignments, split: str) -> list[dc.TagAssignments]:
    code = {
        "odd and even": data.user % 2,
        "one person and the rest": (data.user > 0).astype(int),
        "nobody and everybody": np.ones(len(data), dtype=int),
    }[split]
    return [data.filter(code == part, independent=True) for part in range(int(code.max()) + 1)]


def test_every_method_made_of_sums_is_here() -> None:
    assert {name for name in names("tags") if registered(name).reads == "sums"} == set(SETTINGS)


@pytest.mark.parametrize("split", ["odd and even", "one person and the rest", "nobody and everybody"])
@pytest.mark.parametrize(("name", "settings"), [(name, one) for name, every in SETTINGS.items() for one in every])
def test_sums_of_parts_add_up(name: str, settings: dict[str, Any], split: str) -> None:
    data = dc.synthetic.tags(users=30, resources=12, vocabulary=40, seed=3).with_vocabulary("observed")
    if name != "ptr-t":  # which resources occur is public there with the posts
        data = data.with_resources("observed")
    method = create(name, "tags", epsilon=8, **settings)
    assert require_sums_add_up(method, data, parts_of(data, split)) >= 2


def test_parts_may_be_triples_where_assignments_are_protected() -> None:
    data = dc.synthetic.tags(users=30, resources=12, vocabulary=40, seed=3)
    data = data.with_vocabulary("observed").with_resources("observed")
    half = np.arange(len(data)) % 2 == 0
    parts = [data.filter(half, independent=True), data.filter(~half, independent=True)]
    require_sums_add_up(create("ptr-j", epsilon=1, unit="assignment"), data, parts)
