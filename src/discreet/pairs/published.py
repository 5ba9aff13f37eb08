"""Slope One and co-purchase cosine as Park and Acharya make them private.

References
----------
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. Project
report, University of Texas at Austin, 2011 (Theorems 3.1 and 3.2).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from discreet.common.arguments import require_whole
from discreet.common.arrays import Codes, Floats, Integers, Mask
from discreet.common.remedies import DECLARE_SCALE
from discreet.data.interactions import Interactions
from discreet.errors import Remedy, UsageError
from discreet.models.published_model import PublishedModel
from discreet.pairs.copurchase import CoPurchaseCosine
from discreet.pairs.published_claims import OutputClaim, OutputCost, cosine_claim, slope_claim
from discreet.pairs.slope_one import SlopeOne
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.numbers import Rational, as_fraction, as_positive
from discreet.privacy.published_draws import laplace

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["PublishedCosine", "PublishedOutputs", "PublishedSlopeOne"]


class PublishedOutputs(PublishedModel):
    """A plain model whose every output gets Laplace noise of scale Δf/ε when it is first asked for.

    An output that was drawn stays: asking again gives the same number. A loaded model draws anew.
    """

    epsilon: Rational
    least_ratings: int

    @abstractmethod
    def _claim(self) -> OutputClaim:
        """The theorem, with these settings."""

    def sensitivity(self) -> Fraction:
        """Δf as the theorem has it."""
        return self._claim().sensitivity

    def cost(self, outputs: int) -> OutputCost:
        """What so many outputs spend: as claimed for each, and as far as it is known to be true."""
        return self._claim().cost(outputs)

    def _claimed(self) -> Guarantee:
        return self._claim().guarantee()

    @abstractmethod
    def _outputs(self, rows: csr_array) -> Floats:
        """f of every item for each history, without noise."""

    @abstractmethod
    def _output(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        """f of some items, without noise."""

    def __post_init__(self) -> None:
        as_positive(self.epsilon, "epsilon")
        require_whole(self.least_ratings, "least_ratings")

    def _check(self, data: Interactions) -> None:
        """Any data will do."""

    # Using

    def _score(self, rows: csr_array) -> Floats:
        scores = self._answers.all(self._people(rows), lambda asking: self._noisy(self._outputs(rows[asking])))
        return np.where(self._served(rows)[:, None], scores, -np.inf)

    def _drawn(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        """Noisy outputs of some items; NaN for people with too few ratings."""
        people = self._people(rows)
        found = self._answers.some(
            [people[r] for r in row.tolist()],
            item,
            lambda places: self._noisy(self._output(rows, row[places], item[places])),
        )
        return np.where(self._served(rows)[row], found, np.nan)

    def _noisy(self, outputs: Floats) -> Floats:
        return outputs + laplace(np.full(outputs.shape, float(self.sensitivity() / as_positive(self.epsilon))))

    def _served(self, rows: csr_array) -> Mask:
        """Who has ratings enough to be recommended anything."""
        return np.diff(rows.indptr) >= self.least_ratings


@dataclass
class PublishedSlopeOne(PublishedOutputs):
    """Slope One with Laplace noise of scale Δf/ε on every prediction, Δf by Theorem 3.1. **The theorem is false.**

    Parameters
    ----------
    epsilon
        The budget, as the paper counts: for each single prediction.
    least_ratings
        T: predictions are made for people with at least so many ratings.
    minimum_overlap
        φ_m: a difference counts as 0 unless more than so many people rated both items.
    rating_range
        Δr; None for the width of the public scale. The paper takes 5 for ratings from 1 to 5.

    Privacy
    -------
    Claimed: ε for one prediction and one rating, present or absent. Refuted: at the paper's own T = 20, φ_m = 10 and
    Δr = 5 one more rating can move a prediction by 5, not by 0.5, which costs 10·ε; an item that somebody rates crosses
    the threshold φ_m with all others at once. What holds: where it is public who rated what, and only the *value* of
    one rating is secret, a single prediction moves by at most max(Δr/T, Δr/(φ_m + 1)), so the noise is enough for one
    prediction. Every further prediction costs as much again (``cost``), and a list of recommendations is made of as
    many as there are items.

    Notes
    -----
    Equations 4 to 6 as they are printed; people with fewer than T ratings get no answer.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=60, items=20, seed=7)
    >>> model = PublishedSlopeOne(epsilon=1, least_ratings=3).fit(films, allow_refuted=True)
    >>> model.guarantee.standing.name
    'REFUTED'
    >>> print(PublishedSlopeOne(epsilon=1, rating_range=5).cost(20))
    20 outputs: claimed ε = 20; at most ε = 200/11 for one record, with any other value (that it exists is public);
    up to ε = 200 for one record, present or absent
    """

    name: ClassVar[str] = "published-slope-one"

    epsilon: Rational
    least_ratings: int = 20
    minimum_overlap: int = 10
    rating_range: Rational | None = None

    def _claim(self) -> OutputClaim:
        epsilon = as_positive(self.epsilon, "epsilon")
        return slope_claim(epsilon, self.least_ratings, self.minimum_overlap, self._span())

    def _span(self) -> Fraction:
        if self.rating_range is not None:
            return as_positive(self.rating_range, "rating_range")
        if not hasattr(self, "_width"):
            raise UsageError(
                "Δr is the width of the scale, which is known after fitting.",
                remedy=Remedy("Give rating_range=.", cli="Give --option rating_range=…."),
            )
        return self._width

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(self.minimum_overlap, "minimum_overlap", least=1)
        if self.rating_range is not None:
            as_positive(self.rating_range, "rating_range")

    def _check(self, data: Interactions) -> None:
        if data.rating is None or data.scale is None:
            raise UsageError("Slope One needs ratings on a public scale.", remedy=DECLARE_SCALE)
        self._width = data.scale.width
        if self.rating_range is not None and as_fraction(self.rating_range, "rating_range") < self._width:
            raise UsageError(
                f"rating_range = {self.rating_range} is less than the scale {data.scale} is wide.",
                remedy="Leave it out, or take the paper's 5 for ratings from 1 to 5.",
            )

    def _learn(self, data: Interactions) -> None:
        assert data.scale is not None
        self._width = data.scale.width
        self._plain = SlopeOne(minimum_overlap=self.minimum_overlap).fit(data)
        self._range = (float(data.scale.low), float(data.scale.high))

    def _outputs(self, rows: csr_array) -> Floats:
        return self._plain._score(rows)

    def _output(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        return self._plain.predicted(rows, row, item)

    def _rate(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        return np.clip(self._drawn(rows, row, item), *self._range)


@dataclass
class PublishedCosine(PublishedOutputs):
    """Co-purchase cosine with Laplace noise of scale 2/(T·ε) on every estimate. **Theorem 3.2 is false.**

    Parameters
    ----------
    epsilon
        The budget, as the paper counts: for each single estimate.
    least_ratings
        T: estimates are made for people with at least so many purchases.

    Privacy
    -------
    Claimed: ε for one estimate and one purchase, present or absent. Refuted: the proof forgets that somebody else can
    buy the very item that the estimate is about. Where one of two buyers of the same T items buys it first, the
    estimate goes from 0 to 1/√2, whatever T; at T = 20 that costs 7.07·ε. Only for T of 1 or 2 is the noise enough, and
    then for one estimate; every further one costs as much again (``cost``).

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=60, items=20, seed=7)
    >>> model = PublishedCosine(epsilon=1, least_ratings=3).fit(films, allow_refuted=True)
    >>> model.guarantee.standing.name
    'REFUTED'
    """

    name: ClassVar[str] = "published-cosine"

    epsilon: Rational
    least_ratings: int = 20

    def _claim(self) -> OutputClaim:
        return cosine_claim(as_positive(self.epsilon, "epsilon"), self.least_ratings)

    def _learn(self, data: Interactions) -> None:
        self._plain = CoPurchaseCosine().fit(data)
        self._rated = data.rating is not None

    def _outputs(self, rows: csr_array) -> Floats:
        return self._plain.estimates(rows)

    def _output(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        return self._plain.predicted(rows, row, item)

    def _rate(self, rows: csr_array, row: Integers, item: Codes) -> Floats:
        """Estimates of purchases; nothing is predicted about ratings."""
        return np.full(item.size, np.nan) if self._rated else np.clip(self._drawn(rows, row, item), 0, 1)
