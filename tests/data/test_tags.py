"""Tag assignments: a set of triples that cleans itself by public rules."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import TagAssignments, TagRule
from discreet.errors import DataError, UsageError

TRIPLES = [
    ("bob", "r2", "Tea"),
    ("ann", "r1", "tea"),
    ("ann", "r1", "Tea"),
    ("ann", "r1", "imported"),
    ("cat", "r3", "system:new"),
    ("ann", "r1", "tea"),
]
COLUMNS = dict(zip(["user_id", "resource_id", "tag"], zip(*TRIPLES, strict=True), strict=True))
COLUMNS = {name: list(values) for name, values in COLUMNS.items()}
triples = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.sampled_from(["x", "X", "y"])), max_size=20)


@pytest.mark.parametrize(
    "data",
    [pl.DataFrame(COLUMNS), pd.DataFrame(COLUMNS), pa.table(COLUMNS), COLUMNS, TRIPLES, TRIPLES[::-1], set(TRIPLES)],
    ids=["polars", "pandas", "arrow", "lists", "tuples", "reversed", "set"],
)
def test_every_way_in_gives_the_same_triples(data):
    tags = TagAssignments(data)
    assert tags.fingerprint == TagAssignments(TRIPLES).fingerprint
    assert tags.to_frame().rows() == sorted(set(TRIPLES))


@given(triples, st.randoms())
def test_it_is_a_set(rows, random):
    shuffled = [*rows, *rows[: len(rows) // 2]]
    random.shuffle(shuffled)
    one, other = TagAssignments(rows), TagAssignments(shuffled)
    assert one.fingerprint == other.fingerprint
    assert one.to_frame().rows() == sorted(set(rows))
    assert len(one) == len(set(rows))
    assert one.n_users == len({user for user, _, _ in rows})
    for user in range(one.n_users):
        assert set(one.user[one.user_starts[user] : one.user_starts[user + 1]].tolist()) == {user}


def test_columns_by_other_names_and_types():
    frame = pl.DataFrame({"who": [2, 1], "page": [(1, 2), (0, 1)], "word": [5, 5]}, strict=False)
    tags = TagAssignments(
        {"who": [2, 1], "page": [(1, 2), (0, 1)], "word": frame["word"]}, user="who", resource="page", tag="word"
    )
    assert tags.to_frame().rows() == [(1, (0, 1), 5), (2, (1, 2), 5)]
    assert tags.user.dtype == tags.resource.dtype == tags.tag.dtype == np.int32


def test_another_triple_is_another_fingerprint():
    prints = {
        TagAssignments(rows).fingerprint
        for rows in ([("a", "b", "c")], [("b", "a", "c")], [("a", "c", "b")], [("a", "b", "c"), ("a", "b", "d")], [])
    }
    assert len(prints) == 5


def test_cleaning_counts_what_it_removed():
    tags = TagAssignments(TRIPLES, name="demo")
    clean = tags.cleaned(TagRule())
    assert clean.to_frame().rows() == [("ann", "r1", "tea"), ("bob", "r2", "tea")]
    assert (clean.cleaning[0].dropped, clean.cleaning[0].collapsed) == (2, 1)
    assert clean.cleaning[0].rule == TagRule()
    assert clean.lineage == (f"-{tags.fingerprint}",)
    assert clean.users.ids() == ["ann", "bob"]
    assert clean.name == "demo"
    facts = clean.describe()
    assert (facts["dropped_by_rules"], facts["collapsed_by_rules"]) == (2, 1)
    assert tags.cleaning == ()
    assert len(tags) == 5
    # Whether a rule was applied is remembered, not whether it found anything: that would tell about the tags.
    assert clean.cleaned().lineage == (*clean.lineage, f"-{clean.fingerprint}")
    assert len(clean.cleaned().cleaning) == 2


@given(triples)
def test_cleaning_is_a_map_on_single_triples(rows):
    # What happens to one person's triples does not depend on anybody else's.
    rule = TagRule(drop=frozenset({"y"}))
    together = set(TagAssignments(rows).cleaned(rule).to_frame().rows())
    apart = {row for one in rows for row in TagAssignments([one]).cleaned(rule).to_frame().rows()}
    assert together == apart


def test_rules_read_each_tag_by_itself():
    """One tag of another type decides nothing about the others."""
    triples = [("a", "b", "Tea"), ("c", "b", 5), ("d", "b", 2.5)]
    assert TagAssignments(triples).cleaned().tags.ids() == ["5", "tea"]
    assert TagAssignments(triples[:1]).cleaned().tags.ids() == ["tea"]
    with pytest.raises(UsageError, match="TagRule"):
        TagAssignments(TRIPLES).cleaned(str.lower)  # type: ignore[arg-type]


def test_a_public_vocabulary_has_tags_that_nobody_used():
    tags = TagAssignments(TRIPLES)
    public = tags.cleaned().with_vocabulary(["rum", "tea"])
    assert public.vocabulary_is_public
    assert not tags.vocabulary_is_public
    assert public.tags.ids() == ["rum", "tea"]
    assert public.tag.tolist() == [1, 1]
    assert public.fingerprint == tags.cleaned().fingerprint
    assert public.lineage == (*tags.cleaned().lineage, tags.cleaned().fingerprint)
    assert public.filter(public.user == 0).tags.ids() == ["rum", "tea"]
    assert public.with_vocabulary("observed").tags.ids() == ["rum", "tea"]


def test_a_public_vocabulary_is_cleaned_too():
    public = TagAssignments(TRIPLES).with_vocabulary(["Tea", "tea", "RUM", "imported", "system:new"])
    clean = public.cleaned()
    assert clean.tags.ids() == ["rum", "tea"]
    assert clean.vocabulary_is_public


def test_tags_outside_the_vocabulary():
    tags = TagAssignments(TRIPLES)
    with pytest.raises(DataError, match="'imported' occurs") as caught:
        tags.with_vocabulary(["tea", "Tea"])
    assert caught.value.value == "imported"
    part = tags.with_vocabulary(["tea", "Tea"], outside="drop")
    assert len(part) == 3
    assert part.users.ids() == ["ann", "bob"]
    assert part.lineage == (f"-{tags.fingerprint}",)
    assert not part.complete
    for wrong in ("everything", 5):
        with pytest.raises(UsageError):
            tags.with_vocabulary(wrong)
    with pytest.raises(UsageError, match="ignore"):
        tags.with_vocabulary(["tea"], outside="ignore")  # type: ignore[arg-type]


def test_public_resources():
    tags = TagAssignments(TRIPLES)
    public = tags.with_resources(["r0", "r1", "r2", "r3"])
    assert public.resources_are_public
    assert public.resources.ids() == ["r0", "r1", "r2", "r3"]
    assert public.fingerprint == tags.fingerprint
    assert public.to_frame().equals(tags.to_frame())
    with pytest.raises(DataError, match="resource 'r2'"):
        tags.with_resources(["r1", "r3"])
    assert len(tags.with_resources(["r1", "r3"], outside="drop")) == 4
    assert tags.with_resources("observed").resources == tags.resources


def test_parts_know_the_whole():
    tags = TagAssignments(TRIPLES)
    part = tags.filter(lambda frame: frame["user_id"] == "ann")
    assert len(part) == 3
    assert part.tags.ids() == ["Tea", "imported", "tea"]
    assert part.lineage == (f"~{tags.fingerprint}",)
    with pytest.raises(UsageError, match="truth values"):
        tags.filter(np.array([True]))
    sample = tags.sample_users(2, seed=1)
    assert sample.n_users == 2
    assert sample.fingerprint == tags.sample_users(2, seed=1).fingerprint


def test_columns_cannot_be_written():
    tags = TagAssignments(TRIPLES)
    for column in (tags.user, tags.resource, tags.tag):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 0


def test_it_describes_itself():
    tags = TagAssignments(TRIPLES, name="demo")
    facts = tags.describe()
    assert (facts["triples"], facts["posts"], facts["users"], facts["resources"], facts["tags"]) == (5, 3, 3, 3, 4)
    assert facts["tags_per_post"] == 5 / 3
    assert facts["triples_per_user"] == {"median": 1.0, "max": 3}
    assert repr(tags) == "TagAssignments('demo': 5 triples, 3 users, 3 resources, 4 tags)"


def test_nothing_at_all():
    tags = TagAssignments([])
    assert len(tags) == tags.n_users == tags.describe()["posts"] == 0
    assert len(tags.cleaned()) == 0
    assert tags.with_vocabulary(["a"]).n_tags == 1
    assert len(TagAssignments(TRIPLES).filter(np.zeros(5, dtype=bool))) == 0


def test_what_is_wrong():
    with pytest.raises(DataError, match="no column 'tag'; the columns are 'user_id', 'resource_id'"):
        TagAssignments([("a", "b")])
    with pytest.raises(DataError, match=r"row 1, .*the value is missing"):
        TagAssignments({"user_id": [1, 2], "resource_id": [1, 2], "tag": ["a", None]})


def test_posts_are_the_pairs_of_users_and_resources() -> None:
    data = TagAssignments([("ann", "x", "a"), ("ann", "x", "b"), ("ann", "y", "a"), ("bob", "y", "b")])
    posts = data.posts
    assert len(posts) == 3
    assert posts.starts.tolist() == [0, 2, 3, 4]
    assert data.users.take(posts.user).to_list() == ["ann", "ann", "bob"]
    assert data.resources.take(posts.resource).to_list() == ["x", "y", "y"]


def test_no_triples_make_no_posts() -> None:
    data = TagAssignments([("ann", "x", "a")])
    nothing = data.filter(np.zeros(1, dtype=bool))
    assert len(nothing.posts) == 0
    assert nothing.posts.starts.tolist() == [0]


def test_posts_can_be_left_out_without_a_look_at_tags() -> None:
    data = TagAssignments([("ann", "x", "a"), ("ann", "x", "b"), ("ann", "y", "a"), ("bob", "y", "b")])
    part = data.without_posts(np.array([True, False, False]))
    assert part.to_frame().rows() == [("ann", "y", "a"), ("bob", "y", "b")]
    assert part.lineage == (f"={data.fingerprint}",)
    assert part.complete
    with pytest.raises(UsageError, match="without any post"):
        data.without_posts(np.array([False, False, True]))


def test_triples_that_were_left_out_by_their_tags_are_not_all() -> None:
    """Decided by what was called: whether anything was left out would tell about the tags."""
    data = TagAssignments([("ann", "x", "a"), ("bob", "y", "b")])
    assert data.complete
    assert data.with_vocabulary(["a", "b"]).with_resources("observed").complete
    assert not data.with_vocabulary(["a", "b"], outside="drop").complete
    assert not data.with_resources(["x", "y"], outside="drop").complete
    assert not data.cleaned().complete
    assert not data.filter(np.ones(2, dtype=bool), independent="record").complete


def test_emptied_keeps_the_public_lists():
    data = TagAssignments(TRIPLES).with_vocabulary(["Tea", "tea", "imported", "system:new", "rum"])
    empty = data.emptied()
    assert (len(empty), empty.n_users, empty.n_resources) == (0, 0, 0)
    assert empty.tags == data.tags
    assert empty.vocabulary_is_public
    assert empty.lineage == data.lineage
