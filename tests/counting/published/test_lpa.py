"""LPA: Laplace noise for M records of a user, with a public M and as published."""

from __future__ import annotations

import pytest

from discreet.counting import LPA, ItemCounts
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.guarantees import Standing

DAY = ["day=dry,wet"]


def test_a_public_cap_weighs_records_down(visits, drawn_scales) -> None:
    release = LPA(epsilon=1, cap=3).release(visits, contexts=DAY)
    assert release.guarantee.standing is Standing.PROVED
    counts = release.table("counts")["count"].to_list()
    assert counts == pytest.approx([0, 1 / 3, 2, 1 / 3, 4 / 3], abs=1e-5)
    assert drawn_scales == [6 * 2**20, 6 * 2**20]
    edges = release.table("edges")["count"].to_numpy().reshape(5, 2)
    assert edges.sum(axis=1).tolist() == counts


def test_without_contexts_it_is_what_item_counts_are(visits, drawn_scales) -> None:
    ours, theirs = (method(epsilon=1, cap=4).release(visits).table("counts") for method in (LPA, ItemCounts))
    assert ours.equals(theirs)


def test_as_published_everything_counts_and_the_scale_tells_who_is_there(visits, drawn_scales) -> None:
    method = LPA(epsilon=1, cap="data")
    with pytest.raises(PrivacyError, match="refuted"):
        method.release(visits)
    release = method.release(visits, allow_refuted=True)
    assert release.guarantee.standing is Standing.REFUTED
    assert release.table("counts")["count"].to_list() == [0, 1, 6, 1, 2]
    method.release(visits.filter(visits.user == 1), allow_refuted=True)
    assert drawn_scales == [9, 1]


def test_estimate_reads_no_record(visits) -> None:
    public, read = (LPA(epsilon=1, cap=cap) for cap in (4, "data"))
    assert public.estimate(visits, contexts=DAY) == public.estimate(visits.emptied(), contexts=DAY)
    assert "noise_sd" not in read.estimate(visits)
    assert str(read.plan(visits).guarantee) == str(read.release(visits, allow_refuted=True).guarantee)


def test_what_cannot_be_drawn_is_refused_first(visits) -> None:
    for cap in (3, "data"):
        with pytest.raises(UsageError, match="larger epsilon"):
            LPA(epsilon="1/1000000000000000", cap=cap).release(visits, allow_refuted=True)


@pytest.mark.parametrize("cap", [0, "all", None, 1.5])
def test_impossible_caps(visits, cap) -> None:
    with pytest.raises(UsageError, match="cap"):
        LPA(epsilon=1, cap=cap).release(visits)
