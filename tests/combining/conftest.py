"""Three shops with people of their own, and a catalog that they share."""

from __future__ import annotations

import pytest

import discreet as dc


@pytest.fixture(scope="session")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=900, items=60, records=18_000, seed=7)


@pytest.fixture(scope="session")
def shops(films: dc.Interactions) -> list[dc.Interactions]:
    found = [films.filter(films.user % 3 == shop, independent=True) for shop in range(3)]
    for shop, name in zip(found, ("aker", "bosch", "cole"), strict=True):
        shop.name = name
    return found
