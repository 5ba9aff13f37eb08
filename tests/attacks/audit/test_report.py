"""The report: a sentence, a table, JSON, and a page."""

from __future__ import annotations

import json
from fractions import Fraction
from xml.etree import ElementTree

import pytest

from discreet.attacks.audit import audit
from discreet.attacks.audit.curves import roc_picture
from discreet.errors import ReleaseError
from discreet.neighbors import PrivateItemKNN


@pytest.fixture
def refuted(films, noisy_users, fixed_bits):
    return audit(noisy_users(spent=Fraction(20)), films, attacks="canary,sybil", runs=20, processes=1)


def test_it_is_printed_with_its_table(refuted) -> None:
    text = str(refuted)
    assert text.startswith("noisy-users: REFUTED: at least ")
    assert "canary  white box" in text
    assert text.count("\n") == 3


def test_json_holds_everything(refuted) -> None:
    plain = json.loads(json.dumps(refuted.to_json(), allow_nan=False))
    assert plain["refuted"]
    assert plain["scores"][0]["epsilon_lower"] == refuted["canary"].proved.epsilon > 1
    assert plain["scores"][0]["epsilon_ceiling"] == pytest.approx(3.05, abs=0.01)
    assert plain["skipped"] == {"sybil": "the model shows no predictions"}
    assert plain["guarantee"]["sentence"].startswith("PROVED (a claim)")


def test_the_page_is_one_file_with_curves_and_areas(refuted, tmp_path) -> None:
    page = refuted.save(tmp_path / "audit.html").read_text()
    assert "<h1>Audit of noisy-users</h1>" in page
    assert "verdict refuted" in page
    assert "<polygon" in page
    assert "<polyline" in page
    for outside in ("<script", "http://", "https://", "src="):
        assert outside not in page


def test_curves_are_drawn_for_every_kind_of_claim(films, fixed_bits) -> None:
    report = audit(PrivateItemKNN(epsilon=1), films, attacks="canary,canary-predictions", runs=2, processes=1)
    for score in report.scores:
        picture = ElementTree.fromstring(roc_picture(score))
        assert [part.tag for part in picture][:2] == ["polygon", "rect"]


def test_unknown_games_and_places(refuted, tmp_path) -> None:
    with pytest.raises(KeyError):
        _ = refuted["sybil"]
    with pytest.raises(ReleaseError, match="cannot write"):
        refuted.save(tmp_path / "nowhere" / "audit.html")
