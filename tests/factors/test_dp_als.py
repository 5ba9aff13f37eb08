"""DPALS: what one user can change, by trying everybody; what is spent; what is learned."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import BudgetError, UsageError
from discreet.factors import DPALS, Popularity
from discreet.factors.als import fixed_normals
from discreet.factors.dp_als_statistics import (
    ROW_SIDE,
    WEIGHT_SIDE,
    Shares,
    equations,
    head_shares,
    whole_rows,
    whole_weights,
)
from discreet.privacy.losses import GaussianLoss, mu_for
from discreet.privacy.mechanisms import NormalMechanism
from discreet.testing.models import RecommenderConformance, two_tastes
from discreet.testing.tiny_datasets import neighboring_datasets


class TestDPALS(RecommenderConformance):
    deterministic = False
    keeps_records = False

    def make_model(self) -> DPALS:
        return DPALS(epsilon=500, factors=3)


class TestDPALSWithACap(RecommenderConformance):
    deterministic = False
    keeps_records = False

    def make_model(self) -> DPALS:
        return DPALS(epsilon=500, factors=3, cap=3, rounds=1)


CLIP = Fraction(3, 10)


def released(data: dc.Interactions, model: DPALS, cap: int | None) -> list[np.ndarray]:
    """Everything of one round before noise, in grid steps, for public factors and weights."""
    head = np.arange(data.n_items, dtype=np.int32)
    shares, everything = head_shares(data, head, np.array([1.0, 0.7, 0.2]), cap)
    people = model._people(everything.starts, everything.items, fixed_normals(3, 2))
    rows = whole_rows(people, 0.3, ROW_SIDE)
    left, right, whole = equations(shares, rows, 3, CLIP)
    return [np.stack(left.matrices), right.values, whole.matrices[0]]


@pytest.mark.usefixtures("fixed_bits")
@pytest.mark.parametrize("cap", [None, 1, 2])
def test_nobody_changes_more_than_the_bound(cap: int | None) -> None:
    model = DPALS(1)
    nothing = np.zeros(0, np.int64)
    left, right, whole = equations(Shares(np.zeros(1, np.int64), nothing, nothing), np.zeros((0, 2), np.int64), 3, CLIP)
    # What the noise is made for, and by the theorem.
    bounds = [left.frobenius_squared, right.l2_squared, whole.frobenius_squared]
    assert bounds == [WEIGHT_SIDE**2 * ROW_SIDE**4, WEIGHT_SIDE**2 * ROW_SIDE**2, ROW_SIDE**4]
    largest = [0, 0, 0]
    known: dict[int, list[Any]] = {}
    for without, within in neighboring_datasets("abc", most_users=1, most_records=3):
        if cap is not None and len(without):
            continue  # with a cap others' items are drawn anew in each dataset; one user alone shows the bound
        if id(without) not in known:  # the same object for all who join it
            known = {id(without): released(without, model, cap) if len(without) else [0, 0, 0]}
        before = known[id(without)]
        after = released(within, model, cap)
        for place in range(3):
            change = int(((after[place] - before[place]).astype(object) ** 2).sum())
            largest[place] = max(largest[place], change)
            assert change <= bounds[place]
    # The bounds are not far from what can happen: wrong powers of anything would show.
    assert all(most > 0.8 * bound for most, bound in zip(largest, bounds, strict=True))


def test_what_others_contribute_does_not_depend_on_who_is_there() -> None:
    data = two_tastes()
    head, weights = np.arange(data.n_items, dtype=np.int32), np.linspace(1, 2, data.n_items)
    part = data.filter(data.user != 3)
    factors = fixed_normals(data.n_items, 4)
    _, all_of_them = head_shares(data, head, weights, None)
    _, fewer = head_shares(part, head, weights, None)
    everybody = whole_rows(DPALS(1)._people(all_of_them.starts, all_of_them.items, factors), 0.3, ROW_SIDE)
    others = whole_rows(DPALS(1)._people(fewer.starts, fewer.items, factors), 0.3, ROW_SIDE)
    assert (np.delete(everybody, 3, axis=0) == others).all()
    assert (all_of_them.weights[data.user != 3] == fewer.weights).all()


def test_rows_and_weights_keep_their_length_whatever_they_are() -> None:
    generator = np.random.default_rng(5)
    rows = generator.standard_normal((500, 7)) * generator.lognormal(0, 8, (500, 1))
    rows[0], rows[1, 2], rows[2, 3] = 0, np.inf, np.nan
    whole = whole_rows(rows, 0.3, ROW_SIDE)
    assert ((whole**2).sum(axis=1) <= ROW_SIDE**2).all()
    assert (whole[1:3] == 0).all()
    short = np.linalg.norm(rows, axis=1) < 0.3
    np.testing.assert_allclose(whole[short] * 0.3 / ROW_SIDE, rows[short], atol=0.3 / ROW_SIDE)
    starts = np.sort(np.append(generator.integers(0, 2000, 99), [0, 2000]))
    items = generator.integers(0, 50, 2000)
    weights = whole_weights(starts, items, generator.lognormal(0, 3, 50), WEIGHT_SIDE)
    squares = np.add.reduceat(np.append(weights**2, 0), starts[:-1]) * (np.diff(starts) > 0)
    assert squares.max() <= WEIGHT_SIDE**2


def test_tiny_factors_stop_nobody() -> None:
    """Products that are 0 in floating point must not be divided by: somebody with items would stop the whole fit."""
    factors = fixed_normals(3, 2) * 1e-160
    people = DPALS(1)._people(np.array([0, 0, 2]), np.array([0, 2]), factors)
    assert np.isfinite(people).all()
    assert (whole_rows(people, 0.3, ROW_SIDE) ** 2).sum(axis=1).max() <= ROW_SIDE**2


def test_the_theorem_is_in_the_proofs() -> None:
    guarantee = DPALS(1).fit(two_tastes()).guarantee
    assert guarantee is not None
    assert "docs/proofs/factors.md, Theorem 7" in guarantee.basis
    page = Path(__file__).parents[2] / "docs" / "proofs" / "factors.md"
    assert "**Theorem 7.** A fit of `DPALS`" in page.read_text(encoding="utf-8")


def test_a_cap_bounds_the_weights_too() -> None:
    data = two_tastes()
    shares, everything = head_shares(data, np.arange(4, 10, dtype=np.int32), np.ones(6), 2)
    assert np.diff(shares.starts).max() == 2
    assert shares.starts.size == everything.starts.size == data.n_users + 1
    assert (2 * shares.weights**2).max() <= WEIGHT_SIDE**2
    for user in range(data.n_users):
        chosen = set(shares.items[shares.starts[user] : shares.starts[user + 1]])
        assert chosen <= set(everything.items[everything.starts[user] : everything.starts[user + 1]])


def test_equations_are_sums_over_people() -> None:
    shares = Shares(np.array([0, 2, 3]), np.array([0, 1, 1]), np.array([2, 3, 5]))
    rows = np.array([[1, 2], [3, -1]])
    left, right, whole = equations(shares, rows, 2, Fraction(1))
    first, second = np.outer(rows[0], rows[0]), np.outer(rows[1], rows[1])
    assert (left.matrices[0] == 2 * first).all()
    assert (left.matrices[1] == 3 * first + 5 * second).all()
    assert right.values.tolist() == [*(2 * rows[0]), *(3 * rows[0] + 5 * rows[1])]
    assert (whole.matrices[0] == first + second).all()


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_releases_add_up_to_the_guarantee(rounds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[Fraction] = []
    original = NormalMechanism.release

    def counted(self: Any, sums: Any) -> Any:
        spent.append(self.mu_squared)
        return original(self, sums)

    monkeypatch.setattr(NormalMechanism, "release", counted)
    model = DPALS(epsilon=3, delta="1e-5", rounds=rounds, factors=2).fit(two_tastes())
    assert len(spent) == 1 + 3 * rounds
    assert sum(spent) == mu_for(3, "1e-5") ** 2
    assert model.guarantee is not None
    assert model.guarantee.loss == GaussianLoss(sum(spent, Fraction(0)))
    assert model.guarantee.joint


def test_the_ledger_is_charged_once_and_refuses_a_second_time(tmp_path: Path) -> None:
    films, ledger = two_tastes(), dc.Ledger(tmp_path / "ledger.db")
    ledger.open(films, epsilon=2, delta="1e-5")
    DPALS(epsilon=2, delta="1e-5").fit(films, ledger=ledger)
    with pytest.raises(BudgetError):
        DPALS(epsilon=2, delta="1e-5").fit(films, ledger=ledger)


@pytest.mark.usefixtures("fixed_bits")
def test_with_people_enough_it_beats_popularity() -> None:
    films = dc.synthetic.films(users=2000, items=100, seed=3)
    found = dc.evaluate([DPALS(epsilon=20), Popularity()], films, k=10, splits=1, reference=None)
    assert found.value("recall@10") > 1.1 * found.value("recall@10", "popularity")


def test_who_likes_nothing_of_the_head_is_shown_what_is_popular() -> None:
    model = DPALS(epsilon=100, head=5, factors=2).fit(two_tastes())
    best = model.recommend(history=[], n=14)
    assert best["item_id"].to_list() == model.items_.take(np.argsort(-model.popularity_, kind="stable")).to_list()
    head = set(model.items_.take(model.head_))
    ranked = model.recommend(history={sorted(head)[0]: 5}, n=14)["item_id"].to_list()
    assert set(ranked[:4]) <= head


@pytest.mark.parametrize(
    "wrong",
    [
        {"rounds": 0},
        {"factors": 0},
        {"head": -1},
        {"cap": 0},
        {"clip": 0},
        {"clip": 1e-310},  # in floating point 2⁸/Γ is no number any more, and no length is kept
        {"clip": 1e7},
        {"weight_exponent": 2},
        {"epsilon": "1e-9", "delta": "1e-15"},
    ],
)
def test_mistakes_cost_nothing(wrong: dict[str, Any], tmp_path: Path) -> None:
    films, ledger = two_tastes(), dc.Ledger(tmp_path / "ledger.db")
    ledger.open(films, epsilon=2, delta="1e-5")
    with pytest.raises(UsageError):
        DPALS(**{"epsilon": 1, **wrong}).fit(films, ledger=ledger)
    assert not ledger.statement(films).entries
