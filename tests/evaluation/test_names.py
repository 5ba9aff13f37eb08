"""Models of other libraries by name in ``evaluate`` and ``discreet evaluate``, with stand-ins for the libraries."""

from __future__ import annotations

import json
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import discreet as dc
from discreet.attacks import ScoreModel, SybilAttack, audit
from discreet.cli.app import app
from discreet.errors import EvaluationError, MissingExtraError, UsageError


class FakeImplicit:
    """Ranks items by their number of users, with the interface of implicit."""

    def __init__(self, K: int = 20) -> None:
        self.K = K

    def fit(self, rows: Any, show_progress: bool) -> None:
        if self.K < 1:
            raise RuntimeError("no neighbors")
        self.counts = np.asarray((rows != 0).sum(axis=0)).ravel().astype(float)

    def recommend(self, user: int, row: Any, N: int, filter_already_liked_items: bool) -> tuple[Any, Any]:
        scores = self.counts.copy()
        scores[row.indices] = -1.0
        best = np.argsort(-scores, kind="stable")[:N]
        return best[scores[best] >= 0], scores[best[scores[best] >= 0]]


FakeImplicit.__module__ = "implicit.nearest_neighbours"


@pytest.fixture
def implicit(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in {
        "implicit": {},
        "implicit.nearest_neighbours": {"CosineRecommender": FakeImplicit, "NearestBase": FakeImplicit},
        "implicit.als": {"helper": len, "Other": dict},
    }.items():
        made = ModuleType(name)
        made.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, made)
    for name in ("implicit.bpr", "implicit.lmf"):
        monkeypatch.setitem(sys.modules, name, None)


@pytest.fixture
def films() -> dc.Interactions:
    return dc.synthetic.films(users=120, items=30, seed=7)


@pytest.mark.usefixtures("implicit")
def test_a_library_is_evaluated_by_name_beside_ours(films: dc.Interactions) -> None:
    counted = ScoreModel(lambda data: lambda users: np.tile(data.records_per_item, (users.size, 1)))
    models = {"implicit": "implicit:Cosine", "counted": counted, "ours": "private-recommender"}
    found = dc.evaluate(models, films, epsilons=[1, 4], k=5, splits=1, reference=None, progress=False)
    assert found.models == ["implicit", "counted", "ours ε = 1", "ours ε = 4"]
    assert found.described["implicit"] == {"model": "implicit:Cosine", "settings": {}, "outside": True}
    assert found.value("recall@5", "implicit") == found.value("recall@5", "counted") > 0
    assert "implicit, counted learned from the told records of the test users, too." in found.notes()


@pytest.mark.usefixtures("implicit")
def test_a_name_alone_and_the_whole_class_name(films: dc.Interactions) -> None:
    found = dc.evaluate(["implicit", "implicit:CosineRecommender"], films, k=5, splits=1, progress=False)
    assert found.models == ["implicit", "implicit:CosineRecommender"]


@pytest.mark.usefixtures("implicit")
def test_what_there_is_is_listed(films: dc.Interactions) -> None:
    with pytest.raises(UsageError, match="implicit has no model 'Cosin'") as caught:
        dc.evaluate("implicit:Cosin", films, progress=False)
    assert caught.value.remedy == "There are: Cosine."
    with pytest.raises(UsageError, match="no library 'implicitt'") as caught:
        dc.evaluate("implicitt:Cosine", films, progress=False)
    assert "lenskit, implicit, surprise, rectools, recbole" in str(caught.value.remedy)
    assert "private-recommender" in str(caught.value.remedy)


@pytest.mark.parametrize("library", ["lenskit", "implicit", "surprise", "rectools", "recbole"])
def test_a_library_that_is_not_installed(library: str, films: dc.Interactions, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    for run in (dc.evaluate, audit, SybilAttack().run):
        with pytest.raises(MissingExtraError, match=rf"pip install 'discreet\[{library}\]'"):
            run(f"{library}:Any", films)


def test_a_name_is_never_code(films: dc.Interactions, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "harmful_place.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for run in (dc.evaluate, audit, SybilAttack().run):
        with pytest.raises(UsageError, match="no library 'harmful_place'"):
            run("harmful_place:Model", films)
    assert "harmful_place" not in sys.modules


@pytest.mark.usefixtures("implicit")
def test_a_library_is_attacked_and_audited_by_name(films: dc.Interactions) -> None:
    report = audit("implicit:Cosine", films, attacks="canary-recommendations", runs=2, processes=1, progress=False)
    assert report.model == "implicit:Cosine"
    attack = SybilAttack(k=3, known=4)
    rows = attack.run({"a": "implicit:Cosine", "b": "slope-one"}, films, targets=2, seed=1).rows
    assert [(row.model, row.sees) for row in rows] == [("a", "list"), ("b", "ratings")]
    assert attack.run("implicit:Cosine", films, targets=2, seed=1).rows[0].model == "implicit:Cosine"


@pytest.mark.usefixtures("implicit")
def test_errors_of_a_library_are_named(films: dc.Interactions) -> None:
    from discreet.models.foreign.lookup import of_library

    with pytest.raises(EvaluationError, match=r"implicit:Cosine\.fit raised RuntimeError: no neighbors"):
        dc.evaluate(of_library("implicit:Cosine", {"K": 0}), films, progress=False)


# The command


def evaluated(*arguments: str) -> Any:
    done = CliRunner().invoke(app, ["evaluate", *arguments], catch_exceptions=True)
    if isinstance(done.exception, Exception) and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.fixture
def file(films: dc.Interactions, tmp_path: Any) -> str:
    from discreet.data.readers import write

    write(films, tmp_path / "films.parquet")
    return str(tmp_path / "films.parquet")


@pytest.mark.usefixtures("implicit")
def test_the_command(file: str, tmp_path: Any) -> None:
    quick = ("--k", "5", "--splits", "1", "--reference", "none")
    done = evaluated(
        file, "--model", "implicit:Cosine", "--model", "private-recommender", "--epsilons", "1,4", *quick, "--json"
    )
    told = json.loads(done.stdout)
    assert list(told["models"]) == ["implicit:Cosine", "private-recommender ε = 1", "private-recommender ε = 4"]
    assert told["models"]["private-recommender ε = 1"]["private"]
    page = tmp_path / "evaluation.html"
    done = evaluated(file, "--model", "implicit:Cosine", "--option", "K=3", *quick, "--out", str(page))
    assert "implicit:Cosine (not private)" in done.stdout
    assert page.read_text().startswith("<!doctype html>")


def test_the_command_takes_code_of_the_person_who_typed_it(file: str, tmp_path: Any) -> None:
    (tmp_path / "own_evaluated.py").write_text(
        "class First:\n"
        "    def __init__(self, shift=0):\n"
        "        self.shift = shift\n"
        "    def fit(self, data):\n"
        "        self.items = data.items.ids()\n"
        "    def recommend(self, user, n):\n"
        "        return self.items[self.shift:][:n]\n"
    )
    place = f"{tmp_path / 'own_evaluated.py'}:First"
    done = evaluated(file, "--model", place, "--option", "shift=2", "--k", "5", "--splits", "1", "--json")
    assert 0 <= json.loads(done.stdout)["models"]["First"]["metrics"]["recall@5"] < 1
    done = evaluated(file, "--model", "discreet.factors:Popularity", "--k", "5", "--splits", "1")
    assert "popularity (not private)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "no model was given"),
        (("--model", "popularity", "--model", "ease", "--option", "a=1"), "--option is for one model"),
        (("--model", "popularity", "--k", "x"), "--k 'x' is not understood"),
        (("--model", "private-recommender"), "needs epsilon"),
        (("--model", "popularity", "--protocol", "other"), "protocol"),
    ],
)
def test_wrong_use_of_the_command(arguments: tuple[str, ...], said: str, file: str) -> None:
    with pytest.raises((UsageError, EvaluationError), match=said):
        evaluated(file, *arguments)


def test_models_of_other_libraries_are_not_fitted(file: str, tmp_path: Any) -> None:
    done = CliRunner().invoke(
        app, ["fit", file, "--model", "lenskit:ItemKNN", "--no-ledger", "--out", str(tmp_path / "m")]
    )
    assert isinstance(done.exception, UsageError)
    assert "lenskit:ItemKNN is a model of another library" in str(done.exception)
