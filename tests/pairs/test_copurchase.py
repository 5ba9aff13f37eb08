"""Co-purchase cosine without privacy: equations 7 and 8."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.data import Interactions
from discreet.errors import UsageError
from discreet.neighbors.similarity import Similarity, similarity_matrix
from discreet.pairs import CoPurchaseCosine


@pytest.fixture(scope="module")
def shop() -> Interactions:
    rng = np.random.default_rng(5)
    rows = [(f"u{u}", int(i)) for u in range(50) for i in rng.choice(20, rng.integers(1, 9), replace=False)]
    return Interactions(rows, items=range(20))


def test_estimates_are_those_of_the_equations(shop: Interactions) -> None:
    bought = shop.csr.toarray() > 0
    together = bought.T.astype(int) @ bought.astype(int)
    buyers = np.diag(together)
    cosine = together / np.sqrt(np.outer(buyers, buyers))
    np.fill_diagonal(cosine, 0)
    model = CoPurchaseCosine().fit(shop)
    for user in shop.users.ids()[:10]:
        own = bought[shop.users.code(user)]
        predicted = model.predict([(user, item) for item in range(20)])["score"].to_numpy()
        np.testing.assert_allclose(predicted, cosine[own].sum(axis=0) / own.sum(), rtol=1e-12)


def test_cosines_are_those_of_neighbors(shop: Interactions) -> None:
    alike = CoPurchaseCosine().fit(shop).similar_items(list(range(20)), n=20)
    matrix = similarity_matrix(shop, axis="item", similarity=Similarity("cosine_full"))
    for item, other, score in alike.select("item_id", "similar_id", "score").iter_rows():
        assert score == pytest.approx(matrix[item, other], rel=1e-6)
    assert alike.height == (matrix > 0).sum() - (matrix.diagonal() > 0).sum()


def test_too_few_common_buyers_make_no_pair(shop: Interactions) -> None:
    bought = shop.csr.toarray() > 0
    together = bought.T.astype(int) @ bought.astype(int)
    alike = CoPurchaseCosine(minimum_overlap=2).fit(shop).similar_items(list(range(20)), n=20)
    pairs = set(alike.select("item_id", "similar_id").iter_rows())
    assert pairs == {(i, j) for i, j in zip(*np.nonzero(together > 2), strict=True) if i != j}


def test_where_nothing_speaks_items_stand_by_popularity(shop: Interactions) -> None:
    best = CoPurchaseCosine().fit(shop).recommend(history=[], n=20)
    counts = shop.records_per_item[best["item_id"].to_numpy()]
    assert (np.diff(counts) <= 0).all()
    assert (best["score"] < 0).all()


def test_ratings_say_nothing(shop: Interactions) -> None:
    rated = Interactions({"u": shop.user, "i": shop.item, "r": np.ones(len(shop))}, user="u", item="i", rating="r",
                         items=range(20), scale="1:5")  # fmt: skip
    model = CoPurchaseCosine().fit(rated)
    assert model.predict([(0, 3)])["score"].is_null().all()
    plain = CoPurchaseCosine().fit(shop)
    np.testing.assert_array_equal(model.pairs_.values, plain.pairs_.values)


@pytest.mark.parametrize("settings", [{"minimum_overlap": -1}, {"head": 0}])
def test_settings_are_checked(shop: Interactions, settings: dict) -> None:
    with pytest.raises(UsageError, match="whole number"):
        CoPurchaseCosine(**settings).fit(shop)
