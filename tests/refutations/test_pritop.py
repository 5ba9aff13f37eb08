"""PriTop is not differentially private: every error with its counterexample, from the laws of its own three steps.

Claimed at epsilon 1, for one triple: 0.5 for the topics, 0.25 for the weights and 0.25 for the selection of each user.

References
----------
T. Zhu, G. Li, W. Zhou, P. Xiong, C. Yuan: Deferentially private tagging recommendation based on topic model.
PAKDD 2014.
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, chapter 4.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.refutations.pritop_laws import list_law, selection_law, size_law, weight_log_ratio

from discreet.data import TagAssignments
from discreet.errors import PrivacyError
from discreet.privacy.guarantees import Standing
from discreet.privacy.numbers import Rational
from discreet.privacy.units import Unit
from discreet.tagging.pritop.pritop import PriTop, options_of
from discreet.tagging.pritop.rewriting import closeness, members_of, revise
from discreet.tagging.pritop.topics import Profiles, TopicCounts
from discreet.testing import max_log_ratio, smallest_delta

Floats = NDArray[np.float64]
LawOfSets = dict[frozenset[int], float]

SECOND = 0.293815373340
"""Pr(z|s) of a tag s that has half of its divergence from one that is all in z."""


def pritop(epsilon: Rational = 1, **options) -> PriTop:
    return PriTop(epsilon=epsilon, **options)


def counts_of(tags: list[list[float]], resources: int = 1) -> TopicCounts:
    """Tables with so many counts that no noise moves a tag to another topic."""
    table = 1e6 * np.array(tags)
    return TopicCounts(table, np.tile(table.sum(axis=0), (resources, 1)), alpha=0.1, beta=0.01)


def law_of_topic(counts: TopicCounts, own: list[int], topic: int, method: PriTop) -> LawOfSets:
    """What a user with these tags in a topic gets for them: steps 2 and 3, enumerated."""
    members = members_of(counts, method.members)[topic]
    probability = counts.tag_given_topic[:, topic]
    ranking = members[np.argsort(-probability[members], kind="stable")]
    scores = closeness(counts.topic_given_tag)
    scale = float(method.weight_scales(np.array([len(own)]))[0])
    law: LawOfSets = {}
    for size, chance in enumerate(size_law(len(own), scale, len(own) + members.size)):
        lists = revise(
            np.array([0, len(own)]), np.array(own), np.array([size]), probability=probability, ranking=ranking
        )
        for outcome, share in list_law(scores[np.ix_(lists.tag, members)], float(method.epsilon)).items():
            released = frozenset(members[list(outcome)].tolist())
            law[released] = law.get(released, 0.0) + chance * share
    return law


def chance_of(law: LawOfSets, tag: int) -> float:
    return sum(share for released, share in law.items() if tag in released)


def test_the_second_tag_is_half_a_divergence_away() -> None:
    assert closeness(np.array([[1.0, 0.0], [SECOND, 1 - SECOND]]))[0, 1] == pytest.approx(0.5, abs=1e-10)


# The whole: what occurs decides what can come out


@pytest.mark.parametrize(("epsilon", "chance"), [(1, 0.5018), ("0.1", 0.500)])
def test_a_tag_that_one_person_uses_comes_out_or_never(epsilon, chance: float) -> None:
    """Tag 0 is u's only one and nobody else's; the other tag of its topic has the score 1/2."""
    method = pritop(epsilon, topics=2)
    law = law_of_topic(counts_of([[1, 0], [SECOND, 1 - SECOND]]), [0], 0, method)
    assert chance_of(law, 0) == pytest.approx(chance, abs=5e-5 if epsilon == 1 else 5e-4)
    # Without the triple the tag is in no vocabulary: no outcome has it, with whatever chances the others come.
    without = {released: 1 / len(law) for released in law if 0 not in released}
    without[frozenset()] = 1 - (len(without) - 1) / len(law)
    assert max_log_ratio(law, without) == math.inf
    assert smallest_delta(law, without, 100.0) > 0.4999


def dataset(users: int, *, with_secret: bool) -> tuple[TagAssignments, TopicCounts]:
    """Users alike: "secret" on a page that has no other tag, "common" on another; a topic for each of the tags."""
    triples = [(f"u{n}", f"other{n}", "common") for n in range(users)]
    if not with_secret:
        return TagAssignments(triples), counts_of([[SECOND, 1 - SECOND]], users)
    data = TagAssignments([(f"u{n}", f"page{n}", "secret") for n in range(users)] + triples)
    tags = [[0.0, 0.0], [0.0, 0.0]]
    tags[data.tags.code("secret")], tags[data.tags.code("common")] = [1.0, 0.0], [0.0, 1.0]
    return data, counts_of(tags, data.n_resources)


@pytest.mark.parametrize(("epsilon", "chance"), [(1, 0.559), ("0.1", 0.506)])
def test_a_link_is_published_or_never(fixed_bits, epsilon, chance: float) -> None:
    method = pritop(epsilon, topics=2, inserted_links="none")
    exact = 1 - float(size_law(1, float(method.weight_scales(np.array([1]))[0]), 1)[0])
    assert exact == pytest.approx(chance, abs=5e-4)
    data, counts = dataset(3000, with_secret=True)
    kept = method.rewriting(data, counts).to_frame(data)
    links = kept.filter(kept["resource_id"].str.starts_with("page")).unique(["user_id", "resource_id"])
    assert links.height / 3000 == pytest.approx(exact, abs=0.05)  # five deviations
    assert not [user for user, page in links.select("user_id", "resource_id").rows() if page != f"page{user[1:]}"]


@pytest.mark.parametrize(
    ("option", "value"), [(name, value) for name, some in options_of(PriTop).items() for value in some]
)
def test_no_reading_of_the_paper_saves_it(fixed_bits, option: str, value: str) -> None:
    """Tag, link and row of a user appear with the triples, and never without, whatever the silences mean."""
    options = {option: value, **({"noise_on": "count"} if value == "noisy" else {})}
    method = pritop(1, topics=2, **options)
    data, counts = dataset(300, with_secret=True)
    seen = method.rewriting(data, counts).to_frame(data)
    assert "secret" in seen["tag"].to_list()
    less, fewer = dataset(299, with_secret=False)
    unseen = method.rewriting(less, fewer).to_frame(less)
    assert "secret" not in unseen["tag"].to_list()
    assert "u299" not in unseen["user_id"].to_list()
    assert seen.n_unique("user_id") > 150
    if value != "drawn":
        assert seen["resource_id"].str.starts_with("page").any()
    assert not unseen["resource_id"].str.starts_with("page").any()


def test_everybody_elses_output_depends_on_one_triple() -> None:
    """Parallel composition over users needs a topic model that does not: one triple decides which tag is added."""
    before = TopicCounts(np.array([[3.0, 4], [3.0, 0], [1.0, 9]]), np.array([[7.0, 13]]), alpha=0.1, beta=0.01)
    after = TopicCounts(before.tags + np.eye(3, 2, -1), before.resources + np.eye(1, 2), alpha=0.1, beta=0.01)
    method = pritop(1, topics=2)
    first, second = (law_of_topic(counts, [2], 0, method) for counts in (before, after))
    a_user = max_log_ratio(first, second)
    assert a_user > 0.004
    assert 1892 * a_user > 8  # of so many users alike; all together were to cost 1/2


# Step 1: the profiles; for its topics see test_pritop_topics.py


def test_the_stated_output_of_step_1_is_the_raw_tags() -> None:
    """Algorithm 4 returns profiles: however much noise, every tag of a user stands in some topic."""
    data, counts = dataset(5, with_secret=True)
    profiles = pritop("0.001", topics=2).profiles(data, counts)
    of_first = {data.tags.ids()[tag] for tag, user in zip(profiles.tag, profiles.user, strict=True) if user == 0}
    assert of_first == {"secret", "common"}


# Step 2: the weights


def weights_of(tags: list[int], topics: list[int]) -> NDArray[np.int64]:
    """W of one user with these tags in these topics."""
    size = len(tags)
    columns = (np.zeros(size, dtype=np.int64), np.arange(size), np.array(tags), np.array(topics))
    return Profiles.of(*columns, n_users=1, n_topics=2).weights()[0]


def test_a_users_weights_cost_forty_times_the_claim() -> None:
    method = pritop(1)
    (scale,) = method.weight_scales(np.array([20]))
    all_in_first, all_in_second = weights_of([*range(20)], [0] * 20), weights_of([*range(20)], [1] * 20)
    assert weight_log_ratio(all_in_first, all_in_second, scale) == pytest.approx(10.0)
    one_moved = weights_of([*range(20)], [0] * 19 + [1])
    assert weight_log_ratio(all_in_first, one_moved, scale) == pytest.approx(0.5)
    one_less = weights_of([*range(19)], [0] * 19)
    assert weight_log_ratio(all_in_first, one_less, scale) == pytest.approx(0.25)  # this alone was claimed


def test_the_scale_of_the_proof_costs_a_triple_five() -> None:
    method = pritop(1, weight_scale="proof")
    first, second = method.weight_scales(np.array([20, 21]))
    one_less = weights_of([*range(19)], [0] * 19)
    assert weight_log_ratio(weights_of([*range(20)], [0] * 20), one_less, first) == pytest.approx(5.0)
    # Worse, the scale itself is a fact about the user: two scales have a ratio without bound.
    assert first != second


def test_the_size_of_a_list_alone_is_post_processing() -> None:
    """Rounding a noisy weight is harmless: one triple more keeps ε/4."""
    scale = float(pritop(1).weight_scales(np.array([3]))[0])
    loss = max_log_ratio(size_law(3, scale, 40), size_law(4, scale, 40))
    assert loss == pytest.approx(0.25)


# Step 3: the selection


def test_one_selection_from_a_public_list_is_within_its_share() -> None:
    """A thousand candidates; the target is like one of them, or like all others."""
    tags = np.zeros((1000, 2))
    tags[0, 0], tags[1:, 1] = 1.0, 1.0
    scores = closeness(tags)
    loss = max_log_ratio(selection_law(scores[0], 1.0), selection_law(scores[1], 1.0))
    assert loss == pytest.approx(0.2497, abs=5e-5)
    assert loss < 0.25


def test_a_tag_of_another_topic_has_other_candidates() -> None:
    counts = counts_of([[1, 0], [1, 0], [0, 1], [0, 1]])
    method = pritop(1, topics=2)
    laws = []
    for own in ([0], [2]):
        topic = own[0] // 2
        members = members_of(counts, method.members)[topic]
        scores = closeness(counts.topic_given_tag)[own][:, members]
        laws.append({members[place]: share for (place,), share in list_law(scores, 1.0).items()})
    assert max_log_ratio(*laws) == math.inf


def pairs_of_tags(many: int) -> TopicCounts:
    """Topics {a_k, b_k} with a score of 1/2 between the two; what b_k has besides stands in a topic of its own."""
    table = np.zeros((2 * many, many + 1))
    for k in range(many):
        table[2 * k, k], table[2 * k + 1, k], table[2 * k + 1, many] = 1.0, SECOND, 1 - SECOND
    return counts_of(table.tolist())


@pytest.mark.parametrize(("tags", "loss"), [(5, 0.3125), (20, 1.25), (100, 6.25)])
def test_selections_of_one_user_add_up(tags: int, loss: float) -> None:
    """A profile of all a against one of all b, the output being all a: topics are drawn from independently."""
    counts = pairs_of_tags(tags)
    scores = closeness(counts.topic_given_tag)
    total = 0.0
    for topic, members in enumerate(members_of(counts, "assigned")[:tags]):
        first, second = (list_law(scores[[2 * topic + own]][:, members], 1.0) for own in (0, 1))
        total += math.log(first[(0,)]) - math.log(second[(0,)])
    assert total == pytest.approx(loss, abs=1e-4)
    assert total > 0.25


def test_the_sum_is_the_loss_of_the_joint_law() -> None:
    counts = pairs_of_tags(5)
    scores = closeness(counts.topic_given_tag)[:2, :2]
    single = [list_law(scores[[own]], 1.0) for own in (0, 1)]
    joint = [
        {picks: math.prod(law[(pick,)] for pick in picks) for picks in itertools.product((0, 1), repeat=5)}
        for law in single
    ]
    assert max_log_ratio(*joint) == pytest.approx(0.3125, abs=1e-4)


def test_candidates_from_the_profile_hide_nothing(fixed_bits) -> None:
    """Read as the text has it, the candidates are the list itself, and all of it is drawn."""
    data, counts = dataset(50, with_secret=True)
    sure = pritop(1000, topics=2, candidates="profile")  # weights come out as they are
    released = sure.rewriting(data, counts).to_frame(data)
    assert set(released.rows()) == set(data.to_frame().rows())


# The guarantee says so


def test_the_guarantee_is_refuted_and_names_the_counterexamples() -> None:
    data, _ = dataset(3, with_secret=True)
    guarantee = pritop(1).plan(data).guarantee
    assert guarantee.standing is Standing.REFUTED
    assert guarantee.unit == Unit("record")
    for number in ("0.50", "0.56", "3.76", "costs 10", "1.25", "test_pritop"):
        assert number in guarantee.basis
    with pytest.raises(PrivacyError, match="refuted"):
        pritop(1).release(data)
