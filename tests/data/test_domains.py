"""Declared domains: codes of what is inside, and nothing for what is not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import CategoricalDomain, IntegerDomain
from discreet.data.domains import as_domain
from discreet.errors import UsageError


@pytest.mark.parametrize(
    ("values", "column", "codes"),
    [
        (("b", "a"), pl.Series(["a", "b", "c"]), [1, 0, -1]),
        ((3, 1), pl.Series([1, 3, 2]), [1, 0, -1]),
        ((False, True), pl.Series([True, False]), [1, 0]),
        (("b", "a"), pl.Series(["a", "b"], dtype=pl.Categorical), [1, 0]),
        ((1.5, "x", ("t", 1)), pl.Series([("t", 1), 1.5, "y"], dtype=pl.Object), [2, 0, -1]),
        (("a",), pl.Series([], dtype=pl.String), []),
        (("a",), pl.Series([1, 2]), [-1, -1]),
    ],
)
def test_categories_keep_their_order(values, column, codes):
    domain = CategoricalDomain(values)
    assert domain.size == len(values)
    assert domain.encode(column).tolist() == codes
    assert domain.encode(column).dtype == np.int32


def test_categories_that_cannot_be():
    for wrong in ((), "abc", 5, ("a", "a"), ([1],)):
        with pytest.raises(UsageError):
            CategoricalDomain(wrong)  # type: ignore[arg-type]
    assert CategoricalDomain(["a", "b"]) == CategoricalDomain(("a", "b"))  # type: ignore[arg-type]


@given(st.integers(-50, 50), st.integers(0, 60), st.lists(st.integers(-200, 200)))
def test_every_number_has_its_code(low, width, numbers):
    domain = IntegerDomain(low, low + width)
    codes = domain.encode(pl.Series(numbers, dtype=pl.Int64)).tolist()
    assert codes == [number - low if low <= number <= low + width else -1 for number in numbers]
    assert domain.size == width + 1 == len(domain.labels())


@given(st.integers(-50, 50), st.integers(0, 60), st.data())
def test_bins_cut_up_the_whole_domain(low, width, draw):
    bins = draw.draw(st.integers(1, width + 1))
    domain = IntegerDomain(low, low + width, bins=bins)
    codes = domain.encode(pl.Series(range(low, low + width + 1), dtype=pl.Int64))
    sizes = np.bincount(codes)
    assert codes.tolist() == sorted(codes.tolist())
    assert domain.size == bins == sizes.size == len(domain.labels())
    assert sizes.max() - sizes.min() <= 1
    assert domain.encode(pl.Series([low - 1, low + width + 1])).tolist() == [-1, -1]


def test_bins_that_begin_where_told():
    domain = IntegerDomain(0, 99, bins=(0, 18, 65))
    assert domain.encode(pl.Series([0, 17, 18, 64, 65, 99])).tolist() == [0, 0, 1, 1, 2, 2]
    assert IntegerDomain(1, 3, bins=(1, 2, 3)).labels() == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("column", "codes"),
    [
        (pl.Series([1.0, 1.5, float("nan"), float("inf"), 1e300, -9.3e18]), [1, -1, -1, -1, -1, -1]),
        (pl.Series(["1", "2"]), [-1, -1]),
        (pl.Series([True, False]), [1, 0]),
        (pl.Series([1, 2**64 - 1], dtype=pl.UInt64), [1, -1]),
        (pl.Series([3, None]), [3, -1]),
    ],
)
def test_what_is_no_whole_number_has_no_code(column, codes):
    assert IntegerDomain(0, 5).encode(column).tolist() == codes
    assert IntegerDomain(0, 5, bins=6).encode(column).tolist() == codes


@pytest.mark.parametrize(
    ("low", "high", "bins"),
    [
        *((5, 1, None), (0.5, 2, None), (0, 2**40, None), (0, 2**64, 3), (True, 5, None)),
        *((0, 9, 0), (0, 9, 11), (0, 9, ()), (0, 9, (1, 5)), (0, 9, (0, 5, 5)), (0, 9, (0, 10)), (0, 9, 2.5)),
    ],
)
def test_ranges_that_cannot_be(low, high, bins):
    with pytest.raises(UsageError):
        IntegerDomain(low, high, bins=bins)


def test_a_wide_range_needs_bins():
    domain = IntegerDomain(0, 2**40, bins=4)
    assert domain.encode(pl.Series([0, 2**40])).tolist() == [0, 3]


def test_shorthand():
    assert (
        as_domain(["a", "b"])
        == as_domain(("a", "b"))
        == as_domain(np.array(["a", "b"]))
        == CategoricalDomain(("a", "b"))
    )
    assert as_domain(range(3, 6)) == IntegerDomain(3, 5)
    assert as_domain(range(0, 10, 5)) == CategoricalDomain((0, 5))
    domain = IntegerDomain(0, 1)
    assert as_domain(domain) is domain
    for wrong in ("abc", 5, None, {"a": 1}, range(0)):
        with pytest.raises(UsageError):
            as_domain(wrong)


def test_they_print_what_they_are():
    assert str(CategoricalDomain(("a", "b", "c", "d", "e"))) == "{'a', 'b', 'c', 'd', …} (5 values)"
    assert str(IntegerDomain(0, 99)) == "0 to 99"
