"""Tags of web pages, drawn from topics of pages and interests of users, with spelling variants and system tags."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.common.arrays import AnyFloats, Integers
from discreet.data.ids import IdMap
from discreet.data.splits import seeded
from discreet.data.synthetic.drawing import WeightedRows, check_size, distinct, long_tail, numbered, zipf_weights
from discreet.data.tags import TagAssignments

__all__ = ["TagTruth", "tag_world", "tags"]

_TOPICS: dict[str, str] = {
    "programming": "python code compiler testing database linux editor algorithm git api",
    "cooking": "recipe bread soup pasta baking spices dinner vegetarian cheese grill",
    "travel": "hotel flights hiking islands train maps passport beach camping city",
    "music": "guitar jazz concert vinyl piano lyrics festival chords radio opera",
    "photography": "camera lens portrait landscape darkroom exposure film lighting tripod print",
    "health": "sleep yoga running nutrition doctor allergy vitamins stress dentist therapy",
    "science": "physics biology astronomy chemistry climate evolution telescope genetics fossils energy",
    "finance": "budget stocks mortgage pension taxes savings insurance bank invoice salary",
    "gardening": "roses compost tomatoes seeds pruning lawn greenhouse herbs orchard bees",
    "history": "rome archive medieval maritime museum castle empire letters genealogy war",
    "design": "typography color logo poster layout icons furniture grid pattern sketch",
    "games": "chess puzzle arcade cards dice strategy console score quest tournament",
}
_MODIFIERS = ("tutorial", "tools", "ideas", "blog", "beginner", "advanced", "review", "tips", "video", "news")
_EVERYBODYS = ("toread", "cool", "fun", "work", "reference", "later", "inspiration", "free", "howto", "article")
_SYSTEM = ("imported", "public", "system:unfiled", "for:friend")

OWN_WORDS = 0.12  # share of the tags that are used for any topic
CAPITALS = 0.06  # share of the tags that are written with a capital
BY_SYSTEM = 0.03  # share of the triples that a system added
TAGS_A_POST = 2.8


@dataclass(frozen=True)
class TagTruth:
    """The parameters that the triples were drawn with.

    Attributes
    ----------
    users, resources, words : IdMap
        All users, resources and words; some may not occur in the data. Arrays follow their codes.
        The words are spelled as by the rule ``TagRule()``.
    names
        Name of each topic.
    topics
        Probability of each word in each topic; one row per topic.
    resource_topics, user_topics
        Share of each topic in each resource, and in the interests of each user; rows sum to one.
    """

    users: IdMap
    resources: IdMap
    words: IdMap
    names: tuple[str, ...]
    topics: AnyFloats
    resource_topics: AnyFloats
    user_topics: AnyFloats


def tags(
    *, users: int = 500, resources: int = 800, vocabulary: int = 300, records: int | None = None, seed: int
) -> TagAssignments:
    """Triples of users, pages and tags.

    Parameters
    ----------
    users, resources
        Number of users and pages, at most: some may have no triple.
    vocabulary
        Number of words, besides spellings with a capital and system tags.
    records
        Number of triples; by default forty per user.
    seed
        The same seed gives the same data.

    Notes
    -----
    In a post, a user gives a page of interest a few tags, most of them from a topic of the page. Some tags are used for
    any topic ("toread"), some begin with a capital, and some are added by a system ("imported"): ``cleaned()`` removes
    the latter two.

    Examples
    --------
    >>> data = tags(users=50, resources=60, seed=7)
    >>> len(data), data.cleaned().n_tags < data.n_tags
    (2000, True)
    """
    return tag_world(users=users, resources=resources, vocabulary=vocabulary, records=records, seed=seed)[0]


def tag_world(
    *, users: int = 500, resources: int = 800, vocabulary: int = 300, records: int | None = None, seed: int
) -> tuple[TagAssignments, TagTruth]:
    """The same triples as ``tags``, and the parameters that they were drawn with."""
    n_users, n_resources = check_size(users, "users", least=1), check_size(resources, "resources", least=1)
    n_words = check_size(vocabulary, "vocabulary", least=len(_TOPICS) + len(_EVERYBODYS), most=1_000_000)
    # One tag for each user and page is more than usual, and can still be drawn without waiting for rare words.
    most = min(2**31 - 2, n_users * n_resources)
    n_records = min(40 * n_users, most) if records is None else check_size(records, "records", least=1, most=most)
    generator = seeded(seed, "tags")

    truth = _truth(n_users, n_resources, n_words, generator)
    words = truth.words.ids()
    spelled = [*words, *(word.capitalize() for word in words), *_SYSTEM]
    posts = _Posts(truth, generator)
    keys = np.empty(0, dtype=np.int64)
    while keys.size < n_records:
        user, resource, tag = posts.draw(max(64, int(1.1 * (n_records - keys.size) / TAGS_A_POST)))
        fresh = (user * np.int64(n_resources) + resource) * len(spelled) + tag
        keys = distinct(np.concatenate([keys, fresh]))
    keys = np.delete(keys, generator.permutation(keys.size)[n_records:])
    post, tag = np.divmod(keys, len(spelled))
    user, resource = np.divmod(post, n_resources)
    data = TagAssignments(
        {
            "user_id": truth.users.take(user),
            "resource_id": truth.resources.take(resource),
            "tag": pl.Series(spelled).gather(tag),
        },
        name="tags",
    )
    return data, truth


def _truth(n_users: int, n_resources: int, n_words: int, generator: np.random.Generator) -> TagTruth:
    words, topic_of = _words(n_words)
    map_ = IdMap(words, what="tag")
    topic_of = topic_of[np.argsort(map_.encode(words))]
    topics = np.empty((len(_TOPICS), n_words))
    for topic in range(len(_TOPICS)):
        for members, share in ((topic_of == topic, 1 - OWN_WORDS), (topic_of < 0, OWN_WORDS)):
            size = int(members.sum())
            topics[topic, members] = share * zipf_weights(size)[generator.permutation(size)]
        topics[topic, (topic_of >= 0) & (topic_of != topic)] = 0.0
    n_topics = len(_TOPICS)
    return TagTruth(
        users=IdMap(numbered("u", n_users), what="user"),
        resources=IdMap(numbered("page-", n_resources), what="resource"),
        words=map_,
        names=tuple(_TOPICS),
        topics=topics,
        resource_topics=generator.dirichlet(np.full(n_topics, 0.08), n_resources),
        user_topics=generator.dirichlet(np.full(n_topics, 0.3), n_users),
    )


class _Posts:
    """Draws posts: a user, a page of interest, and its tags."""

    def __init__(self, truth: TagTruth, generator: np.random.Generator) -> None:
        n_users, n_resources = len(truth.users), len(truth.resources)
        fame = zipf_weights(n_resources, exponent=0.9, shift=5)[generator.permutation(n_resources)]
        self._generator = generator
        self._n_words = len(truth.words)
        self._users = WeightedRows(long_tail(n_users, spread=1.0, generator=generator)[None, :])
        self._interests = WeightedRows(truth.user_topics)
        # A topic without pages still leads to some page.
        self._pages = WeightedRows(fame * np.maximum(truth.resource_topics.T, 1e-12))
        self._subjects = WeightedRows(truth.resource_topics)
        self._words = WeightedRows(truth.topics)

    def draw(self, n: int) -> tuple[Integers, Integers, Integers]:
        """Triples of ``n`` posts, repeats included."""
        generator = self._generator
        user = self._users.draw(np.zeros(n, dtype=np.int8), generator)
        page = self._pages.draw(self._interests.draw(user, generator), generator)
        size = 1 + generator.poisson(TAGS_A_POST - 1, n)
        user, page = np.repeat(user, size), np.repeat(page, size)
        tag = self._words.draw(self._subjects.draw(page, generator), generator)
        tag += self._n_words * (generator.random(tag.size) < CAPITALS)
        system = np.flatnonzero(generator.random(tag.size) < BY_SYSTEM)
        tag[system] = 2 * self._n_words + generator.integers(0, len(_SYSTEM), system.size)
        return user, page, tag


def _words(n: int) -> tuple[list[str], Integers]:
    """The first ``n`` words, and the topic of each: −1 for words of any topic."""
    words, topic_of = [*_EVERYBODYS], [-1] * len(_EVERYBODYS)
    roots = [[name, *text.split()] for name, text in _TOPICS.items()]
    level = 0
    while len(words) < n:
        # First the roots of all topics in turn, then the roots with one modifier after the other, then with numbers.
        round_, place = divmod(level, len(roots[0]))
        for topic, own in enumerate(roots):
            words.append(own[place] + _suffix(round_))
            topic_of.append(topic)
        level += 1
    return words[:n], np.array(topic_of[:n])


def _suffix(round_: int) -> str:
    if round_ == 0:
        return ""
    again, modifier = divmod(round_ - 1, len(_MODIFIERS))
    return f"-{_MODIFIERS[modifier]}" + (f"-{again + 1}" if again else "")
