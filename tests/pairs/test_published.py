"""Slope One and cosine as published: what is drawn, for whom, and once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.errors import PrivacyError, UsageError
from discreet.pairs import CoPurchaseCosine, PublishedCosine, PublishedSlopeOne, SlopeOne
from discreet.pairs.published import PublishedOutputs


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=80, items=30, seed=3)


def test_the_scale_of_the_noise_is_that_of_the_theorems(films: dc.Interactions) -> None:
    slope = PublishedSlopeOne(epsilon=1, least_ratings=3, minimum_overlap=2).fit(films, allow_refuted=True)
    assert slope.sensitivity() == max(Fraction(4, 3) * 2, Fraction(2))  # the scale 1:5 is 4 wide
    assert PublishedSlopeOne(1, rating_range=5).sensitivity() == Fraction(1, 2)
    assert PublishedCosine(1, least_ratings=20).sensitivity() == Fraction(1, 10)


@pytest.mark.usefixtures("fixed_bits")
@pytest.mark.parametrize(
    ("model", "plain"),
    [
        (PublishedSlopeOne(epsilon=2, least_ratings=1, minimum_overlap=4), SlopeOne(minimum_overlap=4)),
        (PublishedCosine(epsilon=2, least_ratings=1), CoPurchaseCosine()),
    ],
)
def test_outputs_are_those_of_the_plain_model_with_laplace_noise(
    model: PublishedOutputs, plain: SlopeOne | CoPurchaseCosine, films: dc.Interactions
) -> None:
    model.fit(films, allow_refuted=True)
    plain.fit(films)
    rows, _ = model._histories(films.users.ids(), None)
    noise = model._score(rows) - (plain.estimates(rows) if isinstance(plain, CoPurchaseCosine) else plain._score(rows))
    scale = float(model.sensitivity()) / 2
    assert np.abs(noise).mean() == pytest.approx(scale, rel=0.1)  # E|Laplace| is its scale
    assert noise.mean() == pytest.approx(0, abs=5 * scale * (2 / noise.size) ** 0.5)
    assert (np.abs(noise) > scale).mean() == pytest.approx(np.exp(-1), abs=0.05)


def test_without_noise_it_is_the_plain_model(films: dc.Interactions) -> None:
    model = PublishedSlopeOne(epsilon=10**12, least_ratings=1, minimum_overlap=2).fit(films, allow_refuted=True)
    pairs = [(user, item) for user in films.users.ids()[:5] for item in films.items.ids()]
    plain = SlopeOne(minimum_overlap=2).fit(films).predict(pairs)["score"].to_numpy()
    np.testing.assert_allclose(model.predict(pairs)["score"].to_numpy(), plain, atol=1e-6)


def test_people_with_too_few_ratings_get_no_answer(films: dc.Interactions) -> None:
    counts = dict(zip(films.users.ids(), films.records_per_user.tolist(), strict=True))
    least = sorted(counts.values())[40]
    model = PublishedSlopeOne(epsilon=1, least_ratings=least).fit(films, allow_refuted=True)
    poor = min(counts, key=lambda user: counts[user])
    rich = max(counts, key=lambda user: counts[user])
    assert counts[poor] < least <= counts[rich]
    assert model.recommend([poor]).height == 0
    assert model.predict([(poor, "film-1")])["score"].is_null().all()
    assert model.predict([(rich, "film-1")])["score"].is_not_null().all()


def test_an_output_is_drawn_once(films: dc.Interactions) -> None:
    model = PublishedSlopeOne(epsilon=1, least_ratings=1).fit(films, allow_refuted=True)
    first = model.predict([("u1", "film-3")])["score"][0]
    listed = model.recommend(["u1"], n=30, exclude_seen=False)
    again = dict(zip(listed["item_id"], listed["score"], strict=True))["film-3"]
    assert np.clip(again, 1, 5) == first


def test_nothing_is_shown_about_pairs(films: dc.Interactions) -> None:
    model = PublishedCosine(1, least_ratings=1).fit(films, allow_refuted=True)
    assert model.similar_items("film-1").height == 0


def test_it_does_not_run_by_accident_and_the_book_names_it(films: dc.Interactions, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(films, epsilon=1, delta="1e-6", unit="record")
    with pytest.raises(PrivacyError, match="refuted"):
        PublishedSlopeOne(epsilon=1).fit(films, ledger=ledger)
    PublishedSlopeOne(epsilon=1).fit(films, ledger=ledger, allow_refuted=True)


@pytest.mark.parametrize(
    ("model", "word"),
    [
        (lambda: PublishedSlopeOne(epsilon=0), "epsilon"),
        (lambda: PublishedSlopeOne(1, least_ratings=0), "least_ratings"),
        (lambda: PublishedSlopeOne(1, minimum_overlap=0), "minimum_overlap"),
        (lambda: PublishedSlopeOne(1, rating_range=0), "rating_range"),
        (lambda: PublishedCosine(1, least_ratings=0), "least_ratings"),
    ],
)
def test_settings_are_checked(model: Callable[[], PublishedOutputs], word: str) -> None:
    with pytest.raises(UsageError, match=word):
        model()


def test_a_range_below_the_width_of_the_scale_is_refused(films: dc.Interactions) -> None:
    with pytest.raises(UsageError, match="rating_range"):
        PublishedSlopeOne(1, rating_range=3).fit(films, allow_refuted=True)


def test_records_cannot_be_exchanged(films: dc.Interactions) -> None:
    model = PublishedCosine(1, least_ratings=1).fit(films, allow_refuted=True)
    assert model.attach(films) is model
    with pytest.raises(UsageError, match="fitted on"):
        model.attach(dc.synthetic.films(users=20, items=30, seed=4))


def test_the_range_is_the_width_of_the_scale_once_it_is_known() -> None:
    with pytest.raises(UsageError, match="rating_range"):
        PublishedSlopeOne(1).sensitivity()
    with pytest.raises(UsageError, match="public scale"):
        PublishedSlopeOne(1).fit(dc.Interactions([("a", "x")]), allow_refuted=True)
