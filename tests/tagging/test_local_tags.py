"""Recommendations on the asking person's side: known sums, known answers; nothing is kept."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.data.tags import TagAssignments
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.tagging import PTRJ, OwnTags
from discreet.tagging.recommenders.local_tags import LocalTags

GUARANTEE = Guarantee(
    Pure(Fraction(1)), Unit(), Standing.PROVED, "a theorem", "sums about tags", not_covered=("lists",)
)


def released(**parts) -> Release:
    tags = pl.DataFrame({"tag": ["jazz", "pop", "punk", "rock"], "count": [1.0, 5.0, -3.0, 4.0]})
    parameters = {"gram_noise_sd": 0.1} if "gram" in parts else {}
    return Release("tag-statistics", GUARANTEE, "ptr-j", parameters, {"tags": tags, **parts})


LINKS = pl.DataFrame(
    {"resource_id": ["blue", "blue", "hits"], "tag": ["jazz", "rock", "pop"], "count": [30.0, 10.0, 7.0]}
)


def scores(model: LocalTags, query: tuple[str, str], own: list | None = None) -> dict[str, float]:
    mine = None if own is None else TagAssignments(own)
    found = model.recommend([query], n=10, own=mine)
    return dict(zip(found["tag"], found["score"], strict=True))


def test_popular_tags_where_nothing_else_is_known() -> None:
    found = scores(LocalTags(released()), ("ann", "blue"))
    assert list(found)[:2] == ["pop", "rock"]
    # Below zero is none at all.
    assert found == pytest.approx({"pop": 0.15, "rock": 0.12, "jazz": 0.03, "punk": 0.0})


def test_links_of_the_resource_count_by_their_shares() -> None:
    model = LocalTags(released(links=LINKS))
    assert scores(model, ("ann", "blue"))["jazz"] == pytest.approx(0.03 + 0.6 * 0.75)
    assert scores(model, ("ann", "hits"))["pop"] == pytest.approx(0.15 + 0.6)
    assert scores(model, ("ann", "unknown"))["jazz"] == pytest.approx(0.03)


def test_own_tags_come_first_and_new_ones_are_known() -> None:
    model = LocalTags(released(links=LINKS))
    own = [("ann", "a", "ska"), ("ann", "b", "ska"), ("ann", "b", "punk"), ("ann", "c", "ska"), ("bob", "a", "rock")]
    found = scores(model, ("ann", "blue"), own)
    assert next(iter(found)) == "ska"
    assert found["ska"] == pytest.approx(0.75)
    assert found["punk"] == pytest.approx(0.25)
    # What bob has is no business of ann's.
    assert found["rock"] == pytest.approx(0.12 + 0.6 * 0.25)


def test_a_resource_that_only_the_asker_knows() -> None:
    model = LocalTags(released(links=LINKS))
    assert scores(model, ("ann", "home"), [("ann", "home", "pop")])["pop"] == pytest.approx(1 + 0.15)


def test_tags_that_share_topics_with_own_ones() -> None:
    together = np.kron(np.eye(2), np.full((2, 2), 100.0))
    head = pl.DataFrame({"tag": ["jazz", "punk", "pop", "rock"]})
    model = LocalTags(released(head=head, gram=together))
    found = scores(model, ("ann", "blue"), [("ann", "x", "jazz")])
    assert found["punk"] == pytest.approx(0.15, abs=1e-3)
    assert found["rock"] == pytest.approx(0.12, abs=1e-3)


def test_a_matrix_of_noise_says_nothing() -> None:
    noise = np.array([[0.2, 0.1], [0.1, -0.2]])
    model = LocalTags(released(head=pl.DataFrame({"tag": ["jazz", "punk"]}), gram=noise))
    assert scores(model, ("ann", "blue"), [("ann", "x", "jazz")])["punk"] == 0.0


def test_nothing_of_the_asker_is_kept() -> None:
    model = LocalTags(released(links=LINKS))
    before = scores(model, ("ann", "blue"))
    state = {name: repr(value) for name, value in vars(model).items()}
    scores(model, ("ann", "blue"), [("ann", "blue", "ska")])
    assert {name: repr(value) for name, value in vars(model).items()} == state
    assert scores(model, ("ann", "blue")) == before


def test_the_guarantee_is_against_all_others_together() -> None:
    guarantee = LocalTags(released()).guarantee
    assert guarantee is not None
    assert guarantee.joint
    assert guarantee.loss == GUARANTEE.loss
    assert "what a person sees in their own recommendations" in guarantee.not_covered
    assert not GUARANTEE.joint


def test_it_reads_releases_only() -> None:
    with pytest.raises(UsageError, match="release"):
        LocalTags(released()).fit(TagAssignments([("ann", "a", "b")]))
    other = Release("item-counts", GUARANTEE, "lpa", {}, {"counts": pl.DataFrame()})
    with pytest.raises(ReleaseError):
        LocalTags(other)
    with pytest.raises(ReleaseError):
        LocalTags("folder")  # type: ignore[arg-type]


def test_links_help_those_who_ask(fixed_bits) -> None:
    """On a small dataset of the built-in kind the release beats one's own tags alone."""
    data = dc.synthetic.tags(users=500, resources=40, vocabulary=120, records=8_000, seed=3).cleaned()
    data = data.with_vocabulary("observed").with_resources("observed")
    first = np.flatnonzero(np.diff(data.posts.user, prepend=-1))
    held_out = np.zeros(len(data.posts), dtype=bool)
    held_out[first] = True
    train = data.filter(~np.repeat(held_out, np.diff(data.posts.starts)))
    queries = list(
        zip(data.users.decode(data.posts.user[first]), data.resources.decode(data.posts.resource[first]), strict=True)
    )
    truth = [
        set(data.tags.decode(data.tag[a:b]))
        for a, b in zip(data.posts.starts[first], data.posts.starts[first + 1], strict=True)
    ]

    def recall(found: pl.DataFrame) -> float:
        lists = found.group_by(["user_id", "resource_id"], maintain_order=True).agg("tag")
        told = {(u, r): set(tags) for u, r, tags in lists.rows()}
        return float(np.mean([len(told.get(q, set()) & t) / len(t) for q, t in zip(queries, truth, strict=True)]))

    ours = LocalTags(PTRJ(epsilon=4, delta="1e-6").release(train))
    alone = recall(OwnTags().fit(train).recommend(queries, n=5))
    assert recall(ours.recommend(queries, n=5, own=train)) > alone + 0.02
