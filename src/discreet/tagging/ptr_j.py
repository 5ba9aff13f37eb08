"""PTR-J: sums about tags are released, and each person's own tags are added on that person's side."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from discreet.common.arguments import require_choice, require_whole
from discreet.common.arrays import Integers
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.method import Plan, Round, Rounds, Sums
from discreet.privacy.numbers import Rational
from discreet.privacy.units import Unit
from discreet.tagging.sums import ASSIGNMENT, CELLS_AT_ONCE, USER, LinkTable, best, popularity, tag_gram, unit_counts
from discreet.tagging.tag_method import STATISTICS, PublicList, TagMethod, id_columns

__all__ = ["PTRJ"]

FALSE_LINKS = 0.1
"""How many links of a resource are expected to be noise alone: this sets the threshold."""

Protected = Literal["user", "assignment"]


@dataclass(frozen=True)
class PTRJ(TagMethod):
    """Noisy popularity of tags, tags of resources and, if asked for, tags that go together.

    The result is a release of sums. ``recommender`` makes recommendations from it, together with the tags of the person
    who asks, which stay on that person's side.

    Parameters
    ----------
    epsilon, delta
        The budget. With δ = 0 the noise is Laplace noise, which for users is larger. For assignments it is always
        Laplace noise, which is smaller there, and δ is not spent.
    unit
        What is protected: ``"user"``, everything that one person tagged, or ``"assignment"``, one tag that one person
        gave to one resource. The latter needs far less noise and guarantees far less.
    popularity_share
        Share of the budget for the popularity of tags and, for users, of resources. None for 1/2, and for 1/20 with
        assignments.
    gram_share
        Share for the matrix of tags that go together; for users only.
    head
        How many of the most popular tags that matrix is about.
    resources
        For users: how many of the most popular resources have their tags counted. 0 spends nothing on resources, and
        needs no public list of them. For assignments the tags of all resources are counted.

    Privacy
    -------
    *User*: one user, present or absent. (1) Popularity: a user's tags and resources, each once, have length 1 together.
    (2) Gram matrix over the head: a user's pairs of tags have length 1. (3) Links: a user's triples with the head of
    resources have length 1. Heads are functions of what was released before. Noise of deviation 1/μₖ on everything,
    Σ μₖ² = μ²: μ-GDP, which gives (ε, δ) (``docs/proofs/tagging.md``, Theorem 5). Lengths are in L2; with δ = 0 they
    are in L1, and the noise is discrete Laplace of scale 1/εₖ.

    *Assignment*: one triple, present or absent. It adds 1 to the count of its tag and 1 to one cell of resources ×
    tags; discrete Laplace noise of scale 1/ε₁ and 1/ε₂ spends ε₁ + ε₂ = ε (Theorem 6).

    Recommendations use a person's own triples beside the release: the guarantee holds against all others together.

    Notes
    -----
    Every cell of resources × tags gets noise. Those above a public threshold, which noise alone exceeds in 0.1 cells of
    a resource, are released as links. For users only the tags of the hundred most popular resources are counted,
    because a user's triples then have larger weights. Links help where one in five people tags the same resources.
    Where the most popular one has 4 % of 1,900 users, as in the synthetic Last.fm data, nearly all of the gain over
    one's own tags is due to popularity, at every ε.

    References
    ----------
    M. Kearns, M. Pai, A. Roth, J. Ullman: Mechanism design in large games: incentives and privacy. ITCS 2014 (joint
    differential privacy).

    Examples
    --------
    >>> import discreet as dc
    >>> data = dc.synthetic.tags(users=300, resources=40, seed=7).cleaned()
    >>> data = data.with_vocabulary("observed").with_resources("observed")
    >>> release = PTRJ(epsilon=2, delta="1e-6").release(data)
    >>> sorted(release.parts)
    ['links', 'resources', 'tags']
    >>> release.table("tags").columns
    ['tag', 'count']
    """

    name: ClassVar[str] = "ptr-j"
    kind: ClassVar[str] = STATISTICS
    adds: ClassVar[Mapping[str, tuple[str, ...]]] = {"tags": ("popularity_noise_sd",)}

    epsilon: Rational
    delta: Rational = 0
    unit: Protected | Unit = "user"
    popularity_share: Rational | None = None
    gram_share: Rational = 0
    head: int = 100
    resources: int = 100

    def __post_init__(self) -> None:
        if isinstance(self.unit, Unit):
            words = {USER: "user", ASSIGNMENT: "assignment"}
            object.__setattr__(self, "unit", words.get(self.unit, self.unit.code))
        require_choice(self.unit, "unit", ("user", "assignment"))
        if self.popularity_share is None:
            object.__setattr__(self, "popularity_share", Fraction(1, 2) if self._hides_users else Fraction(1, 20))
        self._set_exact("popularity_share", "gram_share")
        require_whole(self.head, "head")
        require_whole(self.resources, "resources", least=0)
        if not self._hides_users and self.gram_share:
            raise UsageError(
                "which tags go together is a fact about users: one assignment changes all pairs of its user.",
                remedy="Leave gram_share at 0, or protect users.",
            )
        shares = self._shares
        if min(shares.values()) < 0 or "popularity" not in shares or (self._has_links and "link" not in shares):
            raise UsageError(
                f"popularity_share = {self.popularity_share} and gram_share = {self.gram_share} leave one of the "
                "releases without a budget.",
                remedy="Choose shares from 0 up that add up to less than 1, that of popularity above 0.",
            )

    @property
    def _hides_users(self) -> bool:
        return self.unit == "user"

    @property
    def _unit(self) -> Unit:
        return USER if self._hides_users else ASSIGNMENT

    @property
    def _has_links(self) -> bool:
        return not self._hides_users or self.resources > 0

    @property
    def _lists(self) -> tuple[PublicList, ...]:
        return ("tags", "resources") if self._has_links else ("tags",)

    @property
    def _shares(self) -> dict[str, Fraction]:
        """Without links popularity takes what is left."""
        gram = Fraction(self.gram_share)
        first = Fraction(self.popularity_share or 0) if self._has_links else 1 - gram
        shares = {"popularity": first, "gram": gram, "link": 1 - first - gram}
        return {name: share for name, share in shares.items() if share}

    # The release

    def _plan(self, public: TagAssignments) -> Plan:
        sums: dict[str, Sums] = {"popularity": self._popularity(public)}
        more, lists = {}, "the public list of tags"
        if "gram" in self._shares:
            sums["gram"] = tag_gram(public, np.arange(min(self.head, public.n_tags)), self._norm)
        if self._has_links:
            links = self._links(public, np.arange(min(self.resources, public.n_resources)))
            sums["link"], more["link_threshold"] = links.bounds, self._least_link(links)
            lists += " and that of resources"
        single = (
            "that a person takes part, and what many tags of one person tell together: this hides whether you gave one "
            "tag to one resource, not your tags as a whole",
        )
        return self._noisy_plan(
            public,
            sums,
            f"noisy sums about tags, docs/proofs/tagging.md, Theorem {5 if self._hides_users else 6}",
            f"noisy sums about {public.n_tags:,} tags",
            (lists,) if self._hides_users else (lists, *single),
            **more,
        )

    def _not_combined(self, plan: Plan) -> str:
        public: TagAssignments = plan.public
        rows = public.n_resources if not self._hides_users else min(self.resources, public.n_resources)
        blocks = len(list(self._links(public, np.arange(rows)).blocks())) if self._has_links else 0
        cells = f"{rows:,} resources × {public.n_tags:,} tags"
        return f"noisy sums of {cells} are too many to be kept; {CELLS_AT_ONCE:,} is the most" if blocks > 1 else ""

    def _rounds(self, plan: Plan) -> Rounds:
        public: TagAssignments = plan.public
        step = float(self._popularity(public).step)
        asked = Round(self._popularity, self._noise("popularity"), noise=("popularity_noise_sd",))
        counts = step * (yield asked).astype(np.float64)
        tags, popular = counts[: public.n_tags], counts[public.n_tags :]
        parts: dict[str, Any] = {"tags": pl.DataFrame({**id_columns(public, tag=None), "count": tags})}
        if "gram" in self._shares:
            head, norm = best(tags, self.head), self._norm
            asked = Round(lambda data: tag_gram(data, head, norm), self._noise("gram"), noise=("gram_noise_sd",))
            (matrix,) = yield asked
            parts |= {"head": pl.DataFrame(id_columns(public, tag=head)), "gram": matrix}
        if self._has_links:
            if self._hides_users:
                parts["resources"] = pl.DataFrame({**id_columns(public, resource=None), "count": popular})
            links = self._links(public, best(popular, self.resources))
            parts["links"] = yield from self._noisy_links(links, public)
        return parts

    def _noisy_links(self, links: LinkTable, public: TagAssignments) -> Any:
        """The links above the threshold.

        All cells get noise, empty ones too. The bounds are those of the whole table, so its blocks spend their budget
        once, together.
        """
        step = float(links.bounds.step)
        least, noise = math.ceil(self._least_link(links) / step), self._noise("link")
        found: list[list[Integers]] = [[np.empty(0, dtype=np.int64)] for _ in range(3)]
        for first, last in links.blocks():
            noisy = yield Round(
                lambda data, first=first, last=last: links.sums(data, first, last), noise, noise=("link_noise_sd",)
            )
            kept = np.flatnonzero(noisy >= least)
            row, tag = np.divmod(kept, max(links.n_tags, 1))
            for column, values in zip(found, (links.resources[first + row], tag, noisy[kept]), strict=True):
                column.append(values)
        resource, tag, value = (np.concatenate(column) for column in found)
        return pl.DataFrame({**id_columns(public, resource=resource, tag=tag), "count": value * step})

    # Sums

    def _popularity(self, data: TagAssignments) -> BoundedSums:
        if not self._hides_users:
            return unit_counts(np.bincount(data.tag, minlength=data.n_tags), ASSIGNMENT)
        return popularity(data, self._norm, resources=self._has_links)

    def _links(self, public: TagAssignments, popular: Integers) -> LinkTable:
        if not self._hides_users:
            return LinkTable(np.arange(public.n_resources), public.n_tags, None)
        return LinkTable(popular, public.n_tags, self._norm)

    def _least_link(self, links: LinkTable) -> float:
        """The threshold that noise alone exceeds in FALSE_LINKS cells of a resource on average."""
        return self._threshold("link", links.bounds, FALSE_LINKS / max(links.n_tags, 1))
