"""Models of other people: noise of their own in every run, answers in any form, exceptions with the dataset kept."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.attacks import audit
from discreet.attacks.engine.identity import identity
from discreet.attacks.engine.making import made
from discreet.attacks.engine.randomness import fixed_seeds, reseed
from discreet.attacks.engine.targets import Target
from discreet.data.ids import IdMap
from discreet.errors import DataError, EvaluationError, UsageError
from discreet.models.foreign.answers import list_of, scores_of
from discreet.models.foreign.making import Made
from discreet.privacy.losses import Pure

# So sure that a correct model is refuted once in 10¹⁰ times; one without noise is refuted by far fewer runs.
QUICK: dict[str, Any] = {
    "attacks": "canary-recommendations",
    "runs": 40,
    "confidence": 1 - 1e-10,
    "processes": 1,
    "seconds": None,
}


def quick(**other: Any) -> dict[str, Any]:
    return QUICK | other


class NoisyCounts:
    """Counts of a public catalog with enough geometric noise, as somebody else would write them."""

    def __init__(self, epsilon: float = 1.0, cap: int = 6) -> None:
        self.epsilon, self.cap = epsilon, cap
        self.rng = np.random.default_rng()

    def draw(self, size: int) -> Any:
        p = 1 - np.exp(-self.epsilon / self.cap)
        return self.rng.geometric(p, size) - self.rng.geometric(p, size)

    def fit(self, data: dc.Interactions) -> None:
        kept = data.to_frame().sort("user_id", "item_id").group_by("user_id").head(self.cap)
        counts = dict(kept["item_id"].value_counts().iter_rows())
        names = data.items.ids()
        noise = self.draw(len(names)).tolist()
        self.scores_ = {name: counts.get(name, 0) + drawn for name, drawn in zip(names, noise, strict=True)}

    def recommend(self, users: list[Any], n: int = 10) -> Any:
        return sorted(self.scores_.items(), key=lambda one: -one[1])[:n]


class Nested(NoisyCounts):
    """Generators of other kinds, deep inside."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = {"a": [(np.random.RandomState(), random.Random())]}
        self.sample = self.rng.geometric

    def draw(self, size: int) -> Any:
        old, plain = self.inner["a"][0]
        p = 1 - np.exp(-self.epsilon / self.cap)
        return old.geometric(p, size) - self.sample(p, size) + plain.choice([0, 0])


class SeededCounts(NoisyCounts):
    def __init__(self, seed: int = 7) -> None:
        super().__init__()
        self.seed, self.rng = seed, np.random.default_rng(seed)


class HomeMade(NoisyCounts):
    """A generator that nobody else can renew."""

    def __init__(self) -> None:
        super().__init__()
        self.state = int.from_bytes(os.urandom(8), "big")

    def draw(self, size: int) -> Any:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return np.random.default_rng(self.state).integers(-20, 20, size)


@dataclass
class Settings:
    """What is drawn when it is made cannot be renewed, but it can be made again."""

    scale: float = 1.0
    drawn: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.drawn = [random.random() for _ in range(4)]


# Noise


@pytest.mark.parametrize("kind", [NoisyCounts, Nested])
def test_copies_of_an_object_draw_noise_of_their_own(films, kind: type[NoisyCounts]) -> None:
    """Before, every run had the state of one generator, and a correct model was refuted."""
    report = audit(kind(), films, claim=1, **QUICK)
    assert not report.refuted
    assert report.notes == ()


def test_everything_that_can_be_renewed_is_renewed() -> None:
    one, other = made(model := Nested()), made(model)
    assert one.rng.random() != other.rng.random()
    assert one.rng.spawn(1)[0].random() != other.rng.spawn(1)[0].random()
    for place in (0, 1):
        assert one.inner["a"][0][place].random() != other.inner["a"][0][place].random()
    assert one.sample(0.001) != other.sample(0.001) or one.sample(0.001) != other.sample(0.001)
    sequence = np.random.SeedSequence()
    copy = np.random.SeedSequence(sequence.entropy)
    reseed([copy])
    assert copy.entropy != sequence.entropy
    assert made(Settings(2.0)).drawn != made(Settings(2.0)).drawn
    assert made(Settings(2.0)).scale == 2.0


def test_a_fixed_seed_is_told(films) -> None:
    for model in (SeededCounts(), SeededCounts, Made(SeededCounts, {"seed": 3})):
        report = audit(model, films, claim=1, **QUICK)
        assert report.refuted
        assert report.notes[0].startswith("the noise comes from a fixed seed (seed = ")
        assert report.notes[0] in str(report)
        assert report.to_json()["notes"] == [report.notes[0]]
    assert fixed_seeds(NoisyCounts()) == []


def test_state_that_cannot_be_renewed_is_refused(films) -> None:
    with pytest.raises(UsageError, match=r"copies of this HomeMade draw the same noise.* Give its class"):
        audit(HomeMade(), films, claim=1, **QUICK)
    assert audit(HomeMade, films, claim=1, **QUICK).scores
    assert audit(lambda: HomeMade(), films, claim=1, **QUICK).scores


def test_what_cannot_be_copied_is_refused(films) -> None:
    class Locked(NoisyCounts):
        def __init__(self) -> None:
            super().__init__()
            self.lines = (line for line in "abc")

    with pytest.raises(UsageError, match="Locked cannot be copied for every run"):
        audit(Locked(), films, **QUICK)


MODULE = """
import numpy as np
np.random.seed(0)
generator = np.random.default_rng(0)

class Model:
    def fit(self, data):
        self.items, self.noise = data.items.ids(), [generator.normal(), np.random.normal()]
    def predict(self, pairs):
        return [sum(self.noise) for pair in pairs]
"""


def test_processes_that_import_the_same_seed_draw_differently(films, tmp_path: Path, monkeypatch) -> None:
    from discreet.attacks.engine.runs import Job
    from discreet.attacks.engine.workers import WorkerPool
    from discreet.attacks.games.registry import attack
    from discreet.models.foreign.lookup import outside

    CANARY_PREDICTIONS: Any = attack("canary-predictions")

    (tmp_path / "seeded_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    target = Target.of(outside("seeded_module:Model"), films)
    packed = Job(target, (CANARY_PREDICTIONS,), films, 0).pickled()
    assert packed is not None
    with WorkerPool(2) as crew:
        arrived = [one for one in crew.play(packed, [(n, True) for n in range(8)], pace=0.2) if one is not None]
    assert len({seen[0][0] for _, seen in arrived}) == 8


# Answers

ITEMS = IdMap(["a", "b", "c"])


@pytest.mark.parametrize(
    "told",
    [
        pl.DataFrame({"user_id": ["u", "u"], "item_id": ["b", "a"], "score": [2.0, 1.0]}),
        pd.DataFrame({"item": ["b", "a"], "prediction": [2.0, 1.0]}),
        pd.Series([2.0, 1.0], index=["b", "a"]),
        pd.DataFrame({"score": [2.0, 1.0]}, index=pd.Index(["b", "a"], name="item_id")),
        [("b", 2), ("a", 1)],
        [["b", 2.0], ["a", 1.0]],
        [[("b", 2), ("a", 1)]],
        [{"item_id": "b", "score": 2}, {"item_id": "a", "score": 1}],
        {"u": [("b", 2), ("a", 1)]},
        {"a": 1, "b": 2},
        {"items": ["b", "a"], "scores": [2, 1]},
        (np.array(["b", "a"]), np.array([2.0, 1.0])),
        np.array([["b", 2], ["a", 1]], dtype=object),
        (pair for pair in [("b", np.float32(2)), ("a", np.float32(1))]),
    ],
    ids=lambda told: type(told).__name__,
)
def test_lists_with_scores_come_in_many_forms(told: Any) -> None:
    assert list_of(told, "u", ITEMS) == [("b", 2.0), ("a", 1.0)]


@pytest.mark.parametrize(
    "told",
    [
        ["b", "a"], ("b", "a"), [["b", "a"]], {"u": ["b", "a"]}, np.array(["b", "a"]), np.array([["b", "a"]]),
        pl.Series(["b", "a"]), pd.Series(["b", "a"]), pl.DataFrame({"item_id": ["b", "a"]}), ["b", "a", "b"],
    ],
    ids=lambda told: type(told).__name__,
)  # fmt: skip
def test_lists_without_scores_come_in_many_forms(told: Any) -> None:
    assert list_of(told, "u", ITEMS) == [("b", None), ("a", None)]


def test_ids_are_those_of_the_records() -> None:
    numbers = IdMap([10, 20])
    assert list_of(["20", 10.0, np.int64(20)], "u", numbers) == [(20, None), (10, None)]
    assert list_of(None, "u", numbers) == list_of([], "u", numbers) == []
    with pytest.raises(DataError, match="listed 0, which is no item of the records"):
        list_of([0, 1], "u", numbers)
    with pytest.raises(DataError, match="answered with str"):
        list_of("b", "u", ITEMS)


@pytest.mark.parametrize(
    "told",
    [
        [2.0, None], np.array([2.0, np.nan]), pl.Series([2.0, None]), [("u", "a", 2.0), ("u", "b", None)],
        {("u", "a"): 2.0}, {"a": 2.0}, pl.DataFrame({"item_id": ["b", "a"], "score": [None, 2.0]}),
        pd.DataFrame({"item_id": ["a"], "rating": [2.0]}),
    ],
    ids=lambda told: type(told).__name__,
)  # fmt: skip
def test_predictions_come_in_many_forms(told: Any) -> None:
    assert scores_of(told, [("u", "a"), ("u", "b")], ITEMS) == [2.0, None]


def test_one_user_at_a_time_and_data_frames(films) -> None:
    class OneByOne:
        def fit(self, ratings: pd.DataFrame) -> None:
            self.means: Any = ratings.groupby("item_id")["rating"].mean()

        def recommend(self, user_id: Any, top_k: int = 5) -> Any:
            return self.means.sort_values(ascending=False).head(top_k)

        def predict(self, user: Any, item: Any) -> float:
            return self.means.get(item, np.nan)

    target = Target.of(OneByOne, films)
    assert target.views == {"predictions", "recommendations"}
    model = target.fit(films).model
    listed = model.recommend(["u1"], n=3)
    assert listed["rank"].to_list() == [1, 2, 3]
    item = listed["item_id"][0]
    assert model.predict([("u1", item)])["score"][0] == pytest.approx(listed["score"][0])


@pytest.mark.parametrize("shown", [lambda s: s, lambda s: np.array([*s.values()]), lambda s: {"x": [*s.values()]}])
def test_what_is_published_is_seen_in_release(films, shown: Callable[[dict[str, float]], Any]) -> None:
    class Published(NoisyCounts):
        def fit(self, data: dc.Interactions) -> None:
            super().fit(data)
            self.release_ = shown(self.scores_)

    fitted = Target.of(Published, films).fit(films)
    assert fitted.release is not None
    from discreet.attacks.games.observing import release_vector

    assert set(fitted.model.scores_.values()) <= set(release_vector(fitted.release, films.items).tolist())


# Failures


def test_an_exception_is_an_error_of_ours_with_the_dataset(films, tmp_path: Path) -> None:
    class Failing(NoisyCounts):
        def recommend(self, users: list[Any], n: int = 10) -> Any:
            raise KeyError("no history")

        def predict(self, pairs: list[Any]) -> Any:
            return [1.0] * len(pairs)

    attacks = "canary-recommendations,canary-predictions"
    report = audit(Failing, films, claim=1, **quick(attacks=attacks), folder=tmp_path)
    assert [score.game for score in report.scores] == ["canary-predictions"]
    reason = report.skipped["canary-recommendations"]
    assert "Failing.recommend('observer') raised KeyError: 'no history' (test_foreign.py, line " in reason
    (kept,) = [file for file in tmp_path.glob("failed-*.parquet") if f'discreet.read("{file}")' in reason]
    again = dc.read(kept)
    assert isinstance(again, dc.Interactions)
    assert "observer" in again.users
    assert kept.stat().st_mode & 0o077 == 0


def test_a_model_that_never_works_is_named(films) -> None:
    class Broken:
        def __init__(self, k: int) -> None:
            pass

        def fit(self, data: Any) -> None:
            raise SystemExit(3)

    with pytest.raises(EvaluationError, match=r"Broken\.fit raised SystemExit: 3 \(.*The dataset is kept in "):
        audit(lambda: Broken(1), films, **QUICK)
    with pytest.raises(EvaluationError, match=r"Broken\(\) raised TypeError.*Give a function that makes it"):
        audit(Broken, films, **QUICK)
    with pytest.raises(UsageError, match="cannot be made with these settings: missing a required argument: 'k'"):
        Made(Broken, {})


def test_what_it_prints_is_not_shown(films, capsys) -> None:
    class Chatty(NoisyCounts):
        def fit(self, data: dc.Interactions) -> None:
            print("epoch 1")  # noqa: T201
            super().fit(data)

    audit(Chatty, films, **quick(runs=2))
    assert "epoch" not in capsys.readouterr().out


# Claims


def test_claims_are_numbers_losses_or_guarantees(films) -> None:
    said = {
        "one": audit(NoisyCounts, films, claim=1, **quick(runs=2)),
        "text": audit(NoisyCounts, films, claim="1", **quick(runs=2)),
        "both": audit(NoisyCounts, films, claim=(1, "1e-6"), **quick(runs=2)),
        "loss": audit(NoisyCounts, films, claim=Pure(1), **quick(runs=2)),  # type: ignore[arg-type]
    }
    claims = {name: report.scores[0].claim for name, report in said.items()}
    assert all(claim is not None and claim.epsilon == 1 for claim in claims.values())
    assert claims["both"] is not None
    assert float(claims["both"].delta) == 1e-6
    for wrong in (0, "one", (1, 2, 3), True):
        with pytest.raises(UsageError):
            audit(NoisyCounts, films, claim=wrong, **QUICK)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="there is no claim"):
        audit(NoisyCounts, films, unit="record", **QUICK)


def test_claims_about_records_and_caps_can_be_given(films) -> None:
    options = quick(attacks="rating-recommendations,canary-recommendations", runs=2)
    report = audit(NoisyCounts, films, claim=1, unit="record", **options)
    assert [score.game for score in report.scores] == ["rating-recommendations"]
    assert Target.of(lambda: NoisyCounts(), films, cap=11).setting("cap") == 11
    assert Target.of(lambda: NoisyCounts(cap=4), films).setting("cap") == 4


# Kept runs


def variant(scale: float) -> type:
    class Variant(NoisyCounts):
        def draw(self, size: int) -> Any:
            return scale * super().draw(size)

    return Variant


def test_kept_runs_are_of_the_same_settings_and_source(films, tmp_path: Path, monkeypatch) -> None:
    assert identity(NoisyCounts(1.0)) == identity(NoisyCounts(1.0)) != identity(NoisyCounts(2.0))
    assert identity(variant(0.0)) == identity(variant(0.0)) != identity(variant(1.0))
    assert identity(Made(SeededCounts, {"seed": 1})) != identity(Made(SeededCounts, {"seed": 2}))
    broken = audit(variant(0.0), films, claim=1, **QUICK, folder=tmp_path)
    mended = audit(variant(1.0), films, claim=1, **QUICK, folder=tmp_path)
    assert broken.refuted
    assert not mended.refuted
    # The same source again: nothing is fitted for it.
    assert len(list(tmp_path.glob("*.jsonl"))) == 2
    audit(variant(0.0), films, claim=1, **QUICK, folder=tmp_path)
    assert len(list(tmp_path.glob("*.jsonl"))) == 2


def test_another_source_is_another_model(tmp_path: Path, monkeypatch) -> None:
    import importlib
    import sys

    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "noise_helper.py").write_text("SCALE = 1\n")
    (tmp_path / "own_model.py").write_text("import noise_helper\nclass Model:\n    def fit(self, data): pass\n")
    module = importlib.import_module("own_model")
    before = identity(module.Model)
    assert identity(module.Model) == before
    (tmp_path / "noise_helper.py").write_text("SCALE = 2  # mended\n")
    assert identity(module.Model) != before


def test_what_cannot_be_told_apart_is_not_kept(films, tmp_path: Path) -> None:
    lines = (line for line in "abc")

    def make() -> NoisyCounts:
        _ = lines
        return NoisyCounts()

    with pytest.raises(UsageError, match="runs cannot be kept: cannot pickle 'generator' object"):
        audit(make, films, **QUICK, folder=tmp_path)
