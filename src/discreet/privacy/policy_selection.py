"""Discovery with a policy: users spend their weight where it is still needed.

With equal weights most of a user's goes to keys that are far above the threshold anyway. Here users come one after the
other, in an order that nobody can change for the others, and each moves the weights of the user's own keys towards a
goal a few deviations above the threshold. One user more or less still changes the result by at most one user's weight,
because moving towards a goal never brings two points further apart.

References
----------
S. Gopi, P. Gulhane, J. Kulkarni, J. H. Shen, M. Shokouhi, S. Yekhanin: Differentially private set union. ICML 2020
(the policy that they call L2 descent).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.data.id_forms import id_as_text
from discreet.data.ids import IdMap, stable_text
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedInteractions
from discreet.privacy.discovery import gaussian_cutoff, passing_keys, require_once
from discreet.privacy.draws import Spend
from discreet.privacy.losses import Approximate, rho_for
from discreet.privacy.noise import check_variance
from discreet.privacy.numbers import Rational, as_fraction, as_positive, as_probability, sqrt_up

__all__ = ["PolicySelection"]

BITS = 42
"""One user weighs 2^BITS steps: fine enough that the rounding of all steps of 2³¹ users hardly counts."""

MOST_USERS = 2**31
"""More records, let alone users, do not fit into one table."""

MOST_KEYS = 4_000
"""Up to so many keys a user, a computed step is off by less than two grid steps."""


@dataclass(frozen=True)
class PolicySelection:
    """Items that enough weight reaches, with weights that follow what others have already given.

    Parameters
    ----------
    epsilon, delta
        The budget. Half of δ pays for the noise, half for items that one user alone holds.
    reach
        How many deviations of the noise the goal lies above the threshold.

    Notes
    -----
    **Privacy.** Each user holds at most l distinct items. One user more or less changes the vector of weights by at
    most 1 + √l/512 in L2 norm (the second term is what rounding could add up to), so discrete Gaussian noise of
    variance (1 + √l/512)²/(2ρ) keeps ρ-zCDP, ρ the largest that keeps (ε, δ/2). Items that one user alone holds all
    weigh the same, at most 1/√j for j of them, and pass with a chance of δ/2 at most. (ε, δ)-DP for one user, present
    or absent: ``docs/proofs/tagging.md``, Theorem 3. Weights are no numbers of users, and none are released.
    """

    epsilon: Fraction
    delta: Fraction
    reach: Fraction = Fraction(5)
    name: ClassVar[str] = "policy selection"
    theorem: ClassVar[str] = "policy selection, docs/proofs/tagging.md, Theorem 3"

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise UsageError(f"delta = {self.delta} must be above 0 and below 1.", remedy="Choose for example 1e-6.")
        if not 0 <= self.reach <= 100:
            raise UsageError(f"reach = {self.reach} must be a number of deviations from 0 to 100.")

    @classmethod
    def of(cls, *, epsilon: Rational, delta: Rational, reach: Rational = 5) -> PolicySelection:
        return cls(as_positive(epsilon, "epsilon"), as_probability(delta), as_fraction(reach, "reach"))

    @property
    def loss(self) -> Approximate:
        return Approximate(self.epsilon, self.delta)

    def sensitivity(self, cap: int) -> Fraction:
        """What one user can change, in grid steps, L2: 2^b, and 4√l for the rounding of each of 2³¹ users."""
        return 2**BITS + 4 * MOST_USERS * sqrt_up(Fraction(cap), bits=24)

    def variance(self, cap: int) -> Fraction:
        """Of the noise, in squared grid steps."""
        return self.sensitivity(cap) ** 2 / (2 * self._rho)

    @cached_property
    def _rho(self) -> Fraction:
        return rho_for(self.epsilon, self.delta / 2)

    def cutoff(self, cap: int) -> int:
        """The threshold in grid steps: over all j up to l, what j items of weight 2^b/√j do not pass."""
        deviation = sqrt_up(self.variance(cap), bits=4)
        # The tail of the discrete law beyond k is at most the normal tail beyond k − 1.
        cutoffs = (
            1 + gaussian_cutoff(many, deviation, self.delta / 2, weight=2**BITS / math.sqrt(many) * (1 + 1e-9))
            for many in range(1, cap + 1)
        )
        return math.ceil(max(cutoffs))

    def threshold(self, cap: int) -> float:
        """The threshold in units of one user's weight."""
        return self.cutoff(cap) / 2**BITS

    def check(self, data: BoundedInteractions) -> None:
        """Refuse data that nothing can be found in privately: to be called before anything is charged."""
        require_once(data)
        if data.most_records > MOST_KEYS:
            raise UsageError(f"a cap above {MOST_KEYS:,} is not offered here.", remedy="Choose a smaller cap.")
        check_variance(self.variance(data.most_records))

    def weights(self, data: BoundedInteractions) -> NDArray[np.int64]:
        """The weight of every item before noise, in grid steps: secret."""
        from discreet.privacy.policy_kernels import descend

        cap = data.most_records
        goal = self.cutoff(cap) + math.ceil(self.reach * sqrt_up(self.variance(cap), bits=4))
        records = data.records
        starts = np.concatenate([[0], np.cumsum(records.records_per_user)]).astype(np.int64)
        order = _own_order(records.users)
        return descend(order, starts, records.item, records.n_items, goal, 2**BITS)

    def release(self, data: BoundedInteractions) -> tuple[NDArray[np.int64], None]:
        """Codes of the items that pass. Charge the ledger first."""
        self.check(data)
        # An item that somebody holds has a weight above 0, so the ones with a weight are the ones that occur.
        cap, spend = data.most_records, Spend(self.name, self.loss)
        items, weights = data.records.items, self.weights(data)
        return passing_keys(items, weights, "gaussian", self.variance(cap), self.cutoff(cap), spend)[0], None


def _own_order(users: IdMap) -> NDArray[np.int64]:
    """Users by the text of their ids: by codes, one id of another type could put the others in a new order."""
    keys = [(id_as_text(user) or stable_text(user), type(user).__name__) for user in users.ids()]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)
