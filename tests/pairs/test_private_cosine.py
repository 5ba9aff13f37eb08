"""Co-purchase cosine from noisy numbers of common buyers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.errors import UsageError
from discreet.pairs import CoPurchaseCosine, PrivateCosine
from discreet.privacy.losses import GaussianLoss, Pure, mu_for
from discreet.privacy.units import Unit


def same_length(users: int = 150, items: int = 10, each: int = 4) -> dc.Interactions:
    """Everybody bought as many items: with equal weights the noiseless cosine is the plain one."""
    rng = np.random.default_rng(8)
    rows = [(f"u{u}", i) for u in range(users) for i in rng.choice(items, each, replace=False)]
    return dc.Interactions(rows, items=range(items))


@pytest.mark.parametrize(
    "settings", [{}, {"delta": 0}, {"unit": "rating"}, {"head": list(range(10))}, {"cap": 4}], ids=str
)
def test_without_noise_it_is_the_plain_cosine(settings: dict) -> None:
    data = same_length()
    model = PrivateCosine(**{"epsilon": 10**10, "head": 10, **settings}).fit(data)
    plain = CoPurchaseCosine().fit(data)
    for item in range(10):
        ours, theirs = (
            dict(zip(found["similar_id"], found["score"], strict=True))
            for found in (m.similar_items(item, n=9) for m in (model, plain))
        )
        assert ours.keys() == theirs.keys()
        assert all(ours[other] == pytest.approx(theirs[other], abs=1e-3) for other in ours)
    ours, theirs = (m.recommend(history=[1, 4], n=8) for m in (model, plain))
    np.testing.assert_allclose(ours["score"].to_numpy(), theirs["score"].to_numpy(), atol=1e-3)


@pytest.mark.usefixtures("fixed_bits")
def test_two_tastes_are_told_apart() -> None:
    rng = np.random.default_rng(5)
    rows = [(u, int(i) + 15 * (u % 2)) for u in range(3000) for i in rng.choice(15, 6, replace=False)]
    data = dc.Interactions(rows, items=range(30))
    models = [
        PrivateCosine(epsilon=2),
        PrivateCosine(epsilon=1, unit="rating"),
        PrivateCosine(epsilon=1, delta=0, unit="rating"),
    ]
    for model in models:
        best = model.fit(data).recommend(history=[0, 1, 2], n=8)["item_id"].to_list()
        assert sum(item < 15 for item in best) >= 7


def test_only_the_largest_cosines_speak() -> None:
    model = PrivateCosine(epsilon=10**8, head=10, k=2).fit(same_length())
    assert (np.count_nonzero(model.cosines_, axis=1) == 2).all()


@pytest.mark.parametrize(
    ("settings", "loss", "unit"),
    [
        ({}, GaussianLoss(mu_for(1, "1e-6") ** 2), Unit("user")),
        ({"delta": 0}, Pure(Fraction(1)), Unit("user")),
        ({"unit": "rating"}, GaussianLoss(mu_for(1, "1e-6") ** 2), Unit("record")),
    ],
)
def test_the_guarantee_is_what_was_asked_for(settings: dict, loss, unit: Unit) -> None:
    guarantee = PrivateCosine(epsilon=1, **settings).fit(same_length()).guarantee
    assert guarantee is not None
    assert (guarantee.loss, guarantee.unit, guarantee.joint) == (loss, unit, True)
    assert guarantee.standing.name == "PROVED"


def test_the_parts_of_the_budget_add_up() -> None:
    public = PrivateCosine(epsilon=2, head=10).fit(same_length()).release_.parameters
    # With w = 1/n the whole matrix has length 1, and noise off the diagonal is that divided by μ√2.
    mu = [0.6 / public["noise_first"], 1 / (public["noise_together"] * 2**0.5)]
    assert sum(m**2 for m in mu) == pytest.approx(float(mu_for(2, "1e-6")) ** 2, rel=1e-3)


def test_a_public_head_needs_no_first_release() -> None:
    model = PrivateCosine(epsilon=50, head=[1, 5, 7]).fit(same_length())
    assert set(model.release_.parts) == {"head", "together", "items"}
    assert set(np.flatnonzero(model.popularity_)) <= {1, 5, 7}


@pytest.mark.parametrize("settings", [{"unit": "value"}, {"k": 0}, {"cap": 0}, {"cap": 3, "unit": "rating"}])
def test_settings_are_checked(settings: dict) -> None:
    with pytest.raises(UsageError):
        PrivateCosine(**{"epsilon": 1, **settings}).fit(same_length())
