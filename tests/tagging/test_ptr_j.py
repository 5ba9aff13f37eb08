"""PTR-J: what is released, for whom, with how much noise; and what is refused before anything is spent."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.tags import TagAssignments
from discreet.errors import BudgetError, PrivacyError, UsageError
from discreet.privacy.ledger import Ledger
from discreet.privacy.losses import GaussianLoss, Pure
from discreet.privacy.units import Unit
from discreet.tagging import PTRJ
from discreet.tagging.sums import best


def dataset(n: int = 400) -> TagAssignments:
    """Everybody tags the first pages alike, and one page of their own."""
    rows = []
    for user in range(n):
        rows += [(user, "news", "daily"), (user, "news", "politics"), (user, f"page-{user % 50}", "toread")]
        rows += [(user, "recipes", "food")] if user % 2 else []
    tags = ["daily", "politics", "toread", "food", *(f"rare-{k}" for k in range(40))]
    data = TagAssignments(rows).with_vocabulary(tags)
    return data.with_resources(["news", "recipes", *(f"page-{k}" for k in range(50))])


def test_popular_tags_and_the_links_of_popular_resources_come_out(fixed_bits) -> None:
    release = PTRJ(epsilon=4, delta="1e-6", resources=2).release(dataset())
    counts = dict(release.table("tags").sort("count", descending=True).rows())
    assert set(list(counts)[:4]) == {"daily", "politics", "toread", "food"}
    assert counts["daily"] > counts["food"]
    links = {(resource, tag) for resource, tag, _ in release.table("links").rows()}
    assert {("news", "daily"), ("news", "politics"), ("recipes", "food")} <= links
    assert {resource for resource, _ in links} <= {"news", "recipes"}
    assert release.kind == "tag-statistics"


def test_sums_without_noise_are_the_weights_of_users(fixed_bits) -> None:
    """With a huge budget the counts are those of users at length 1, half of it on tags."""
    release = PTRJ(epsilon=10**6, delta="1e-6", resources=2).release(dataset(100))
    counts = dict(release.table("tags").rows())
    # Half of the users use three tags and the other half four.
    assert counts["daily"] == pytest.approx(50 * np.sqrt(1 / 2 / 3) + 50 * np.sqrt(1 / 2 / 4), abs=0.5)
    links = {(resource, tag): count for resource, tag, count in release.table("links").rows()}
    # Two triples of the head for those who do not cook, three for those who do.
    assert links["news", "daily"] == pytest.approx(50 * np.sqrt(1 / 2) + 50 * np.sqrt(1 / 3), abs=0.5)


def test_single_assignments_are_counted_in_full() -> None:
    release = PTRJ(epsilon=10**4, delta=0, unit="assignment").release(dataset(100))
    assert dict(release.table("tags").rows())["daily"] == 100
    links = {(resource, tag): count for resource, tag, count in release.table("links").rows()}
    assert links["news", "daily"] == 100
    assert links["recipes", "food"] == 50
    assert "resources" not in release.parts


def test_tags_that_go_together_are_an_option(fixed_bits) -> None:
    release = PTRJ(epsilon=4, delta="1e-6", gram_share="1/2", head=4, resources=0).release(dataset())
    assert sorted(release.parts) == ["gram", "head", "tags"]
    assert release.array("gram").shape == (4, 4)
    assert release.table("head")["tag"].to_list() == ["daily", "food", "politics", "toread"]
    assert (release.array("gram")[0, [2, 3]] > 5 * release.parameters["gram_noise_sd"]).all()
    np.testing.assert_array_equal(release.array("gram"), release.array("gram").T)


@pytest.mark.parametrize(
    ("settings", "unit", "kind"),
    [
        ({"delta": "1e-6"}, Unit("user"), GaussianLoss),
        ({"delta": 0}, Unit("user"), Pure),
        ({"delta": "1e-6", "unit": "assignment"}, Unit("record"), Pure),
    ],
)
def test_the_guarantee(settings, unit: Unit, kind: type) -> None:
    data = dataset(5)
    guarantee = PTRJ(epsilon="1/2", **settings).plan(data).guarantee
    assert guarantee.unit == unit
    assert isinstance(guarantee.loss, kind)
    assert guarantee.loss.epsilon_at(Fraction(1, 10**6)) <= Fraction(1, 2)
    assert guarantee.loss.epsilon_at(Fraction(1, 10**6)) > Fraction(499, 1000)
    if unit == Unit("record"):
        assert "not your tags as a whole" in guarantee.describe()


def test_guarantee_and_estimate_read_no_triple() -> None:
    few, many = dataset(3), dataset(60)
    method = PTRJ(epsilon=1, delta="1e-6", gram_share="1/10")
    assert method.plan(few).guarantee == method.plan(many).guarantee
    assert method.estimate(few) == method.estimate(many)
    assert method.estimate(few)["link_threshold"] > method.estimate(few)["link_noise_sd"]


def test_a_release_can_be_saved(tmp_path) -> None:
    release = PTRJ(epsilon=1, delta="1e-6", gram_share="1/10").release(dataset(40))
    back = dc.Release.load(release.save(tmp_path / "release"))
    assert back.table("links").equals(release.table("links"))
    assert back.guarantee == release.guarantee
    assert dataset(40).fingerprint not in (tmp_path / "release" / "manifest.json").read_text()


def test_the_ledger_is_charged_before_and_refuses(tmp_path) -> None:
    data = dataset(20)
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(data, epsilon=1, delta="1e-6", unit="user")
    release = PTRJ(epsilon="3/4", delta="1e-6").release(data, ledger=ledger)
    assert release.id in str(ledger.statement(data).to_json())
    with pytest.raises(BudgetError):
        PTRJ(epsilon="3/4", delta="1e-6").release(data, ledger=ledger)
    mistakes: list[dict[str, Any]] = [
        {"head": 0}, {"popularity_share": 1}, {"gram_share": "4/5"}, {"unit": "household"}
    ]  # fmt: skip
    for wrong in mistakes:
        with pytest.raises(UsageError):
            PTRJ(epsilon="1/10", delta="1e-6", **wrong).release(data, ledger=ledger)
    assert len(ledger.statement(data).entries) == 1


def test_lists_must_be_public() -> None:
    bare = TagAssignments([("ann", "tea.org", "tea")])
    with pytest.raises(PrivacyError, match="list of tags"):
        PTRJ(epsilon=1, delta="1e-6").release(bare)
    tags = bare.with_vocabulary(["tea", "rum"])
    with pytest.raises(PrivacyError, match="list of resources"):
        PTRJ(epsilon=1, delta="1e-6").release(tags)
    assert sorted(PTRJ(epsilon=1, delta="1e-6", resources=0).release(tags).parts) == ["tags"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"delta": 1},
        {"resources": -1},
        {"head": True},
        {"popularity_share": 0},
        {"gram_share": -1},
        {"unit": "assignment", "gram_share": "1/4"},
    ],
)
def test_wrong_settings_are_refused(wrong) -> None:
    with pytest.raises(UsageError):
        PTRJ(**{"epsilon": 1, "delta": "1e-6", **wrong})


def test_other_data_are_refused() -> None:
    with pytest.raises(UsageError, match="TagAssignments"):
        PTRJ(epsilon=1, delta="1e-6").release(pl.DataFrame())  # type: ignore[arg-type]


def test_ties_of_released_values_go_by_code() -> None:
    assert best(np.array([1.0, 3.0, 3.0, 2.0]), 2).tolist() == [1, 2]
    assert best(np.array([1.0, 1.0, 1.0]), 2).tolist() == [0, 1]


def test_one_triple_is_no_unit_where_whole_users_were_looked_at(tmp_path) -> None:
    """Somebody with five triples stays, with four goes: one triple more moves five counts."""
    data = dc.synthetic.tags(users=30, resources=15, seed=7).with_vocabulary("observed").with_resources("observed")
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open(data, epsilon=1, unit="record")
    active = data.filter(np.diff(data.user_starts)[data.user] >= 5, independent=True)
    with pytest.raises(PrivacyError, match="all records of a user"):
        PTRJ(epsilon=1, delta=0, unit="assignment").release(active, ledger=ledger)
    chosen = data.filter(data.resource < 5, independent="record")
    PTRJ(epsilon=1, delta=0, unit="assignment").release(chosen, ledger=ledger)
    assert len(list(ledger.statement(data).entries)) == 1


def test_a_cut_that_left_nothing_out_is_a_cut(tmp_path) -> None:
    data = dc.synthetic.tags(users=30, resources=15, seed=7).with_vocabulary("observed").with_resources("observed")
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open(data, epsilon=1, unit="record")
    everybody = data.filter(np.ones(len(data), dtype=bool), independent=True)
    with pytest.raises(PrivacyError, match="all records of a user"):
        PTRJ(epsilon=1, delta=0, unit="assignment").release(everybody, ledger=ledger)
