"""The coupled run finds what it is made for: each of these mechanisms has one mistake."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DataError
from discreet.privacy import entropy
from discreet.privacy.bounding import cap_records, distinct_item_counts
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Concentrated, Loss, Pure
from discreet.privacy.mechanisms import GaussianMechanism, LaplaceMechanism
from discreet.privacy.noise import discrete_laplace
from discreet.privacy.selection import ExponentialMechanism
from discreet.privacy.units import Unit
from discreet.testing.coupled import CoupledRunError, coupled_run

ONE = Fraction(1)
ROWS = [("ann", "tea"), ("ann", "rum"), ("ann", "gin"), ("bob", "tea"), ("cyd", "tea"), ("cyd", "rum")]
ITEMS = ["tea", "rum", "gin", "oil"]


def shop(*people: str) -> dc.Interactions:
    return dc.Interactions([row for row in ROWS if row[0] in people], items=ITEMS)


def promise(loss: Loss = Pure(ONE)) -> Guarantee:  # noqa: B008
    return Guarantee(loss, Unit("user"), Standing.PROVED, "a test", "counts")


def counts(
    steps: Callable[[dc.Interactions], Any],
    *,
    loss: Loss = Pure(ONE),  # noqa: B008
) -> Callable[[dc.Interactions, Any], Any]:
    """A mechanism that is charged, and then takes these steps."""

    def run(data: dc.Interactions, ledger: Any) -> Any:
        with charged(ledger, data, promise(loss), mechanism="a test", parameters={}):
            return {"guarantee": promise(loss), "out": steps(data)}

    return run


def check(run: Callable[[dc.Interactions, Any], Any], first: str = "ann bob cyd", second: str = "bob cyd") -> Any:
    return coupled_run(run, shop(*first.split()), shop(*second.split()))


def sums(data: dc.Interactions, cap: int = 2) -> Any:
    return cap_records(data, cap).item_counts()


def laplace(data: dc.Interactions, epsilon: Fraction = ONE) -> Any:
    return LaplaceMechanism(epsilon).release(sums(data))


def test_an_honest_mechanism_passes_and_its_loss_is_exact() -> None:
    result = check(counts(laplace))
    assert (result.draws, result.spent.pure) == (1, ONE)


def test_noise_of_half_the_scale() -> None:
    def half(data: dc.Interactions) -> Any:
        bounded = sums(data)
        return LaplaceMechanism(ONE).release(replace(bounded, l1=bounded.l1 / 2))

    with pytest.raises(CoupledRunError, match="spends ε = 2"):
        check(counts(half))


def test_a_budget_that_is_spent_twice() -> None:
    with pytest.raises(CoupledRunError, match="together spend ε = 2"):
        check(counts(lambda data: [laplace(data), laplace(data)]))


def test_a_second_release_that_these_datasets_do_not_show_is_found_by_what_it_says() -> None:
    """The second release is of nothing that differs here; what it says that it spends is too much all the same."""

    def twice(data: dc.Interactions) -> Any:
        nothing = replace(sums(data), values=np.zeros(4, dtype=np.int64))
        return [laplace(data), LaplaceMechanism(ONE).release(nothing)]

    with pytest.raises(CoupledRunError, match="said to spend ε = 2"):
        check(counts(twice))


def test_a_cap_from_the_records() -> None:
    def most(data: dc.Interactions) -> Any:
        return LaplaceMechanism(ONE).release(sums(data, int(data.records_per_user.max(initial=1))))

    with pytest.raises(CoupledRunError, match="the parameter of draw 0"):
        check(counts(most))


def test_noise_on_cells_that_are_not_zero() -> None:
    def sparse(data: dc.Interactions) -> Any:
        bounded = sums(data)
        return LaplaceMechanism(ONE).release(replace(bounded, values=bounded.values[bounded.values > 0]))

    with pytest.raises(CoupledRunError, match="the shape of draw 0"):
        check(counts(sparse))


def test_a_look_that_is_not_paid_for() -> None:
    with pytest.raises(CoupledRunError, match=r"result\['out'\]"):
        check(counts(lambda data: (laplace(data), data.n_users)))


def test_a_head_by_exact_counts() -> None:
    def head(data: dc.Interactions) -> Any:
        released = laplace(data)
        return released[np.argsort(-sums(data).values, kind="stable")[:2]]

    with pytest.raises(CoupledRunError, match="differs"):
        check(counts(head), "ann bob cyd", "ann")


def test_a_choice_that_depends_on_others() -> None:
    """Records are chosen by their place among everybody's."""

    def chosen(data: dc.Interactions) -> Any:
        keep = np.arange(len(data)) % 2 == 0
        bounded = replace(sums(data), values=np.bincount(data.item[keep], minlength=4).astype(np.int64))
        return LaplaceMechanism(ONE).release(bounded)

    with pytest.raises(CoupledRunError, match="spends ε"):
        check(counts(chosen))


def test_a_charge_after_the_draw() -> None:
    def late(data: dc.Interactions, ledger: Any) -> Any:
        released = laplace(data)
        with charged(ledger, data, promise(), mechanism="late", parameters={}):
            return {"guarantee": promise(), "out": released}

    with pytest.raises(CoupledRunError, match="before the ledger was charged"):
        check(late)


def test_a_ledger_whose_charges_only_settle_can_be_charged_and_the_release_saved(tmp_path: Path) -> None:
    class Settles:
        def settle(self, release_id: str | None = None) -> None:
            """All that a charge must offer."""

    class Foreign:
        @contextmanager
        def charge(self, data: Any, guarantee: Guarantee, **facts: Any) -> Iterator[Settles]:
            yield Settles()

    release = dc.counting.ItemCounts(epsilon=1, cap=2).release(shop("ann"), ledger=Foreign())  # type: ignore[arg-type]
    assert (release.save(tmp_path / "counts") / "manifest.json").is_file()


def test_no_charge_and_too_small_a_charge() -> None:
    with pytest.raises(CoupledRunError, match="before the ledger was charged"):
        check(lambda data, ledger: {"guarantee": promise(), "out": laplace(data)})

    def little(data: dc.Interactions, ledger: Any) -> Any:
        with charged(ledger, data, promise(Pure(ONE / 2)), mechanism="little", parameters={}):
            return {"guarantee": promise(), "out": laplace(data)}

    with pytest.raises(CoupledRunError, match=r"was charged ε = 0\.5"):
        check(little)


def test_a_charge_for_another_unit() -> None:
    def records(data: dc.Interactions, ledger: Any) -> Any:
        with charged(ledger, data, replace(promise(), unit=Unit("record")), mechanism="records", parameters={}):
            return {"guarantee": promise(), "out": laplace(data)}

    with pytest.raises(CoupledRunError, match="the unit"):
        check(records)


def test_randomness_outside_of_a_mechanism() -> None:
    with pytest.raises(CoupledRunError, match="outside of a mechanism"):
        check(counts(lambda data: sums(data).values + discrete_laplace(4, Fraction(2))))
    with pytest.raises(CoupledRunError, match="outside of a mechanism"):
        check(counts(lambda data: entropy.random_words(1)))


def test_messages_warnings_and_errors_that_depend_on_the_records() -> None:
    def says(data: dc.Interactions) -> Any:
        sys.stdout.write(f"{data.n_users} users")
        return laplace(data)

    with pytest.raises(CoupledRunError, match="printed"):
        check(counts(says))

    def warns(data: dc.Interactions) -> Any:
        if data.n_users < 3:
            warnings.warn("few users", UserWarning, stacklevel=1)
        return laplace(data)

    with pytest.raises(CoupledRunError, match="warnings"):
        check(counts(warns))

    def refuses(data: dc.Interactions) -> Any:
        if data.n_users < 3:
            raise DataError("too few users.")
        return laplace(data)

    with pytest.raises(CoupledRunError, match="the error"):
        check(counts(refuses))
    assert check(counts(refuses), "ann bob", "bob").guarantee is None


def test_a_selection_that_pays_for_one_way_where_scores_move_both_ways() -> None:
    def chosen(data: dc.Interactions) -> Any:
        # Scores of items that ann has go up, those of the others go down.
        scores = distinct_item_counts(data)
        two_ways = replace(scores, values=2 * scores.values - data.n_users)
        return ExponentialMechanism(ONE).choose(two_ways)

    with pytest.raises(CoupledRunError, match="spends ε = 2"):
        check(counts(chosen), "ann bob cyd", "ann bob")


def test_gaussian_noise_is_held_to_zcdp() -> None:
    def gaussian(data: dc.Interactions, rho: Fraction = ONE / 8) -> Any:
        return GaussianMechanism(rho).release(sums(data))

    assert check(counts(gaussian, loss=Concentrated(ONE / 8))).spent.rho == ONE / 8
    with pytest.raises(CoupledRunError, match="the guarantee says"):
        check(counts(gaussian, loss=Concentrated(ONE / 9)))
    with pytest.raises(CoupledRunError, match="the guarantee says"):
        check(counts(gaussian, loss=Pure(Fraction(100))))
