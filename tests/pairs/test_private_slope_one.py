"""Slope One from noisy differences: what it guarantees, what it learns, and what it is without noise."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.errors import BudgetError, DiscreetError, PrivacyError, UsageError
from discreet.pairs import PrivateSlopeOne, SlopeOne
from discreet.pairs.private_slope_one import offsets_of_pairs, slopes_of_pairs
from discreet.privacy.losses import GaussianLoss, Pure, mu_for
from discreet.privacy.units import Unit


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=900, items=80, seed=3)


def same_length(users: int = 60, items: int = 12, each: int = 6) -> dc.Interactions:
    """Everybody rated as many items, so that all weights are equal whatever the unit."""
    rng = np.random.default_rng(8)
    rows = [
        (f"u{u}", f"i{i}", float(rng.integers(1, 11)) / 2)
        for u in range(users)
        for i in rng.choice(items, each, replace=False)
    ]
    return dc.Interactions(rows, items=[f"i{i}" for i in range(items)], scale="0.5:5:0.5")


# Without noise


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"delta": 0},
        {"unit": "rating"},
        {"unit": "rating", "delta": 0},
        {"unit": "value"},
        {"head": [f"i{n}" for n in range(12)]},
        {"weight": "equal", "cap": 6},
    ],
    ids=str,
)
def test_without_noise_it_is_weighted_slope_one(settings: dict) -> None:
    data = same_length()
    model = PrivateSlopeOne(**{"epsilon": 10**10, "head": 12, **settings}).fit(data)
    plain = SlopeOne(weighted=True).fit(data)
    pairs = [(user, item) for user in data.users.ids() for item in data.items.ids()]
    ours, theirs = (m.predict(pairs)["score"].to_numpy() for m in (model, plain))
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


def test_without_noise_equal_weights_need_no_equal_histories() -> None:
    films = dc.synthetic.films(users=120, items=25, seed=5)
    model = PrivateSlopeOne(epsilon=10**10, weight="equal", cap=25, head=25).fit(films)
    pairs = [(user, item) for user in films.users.ids()[:40] for item in films.items.ids()]
    plain = SlopeOne(weighted=True).fit(films)
    together = {
        (films.items.ids()[int(k)], films.items.ids()[int(j)])
        for k in range(25)
        for j in plain.pairs_.others[plain.pairs_.starts[k] : plain.pairs_.starts[k + 1]]
    }
    own = films.to_frame().group_by("user_id").agg("item_id")
    histories = dict(zip(own["user_id"], own["item_id"].to_list(), strict=True))
    known = [(u, i) for u, i in pairs if any((k, i) in together for k in histories[u])]
    assert len(known) > 500
    ours, theirs = (m.predict(known)["score"].to_numpy() for m in (model, plain))
    np.testing.assert_allclose(ours, theirs, atol=1e-3)


@pytest.mark.usefixtures("fixed_bits")
@pytest.mark.parametrize("unit", ["user", "rating", "value"])
def test_more_budget_is_more_accurate(unit, films: dc.Interactions) -> None:
    plain = SlopeOne(weighted=True).fit(films)
    pairs = [(user, item) for user in films.users.ids()[:200] for item in films.items.ids()[:20]]
    theirs = plain.predict(pairs)["score"].to_numpy()
    apart = [
        np.abs(PrivateSlopeOne(epsilon=e, unit=unit, head=80).fit(films).predict(pairs)["score"].to_numpy() - theirs)
        for e in ("1/5", 5, 200)
    ]
    errors = [float(part.mean()) for part in apart]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.15


# Post-processing


def test_what_noise_hides_is_left_to_the_offsets() -> None:
    offsets = np.array([0.5, -0.25, 0.0])
    usual = offsets[:, None] - offsets[None, :]
    hidden, _ = slopes_of_pairs(
        np.array([90.0, -70.0, 10.0]), np.array([1.0, -3.0, 2.0]), offsets,
        noise_differences=1e9, noise_counts=5.0, width=4.0, threshold=1.0,
    )  # fmt: skip
    np.testing.assert_allclose(hidden, usual, atol=1e-12)
    plain, weights = slopes_of_pairs(
        np.array([2.0, -3.0, 0.0]), np.array([2.0, 2.0, 0.0]), offsets,
        noise_differences=0.0, noise_counts=0.0, width=4.0, threshold=1.0,
    )  # fmt: skip
    np.testing.assert_allclose(plain, [[0, 1, -1.5], [-1, 0, -0.25], [1.5, 0.25, 0]])
    np.testing.assert_array_equal(weights, [[0, 2, 2], [2, 0, 0], [2, 0, 0]])


def test_differences_are_clipped_to_the_scale() -> None:
    wild, _ = slopes_of_pairs(
        np.array([900.0]), np.array([1.0]), np.zeros(2),
        noise_differences=0.1, noise_counts=0.1, width=4.0, threshold=0.0,
    )  # fmt: skip
    np.testing.assert_array_equal(wild, [[0, 4], [-4, 0]])


def test_pairs_tell_offsets() -> None:
    truth = np.array([0.5, -0.3, 0.0, -0.2])
    above = np.triu_indices(4, 1)
    counts = np.array([5.0, 1.0, 2.0, 7.0, 3.0, 4.0])
    differences = counts * (truth[above[0]] - truth[above[1]])
    found = offsets_of_pairs(differences, counts, noise_differences=0.0, width=4.0)
    np.testing.assert_allclose(found - found.mean(), truth, atol=1e-6)
    drowned = offsets_of_pairs(differences, counts, noise_differences=1e6, width=4.0)
    np.testing.assert_allclose(drowned, 0, atol=1e-3)


# The guarantee


@pytest.mark.parametrize(
    ("settings", "loss", "unit"),
    [
        ({"epsilon": 2}, GaussianLoss(mu_for(2, "1e-6") ** 2), Unit("user")),
        ({"epsilon": 2, "delta": 0}, Pure(Fraction(2)), Unit("user")),
        ({"epsilon": 2, "unit": "rating"}, GaussianLoss(mu_for(2, "1e-6") ** 2), Unit("record")),
        ({"epsilon": 2, "unit": "value", "delta": 0}, Pure(Fraction(2)), Unit("record", "value")),
    ],
)
def test_the_guarantee_is_what_was_asked_for(settings: dict, loss, unit: Unit, films: dc.Interactions) -> None:
    guarantee = PrivateSlopeOne(**{"epsilon": 1, **settings}).fit(films).guarantee
    assert guarantee is not None
    assert (guarantee.loss, guarantee.unit, guarantee.joint) == (loss, unit, True)
    assert guarantee.standing.name == "PROVED"
    assert "docs/proofs/pairs.md" in guarantee.basis


def test_the_parts_of_the_budget_add_up(films: dc.Interactions) -> None:
    """Noise as it is released: the three parts cost what was guaranteed."""
    model = PrivateSlopeOne(epsilon=2, head=80).fit(films)
    public = model.release_.parameters
    # With w = 1/n: sensitivities 0.6 (item statistics), Δr/2 and √(1/2)·√(1 − 1/80).
    mu = [0.6 / public["noise_first"], 2 / public["noise_differences"]]
    mu.append((0.5 * (1 - 1 / 80)) ** 0.5 / public["noise_counts"])
    assert sum(m**2 for m in mu) == pytest.approx(float(mu_for(2, "1e-6")) ** 2, rel=1e-3)


def test_the_ledger_is_charged_once_and_refuses_a_second_time(films: dc.Interactions, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(films, epsilon=1, delta="1e-6", unit="user")
    PrivateSlopeOne(epsilon=1).fit(films, ledger=ledger)
    with pytest.raises(BudgetError):
        PrivateSlopeOne(epsilon=1).fit(films, ledger=ledger)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"unit": "item"}, "unit"),
        ({"weight": "none"}, "weight"),
        ({"weight": "equal"}, "cap"),
        ({"cap": 1}, "cap"),
        ({"cap": 5, "unit": "rating"}, "could replace another"),
        ({"head": 1}, "head"),
        ({"head": ["film-1"]}, "two items"),
        ({"head": ["film-1", "no such film"]}, "no such film"),
        ({"first_share": 1}, "first_share"),
        ({"threshold": -1}, "threshold"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "1e-40", "delta": 0}, "scales"),
    ],
)
def test_what_can_fail_fails_before_the_charge(
    settings: dict, word: str, films: dc.Interactions, tmp_path: Path
) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(films, epsilon=100, delta="1e-3", unit="user")
    with pytest.raises(DiscreetError, match=word):
        PrivateSlopeOne(**{"epsilon": 1, **settings}).fit(films, ledger=ledger)
    assert not ledger.statement(films).entries


def test_data_that_do_not_fit_are_refused(films: dc.Interactions) -> None:
    rows = [("a", "x", 1.0), ("a", "y", 2.0)]
    with pytest.raises(PrivacyError, match="public list"):
        PrivateSlopeOne(1).fit(dc.Interactions(rows, scale="1:5"))
    with pytest.raises(UsageError, match="public scale"):
        PrivateSlopeOne(1).fit(dc.Interactions(rows, items=["x", "y"]))
    twice = dc.Interactions([*rows, ("a", "x", 3.0)], items=["x", "y"], scale="1:5", duplicates="keep")
    with pytest.raises(UsageError, match="several records"):
        PrivateSlopeOne(1, unit="rating").fit(twice)
    PrivateSlopeOne(epsilon=20).fit(twice)


# The head, and the disk


def test_a_public_head_needs_no_first_release(films: dc.Interactions) -> None:
    model = PrivateSlopeOne(epsilon=50, head=["film-1", "film-5", "film-9"]).fit(films)
    assert set(model.release_.parts) == {"head", "differences", "counts", "items"}
    assert films.items.take(model.head_).to_list() == sorted(["film-1", "film-5", "film-9"], key=films.items.code)
    assert model.predict(["film-9"], history={"film-1": 5})["score"][0] > 2


def test_for_values_counts_are_exact(films: dc.Interactions) -> None:
    model = PrivateSlopeOne(epsilon=1, unit="value", head=20).fit(films)
    touched = (films.csr.toarray() > 0)[:, model.head_]
    sizes = np.maximum(touched.sum(axis=1), 1)
    weights = (touched / np.sqrt(sizes)[:, None]).T @ touched
    np.testing.assert_allclose(model.release_.array("counts"), weights[np.triu_indices(20, 1)], rtol=1e-4)
    assert any("who rated what" in line for line in model.guarantee.not_covered)  # type: ignore[union-attr]


def test_a_saved_model_holds_nobody_and_keeps_its_head(films: dc.Interactions, tmp_path: Path) -> None:
    head = films.items.ids()[:10]
    folder = PrivateSlopeOne(epsilon=4, head=head).fit(films).save(tmp_path / "model")
    again = PrivateSlopeOne.load(folder)
    assert again.parameters["head"] == head
    for file in folder.rglob("*"):
        assert not file.is_file() or b"u17" not in file.read_bytes()


def test_new_people_cost_nothing(films: dc.Interactions, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "ledger.db")
    ledger.open(films, epsilon=1, delta="1e-6", unit="user")
    model = PrivateSlopeOne(epsilon=1).fit(films, ledger=ledger)
    spent = len(ledger.statement(films).entries)
    for stars in (1, 3, 5):
        assert model.recommend(history={"film-3": stars}, n=3).height == 3
    assert len(ledger.statement(films).entries) == spent
