"""HPA: popularity first, then each user's records of what is popular."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet as dc
from discreet.counting import HPA
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.guarantees import Standing


@pytest.fixture
def crowd() -> dc.Interactions:
    """Thirty people who all know the park; each has nine places of their own besides."""
    rows = [(u, "park") for u in range(30)] + [(u, f"spot {u}-{n}") for u in range(30) for n in range(9)]
    return dc.Interactions(rows, items=["park", *(f"spot {u}-{n}" for u in range(30) for n in range(9))])


def test_budgets_are_those_of_the_paper(visits, drawn_scales) -> None:
    """.1 : .45 : .45, and .1 : .9 without contexts."""
    HPA(epsilon=1, cap=9, first=2).release(visits, contexts=["day=dry,wet"])
    assert drawn_scales == [20, 20, 20]
    drawn_scales.clear()
    HPA(epsilon=1, cap=9, first=2).release(visits)
    assert drawn_scales == [20, 10]


def test_what_is_popular_is_counted(crowd, drawn_scales, fixed_bits) -> None:
    """From ten records of each, the park is known to be popular: everybody's one record is of the park."""
    release = HPA(epsilon=1, cap=1, first=10).release(crowd)
    counts = release.table("counts")["count"].to_numpy()
    assert counts[0] == 30
    assert counts[1:].sum() == 0
    assert release.array("popularity")[0] == 30


def test_without_popularity_the_choice_is_random(visits, monkeypatch: pytest.MonkeyPatch, fixed_bits) -> None:
    """Popularity far below 0 everywhere: all scores are 0, and ann's record is of the park two times of three."""
    from discreet.privacy import draws

    def noise(shape, scale):
        return np.full(shape, -1000 if scale == 10 else 0, dtype=np.int64)

    monkeypatch.setitem(draws.SAMPLERS, "laplace", noise)
    method = HPA(epsilon=1, cap=1, first=1)
    counts = np.array([method.release(visits).table("counts")["count"].to_list() for _ in range(300)])
    assert (counts.sum(axis=1) == 2).all()
    assert counts[:, 2].mean() == pytest.approx(6 / 9, abs=0.15)


def test_both_lists_count_one_choice(visits, drawn_scales, fixed_bits) -> None:
    release = HPA(epsilon=1, cap=3, first=1).release(visits, contexts=["day=dry,wet"])
    edges = release.table("edges")["count"].to_numpy().reshape(5, 2)
    assert (edges.sum(axis=1) == release.table("counts")["count"].to_numpy()).all()


def test_with_public_numbers_it_is_proved(visits) -> None:
    method = HPA(epsilon="1/2", cap=4, first=2)
    guarantee = method.plan(visits).guarantee
    assert guarantee.standing is Standing.PROVED
    assert guarantee.loss.epsilon_at(Fraction(0)) == Fraction(1, 2)
    assert str(guarantee) == str(method.release(visits).guarantee)


def test_with_a_number_from_the_records_it_is_refuted(visits, drawn_scales) -> None:
    method = HPA(epsilon=1, cap=4, first="data")
    with pytest.raises(PrivacyError, match="refuted"):
        method.release(visits)
    assert drawn_scales == []
    release = method.release(visits, allow_refuted=True)
    assert release.guarantee.standing is Standing.REFUTED
    assert drawn_scales[0] == 10  # bob has one record
    drawn_scales.clear()
    method.release(visits.filter(visits.user == 0), allow_refuted=True)
    assert drawn_scales[0] == 90  # without bob, the fewest are ann's nine


def test_estimate_reads_no_record(visits) -> None:
    public, read = (HPA(epsilon=1, cap=4, first=first) for first in (2, "data"))
    assert public.estimate(visits) == public.estimate(visits.emptied())
    assert public.estimate(visits)["popularity_noise_sd"] == pytest.approx(20 * 2**0.5, rel=1e-3)
    assert read.estimate(visits) == read.estimate(visits.emptied())
    assert "popularity_noise_sd" not in read.estimate(visits)


@pytest.mark.parametrize("settings", [{"cap": 0}, {"first": 0}, {"first": "all"}, {"first_share": 0}], ids=str)
def test_nonsense_is_refused(visits, settings) -> None:
    with pytest.raises(UsageError):
        HPA(**{"epsilon": 1, "cap": 3, **settings}).release(visits)
