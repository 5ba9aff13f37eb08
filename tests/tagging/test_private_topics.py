"""Topics from noisy statistics: found where there is signal, nothing where there is none; guarantees and charges."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.data.tags import TagAssignments
from discreet.errors import PrivacyError, ReleaseError, UsageError
from discreet.privacy.losses import GaussianLoss, mu_for
from discreet.privacy.units import Unit
from discreet.tagging import PrivateTopics, topics_of_release
from discreet.tagging.topics.gram_topics import Topics, topics_of_gram
from discreet.tagging.topics.private_topics import UserTags, assignments_after, blind_assignments, sampled_assignments

KEY = (3, 4)


def camps(users: int = 600, topics: int = 3, words: int = 8) -> TagAssignments:
    """Every user takes five words of one topic."""
    rng = np.random.default_rng(6)
    triples = [
        (f"u{user}", "r", f"{user % topics}-{word}")
        for user in range(users)
        for word in rng.choice(words, 5, replace=False)
    ]
    return TagAssignments(triples).with_vocabulary([f"{t}-{w}" for t in range(topics) for w in range(words)])


@pytest.fixture(scope="module")
def data() -> TagAssignments:
    return camps()


def purity(topics: Topics, truth: list[int]) -> float:
    """Share of the tags whose topic is mostly theirs."""
    found, true = topics.topic_of, np.array(truth)
    return sum(np.bincount(true[found == z]).max() for z in np.unique(found)) / true.size


def noise(size: int, sd: float, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(size=(size, size)) * sd / np.sqrt(2), 1)
    return upper + upper.T + np.diag(rng.normal(size=size) * sd)


def test_topics_are_found_below_noise_of_single_entries() -> None:
    gram = np.kron(np.eye(4), np.full((25, 25), 10.0)) + np.diag(np.linspace(0, 500, 100))
    topics = topics_of_gram(gram + noise(100, 8.0), 8.0)
    assert topics.n_topics == 4
    assert purity(topics, np.repeat(range(4), 25).tolist()) > 0.95
    assert np.allclose(topics.tag_given_topic.sum(axis=1), 1)
    assert np.allclose(topics.topic_given_tag.sum(axis=1), 1)
    assert topics.share == pytest.approx([0.25] * 4, abs=0.1)
    assert topics_of_gram(gram, 1.0, most_topics=2).n_topics == 2


def test_nothing_is_found_in_noise() -> None:
    topics = topics_of_gram(noise(100, 8.0), 8.0 * 1.05)
    assert topics.n_topics == 1
    assert not topics.known.any()
    assert np.allclose(topics.tag_given_topic, 0.01)


def test_weights_become_probabilities() -> None:
    topics = Topics.of_weights(np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 0.0]]))
    assert topics.tag_given_topic.tolist() == [[2 / 3, 1 / 3, 0], [0, 1, 0]]
    assert topics.topic_given_tag.tolist() == [[1, 0], [0.5, 0.5], [0.5, 0.5]]
    assert topics.share.tolist() == [0.75, 0.25]
    assert topics.known.tolist() == [True, True, False]
    assert (topics.n_tags, topics.n_topics) == (3, 2)


@pytest.mark.parametrize("method", ["gram", "expected", "gibbs"])
def test_a_release_finds_the_topics(method, data: TagAssignments, fixed_bits) -> None:
    release = PrivateTopics(epsilon=20, delta="1e-6", method=method, topics=3, iterations=12).release(data)
    topics = topics_of_release(release)
    tags = release.table("tags")["tag"]
    truth = [int(tag[0]) for tag in tags]
    assert tags.len() == 24
    assert topics.n_topics == 3
    # Rounds may settle with two topics in one; a third of the words would then be in the wrong one.
    assert purity(topics, truth) > (0.95 if method == "gram" else 0.6)


@pytest.mark.parametrize(("method", "theorem"), [("gram", 6), ("expected", 7), ("gibbs", 7)])
def test_the_guarantee(method, theorem: int, data: TagAssignments, tmp_path: Path, fixed_bits) -> None:
    settings = PrivateTopics(epsilon=1, delta="1e-6", method=method, topics=2, iterations=3)
    guarantee = settings.plan(data).guarantee
    assert guarantee.loss == GaussianLoss(mu_for(1, "1e-6") ** 2)
    assert guarantee.unit == Unit("user")
    assert f"Theorem {theorem}" in guarantee.basis
    if method != "gram":
        expected = 3**0.5 / float(mu_for(1, "1e-6"))
        assert settings.estimate(data)["table_noise_sd"] == pytest.approx(expected, rel=1e-4)
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(data, epsilon=3, delta="1e-5")
    release = settings.release(data, ledger=ledger)
    assert release.id in str(ledger.statement(data).to_json())


def test_each_round_is_released_with_its_own_noise(
    data: TagAssignments, fixed_bits, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many tables are drawn as were paid for, all with the noise of a share."""
    from discreet.privacy.mechanisms import NormalMechanism

    seen, true = [], NormalMechanism.release
    monkeypatch.setattr(NormalMechanism, "release", lambda self, sums: seen.append(self) or true(self, sums))
    PrivateTopics(epsilon=1, delta="1e-6", method="gibbs", topics=2, iterations=4).release(data)
    assert len(seen) == 4
    assert sum(mechanism.mu_squared for mechanism in seen) == mu_for(1, "1e-6") ** 2


def test_the_start_does_not_look_at_tags() -> None:
    one = UserTags.of(camps(60))
    first = blind_assignments(one, 4, KEY)
    swapped = replace(one, tag=one.tag[::-1].copy())
    assert np.array_equal(first, blind_assignments(swapped, 4, KEY))
    assert np.array_equal(first.sum(axis=0), np.ones(one.tag.size))


def test_drawn_topics_follow_the_table(fixed_bits) -> None:
    users = UserTags.of(TagAssignments([(u, "r", "x") for u in range(20_000)]).with_vocabulary(["x"]))
    share = blind_assignments(users, 3, KEY)
    drawn = sampled_assignments(users, share, np.array([[6.0], [3.0], [1.0]]), 1.0, KEY).sum(axis=1)
    # A table is of Pr(tag | topic): with one tag all topics are alike.
    assert drawn == pytest.approx([20_000 / 3] * 3, abs=500)
    users = UserTags.of(TagAssignments([(u, "r", "x") for u in range(20_000)]).with_vocabulary(["x", "y"]))
    drawn = sampled_assignments(users, share, np.array([[6.0, 4.0], [3.0, 7.0], [1.0, 9.0]]), 1.0, KEY).sum(axis=1)
    assert drawn == pytest.approx([12_000, 6_000, 2_000], abs=500)


@pytest.mark.parametrize("drawn", [False, True])
def test_assignments_of_a_part_are_those_of_the_whole(drawn: bool) -> None:
    """Sums of parts add up to the sums of all, so nobody's assignments may depend on who else is in the part."""
    data, rng = camps(30), np.random.default_rng(1)
    tables = [rng.random((4, data.n_tags)) + 0.01 for _ in range(2)]
    keys = [(1, 2), (3, 4), (5, 6)]
    users = UserTags.of(data)
    whole = assignments_after(users, tables, keys, 4, 0.5, drawn=drawn)
    for half in (data.user < 13, data.user >= 13):
        mine = np.isin(users.user, np.unique(data.user[half]))
        part = assignments_after(UserTags.of(data.filter(half)), tables, keys, 4, 0.5, drawn=drawn)
        assert np.array_equal(part, whole[:, mine])


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0}, {"delta": 1}, {"topics": 0}, {"iterations": 1.0}, {"method": "lda"}, {"popularity_share": 1}],
)
def test_what_makes_no_sense_is_refused(wrong, data: TagAssignments) -> None:
    with pytest.raises(UsageError):
        PrivateTopics(**{"epsilon": 1, "delta": "1e-6", **wrong}).release(data)


def test_wrong_matrices_weights_and_releases_are_refused(data: TagAssignments) -> None:
    for arguments in ((np.zeros((2, 3)), 1.0), (np.full((2, 2), np.nan), 1.0), (np.eye(2), -1.0)):
        with pytest.raises(UsageError):
            topics_of_gram(*arguments)
    with pytest.raises(UsageError):
        topics_of_gram(np.eye(2), 1.0, most_topics=0)
    with pytest.raises(UsageError):
        Topics.of_weights(np.array([[-1.0]]))
    with pytest.raises(PrivacyError):
        PrivateTopics(epsilon=1, delta="1e-6").release(TagAssignments([("ann", "abba", "pop")]))
    release = dc.tagging.PTRT(epsilon=1, delta="1e-6").release(data)
    with pytest.raises(ReleaseError):
        topics_of_release(release)
