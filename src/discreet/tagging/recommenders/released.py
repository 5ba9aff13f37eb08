"""From a tagging release to a recommender that reads it."""

from __future__ import annotations

from discreet.errors import ReleaseError
from discreet.privacy.release import Release
from discreet.tagging.recommenders.base import TagRecommender
from discreet.tagging.recommenders.folk_rank import FolkRank
from discreet.tagging.recommenders.local_tags import LocalTags
from discreet.tagging.tag_method import ASSIGNMENTS, STATISTICS

__all__ = ["recommender"]


def recommender(release: Release) -> TagRecommender:
    """A recommender of tags that uses the release and the triples of the person who asks.

    Parameters
    ----------
    release
        Released sums are read by ``LocalTags``, also if the release has triples as well; triples alone are ranked by
        ``FolkRank``.

    Privacy
    -------
    Post-processing of the release. What ``recommend(own=…)`` is given stays with the person who asks.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.tagging import PTRJ
    >>> tags = dc.synthetic.tags(users=60, resources=40, seed=7)
    >>> tags = tags.with_vocabulary("observed").with_resources("observed")
    >>> release = PTRJ(epsilon=1, delta=1e-6).release(tags)
    >>> recommender(release).recommend([("somebody", "page-1")], n=3).columns
    ['user_id', 'resource_id', 'tag', 'score', 'rank']
    """
    kind = release.kind if isinstance(release, Release) else type(release).__name__
    if kind == STATISTICS or (kind == ASSIGNMENTS and "links" in release.parts):
        return LocalTags(release)
    if kind == ASSIGNMENTS:
        return FolkRank().fit_release(release)
    raise ReleaseError(f"{kind!r} is no tagging release.", remedy="Make one: discreet tags release TAGS --out FOLDER.")
