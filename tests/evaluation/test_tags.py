"""Leave one post out: what is taken away, who is told what, and how it is counted."""

from typing import ClassVar

import numpy as np
import pytest

from discreet.data import synthetic
from discreet.data.tags import TagAssignments
from discreet.errors import EvaluationError, UsageError
from discreet.evaluation import PostQuestions, compare, evaluate_tags, leave_one_post_out
from discreet.privacy.charging import in_sandbox
from discreet.tagging import PTRJ, OwnTags, PopularTags, TagRecommender


@pytest.fixture(scope="module")
def dataset():
    return synthetic.tags(users=80, resources=60, seed=7)


def test_one_post_of_each_user_is_taken_whole(dataset):
    questions = leave_one_post_out(dataset, seed=3)
    before = {tuple(row) for row in dataset.to_frame().iter_rows()}
    kept = {tuple(row) for row in questions.train.to_frame().iter_rows()}
    taken = {tuple(row) for row in questions.held_out.to_frame().iter_rows()}
    assert kept | taken == before
    assert not kept & taken
    assert {row[:2] for row in taken}.isdisjoint({row[:2] for row in kept})
    posts = np.bincount(dataset.posts.user)
    assert sorted(user for user, _ in questions.queries) == [
        user for user, n in zip(dataset.users.ids(), posts, strict=True) if n >= 2
    ]
    assert questions.train.users == dataset.users


def test_seeds_and_samples(dataset):
    whole = leave_one_post_out(dataset, seed=3)
    assert leave_one_post_out(dataset, seed=3).queries == whole.queries
    assert leave_one_post_out(dataset, seed=4).queries != whole.queries
    some = leave_one_post_out(dataset, seed=3, users=20)
    assert len(some.queries) == 20
    assert set(some.queries) < set(whole.queries)


def test_each_post_is_as_likely_as_the_other():
    # 600 users with three posts each: the middle one is taken from 200 ± 12, six of them 70.
    data = TagAssignments([(user, post, "x") for user in range(600) for post in range(3)])
    taken = np.bincount([resource for _, resource in leave_one_post_out(data, seed=1).queries])
    assert taken.sum() == 600
    assert np.abs(taken - 200).max() < 70


class Fixed(TagRecommender):
    """Shows the same tags to everybody, and remembers how it was asked."""

    name: ClassVar[str] = "fixed"

    def __init__(self, tags):
        self.wanted = tags

    def _fit(self, data):
        self.sandboxed = in_sandbox()

    def _score(self, users, resources, own=None):
        n_tags = len(self.tags_) if own is None else own.n_tags
        scores = np.full((users.size, n_tags), -np.inf)
        for place, tag in enumerate(self.wanted):
            scores[:, self.tags_.code(tag)] = -place
        self.own = own
        return scores


TRIPLES = [
    ("ann", "blue", "jazz"),
    ("ann", "blue", "old"),
    ("ann", "kind", "jazz"),
    ("bob", "hits", "pop"),
    ("bob", "rust", "pop"),
]


def questions():
    data = TagAssignments(TRIPLES)
    held_out = [("ann", "blue", "jazz"), ("ann", "blue", "old"), ("bob", "rust", "pop")]
    return PostQuestions(TagAssignments([t for t in TRIPLES if t not in held_out]), TagAssignments(held_out)), data


def test_recall_and_precision_by_hand():
    asked, _ = questions()
    found = evaluate_tags(Fixed(["jazz", "pop"]), asked, n=[1, 2, 4])
    assert found["recall@1"] == pytest.approx((1 / 2 + 0) / 2)
    assert found["recall@2"] == pytest.approx((1 / 2 + 1) / 2)
    assert found["precision@1"] == pytest.approx((1 + 0) / 2)
    assert found["precision@4"] == pytest.approx((1 / 4 + 1 / 4) / 2)
    assert found.of_users("recall@2").tolist() == [0.5, 1.0]


def test_who_brings_own_triples():
    asked, _ = questions()
    made = []

    def make(train):
        made.append(Fixed(["pop"]).fit(train))
        return made[-1]

    evaluate_tags(make, asked)
    assert made[-1].sandboxed
    assert np.diff(made[-1].own.starts).tolist() == [1, 1]
    evaluate_tags(make, asked, own=False)
    assert made[-1].own is None


def test_a_model_is_left_as_it_was():
    asked, data = questions()
    model = PopularTags().fit(data)
    evaluate_tags(model, asked)
    assert len(model.tags_) == data.n_tags


def test_a_way_to_release_is_released_and_read(dataset, fixed_bits):
    public = dataset.with_vocabulary("observed").with_resources("observed")
    asked = leave_one_post_out(public, seed=1)
    private = evaluate_tags(PTRJ(epsilon=50, delta="1e-6"), asked)
    alone = evaluate_tags(OwnTags(), asked)
    assert private["recall@10"] > alone["recall@10"]
    test = compare(private, against=alone, metric="recall@10")
    assert test.difference == pytest.approx(private["recall@10"] - alone["recall@10"])
    assert test.n == len(asked.queries)


def test_what_is_refused(dataset):
    with pytest.raises(EvaluationError, match="two posts"):
        leave_one_post_out(TagAssignments([("ann", "blue", "jazz")]), seed=1)
    with pytest.raises(EvaluationError, match="users"):
        leave_one_post_out(dataset, seed=1, users=1_000)
    with pytest.raises(UsageError, match="TagAssignments"):
        leave_one_post_out("tags", seed=1)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="recommends no tags"):
        evaluate_tags("folk-rank", dataset)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="recommends no tags"):
        evaluate_tags(lambda train: train, dataset)  # type: ignore[arg-type,return-value]
    with pytest.raises(EvaluationError, match="list length"):
        evaluate_tags(PopularTags(), dataset, n=[5, 5])
