"""Histories of people who do not exist, proved at user level: data that anybody may have.

References
----------
J. Dong, A. Roth, W. Su: Gaussian differential privacy. J. R. Stat. Soc. B, 2022.
R. McKenna, G. Miklau, D. Sheldon: Winning the NIST contest: a scalable and general approach to differentially private
synthetic data. Journal of Privacy and Confidentiality 11(3), 2021 (measure, estimate, generate).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import polars as pl

from discreet.common.arguments import require_whole
from discreet.data.contexts import TYPES_OF_TABLE, Context, contexts_of
from discreet.data.interactions import Interactions
from discreet.errors import ReleaseError, UsageError
from discreet.factors.statistics import POPULARITY_STEP, gram_bounds, popularity_sums, projected_gram
from discreet.factors.synthetic_drawing import draw_people
from discreet.factors.synthetic_sums import (
    Histories,
    Levels,
    activity_edges,
    activity_sums,
    context_sums,
    generosity_sums,
    law_sums,
)
from discreet.factors.tastes import READING, TastePlan
from discreet.models.likes import threshold_of
from discreet.privacy import entropy
from discreet.privacy.bounding import BoundedSums, require_named_catalog
from discreet.privacy.budget import Budget, as_share
from discreet.privacy.gram import MOST_PROJECTED
from discreet.privacy.method import Method, Plan, Round, Rounds
from discreet.privacy.numbers import Rational, as_fraction
from discreet.privacy.release import Release

__all__ = ["KIND", "SyntheticInteractions", "draw_interactions", "redrawn"]

KIND = "synthetic-interactions"

ACTIVITY, OTHERS, GENEROUS, RATED, CONTEXT, CELLS = (Fraction(1, part) for part in (50, 25, 100, 100, 100, 33))
"""Shares of μ²: lengths of histories; where there are ratings, what is not liked, how generous people are, and the law
of ratings; for each context, its law and the items in it. Tastes have what is left.
"""

MOST_CONTEXTS, MOST_PEOPLE = 8, 10**8


@dataclass(frozen=True)
class Asked:
    """What the first round asks for: names, sums over people and shares of μ².

    Parameters
    ----------
    catalog
        The public list of items with its columns, and no record.
    levels
        The ratings that can be given; None without a declared scale.
    contexts
        With declared values.
    """

    catalog: Interactions
    levels: Levels | None
    contexts: tuple[Context, ...]
    first_share: Fraction

    def shares(self) -> dict[str, Fraction]:
        """Each sum and its share of μ², in the order of ``sums``."""
        shares = {"first": self.first_share, "activity": ACTIVITY}
        if self.levels is not None:
            shares |= {"others": OTHERS, "generosity": GENEROUS, "ratings": RATED}
        for place in range(len(self.contexts)):
            shares |= {f"context-{place}": CONTEXT, f"cells-{place}": CELLS}
        return shares

    def sums(self, histories: Histories) -> tuple[BoundedSums, ...]:
        """The sums over a group of people."""
        found = [popularity_sums(histories.likes), activity_sums(histories, activity_edges(histories.records.n_items))]
        if self.levels is not None:
            assert histories.levels is not None
            found += [popularity_sums(histories.others), generosity_sums(histories)]
            found.append(law_sums(histories, histories.levels, self.levels.values.size))
        for context, codes in zip(self.contexts, histories.contexts, strict=True):
            size = len(context.values) + 1
            found += [law_sums(histories, codes, size), context_sums(histories, codes, size)]
        return tuple(found)

    @property
    def rest(self) -> Fraction:
        """What is left for tastes."""
        return 1 - sum(self.shares().values(), start=Fraction(0))


@dataclass(frozen=True)
class SyntheticInteractions(Method):
    """Records of as many people as wanted, none of whom exists, from released popularity, tastes and activity.

    Two releases. First how popular every item is, how many people have histories of which length and, where there are
    ratings and contexts, how people rate and when. Then, for the most popular items, how tastes go together, as in
    ``PrivateRecommender``. Everything else is post-processing: a law of histories is fitted whose simulated people have
    the released statistics, and people are drawn from it. A person has a taste and a length of history; items are drawn
    one after the other by popularity and taste, each at most once.

    Parameters
    ----------
    epsilon, delta
        The budget of the release.
    people
        How many people to draw; public. None for about as many as there are, which is released.
    positive
        Ratings from here on say that an item is liked; None for three quarters of the way up the scale. Without a scale
        every record does.
    contexts
        Contexts of records to draw too, with their public values: "weekday", "device=phone,laptop".
    head
        How many items tastes are learned for; None for the rule of ``PrivateRecommender``.
    first_share
        Share of μ² for the popularity of items.

    Privacy
    -------
    Unit: one user, present or absent. Released: the records of the people who were drawn, and the noisy sums that they
    were drawn from; both may be given to anybody. Each sum is bounded for one user (``docs/proofs/synthetic.md``);
    noise is rounded normal, and the shares of μ² add up to the μ that keeps (ε, δ) exactly. Drawing people reads no
    record: how many are drawn does not matter. Not covered: the catalog with its columns, the rating scale, the
    declared contexts.

    Notes
    -----
    A release has the tables "interactions" (user_id, item_id[, rating][, contexts]) and "items" (the catalog). Saved,
    it is a dataset: Parquet files beside the guarantee, which ``discreet.read`` and any other reader of Parquet take,
    and which is used without a charge. ``draw_interactions`` draws more people from it, free.

    Histories have no times. Ratings depend on the item and on whether the person likes it, and people differ in how
    much they like; contexts depend on the item. What goes beyond pairs of items, and tastes in rare items, is not kept.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=600, items=80, seed=7)
    >>> release = dc.SyntheticInteractions(epsilon=8, people=50).release(films)
    >>> release.table("interactions").columns, release.table("interactions")["user_id"].n_unique()
    (['user_id', 'item_id', 'rating'], 50)
    >>> people = dc.draw_interactions(release, people=1000)
    >>> people.n_users, dc.factors.EASE().fit(people).guarantee == release.guarantee
    (1000, True)
    """

    name: ClassVar[str] = "synthetic-interactions"
    kind: ClassVar[str] = KIND
    listed: ClassVar[str] = "synthetic interactions"

    epsilon: Rational
    delta: Rational = "1e-6"
    people: int | None = None
    positive: Rational | None = None
    contexts: Sequence[str] = ()
    head: int | None = None
    first_share: Rational = "1/10"

    def __post_init__(self) -> None:
        contexts = (self.contexts,) if isinstance(self.contexts, str) else tuple(self.contexts)
        object.__setattr__(self, "contexts", contexts)
        if len(contexts) > MOST_CONTEXTS:
            raise UsageError(f"at most {MOST_CONTEXTS} contexts can be drawn, got {len(contexts)}.")
        if as_share(self.first_share, "first_share") > Fraction(1, 2):
            raise UsageError(f"first_share must be at most 1/2, got {self.first_share}: the rest needs a budget, too.")
        if self.positive is not None:
            as_fraction(self.positive, "positive")
        if self.head is not None:
            require_whole(self.head, "head", least=2)
        if self.people is not None:
            _require_people(self.people)
        self._budget.require_delta("tastes are released with normal noise")

    @property
    def _budget(self) -> Budget:
        return Budget(self.epsilon, self.delta)

    def _plan(self, public: Interactions) -> Plan:
        require_named_catalog(public, "synthetic interactions")
        if public.n_items < 2:
            raise UsageError("synthetic interactions need a catalog of two items at least.")
        if self.head is not None and min(self.head, public.n_items) > MOST_PROJECTED:
            raise UsageError(f"a head has at most {MOST_PROJECTED:,} items, got {self.head:,}.", remedy="Take fewer.")
        contexts = contexts_of(self.contexts, public)
        if of_user := next((context.name for context in contexts if context.of_user), None):
            raise UsageError(
                f"{of_user!r} is a fact about people, and the contexts here are those of single records.",
                remedy="Leave it out.",
            )
        asked = Asked(public, Levels.of(public, self.positive), contexts, as_share(self.first_share, "first_share"))
        nobody = asked.sums(self._histories(public, asked))
        gram, shares, rest = gram_bounds(), asked.shares(), self._budget.part(asked.rest)
        noise = {
            _noise(name): self._budget.part(share).deviation(sums)
            for (name, share), sums in zip(shares.items(), nobody, strict=True)
        }
        typed = (TYPES_OF_TABLE,) if any(context.from_table for context in contexts) else ()
        return Plan(
            loss=self._budget.loss,
            basis="noisy popularity, activity and tastes, docs/proofs/synthetic.md, Theorem 2",
            subject=f"histories of people who do not exist, over {public.n_items:,} items",
            caps=(*nobody[0].caps, *gram.caps),
            not_covered=(
                "the public list of items, the rating scale and the declared contexts",
                "facts that would be true without this person's data",
                *typed,
            ),
            details={
                "threshold": threshold_of(public, self.positive) if asked.levels is not None else None,
                "levels": None if asked.levels is None else asked.levels.values.tolist(),
                "liked_levels": 0 if asked.levels is None else asked.levels.likes,
                "scale": None if asked.levels is None or public.scale is None else str(public.scale),
                "declared_contexts": [str(context) for context in contexts],
                "mu_squared": str(self._budget.amount),
                "reading": READING,
            },
            expected={
                **noise,
                "noise_second": rest.deviation(nobody[0]),
                "noise_tastes": rest.deviation(gram),
            },
            public=asked,
        )

    def _histories(self, data: Interactions, asked: Asked) -> Histories:
        return Histories.of(data, self.positive, asked.levels, asked.contexts)

    def _prepare(self, data: Interactions, plan: Plan) -> Histories:
        return self._histories(data, plan.public)

    def _rounds(self, plan: Plan) -> Rounds:
        asked: Asked = plan.public
        shares = asked.shares()
        mechanisms = tuple(self._budget.part(share).for_sums() for share in shares.values())
        answers = yield Round(asked.sums, mechanisms, settles="first", noise=tuple(map(_noise, shares)))
        steps = [float(sums.step) for sums in asked.sums(self._histories(asked.catalog, asked))]
        parts: dict[str, Any] = {
            name: step * answer.astype(np.float64) for name, step, answer in zip(shares, steps, answers, strict=True)
        }
        public = {**plan.details, **plan.expected}
        tastes = TastePlan.of(parts["first"], public, users=None, most=self.head)
        rest = self._budget.part(asked.rest).for_sums()
        if tastes.ranking == "popularity":
            noisy = yield Round(_likes_alone, rest, noise=("noise_second",))
            parts["second"] = float(POPULARITY_STEP) * noisy.astype(np.float64)
        else:
            matrices = yield Round(
                lambda people: projected_gram(people.likes, tastes.head, tastes.weights, tastes.direction),
                rest,
                noise=("noise_tastes",),
            )
            parts |= {"head": tastes.head, "tastes": matrices[0]}
        items = _catalog(asked.catalog)
        drawn = draw_people(parts, public, items, self.people, int(entropy.public_words(1)[0]))
        return {**parts, **drawn.fitted, "items": items, "interactions": drawn.interactions}, {"drawn": drawn.people}

    def _facts(self, name: str, plan: Plan) -> dict[str, Any]:
        asked: Asked = plan.public
        return {
            "discreet": 1,
            "kind": "interactions",
            "name": _name(name),
            "lineage": [],
            "scale": plan.details["scale"],
            "duplicates": "error",
            "context": [context.name for context in asked.contexts],
            "public_user_columns": [],
            "catalog_is_public": True,
            "once_inferred": [],
            "items": True,
        }

    @property
    def parameters(self) -> dict[str, Any]:
        """The settings, which are public."""
        return {**super().parameters, "contexts": list(self.contexts)}


def _noise(name: str) -> str:
    """The parameter that has the noise of a sum."""
    return f"noise_{name.replace('-', '_')}"


def _likes_alone(people: Histories) -> BoundedSums:
    return popularity_sums(people.likes)


def _require_people(people: Any) -> None:
    require_whole(people, "people")
    if people > MOST_PEOPLE:
        raise UsageError(f"at most {MOST_PEOPLE:,} people can be drawn, got {people:,}.")


def _name(dataset: str) -> str:
    return f"synthetic {dataset}".strip()


def _catalog(public: Interactions) -> pl.DataFrame:
    table = pl.DataFrame({"item_id": public.items.series})
    return table if public.item_table is None else table.hstack(public.item_table.get_columns())


def redrawn(release: Release, people: int) -> Release:
    """Another release with other people, drawn from the same sums; it has the same guarantee, and nothing is spent.

    Its parameters have the id of the release that was charged, however often people were drawn: the ledger knows it.
    """
    _require_people(people)
    items = _required(release).table("items")
    drawn = draw_people(release.parts, release.parameters, items, people, int(entropy.public_words(1)[0]))
    parameters = {
        **release.parameters,
        "drawn": drawn.people,
        "drawn_from": release.parameters.get("drawn_from", release.id),
    }
    # Replaced, not made anew: what was made in the sandbox of an audit stays there.
    parts = {**release.parts, "interactions": drawn.interactions}
    return replace(release, parameters=parameters, parts=parts, id="", loaded_from=None)


def _required(release: Release) -> Release:
    if release.kind != KIND:
        raise ReleaseError(f"a release of kind {release.kind!r} has no people to draw.")
    return release


def draw_interactions(release: Release, *, people: int | None = None) -> Interactions:
    """The people of a release, or others drawn from it: as many as wanted, free.

    Parameters
    ----------
    release
        Of ``SyntheticInteractions``.
    people
        How many to draw anew; None for those that are in the release.

    Returns
    -------
    Interactions
        Marked as released: what is learned from them is charged to nobody, and has the guarantee of the release.

    Privacy
    -------
    Post-processing of the release: its guarantee covers these people, too.
    """
    release = _required(release) if people is None else redrawn(release, people)
    table = release.table("interactions")
    known = ("user_id", "item_id", "rating")
    data = Interactions(
        table,
        scale=release.parameters["scale"],
        items=release.table("items"),
        context=[name for name in table.columns if name not in known],
        name=_name(release.dataset),
    )
    return data.marked_as_released({"id": release.id, "guarantee": release.guarantee.to_json()})
