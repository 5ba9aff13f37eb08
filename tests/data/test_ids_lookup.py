"""Integers are looked up through a table where they lie close together, and by hashing elsewhere: with one result."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import ids
from discreet.data.ids import IdMap

NEAR = st.integers(-40, 40)
FAR = st.sampled_from([-(2**63), -(2**40), 2**40, 2**63 - 1])


@given(known=st.lists(NEAR | FAR, max_size=30), asked=st.lists(NEAR | FAR, max_size=30), cut=st.integers(0, 30))
def test_table_and_hash_agree(known: list[int], asked: list[int], cut: int) -> None:
    column = pl.Series(known, dtype=pl.Int64)
    asked_column = pl.concat([pl.Series(asked[:cut], dtype=pl.Int64), pl.Series(asked[cut:], dtype=pl.Int64)])
    expected = sorted(set(known))
    codes = [expected.index(key) if key in expected else -1 for key in asked]
    for factor in (-(2**70), 4, 2**20):  # always hashing, as it is, and a table wherever memory allows
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ids, "TABLE_FACTOR", factor if not any(abs(key) > 100 for key in known) else min(factor, 4))
            map = IdMap(column)
            assert map.ids() == expected
            assert map.encode(asked_column, unknown="mark").tolist() == codes


def test_a_long_column_in_several_chunks() -> None:
    generator = np.random.default_rng(3)
    values = generator.integers(5, 2_000, 600_000)
    column = pl.concat([pl.Series(values[:250_001]), pl.Series(values[250_001:])])
    map = IdMap(column)
    assert map.ids() == np.unique(values).tolist()
    assert np.array_equal(map.series.to_numpy()[map.encode(column)], values)
