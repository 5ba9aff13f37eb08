"""Listeners who tag artists: data of the size and structure of the Last.fm data of HetRec 2011."""

from __future__ import annotations

import numpy as np

from discreet.common.arrays import Integers
from discreet.data.ids import IdMap
from discreet.data.splits import seeded
from discreet.data.synthetic.drawing import (
    WeightedRows,
    check_size,
    distinct,
    distinct_choices,
    drawn,
    long_tail,
    numbered,
    shared_out,
    zipf_weights,
)
from discreet.data.synthetic.folksonomy import TagTruth
from discreet.data.tags import TagAssignments

__all__ = ["listener_world", "listeners"]

_GENRE_NAMES = (
    "rock pop electronic indie metal punk jazz soul blues folk country hip-hop rap reggae classical ambient techno "
    "house trance dubstep industrial gothic grunge hardcore emo ska funk disco latin flamenco celtic swing opera "
    "soundtrack synthpop shoegaze psychedelic progressive garage experimental"
)
_MODIFIER_NAMES = (
    "classic alternative modern melodic british american german french swedish 60s 70s 80s 90s 00s female male "
    "acoustic live underground instrumental old-school new-wave dark hard soft southern northern early late epic"
)
_EVERYBODYS_NAMES = (
    "seen-live favorites awesome love beautiful chillout female-vocalists singer-songwriter party sad sexy relax "
    "cover guitar piano albums-i-own genius legend summer night"
)
_GENRES, _MODIFIERS, _EVERYBODYS = (
    tuple(names.split()) for names in (_GENRE_NAMES, _MODIFIER_NAMES, _EVERYBODYS_NAMES)
)

GENRE_WORDS = 0.2  # share of the vocabulary that describes music; the rest are words of single users
EVERYBODYS = 0.07  # share of a genre's words that are used for any genre
WORD_DECAY = 1.46  # exponent of Zipf's law for the words of a genre
FAME_DECAY, FAME_SHIFT = 0.85, 130.0  # the most popular artists are tagged by about eighty users, most by five
ARTIST_WORDS = 8  # words that users agree on for one artist
LEXICON = 60  # draws of the words that a user uses
HABITS = 9  # tags that a user gives to any artist
BY_HABIT = 0.062  # share of tags given by habit, which differs from user to user
PRIVATE_HABITS = 0.8  # share of the habits that are private words
RARE = 0.014  # share of tags that are used once
TRIES = 10  # words of an artist that are tried; the first one that the user uses is given
VERBOSITY = 3.8  # further rounds in a post of a median user
TAGS_A_POST = 2.38  # triples per post; some posts get no tag, so that it is 2.65 in the data
ACTIVITY_SPREAD, MOST_ACTIVE = 1.55, 60.0  # the most active users have this many times the posts of a median user


def listeners(
    *, users: int = 1_892, resources: int = 13_500, vocabulary: int = 11_946, records: int | None = None, seed: int
) -> TagAssignments:
    """Triples of users, artists and tags.

    Parameters
    ----------
    users, resources, vocabulary
        Number of users, artists and words, at most: some artists and words do not occur. The last is at least 500.
    records
        Number of triples; by default as many per user as in the Last.fm data: 186,479 for 1,892 users.
    seed
        The same seed gives the same data.

    Notes
    -----
    An artist belongs to genres, and users agree on a few words for each artist. A user likes some genres and uses some
    of their words; of the words of an artist the user gives those that they use. Besides, every user has a few habits
    that do not depend on the artist ("seen-live", the name of a private list), and some words are used only once.

    The constants of this module were set by hand to match the sizes of the Last.fm data of HetRec 2011 and how well
    tags can be predicted. With ``seed=7``, ``leave_one_post_out(data, seed=0)`` and all users:

    ==========================================  =========  ==========
    figure                                      Last.fm    this data
    ==========================================  =========  ==========
    users                                       1,892      1,888
    artists with tags                           12,523     12,524
    tags                                        9,749      9,844
    triples                                     186,479    186,479
    tags of a user, mean                        18.9       27.8
    tags of an artist, mean                     8.8        9.4
    triples with the most frequent tag          7,503      8,153
    triples with the hundredth                  315        263
    recall@10 of ``PopularTags``                0.187      0.200
    recall@10 of ``OwnTags``                    0.416      0.418
    recall@10 of ``OwnTags(ties="popular")``    0.454      0.465
    recall@10 of ``FolkRank``                   0.582      0.597
    ==========================================  =========  ==========

    ``evaluate_tags(FolkRank(), listeners(seed=7), seed=0)`` shows the last line; other seeds differ by 0.01. The
    largest difference is that users here have more different tags than those of Last.fm.

    References
    ----------
    I. Cantador, P. Brusilovsky and T. Kuflik, "Second Workshop on Information Heterogeneity and Fusion in Recommender
    Systems", RecSys 2011.

    Examples
    --------
    >>> data = listeners(users=40, resources=400, vocabulary=500, seed=7)
    >>> len(data), "jazz" in data.tags
    (3942, True)
    """
    return listener_world(users=users, resources=resources, vocabulary=vocabulary, records=records, seed=seed)[0]


def listener_world(
    *, users: int = 1_892, resources: int = 13_500, vocabulary: int = 11_946, records: int | None = None, seed: int
) -> tuple[TagAssignments, TagTruth]:
    """The same triples as ``listeners``, and the parameters that they were drawn with."""
    n_users, n_resources = check_size(users, "users", least=1), check_size(resources, "resources", least=10)
    n_words = check_size(vocabulary, "vocabulary", least=500, most=1_000_000)
    # Nobody tags more than every second artist, so that there is always another one to draw.
    most = min(2**31 - 2, n_users * (n_resources // 2))
    usual = round(n_users * 186_479 / 1_892)
    n_records = min(usual, most) if records is None else check_size(records, "records", least=1, most=most)
    generator = seeded(seed, "listeners")
    truth = _truth(n_users, n_resources, n_words, generator)
    keys = _Tagging(truth, n_records, generator).triples(n_records)
    post, tag = np.divmod(keys, n_words)
    user, resource = np.divmod(post, n_resources)
    data = TagAssignments(
        {
            "user_id": truth.users.take(user),
            "resource_id": truth.resources.take(resource),
            "tag": truth.words.take(tag),
        },
        name="listeners",
    )
    return data, truth


def _truth(n_users: int, n_resources: int, n_words: int, generator: np.random.Generator) -> TagTruth:
    words, genre_of = _words(n_words)
    map_ = IdMap(words, what="tag")
    rank = np.argsort(map_.encode(words))
    genre_of = genre_of[rank]
    n_genres = len(_GENRES)
    fashion = n_genres * zipf_weights(n_genres, exponent=0.22)
    topics = np.zeros((n_genres, n_words))
    for genre in range(n_genres):
        for members, share, exponent in (
            (genre_of == genre, 1 - EVERYBODYS, WORD_DECAY),
            (genre_of == -1, EVERYBODYS, 1.0),
        ):
            size = int(members.sum())
            # Words are in the order of their use: the name of a genre before its "early" and "late" forms.
            topics[genre, members] = (
                share * zipf_weights(size, exponent=exponent)[np.argsort(np.argsort(rank[members]))]
            )
    return TagTruth(
        users=IdMap(numbered("u", n_users), what="user"),
        resources=IdMap(numbered("artist-", n_resources), what="resource"),
        words=map_,
        names=tuple(_GENRES),
        topics=topics,
        resource_topics=generator.dirichlet(0.07 * fashion, n_resources),
        user_topics=generator.dirichlet(0.2 * fashion, n_users),
    )


class _Tagging:
    """Draws the posts of the users and their tags."""

    def __init__(self, truth: TagTruth, n_records: int, generator: np.random.Generator) -> None:
        n_users, n_resources, self._n_words = len(truth.users), len(truth.resources), len(truth.words)
        self._generator, self._n_resources = generator, n_resources
        self._private = np.flatnonzero(truth.topics.sum(axis=0) == 0)
        self._words, self._genres = WeightedRows(truth.topics), WeightedRows(truth.resource_topics)
        self._interests = WeightedRows(truth.user_topics)
        fame = zipf_weights(n_resources, exponent=FAME_DECAY, shift=FAME_SHIFT)[generator.permutation(n_resources)]
        self._artists = WeightedRows(fame * np.maximum(truth.resource_topics.T, 1e-12))

        self._agreed = self._drawn_words(self._genres, n_resources, ARTIST_WORDS)
        self._habits = self._drawn_words(self._interests, n_users, HABITS)
        own = generator.random(self._habits.shape) < PRIVATE_HABITS
        self._habits[own] = generator.choice(self._private, int(own.sum()))
        known = np.hstack([self._drawn_words(self._interests, n_users, LEXICON), self._habits])
        self._lexicon = distinct((np.arange(n_users)[:, None] * np.int64(self._n_words) + known).ravel())
        self._by_habit = generator.beta(4 * BY_HABIT, 4 * (1 - BY_HABIT), n_users)
        # Some users give one tag per post, others many.
        self._verbosity = VERBOSITY * long_tail(n_users, spread=0.5, generator=generator)
        self._user, self._artist = self._posts(truth, n_users, n_records)

    def _drawn_words(self, of: WeightedRows, n: int, each: int) -> Integers:
        """Words of the genres of each row, some of them twice."""
        rows = np.repeat(np.arange(n), each)
        return self._words.draw(of.draw(rows, self._generator), self._generator).reshape(n, each)

    def _posts(self, truth: TagTruth, n_users: int, n_records: int) -> tuple[Integers, Integers]:
        """User and artist of each post."""
        activity = np.minimum(long_tail(n_users, spread=ACTIVITY_SPREAD, generator=self._generator), MOST_ACTIVE)
        most = max(1, self._n_resources // 2)
        n_posts = min(max(n_users, round(n_records / TAGS_A_POST)), n_users * most)
        counts = shared_out(n_posts, activity, least=1, most=most)
        keys = distinct_choices(
            counts,
            self._n_resources,
            draw=lambda user: self._artists.draw(self._interests.draw(user, self._generator), self._generator),
            weights_of=lambda user: truth.user_topics[user] @ self._artists.probabilities,
            generator=self._generator,
        )
        user, artist = np.divmod(keys, self._n_resources)
        return user, artist

    def triples(self, n: int) -> Integers:
        """``n`` different triples as keys ``(user · artists + artist) · words + word``."""
        keys = np.empty(0, dtype=np.int64)
        sizes = 1 + self._generator.poisson(self._verbosity[self._user])
        while keys.size < n:
            user, artist = np.repeat(self._user, sizes), np.repeat(self._artist, sizes)
            tag = self._given(user, artist)
            fresh = ((user * np.int64(self._n_resources) + artist) * self._n_words + tag)[tag >= 0]
            keys = distinct(np.concatenate([keys, fresh]))
            # About half of the later draws repeat a triple.
            sizes = self._generator.poisson(max(0.02, 2 * (n - keys.size) / self._user.size), self._user.size)
        return np.delete(keys, self._generator.permutation(keys.size)[n:])

    def _given(self, user: Integers, artist: Integers) -> Integers:
        """One tag for each entry; −1 where the user has no word for the artist."""
        generator = self._generator
        tag = np.full(user.size, -1, dtype=np.int64)
        for _ in range(TRIES):
            open_ = np.flatnonzero(tag < 0)
            word = self._agreed[artist[open_], drawn(zipf_weights(ARTIST_WORDS), open_.size, generator)]
            key = user[open_] * np.int64(self._n_words) + word
            place = np.minimum(np.searchsorted(self._lexicon, key), self._lexicon.size - 1)
            uses = self._lexicon[place] == key
            tag[open_[uses]] = word[uses]
        habit = np.flatnonzero(generator.random(user.size) < self._by_habit[user])
        tag[habit] = self._habits[user[habit], drawn(zipf_weights(HABITS), habit.size, generator)]
        rare = np.flatnonzero(generator.random(user.size) < RARE)
        tag[rare] = generator.choice(self._private, rare.size)
        return tag


def _words(n: int) -> tuple[list[str], Integers]:
    """All words in the order of their use, and the genre of each: −1 for any genre, −2 for words of single users."""
    n_genre_words = round(GENRE_WORDS * n)
    words: list[str] = [*_EVERYBODYS]
    genre_of = [-1] * len(words)
    level = 0
    while len(words) < n_genre_words:
        for genre, name in enumerate(_GENRES):
            words.append(_form(name, level))
            genre_of.append(genre)
        level += 1
    words, genre_of = words[:n_genre_words], genre_of[:n_genre_words]
    words += [f"my-list-{number}" for number in range(1, n - len(words) + 1)]
    return words, np.array(genre_of + [-2] * (n - len(genre_of)))


def _form(name: str, level: int) -> str:
    """The name of the genre, then with a modifier, then with a number as well."""
    if level == 0:
        return name
    again, modifier = divmod(level - 1, len(_MODIFIERS))
    return f"{_MODIFIERS[modifier]}-{name}" + (f"-{again + 1}" if again else "")
