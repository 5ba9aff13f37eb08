"""The default recommender is not below popularity: the quick version of ``benchmarks/never_below.py``."""

from __future__ import annotations

import pytest
from benchmarks.never_below import Shape, Split, drawn

import discreet as dc

# Seeded data, splits and noise: what happens here happens every time.
SHAPES = {
    "no taste": Shape(900, 400, 15, 0.6, 1.0, 5, 4, 0.0),
    "a long catalog": Shape(900, 6_000, 15, 0.6, 0.9, 5, 10, 0.2),
    "few items": Shape(900, 60, 12, 0.4, 0.5, 3, 3, 0.3),
}


@pytest.mark.usefixtures("fixed_bits")
@pytest.mark.parametrize("epsilon", ["1", "8"])
@pytest.mark.parametrize("name", SHAPES)
def test_not_below_private_popularity(name: str, epsilon: str) -> None:
    data = drawn(SHAPES[name], seed=3)
    splits = [Split.of(data, seed, 300) for seed in range(2)]
    ours = [split.of_model(epsilon)[0] for split in splits]
    popular = [split.of_popularity(epsilon) for split in splits]
    # Splits of 180 people differ by about a tenth of their recall.
    assert sum(ours) > 0.9 * sum(popular)


@pytest.mark.usefixtures("fixed_bits")
def test_where_there_is_taste_it_is_found() -> None:
    split = Split.of(drawn(Shape(1_500, 1_000, 25, 0.4, 0.6, 5, 10, 0.8), seed=3), 0, 300)
    ours, learned = split.of_model("20")
    assert learned
    assert ours > 1.5 * split.of_popularity("20")


@pytest.mark.usefixtures("fixed_bits")
def test_a_long_catalog_has_more_of_the_budget_for_popularity() -> None:
    data = drawn(Shape(4_000, 8_000, 20, 0.6, 0.9, 10, 10, 0.5), seed=3)
    model = dc.PrivateRecommender(epsilon=2, delta="1e-5").fit(data)
    assert {"first", "more", "tastes"} <= set(model.release_.parts)
    noise = model.release_.parameters
    # The three shares are all there is.
    spent = noise["noise_first"] ** -2 + noise["noise_more"] ** -2
    assert spent < noise["noise_whole"] ** -2
    again = dc.PrivateRecommender.of_release(model.release_)
    assert again.degree_ == model.degree_
    assert again.recommend(history=[1, 2], n=5).equals(model.recommend(history=[1, 2], n=5))
