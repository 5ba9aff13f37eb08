"""Slope One without privacy: sums that are exact, the equations, and what memory goes by."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import Interactions
from discreet.errors import UsageError
from discreet.pairs import SlopeOne
from discreet.pairs import pair_sums as pair_sums_file
from discreet.pairs.pair_sums import PairSums, pair_sums

ITEMS = [f"i{n}" for n in range(6)]
HALVES = [Fraction(n, 2) for n in range(1, 11)]

History = Mapping[str, Fraction]
HISTORIES = st.lists(
    st.dictionaries(st.sampled_from(ITEMS), st.sampled_from(HALVES), min_size=1), min_size=1, max_size=7
)


def dataset(people: list[dict[str, Fraction]]) -> Interactions:
    rows = [(f"u{n}", item, float(r)) for n, person in enumerate(people) for item, r in person.items()]
    return Interactions(rows, items=ITEMS, scale="0.5:5:0.5")


def by_pair(sums: PairSums) -> dict[tuple[int, int], tuple[Fraction, int]]:
    """Differences in stars and numbers of raters, exactly."""
    step = Fraction(sums.step)
    entries = zip(
        sums.rows.tolist(), sums.others.tolist(), sums.differences.tolist(), sums.counts.tolist(), strict=True
    )
    return {(i, j): (d * step, c) for i, j, d, c in entries}


def expected(people: list[dict[str, Fraction]], minimum: int) -> dict[tuple[int, int], tuple[Fraction, int]]:
    found = {}
    for (i, one), (j, two) in itertools.permutations(enumerate(ITEMS), 2):
        both = [person[one] - person[two] for person in people if one in person and two in person]
        if len(both) > minimum:
            found[i, j] = (sum(both, Fraction(0)), len(both))
    return found


@given(people=HISTORIES, minimum=st.integers(0, 2))
def test_sums_are_exact_for_half_stars(people: list[dict[str, Fraction]], minimum: int) -> None:
    sums = pair_sums(dataset(people), minimum_overlap=minimum)
    assert by_pair(sums) == expected(people, minimum)
    assert sums.differences.dtype.kind == "i"
    for i in range(len(ITEMS)):
        assert (np.diff(sums.others[sums.starts[i] : sums.starts[i + 1]]) > 0).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_and_threads_make_no_difference(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    data = Interactions(
        [(u, int(i), int(rng.integers(1, 6))) for u in range(40) for i in rng.choice(30, 9, replace=False)],
        items=range(30),
        scale="1:5",
    )
    whole = pair_sums(data, threads=1)
    monkeypatch.setattr(pair_sums_file, "CELLS", 60)
    parts = pair_sums(data, threads=threads)
    for name in ("starts", "others", "differences", "counts"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_ratings_without_steps_are_summed_as_they_are() -> None:
    rows = [("a", 0, 1.25), ("a", 1, 3.5), ("b", 0, 2.0), ("b", 1, 2.125)]
    for scale in ("0:5:none", None):
        sums = pair_sums(Interactions(rows, items=range(2), scale=scale))
        np.testing.assert_array_equal(sums.differences, [-2.375, 2.375])
        np.testing.assert_array_equal(sums.counts, [2, 2])


# The equations, by hand

PEOPLE = [
    {"i0": Fraction(4), "i1": Fraction(2), "i2": Fraction(5)},
    {"i0": Fraction(3), "i1": Fraction(7, 2)},
    {"i0": Fraction(5), "i2": Fraction(1)},
]


def by_hand(people: list[dict[str, Fraction]], own: dict[str, Fraction], item: str, **settings) -> Fraction:
    """r̂ by equations 3 to 6 in exact arithmetic."""
    sums = expected(people, settings.get("minimum_overlap", 0))
    j = ITEMS.index(item)
    mean = sum(own.values(), Fraction(0)) / len(own)
    terms = [(sums[j, ITEMS.index(k)], r) for k, r in own.items() if (j, ITEMS.index(k)) in sums]
    if settings.get("weighted"):
        weight = sum(c for (_, c), _ in terms)
        return sum((d + c * r for (d, c), r in terms), Fraction(0)) / weight if weight else mean
    slopes = [d / c for (d, c), _ in terms]
    number = len(own) if settings.get("average", "rated") == "rated" else max(1, len(slopes))
    return mean + sum(slopes, Fraction(0)) / number


SETTINGS = [
    {},
    {"average": "compared"},
    {"weighted": True},
    {"minimum_overlap": 1},
    {"minimum_overlap": 1, "average": "compared"},
    {"minimum_overlap": 1, "weighted": True},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("own", [{"i1": Fraction(3)}, {"i1": Fraction(1), "i2": Fraction(9, 2)}, {"i4": Fraction(2)}])
def test_predictions_are_those_of_the_equations(settings: dict, own: dict[str, Fraction]) -> None:
    model = SlopeOne(**settings).fit(dataset(PEOPLE))
    history = {item: float(r) for item, r in own.items()}
    for item in ITEMS:
        truth = min(Fraction(5), max(Fraction(1, 2), by_hand(PEOPLE, own, item, **settings)))
        assert model.predict([item], history=history)["score"][0] == pytest.approx(float(truth), abs=1e-12)


def test_the_sum_is_divided_by_all_that_was_rated_as_printed() -> None:
    """Equation 5: a zeroed s_jk still counts in |r_i|; the usual form leaves it out."""
    history = {"i1": 1.0, "i4": 1.0}  # nobody rated i4
    printed = SlopeOne().fit(dataset(PEOPLE)).predict(["i0"], history=history)["score"][0]
    usual = SlopeOne(average="compared").fit(dataset(PEOPLE)).predict(["i0"], history=history)["score"][0]
    assert printed == 1 + 0.75 / 2
    assert usual == 1.75


def test_more_than_the_minimum_is_needed_not_as_many() -> None:
    """Equation 4 says |Φ| > φ_m: two common raters are enough for φ_m = 1 and not for 2."""
    history = {"i1": 2.0}
    assert SlopeOne(minimum_overlap=1).fit(dataset(PEOPLE)).predict(["i0"], history=history)["score"][0] == 2.75
    assert SlopeOne(minimum_overlap=2).fit(dataset(PEOPLE)).predict(["i0"], history=history)["score"][0] == 2.0


def test_ranking_goes_by_predictions_before_they_are_clipped() -> None:
    model = SlopeOne().fit(dataset(PEOPLE))
    best = model.recommend(history={"i1": 5.0}, n=2)
    assert best["item_id"].to_list() == ["i2", "i0"]
    assert best["score"].to_list() == [8.0, 5.75]
    assert model.predict(["i2"], history={"i1": 5.0})["score"].to_list() == [5.0]


def test_somebody_without_ratings_gets_what_others_think() -> None:
    data = dataset(PEOPLE)
    model = SlopeOne().fit(data)
    assert model.predict(["i0", "i5"], history={})["score"].to_list() == [4.0, pytest.approx(23.5 / 7)]


def test_a_head_bounds_the_pairs() -> None:
    rng = np.random.default_rng(1)
    rows = [(u, int(i), int(rng.integers(1, 6))) for u in range(60) for i in np.unique(rng.geometric(0.1, 12) % 40)]
    data = Interactions(rows, items=range(40), scale="1:5")
    model = SlopeOne(head=7).fit(data)
    compared = np.unique(model.pairs_.others)
    assert compared.size <= 7
    assert set(compared) <= set(np.argsort(-data.records_per_item, kind="stable")[:7])
    whole = SlopeOne().fit(data)
    best = data.items.ids()[int(compared[0])]
    history = {data.items.ids()[int(code)]: 4.0 for code in compared[1:3]}
    ours, theirs = (m.predict([best], history=history)["score"][0] for m in (model, whole))
    assert ours == pytest.approx(theirs)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"minimum_overlap": -1}, "minimum_overlap"),
        ({"minimum_overlap": True}, "minimum_overlap"),
        ({"head": 0}, "head"),
        ({"average": "all"}, "average"),
    ],
)
def test_settings_are_checked(settings: dict, word: str) -> None:
    with pytest.raises(UsageError, match=word):
        SlopeOne(**settings).fit(dataset(PEOPLE))


def test_purchases_have_no_differences() -> None:
    with pytest.raises(UsageError, match="CoPurchaseCosine"):
        SlopeOne().fit(Interactions([("a", "x"), ("b", "x")]))
