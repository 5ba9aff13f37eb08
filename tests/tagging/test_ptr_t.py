"""PTR-T: which tags are protected, what is given to posts, what a guarantee says."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.tags import TagAssignments
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.losses import GaussianLoss, Pure, mu_for
from discreet.privacy.units import Unit
from discreet.tagging import PTRT
from discreet.tagging.ptr_t import NO_COUNTS, PublicPosts, ResourceLists, fill_posts, resource_lists

WORDS = [f"t{place}" for place in range(12)]


def two_bands(users: int = 400, *, swap: bool = False) -> TagAssignments:
    """Everybody tags two bands with a word of theirs and one at random; a third has been tagged once."""
    rng = np.random.default_rng(2)
    triples = []
    for user in range(users):
        for band, word in (("abba", "t0"), ("kiss", "t1")):
            other = WORDS[int(rng.integers(2, 12))]
            triples += [(f"u{user:03}", band, "t2" if swap and other != "t2" else word), (f"u{user:03}", band, other)]
    triples += [("u000", "muse", "t5"), ("u000", "muse", "t6")]
    return TagAssignments(triples).with_vocabulary(WORDS)


@pytest.fixture(scope="module")
def bands() -> TagAssignments:
    return two_bands()


def test_what_many_say_of_a_resource_is_released(bands: TagAssignments, fixed_bits) -> None:
    release = PTRT(epsilon=1, delta="1e-6", head=12).release(bands)
    assert release.kind == "tag-assignments"
    top = release.table("assignments").group_by("resource_id", "tag").len().sort("len", descending=True)
    assert set(top.head(2).select("resource_id", "tag").rows()) == {("abba", "t0"), ("kiss", "t1")}
    links = release.table("links").filter(pl.col("tag").is_in(["t0", "t1"]))
    assert links["count"].to_numpy() == pytest.approx([400, 400], abs=60)
    assert release.table("tags").height == 12


def test_every_post_is_one_that_there_is(bands: TagAssignments, fixed_bits) -> None:
    for delta in (0, "1e-6"):
        table = PTRT(epsilon=2, delta=delta).release(bands).table("assignments")
        true = bands.to_frame().group_by("user_id", "resource_id").len("places")
        posts = table.group_by("user_id", "resource_id").len("given")
        both = posts.join(true, on=["user_id", "resource_id"], how="left")
        assert both["places"].null_count() == 0
        assert (both["given"] <= both["places"]).all()
        assert table.is_unique().all()


def test_a_resource_with_few_posts_gets_no_tags(bands: TagAssignments, fixed_bits) -> None:
    table = PTRT(epsilon=1, delta="1e-6").release(bands).table("assignments")
    assert "muse" not in table["resource_id"].to_list()


def test_the_guarantee(bands: TagAssignments) -> None:
    plain = PTRT(epsilon=1, delta="1e-6").plan(bands).guarantee
    assert plain.unit == Unit("record", "value")
    assert plain.loss == GaussianLoss(mu_for(1, "1e-6") ** 2)
    assert "it hides which tag you chose, not that you tagged it" in plain.describe()
    shares = [PTRT(epsilon=1, delta="1e-6")._noise(name).loss for name in ("popularity", "link")]
    assert sum(share.mu_squared for share in shares if isinstance(share, GaussianLoss)) == mu_for(1, "1e-6") ** 2
    assert PTRT(epsilon=1).plan(bands).guarantee.loss == Pure(Fraction(1))


def test_plans_are_the_same_for_other_tags(bands: TagAssignments) -> None:
    method, other = PTRT(epsilon=1, delta="1e-6"), two_bands(swap=True)
    assert method.estimate(bands) == method.estimate(other)
    assert method.plan(bands).guarantee == method.plan(other).guarantee
    assert method.estimate(bands)["resources_with_tags"] == 2


def test_the_ledger_is_charged_once_and_not_for_mistakes(bands: TagAssignments, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(bands, epsilon=3, delta="1e-5", unit="record/value")
    with pytest.raises(UsageError):
        PTRT(epsilon=1, delta="1e-6", popularity_share=1).release(bands, ledger=ledger)
    assert ledger.statement(bands).entries == ()
    release = PTRT(epsilon=1, delta="1e-6").release(bands, ledger=ledger)
    assert release.id in str(ledger.statement(bands).to_json())
    assert len(ledger.statement(bands).entries) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"delta": 1},
        {"head": 0},
        {"most_tags": True},
        {"popularity_share": 0},
        {"popularity_share": 1},
        {"false_tags": 0},
    ],
)
def test_what_makes_no_sense_is_refused(wrong, bands: TagAssignments) -> None:
    with pytest.raises(UsageError):
        PTRT(**{"epsilon": 1, "delta": "1e-6", **wrong}).release(bands)


def test_a_secret_vocabulary_is_refused() -> None:
    with pytest.raises(PrivacyError, match="public list of tags"):
        PTRT(epsilon=1, delta="1e-6").release(TagAssignments([("ann", "abba", "pop")]))


def test_lists_hold_the_largest_counts_from_the_least_on() -> None:
    counts = np.array([[50, 3, 70], [9, 8, 7]])
    lists = resource_lists(
        counts,
        np.array([2, 5]),
        np.array([10, 11, 12]),
        least=np.array([8, 8, 8]),
        most=2,
        posts=np.array([0, 0, 60, 0, 0, 60]),
    )
    assert lists.resource.tolist() == [2, 2, 5, 5]
    assert lists.tag.tolist() == [12, 10, 10, 11]
    assert lists.count.tolist() == [60, 50, 9, 8]  # no tag is in more posts than there are


def test_frequent_tags_need_less_evidence() -> None:
    method = PTRT(epsilon=1, delta="1e-6", false_tags="1/4")
    least = method._least_counts(300)
    deviation = method._noise("link").standard_deviation(NO_COUNTS)
    assert (np.diff(least) >= 0).all()
    passes = [NormalDist().cdf(-count / deviation) for count in least]
    assert 0.15 < sum(passes) <= 0.25  # whole counts are rounded up


def test_places_take_listed_tags_as_often_as_counted(fixed_bits) -> None:
    data = TagAssignments([(user, "abba", word) for user in range(5000) for word in ("x", "y")])
    lists = ResourceLists(np.array([0, 0]), np.array([1, 0]), np.array([5000, 2500]))
    posts = PublicPosts.of(data)
    place, tag = fill_posts(posts, lists)
    # 10,000 places: a half, a quarter, and the rest stays empty; 6 deviations of a binomial law.
    assert np.bincount(tag) == pytest.approx([2500, 5000], abs=300)
    assert place.size == tag.size
    crowded = ResourceLists(np.array([0, 0]), np.array([1, 0]), np.array([9000, 9000]))
    assert fill_posts(posts, crowded)[0].size == len(data)


def test_triples_that_were_left_out_by_their_tags_are_refused() -> None:
    """A post that is missing because of its tag would tell the tag, the very value that is to be hidden."""
    data = dc.synthetic.tags(users=20, resources=15, seed=7).with_resources("observed")
    words = data.tags.ids()
    for part in (
        data.with_vocabulary(words, outside="drop"),
        data.with_vocabulary("observed").cleaned(),
        data.with_vocabulary("observed").filter(data.user > 0, independent=True),
    ):
        with pytest.raises(PrivacyError, match="dropped or merged because of their tags"):
            PTRT(epsilon=1, delta="1e-6").release(part)
