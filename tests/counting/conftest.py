"""Small datasets that several counting methods are tried on, with and without noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.counting import ItemCounts
from discreet.privacy import draws


@pytest.fixture
def visits() -> dc.Interactions:
    """ann goes to the park six times and to the zoo, the inn and the spa once each; bob to the zoo; nobody home."""
    rows = [("ann", "park", "dry")] * 6 + [("ann", "zoo", "wet"), ("ann", "inn", "wet"), ("ann", "spa", "dry")]
    frame = pl.DataFrame([*rows, ("bob", "zoo", "dry")], schema=["user_id", "item_id", "day"], orient="row")
    catalog = ["home", "inn", "park", "spa", "zoo"]
    return dc.Interactions(frame, context=["day"], items=catalog, duplicates="keep", name="visits")


@pytest.fixture
def drawn_scales(monkeypatch: pytest.MonkeyPatch) -> list[Fraction]:
    """No noise at all, and a list of the scales (variances, deviations) that were asked for."""
    asked: list[Fraction] = []

    def nothing(shape, parameter):
        asked.append(parameter)
        return np.zeros(shape, dtype=np.int64)

    monkeypatch.setitem(draws.SAMPLERS, "laplace", nothing)
    monkeypatch.setitem(draws.SAMPLERS, "gaussian", nothing)
    monkeypatch.setitem(draws.SAMPLERS, "normal", nothing)
    return asked


@pytest.fixture
def counts() -> Callable[..., dc.Release]:
    """Makes released counts of the items a to e, as they would come out of a mechanism."""
    items = list("abcde")

    def made(**values: float) -> dc.Release:
        release = ItemCounts(epsilon=1, cap=1).release(dc.Interactions([("u", "a")], items=items))
        table = pl.DataFrame({"item_id": items, "count": [float(values.get(item, 0)) for item in items]})
        return replace(release, parts={"counts": table}, id="")

    return made
