"""The linear adversary: solved by hand, in closed form, by drawing, and against real models."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from discreet.attacks.games.linear import EXACT, HistorySizes, PurchaseAdversary, RatingAdversary, mean_noise_tail
from discreet.attacks.games.linear_attack import LinearAttack, linear_attack
from discreet.attacks.games.observing import noise_free, shown_answers, shown_scores
from discreet.attacks.games.secrets import Secrets
from discreet.data import Interactions, RatingScale, synthetic
from discreet.errors import UsageError
from discreet.pairs import CoPurchaseCosine, PrivateSlopeOne, PublishedCosine, PublishedSlopeOne, SlopeOne

STARS = RatingScale.of("1:5")
PEOPLE = HistorySizes(np.array([5, 20, 60]), np.array([30, 200, 1000]), np.array([0.0, 0.5, 0.2]))


@pytest.fixture(scope="module")
def films() -> Interactions:
    return synthetic.films(users=120, items=50, seed=7)


# The mean of Laplace noise


@pytest.mark.parametrize("outputs", [1, 2, 5, EXACT, EXACT + 1, 400])
def test_the_tail_of_a_mean_is_what_is_drawn(outputs: int) -> None:
    draws = 60_000
    means = np.random.default_rng(3).laplace(0, 2.0, (draws, outputs)).mean(axis=1)
    for limit in (0.0, 0.3 / math.sqrt(outputs), 3 / math.sqrt(outputs)):
        expected = mean_noise_tail(limit, noise=2.0, outputs=outputs).item()
        # Five standard deviations, and the seed is fixed.
        assert np.mean(means > limit) == pytest.approx(expected, abs=5 * 0.5 / math.sqrt(draws))


def test_one_draw_and_none() -> None:
    assert mean_noise_tail(2.0, noise=1.0, outputs=1).item() == pytest.approx(math.exp(-2) / 2)
    with pytest.raises(UsageError, match="noise must be a scale above 0"):
        mean_noise_tail(1.0, noise=0.0, outputs=1)


def test_the_exact_law_and_its_expansion_meet() -> None:
    limits = np.linspace(0.01, 0.6, 12)
    exact = mean_noise_tail(limits, noise=1.0, outputs=EXACT)
    beyond = mean_noise_tail(limits * math.sqrt(EXACT / (EXACT + 1)), noise=1.0, outputs=EXACT + 1)
    np.testing.assert_allclose(exact, beyond, atol=1e-4)


# Theorem 3.3


def test_the_published_closed_form() -> None:
    """1 − exp(−ε/(2·Δf·n)) for one output; two figures for many."""
    published = RatingAdversary(STARS, clipped=False)
    expected = 1 - np.exp(-1 / (2 * PEOPLE.sizes * 0.5))
    np.testing.assert_allclose(published.risk(PEOPLE, noise=0.5), expected)
    one = HistorySizes(np.array([20] * 2), np.array([100, 1000]), np.zeros(2))
    averaging = RatingAdversary(STARS, outputs="all", clipped=False)
    # These figures take the mean for normal, which it nearly is.
    np.testing.assert_allclose(averaging.risk(one, noise=0.5), [0.276, 0.736], atol=2e-3)


@pytest.mark.parametrize("outputs", ["one", "all"])
@pytest.mark.parametrize("clipped", [True, False])
@pytest.mark.parametrize("secret", ["uniform", "own"])
def test_closed_form_and_simulation_agree(outputs: str, clipped: bool, secret: str) -> None:
    adversary = RatingAdversary(STARS, outputs=outputs, clipped=clipped)  # type: ignore[arg-type]
    rounds = 4000
    for noise in (0.02, 0.3):
        closed = adversary.risk(PEOPLE, noise=noise, secret=secret)  # type: ignore[arg-type]
        drawn = adversary.simulate(PEOPLE, noise=noise, seed=5, rounds=rounds, secret=secret)  # type: ignore[arg-type]
        np.testing.assert_allclose(drawn, closed, atol=5 * 0.5 / math.sqrt(rounds))


def test_without_information_a_clipped_guess_is_a_blind_one() -> None:
    clipped, free = (RatingAdversary(STARS, clipped=way).risk(PEOPLE, noise=1e6) for way in (True, False))
    np.testing.assert_allclose(clipped, 1 / 5, atol=1e-4)
    np.testing.assert_allclose(free, 0, atol=1e-4)
    half_stars = RatingAdversary(RatingScale.of("0.5:5:0.5"))
    np.testing.assert_allclose(half_stars.risk(PEOPLE, noise=1e6), 1 / 10, atol=1e-4)


def test_a_rating_is_solved_for(films: Interactions) -> None:
    """Equation 23 against the real model: exact without noise, for every output alone."""
    model = SlopeOne(minimum_overlap=2).fit(films)
    user = int(np.argmax(films.records_per_user))
    begin, end = films.user_starts[user : user + 2]
    assert films.rating is not None
    rated = films.rating[begin:end].astype(float)
    name = films.users.decode(np.array([user], dtype=np.int32))[0]
    answers = shown_scores(model, [name])[0]
    shown = np.isfinite(answers)
    slopes = answers[shown] - rated.mean()
    for secret in range(3):
        others = np.delete(rated, secret)
        for outputs in ("one", "all"):
            adversary = RatingAdversary(STARS, outputs=outputs, clipped=False)  # type: ignore[arg-type]
            assert adversary.guess(answers[shown], slopes, others) == rated[secret]


def test_scales_without_steps_are_refused() -> None:
    for scale in (RatingScale.of("0:1:none"), None):
        with pytest.raises(UsageError, match="scale with steps"):
            RatingAdversary(scale)  # type: ignore[arg-type]


def test_histories_of_records(films: Interactions) -> None:
    people = HistorySizes.of(films)
    assert people.sizes.sum() == len(films)
    assert (people.sizes + people.outputs == films.n_items).all()
    assert films.rating is not None
    assert (people.ends * people.sizes).sum() == pytest.approx(np.isin(films.rating, (1, 5)).sum())
    everything = Interactions([("a", "x", 1), ("a", "y", 2)], scale="1:5")
    with pytest.raises(UsageError, match="rated everything"):
        HistorySizes.of(everything)


# Theorem 3.4


def test_a_purchase_by_one_answer() -> None:
    apart = np.array([[0.1, -0.3, 0.0], [0.0, 0.05, 0.02], [0.0, 0.0, 0.0]])
    closed = PurchaseAdversary().risk(apart, noise=0.1)
    np.testing.assert_allclose(closed, [1 - math.exp(-1.5) / 2, 1 - math.exp(-0.25) / 2, 0.5])
    drawn = PurchaseAdversary().simulate(apart, noise=[0.1, 10.0], seed=1, rounds=4000)
    np.testing.assert_allclose(drawn[:, 0], closed, atol=0.04)
    np.testing.assert_allclose(drawn[:, 1], 0.5, atol=0.05)
    with pytest.raises(UsageError, match="simulate"):
        PurchaseAdversary("all").risk(apart, noise=0.1)


def test_all_answers_together_tell_more() -> None:
    """With many equal answers the sum is normal: Φ(‖d‖/(2√2·b))."""
    apart = np.full((1, 400), 0.02)
    drawn = PurchaseAdversary("all").simulate(apart, noise=0.2, seed=2, rounds=20_000).item()
    z = 0.02 * 20 / (2 * math.sqrt(2) * 0.2)
    assert drawn == pytest.approx((1 + math.erf(z / math.sqrt(2))) / 2, abs=0.02)
    assert drawn > PurchaseAdversary().risk(apart, noise=0.2).item() + 0.1


def test_a_purchase_is_told_from_the_real_model(films: Interactions) -> None:
    model = CoPurchaseCosine().fit(films)
    secrets = Secrets.draw(films, targets=6, seed=1, ratings=False)
    for target in range(6):
        items = secrets.untouched(target)
        without, bought = (shown_answers(model, items, history=secrets.history(target, end))[0] for end in (0.0, 1.0))
        for outputs in ("one", "all"):
            adversary = PurchaseAdversary(outputs)  # type: ignore[arg-type]
            assert adversary.guess(bought, without, bought)
            assert not adversary.guess(without, without, bought)


# Any model


def test_secrets_are_drawn_evenly(films: Interactions) -> None:
    secrets = Secrets.draw(films, targets=20, seed=3, ratings=True)
    assert np.unique(secrets.values, return_counts=True)[1].tolist() == [4] * 5
    assert np.unique(films.user[secrets.places]).size == 20
    assert films.rating is not None
    dataset = secrets.dataset
    assert dataset.rating is not None
    changed = np.flatnonzero(dataset.rating != films.rating)
    assert set(changed) <= set(secrets.places)
    np.testing.assert_array_equal(dataset.rating[secrets.places], secrets.values)
    other = secrets.dataset_where(0, 5.0)
    assert other.rating is not None
    assert other.rating[secrets.places[0]] == 5
    assert set(np.flatnonzero(other.rating != dataset.rating)) <= {secrets.places[0]}


def test_hidden_records_are_taken_out(films: Interactions) -> None:
    secrets = Secrets.draw(films, targets=10, seed=3, ratings=False)
    assert len(secrets.dataset) == len(films) - int((secrets.values == 0).sum())
    assert secrets.dataset.items == films.items
    assert len(secrets.history(0, 1.0)) == len(secrets.history(0, 0.0)) + 1


def test_wrong_games(films: Interactions) -> None:
    with pytest.raises(UsageError, match="targets must be at least 1, got 0"):
        Secrets.draw(films, targets=0, seed=0, ratings=True)
    with pytest.raises(UsageError, match="no user has 1000"):
        Secrets.draw(films, targets=1, seed=0, ratings=True, least=1000)
    repeated = Interactions([("a", "x"), ("a", "x"), ("a", "y")], duplicates="keep")
    with pytest.raises(UsageError, match="may repeat"):
        Secrets.draw(repeated, targets=1, seed=0, ratings=False)
    for settings, words in (
        ({"targets": 0}, "targets must be a whole number from 1, got 0"),
        ({"fits": 0}, "fits must be a whole number from 1"),
        ({"seed": -1}, "seed must be a whole number from 0"),
    ):
        with pytest.raises(UsageError, match=words):
            linear_attack({"slope-one": SlopeOne()}, films, **settings)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no model"):
        linear_attack({}, films)


def test_plain_slope_one_tells_everything(films: Interactions) -> None:
    report = linear_attack({"slope-one": SlopeOne()}, films, targets=6, fits=1)
    assert [row.right for row in report.rows] == [1.0] * 4
    assert {row.limit for row in report.rows} == {None}


def test_a_proved_model_hides_from_others_and_not_on_ones_own_screen(
    films: Interactions, fixed_bits: Callable[[int], None]
) -> None:
    report = linear_attack({"private": PrivateSlopeOne(epsilon=1)}, films, targets=10, fits=5)
    assert report.find("private", view="own").right == 1
    assert report.find("private", view="own").limit is None
    row = report.find("private", view="others")
    assert row.limit == pytest.approx(0.2726, abs=1e-3)
    assert row.right_low <= 0.2727
    assert report.to_json()["rows"][0]["standing"] == "proved"
    with pytest.raises(KeyError):
        report.find("magic", view="own")


def test_the_attack_on_the_published_model_is_the_closed_form(
    films: Interactions, fixed_bits: Callable[[int], None]
) -> None:
    """Games against the model itself, at an ε at which neither everything nor nothing is learnt."""
    secrets = Secrets.draw(films, targets=30, seed=2, ratings=True, least=9)
    people = HistorySizes.of(films.filter(np.isin(films.user, films.user[secrets.places])))
    fitted = [
        PublishedSlopeOne(epsilon=2, least_ratings=8, minimum_overlap=3).fit(secrets.dataset, allow_refuted=True)
        for _ in range(3)
    ]
    noise = float(fitted[0].sensitivity() / 2)
    for outputs in ("one", "all"):
        right = [LinearAttack(reads="own", outputs=outputs).right(model, secrets) for model in fitted]
        expected = RatingAdversary(STARS, outputs=outputs).risk(people, noise=noise).mean()
        spread = math.sqrt(expected * (1 - expected) / np.size(right))
        assert 0.2 < expected < 0.95
        assert np.mean(right) == pytest.approx(expected, abs=4 * spread)


def test_the_twin_without_noise_compares_as_many_items(films: Interactions) -> None:
    model = PrivateSlopeOne(epsilon=1)
    fitted = PrivateSlopeOne(epsilon=1).fit(films)
    assert noise_free(model).head is None  # type: ignore[attr-defined]
    assert noise_free(model, like=fitted).head == len(fitted.head_)  # type: ignore[attr-defined]
    assert noise_free(SlopeOne(minimum_overlap=4)) == SlopeOne(minimum_overlap=4)


def test_published_cosine_gives_purchases_away_at_large_epsilon(films: Interactions) -> None:
    models = {"cosine": PublishedCosine(epsilon=10**6, least_ratings=5)}
    report = linear_attack(models, films, targets=8, fits=1)
    assert report.rows[0].secret == "record"
    assert report.find("cosine", view="own").right == 1
