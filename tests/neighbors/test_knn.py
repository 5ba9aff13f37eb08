"""The published models: predictions by hand and by brute force, guarantees, people unknown, folders."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from discreet.data.interactions import Interactions
from discreet.errors import DataError, PrivacyError, ReleaseError, UsageError
from discreet.neighbors import neighbor_model, pair_table
from discreet.neighbors.knn import KNN, NPNS, PNCF, PPNS, AssuredPPNS, NaiveExponentialNeighbors, UniformNeighbors
from discreet.neighbors.neighbor_model import NeighborModel
from discreet.neighbors.similarity import Similarity, similarity_matrix
from discreet.privacy.guarantees import Standing
from discreet.privacy.ledger import Ledger
from discreet.testing.models import two_tastes


def made(kind: type[Any], **settings: Any) -> Any:
    """A model with a budget, where it has one."""
    budget = {"epsilon": 1} if "epsilon" in {one.name for one in fields(kind)} else {}
    return kind(**budget, **settings)


CHOSEN = [UniformNeighbors, NPNS, NaiveExponentialNeighbors, PNCF, PPNS, AssuredPPNS]


@pytest.fixture(scope="module")
def tastes() -> Interactions:
    return two_tastes()


@pytest.fixture
def shop() -> Interactions:
    """Small enough for a pencil. Nobody has rated gin."""
    rows = [
        ("ann", "tea", 5), ("ann", "rum", 3),
        ("bob", "tea", 4), ("bob", "rum", 2), ("bob", "ale", 5),
        ("cat", "tea", 1), ("cat", "rum", 4), ("cat", "ale", 2),
    ]  # fmt: skip
    return Interactions(rows, scale="1:5", items=["tea", "rum", "ale", "gin"])


def score(model: NeighborModel, user: str, item: str) -> float | None:
    return model.predict([(user, item)])["score"][0]


# By hand


def test_an_item_based_prediction_by_hand(shop: Interactions) -> None:
    """Ale and tea: (5, 2) and (4, 1), by Bob and Cat; ale and rum: (5, 2) and (2, 4)."""
    tea, rum = 22 / np.sqrt(29 * 17), 18 / np.sqrt(29 * 20)
    plain = KNN(k=2, similarity="cosine", centering=None).fit(shop)
    assert score(plain, "ann", "ale") == pytest.approx((tea * 5 + rum * 3) / (tea + rum), abs=1e-6)
    centered = KNN(k=2, similarity="cosine").fit(shop)
    expected = 3.5 + (tea * (5 - 10 / 3) + rum * (3 - 3)) / (tea + rum)
    assert score(centered, "ann", "ale") == pytest.approx(expected, abs=1e-6)
    assert score(KNN(k=1, similarity="cosine", centering=None).fit(shop), "ann", "ale") == 5
    assert score(KNN(k=2, similarity="cosine", centering=None, weighting="equal").fit(shop), "ann", "ale") == 4


def test_a_user_based_prediction_by_hand(shop: Interactions) -> None:
    """Ann and Bob: (5, 3) and (4, 2); Ann and Cat: (5, 3) and (1, 4)."""
    bob, cat = 26 / np.sqrt(34 * 20), 17 / np.sqrt(34 * 17)
    plain = KNN(k=2, similarity="cosine", axis="user", centering=None).fit(shop)
    assert score(plain, "ann", "ale") == pytest.approx((bob * 5 + cat * 2) / (bob + cat), abs=1e-6)
    centered = KNN(k=2, similarity="cosine", axis="user").fit(shop)
    expected = 4 + (bob * (5 - 11 / 3) + cat * (2 - 7 / 3)) / (bob + cat)
    assert score(centered, "ann", "ale") == pytest.approx(expected, abs=1e-6)


def test_without_neighbors_the_mean_answers_or_nobody(shop: Interactions) -> None:
    far = Similarity("cosine", minimum_overlap=9)
    assert score(KNN(similarity=far).fit(shop), "ann", "ale") == 3.5
    assert score(KNN(similarity=far, axis="user").fit(shop), "ann", "ale") == 4
    assert score(KNN(similarity=far, fallback=None).fit(shop), "ann", "ale") is None
    # Of gin nothing is known, and an item-based model says so.
    assert score(KNN(similarity="cosine").fit(shop), "ann", "gin") is None
    assert "gin" not in KNN(similarity="cosine").fit(shop).recommend(["ann"])["item_id"].to_list()


def test_predictions_are_clipped_and_scores_are_not(shop: Interactions) -> None:
    rows = [("ann", "tea", 5), *[(name, item, 1 if item == "tea" else 4) for name in "bcd" for item in ("tea", "rum")]]
    data = Interactions(rows, scale="1:5")
    model = KNN(similarity="cosine").fit(data)
    assert score(model, "ann", "rum") == 5
    assert model.recommend(["ann"])["score"][0] == pytest.approx(4 + 3)


# By brute force


def brute_force(data: Interactions, user: int, item: int, *, axis: str, kind: str, k: int, everybody: bool) -> float:
    """Equation 3.6 in plain loops, ties by code."""
    ratings = {(int(u), int(i)): float(r) for u, i, r in zip(data.user, data.item, data.rating, strict=True)}  # type: ignore[arg-type]
    likeness = similarity_matrix(data, axis=axis, similarity=Similarity(kind))  # type: ignore[arg-type]
    own, n = (item, data.n_items) if axis == "item" else (user, data.n_users)

    def pair(entity: int) -> tuple[int, int]:
        return (user, entity) if axis == "item" else (entity, item)

    def mean(entity: int) -> float:
        return float(np.mean([r for key, r in ratings.items() if key[axis == "item"] == entity]))

    able = [e for e in range(n) if e != own and likeness[own, e] != 0 and (everybody or pair(e) in ratings)]
    nearest = sorted(able, key=lambda e: (-likeness[own, e], e))[:k]
    told = [(float(likeness[own, e]), ratings[pair(e)] - mean(e)) for e in nearest if pair(e) in ratings]
    total = sum(abs(w) for w, _ in told)
    predicted = mean(own) + (sum(w * r for w, r in told) / total if total else 0.0)
    return min(max(predicted, 1.0), 5.0)


@pytest.mark.parametrize("candidates", ["rated", "all"])
@pytest.mark.parametrize("kind", ["cosine", "cosine_full", "pearson", "cosine_adjusted"])
@pytest.mark.parametrize("axis", ["item", "user"])
def test_predictions_are_those_of_a_plain_loop(tastes: Interactions, axis: str, kind: str, candidates: str) -> None:
    model = KNN(k=4, axis=axis, similarity=kind, candidates=candidates).fit(tastes)  # type: ignore[arg-type]
    pairs = [(user, item) for user in range(0, tastes.n_users, 3) for item in range(tastes.n_items)]
    asked = [(tastes.users.ids()[user], tastes.items.ids()[item]) for user, item in pairs]
    expected = [
        brute_force(tastes, user, item, axis=axis, kind=kind, k=4, everybody=candidates == "all")
        for user, item in pairs
    ]
    np.testing.assert_allclose(model.predict(asked)["score"].to_numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("axis", ["item", "user"])
def test_small_parts_and_rows_on_demand_change_nothing(
    tastes: Interactions, axis: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [(user, item) for user in tastes.users.ids() for item in tastes.items.ids()]
    at_once = KNN(k=4, axis=axis).fit(tastes).predict(pairs)  # type: ignore[arg-type]
    monkeypatch.setattr(pair_table, "WHOLE", 0)
    monkeypatch.setattr(neighbor_model, "parts_of_size", lambda cost: (slice(a, a + 7) for a in range(0, cost.size, 7)))
    in_parts = KNN(k=4, axis=axis).fit(tastes).predict(pairs)  # type: ignore[arg-type]
    np.testing.assert_allclose(at_once["score"], in_parts["score"], atol=1e-5)


@pytest.mark.parametrize("model", [KNN(k=4), KNN(k=4, axis="user"), NPNS(k=3), UniformNeighbors(k=4, axis="user")])
def test_two_tastes_are_found(model: NeighborModel, tastes: Interactions) -> None:
    model.fit(tastes)
    pairs = [(f"u{u}", f"i{i}") for u in range(24) for i in range(14)]
    table = model.predict(pairs)
    own = pl.Series([int(u[1:]) % 2 == int(i[1:]) % 2 for u, i in pairs])
    assert table.filter(own)["score"].mean() > table.filter(~own)["score"].mean() + 1  # type: ignore[operator]
    alike = model.similar_items("i4", n=3)
    assert all(int(i[1:]) % 2 == 0 for i in alike["similar_id"])


# Choice


def test_ties_go_to_the_lower_id_or_to_a_coin() -> None:
    """Both know tea from the same rating, so both are at cosine 1; only one neighbor is asked."""
    rows = [("sybil", "tea", 4), ("ann", "tea", 4), ("ann", "rum", 1), ("zoe", "tea", 4), ("zoe", "rum", 5)]
    data = Interactions(rows, scale="1:5")
    options: dict[str, Any] = {"k": 1, "axis": "user", "similarity": "cosine", "centering": None}
    assert score(KNN(**options).fit(data), "sybil", "rum") == 1
    drawn = {score(KNN(**options, ties="random").fit(data), "sybil", "rum") for _ in range(40)}
    assert drawn == {1.0, 5.0}


def test_at_an_enormous_epsilon_the_mechanism_is_the_nearest(tastes: Interactions) -> None:
    """With one sensitivity for all, the exponential choice becomes the maximum, and the noise goes away."""
    pairs = [(user, item) for user in tastes.users.ids() for item in tastes.items.ids()]
    expected = KNN(k=3, similarity="cosine_full").fit(tastes).predict(pairs)["score"]
    for model in (
        NaiveExponentialNeighbors(k=3, similarity="cosine_full", epsilon=10**9),
        PNCF(k=3, similarity="cosine_full", epsilon=10**9, rs=1.0, c0="each", w=2.0),
    ):
        found = model.fit(tastes, allow_refuted=True).predict(pairs)["score"]
        np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), atol=1e-4)
    # Partition 1 alone is the nearest, too, in every setting of the neighbors.
    nearest = KNN(k=3, similarity="cosine", axis="user", centering=None).fit(tastes).predict(pairs)["score"]
    for whole in (PPNS(1, k=3, beta=1, ties="id"), AssuredPPNS(1, k=3, p=1, ties="id")):
        found = whole.fit(tastes, allow_refuted=True).predict(pairs)["score"]
        np.testing.assert_allclose(found.to_numpy(), nearest.to_numpy(), atol=1e-5)
    items = PPNS(1, k=3, similarity="cosine_full", axis="item", centering="mean", beta=1, ties="id")
    found = items.fit(tastes, allow_refuted=True).predict(pairs)["score"]
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), atol=1e-5)


def test_noise_reaches_the_weights(tastes: Interactions, fixed_bits: object) -> None:
    quiet = PNCF(1, k=30, laplace=None).fit(tastes, allow_refuted=True).predict([("u1", "i1")])
    noisy = PNCF(1, k=30).fit(tastes, allow_refuted=True).predict([("u1", "i1")])
    nearest = KNN(k=30).fit(tastes).predict([("u1", "i1")])
    assert quiet["score"][0] == pytest.approx(nearest["score"][0])
    assert noisy["score"][0] != quiet["score"][0]


@pytest.mark.parametrize("model", CHOSEN)
def test_a_question_has_one_answer_whichever_way_it_is_asked(model: type[NeighborModel], tastes: Interactions) -> None:
    fitted = made(model, k=2).fit(tastes, allow_refuted=True)
    first = score(fitted, "u2", "i3")
    best = fitted.recommend(["u2"], n=14, exclude_seen=False)
    listed = best.filter(pl.col("item_id") == "i3")["score"][0]
    assert np.clip(listed, 1, 5) == first
    asked = fitted.predict([("u2", item) for item in best["item_id"]])["score"].to_numpy()
    np.testing.assert_array_equal(np.clip(best["score"].to_numpy(), 1, 5), asked)
    history = {"i3": 5.0, "i5": 4.0}
    assert fitted.predict(["i1"], history=history).equals(fitted.predict(["i1"], history=history))


def test_different_draws_differ(tastes: Interactions) -> None:
    pairs = [(user, item) for user in tastes.users.ids() for item in tastes.items.ids()]
    one, two = (UniformNeighbors(k=2).fit(tastes).predict(pairs) for _ in range(2))
    assert not one.equals(two)


def test_private_neighbors_are_not_told_exactly(tastes: Interactions) -> None:
    """Where a guarantee was made, similar_items tells the k chosen with noisy weights, the same ones each time."""
    model = PNCF(1, k=3).fit(tastes, allow_refuted=True)
    alike = model.similar_items("i4", n=10)
    assert alike.height == 3
    assert alike.equals(model.similar_items("i4", n=10))
    exact = dict(zip(*KNN().fit(tastes).similar_items("i4", n=13).select("similar_id", "score"), strict=True))
    assert all(weight != exact[i] for i, weight in zip(alike["similar_id"], alike["score"], strict=True))


# Guarantees


@pytest.mark.parametrize("model", [KNN, UniformNeighbors, NPNS])
def test_models_without_a_guarantee_say_so_and_charge_nothing(model: type[NeighborModel], tastes: Interactions) -> None:
    assert made(model, k=2).fit(tastes).guarantee is None


@pytest.mark.parametrize("model", [NaiveExponentialNeighbors, PNCF, PPNS, AssuredPPNS])
def test_refuted_models_ask_before_they_run(model: type[NeighborModel], tastes: Interactions) -> None:
    with pytest.raises(PrivacyError, match="refuted"):
        made(model, k=2).fit(tastes)
    guarantee = made(model, k=2).fit(tastes, allow_refuted=True).guarantee
    assert guarantee is not None
    assert guarantee.standing is Standing.REFUTED
    assert f"mean ratings of {made(model).axis}s" in guarantee.describe()
    bare = made(model, k=2, centering=None, fallback=None).fit(tastes, allow_refuted=True).guarantee
    assert bare == made(model, k=2).strategy().guarantee()


def test_the_sensitivity_of_the_naive_model_follows_the_similarity() -> None:
    assert NaiveExponentialNeighbors(1, similarity="pearson").strategy().rs == 2  # type: ignore[attr-defined]
    assert NaiveExponentialNeighbors(1, similarity="cosine").strategy().rs == 1  # type: ignore[attr-defined]
    assert NaiveExponentialNeighbors(1, similarity="pearson", rs=1).strategy().rs == 1  # type: ignore[attr-defined]


# Strangers


@pytest.mark.parametrize("axis", ["item", "user"])
def test_a_stranger_gets_what_a_user_with_the_same_history_would(tastes: Interactions, axis: str) -> None:
    """For an item-based model the person asking leaves no trace beyond the item similarities, which we share here."""
    out = tastes.users.code("u7")
    frame = tastes.filter(tastes.user == out).to_frame()
    history = dict(zip(frame["item_id"], frame["rating"], strict=True))
    items = tastes.items.ids()
    fitted_on = tastes if axis == "item" else tastes.filter(tastes.user != out)
    model = KNN(k=5, axis=axis).fit(fitted_on)  # type: ignore[arg-type]
    expected = KNN(k=5, axis=axis).fit(tastes).predict([("u7", item) for item in items])  # type: ignore[arg-type]
    found = model.predict(items, history=history)
    np.testing.assert_allclose(found["score"].to_numpy(), expected["score"].to_numpy(), atol=1e-5)


def test_a_user_is_no_neighbor_of_oneself_but_a_stranger_alike_has_that_neighbor() -> None:
    rows = [("ann", "tea", 5), ("ann", "rum", 5), ("bob", "tea", 5), ("bob", "rum", 1)]
    model = KNN(k=1, axis="user", similarity="cosine_full", centering=None).fit(Interactions(rows, scale="1:5"))
    assert score(model, "ann", "rum") == 1
    assert model.predict(["rum"], history={"tea": 5, "rum": 5})["score"][0] == 5


def test_a_history_needs_ratings_on_the_scale(tastes: Interactions) -> None:
    model = KNN().fit(tastes)
    with pytest.raises(UsageError, match="ratings"):
        model.recommend(history=["i1", "i2"])
    with pytest.raises(DataError, match="scale 1:5"):
        model.recommend(history={"i1": 9})
    nobody = KNN(axis="user").fit(tastes)
    assert nobody.predict(["i1"], history={})["score"][0] is None
    assert model.predict(["i1"], history={})["score"][0] == pytest.approx(model.item_means_[model.items_.code("i1")])


# Records of other kinds


@pytest.mark.parametrize("axis", ["item", "user"])
def test_without_ratings_it_recommends_and_predicts_nothing(tastes: Interactions, axis: str) -> None:
    liked = tastes.filter(tastes.rating >= 4).to_frame().select("user_id", "item_id")  # type: ignore[operator]
    model = KNN(k=5, axis=axis, similarity="cosine_full").fit(Interactions(liked))  # type: ignore[arg-type]
    best = model.recommend(["u4", "u7"], n=2)
    assert all(int(u[1:]) % 2 == int(i[1:]) % 2 for u, i in best.select("user_id", "item_id").iter_rows())
    assert model.recommend(history=["i0", "i2"], n=1)["item_id"][0] in {"i4", "i6", "i8", "i10", "i12"}
    assert model.predict([("u4", "i4")])["score"][0] is None


def test_records_that_may_repeat_are_refused() -> None:
    visits = Interactions([("ann", "tea", 5), ("ann", "tea", 4)], scale="1:5", duplicates="keep")
    with pytest.raises(UsageError, match="repeat"):
        KNN().fit(visits)


# On disk


def test_the_folder_says_that_it_holds_records(tastes: Interactions, tmp_path: Path) -> None:
    model = PNCF(1, k=2, similarity=Similarity("cosine", shrinkage=0.5)).fit(tastes, allow_refuted=True)
    path = model.save(tmp_path / "m")
    described = json.loads((path / "model.json").read_text(encoding="utf-8"))
    assert "raw records" in described["warning"]
    assert described["model"] == "pncf"
    again = PNCF.load(path)
    assert again.guarantee == model.guarantee
    assert again.records_ is not None
    assert again.records_.fingerprint == tastes.fingerprint
    with pytest.raises(ReleaseError, match="'pncf', not 'knn'"):
        KNN.load(path)


def test_a_fit_is_charged_once_and_loading_never(tastes: Interactions, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "budget.db")
    ledger.open(tastes, epsilon=2, delta="1e-6", unit="user")
    model = PNCF(k=2, epsilon="3/4").fit(tastes, ledger=ledger, allow_refuted=True)
    model.recommend(["u1"])
    PNCF.load(model.save(tmp_path / "m")).recommend(["u1"])
    KNN(k=2).fit(tastes, ledger=ledger)
    statement = ledger.statement(tastes)
    assert [entry.mechanism for entry in statement.refuted] == ["pncf"]
    assert statement.entries == ()
    # A constant sensitivity may save one choice of neighbors, not a model that answers any number of questions.
    with pytest.raises(PrivacyError, match="every target is a new run"):
        NaiveExponentialNeighbors(k=2, epsilon="3/2", laplace="2k").fit(tastes, ledger=ledger)
    NaiveExponentialNeighbors(k=2, epsilon="3/2", laplace="2k").fit(tastes, ledger=ledger, allow_refuted=True)
    assert ledger.statement(tastes).spent.epsilon == 0


def test_a_folder_of_something_else_is_never_replaced(tastes: Interactions, tmp_path: Path) -> None:
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("friend")
    with pytest.raises(ReleaseError, match="no model"):
        KNN().fit(tastes).save(tmp_path / "letters", overwrite=True)
    assert (tmp_path / "letters" / "dear.txt").exists()


def test_a_damaged_model_is_refused(tastes: Interactions, tmp_path: Path) -> None:
    path = KNN().fit(tastes).save(tmp_path / "m")
    good = json.loads((path / "model.json").read_text(encoding="utf-8"))
    for broken in ({"model": "knn"}, {**good, "config": {"depth": 3}}, [1]):
        (path / "model.json").write_text(json.dumps(broken), encoding="utf-8")
        with pytest.raises(ReleaseError):
            KNN.load(path)


def test_other_records_cannot_be_attached(tastes: Interactions) -> None:
    model = KNN().fit(tastes)
    assert model.attach(tastes) is model
    with pytest.raises(UsageError, match="records it was fitted on"):
        model.attach(tastes.filter(tastes.user > 3))


def test_the_defaults_of_ppns_are_the_thesis() -> None:
    """User-based, cosine over co-rated items, ratings as they are (Lu, equations 3.2 and 3.5)."""
    for model in (PPNS(1), AssuredPPNS(1)):
        assert (model.axis, model.similarity, model.centering) == ("user", "cosine", None)
