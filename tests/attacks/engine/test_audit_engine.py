"""The audit refutes what is false, and leaves alone what is true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.attacks import Game, NeighboringData, audit
from discreet.attacks.engine.targets import Target
from discreet.attacks.games.counterexamples import swapped_ranks
from discreet.attacks.games.datasets import background
from discreet.attacks.games.registry import ATTACKS
from discreet.counting import ItemCounts, TopItems
from discreet.errors import PrivacyError, ReleaseError, UsageError
from discreet.neighbors import KNN, PNCF, PPNS, PrivateItemKNN

CANARY = ATTACKS["canary"]


def test_the_control_is_not_refuted_and_nearly_used_up(films, noisy_users, fixed_bits) -> None:
    """Laplace noise at its right scale, f = 0 or 1: the bound is below 1, and not far below."""
    report = audit(noisy_users(), films, attacks="canary", runs=150, processes=1)
    assert 0.4 < report["canary"].proved.epsilon < 1
    assert report.verdict.startswith("consistent with ε = 1: the attacks prove at least ε = 0.")
    assert not report.refuted


def test_half_the_noise_is_refuted(films, noisy_users, fixed_bits) -> None:
    report = audit(noisy_users(spent=Fraction(2)), films, attacks="canary", runs=150, processes=1)
    assert report.refuted
    assert 1 < report["canary"].proved.epsilon < 2
    assert report.verdict.startswith("REFUTED: at least 1.")
    assert "claimed ε = 1" in report.verdict


def test_too_few_runs_are_said_to_be_too_few(films, noisy_users, fixed_bits) -> None:
    """A claim of 3 cannot be refuted by 48 counting runs, whose ceiling is below it."""
    report = audit(noisy_users(epsilon=Fraction(3)), films, attacks="canary", runs=12, processes=1)
    score = report["canary"]
    assert score.ceiling.epsilon < 3
    assert score.needs == 152
    assert report.verdict.startswith("inconclusive: needs N ≥ 152 runs on each dataset (claimed ε = 3")


@pytest.mark.parametrize(
    "model",
    [ItemCounts(epsilon=1, cap=3), TopItems(k=2, epsilon=1), PrivateItemKNN(epsilon=1, k=5)],
    ids=["counts", "top", "item-knn"],
)
def test_proved_models_stand(films, fixed_bits, model: Any) -> None:
    report = audit(model, films, attacks="canary", runs=8, processes=1)
    assert report["canary"].verdict == "consistent"


@pytest.mark.parametrize("similarity", ["pearson", "cosine"])
def test_noise_with_a_scale_from_the_records_is_refuted(films, fixed_bits, similarity: str) -> None:
    model = PNCF(epsilon=1, similarity=similarity)
    report = audit(model, films, attacks="local-sensitivity", runs=30, processes=1)
    assert report["local-sensitivity"].proved.epsilon > 1.5
    assert report.refuted


def rate_of_swapped_ranks(model: PPNS) -> float:
    """The exact chance that the neighbor that was of rank k + 1 comes with one from behind, after the change.

    Partition 1 keeps all of its k members but one, drawn one after the other by exp(ε·s/(4k·RS)); the last neighbor is
    drawn from partition beta, in which all but the former number k are equally similar.
    """
    pair, k = swapped_ranks(Target.of(model, background())), model.k
    fitted, ids = replace(model).fit(pair.with_, allow_refuted=True), pair.with_.items
    others = np.array([ids.code(f"i{rank}") for rank in range(1, len(ids))])
    similarity, rs = fitted._table.at(np.full(others.size, ids.code("i0")), others)
    assert rs is not None
    weight = dict(enumerate(np.exp(similarity / (4 * k * rs)), start=1))
    near, far = [*range(1, k), k + 1], [k, *range(k + 2, 2 * k + 1)]

    @cache
    def kept(left: frozenset[int]) -> float:
        """The chance that number k + 1 is drawn before one member is left."""
        if len(left) == 1:
            return 0.0
        total = sum(weight[rank] for rank in left)
        return sum(weight[rank] / total * (1.0 if rank == k + 1 else kept(left - {rank})) for rank in left)

    behind = 1 - weight[k] / sum(weight[rank] for rank in far) if model.beta == 2 else 1.0
    return kept(frozenset(near)) * behind


@pytest.mark.parametrize(("k", "beta"), [(10, 2), (5, 4)])
def test_ranks_that_change_places_refute_partitions(films, fixed_bits, k: int, beta: int) -> None:
    model = PPNS(epsilon=1, k=k, beta=beta, axis="item", similarity="pearson")
    score = audit(model, films, attacks="swapped-ranks", runs=25, processes=1)["swapped-ranks"]
    assert score.false_alarms == 0
    exact, runs = rate_of_swapped_ranks(model), score.runs_present
    assert abs(score.hits - exact * runs) < 5 * (exact * (1 - exact) * runs) ** 0.5
    assert score.verdict == "refuted"
    assert score.proved.epsilon > 2


def test_a_model_that_claims_nothing_gets_a_bound_only(films) -> None:
    report = audit(KNN(k=5), films, attacks="canary-predictions,rating-predictions", runs=10, processes=1)
    assert {score.verdict for score in report.scores} == {"no claim"}
    assert report["canary-predictions"].proved.epsilon == report["canary-predictions"].ceiling.epsilon
    assert report.verdict.startswith("at least ε = 2.")
    assert not report.refuted


def test_a_claim_can_be_made_for_it(films, noisy_users) -> None:
    claim = noisy_users().release(films).guarantee
    report = audit(KNN(k=5), films, attacks="canary-predictions", runs=10, processes=1, claim=claim)
    assert report.refuted


def test_games_on_the_given_records_are_played(films, fixed_bits) -> None:
    report = audit(KNN(k=5, axis="user"), films, attacks="sybil,member,one-run", runs=10, processes=1)
    assert [score.game for score in report.scores] == ["sybil", "member", "one-run"]
    assert report["sybil"].how == "10 fits to each dataset, the given records"
    assert "one fit with 11 canaries" in report["one-run"].how


def test_a_guarantee_about_records_is_audited_by_records(films) -> None:
    model = PrivateItemKNN(epsilon=1, unit="rating")
    report = audit(model, films, attacks="canary,rating", runs=2, processes=1)
    assert [score.game for score in report.scores] == ["rating"]
    assert report.skipped == {"canary": "the guarantee is about one record"}


def test_the_error_is_shared_by_the_games(films, fixed_bits) -> None:
    model = PrivateItemKNN(epsilon=1)
    report = audit(model, films, attacks="canary,canary-predictions", runs=2, processes=1, confidence=0.9)
    assert [score.confidence for score in report.scores] == pytest.approx([0.95, 0.95])


def test_time_is_a_limit(films, noisy_users, slow_time, monkeypatch) -> None:
    """A hundredth of a second for each fit: nine tenths of two seconds are for about 180 of them."""
    fit = Target.fit
    monkeypatch.setattr(Target, "fit", lambda self, data: slow_time.sleep(0.01) or fit(self, data))
    report = audit(noisy_users(), films, attacks="canary", runs=100_000, seconds=2, processes=1)
    assert "(800,000 asked for; the time allowed no more)" in report["canary"].how
    assert 40 <= report["canary"].runs_present <= 45


# The sandbox


def test_the_book_is_never_touched(films, tmp_path) -> None:
    """A model that carries a ledger is stopped before anything is charged."""
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(films, epsilon=5)

    class Sneaky:
        def release(self, data: dc.Interactions) -> dc.Release:
            return ItemCounts(epsilon=1, cap=3).release(data, ledger=ledger)

    with pytest.raises(PrivacyError, match="no ledger can be charged"):
        audit(Sneaky, films, runs=2, processes=1)
    assert not ledger.statement(films).entries
    ItemCounts(epsilon=1, cap=3).release(films, ledger=ledger)  # outside it works as ever
    assert len(ledger.statement(films).entries) == 1


def test_an_audited_fit_cannot_be_saved(films, tmp_path) -> None:
    fitted = Target.of(PrivateItemKNN(epsilon=1), films).fit(films)
    assert fitted.release is not None
    assert fitted.release.sandboxed
    for save in (fitted.release.save, fitted.model.save):
        with pytest.raises(ReleaseError, match="sandbox of an audit"):
            save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


# What is refused


@dataclass(frozen=True, kw_only=True)
class Impossible(Game):
    name: str = "impossible"

    def datasets(self, target: Target, data: dc.Interactions, draw: np.random.Generator) -> NeighboringData:
        raise UsageError("this dataset does not exist.")

    def observe(self, fitted: Any, pair: NeighboringData) -> Any:
        raise AssertionError


def test_games_that_fail_are_named_with_the_reason(films, noisy_users) -> None:
    report = audit(noisy_users(), films, attacks=[CANARY, Impossible()], runs=2, processes=1)
    assert report.skipped == {"impossible": "this dataset does not exist."}
    with pytest.raises(UsageError, match=r"no attack could be played .* impossible: this dataset"):
        audit(noisy_users(), films, attacks=[Impossible()], runs=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"runs": 1}, "runs = 1"),
        ({"confidence": 1.0}, "confidence"),
        ({"seconds": 0}, "seconds"),
        ({"seed": -1}, "seed"),
        ({"attacks": "nonsense"}, "no attack 'nonsense'"),
        ({"attacks": "canary,canary"}, "twice"),
        ({"attacks": ""}, "no attack given"),
    ],
)
def test_mistakes_are_named(films, noisy_users: Callable[..., Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        audit(noisy_users(), films, **options)


def test_what_cannot_be_fitted_cannot_be_audited(films) -> None:
    with pytest.raises(UsageError, match="neither fit"):
        audit(object(), films)
