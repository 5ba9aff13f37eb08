"""The counting methods of Fan and Jin: LPA, SRA and HPA, with public numbers and as published.

References
----------
L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from discreet.counting.cells import Cells, Level, best_records, fresh_key
from discreet.counting.counts import Cap, CountMethod, normalize
from discreet.counting.own_scores import Score, check_score, own_scores, score_name
from discreet.counting.profiles import (
    Expectation,
    NoisyPopularity,
    Profile,
    expected_by_popularity,
    expected_sample,
    expected_within,
)
from discreet.data.contexts import TYPES_OF_TABLE
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.guarantees import Standing
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.method import Plan, Round, Rounds, settings_as_json
from discreet.privacy.numbers import Rational

__all__ = ["HPA", "LPA", "SRA", "PublishedCounts", "fewest_records", "most_records"]

OWN_SCORE = "records chosen by a score of each user's own records, docs/proofs/counting.md, Theorem 13"
COUNTED_IN_FULL = ("all records of each user were counted",)


class PublishedCounts(CountMethod):
    """A method of a paper: proved with a public cap, refuted with one that is read from the records ("data").

    Attributes
    ----------
    counterexample
        Why the guarantee does not hold as published.
    from_data
        The setting that may be "data". Its sums do not add up over parts of the users.
    """

    counterexample: ClassVar[str] = ""
    from_data: ClassVar[str] = "cap"

    def __post_init__(self) -> None:
        normalize(self, unchecked=() if self._is_public else (self.from_data,))

    @property
    def _is_public(self) -> bool:
        return getattr(self, self.from_data) != "data"

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        """Records weighed to at most the cap; or in full, with the largest number that a user has for a bound."""
        cap: Cap = getattr(self, "cap", "data")
        if cap == "data":
            return cells.counts(level, most_records(cells), caps=COUNTED_IN_FULL)
        return cells.within(level, cap, 1)

    @property
    def _basis(self) -> str:
        return self.proof if self._is_public else self.counterexample

    @property
    def _standing(self) -> Standing:
        return Standing.PROVED if self._is_public else Standing.REFUTED

    def _noise(self, cells: Cells) -> dict[str, float]:
        """Where the records set the noise nothing can be said before."""
        return super()._noise(cells) if self._is_public else {}


def most_records(cells: Cells) -> int:
    """M = max|T_u|: a fact about one person. At least 1, so that there is noise at all."""
    return max(1, int(cells.records_per_user.max(initial=1)))


def fewest_records(cells: Cells) -> int:
    """d = min|T_u| over users who have records: a fact about one person."""
    counts = cells.records_per_user
    return int(counts[counts > 0].min()) if counts.any() else 1


@dataclass(frozen=True)
class LPA(PublishedCounts):
    """Noise of scale M/ε on every count.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        M. A public number: the total weight of each user is at most M. ``"data"``: the largest number of records that a
        user has, as in the paper; all records count in full, and the guarantee is refuted.
    item_share
        Share of the budget for the counts of items where there are contexts; the rest goes to the edges.

    Privacy
    -------
    Unit: one user, present or absent. With a public M a user's weights add up to at most M, in the counts of items as
    in those of edges, so discrete Laplace noise of scale M/ε₁ and M/ε₂ spends ε₁ + ε₂ (``docs/proofs/counting.md``,
    Theorem 4). With M from the records the scale of the noise shows who is in the data.

    Notes
    -----
    ``ItemCounts`` is the same with both lists made consistent.

    References
    ----------
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (Sections 3.2 and 6).

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> LPA(epsilon=1, cap="data").plan(shop).standing.value
    'refuted'
    """

    name: ClassVar[str] = "lpa"
    proof: ClassVar[str] = "weighted counts with discrete Laplace noise, docs/proofs/counting.md, Theorem 4"
    counterexample: ClassVar[str] = (
        "M = max|T_u| is read from the records: one more user with 100 records makes an output above 60 likely (0.67) "
        "that had a chance of 1e-26, tests/refutations/test_counting.py"
    )

    epsilon: Rational
    cap: Cap = 30
    item_share: Rational = "1/2"

    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        return expected_within(cells, level, profile, None if self.cap == "data" else self.cap)


@dataclass(frozen=True)
class SRA(CountMethod):
    """Counts over a random choice of ``cap`` records of each user, with discrete Laplace noise.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        The sampling factor l: the most records of one user that are counted; public.
    item_share
        Share of the budget for the counts of items where there are contexts; the rest goes to the edges.

    Privacy
    -------
    Unit: one user, present or absent. Released: a noisy count for every item of the catalog, and for every item in
    every context, both over *one* sample. One user changes either list by at most ``cap`` in L1, so noise of scale
    cap/ε₁ on items and cap/ε₂ on edges spends ε₁ + ε₂ on the pair. The published proof composes two mechanisms that
    share the sample, which proves nothing; the pair is private all the same (``docs/proofs/counting.md``, Theorem 2).
    Not covered: the catalog and the values of the contexts, which are public.

    Notes
    -----
    The counts are of the sample: those of items that belong to users over the cap come out too low.

    References
    ----------
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (Algorithm 1).

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> method = SRA(epsilon=1, cap=1)
    >>> round(method.estimate(shop)["noise_sd"], 3)
    1.357
    >>> method.release(shop).table("counts").columns
    ['item_id', 'count']
    """

    name: ClassVar[str] = "sra"
    proof: ClassVar[str] = "counts of one sample with discrete Laplace noise, docs/proofs/counting.md, Theorem 2"

    epsilon: Rational
    cap: int = 30
    item_share: Rational = "1/2"

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        """The counts of a sample."""
        return cells.counts(level, self.cap, caps=(f"each user's records were cut to {self.cap} at random",))

    def _rounds(self, plan: Plan) -> Rounds:
        key = fresh_key()

        def sampled(records: Cells) -> Cells:
            return records.keep(best_records(records, self.cap, key=key))

        return self._parts(plan, (yield from self._noisy(plan.public, sampled)))

    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        return expected_sample(cells, level, profile, self.cap)


@dataclass(frozen=True)
class HPA(PublishedCounts):
    """Counts over the ``cap`` most useful records of each user, by a popularity released before or a score.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        The most records of one user that are counted; public.
    first
        The number d of records of each user, chosen at random, that popularity is estimated from; public. With
        ``"data"`` it is the smallest number of records that a user has, as in the paper: that guarantee is refuted.
    first_share
        Share of the budget for the popularity.
    item_share
        Share of what is left for the counts of items where there are contexts; the rest goes to the edges.
    score
        The paper's "utility of each record", where it is not popularity: the name of a column ("rating", "timestamp" or
        a context, values read as numbers), or a function that is given one person's records at a time, as a polars
        table, and returns one number for each. The highest ones are counted, ties at random. No popularity is released
        then, and the counts have the whole budget; ``first`` and ``first_share`` are not used. A function must follow
        from its argument alone. If it fails for a person, or returns something else than one number for each record,
        this person's records are chosen at random.

    Privacy
    -------
    Unit: one user, present or absent. Released: noisy counts of ``first`` random records of each user (noise of scale
    d/ε₀), then noisy counts of items and edges over the chosen records (cap/ε₁, cap/ε₂). *Given* the released
    popularity the choice treats every user alone, so the second release spends ε₁ + ε₂ whatever the first one was, and
    the whole ε₀ + ε₁ + ε₂ (``docs/proofs/counting.md``, Theorem 3). Ties, and everything that is estimated at 0 or
    less, are chosen at random. With ``score`` the choice follows from each user's own records, and the counts alone are
    released: ε₁ + ε₂ (Theorem 13). Not covered: the catalog and the values of the contexts, which are public, and what
    a function knows besides the records that it is given.

    Notes
    -----
    Counts of unpopular items come out far too low. An estimate for a ``score`` of one's own assumes a random choice.

    References
    ----------
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (Algorithm 2).

    Examples
    --------
    >>> import discreet as dc
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> release = HPA(epsilon=1, cap=1, first=1).release(shop)
    >>> release.array("popularity").shape
    (3,)
    >>> shop = dc.Interactions([("ann", "tea", 2), ("ann", "rum", 5)], items=["tea", "rum"], scale=(1, 5))
    >>> HPA(epsilon=1000, cap=1, score="rating").release(shop).table("counts").rows()
    [('rum', 1.0), ('tea', 0.0)]
    >>> HPA(epsilon=1000, cap=1, score=lambda own: -own["rating"]).release(shop).table("counts").rows()
    [('rum', 0.0), ('tea', 1.0)]
    """

    name: ClassVar[str] = "hpa"
    proof: ClassVar[str] = "records chosen by a released popularity, docs/proofs/counting.md, Theorem 3"
    counterexample: ClassVar[str] = (
        "d = min|T_u| is read from the records: one more user with a single record takes the noise on the popularity "
        "from scale 20/ε₀ to 1/ε₀, tests/refutations/test_counting.py"
    )
    from_data: ClassVar[str] = "first"

    epsilon: Rational
    cap: int = 30
    first: Cap = 1
    first_share: Rational = "1/10"
    item_share: Rational = "1/2"
    score: Score | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.score is not None and not (callable(self.score) or (isinstance(self.score, str) and self.score)):
            raise UsageError(f"score must be the name of a column or a function, got {self.score!r}.")

    @property
    def parameters(self) -> dict[str, Any]:
        known = settings_as_json(replace(self, score=None))
        return known if self.score is None else {**known, "score": score_name(self.score)}

    @property
    def _is_public(self) -> bool:
        return self.score is not None or super()._is_public

    @property
    def _basis(self) -> str:
        return super()._basis if self.score is None else OWN_SCORE

    @property
    def _popularity(self) -> AdditiveMechanism:
        return self._budget.part(self.first_share).for_sums()

    @property
    def _counts_budget(self) -> Budget:
        return self._budget.rest(self.first_share) if self.score is None else self._budget

    def _first(self, cells: Cells) -> int:
        return fewest_records(cells) if self.first == "data" else self.first

    def _first_sums(self, sample: Cells, first: int) -> BoundedSums:
        if self.first == "data":
            how = "popularity was estimated from as many of each user's records as the least active one has"
        else:
            how = f"popularity was estimated from at most {first} of each user's records"
        return sample.counts("items", first, caps=(how,))

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        """The counts of the chosen records."""
        which = "of the items estimated to be most popular"
        if self.score is not None:
            which = f"with the highest score of the user's own ({score_name(self.score)})"
        return cells.counts(level, self.cap, caps=(f"each user's records were cut to the {self.cap} {which}",))

    def _caps(self, cells: Cells) -> tuple[str, ...]:
        if self.score is not None:
            return super()._caps(cells)
        return (*self._first_sums(cells, self._first(cells)).caps, *super()._caps(cells))

    def _plan(self, public: Cells) -> Plan:
        plan = super()._plan(public)
        if self.score is None:
            return plan
        assert public.data is not None
        check_score(self.score, public.data)
        if isinstance(self.score, str):
            unseen = (TYPES_OF_TABLE,) if self.score in public.data.typed_columns else ()
        else:
            unseen = ("what the score function knows besides one person's records", TYPES_OF_TABLE)
        return replace(plan, not_covered=tuple(dict.fromkeys([*plan.not_covered, *unseen])))

    def _drawn_noise(self, cells: Cells) -> dict[str, float]:
        if self.score is not None:
            return super()._drawn_noise(cells)
        first = self._first_sums(cells, self._first(cells))
        self._popularity.check(first)
        return {**super()._drawn_noise(cells), "popularity_noise_sd": self._popularity.standard_deviation(first)}

    def _rounds(self, plan: Plan) -> Rounds:
        return self._by_popularity(plan) if self.score is None else self._by_own_score(plan, self.score)

    def _by_own_score(self, plan: Plan, score: Score) -> Rounds:
        key = fresh_key()

        def chosen(records: Cells) -> Cells:
            own = own_scores(records, score, self.cap)
            return records.keep(best_records(records, self.cap, key=key, own=own))

        return self._parts(plan, (yield from self._noisy(plan.public, chosen)))

    def _by_popularity(self, plan: Plan) -> Rounds:
        first_key, key = fresh_key(), fresh_key()

        def first_sums(records: Cells) -> BoundedSums:
            first = self._first(records)
            return self._first_sums(records.keep(best_records(records, first, key=first_key)), first)

        popularity = yield Round(first_sums, self._popularity)
        # Normalizing would not change the order; where all are 0 or less, all scores are 0 and the choice is random.
        scores = np.maximum(popularity, 0)

        def chosen(records: Cells) -> Cells:
            return records.keep(best_records(records, self.cap, scores, key))

        return self._parts(plan, (yield from self._noisy(plan.public, chosen)), popularity=popularity)

    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        if self.score is not None:
            return expected_sample(cells, level, profile, self.cap)
        first = 1 if self.first == "data" else self.first
        noise = self._popularity.standard_deviation(self._first_sums(cells, first))
        return expected_by_popularity(cells, level, profile, self.cap, NoisyPopularity(first, noise))
