"""Topics of planted datasets are found; a chain goes on where it stood; what is asked for is checked."""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dc
from discreet.errors import DataError, UsageError
from discreet.tagging import TopicModel
from discreet.tagging.topics.model import _LEARNED, coherence, perplexity

SUBJECTS = {
    "cooking": ["bread", "soup", "pasta", "cheese", "grill"],
    "music": ["guitar", "jazz", "vinyl", "piano", "opera"],
    "travel": ["hotel", "island", "train", "beach", "city"],
}


@pytest.fixture(scope="module")
def dataset() -> dc.TagAssignments:
    """Thirty resources of three subjects, each with four of the five tags of its subject from six users."""
    triples = [
        (f"u{user}", f"{subject}-{page}", tags[(page + place) % 5])
        for subject, tags in SUBJECTS.items()
        for page in range(10)
        for user in range(6)
        for place in range(4)
    ]
    return dc.TagAssignments(triples)


@pytest.fixture(scope="module")
def model(dataset: dc.TagAssignments) -> TopicModel:
    return TopicModel(topics=3, iterations=60, tolerance=None, seed=1).fit(dataset)


def test_planted_topics_are_found(dataset: dc.TagAssignments, model: TopicModel) -> None:
    found = [set(model.words_of(topic, 5)["tag"]) for topic in range(3)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, SUBJECTS.values()))
    for topic, tags in enumerate(found):
        subject = next(name for name, words in SUBJECTS.items() if set(words) == tags)
        of_subject = [code for code, name in enumerate(dataset.resources.ids()) if name.startswith(subject)]
        assert model.resource_topics_[of_subject, topic].min() > 0.95


def test_distributions_are_those_of_the_counts(dataset: dc.TagAssignments, model: TopicModel) -> None:
    for rows, shape in (
        (model.topic_words_, (3, dataset.n_tags)),
        (model.resource_topics_, (dataset.n_resources, 3)),
        (model.tag_topics_, (dataset.n_tags, 3)),
    ):
        assert rows.shape == shape
        np.testing.assert_allclose(rows.sum(axis=1), 1)
    # A tag counts once for each user who gave it.
    np.testing.assert_array_equal(model.tag_counts_.sum(axis=1), np.bincount(dataset.tag))
    np.testing.assert_array_equal(model.resource_counts_.sum(axis=0), model.topic_counts_)
    np.testing.assert_allclose(
        model.topic_words_[1], (model.tag_counts_[:, 1] + 0.01) / (model.topic_counts_[1] + 0.15)
    )
    # Bayes' rule.
    prior = model.topic_counts_ + 0.15
    by_rule = model.topic_words_.T * prior
    np.testing.assert_allclose(model.tag_topics_, by_rule / by_rule.sum(axis=1, keepdims=True))


def test_going_on_is_going_on(dataset: dc.TagAssignments) -> None:
    def made(iterations: int) -> TopicModel:
        return TopicModel(topics=5, iterations=iterations, tolerance=None, trace_every=4, shards=2, seed=4)

    whole = made(24).fit(dataset)
    in_parts = made(9).fit(dataset).more(15)
    saved = {name: array.copy() for name, array in made(13).fit(dataset).state().items()}
    resumed = made(1).resume(dataset, saved).more(11)
    for other in (in_parts, resumed):
        np.testing.assert_array_equal(other.assignments_, whole.assignments_)
        np.testing.assert_array_equal(other.topic_words_, whole.topic_words_)
        np.testing.assert_array_equal(other.log_likelihood_, whole.log_likelihood_)
        assert other.sweeps_ == 24


def test_a_state_survives_a_file(dataset: dc.TagAssignments, model: TopicModel, tmp_path) -> None:
    np.savez(tmp_path / "state.npz", **model.state())  # pyright: ignore[reportArgumentType]
    with np.load(tmp_path / "state.npz", allow_pickle=False) as stored:
        back = TopicModel(topics=3, seed=1).resume(dataset, dict(stored))
    np.testing.assert_array_equal(back.topic_words_, model.topic_words_)


def test_a_state_of_something_else_is_refused(dataset: dc.TagAssignments, model: TopicModel) -> None:
    state = model.state()
    with pytest.raises(DataError, match="not one of"):
        TopicModel(topics=3, seed=1).resume(dataset.filter(dataset.user > 0), state)
    with pytest.raises(DataError, match="other topics"):
        TopicModel(topics=2, seed=1).resume(dataset, state)
    with pytest.raises(DataError, match="lacks sweeps"):
        TopicModel(topics=3, seed=1).resume(dataset, {k: v for k, v in state.items() if k != "sweeps"})
    other = TopicModel(topics=3, seed=2)
    with pytest.raises(UsageError, match="seed=1"):
        other.resume(dataset, state)
    with pytest.raises(UsageError, match="not fitted"):
        other.more(1)


def test_learned_numbers_follow_the_chain(dataset: dc.TagAssignments) -> None:
    one = TopicModel(topics=3, iterations=1, seed=1).fit(dataset)
    before = one.topic_words_.copy()
    assert not np.array_equal(one.more(3).topic_words_, before)
    np.testing.assert_array_equal(one.tag_counts_.sum(axis=0), one.topic_counts_)


def test_seeds_and_threads(dataset: dc.TagAssignments) -> None:
    def topics(seed: int, threads: int) -> np.ndarray:
        one = TopicModel(topics=3, iterations=3, shards=2, seed=seed)
        return one.fit(dataset, threads=threads).assignments_

    np.testing.assert_array_equal(topics(1, 1), topics(1, 2))
    assert not np.array_equal(topics(1, 1), topics(2, 1))


def test_it_stops_when_the_trace_is_at_rest(dataset: dc.TagAssignments) -> None:
    one = TopicModel(topics=3, iterations=4_000, tolerance=0.01, window=3, trace_every=5, seed=1).fit(dataset)
    assert one.converged_
    assert one.sweeps_ < 4_000
    assert one.log_likelihood_.size == one.sweeps_ // 5
    before, now = one.log_likelihood_[-6:].reshape(2, 3).mean(axis=1)
    assert abs(now - before) <= 0.01 * abs(before)
    assert now > one.log_likelihood_[0]
    for end in range(6, one.log_likelihood_.size):
        before, now = one.log_likelihood_[end - 6 : end].reshape(2, 3).mean(axis=1)
        assert abs(now - before) > 0.01 * abs(before)


def test_progress_is_told(dataset: dc.TagAssignments) -> None:
    told: list[tuple[float, str]] = []
    TopicModel(topics=3, iterations=4).fit(dataset, progress=lambda share, what: told.append((share, what)))
    assert told == [(0.25, "sweep 1"), (0.5, "sweep 2"), (0.75, "sweep 3"), (1.0, "sweep 4")]


# How good they are


def test_perplexity_by_hand() -> None:
    resource_topics = np.array([[1.0, 0.0], [0.25, 0.75]])
    topic_tags = np.array([[0.5, 0.5, 0.0], [0.0, 0.2, 0.8]])
    resource, tag = np.array([0, 1, 1]), np.array([0, 1, 2])
    expected = (0.5 * (0.25 * 0.5 + 0.75 * 0.2) * (0.75 * 0.8)) ** (-1 / 3)
    assert perplexity(resource_topics, topic_tags, resource, tag) == pytest.approx(expected)


def test_held_out_tags_are_foreseen(dataset: dc.TagAssignments) -> None:
    data = dataset.with_vocabulary("observed")
    last = data.user == data.n_users - 1
    model = TopicModel(topics=3, iterations=60, seed=1).fit(data.filter(~last))
    # Five tags a subject, of which the resource shows four: three subjects that were not told apart would leave 15.
    assert model.perplexity(data.filter(last)) == pytest.approx(5, abs=0.1)
    strange = dc.TagAssignments([("u0", "unheard of", "jazz")])
    assert model.perplexity(strange) == pytest.approx(1 / model.topic_words_[:, data.tags.code("jazz")].mean())
    with pytest.raises(DataError, match="never seen the tag 'rum'"):
        model.perplexity(dc.TagAssignments([("u0", "music-1", "rum")]))
    with pytest.raises(DataError, match="no triples"):
        model.perplexity(data.filter(np.zeros(len(data), dtype=bool)))


def test_coherence_by_hand() -> None:
    # Four resources: tags 0 and 1 always together on two of them, 2 on one of those and one other, 3 apart.
    resource, tag = np.array([0, 0, 0, 1, 1, 2, 3, 0]), np.array([0, 1, 2, 0, 1, 2, 3, 0])
    together = coherence(np.array([[0.5, 0.4, 0.1, 0.0]]), resource, tag, n=2)
    assert together == pytest.approx([1.0])
    pairs = [np.log(0.5 / 0.25) / -np.log(0.5), *[np.log(0.25 / 0.25) / -np.log(0.25)] * 2]
    assert coherence(np.array([[0.5, 0.4, 0.1, 0.0]]), resource, tag, n=3) == pytest.approx([np.mean(pairs)])
    assert coherence(np.array([[0.5, 0.0, 0.1, 0.4]]), resource, tag, n=2) == pytest.approx([-1.0])


def test_topics_are_more_coherent_than_no_topics(model: TopicModel, dataset: dc.TagAssignments) -> None:
    mixed = np.ones((1, dataset.n_tags)) / dataset.n_tags
    assert model.coherence(5) > 0.5 > coherence(mixed, dataset.resource, dataset.tag, n=15).mean()


# What is asked for


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"topics": 0}, "topics must be a whole number from 1, got 0"),
        ({"iterations": 1.5}, "iterations must be .* got 1.5"),
        ({"alpha": 0}, "alpha must be .* got 0"),
        ({"beta": float("inf")}, "beta must be .* got inf"),
        ({"tolerance": -1}, "tolerance must be .* got -1"),
        ({"shards": True}, "shards must be .* got True"),
        ({"seed": -1}, "seed must be .* got -1"),
    ],
)
def test_settings_are_checked(dataset: dc.TagAssignments, wrong: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        TopicModel(**wrong).fit(dataset)  # type: ignore[arg-type]


def test_nothing_is_asked_of_a_model_that_learned_nothing(dataset: dc.TagAssignments) -> None:
    for ask in (
        lambda m: m.topic_words_,
        lambda m: m.perplexity(dataset),
        lambda m: m.coherence(),
        lambda m: m.words_of(0),
        lambda m: m.state(),
    ):
        with pytest.raises(UsageError, match="not fitted"):
            ask(TopicModel())
    with pytest.raises(DataError, match="no triples"):
        TopicModel().fit(dataset.filter(np.zeros(len(dataset), dtype=bool)))


def test_topics_that_do_not_exist(model: TopicModel) -> None:
    for topic in (-1, 3, "music"):
        with pytest.raises(UsageError, match="there is no topic"):
            model.words_of(topic)  # type: ignore[arg-type]


def test_unknown_attributes_are_not_taken_for_unfitted_ones(dataset: dc.TagAssignments) -> None:
    model = TopicModel(topics=3, iterations=2)
    with pytest.raises(UsageError, match="not fitted"):
        _ = model.topic_words_
    for one in (model, model.fit(dataset)):
        assert not hasattr(one, "no_such_thing_")
        with pytest.raises(AttributeError, match="no_such_thing_"):
            _ = one.no_such_thing_
    learned = {name for name in vars(model) if name.endswith("_")} | {"_chain", "_documents"}
    assert learned == _LEARNED
