"""The construction after the abstract of accuracy-assured PPNS is not differentially private for any epsilon."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.neighbors.selection import AssuredPPNS, Candidates
from discreet.privacy.guarantees import Standing
from discreet.testing import max_log_ratio, smallest_delta


def swapped(k: int, partitions: int) -> tuple[Candidates, Candidates]:
    """Two lists of nearly equal similarities in which ranks k and k + 1 change places."""
    similarity = np.linspace(0.5, 0.4999, k * partitions)
    after = similarity.copy()
    after[[k - 1, k]] = similarity[[k, k - 1]]
    rs = np.ones(similarity.size)
    return Candidates(similarity, rs), Candidates(after, rs)


@pytest.mark.parametrize("epsilon", [0.01, 1, 100])
@pytest.mark.parametrize("p", ["1/10", "1/2", 1])
def test_no_epsilon_holds(p, epsilon: float) -> None:
    before, after = swapped(3, 4)
    strategy = AssuredPPNS(3, p=p, epsilon=epsilon)
    assert max_log_ratio(strategy.law(before), strategy.law(after)) == math.inf


@pytest.mark.parametrize(("k", "p", "q"), [(2, "1/2", (1 / 2, 1 / 2)), (4, "1/2", (2 / 4, 1 / 4)), (4, 1, (1, 0))])
@pytest.mark.parametrize("allowed", [0.01, 1, 100])
def test_how_much_was_impossible(k: int, p, q: tuple[float, float], allowed: float) -> None:
    """q₁(1 − q₂) + q₂(1 − q₁), with the drawn shares of the first two partitions."""
    before, after = swapped(k, 3)
    strategy = AssuredPPNS(k, p=p, epsilon=1)
    delta = smallest_delta(strategy.law(before), strategy.law(after), allowed)
    assert delta == pytest.approx(q[0] * (1 - q[1]) + q[1] * (1 - q[0]), abs=1e-3)


def test_sybils_keep_the_target_among_the_neighbors_with_the_share_p() -> None:
    """The target and k − 1 sybils are the first partition, which gives ⌈p·k⌉ of them."""
    k = 10
    similarity = np.concatenate([[1.0], np.full(k - 1, 0.99), np.linspace(0.9, 0.2, 10 * k)])
    target = AssuredPPNS(k, p="1/2", epsilon=1).inclusion(Candidates(similarity, np.ones(similarity.size)))[0]
    assert target == pytest.approx(1 / 2, abs=0.01)


def test_the_guarantee_says_what_it_is() -> None:
    guarantee = AssuredPPNS(10, epsilon=1).guarantee()
    assert guarantee is not None
    assert guarantee.standing is Standing.REFUTED
    assert guarantee.basis.startswith("a construction after the abstract, not the authors' rule")
    assert "test_ppns_assured.py" in guarantee.basis
    assert AssuredPPNS(10).guarantee() is None
