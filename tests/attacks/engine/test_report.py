"""The report: a sentence, a table, JSON, and a page."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from discreet.attacks import audit
from discreet.attacks.engine.page import roc_picture
from discreet.errors import ReleaseError, UsageError
from discreet.neighbors import PrivateItemKNN


@pytest.fixture
def refuted(films, noisy_users, fixed_bits):
    return audit(noisy_users(spent=Fraction(20)), films, attacks="canary,sybil", runs=20, processes=1)


def test_it_is_printed_with_its_table(refuted) -> None:
    text = str(refuted)
    assert text.startswith("noisy-users: REFUTED: at least ")
    assert "canary  white box" in text
    assert text.splitlines()[-1] == "not played: sybil (the model shows no predictions)"
    assert text.count("\n") == 5


def test_json_holds_everything(refuted) -> None:
    plain = json.loads(json.dumps(refuted.to_json(), allow_nan=False))
    assert plain["refuted"]
    assert plain["scores"][0]["epsilon_lower"] == refuted["canary"].proved.epsilon > 1
    assert plain["scores"][0]["epsilon_ceiling"] == pytest.approx(3.05, abs=0.01)
    assert plain["skipped"] == {"sybil": "the model shows no predictions"}
    assert plain["attacked"] == ["white box"]
    assert plain["not_tested"] == {}
    assert plain["guarantee"]["sentence"].startswith("PROVED: ")


def test_the_page_is_one_file_with_curves_and_areas(refuted, tmp_path, check_page) -> None:
    path = refuted.save(tmp_path / "audit.html")
    page = path.read_text()
    assert "<h1>Audit of noisy-users</h1>" in page
    assert "verdict bad" in page
    assert "<polygon" in page
    assert "<polyline" in page
    for outside in ("<script", "http://", "https://", "src="):
        assert outside not in page
    assert page.index("Refuted: ε = 1 is claimed") < page.index("<svg") < page.index("What was tried")
    row = page.index("canary</td>")
    assert row < page.index(refuted["canary"].how) < page.index("</table>"), "how it was played is below the row"
    check_page(path)


def test_curves_are_drawn_for_every_kind_of_claim(films, fixed_bits) -> None:
    report = audit(PrivateItemKNN(epsilon=1), films, attacks="canary,canary-predictions", runs=2, processes=1)
    for score in report.scores:
        picture = ElementTree.fromstring(roc_picture(score))
        assert [part.tag for part in picture][:2] == ["polygon", "rect"]


def test_unknown_games_and_places(refuted, tmp_path) -> None:
    with pytest.raises(KeyError):
        _ = refuted["sybil"]
    (tmp_path / "file").touch()
    with pytest.raises(ReleaseError, match="cannot write"):
        refuted.save(tmp_path / "file" / "audit.html")


def test_only_a_page_of_discreet_is_replaced(refuted, tmp_path) -> None:
    page = refuted.save(tmp_path / "audit.html")
    with pytest.raises(ReleaseError, match="already"):
        refuted.save(page)
    assert refuted.save(page, overwrite=True) == page
    (tmp_path / "mine.html").write_text("<html></html>")
    with pytest.raises(ReleaseError, match="not a page of discreet"):
        refuted.save(tmp_path / "mine.html", overwrite=True)


class Constant:
    """Recommends the same to everybody, whatever the records are."""

    def fit(self, data) -> None:
        self.items = data.items.ids()

    def recommend(self, users, n=10) -> Any:
        items = self.items[:n]
        return pl.DataFrame({"item_id": items, "score": [float(-place) for place in range(len(items))]})

    def predict(self, pairs) -> Any:
        return pl.DataFrame({"score": [3.0 for _ in pairs]})


@pytest.fixture
def from_outside(films, noisy_users):
    claim = noisy_users().release(films).guarantee
    return audit(Constant(), films, attacks="canary,canary-recommendations", runs=10, claim=claim, processes=1)


def test_what_was_not_seen_is_never_plainly_consistent(from_outside) -> None:
    assert from_outside["canary-recommendations"].verdict == "consistent"
    assert from_outside.verdict.startswith("consistent with ε = 1 as far as recommendations show: ")
    assert from_outside.verdict.endswith(
        "Attacked: recommendations; white box not tested: give the model a `release_`; "
        "predictions not tested: choose attacks that look at them"
    )
    assert from_outside.not_tested == {
        "white box": "give the model a `release_`",
        "predictions": "choose attacks that look at them",
    }


def test_attacks_that_were_not_played_are_printed_with_the_reason(films, noisy_users) -> None:
    claim = noisy_users().release(films).guarantee
    listed = "canary,one-item,canary-similar-items,canary-recommendations"
    text = str(audit(Constant(), films, attacks=listed, runs=2, claim=claim, processes=1))
    assert text.splitlines()[-2:] == [
        "not played: canary, one-item (the model has no `release_`)",
        "not played: canary-similar-items (the model shows no similar items)",
    ]


def test_the_page_says_what_was_not_seen(from_outside) -> None:
    page = from_outside.html()
    assert "as far as recommendations show" in page
    assert '<td>white box</td><td class="words">give the model a `release_`</td>' in page
    assert '<td>canary</td><td class="words">the model has no `release_`</td>' in page


def test_a_release_that_was_seen_is_not_said_to_be_missing(films, noisy_users) -> None:
    report = audit(noisy_users(), films, attacks="canary", runs=30, processes=1)
    assert report.verdict.startswith("consistent with ε = 1: ")
    assert report.verdict.endswith("Attacked: white box")


class Silent(Constant):
    """Learns everything and answers nothing."""

    def __init__(self, answer=None) -> None:
        self.answer = answer

    def recommend(self, users, n=10):
        return self.answer

    def predict(self, pairs):
        return [float("nan") for _ in pairs]


@pytest.mark.parametrize("answer", [None, [], pl.DataFrame(schema={"item_id": pl.String, "score": pl.Float64})])
@pytest.mark.parametrize("view", ["predictions", "recommendations"])
def test_a_model_that_shows_nothing_was_not_tested(films, answer, view: str) -> None:
    games = [f"{name}-{view}" for name in ("canary", "one-item", "traces", "ask-again", "two-releases")]
    report = audit(Silent(answer), films, attacks=games, runs=60, seconds=None, claim="1/100", processes=1)
    assert {score.verdict for score in report.scores} == {"inconclusive"}
    assert report.verdict.startswith("inconclusive: the model showed nothing in any run, so ε = 0.01 was not tested. ")
    assert report.attacked == []
    assert report.not_tested[view] == "the model showed nothing there in any run"  # type: ignore[index]
    assert report.headline == "Inconclusive: who is shown nothing cannot refute ε = 0.01."


def test_a_release_without_numbers_was_not_tested(films) -> None:
    class Empty(Constant):
        def fit(self, data) -> None:
            super().fit(data)
            self.release_ = {"counts": np.full(3, np.nan)}

    games = ["canary", "traces", "reconstruction", "canary-recommendations"]
    report = audit(Empty(), films, attacks=games, runs=20, seconds=None, claim="1/100", processes=1)
    assert report.attacked == ["recommendations"]
    assert report.not_tested["white box"] == "the model showed nothing there in any run"
    assert report.verdict.startswith("consistent with ε = 0.01 as far as recommendations show: ")


def test_parts_of_a_release_that_no_attack_reads_are_named(films) -> None:
    """One part that is no array had hidden all others from the attacks."""

    class Leaks(Constant):
        def fit(self, data) -> None:
            super().fit(data)
            self.release_ = {"counts": np.bincount(data.item, minlength=data.n_items), "version": "1.0"}

    report = audit(Leaks(), films, attacks="canary", runs=20, claim=1, processes=1)
    assert report.refuted
    assert "no attack can look at these parts of its release_: version (str)" in " ".join(report.notes)


def test_what_a_model_does_wrong_is_said_before_what_it_does_not_have(films) -> None:
    class Numbers(Constant):
        def recommend(self, users, n=10):
            return [10**6]

    with pytest.raises(UsageError, match=r"^no attack could be played against Numbers\. [a-z-]+: Numbers\.recommend"):
        audit(Numbers(), films, attacks="canary,canary-recommendations", runs=2, claim=1, processes=1)
