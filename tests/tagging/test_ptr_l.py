"""PTR-L: slots, resources that nobody need have tagged, and a promise for whole users."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.tags import TagAssignments
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.losses import Pure
from discreet.privacy.units import Unit
from discreet.tagging import PTRL
from discreet.tagging.ptr_l import _drawn_resources, _slots


def camps(users: int = 300) -> TagAssignments:
    """Half of the people tag tea with words of tea, the other half rum with words of rum."""
    rng = np.random.default_rng(4)
    triples = []
    for user in range(users):
        drink = ("tea", "rum")[user % 2]
        words = rng.choice(4, 2, replace=False)
        triples += [(f"u{user:03}", f"{drink}{rng.integers(3)}", f"{drink}-word{word}") for word in words]
    words = [f"{drink}-word{word}" for drink in ("tea", "rum") for word in range(4)]
    return (
        TagAssignments(triples)
        .with_vocabulary(words)
        .with_resources([f"{drink}{place}" for drink in ("tea", "rum") for place in range(3)])
    )


@pytest.fixture(scope="module")
def drinks() -> TagAssignments:
    return camps()


def test_a_loud_release_tells_camps_and_their_resources(drinks: TagAssignments, fixed_bits) -> None:
    table = PTRL.of(epsilon=200, slots=1, topics=3, head=8).release(drinks).table("assignments")
    assert table.height == 300
    number = table["user_id"].str.slice(1).cast(pl.Int64)
    right = np.where(number.to_numpy() % 2 == 0, "tea", "rum")
    assert np.mean(table["tag"].str.slice(0, 3).to_numpy() == right) > 0.95
    assert np.mean(table["resource_id"].str.slice(0, 3).to_numpy() == right) > 0.9


def test_a_quiet_release_has_full_support(drinks: TagAssignments, fixed_bits) -> None:
    table = PTRL.of(epsilon="0.1", slots=3).release(drinks).table("assignments")
    assert set(table["tag"].to_list()) == set(drinks.tags.ids())
    assert set(table["resource_id"].to_list()) == set(drinks.resources.ids())
    # Some slots come out empty, and no user has more than there are slots.
    assert table.height < 900
    assert table.group_by("user_id").len()["len"].to_numpy().max() <= 3


def test_slots_are_own_tags_each_once_and_then_nothing(drinks: TagAssignments, fixed_bits) -> None:
    slots = _slots(drinks, 3).reshape(-1, 3)
    owned = drinks.to_frame().group_by("user_id").agg(pl.col("tag"))
    tags = dict(owned.iter_rows())
    for user, picked in zip(drinks.users.ids(), slots, strict=True):
        said = [drinks.tags.ids()[code] for code in picked if code < drinks.n_tags]
        assert sorted(said) == sorted(set(tags[user]))
        assert (picked == drinks.n_tags).sum() == 3 - len(said)
    first = np.bincount(_slots(TagAssignments([(u, "r", t) for u in range(9000) for t in range(3)]), 1))
    assert first == pytest.approx([3000] * 3, abs=300)


def test_resources_are_drawn_by_weight(fixed_bits) -> None:
    weights = np.array([[1, 3, 0], [0, 0, 5]])
    drawn = _drawn_resources(np.repeat([0, 1], 8000), weights)
    assert np.bincount(drawn[:8000], minlength=3) == pytest.approx([2000, 6000, 0], abs=300)
    assert (drawn[8000:] == 2).all()


def test_the_promise(drinks: TagAssignments, tmp_path: Path) -> None:
    method = PTRL.of(epsilon=2, slots=2)
    promise = method.guarantee(drinks)
    assert promise.loss == Pure(Fraction(2))
    assert promise.unit == Unit("user", "replace")
    assert "not that you are among the users" in str(promise)
    spent = [mechanism.loss.epsilon for mechanism in method._mechanisms]
    assert sum(spent) + method.slots * Fraction(method.estimate(drinks)["slot_epsilon"]) == 2
    ledger = dc.Ledger(tmp_path / "book.db")
    ledger.open(drinks, epsilon=3, unit="user/replace")
    release = method.release(drinks, ledger=ledger)
    assert release.id in str(ledger.statement(drinks).to_json())


def test_plans_are_the_same_for_other_triples(drinks: TagAssignments) -> None:
    other = camps(40)
    assert PTRL.of(epsilon=2).estimate(drinks) == PTRL.of(epsilon=2).estimate(other)


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0}, {"slots": 0}, {"slots": 101}, {"head": 1.5}, {"channel_share": "0.8"}, {"tag_share": -1}],
)
def test_what_makes_no_sense_is_refused(wrong, drinks: TagAssignments) -> None:
    with pytest.raises(UsageError):
        PTRL.of(**{"epsilon": 1, **wrong}).release(drinks)


def test_secret_lists_are_refused() -> None:
    data = TagAssignments([("ann", "abba", "pop")])
    with pytest.raises(PrivacyError, match="public list of tags"):
        PTRL.of(epsilon=1).release(data)
    with pytest.raises(PrivacyError, match="public list of resources"):
        PTRL.of(epsilon=1).release(data.with_vocabulary(["pop"]))
