"""Which mechanisms a model of item neighbors runs: by unit and by kind of loss, settled before anything is charged."""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.neighbors.item_gram import empty_gram
from discreet.neighbors.item_statistics import ItemStatistics, Norm
from discreet.privacy.bounding import BoundedInteractions, BoundedSums, cap_items
from discreet.privacy.gram import GramMechanism, LaplaceGramMechanism, SymmetricMechanism
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Concentrated, Loss, Pure, rho_for
from discreet.privacy.mechanisms import AdditiveMechanism, GaussianMechanism, LaplaceMechanism
from discreet.privacy.numbers import Rational, as_fraction, as_positive, as_probability
from discreet.privacy.units import Unit

__all__ = ["MOST_HEAD", "ReleasePlan", "head_size", "strength_of"]

CAP = 150
"""The most items of one user that are looked at, unless another number is given."""
LEAST_HEAD, MOST_HEAD = 60, 5000
"""Between these the rule for the size of the head stays; dense matrices of more items are left to those who ask."""
SHARE_OF_HEAD = 1 / 8
"""How much of the head a user has usually touched: for the rule only."""


@dataclass(frozen=True)
class ReleasePlan:
    """A release about items and one about pairs of items, and what both together cost.

    Parameters
    ----------
    unit
        One user, or one record, present or absent.
    norm
        In which contributions are bounded: 1 for pure ε and Laplace noise, 2 for zCDP and Gaussian noise.
    loss
        What both releases cost together.
    first, second
        The mechanisms.
    cap
        The most items of one user that are looked at; None for records, where nothing may be cut.
    """

    unit: Unit
    norm: Norm
    loss: Loss
    first: AdditiveMechanism
    second: SymmetricMechanism
    cap: int | None

    @classmethod
    def of(
        cls, *, epsilon: Rational, delta: Rational, unit: str, first_share: Rational, cap: int | None
    ) -> ReleasePlan:
        """Read the settings of a model; a delta of 0 asks for pure ε."""
        whose = _unit_of(unit)
        if whose.what == "user":
            cap = CAP if cap is None else cap
        elif cap is not None:
            raise UsageError(
                f"cap = {cap!r}: where one rating is the unit nothing is cut; a new one could push an old one out.",
                remedy="Leave cap out, or protect whole users (unit='user').",
            )
        share = as_fraction(first_share, "first_share")
        if not 0 < share < 1:
            raise UsageError(f"first_share = {share} must be between 0 and 1.")
        if as_probability(delta) == 0:
            budget = as_positive(epsilon, "epsilon")
            first, second = LaplaceMechanism(budget * share), LaplaceGramMechanism(budget * (1 - share))
            return cls(whose, 1, Pure(budget), first, second, cap)
        rho = rho_for(epsilon, delta)
        return cls(whose, 2, Concentrated(rho), GaussianMechanism(rho * share), GramMechanism(rho * (1 - share)), cap)

    def bounded(self, data: Interactions) -> BoundedInteractions:
        """One record of each user and item, and for users no more than the cap."""
        if self.cap is not None:
            return cap_items(data, self.cap)
        if data.may_repeat:
            raise UsageError(
                "a user may have several records of one item here; a further one would replace another.",
                remedy="Where one rating is the unit, read the data with duplicates='error' or 'last'.",
            )
        return BoundedInteractions(data, data.n_items, 1, ())

    def check(self, sums: BoundedSums, head: int, *, rated: bool) -> None:
        """Refuse what noise cannot be drawn for, before anything is charged."""
        self.first.check(sums)
        self.second.check(empty_gram(head, rated=rated, unit=self.unit, norm=self.norm, most=self.cap))

    def promise(self, n_items: int, caps: tuple[str, ...]) -> Guarantee:
        """What both releases keep together."""
        more = ("who the users are", "several ratings of one user at once") if self.unit.what == "record" else ()
        return Guarantee(
            loss=self.loss,
            unit=self.unit,
            standing=Standing.PROVED,
            basis=f"noisy item offsets and Gram matrices, docs/proofs/gram.md, {_THEOREMS[self.unit.what, self.norm]}",
            subject=f"a neighbor model of {n_items:,} items",
            caps=caps,
            not_covered=(
                "the public list of items and rating scale",
                "facts about people at large",
                "one's own screen",
                *more,
            ),
            joint=True,
        )


_THEOREMS = {
    ("user", 2): "Theorems 1 to 3",
    ("user", 1): "Theorems 2, 3 and 5",
    ("record", 2): "Theorems 1, 4 and 6",
    ("record", 1): "Theorems 4 to 6",
}


def head_size(first: ItemStatistics, guarantee: Guarantee) -> int:
    """How many items of the largest weight are worth comparing: the square root of the signal times a constant.

    The constants were chosen on MovieLens: more items share the same signal, fewer leave some of it unused.
    """
    if guarantee.unit.what == "record":
        size = 5 * math.sqrt(strength_of(first, guarantee, head=1))
    elif isinstance(guarantee.loss, Pure):
        # Here the signal falls with the size, so size = 8.5·√(signal/size) asks for a third root.
        size = (8.5**2 * strength_of(first, guarantee, head=1)) ** (1 / 3)
    else:
        size = 8.5 * math.sqrt(strength_of(first, guarantee, head=1))
    return min(max(LEAST_HEAD, round(size)), MOST_HEAD)


def strength_of(first: ItemStatistics, guarantee: Guarantee, *, head: int) -> float:
    """Signal over noise: users × the length of a usual user's matrix ÷ the noise on an entry.

    With n items in the head, the weights of ``item_gram`` give a matrix of length 1, 2/n, √n and 1; the noise on an
    entry is taken for the whole budget and for two matrices.
    """
    loss, users = guarantee.loss, first.users
    if isinstance(loss, Pure):
        deviation = math.sqrt(2) / float(loss.epsilon)
        if guarantee.unit.what == "record":
            return users / (3 * deviation)
        return users * 2 / (SHARE_OF_HEAD * head) / (2 * deviation)
    assert isinstance(loss, Concentrated)
    deviation = 1 / math.sqrt(2 * loss.rho)
    if guarantee.unit.what == "user":
        return users / deviation
    records = max(users, float(first.weights.sum()))
    return math.sqrt(users * records) / (math.sqrt(2) * deviation)


def _unit_of(text: str) -> Unit:
    known = {"user": Unit("user"), "rating": Unit("record"), "record": Unit("record")}
    if text not in known:
        raise UsageError(f"unit = {text!r} is not offered.", remedy="Choose 'user' or 'rating'.")
    return known[text]
