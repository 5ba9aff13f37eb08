"""Games on tag assignments: PriTop is refuted, proved releases are not, and the numbers mean what they say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.attacks import audit
from discreet.attacks.engine.targets import Target
from discreet.attacks.games.registry import attack, attacks
from discreet.attacks.games.tags import recommended_tags, tag_background, tag_vector, tagged, touched_by
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.models.registry import create, names
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.release import Release
from discreet.privacy.units import Unit
from discreet.tagging.pritop.pritop import PriTop
from discreet.tagging.tag_method import TagMethod
from discreet.tagging.tag_suppression import SuppressedTags

SMALL: dict[str, Any] = {"topics": 4, "iterations": 20}


@pytest.fixture(scope="module")
def tags() -> TagAssignments:
    data = dc.synthetic.tags(users=40, resources=12, seed=7).cleaned()
    return data.with_vocabulary("observed").with_resources("observed")


def made(name: str) -> TagMethod:
    settings = {"pritop": SMALL, "ptr-s": {"delta": "1e-6", "users": 10}}
    return create(name, "tags", epsilon=1, **settings.get(name, {"delta": "1e-6"}))


# The registry


@pytest.mark.parametrize("name", names("tags"))
def test_every_name_stands_for_a_way_to_release_tags(name: str) -> None:
    method = made(name)
    assert isinstance(method, TagMethod)
    assert method.name == name


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("guessing", {}, "guessing"),
        ("ptr-j", {"delta": "1e-6"}, "epsilon"),
        ("pritop", {"epsilon": 1, "taste": 1}, "taste"),
        ("pritop", {}, "epsilon"),
    ],
)
def test_mistakes_are_named(name: str, settings: dict, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        create(name, "tags", **settings)


def test_all_attacks_are_those_of_the_kind() -> None:
    played = [one.name for one in attacks("all", TagAssignments)]
    assert "lone-tag" in played
    assert "canary" not in played
    assert "lone-tag" not in [one.name for one in attacks("all")]


# Numbers


def test_the_numbers_of_a_release_are_laid_out_by_their_ids() -> None:
    dataset = tag_background()
    guarantee = Guarantee(Pure(Fraction(1)), Unit("user"), Standing.PROVED, "a theorem", "tags")
    counts = pl.DataFrame({"tag": ["t03", "t00"], "count": [7, 5]})
    triples = pl.DataFrame({"user_id": ["u00", "synthetic"], "resource_id": ["r1", "r1"], "tag": ["t02", "t02"]})
    release = Release("tags", guarantee, "m", {}, {"a": counts, "b": triples})
    vector = tag_vector(release, dataset)
    n_users, n_resources, n_tags = dataset.n_users, dataset.n_resources, dataset.n_tags
    marks, sums, rest = vector[:n_tags], vector[n_tags : 2 * n_tags], vector[2 * n_tags :]
    assert np.flatnonzero(marks).tolist() == [0, 3]
    assert (sums[0], sums[3]) == (5, 7)
    assert rest[0] == 2
    by_resource = rest[1 : 1 + n_resources * n_tags].reshape(n_resources, n_tags)
    assert by_resource[1, 2] == by_resource.sum() == 2
    # A user who was invented has no place of its own.
    by_user = rest[1 + n_resources * n_tags :][: n_users * n_tags].reshape(n_users, n_tags)
    assert by_user[dataset.users.code("u00"), 2] == by_user.sum() == 1


def test_what_a_release_says_about_some_triples() -> None:
    guarantee = Guarantee(Pure(Fraction(1)), Unit("user"), Standing.PROVED, "a theorem", "tags")
    links = pl.DataFrame({"resource_id": ["r1", "r1", "r2"], "tag": ["t1", "t2", "t1"], "count": [4, 8, 16]})
    release = Release("tags", guarantee, "m", {}, {"links": links})
    mine = pl.DataFrame({"user_id": ["u", "u"], "resource_id": ["r1", "r2"], "tag": ["t1", "t1"]})
    assert touched_by(release, mine).tolist() == [2, 20]


def test_recommendations_are_laid_out_over_resources_and_tags() -> None:
    dataset = tag_background()
    told = recommended_tags(create("popular-tags").fit(dataset), dataset)
    places = told[: told.size // 2].reshape(dataset.n_resources, dataset.n_tags)
    # The same list for every resource; the last tags are nobody's.
    assert (places == places[0]).all()
    assert places[0, :10].max() == 12
    assert places[0].argmax() == np.bincount(dataset.tag).argmax()


@pytest.mark.parametrize("name", [one.name for one in attacks("all", TagAssignments)])
def test_datasets_are_neighbors_and_share_their_public_lists(name: str, tags: TagAssignments) -> None:
    game, target = attack(name), Target.of(PriTop(epsilon=1, **SMALL), tags)
    pair = game.datasets(target, tags, np.random.default_rng(1))  # type: ignore[attr-defined]
    assert pair.without.tags.ids() == pair.with_.tags.ids()
    assert pair.without.resources.ids() == pair.with_.resources.ids()
    rows = [set(dataset.to_frame().rows()) for dataset in (pair.without, pair.with_)]
    assert len(rows[1] - rows[0]) == pair.records
    gone = rows[0] - rows[1]
    assert len(gone) == (0 if pair.unit.relation == "add-remove" else pair.records)
    assert len({user for user, _, _ in rows[0] ^ rows[1]}) == 1


# Verdicts


def test_pritop_is_refuted(tags: TagAssignments, fixed_bits) -> None:
    """A tag or a link of the triple comes out in 19 of 20 runs, and hardly ever without it.

    It takes 17 failures in 40 runs that count to pass: less than once in 10⁹.
    """
    report = audit(PriTop(epsilon=1, **SMALL), tags, attacks="lone-tag", runs=80, seconds=None, processes=1)
    assert report.refuted, str(report)
    assert report.guarantee is not None
    assert report["lone-tag"].claim is not None
    assert report["lone-tag"].claim.epsilon == 1


@pytest.mark.parametrize("name", [name for name in names("tags") if name != "pritop"])
def test_proved_releases_are_played_and_stand(name: str, tags: TagAssignments, fixed_bits) -> None:
    """So few runs that the ceiling is near the claim; what is tested is that every game works."""
    report = audit(made(name), tags, runs=4, confidence=1 - 1e-7, seconds=None, processes=1)
    assert not report.refuted, str(report)
    played = {score.game for score in report.scores}
    expected = {"ptr-t": {"tag-value"}}
    assert played == expected.get(name, {"tag-canary", "one-tag", "exchanged-tags", "tagger"})
    assert all(score.claim is not None for score in report.scores)


@pytest.mark.parametrize("name", names("tag recommender"))
def test_what_guarantees_nothing_shows_everything(name: str, tags: TagAssignments) -> None:
    """Nothing is drawn, so that 40 runs in each dataset are always told apart."""
    wanted = "tag-canary-recommendations"
    report = audit(create(name), tags, attacks=wanted, runs=40, seconds=None, processes=1)
    assert report.guarantee is None
    assert report.worst.proved.epsilon > 1.5
    assert report.verdict.startswith("at least ε = ")


def test_suppression_has_settings() -> None:
    model = create("tag-suppression", sigma="1/2", clusters=3)
    assert isinstance(model, SuppressedTags)
    told = model.fit(tag_background()).recommend([("u01", "r1")], n=3)
    assert told["user_id"].unique().to_list() == ["u01"]
    with pytest.raises(UsageError, match="taste"):
        create("tag-suppression", taste=1)


def test_games_on_other_data_say_so(tags: TagAssignments) -> None:
    report = audit(made("ptr-j"), tags, attacks="one-tag,canary,one-row", runs=2, seconds=None, processes=1)
    assert report.skipped["canary"] == "it is played on Interactions, not on TagAssignments"
    assert report.skipped["one-row"] == "it is played on Table, not on TagAssignments"


def test_a_method_for_other_data_is_refused() -> None:
    films = dc.synthetic.films(users=20, items=10, seed=1)
    with pytest.raises(UsageError, match="TagAssignments"):
        audit(made("ptr-j"), films)


def test_crafted_datasets_have_public_lists() -> None:
    dataset = tagged([("ann", "r0", "t00")])
    assert dataset.vocabulary_is_public
    assert dataset.resources_are_public
