"""Recommenders of tags that promise nothing, by name: what an audit of tags compares with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import polars as pl

from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.privacy.numbers import Rational
from discreet.tagging.folk_rank import FolkRank
from discreet.tagging.methods import looked_up
from discreet.tagging.tag_suppression import Rule, TagSuppression

__all__ = ["TAG_MODELS", "SuppressedTags", "tag_model"]

TAG_MODELS = {
    "folk-rank": "discreet.tagging.folk_rank:FolkRank",
    "popular-tags": "discreet.tagging.baselines:PopularTags",
    "resource-tags": "discreet.tagging.baselines:ResourceTags",
    "co-occurring-tags": "discreet.tagging.baselines:CoOccurringTags",
    "tag-suppression": "discreet.attacks.audit.tag_targets:SuppressedTags",
}


def tag_model(name: str, **settings: Any) -> Any:
    """A recommender of tags that was not fitted.

    Examples
    --------
    >>> tag_model("folk-rank").name
    'folk-rank'
    """
    kind = looked_up(name, TAG_MODELS, "recommender of tags")
    known = [one.name for one in fields(kind) if one.init]
    if unknown := sorted(set(settings) - set(known)):
        raise UsageError(f"{name} has no setting {', '.join(unknown)}.", remedy=f"Its settings: {', '.join(known)}.")
    return kind(**settings)


@dataclass
class SuppressedTags:
    """FolkRank on the triples that a suppression of tags has left.

    Parameters
    ----------
    sigma, clusters, rule
        As in ``TagSuppression``.
    """

    name: ClassVar[str] = "tag-suppression"

    sigma: Rational = TagSuppression.sigma
    clusters: int = TagSuppression.clusters
    rule: Rule = TagSuppression.rule

    def fit(self, data: TagAssignments) -> Self:
        """Suppress, then learn from what is left."""
        left = TagSuppression(sigma=self.sigma, clusters=self.clusters, rule=self.rule).suppress(data)
        self.model_ = FolkRank().fit(left)
        return self

    def recommend(self, queries: Iterable[tuple[Any, Any]], n: int = 10) -> pl.DataFrame:
        """The best tags for each user who is about to tag a resource."""
        return self.model_.recommend(queries, n=n)
