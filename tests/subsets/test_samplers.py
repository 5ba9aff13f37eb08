"""KSubset and its siblings: ranges, grids, guarantees, and laws of what is drawn."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import UsageError
from discreet.privacy.guarantees import Standing
from discreet.privacy.losses import Concentrated, Pure
from discreet.subsets import GumbelTopK, KSubset, PermuteAndFlipTopK, inclusion_probabilities
from discreet.subsets.samplers import BITS, RowSampler, sampler_class

KINDS = [KSubset, GumbelTopK, PermuteAndFlipTopK]


def test_scores_on_the_grid() -> None:
    rows = np.array([[1.0, 5.0, 3.0, np.nan, -np.inf, np.inf, 0.0, 9.0]])
    top, middle = 2**BITS, 2 ** (BITS - 1)
    expected = [0, top, middle, 0, 0, top, 0, top]
    assert KSubset(k=1, low=1, high=5, epsilon=1).on_grid(rows).tolist() == [expected]


@pytest.mark.parametrize("kind", KINDS)
def test_no_score_changes_by_more_than_the_range(kind: type[RowSampler]) -> None:
    sampler = kind(k=1, low="-1/3", high="0.1", epsilon=1)
    rows = np.random.default_rng(1).normal(0, 1, (50, 50))
    whole = sampler.on_grid(rows)
    assert whole.min() == 0
    assert whole.max() == 2**BITS


@pytest.mark.parametrize("kind", KINDS)
def test_one_row_and_many(kind: type[RowSampler]) -> None:
    sampler = kind(k=3, low=0, high=1, epsilon=4)
    rows = np.random.default_rng(1).random((5, 20))
    assert sampler.choose(rows[0]).shape == (3,)
    many = sampler.choose(rows)
    assert many.shape == (5, 3)
    assert all(len(set(row)) == 3 for row in many.tolist())


def test_sets_follow_their_law(fixed_bits) -> None:
    row, draws = np.array([1.0, 4.5, 2.0, 3.0, 5.0]), 8_000
    drawn = Counter(
        map(tuple, KSubset(k=2, low=1, high=5, epsilon=3, change="entry").choose(np.tile(row, (draws, 1))).tolist())
    )
    sets = list(itertools.combinations(range(5), 2))
    weights = np.array([math.exp(3 / 4 * row[list(s)].sum()) for s in sets])
    assert chisquare([drawn[s] for s in sets], weights / weights.sum() * draws).pvalue > 1e-4


def test_gumbel_lists_follow_their_law(fixed_bits) -> None:
    row, draws = np.array([0.0, 0.25, 1.0]), 4_000
    sampler = GumbelTopK(k=2, low=0, high=1, epsilon=8)  # slope 2
    drawn = Counter(map(tuple, sampler.choose(np.tile(row, (draws, 1))).tolist()))
    lists = list(itertools.permutations(range(3), 2))
    heavy = np.exp(2 * row)
    expected = [heavy[a] / heavy.sum() * heavy[b] / (heavy.sum() - heavy[a]) for a, b in lists]
    assert chisquare([drawn[pair] for pair in lists], np.array(expected) * draws).pvalue > 1e-4


def test_rounds_of_permute_and_flip_follow_their_law(fixed_bits) -> None:
    """Two candidates are left in round two: the better one with 1 − p/2, p = e^(−slope·gap)."""
    row, draws = np.array([0.0, 0.5, 1.0]), 4_000
    sampler = PermuteAndFlipTopK(k=2, low=0, high=1, epsilon=8)  # slope 2
    drawn = Counter(map(tuple, sampler.choose(np.tile(row, (draws, 1))).tolist()))
    then = {pair: count for pair, count in drawn.items() if pair[0] == 2}
    share = 1 - math.exp(-1) / 2
    total = sum(then.values())
    assert chisquare([then[2, 1], then[2, 0]], [share * total, (1 - share) * total]).pvalue > 1e-4


def test_guarantees() -> None:
    row = KSubset(k=10, low=1, high=5, epsilon="1/2")
    assert row.guarantee(1000).loss == Pure(Fraction(1, 2))
    assert row.guarantee(1000).unit.code == "user/replace"
    assert row.guarantee(1000).standing is Standing.PROVED
    entry = KSubset(k=10, low=1, high=5, epsilon="1/2", change="entry")
    assert entry.guarantee(1000).unit.code == "score/value"
    assert "at most one score" in entry.guarantee(1000).describe()
    several = GumbelTopK(k=10, low=1, high=5, rho="1/2", change=3)
    loss = several.guarantee(1000).loss
    assert isinstance(loss, Concentrated)
    assert loss.rho <= Fraction(1, 2)
    assert "Theorem 3" in several.guarantee(1000).basis


def test_sets_gain_more_than_lists_where_one_score_changes() -> None:
    """The same budget, 10 of 1,000: a set has ten times the slope. By inclusion, which a set of that slope has."""
    scores = np.linspace(1, 5, 1000)
    uniform, best = 10 * scores.mean(), scores[-10:].sum()
    gains = []
    for kind in (KSubset, GumbelTopK):
        slope = float(kind(k=10, low=1, high=5, epsilon=16, change="entry").slope(1000))
        chances = inclusion_probabilities(slope / 4 * scores[None, :], 10)[0]
        gains.append((chances @ scores - uniform) / (best - uniform))
    assert gains[0] > 0.85
    assert gains[1] < 0.3


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_settings(kind: type[RowSampler]) -> None:
    for wrong in (
        {"k": 0}, {"k": True}, {"low": 5}, {"epsilon": 0}, {"epsilon": None}, {"rho": 1}, {"change": "all"},
    ):  # fmt: skip
        with pytest.raises(UsageError):
            kind(**{"k": 3, "low": 1, "high": 5, "epsilon": 1, **wrong})
    with pytest.raises(UsageError, match="3 items"):
        kind(k=3, low=1, high=5, epsilon=1).choose([1.0, 2.0])


def test_samplers_by_name() -> None:
    assert [sampler_class(kind.sampler) for kind in KINDS] == KINDS
    with pytest.raises(UsageError, match="no sampler"):
        sampler_class("laplace")
