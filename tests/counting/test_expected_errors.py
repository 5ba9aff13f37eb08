"""Estimates against releases: what every counting method is expected to do is about what it does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.counting import DFT, GS, HPA, LPA, SRA, HybridCounts, ItemCounts, ItemPairs, Profile, TopItems
from discreet.counting.estimation import counts_of

ITEMS, DAYS, TOP = 120, "abcd", 10
PROFILE = Profile(users=1500, records=15, exponent=0.8)
CONTEXTS = ["day=a,b,c,d"]


@pytest.fixture(scope="module")
def dataset() -> tuple[dc.Interactions, np.ndarray]:
    """People as the profile has them, in a catalog of no particular order; and the true counts that it assumes."""
    rng = np.random.default_rng(3)
    user, rank = np.nonzero(rng.random((PROFILE.users, ITEMS)) < PROFILE.of_one_user(ITEMS))
    item_of = rng.permutation(ITEMS)
    frame = pl.DataFrame(
        {"user_id": user, "item_id": item_of[rank], "day": np.array(list(DAYS))[rng.integers(0, 4, user.size)]}
    )
    truth = np.empty(ITEMS)
    truth[item_of] = PROFILE.counts(ITEMS)
    return dc.Interactions(frame, context=["day"], items=list(range(ITEMS))), truth


def found(scores: np.ndarray, truth: np.ndarray) -> float:
    """Share of the true top among the top of the scores, ties in any order, mean over columns."""
    stream = np.random.default_rng(1)
    best = set(np.argsort(-truth)[:TOP].tolist())
    lists = [np.lexsort((stream.random(ITEMS), -column))[:TOP] for column in scores.T]
    return float(np.mean([len(best & set(one.tolist())) / TOP for one in lists]))


WAYS = {
    "weighted": ItemCounts(epsilon=1, cap=5),
    "clipped": ItemCounts(epsilon=1, delta="1e-6", cap=6),
    "sra": SRA(epsilon=1, cap=5),
    "hpa": HPA(epsilon=1, cap=5),
    "hpa, noisy look": HPA(epsilon="1/5", cap=5, first=3),
    "lpa": LPA(epsilon=1, cap=5),
    "gs": GS(epsilon=1, cap=5, width=20),
    "dft": DFT(epsilon=1, cap=5),
    "dft, gaussian": DFT(epsilon=1, cap=5, coefficients=40, delta="1e-6"),
    "hybrid": HybridCounts(epsilon=1, cap=5),
    "hybrid, gaussian": HybridCounts(epsilon=1, cap=5, gamma=1, delta="1e-6"),
}


@pytest.mark.parametrize("name", WAYS)
def test_estimated_errors_and_lists_are_about_right(name: str, dataset, fixed_bits) -> None:
    data, truth = dataset
    expected = WAYS[name].estimate(data, contexts=CONTEXTS, profile=PROFILE, k=TOP)
    assert {"scale", "edge_scale", "loss", "noise_95", "edge_noise_95", "assumed"} <= expected.keys()
    measured = []
    for _ in range(12):
        items, edges = counts_of(WAYS[name].release(data, contexts=CONTEXTS))
        assert edges is not None
        part = truth[:, None] / len(DAYS)
        measured.append(
            [
                np.square(items - truth).mean(),
                np.square(edges - part).mean(),
                found(items[:, None], truth),
                found(edges, truth),
            ]
        )
    error, edge_error, precision, edge_precision = np.mean(measured, axis=0)
    assert 0.7 < error / expected["expected_mse"] < 1.4
    assert 0.7 < edge_error / expected["edge_expected_mse"] < 1.4
    # What smoothing mixes in depends on the catalog: its mean over catalogs is expected, and one is tried.
    near = 0.3 if name.startswith("dft") else 0.15
    assert precision == pytest.approx(expected["expected_precision"], abs=near)
    assert edge_precision == pytest.approx(expected["edge_expected_precision"], abs=near)


@pytest.mark.parametrize("name", ["weighted", "clipped", "hybrid", "gs", "dft"])
def test_estimated_noise_is_the_noise(name: str, fixed_bits) -> None:
    """Nobody there: all that is released is noise."""
    nobody = dc.Interactions([("u", 0, 1.0, 0)], items=list(range(900)), name="nobody").emptied()
    release = WAYS[name].release(nobody, contexts=["weekday"])
    items, edges = counts_of(release)
    assert edges is not None
    known = release.parameters
    size = 1 if name not in ("gs", "dft") else 20  # neighbors share their noise: fewer independent numbers
    assert items.std() == pytest.approx(known["noise_sd"], rel=0.15 * size**0.5)
    assert edges.std() == pytest.approx(known["edge_noise_sd"], rel=0.1 * size**0.5)
    if size == 1:
        assert (np.abs(items) <= known["noise_95"]).mean() == pytest.approx(0.95, abs=0.03)
        assert (np.abs(edges) <= known["edge_noise_95"]).mean() == pytest.approx(0.95, abs=0.03)


def test_lists_are_estimated(dataset, fixed_bits) -> None:
    data, truth = dataset
    best = set(np.argsort(-truth)[:TOP].tolist())
    for held in (False, True):
        method = TopItems(k=TOP, epsilon=1, one_context_each=held)
        expected = method.estimate(data, contexts=CONTEXTS, profile=PROFILE)
        shares = []
        for _ in range(8):
            lists = method.release(data, contexts=CONTEXTS).table("top")
            shares += [len(best & set(one["item_id"])) / TOP for _, one in lists.group_by("day")]
        assert np.mean(shares) == pytest.approx(expected["expected_precision"], abs=0.1)


def test_numbers_of_winners_are_estimated(dataset, fixed_bits) -> None:
    data, truth = dataset
    for delta in (0, "1e-6"):
        method = TopItems(k=TOP, epsilon=2, delta=delta, count_share="1/2", count_cap=2)
        expected = method.estimate(data, profile=PROFILE)["expected_mse"]
        errors = []
        for _ in range(8):
            winners = method.release(data).table("top")
            errors.append(np.square(winners["count"].to_numpy() - truth[winners["item_id"].to_numpy()]).mean())
        assert 0.7 < np.mean(errors) / expected < 1.4


@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_pairs_are_estimated(delta, dataset, fixed_bits) -> None:
    data, truth = dataset
    method = ItemPairs(epsilon=1, delta=delta, cap=5, head=20)
    expected = method.estimate(data, profile=PROFILE, k=5)
    errors = []
    for _ in range(5):
        release = method.release(data)
        touched = truth[release.table("items")["item_id"].to_numpy()] / PROFILE.users
        true = PROFILE.users * np.outer(touched, touched)
        errors.append(np.square(release.array("pairs") - true)[~np.eye(20, dtype=bool)].mean())
    assert 0.7 < np.mean(errors) / expected["expected_mse"] < 1.5
    assert 0.9 < expected["expected_precision"] <= 1
    assert {"scale", "loss", "assumed"} <= expected.keys()


def test_nothing_is_expected_where_the_records_set_the_noise(dataset) -> None:
    data, _ = dataset
    facts = LPA(epsilon=1, cap="data").estimate(data)
    assert "expected_mse" not in facts
    assert "noise_sd" not in facts
