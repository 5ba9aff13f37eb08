"""Caps: formulas against simulation and search, the published one refuted by its own limits, and a private choice."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.counting import ItemCounts, choose_cap, chosen_cap
from discreet.counting.caps import best_cap, best_cap_as_published, best_cap_over_items, best_weight
from discreet.errors import PrivacyError, ReleaseError, UsageError
from discreet.privacy import selection


@pytest.mark.parametrize(
    ("users", "records", "share", "epsilon", "corrected", "weighted", "published"),
    [(20, 10, 0.05, 2, 6.983, 6.865, 6.355), (50, 20, 0.05, 0.5, 8.855, 8.865, 8.688)],
)
def test_known_values(users, records, share, epsilon, corrected, weighted, published) -> None:
    dataset = {"records": records, "share": share, "epsilon": epsilon}
    assert best_cap(users, **dataset) == pytest.approx(corrected, abs=5e-4)
    assert best_weight(users, **dataset) == pytest.approx(weighted, abs=5e-4)
    assert best_cap_as_published(users, **dataset) == pytest.approx(published, abs=5e-4)


def error(cap: int, users: int, records: int, shares: np.ndarray, epsilon: float) -> float:
    """Mean squared error of sampled counts, summed over items: variance and bias of what is left out, and noise."""
    left = users * (records - cap)
    return float((left * shares * (1 - shares) + (left * shares) ** 2).sum() + 2 * shares.size * (cap / epsilon) ** 2)


def test_simulation_agrees_with_the_corrected_error_and_not_with_the_published_one() -> None:
    """20 users with 10 records, share 1/20, ε = 2: at l = 1 formula 21 says 82.5, at l = 10 it says 59.5."""
    rng = np.random.default_rng(8)
    for cap, corrected, published in ((1, 90.05, 82.5), (10, 50.0, 59.5)):
        counted = rng.binomial(20 * cap, 0.05, 200_000)
        left_out = rng.binomial(20 * (10 - cap), 0.05, 200_000)
        noise = rng.laplace(scale=cap / 2, size=200_000)
        measured = float(((counted + noise - (counted + left_out)) ** 2).mean())
        assert error(cap, 20, 10, np.array([0.05]), 2) == pytest.approx(corrected)
        assert measured == pytest.approx(corrected, rel=0.03)
        assert abs(measured - published) > 5


@pytest.mark.parametrize(("users", "records", "epsilon"), [(1000, 200, 0.5), (6040, 165, 0.5), (300, 50, 1.0)])
def test_no_cap_of_the_grid_is_better(users: int, records: int, epsilon: float) -> None:
    shares = 1 / np.arange(1, 501)
    shares /= shares.sum()
    best = best_cap_over_items(
        users, records=records, shares_squared=float((shares**2).sum()), epsilon=epsilon, items=shares.size
    )
    errors = {cap: error(cap, users, records, shares, epsilon) for cap in range(1, records + 1)}
    assert abs(min(errors, key=lambda cap: errors[cap]) - best) <= 1


def test_the_published_formula_drops_records_where_there_is_no_noise() -> None:
    dataset = {"records": 10, "share": 0.01, "epsilon": 1e9}
    assert best_cap_as_published(10, **dataset) == pytest.approx(5.05, abs=0.01)
    assert best_cap(10, **dataset) == 10
    assert best_cap_as_published(10, records=10, share=0.004, epsilon=1) < 0
    assert best_cap(10, records=10, share=0.004, epsilon=1) == 1


def crowd(sizes) -> dc.Interactions:
    """Users with so many different items of a hundred each."""
    sizes = np.asarray(sizes)
    frame = {
        "user_id": np.repeat(np.arange(sizes.size), sizes),
        "item_id": np.concatenate([np.arange(n) for n in sizes]),
    }
    return dc.Interactions(frame, items=range(100), name="crowd")


@pytest.fixture
def people() -> dc.Interactions:
    """A thousand users with four items, a hundred with sixty."""
    return crowd([4] * 1000 + [60] * 100)


def test_the_histogram_is_released_and_the_cap_follows(people, drawn_scales) -> None:
    release = choose_cap(people, epsilon="1/10", counts_epsilon=1, most=64, objective="absolute")
    assert drawn_scales == [10]
    histogram = release.table("histogram")
    assert histogram["up_to"].to_list() == [1, 2, 4, 8, 16, 32, 64]
    assert histogram["users"].to_list() == [0, 0, 1000, 0, 0, 0, 100]
    # A hundred users are above every cap from 4 to 59, and a hundred counts have noise of scale 1 a step.
    assert 3 <= chosen_cap(release) <= 64


@pytest.mark.parametrize(("counts_epsilon", "least", "most"), [("1/100", 1, 1), (1000, 55, 64)])
def test_little_budget_asks_for_a_small_cap_and_much_for_a_large_one(
    people, drawn_scales, counts_epsilon, least, most
) -> None:
    for objective in ("absolute", "squared"):
        release = choose_cap(people, epsilon=1, counts_epsilon=counts_epsilon, most=64, objective=objective)
        assert least <= chosen_cap(release) <= most


def test_squared_lengths_for_gaussian_noise(people, drawn_scales) -> None:
    small = chosen_cap(choose_cap(people, epsilon=1, counts_epsilon="1/100", counts_delta="1e-6", most=64))
    large = chosen_cap(choose_cap(people, epsilon=1, counts_epsilon=100, counts_delta="1e-6", most=64))
    assert small < large
    repeated = dc.Interactions([("u", "a")] * 7, items=["a"], duplicates="keep")
    histogram = choose_cap(repeated, epsilon=1, counts_epsilon=1, counts_delta="1e-6", most=64).table("histogram")
    assert histogram["users"].to_list() == [0, 0, 0, 0, 0, 0, 1]


def test_users_beyond_the_largest_cap_are_in_the_last_bin(drawn_scales) -> None:
    release = choose_cap(crowd([100, 1]), epsilon=1, counts_epsilon=1, most=8)
    assert release.table("histogram")["users"].to_list() == [1, 0, 0, 1]
    assert chosen_cap(release) <= 8


def test_the_rank_rule_puts_so_many_users_above_the_cap(fixed_bits) -> None:
    """κ = 50/(1/2) = 100 users are to be above the cap; 100 are above every cap from 20 to 39."""
    people = crowd([19] * 300 + [40] * 100)
    for _ in range(20):
        release = choose_cap(people, epsilon=2, counts_epsilon="1/2", counts=50, method="rank", most=64)
        assert 19 <= chosen_cap(release) < 40
        assert set(release.parts) == {"cap"}


def test_the_rank_rule_has_half_the_rate(people, monkeypatch) -> None:
    """Scores move both ways: exp(ε·s/2)."""
    rates = []

    def order(scores, rate, *, noise, most, spend):
        rates.append(rate)
        return np.array([int(np.argmax(scores))])

    monkeypatch.setattr(selection, "noisy_order", order)
    choose_cap(people, epsilon="3/10", counts_epsilon=1, method="rank")
    assert rates == [Fraction(3, 20)]


def test_what_is_drawn_does_not_depend_on_the_records(people, drawn_scales) -> None:
    for data in (people, people.emptied()):
        assert choose_cap(data, epsilon=1, counts_epsilon=1).table("histogram").height == 13
    assert len(set(drawn_scales)) == 1


def test_the_ledger_is_charged_and_the_cap_is_used(people, tmp_path: Path, fixed_bits) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(people, epsilon=1, unit="user")
    release = choose_cap(people, epsilon="1/20", counts_epsilon="19/20", ledger=ledger)
    ItemCounts(epsilon="19/20", cap=chosen_cap(release)).release(people, ledger=ledger)
    assert ledger.statement(people).spent.epsilon == 1
    assert len(ledger.statement(people).entries) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "guess"},
        {"objective": "cubed"},
        {"most": 0},
        {"counts": 0},
        {"counts_epsilon": 0},
        {"epsilon": -1},
        {"method": "rank", "counts_delta": "1e-6"},
        {"method": "rank", "epsilon": 2**40},
        {"concentration": 0},
    ],
)
def test_mistakes_cost_nothing(people, tmp_path: Path, wrong) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(people, epsilon=2**50, unit="user")
    with pytest.raises(UsageError):
        choose_cap(people, **{"epsilon": 1, "counts_epsilon": 1, **wrong}, ledger=ledger)
    assert ledger.statement(people).entries == ()


def test_the_number_of_counts_must_be_public() -> None:
    data = dc.Interactions([("u", "a")])
    with pytest.raises(PrivacyError):
        choose_cap(data, epsilon=1, counts_epsilon=1)
    assert chosen_cap(choose_cap(data, epsilon=1, counts_epsilon=1, counts=10)) >= 1


def test_only_a_cap_is_a_cap(people, fixed_bits) -> None:
    with pytest.raises(ReleaseError):
        chosen_cap(ItemCounts(epsilon=1, cap=2).release(people))
