"""People who do not exist, drawn from the sums of several curators."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dc
from discreet.combining import release_round
from discreet.privacy import Release


@pytest.fixture(scope="module")
def shops() -> list[dc.Interactions]:
    films = dc.synthetic.films(users=600, items=30, seed=7)
    return [films.filter(films.user % 3 == number, independent=True) for number in range(3)]


def together(shops: list[dc.Interactions], *, stay: int = 3, epsilon: object = 200) -> Release:
    method = dc.SyntheticInteractions(epsilon=epsilon, people=40)  # type: ignore[arg-type]
    found = dc.combine(*(release_round(method, shop) for shop in shops), people="disjoint", name="all films")
    while found.kind == "round":
        parts = [release_round(method, shop, after=found) for shop in shops[:stay]]
        found = dc.combine(*parts, people="disjoint", name="all films")
    return found


def test_people_of_several_curators_are_a_dataset(shops: list[dc.Interactions], tmp_path: Path) -> None:
    release = together(shops)
    release.save(tmp_path / "people")
    people = dc.read(tmp_path / "people")
    assert isinstance(people, dc.Interactions)
    assert (people.n_users, people.n_items, people.name) == (40, 30, "synthetic all films")
    assert dc.factors.EASE().fit(people).guarantee == release.guarantee


@pytest.mark.parametrize("epsilon", [200, "1/10"])  # with tastes, and with popularity alone
def test_a_curator_who_leaves_spoils_nothing(shops: list[dc.Interactions], epsilon: object) -> None:
    release, of_all = together(shops, stay=2, epsilon=epsilon), together(shops, epsilon=epsilon)
    later = "noise_second" if "second" in release.parts else "noise_tastes"
    assert release.parameters[later] == pytest.approx((2 / 3) ** 0.5 * of_all.parameters[later], rel=1e-3)
    assert release.parameters["noise_activity"] == pytest.approx(of_all.parameters["noise_activity"], rel=1e-3)
    assert release.table("interactions")["user_id"].n_unique() == 40
