"""PTR-J: sums about tags are released, and everybody's own tags complete them on that person's side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.numbers import Rational, as_fraction, as_positive, as_probability
from discreet.privacy.units import Unit
from discreet.tagging.tag_budget import TagBudget
from discreet.tagging.tag_release import (
    STATISTICS,
    Parts,
    TagMethod,
    TagPlan,
    require_resources,
    require_vocabulary,
)
from discreet.tagging.tag_sums import Links, noisy_links, one_assignment, popularity, tag_gram

__all__ = ["PTRJ"]

FALSE_LINKS = 0.1
"""So many links of a resource are expected to be nothing but noise: that sets the threshold."""

Protected = Literal["user", "assignment"]


@dataclass(frozen=True)
class PTRJ(TagMethod):
    """Noisy popularity of tags, tags of resources and, if asked for, tags that go together.

    The result is a release of sums; ``LocalTags`` makes recommendations of it, together with the tags of the person
    who asks, which stay where they are.

    Parameters
    ----------
    epsilon, delta
        The budget. For users with δ = 0 the noise is Laplace's, and more of it. For assignments it is always Laplace's,
        which is less there, and δ is not spent.
    unit
        What is protected: ``"user"``, everything that one person tagged, or ``"assignment"``, one tag that one person
        gave to one resource. The latter takes far less noise and promises far less.
    popularity_share
        Share of the budget for the popularity of tags and, for users, of resources.
    gram_share
        Share for the matrix of tags that go together; for users only.
    head
        How many of the most popular tags that matrix is about.
    resources
        For users: of how many of the most popular resources the tags are counted. 0 spends nothing on resources, and
        needs no public list of them. For assignments the tags of all resources are counted.

    Privacy
    -------
    *User*: one user, present or absent. (1) Popularity: a user's tags and resources, each once, have length 1 together.
    (2) Gram matrix over the head: a user's pairs of tags have length 1. (3) Links: a user's triples with the head of
    resources have length 1. Heads are functions of what was released before. Noise of deviation 1/μₖ on everything,
    Σ μₖ² = μ²: μ-GDP, which keeps (ε, δ) (``docs/proofs/tagging.md``, Theorem 5). Lengths are in L2; with δ = 0 they
    are in L1, and the noise is discrete Laplace of scale 1/εₖ.

    *Assignment*: one triple, present or absent. It adds 1 to the count of its tag and 1 to one cell of resources ×
    tags; discrete Laplace noise of scale 1/ε₁ and 1/ε₂ spends ε₁ + ε₂ = ε (Theorem 6).

    Recommendations use a person's own triples beside the release: a promise against all others together.

    Notes
    -----
    Every cell of resources × tags gets noise; those above a public threshold, which noise alone passes in 0.1 cells of
    a resource, are released as links. At the level of users only the tags of the hundred resources that most people
    tag are counted, because a user's triples then weigh more. Links pay where one in five people tags the same
    resources; where the most popular one has 4 % of 1,900 users, as in the built-in world after Last.fm, nearly all of
    the gain over one's own tags is due to popularity, whatever ε.

    References
    ----------
    M. Kearns, M. Pai, A. Roth, J. Ullman: Mechanism design in large games: incentives and privacy. ITCS 2014 (joint
    differential privacy).

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.synthetic.tags(users=300, resources=40, seed=7).cleaned()
    >>> data = data.with_vocabulary("observed").with_resources("observed")
    >>> release = PTRJ.of(epsilon=2, delta="1e-6").release(data)
    >>> sorted(release.parts)
    ['links', 'resources', 'tags']
    >>> release.table("tags").columns
    ['tag', 'count']
    """

    name: ClassVar[str] = "ptr-j"
    kind: ClassVar[str] = STATISTICS

    epsilon: Fraction
    delta: Fraction
    unit: Protected = "user"
    popularity_share: Fraction = Fraction(1, 2)
    gram_share: Fraction = Fraction(0)
    head: int = 100
    resources: int = 100

    @classmethod
    def of(
        cls,
        *,
        epsilon: Rational,
        delta: Rational,
        unit: Protected = "user",
        popularity_share: Rational | None = None,
        gram_share: Rational = 0,
        head: int = 100,
        resources: int = 100,
    ) -> PTRJ:
        """The method with plain numbers; popularity gets 1/2 of the budget, for single assignments 1/20."""
        usual = Fraction(1, 2) if unit == "user" else Fraction(1, 20)
        return cls(
            as_positive(epsilon, "epsilon"),
            as_probability(delta),
            unit,
            usual if popularity_share is None else as_fraction(popularity_share, "popularity_share"),
            as_fraction(gram_share, "gram_share"),
            head,
            resources,
        )

    @property
    def _budget(self) -> TagBudget:
        # One assignment moves two counts by 1: that takes less Laplace noise than normal noise, at every ε of use.
        return TagBudget(self.epsilon, self.delta if self.unit == "user" else Fraction(0))

    @property
    def _has_links(self) -> bool:
        return self.unit == "assignment" or self.resources > 0

    @property
    def _shares(self) -> tuple[Fraction, Fraction, Fraction]:
        """Of popularity, Gram matrix and links; without links popularity takes what is left."""
        if not self._has_links:
            return 1 - self.gram_share, self.gram_share, Fraction(0)
        return self.popularity_share, self.gram_share, 1 - self.popularity_share - self.gram_share

    def _require(self, data: TagAssignments) -> None:
        self._check()
        require_vocabulary(data, self.name)
        if self._has_links:
            require_resources(data, self.name)

    def _check(self) -> None:
        if self.unit not in ("user", "assignment"):
            raise UsageError(f"unit={self.unit!r}?", remedy="Choose 'user' or 'assignment'.")
        if self.unit == "assignment" and self.gram_share:
            raise UsageError(
                "which tags go together is a fact about users: one assignment changes all pairs of its user.",
                remedy="Leave gram_share at 0, or protect users.",
            )
        for name, least in (("head", 1), ("resources", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(f"{name} = {value!r} must be a whole number from {least}.")
        shares = self._shares
        wrong = shares[0] <= 0 or shares[1] < 0 or (self._has_links and shares[2] <= 0)
        if wrong:
            raise UsageError(
                f"popularity_share = {self.popularity_share} and gram_share = {self.gram_share} leave one of the "
                "releases without a budget.",
                remedy="Choose shares from 0 up that add up to less than 1, that of popularity above 0.",
            )

    def _plan(self, public: TagAssignments) -> TagPlan:
        budget, (first, gram_share, rest) = self._budget, self._shares
        sums = self._popularity(public)
        caps = sums.caps
        mechanism = budget.additive(first)
        mechanism.check(sums)
        expected: dict[str, Any] = {"popularity_noise_sd": mechanism.standard_deviation(sums)}
        if gram_share:
            gram = tag_gram(public, np.arange(min(self.head, public.n_tags)), budget.order)
            budget.gram(gram_share).check(gram)
            expected["gram_noise_sd"] = budget.gram_noise(gram_share, gram)
            caps += gram.caps
        if rest:
            links = self._links(public, np.arange(min(self.resources, public.n_resources)))
            mechanism = budget.additive(rest)
            mechanism.check(links.bounds)
            expected["link_noise_sd"] = mechanism.standard_deviation(links.bounds)
            expected["link_threshold"] = least_link(mechanism, links)
            caps += links.bounds.caps
        user = self.unit == "user"
        return TagPlan(
            loss=budget.loss,
            unit=Unit("user") if user else Unit("record"),
            basis=f"noisy sums about tags, docs/proofs/tagging.md, Theorem {5 if user else 6}",
            subject=f"noisy sums about {public.n_tags:,} tags",
            caps=caps,
            not_covered=_not_covered(user, self._has_links),
            expected=expected,
        )

    def _popularity(self, data: TagAssignments) -> BoundedSums:
        if self.unit == "assignment":
            return one_assignment(np.bincount(data.tag, minlength=data.n_tags))
        return popularity(data, self._budget.order, resources=self._has_links)

    def _links(self, data: TagAssignments, resources: NDArray[np.int64]) -> Links:
        if self.unit == "assignment":
            return Links.of_assignments(data)
        return Links.of_users(data, resources, self._budget.order)

    def _make(self, data: TagAssignments) -> Parts:
        budget, (first, gram_share, rest) = self._budget, self._shares
        sums = self._popularity(data)
        noisy = budget.additive(first).release(sums).astype(np.float64) * float(sums.step)
        tags = noisy[: data.n_tags]
        parts: dict[str, pl.DataFrame | NDArray[Any]] = {"tags": pl.DataFrame({"tag": data.tags.series, "count": tags})}
        if gram_share:
            head = best(tags, self.head)
            (matrix,) = budget.gram(gram_share).release(tag_gram(data, head, budget.order))
            parts |= {"head": pl.DataFrame({"tag": data.tags.take(head)}), "gram": matrix}
        if rest:
            chosen = np.empty(0, dtype=np.int64)
            if self.unit == "user":
                popular = noisy[data.n_tags :]
                chosen = best(popular, self.resources)
                parts["resources"] = pl.DataFrame({"resource_id": data.resources.series, "count": popular})
            links = self._links(data, chosen)
            mechanism = budget.additive(rest)
            least = math.ceil(least_link(mechanism, links) / float(links.bounds.step))
            resource, tag, value = noisy_links(links, mechanism, least)
            parts["links"] = pl.DataFrame(
                {
                    "resource_id": data.resources.take(resource),
                    "tag": data.tags.take(tag),
                    "count": value * float(links.bounds.step),
                }
            )
        return parts


def least_link(mechanism: AdditiveMechanism, links: Links) -> float:
    """The threshold, in units of the sums, that noise alone passes in FALSE_LINKS cells of a resource on average."""
    return mechanism.interval(links.bounds, 1 - 2 * FALSE_LINKS / max(links.n_tags, 1))


def best(values: NDArray[np.float64], many: int) -> NDArray[np.int64]:
    """Codes of the ``many`` largest released values, in the order of the codes."""
    return np.sort(np.argsort(-values, kind="stable")[:many])


def _not_covered(user: bool, resources: bool) -> tuple[str, ...]:
    lists = "the public list of tags" + (" and that of resources" if resources else "")
    if user:
        return lists, "facts about people at large"
    return (
        lists,
        "that a person takes part, and what many tags of one person tell together: this hides whether you gave one tag "
        "to one resource, not your tags as a whole",
        "facts about people at large",
    )
