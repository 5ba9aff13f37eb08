"""PTR-S: tables of invented people, made of nothing but released sums."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.ids import IdMap
from discreet.data.tags import TagAssignments
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.losses import GaussianLoss, Pure
from discreet.privacy.units import Unit
from discreet.tagging import PTRS
from discreet.tagging.ptr_s import SHARES, shrunk, synthetic_posts
from discreet.tagging.sums import SIZES, size_counts, topic_steps, type_counts


def two_tastes(n: int = 600) -> TagAssignments:
    """Half of the people tag kitchens with kitchen words, half gardens with garden words."""
    rows = []
    words = {0: ["bread", "soup", "oven", "spice"], 1: ["rose", "hedge", "seed", "pond"]}
    for user in range(n):
        taste = user % 2
        for k in range(4):
            rows += [(f"u{user}", f"page-{taste}-{(user + k) % 5}", words[taste][(user + j) % 4]) for j in range(3)]
    data = TagAssignments(rows).with_vocabulary([*words[0], *words[1], *(f"rare-{k}" for k in range(20))])
    return data.with_resources([f"page-{taste}-{k}" for taste in (0, 1) for k in range(5)])


def test_invented_people_keep_to_one_taste(fixed_bits) -> None:
    release = PTRS(epsilon=8, delta="1e-6", head=8, users=200).release(two_tastes())
    table = release.table("assignments")
    assert release.kind == "tag-assignments"
    assert table.columns == ["user_id", "resource_id", "tag"]
    assert table["user_id"].str.starts_with("synthetic-").all()
    kitchen = table["tag"].is_in(["bread", "soup", "oven", "spice"])
    garden = table["tag"].is_in(["rose", "hedge", "seed", "pond"])
    assert (kitchen | garden).to_numpy().mean() > 0.9
    fits = (kitchen & table["resource_id"].str.starts_with("page-0")) | (
        garden & table["resource_id"].str.starts_with("page-1")
    )
    assert fits.to_numpy().mean() > 0.85
    # One taste prevails in most people, which independent draws of triples would not give.
    shares = table.with_columns(kitchen=kitchen).group_by("user_id").agg(pl.col("kitchen").mean(), pl.len())
    crowded = shares.filter(pl.col("len") >= 5)["kitchen"]
    assert ((crowded > 0.7) | (crowded < 0.3)).to_numpy().mean() > 0.6


def test_the_number_of_people_is_public_or_noisy(fixed_bits) -> None:
    data = two_tastes()
    assert PTRS(epsilon=8, delta="1e-6", users=70).release(data).table("assignments")["user_id"].n_unique() == 70
    noisy = PTRS(epsilon=8, delta="1e-6").release(data).table("assignments")["user_id"].n_unique()
    assert 560 < noisy < 640


def test_the_guarantee() -> None:
    data = two_tastes(4)
    guarantee = PTRS(epsilon=1, delta="1e-6").plan(data).guarantee
    assert guarantee.unit == Unit("user")
    assert isinstance(guarantee.loss, GaussianLoss)
    assert isinstance(PTRS(epsilon=1, delta=0).plan(data).guarantee.loss, Pure)
    assert not guarantee.joint
    assert guarantee == PTRS(epsilon=1, delta="1e-6").plan(two_tastes(40)).guarantee
    assert sum(SHARES.values()) == 1


def test_nothing_is_left_of_a_tiny_dataset_and_it_still_ends(fixed_bits) -> None:
    """Where noise is all there is, triples are drawn from whatever the sums say, and none is a real person's."""
    for delta in (0, "1e-6"):
        release = PTRS(epsilon="1/10", delta=delta, users=9).release(two_tastes(2))
        assert release.table("assignments")["user_id"].n_unique() == 9
        assert release.table("assignments").schema == {"user_id": pl.String, "resource_id": pl.String, "tag": pl.String}


def test_a_release_can_be_learned_from(tmp_path) -> None:
    release = PTRS(epsilon=4, delta="1e-6", users=60).release(two_tastes(100))
    back = dc.Release.load(release.save(tmp_path / "synthetic"))
    assert TagAssignments(back.table("assignments")).n_users == 60


@pytest.mark.parametrize("wrong", [{"head": 0}, {"topics": True}, {"users": 0}, {"epsilon": -1}, {"users": 10**7}])
def test_wrong_settings_are_refused(wrong) -> None:
    with pytest.raises(UsageError):
        PTRS(**{"epsilon": 1, "delta": "1e-6", **wrong})


def test_lists_must_be_public_and_not_empty() -> None:
    bare = TagAssignments([("ann", "tea.org", "tea")])
    with pytest.raises(PrivacyError):
        PTRS(epsilon=1, delta="1e-6").release(bare)
    empty = bare.with_vocabulary([], outside="drop").with_resources(["tea.org"])
    with pytest.raises(UsageError, match="empty"):
        PTRS(epsilon=1, delta="1e-6").release(empty)


# Steps


def test_sizes_are_counted_by_powers_of_two() -> None:
    rows = [(f"u{n}", f"r{k}", "t") for n, many in enumerate((1, 2, 3, 4, 9)) for k in range(many)]
    assert size_counts(TagAssignments(rows)).values.tolist() == [1, 2, 1, 1] + [0] * (SIZES - 4)
    heavy = TagAssignments([("u", f"r{k}", "t") for k in range(9_000)])
    assert size_counts(heavy).values.tolist() == [0] * (SIZES - 1) + [1]


def test_types_are_the_topics_of_most_triples() -> None:
    topics = topic_steps(np.array([[1.0, 0.0], [0.25, 0.75]]), np.array([0, 1]), 3)
    assert topics.tolist() == [[64, 0, 0], [16, 48, 0], [0, 0, 64]]
    data = TagAssignments([("u", "r", "a"), ("v", "r", "b"), ("w", "r", "c"), ("w", "s", "c"), ("w", "r", "a")])
    assert type_counts(data.with_vocabulary(["a", "b", "c"]), topics).values.tolist() == [1, 1, 1]


def test_rows_of_noise_are_dropped(fixed_bits) -> None:
    generator = np.random.default_rng(1)
    rows = generator.normal(0, 2, (2_000, 10))
    rows[0, 3] += 60
    kept = shrunk(rows, 2.0)
    assert kept[0, 3] == pytest.approx(60, abs=6)
    assert (kept[1:].sum(axis=1) > 0).mean() < 0.01
    assert (kept >= 0).all()


def test_draws_follow_the_laws(fixed_bits) -> None:
    table = synthetic_posts(
        1_500,
        types=np.array([3.0, 1.0]),
        sizes=np.array([0.0] * 6 + [1.0] + [0.0] * (SIZES - 7)),
        resources=np.array([[4.0, 0.0], [0.0, 1.0], [0.0, 3.0], [0.0, 0.0]]),
        tags=np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 4.0]]),
        resource_ids=IdMap(list("wxyz")),
        tag_ids=IdMap(list("abc")),
    )
    counts = dict(table["resource_id"].value_counts().rows())
    assert "z" not in counts
    assert set(table.filter(pl.col("resource_id") == "w")["tag"]) <= {"a"}
    assert set(table.filter(pl.col("resource_id") == "x")["tag"]) <= {"b", "c"}
    # Triples are distinct, so frequent ones collapse: only the order is left.
    assert counts["y"] > counts["x"]
    assert table.n_unique() == table.height
