"""The Wasserstein mechanism: distances, laws, and a count with a promise for a class of laws."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.coupled import BinaryLaw, WassersteinCount, farthest_shift, queries_from_json, random_queries
from discreet.data import Table
from discreet.errors import UsageError
from discreet.privacy.ledger import Ledger


def homes(sizes: list[int]) -> Table:
    home = np.repeat(np.arange(len(sizes)), sizes)
    rows = {"flu": np.where(np.arange(home.size) % 3 == 0, "yes", "no"), "home": home}
    return Table(rows, domains={"flu": ["no", "yes"]}, group="home")


def can_be_carried(first: dict[int, Fraction], second: dict[int, Fraction], most: int) -> bool:
    """Whether mass can be carried from one law to the other over at most so far, by linear programming."""
    pairs = [(a, b) for a, b in product(first, second) if abs(a - b) <= most]
    if not pairs:
        return False
    sums = [[float(a == value) for a, _ in pairs] for value in first]
    sums += [[float(b == value) for _, b in pairs] for value in second]
    wanted = [*map(float, first.values()), *map(float, second.values())]
    return linprog(np.zeros(len(pairs)), A_eq=sums, b_eq=wanted).status == 0


def test_the_distance_is_the_least_that_a_transport_needs() -> None:
    generator = np.random.default_rng(4)
    for _ in range(25):
        laws = []
        for _ in range(2):
            weights = generator.integers(0, 4, 5)
            weights[generator.integers(5)] += 1
            values = generator.choice(12, 5, replace=False)
            total = int(weights.sum())
            laws.append({int(v): Fraction(int(w), total) for v, w in zip(values, weights, strict=True) if w})
        distance = farthest_shift(*laws)
        assert can_be_carried(*laws, most=distance)
        assert distance == 0 or not can_be_carried(*laws, most=distance - 1)
        assert distance == farthest_shift(*laws[::-1])


def test_laws_must_add_up() -> None:
    with pytest.raises(UsageError, match="add up"):
        farthest_shift({0: Fraction(1, 2)}, {0: Fraction(1)})
    with pytest.raises(UsageError, match="add up"):
        BinaryLaw.of(2, lambda values: "0.3")


def test_a_mixture_is_the_law_it_says() -> None:
    """The closed form against all combinations: the counterexample to coupled sensitivity, where W∞ is k."""

    def probability(values: tuple[int, ...]) -> Fraction:
        alone = Fraction(1)
        for value in values:
            alone *= Fraction(1, 100) if value else Fraction(99, 100)
        together = {0: Fraction(99, 100), 5: Fraction(1, 100)}.get(sum(values), Fraction(0))
        return Fraction(6, 10) * together + Fraction(4, 10) * alone

    listed, closed = BinaryLaw.of(5, probability), BinaryLaw.mixture(5, together="0.6", probability="0.01")
    assert listed.given == closed.given
    assert closed.distance == 5
    assert BinaryLaw.mixture(10, together="0.6", probability="0.01").distance == 10


def test_independent_rows_and_opposite_rows() -> None:
    assert BinaryLaw.mixture(10, together=0, probability="0.3").distance == 1
    opposite = BinaryLaw.of(2, lambda values: Fraction(1, 2) if sum(values) == 1 else 0)
    assert opposite.distance == 0


def test_a_value_that_never_occurs_is_no_secret() -> None:
    assert BinaryLaw.of(1, lambda values: 1 - values[0]).distance == 0


def test_the_noise_is_that_of_the_farthest_law(fixed_bits: object) -> None:
    table = homes([4] * 50 + [2] * 10)
    laws = [
        BinaryLaw.mixture(4, together="0.5", probability="0.1"),
        BinaryLaw.mixture(2, together=0, probability="0.1"),
    ]
    method = WassersteinCount.of(laws, epsilon=1)
    workload = queries_from_json(table, [{"flu": "yes"}])
    facts = method.estimate(table, workload)
    assert facts["distance"] == 4
    assert facts["noise_sd"] == pytest.approx(4 * 2**0.5, rel=1e-3)
    truth = workload.true_answers(table)[0] / 4096
    answers = [method.release(table, workload).table("answers")["answer"][0] for _ in range(300)]
    assert np.mean(answers) == pytest.approx(truth, abs=5 * 4 * 2**0.5 / 300**0.5)
    assert "Pufferfish" in str(method.guarantee(table, workload))
    assert "whether a row counts" in method.guarantee(table, workload).basis


def test_the_ledger_is_charged_what_adds_up(tmp_path: Any) -> None:
    table = homes([4] * 5)
    method = WassersteinCount.of([BinaryLaw.mixture(4, together=0, probability="0.5")], epsilon="1/2")
    workload = queries_from_json(table, [{"flu": "yes"}])
    ledger = Ledger(tmp_path / "book.db")
    ledger.open(table, epsilon=10, unit="group/replace:4")
    release = method.release(table, workload, ledger=ledger)
    # Noise of scale 1/ε = 2 keeps 4/2 = 2 for a whole household of four.
    assert ledger.statement(table).left.epsilon == 8
    assert release.guarantee.loss.epsilon_at(Fraction(0)) == Fraction(1, 2)


def test_wrong_use_is_refused() -> None:
    table = homes([3, 3])
    law = BinaryLaw.mixture(3, together="0.5", probability="0.1")
    yes = queries_from_json(table, [{"flu": "yes"}])
    with pytest.raises(UsageError, match="no law"):
        WassersteinCount.of([BinaryLaw.mixture(2, together=0, probability="0.1")], epsilon=1).release(table, yes)
    with pytest.raises(UsageError, match="do not add up"):
        WassersteinCount.of([law], epsilon=1).release(table, queries_from_json(table, [{"flu": "yes"}] * 2))
    with pytest.raises(UsageError, match="weights"):
        WassersteinCount.of([law], epsilon=1).release(table, random_queries(table, 1, seed=1, kind="weighted"))
    alone = Table({"flu": ["no"]}, domains={"flu": ["no", "yes"]})
    with pytest.raises(UsageError, match="depend"):
        WassersteinCount.of([law], epsilon=1).release(alone, queries_from_json(alone, [{"flu": "yes"}]))
    with pytest.raises(UsageError):
        WassersteinCount.of([], epsilon=1)
