"""What objects show of themselves in a notebook: cards that are escaped, charts with titles and error bars."""

from __future__ import annotations

import sys
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.attacks import SybilAttack, linear_attack, risk_report
from discreet.errors import UsageError
from discreet.pairs import SlopeOne
from discreet.privacy import Guarantee, Release, Standing
from discreet.privacy.losses import GaussianLoss, Pure
from discreet.privacy.units import Unit
from discreet.reports import Chart, svg
from discreet.reports.cards import Card
from discreet.reports.progress import shown_progress, time_left
from discreet.studies import StudyReport

EVIL = '<img src=x onerror="alert(1)">'


@pytest.fixture(scope="module")
def films() -> dc.Interactions:
    return dc.synthetic.films(users=80, items=30, seed=7)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(thing: Any) -> str:
    """The card of a thing; well formed, without scripts and pictures."""
    html = thing._repr_html_()
    parser = _Tags()
    parser.feed(html)
    assert not parser.open
    assert not {"script", "img", "iframe", "link"} & set(parser.tags)
    return html


def titled(chart: Any) -> dict[str, Any]:
    """A chart that has a title and can be drawn."""
    assert svg(chart).startswith("<svg")
    drawn = chart.to_dict()
    assert drawn["title"]
    return drawn


def guarantee(standing: Standing = Standing.PROVED, **more: Any) -> Guarantee:
    facts = {"loss": Pure(1), "unit": Unit(), "basis": EVIL, "subject": EVIL, **more}  # type: ignore[arg-type]
    return Guarantee(standing=standing, **facts)  # type: ignore[arg-type]


@pytest.mark.parametrize("standing", Standing)
def test_guarantees(standing: Standing) -> None:
    promise = guarantee(standing)
    html = checked(promise)
    assert EVIL not in html
    assert standing.value in html
    titled(promise.plot())


def test_the_chart_of_a_guarantee_is_bayes_rule() -> None:
    rows = guarantee().plot().to_dict()["data"]["values"]
    at_half = next(row for row in rows if row["before"] == 0.5 and row["who"] != "without it")
    assert at_half["after"] == pytest.approx(np.e / (1 + np.e))
    titled(guarantee(loss=GaussianLoss(Fraction(1))).plot())  # stated at a usual delta
    refuted = guarantee(Standing.REFUTED).plot().to_dict()["data"]["values"]
    assert {row["after"] for row in refuted if row["before"] and row["who"] != "without it"} == {1.0}


def test_releases(films: dc.Interactions) -> None:
    release = dc.counting.ItemCounts(epsilon=1, cap=5).release(films)
    assert "noisy counts" in checked(release)
    drawn = titled(release.plot())
    assert [layer["mark"]["type"] for layer in drawn["layer"]] == ["rule", "point"]
    row = drawn["data"]["values"][0]
    assert row["high"] - row["value"] == pytest.approx(release.parameters["noise_95"])
    evil = Release("a", guarantee(), "b", {}, {"t": pl.DataFrame({"item_id": [EVIL], EVIL: [1.0]})})
    assert EVIL not in checked(evil)
    titled(dc.PrivateRecommender(epsilon=1).fit(films).release_.plot())  # arrays
    words = Release("a", guarantee(), "b", {}, {"t": pl.DataFrame({"item_id": ["x"]})})
    with pytest.raises(UsageError, match="no numbers to draw"):
        words.plot()


def test_statements(films: dc.Interactions, tmp_path: Path) -> None:
    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(films, epsilon=3)
    with pytest.raises(UsageError, match="nothing was charged"):
        ledger.statement(films).plot()
    for _ in range(2):
        dc.counting.ItemCounts(epsilon=1, cap=5).release(films, ledger=ledger)
    statement = ledger.statement(films)
    assert "weighted" in checked(statement)
    points = titled(statement.plot())["layer"][0]["data"]["values"]
    assert [row["total"] for row in points] == [0, 1, 2]


def test_audits(films: dc.Interactions) -> None:
    found = dc.audit(dc.counting.ItemCounts(epsilon=1, cap=5), films, attacks="canary", runs=20, processes=1)
    assert "not refuted" in checked(found) or "inconclusive" in checked(found)
    titled(found.plot())

    class Bare:
        """Claims nothing."""

        def fit(self, data: dc.Interactions) -> None:
            self.release_ = {"counts": data.records_per_item}

        def recommend(self, users: Any, n: int = 10) -> list[Any]:
            return []

    bare = dc.audit(Bare(), films, attacks="canary", runs=10, processes=1)
    assert "nothing is claimed" in checked(bare)
    titled(bare.plot())


def test_risks(films: dc.Interactions) -> None:
    found = risk_report(dc.PrivateRecommender(epsilon=1), films, epsilons=[1, 8], targets=2, fits=1, users=5)
    assert "blind guess" in checked(found)
    assert "Risk and utility" in str(found)
    checked(found.curve)
    for chart in (found.plot(), found.curve.plot()):
        assert len(chart.to_dict()["hconcat"]) == 2
        assert svg(chart).startswith("<svg")


def test_attacks(films: dc.Interactions) -> None:
    sybil = SybilAttack(k=3, known=2).run(lambda: dc.neighbors.KNN(k=3), films, targets=2, seed=1)
    titled(sybil.plot())
    assert "knn" in checked(sybil).lower()
    linear = linear_attack({"slope-one": SlopeOne()}, films, targets=2)
    titled(linear.plot())
    checked(linear)


def test_studies() -> None:
    points = pl.DataFrame({"k": [1, 2], "mae": [0.5, 0.4], "sd": [0.1, 0.1]})
    chart = Chart("errors", "Errors", points, x="k", y="mae", band="sd")
    report = StudyReport("tea", EVIL, "a book", {}, {EVIL: points}, (chart,))
    assert EVIL not in checked(report)
    titled(report.plot())
    assert report.plot("errors").to_dict()["layer"][0]["mark"]["type"] == "area"
    with pytest.raises(UsageError, match="It has errors"):
        report.plot("cups")


def test_cards_say_how_much_they_leave_out() -> None:
    card = Card("numbers")
    card.frame(pl.DataFrame({"n": range(50)}), most=5)
    assert "5 of 50 rows" in card.html()
    assert card.html().count("<tr>") == 6


# Bars in notebooks


class _Shell:
    """Stands for the shell of a notebook."""


def test_a_notebook_gets_one_bar_that_leaves_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[str, Any]] = []
    handle = SimpleNamespace(update=lambda picture: shown.append(("update", picture)))

    def display(picture: Any, display_id: bool) -> Any:
        shown.append(("display", picture))
        return handle

    shell = type("ZMQInteractiveShell", (_Shell,), {})()
    ipython = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython", ipython)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "IPython.display", ipython.display)  # type: ignore[arg-type]
    clock = iter(np.arange(0, 100, 2.0).tolist())
    monkeypatch.setattr("discreet.reports.progress.time", SimpleNamespace(monotonic=lambda: next(clock)))
    with shown_progress(f"work {EVIL}") as progress:
        progress(0.25, "first")
        progress(0.5, "second")
    assert [kind for kind, _ in shown] == ["display", "update", "update"]
    first, last = shown[0][1]._repr_mimebundle_(), shown[-1][1]._repr_mimebundle_()
    assert "0:06 left" in first["text/html"]
    assert "25%" in first["text/plain"]
    assert EVIL not in first["text/html"] + last["text/html"]
    assert "6 s" in last["text/plain"]


def test_without_a_watcher_there_is_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with shown_progress("work") as progress:
        progress(0.5, "half")
    assert capsys.readouterr() == ("", "")
    assert time_left(1 / 3700, 1) == "1:01:39 left"
