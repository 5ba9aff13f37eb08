"""One budget for noise and choices."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.coupled.budgets import Budget
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.losses import Concentrated, Pure, rho_for
from discreet.privacy.units import Unit

SCORES = BoundedSums(
    values=np.array([0, 900, 5, 700]),
    step=Fraction(1),
    l1=Fraction(4),
    l2_squared=Fraction(4),
    linf=Fraction(1),
    nonnegative=False,
    unit=Unit("record", "replace"),
    caps=(),
)


def test_without_a_delta_it_is_pure_and_with_one_concentrated() -> None:
    assert Budget.of("1/2").loss == Pure(Fraction(1, 2))
    assert Budget.of(1, "1e-6").loss == Concentrated(rho_for(1, "1e-6"))


def test_the_noise_spends_all_of_it() -> None:
    for budget in (Budget.of("1/3"), Budget.of(1, "1e-9")):
        assert budget.noise().loss == budget.loss
        assert budget.part(Fraction(1, 3)).amount + budget.part(Fraction(2, 3)).amount == budget.amount


def test_clear_choices_are_made(fixed_bits: object) -> None:
    for budget in (Budget.of(2), Budget.of(5, "1e-6")):
        assert budget.pick(SCORES) == 1
        assert budget.pick_many(SCORES, 2).tolist() == [1, 3]
