"""Releases that are added up as they are: counts, by context too, and pairs of a public head."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.counting import ContextPopularity, HybridCounts, ItemCounts, ItemPairs, TopItems, finish_counts
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.losses import GaussianLoss, Pure

Shops = list[dc.Interactions]


def counts(shops: Shops, *epsilons: Any, **settings: Any) -> list[dc.Release]:
    return [
        ItemCounts(epsilon=one, cap=30, **settings).release(shop) for one, shop in zip(epsilons, shops, strict=False)
    ]


def test_sums_and_variances_add_up(shops: Shops) -> None:
    parts = counts(shops, "1/2", 1, 1)
    together = dc.combine(*parts, people="disjoint")
    numbers = [part.table("counts")["count"].to_numpy() for part in parts]
    assert np.array_equal(together.table("counts")["count"].to_numpy(), np.sum(numbers, axis=0))
    assert together.table("counts")["item_id"].equals(parts[0].table("counts")["item_id"])
    deviations = [part.parameters["noise_sd"] for part in parts]
    assert math.isclose(together.parameters["noise_sd"], math.sqrt(sum(one**2 for one in deviations)), rel_tol=1e-12)
    growth = together.parameters["noise_sd"] / deviations[0]
    for name in ("noise_95", "scale"):
        assert math.isclose(together.parameters[name], growth * parts[0].parameters[name], rel_tol=1e-12)


def test_the_noise_is_as_stated(shops: Shops) -> None:
    """Sums over nobody: what is released is noise alone."""
    nobody = dc.Interactions([], items=list(range(20_000)))
    parts = [ItemCounts(epsilon=one, cap=30).release(nobody) for one in (1, 2, 3)]
    together = dc.combine(*parts, people="disjoint")
    measured = together.table("counts")["count"].to_numpy().std()
    # The standard error is below 1.1 %; ten of them.
    assert abs(measured / together.parameters["noise_sd"] - 1) < 0.11


def test_the_weakest_guarantee_holds_for_disjoint_people(shops: Shops) -> None:
    together = dc.combine(*counts(shops, "1/2", 1, "3/4"), people="disjoint")
    assert together.guarantee.loss == Pure(Fraction(1))
    assert together.parameters["epsilon"] == "1"
    lines = together.describe()
    assert "combined from 3 curators" in lines
    assert "it was declared that nobody is in two of 3 parts" in lines
    assert "people who are in several parts that were declared disjoint" in lines
    assert "proved by:   parallel composition, docs/proofs/combining.md, Theorem 1" in lines
    assert together.guarantee.standing is dc.Standing.PROVED


def test_guarantees_add_up_where_people_may_overlap(shops: Shops) -> None:
    together = dc.combine(*counts(shops, "1/2", 1, "3/4"), people="may-overlap")
    assert together.guarantee.loss == Pure(Fraction(9, 4))
    assert "people may be in several of 3 parts" in together.describe()
    assert "declared disjoint" not in together.describe()
    gaussian = dc.combine(*counts(shops, 1, 1, delta="1e-6"), people="may-overlap")
    single = ItemCounts(epsilon=1, delta="1e-6", cap=30).plan(shops[0]).loss
    assert isinstance(single, GaussianLoss)
    assert gaussian.guarantee.loss == GaussianLoss(2 * single.mu_squared)


def test_the_budget_that_is_stated_is_that_of_the_weakest_part(shops: Shops) -> None:
    """A larger delta can make up for a smaller epsilon: losses are compared, not their names."""
    wide = ItemCounts(epsilon=1, delta="1e-3", cap=30).release(shops[0])
    narrow = ItemCounts(epsilon="1.1", delta="1e-9", cap=30).release(shops[1])
    for parts in ((wide, narrow), (narrow, wide)):
        together = dc.combine(*parts, people="disjoint")
        assert together.guarantee.loss == wide.guarantee.loss
        assert (together.parameters["epsilon"], together.parameters["delta"]) == ("1", "1/1000")


def test_the_weakest_standing_holds(shops: Shops) -> None:
    first, second = counts(shops, 1, 1)
    doubtful = replace(second, guarantee=replace(second.guarantee, standing=dc.Standing.AS_PUBLISHED), id="")
    assert dc.combine(first, doubtful, people="disjoint").guarantee.standing is dc.Standing.AS_PUBLISHED


def test_parts_are_named_and_nobody_is_charged(shops: Shops, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "aker.db")
    ledger.open(shops[0], epsilon=2)
    mine = ItemCounts(epsilon=1, cap=30).release(shops[0], ledger=ledger)
    other = ItemCounts(epsilon=1, cap=30).release(shops[1])
    together = dc.combine(mine, other, people="disjoint")
    assert [part["id"] for part in together.parameters["combined"]["parts"]] == [mine.id, other.id]
    assert [part["dataset"] for part in together.parameters["combined"]["parts"]] == ["aker", "bosch"]
    assert together.dataset == "aker + bosch"
    assert ledger.account_of_release(mine.id) is not None
    assert ledger.account_of_release(together.id) is None
    assert dc.combine(mine, other, people="disjoint", name="shops").dataset == "shops"


def test_contexts_add_up_too(shops: Shops) -> None:
    parts = [
        ItemCounts(epsilon=epsilon, delta="1e-6").release(shop, contexts=["weekday"])
        for epsilon, shop in zip((1, 2, 2), shops, strict=True)
    ]
    together = dc.combine(*parts, people="disjoint")
    items, edges = together.table("counts"), together.table("edges")
    # Lists of items and of edges that agree still do.
    of_edges = edges["count"].to_numpy().reshape(items.height, -1).sum(axis=1)
    assert np.allclose(of_edges, items["count"].to_numpy(), atol=1e-6)
    assert together.parameters["edge_noise_sd"] > max(part.parameters["edge_noise_sd"] for part in parts)
    model = ContextPopularity.of_release(together)
    assert model.recommend(context={"weekday": "Tuesday"}, n=3).height == 3


def test_models_of_counts(shops: Shops) -> None:
    models = [ContextPopularity(epsilon=1, cap=30, contexts=["weekday"]).fit(shop) for shop in shops]
    together = dc.combine(*(model.release_ for model in models), people="disjoint")
    assert together.model
    assert ContextPopularity.of_release(together).recommend(history=["film-1"], n=2).height == 2


def test_pairs_of_a_public_head(shops: Shops) -> None:
    head = ["film-1", "film-2", "film-3"]
    parts = [ItemPairs(epsilon=2, cap=5, head=head).release(shop) for shop in shops]
    together = dc.combine(*parts, people="disjoint")
    assert np.array_equal(together.array("pairs"), sum(part.array("pairs") for part in parts))  # type: ignore[arg-type]
    assert math.isclose(together.parameters["noise_sd"], math.sqrt(3) * parts[0].parameters["noise_sd"])


def test_combinations_are_combined_again(shops: Shops, tmp_path: Path) -> None:
    one, two, three = counts(shops, 1, 2, 4)
    both = dc.combine(one, two, people="may-overlap")
    dc.combine(both, three, people="disjoint").save(tmp_path / "abc")
    together = dc.Release.load(tmp_path / "abc")
    assert together.guarantee.loss == Pure(Fraction(4))  # 1 + 2, or 4
    flat = dc.combine(one, two, three, people="disjoint")
    assert np.allclose(together.table("counts")["count"].to_numpy(), flat.table("counts")["count"].to_numpy())
    assert math.isclose(together.parameters["noise_sd"], flat.parameters["noise_sd"])
    assert "combined from 3 curators" in together.describe()
    assert together.describe().count("combined from") == 1
    with pytest.raises(ReleaseError, match="is there twice"):
        dc.combine(together, two, people="disjoint")


# What is refused


def test_a_declaration_is_required(shops: Shops) -> None:
    parts = counts(shops, 1, 1)
    with pytest.raises(TypeError):
        dc.combine(*parts)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="people"):
        dc.combine(*parts, people="perhaps")  # type: ignore[arg-type]


def test_the_same_part_twice(shops: Shops) -> None:
    (part,) = counts(shops, 1)
    with pytest.raises(ReleaseError, match="there twice"):
        dc.combine(part, part, people="may-overlap")
    with pytest.raises(UsageError, match="at least two"):
        dc.combine(part, people="disjoint")


def test_other_settings_catalogs_and_methods(shops: Shops, films: dc.Interactions) -> None:
    (part,) = counts(shops, 1)
    with pytest.raises(ReleaseError, match="cap = 10, not 30"):
        dc.combine(part, ItemCounts(epsilon=1, cap=10).release(shops[1]), people="disjoint")
    with pytest.raises(ReleaseError, match="delta"):
        dc.combine(
            part, ItemCounts(epsilon=1, cap=30, delta="1e-6", item_share="1/2").release(shops[1]), people="disjoint"
        )
    with pytest.raises(ReleaseError, match="contexts"):
        dc.combine(part, ItemCounts(epsilon=1, cap=30).release(shops[1], contexts=["weekday"]), people="disjoint")
    items = films.items.series.to_list()
    rows = shops[1].to_frame().select("user_id", "item_id")
    other = dc.Interactions(rows, items=[*items, "film-x"], duplicates="last")
    with pytest.raises(ReleaseError, match="another catalog"):
        dc.combine(part, ItemCounts(epsilon=1, cap=30).release(other), people="disjoint")
    turned = dc.Interactions(rows, items=items[::-1], duplicates="last")  # the order of a catalog makes no difference
    ordered = ItemCounts(epsilon=1, cap=30).release(turned)
    assert dc.combine(part, ordered, people="disjoint").table("counts")["item_id"].to_list() == items
    foreign = replace(ordered, parts={"counts": ordered.table("counts").reverse()}, id="")
    with pytest.raises(ReleaseError, match="in another order"):
        dc.combine(part, foreign, people="disjoint")
    pairs = ItemPairs(epsilon=2, cap=5, head=["film-1", "film-2"]).release(shops[1])
    with pytest.raises(ReleaseError, match="is a release of item-pairs, not of weighted"):
        dc.combine(part, pairs, people="disjoint")


def test_what_is_no_sum_says_what_to_do(shops: Shops) -> None:
    hybrid = [HybridCounts(epsilon=1).release(shop) for shop in shops]
    with pytest.raises(ReleaseError, match="Run the method round by round"):
        dc.combine(*hybrid, people="disjoint")
    fitted = [dc.PrivateRecommender(epsilon=4).fit(shop).release_ for shop in shops]
    with pytest.raises(ReleaseError, match="by what its first round said"):
        dc.combine(*fitted, people="disjoint")
    pairs = [ItemPairs(epsilon=2, cap=5, head=10).release(shop) for shop in shops]
    with pytest.raises(ReleaseError, match="round by round"):
        dc.combine(*pairs, people="disjoint")
    lists = [TopItems(epsilon=1, k=3).release(shop) for shop in shops]
    with pytest.raises(ReleaseError, match="cannot be added up"):
        dc.combine(*lists, people="disjoint")
    done = [finish_counts(part, "nonnegative") for part in counts(shops, 1, 1)]
    with pytest.raises(ReleaseError, match="finished"):
        dc.combine(*done, people="disjoint")
    steps = [dc.Series(ItemCounts, steps=3, epsilon=4, delta="1e-6").advance(shop) for shop in shops]
    with pytest.raises(ReleaseError, match="step of a series"):
        dc.combine(*[step for step in steps if step is not None], people="disjoint")


def test_what_was_made_in_a_sandbox_stays_there(shops: Shops, tmp_path: Path) -> None:
    from discreet.privacy.charging import sandbox

    with sandbox():
        inside = counts(shops, 1)
    together = dc.combine(*inside, ItemCounts(epsilon=1, cap=30).release(shops[1]), people="disjoint")
    with pytest.raises(ReleaseError, match="sandbox"):
        together.save(tmp_path / "together")
