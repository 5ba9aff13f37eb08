"""The channel: its law, its sampler, what it refuses."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import UsageError
from discreet.privacy import entropy
from discreet.tagging import Channel
from discreet.tagging.exact_draws import uniform_below
from discreet.tagging.gram_topics import likeness_blocks

TOPICS = [0, 0, 0, 1, 1, 1, 2, 2, 2]


def blocks(seed: int = 3, sizes=(3, 3, 3)) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 17, (size, size)) for size in sizes]


def test_the_law_is_that_of_the_formula() -> None:
    weights = np.array([1, 2, 3, 1, 1, 1, 5, 1, 2])
    channel = Channel.of(TOPICS, topic_budget="0.4", tag_budget="0.3", weights=weights, quality=blocks())
    law = channel.law()
    assert law.shape == (10, 10)
    assert np.allclose(law.sum(axis=1), 1)
    assert law.min() > 0
    keep, other = np.exp(0.4) / (np.exp(0.4) + 3), 1 / (np.exp(0.4) + 3)
    tag, topic = 4, 1
    scores = weights[3:6] * np.exp(0.15 * blocks()[topic][1] / 16)
    assert np.allclose(law[tag, 3:6], keep * scores / scores.sum())
    assert np.allclose(law[tag, :3], other * weights[:3] / weights[:3].sum())
    assert np.isclose(law[tag, 9], other)
    assert np.isclose(law[9, 9], keep)


def test_the_sampler_follows_the_law(fixed_bits) -> None:
    channel = Channel.of(
        TOPICS, topic_budget=1, tag_budget=3, weights=[1, 2, 3, 1, 1, 1, 5, 1, 2], quality=[blocks()[0], None, None]
    )
    for tag in (0, 4, 9):
        drawn = np.bincount(channel.draw(np.full(60_000, tag)), minlength=10)
        assert chisquare(drawn, channel.law()[tag] * 60_000).pvalue > 1e-6
        louder = Channel.of(TOPICS, topic_budget="1.3", tag_budget=3, weights=channel.weights, quality=channel.quality)
        assert chisquare(drawn, louder.law()[tag] * 60_000).pvalue < 1e-6


def test_without_nothing_there_is_one_topic_less(fixed_bits) -> None:
    channel = Channel.of(TOPICS, topic_budget=1, nothing=False)
    assert channel.n_topics == 3
    assert channel.law().shape == (9, 9)
    assert channel.draw(np.arange(9)).max() < 9
    single = Channel.of([0, 0], topic_budget=1, nothing=False)
    assert np.allclose(single.law(), 0.5)
    assert set(single.draw(np.zeros(50, dtype=int)).tolist()) == {0, 1}


def test_no_budget_says_nothing() -> None:
    law = Channel.of(TOPICS, topic_budget=0).law()
    assert np.allclose(law, law[0])


def test_budgets_are_shared_out_to_spend_what_is_given() -> None:
    for share in (0, "1/3", 1):
        channel = Channel.within("0.8", TOPICS, tag_share=share)
        assert channel.loss.epsilon == Fraction(4, 5)
    assert Channel.of(TOPICS, topic_budget="0.1", tag_budget=1).loss.epsilon == 1


def test_topics_are_numbered_anew() -> None:
    channel = Channel.of([7, 7, 3], topic_budget=1)
    assert channel.topic_of.tolist() == [1, 1, 0]


def test_likeness_is_half_a_cosine_in_whole_steps() -> None:
    profiles = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 2.0]])
    first, second = likeness_blocks(np.array([0, 0, 0, 1]), profiles)
    assert first is not None
    assert first.tolist() == [[16, 5, 0], [5, 16, 0], [0, 0, 16]]
    assert second is not None
    assert second.tolist() == [[16]]
    assert likeness_blocks(np.zeros(4, dtype=int), profiles, most=3) == (None,)


def test_a_large_vocabulary_is_fast() -> None:
    """186 thousand draws within ten seconds, on any machine; here it takes a tenth of one."""
    rng = np.random.default_rng(1)
    topic = np.where(np.arange(9749) < 2000, rng.integers(0, 30, 9749), 30)
    channel = Channel.within(2, topic, quality=likeness_blocks(topic, rng.random((9749, 8))), nothing=False)
    begin = time.perf_counter()
    assert channel.draw(rng.integers(0, 9749, 186_000)).size == 186_000
    assert time.perf_counter() - begin < 10


def test_words_that_would_favor_small_numbers_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    size = 3 * 2**61
    words = iter([[2**64 - 1, 5], [2**64 - 2], [size + 7]])
    monkeypatch.setattr(entropy, "random_words", lambda n: np.array(next(words), dtype=np.uint64))
    assert uniform_below(np.array([size, size])).tolist() == [7, 5]


def test_whole_numbers_are_equally_likely(fixed_bits) -> None:
    drawn = np.bincount(uniform_below(np.full(70_000, 7)), minlength=7)
    assert chisquare(drawn).pvalue > 1e-6
    assert uniform_below(np.zeros(0, dtype=np.int64)).size == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"topic_budget": -1},
        {"topic_budget": 1, "tag_budget": 11},
        {"topic_budget": 1, "weights": [0] * 9},
        {"topic_budget": 1, "weights": [1.5] * 9},
        {"topic_budget": 1, "weights": [2**41] * 9},
        {"topic_budget": 1, "quality": [None]},
        {"topic_budget": 1, "quality": [np.full((3, 3), 17), None, None]},
        {"topic_budget": 1, "quality": [np.zeros((2, 2), dtype=int), None, None]},
        {"topic_budget": 1, "grid": 0},
    ],
)
def test_what_makes_no_sense_is_refused(wrong) -> None:
    with pytest.raises(UsageError):
        Channel.of(TOPICS, **wrong)


def test_wrong_inputs_are_refused() -> None:
    with pytest.raises(UsageError):
        Channel.of([], topic_budget=1)
    with pytest.raises(UsageError):
        Channel.within(1, TOPICS, tag_share=2)
    with pytest.raises(UsageError):
        Channel.of(TOPICS, topic_budget=1).draw(np.array([10]))
