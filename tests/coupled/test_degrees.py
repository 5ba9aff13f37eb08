"""Degrees worked out from the rows, against the plain formulas on all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.coupled import Coupling, degrees
from discreet.data import IntegerDomain, Table
from discreet.errors import UsageError


@pytest.fixture
def table() -> Table:
    """Sixty rows of four numbers and a category."""
    rng = np.random.default_rng(8)
    rows = {name: rng.integers(0, 10, 60) for name in "abcd"} | {"color": rng.choice(["red", "green", "blue"], 60)}
    domains = dict.fromkeys("abcd", IntegerDomain(0, 9)) | {"color": ["red", "green", "blue"]}
    return Table(rows, domains=domains)


def plain(dense, threshold: float):
    """The dense matrix cut at the threshold, with 1 on the diagonal."""
    cut = np.where(np.abs(dense) >= threshold, dense, 0.0)
    np.fill_diagonal(cut, 1.0)
    return cut


@pytest.mark.parametrize("block", [degrees.BLOCK, 60 * 7])
def test_pearson(table: Table, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(degrees, "BLOCK", block)
    values = np.stack([table.codes[name] for name in "abcd"], axis=1)
    coupling = Coupling.pearson(table, list("abcd"))
    assert coupling.degrees.toarray() == pytest.approx(plain(np.corrcoef(values), 0.6), abs=1e-12)
    assert coupling.degrees.min() < -0.6
    assert not coupling.public
    assert coupling.threshold == 0.6


def test_rows_without_variation_correlate_with_none() -> None:
    table = Table({"a": [1, 2, 3], "b": [1, 4, 6], "c": [1, 6, 9]}, domains=dict.fromkeys("abc", range(10)))
    assert Coupling.pearson(table).degrees.toarray().round(9)[0].tolist() == [1, 0, 0]
    with pytest.raises(UsageError, match="one value"):
        Coupling.pearson(table, ["a"])


def test_a_perfect_correlation_reaches_a_threshold_of_one() -> None:
    table = Table({"a": [1, 2], "b": [2, 4], "c": [3, 6]}, domains=dict.fromkeys("abc", range(10)))
    assert Coupling.pearson(table, threshold=1.0).largest == 2


def test_similarity(table: Table) -> None:
    def similarity(i: int, j: int) -> float:
        near = sum(1 - abs(int(table.codes[name][i]) - int(table.codes[name][j])) / 9 for name in "abcd")
        return (near + (table.codes["color"][i] == table.codes["color"][j])) / 5

    dense = np.array([[similarity(i, j) for j in range(60)] for i in range(60)])
    assert Coupling.similar(table, threshold=0.7).degrees.toarray() == pytest.approx(plain(dense, 0.7), abs=1e-9)
    only = Coupling.similar(table, ["color"], threshold=1.0)
    assert only.degrees.toarray().tolist() == Coupling.by_attribute(table, "color").degrees.toarray().tolist()


def test_divergence(table: Table) -> None:
    profile = np.stack([(table.codes[name] + 1) / 10 for name in "abcd"], axis=1)
    profile /= profile.sum(axis=1, keepdims=True)
    one = (profile[:, None] * np.log(profile[:, None] / profile[None])).sum(axis=2)
    found = Coupling.kl(table, list("abcd"), threshold=0.9).degrees.toarray()
    assert found == pytest.approx(plain(np.exp(-(one + one.T) / 2), 0.9), abs=1e-9)


def test_what_cannot_be_done_is_refused(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="threshold"):
        Coupling.pearson(table, threshold=0.0)
    monkeypatch.setattr(degrees, "MOST_PAIRS", 100)
    with pytest.raises(UsageError, match=r"100 pairs.*Raise the threshold"):
        Coupling.similar(table, threshold=0.1)
    monkeypatch.setattr(degrees, "MOST_COLUMNS", 20)
    with pytest.raises(UsageError, match="43 values"):
        Coupling.similar(table)
    monkeypatch.setattr(degrees, "MOST_ROWS", 59)
    with pytest.raises(UsageError, match=r"60 rows.*given graph"):
        Coupling.pearson(table)


def test_labels_that_are_not_in_order() -> None:
    labels = np.array([5, 3, 5, 3, 9])
    expected = np.equal.outer(labels, labels).astype(float)
    found = degrees.block_degrees(labels)
    assert found.toarray().tolist() == expected.tolist()
    assert found.has_sorted_indices
