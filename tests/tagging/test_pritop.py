"""PriTop as published: what its three steps do, option by option."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data import TagAssignments
from discreet.errors import PrivacyError, UsageError
from discreet.models.registry import create
from discreet.privacy.release import Release
from discreet.tagging.pritop.pritop import PriTop, options_of
from discreet.tagging.pritop.rewriting import closeness
from discreet.tagging.pritop.topics import TopicCounts

SURE = 4000
"""A budget at which no noise is felt."""


def taste(users: int = 30) -> tuple[TagAssignments, TopicCounts]:
    """Two topics of six tags each, no two of which are shared between the topics alike; users tag in one or both."""
    rng = np.random.default_rng(3)
    triples = [
        (f"u{u}", f"r{topic}{rng.integers(8)}", f"t{topic}{tag}")
        for u in range(users)
        for topic in ({0}, {1}, {0, 1})[u % 3]
        for tag in rng.choice(6, size=4, replace=False)
    ]
    data = TagAssignments(triples)
    tags = np.zeros((data.n_tags, 2))
    for code, tag in enumerate(data.tags.ids()):
        topic, place = int(tag[1]), int(tag[2])
        tags[code, topic], tags[code, 1 - topic] = 100 - 7 * place, 7 * place
    resources = np.array([[500.0, 1] if name[1] == "0" else [1, 500.0] for name in data.resources.ids()])
    return data, TopicCounts(tags, resources, alpha=0.1, beta=0.01)


def released(method: PriTop, data: TagAssignments, counts: TopicCounts) -> pl.DataFrame:
    return method.rewriting(data, counts).to_frame(data)


def mean_closeness(method: PriTop, data: TagAssignments, counts: TopicCounts) -> float:
    """How close new tags are to those they replace."""
    rewriting = method.rewriting(data, counts)
    replaced = rewriting.old >= 0
    scores = closeness(counts.topic_given_tag)
    return float(scores[rewriting.old[replaced], rewriting.tag[replaced]].mean())


# The whole


def test_without_noise_everything_stays_where_tags_differ() -> None:
    """Every tag has a share in a topic of its own, so that the closest one is itself."""
    data, counts = taste()
    apart = np.diag(counts.tags.max(axis=1))
    more = np.zeros((data.n_resources, data.n_tags))
    counts = TopicCounts(np.hstack([counts.tags, apart]), np.hstack([counts.resources, more]), alpha=0.1, beta=0.01)
    table = released(PriTop(epsilon=SURE, topics=counts.n_topics), data, counts)
    assert set(table.rows()) == set(data.to_frame().rows())


def test_less_budget_is_farther_from_the_truth(fixed_bits) -> None:
    data, counts = taste(200)
    near, far = (mean_closeness(PriTop(epsilon=e, topics=2), data, counts) for e in (SURE, 1))
    assert far < 0.9 < near


def test_new_tags_are_of_the_topic(fixed_bits) -> None:
    data, counts = taste()
    rewriting = PriTop(epsilon=1, topics=2, members="likeliest").rewriting(data, counts)
    homes = np.array([int(tag[1]) for tag in data.tags.ids()])
    np.testing.assert_array_equal(homes[rewriting.tag], rewriting.topic)


def test_triples_of_a_release_are_distinct_and_of_known_ids(fixed_bits) -> None:
    data, counts = taste()
    table = released(PriTop(epsilon="1/2", topics=2), data, counts)
    assert table.columns == ["user_id", "resource_id", "tag"]
    assert table.n_unique() == table.height
    assert len(TagAssignments(table)) == table.height
    for column, ids in (("user_id", data.users), ("resource_id", data.resources), ("tag", data.tags)):
        assert set(table[column]) <= set(ids.ids())


def test_ids_keep_their_type() -> None:
    data = TagAssignments([(7, 70, 700), (8, 80, 800)])
    counts = TopicCounts(np.eye(2) * 1e4, np.eye(2) * 1e4, alpha=0.1, beta=0.01)
    table = released(PriTop(epsilon=SURE, topics=2), data, counts)
    assert set(table.rows()) == {(7, 70, 700), (8, 80, 800)}


def test_noise_moves_tags_to_other_topics(fixed_bits) -> None:
    data, counts = taste()
    calm, loud = (PriTop(epsilon=e, topics=2).profiles(data, counts).topic for e in (SURE, "0.001"))
    assert calm.sum() != loud.sum()


def test_weights_that_are_forgotten_are_worked_out_again(fixed_bits, monkeypatch) -> None:
    data, counts = taste()
    method = PriTop(epsilon=1, topics=2)
    first = released(method, data, counts)
    monkeypatch.setattr("discreet.tagging.pritop.rewriting.CACHED_CELLS", 1)
    fixed_bits(20240607)
    assert released(method, data, counts).equals(first)


# Links


def test_links_are_kept_or_drawn(fixed_bits) -> None:
    data, counts = taste()
    posts = set(data.to_frame().select("user_id", "resource_id").rows())

    def links(**options) -> set:
        table = released(PriTop(epsilon=1, topics=2, **options), data, counts)
        return set(table.select("user_id", "resource_id").rows())

    assert links() <= posts
    assert links(inserted_links="none") <= posts
    assert not links(inserted_links="drawn") <= posts
    assert not links(links="drawn") <= posts


def test_added_tags_can_be_left_out(fixed_bits) -> None:
    data, counts = taste()
    sizes = {}
    for inserted in options_of(PriTop)["inserted_links"]:
        rewriting = create("pritop", epsilon=1, topics=2, inserted_links=inserted).rewriting(data, counts)
        sizes[inserted] = int((rewriting.old < 0).sum())
    assert sizes["none"] == 0
    assert min(sizes["own"], sizes["drawn"]) > 30


def test_resources_are_drawn_from_the_topic(fixed_bits) -> None:
    data, counts = taste(300)
    rewriting = PriTop(epsilon=SURE, topics=2, links="drawn").rewriting(data, counts)
    homes = np.array([int(name[1]) for name in data.resources.ids()])
    assert (homes[rewriting.resource] == rewriting.topic).mean() > 0.98


# Other options


def test_topics_that_a_user_has_not_can_be_left_alone(fixed_bits) -> None:
    data, counts = taste()
    sure = TopicCounts(counts.tags * 1e6, counts.resources * 1e6, counts.alpha, counts.beta)
    only_first = np.array([int(user[1:]) % 3 == 0 for user in data.users.ids()])
    seen = {}
    for topics in options_of(PriTop)["noisy_topics"]:
        rewriting = create("pritop", epsilon=1, topics=2, noisy_topics=topics).rewriting(data, sure)
        seen[topics] = set(rewriting.topic[only_first[rewriting.user]].tolist())
    assert seen == {"all": {0, 1}, "own": {0}}


def test_the_scale_of_the_proof_shrinks_with_the_profile() -> None:
    method = PriTop(epsilon="1/2", weight_scale="proof")
    np.testing.assert_allclose(method.weight_scales(np.array([0, 1, 20])), [8.0, 8.0, 0.4])
    np.testing.assert_allclose(PriTop(epsilon="1/2").weight_scales(np.array([1, 20])), [8.0, 8.0])
    assert method.count_scale == 4.0


def test_a_noisy_model_ranks_by_noisy_counts() -> None:
    counts = TopicCounts(np.array([[3.0, 1], [0, 2]]), np.array([[3.0, 3]]), alpha=0.1, beta=0.01)
    noisy = counts.with_noise(np.array([[-5.0, 0], [4, 0]]), np.zeros((1, 2)))
    np.testing.assert_array_equal(noisy.tags, [[0, 1], [4, 2]])
    assert noisy.tag_given_topic[1, 0] > noisy.tag_given_topic[0, 0]


@pytest.mark.parametrize(
    ("option", "value"), [(name, value) for name, some in options_of(PriTop).items() for value in some]
)
def test_every_option_runs_and_keeps_its_shape(fixed_bits, option: str, value: str) -> None:
    data, counts = taste()
    options: dict[str, Any] = {option: value, **({"noise_on": "count"} if value == "noisy" else {})}
    table = released(create("pritop", epsilon=1, topics=2, **options), data, counts)
    assert 50 < table.height < 1000


# The release


def test_the_estimate_tells_how_much_is_added() -> None:
    data, _ = taste()
    told = PriTop(epsilon=1).estimate(data)
    assert told["count_noise_scale"] == 2.0
    assert told["weight_noise_scale"] == 4.0
    assert told["inserted_tags_per_user"] == pytest.approx(199.5, abs=0.1)
    assert "inserted_tags_per_user" not in PriTop(epsilon=1, noisy_topics="own").estimate(data)
    assert "weight_noise_scale" not in PriTop(epsilon=1, weight_scale="proof").estimate(data)


def opened(folder: Path, data: TagAssignments) -> dc.Ledger:
    ledger = dc.Ledger(folder / "ledger.db")
    ledger.open(data, epsilon=1, unit="record")
    return ledger


def test_release_needs_the_word_and_is_recorded_as_refuted(tmp_path) -> None:
    data, _ = taste()
    method = PriTop(epsilon=1, topics=2, iterations=5)
    with pytest.raises(PrivacyError, match="refuted"):
        method.release(data)
    ledger = opened(tmp_path, data)
    with pytest.raises(PrivacyError, match="refuted"):
        method.release(data, ledger=ledger)
    release = method.release(data, ledger=ledger, allow_refuted=True)
    statement = ledger.statement(data)
    assert not statement.entries
    (entry,) = statement.refuted
    assert (entry.mechanism, entry.release) == ("pritop", release.id)
    assert release.kind == "tag-assignments"
    assert release.parameters["epsilon"] == "1"
    assert release.parameters["candidates"] == "topic"
    release.save(tmp_path / "out")
    assert Release.load(tmp_path / "out").table("assignments").equals(release.table("assignments"))


def test_nothing_to_release_gives_an_empty_table() -> None:
    data, _ = taste()
    empty = data.filter(np.zeros(len(data), dtype=bool))
    table = PriTop(epsilon=1, topics=2).release(empty, allow_refuted=True).table("assignments")
    assert table.height == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 5000}, "at most 4096"),
        ({"topics": 0}, "topics must be a whole number from 1 to 10,000, got 0"),
        ({"topics": 2.5}, "got 2.5"),
        ({"topics": True}, "got True"),
        ({"topics": 20_000}, "got 20000"),
        ({"iterations": 0}, "iterations"),
        ({"alpha": 0}, "alpha"),
        ({"beta": float("nan")}, "beta"),
        ({"candidates": "all"}, "candidates must be one of 'topic', 'profile', got 'all'"),
        ({"links": None}, "links must be"),
        ({"model": "noisy"}, "noise_on"),
        ({"seed": 3}, "no setting seed"),
    ],
)
def test_what_cannot_be_run_is_refused_before_the_charge(tmp_path, options, message: str) -> None:
    data, _ = taste()
    ledger = opened(tmp_path, data)
    with pytest.raises(UsageError, match=message):
        create("pritop", **{"epsilon": Fraction(1), **options}).release(data, ledger=ledger, allow_refuted=True)
    assert not ledger.statement(data).refuted


def test_only_tag_assignments_are_released() -> None:
    with pytest.raises(UsageError, match="TagAssignments"):
        PriTop(epsilon=1).release([("ann", "tea.org", "tea")], allow_refuted=True)  # type: ignore[arg-type]
