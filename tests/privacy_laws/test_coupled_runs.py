"""Everything that says PROVED, run on pairs of neighboring datasets with the same randomness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from discreet.counting import ItemPairs, StreamingBound, TopItems, choose_cap, discover_items
from discreet.coupled import PMW, Coupling, QuerySession, all_marginals, random_queries
from discreet.data.interactions import Interactions
from discreet.factors import SyntheticInteractions
from discreet.models.registry import create, names, registered, settings_of
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Standing
from discreet.privacy.units import Unit
from discreet.subsets.samplers import sampler_class
from discreet.tagging import discover_resources, discover_tags
from discreet.testing.coupled import CoupledResult, coupled_run
from discreet.testing.neighboring import NeighboringPair, interaction_pairs, table_pairs, tag_pairs

USER, RECORD = Unit("user"), Unit("record")


@dataclass(frozen=True)
class Case:
    """One mechanism with one choice of settings, and the pairs that it is run on."""

    name: str
    run: Callable[..., Any]
    pairs: Callable[[], Iterator[NeighboringPair]]
    unit: Unit | None = USER
    label: str = ""
    runs: int = 5
    """How many pairs it must run on rather than refuse."""
    asks: bool = False
    """Whether ``run`` takes the people who are the same in both datasets, and asks for their recommendations."""

    def __str__(self) -> str:
        return f"{self.name}{f' {self.label}' if self.label else ''}"


def model(name: str, unit: Unit = USER, /, *, repeats: bool = False, rated: bool = True, **settings: Any) -> Case:
    """A model of the registry: fitted, saved, and asked by somebody who is in both datasets and by a stranger."""

    def run(data: Interactions, ledger: Any, others: Sequence[Any] = ()) -> Any:
        fitted = registered(name)(**{"epsilon": 1, **settings}).fit(data, ledger=ledger)
        history = {"i1": 5.0, "i4": 2.0} if rated else ["i1", "i4"]
        return {
            "model": fitted,
            "stranger": fitted.recommend(history=history, n=8),
            "others": fitted.recommend(others, n=8) if others else None,
            "similar": fitted.similar_items(["i1", "i2"], n=4),
        }

    def pairs() -> Iterator[NeighboringPair]:
        return interaction_pairs(unit, rated=rated, repeats=repeats)

    label = ", ".join(f"{key}={value}" for key, value in settings.items()) + (" visits" if not rated else "")
    return Case(name, run, pairs, unit, label + (" repeats" if repeats else ""), asks=unit == USER)


def count(name: str, *, contexts: tuple[str, ...] = (), repeats: bool = False, **settings: Any) -> Case:
    def run(data: Interactions, ledger: Any) -> Any:
        return create(name, "counts", **settings).release(data, contexts=contexts, ledger=ledger)

    def pairs() -> Iterator[NeighboringPair]:
        return interaction_pairs(USER, rated=False, repeats=repeats, context=bool(contexts))

    return Case(name, run, pairs, USER, f"{settings} {' '.join(contexts)}{' repeats' if repeats else ''}")


def tags(name: str, unit: Unit = USER, /, **settings: Any) -> Case:
    def run(data: Any, ledger: Any) -> Any:
        return create(name, "tags", **settings).release(data, ledger=ledger)

    return Case(name, run, lambda: tag_pairs(unit), unit, str(settings))


def queries(name: str, *, household: bool = False, ways: int = 0, **settings: Any) -> Case:
    """Random queries, or all marginals of ``ways`` attributes."""

    def run(table: Any, ledger: Any) -> Any:
        coupling = Coupling.by_group(table) if household else None
        workload = all_marginals(table, ways) if ways else random_queries(table, 6, seed=3)
        return create(name, "answers", **settings).release(table, workload, coupling=coupling, ledger=ledger)

    unit = Unit("group", "replace", 2) if household else Unit("record", "replace")
    label = f"{settings}{' household' * household}{f' {ways}-way' if ways else ''}"
    return Case(name, run, lambda: table_pairs(rows=2 if household else 1), unit, label)


def other(
    name: str, run: Callable[[Any, Any], Any], pairs: Callable[[], Iterator[NeighboringPair]], **facts: Any
) -> Case:
    return Case(name, run, pairs, **facts)


def visits(repeats: bool = False) -> Callable[[], Iterator[NeighboringPair]]:
    return lambda: interaction_pairs(USER, rated=False, repeats=repeats)


def streamed(data: Interactions, ledger: Any) -> Any:
    stream = StreamingBound(2, items=data.items, name="small")
    records = data.to_frame().select("user_id", "item_id", "timestamp")
    for day in range(2):
        stream.add(records.filter(records["timestamp"] % 2 == day))
    return create("sra", "counts", epsilon=1, cap=2).release(stream.records(), ledger=ledger)


def asked_session(table: Any, ledger: Any) -> Any:
    with QuerySession.open(table, PMW(epsilon=1, updates=2), questions=5, ledger=ledger) as session:
        answers = [float(session.ask({"smokes": value})) for value in ("yes", "no", "yes")]
    return {"answers": answers, "release": session.close()}


MODELS = [
    model("private-recommender"),
    model("private-recommender", epsilon=8, positive=4, head=4),
    model("private-recommender", rated=False, users=10),
    model("private-recommender", repeats=True),
    model("private-ratings"),
    model("private-ratings", RECORD, unit="rating"),
    model("private-ratings", epsilon=20),
    model("dp-als"),
    model("dp-als", rounds=3, head=4, cap=2, epsilon=8),
    model("private-item-knn"),
    model("private-item-knn", cap=2, head=4),
    model("private-item-knn", delta=0),
    model("private-item-knn", RECORD, unit="rating"),
    model("private-item-knn", rated=False),
    model("private-slope-one"),
    model("private-slope-one", cap=2, head=4),
    model("private-slope-one", delta=0),
    model("private-slope-one", RECORD, unit="rating"),
    model("private-slope-one", Unit("record", "value"), unit="value"),
    model("private-slope-one", weight="equal", head=("i1", "i2", "i5"), cap=3),
    model("private-cosine"),
    model("private-cosine", cap=2, head=4, k=2),
    model("private-cosine", delta=0),
    model("private-cosine", RECORD, unit="rating"),
    model("context-popularity", rated=False, epsilon=1, cap=2),
]

COUNTS = [
    count(name, contexts=contexts, repeats=repeats, **settings)
    for contexts in ((), ("device=phone,laptop",), ("age=20,25,30",), ("weekday",))
    for repeats in (False, True)
    for name, settings in (
        ("weighted", {"epsilon": 1, "cap": 2}),
        ("weighted", {"epsilon": 1, "delta": "1e-6", "cap": 2}),
        ("hybrid", {"epsilon": 1, "cap": 2}),
        ("sra", {"epsilon": 1, "cap": 2}),
        ("hpa", {"epsilon": 1, "cap": 2}),
        ("lpa", {"epsilon": 1, "cap": 2}),
        ("dft", {"epsilon": 1, "cap": 2}),
        ("gs", {"epsilon": 1, "cap": 2}),
    )
]


def samplers() -> Iterator[Case]:
    """Draws from one person's scores: rows of scores of which one row changes in the way that is declared."""
    rows = np.array([[0.1, 0.9, 0.5, 0.3, 0.7], [1.0, 0.0, 1.0, 0.0, 0.5]])
    changes = {
        "row": np.array([0.9, 0.1, 0.0, 1.0, 0.2]),
        "row, one way": np.array([0.6, 1.0, 0.8, 0.3, 1.0]),
        "entry": np.array([0.1, 0.0, 0.5, 0.3, 0.7]),
        2: np.array([1.0, 0.9, 0.5, 1.0, 0.7]),
    }
    for sampler in ("subset", "gumbel", "permute-and-flip"):
        for change, row in changes.items():
            for k in (1, 2):
                drawn = sampler_class(sampler)(k=k, low=0, high=1, epsilon=1, change=change)

                def run(scores: Any, ledger: Any, drawn: Any = drawn) -> Any:
                    guarantee = drawn.guarantee(scores.shape[1])
                    with charged(ledger, scores, guarantee, mechanism="a list", parameters={}):
                        return {"guarantee": guarantee, "chosen": drawn.choose(scores)}

                def pairs(row: Any = row) -> Iterator[NeighboringPair]:
                    for place in range(2):
                        changed = rows.copy()
                        changed[place] = row if place == 0 else 1 - row
                        first = rows if place == 0 else np.vstack([rows[0], 1 - rows[0]])
                        yield NeighboringPair(f"row {place}", first, changed)

                yield Case(sampler, run, pairs, None, f"{change} k={k}", runs=2)


def synthesized(**records: bool) -> Callable[[], Iterator[NeighboringPair]]:
    return lambda: interaction_pairs(USER, **records)


SYNTHESIZED: list[tuple[dict[str, Any], dict[str, bool]]] = [
    ({"epsilon": 1}, {"rated": False}),
    ({"epsilon": 8, "people": 5}, {"rated": False, "repeats": True}),
    ({"epsilon": 1, "people": 5, "positive": 4}, {"rated": True}),
    ({"epsilon": 1, "people": 5, "contexts": ["device=phone,laptop", "weekday"]}, {"rated": False, "context": True}),
]

TOP_SETTINGS: list[dict[str, Any]] = [{"k": 3, "epsilon": 1}, {"k": 2, "epsilon": 1, "delta": "1e-6"}]

OTHERS = [
    *samplers(),
    *[
        other(
            "top-items",
            lambda data, ledger, s=settings: TopItems(**s).release(data, ledger=ledger),
            visits(repeats),
            label=f"{settings}{' repeats' * repeats}",
        )
        for repeats in (False, True)
        for settings in TOP_SETTINGS
    ],
    *[
        other(
            "item-pairs",
            lambda data, ledger, s=settings: ItemPairs(**s).release(data, ledger=ledger),
            visits(),
            label=str(settings),
        )
        for settings in ({"epsilon": 1, "cap": 3, "head": 4}, {"epsilon": 1, "cap": 3, "head": 4, "delta": "1e-6"})
    ],
    *[
        other(
            "synthetic-interactions",
            lambda data, ledger, s=settings: SyntheticInteractions(**s).release(data, ledger=ledger),
            synthesized(**records),
            label=f"{settings} {' '.join(records)}".strip(),
        )
        for settings, records in SYNTHESIZED
    ],
    other(
        "choose-cap",
        lambda data, ledger: choose_cap(data, epsilon=1, counts_epsilon=1, most=16, ledger=ledger),
        visits(),
    ),
    # A key that one person alone has is named with a chance of delta, and then nothing can be compared.
    *[
        other(
            "discover-items",
            lambda data, ledger, cap=cap: discover_items(data, epsilon=100, delta="1e-10", cap=cap, ledger=ledger),
            visits(),
            label=f"cap={cap}",
        )
        for cap in (1, 3)
    ],
    other("stream", streamed, visits(repeats=True)),
    *[
        other(
            f"discover-{what}",
            lambda data, ledger, find=find, way=way: find(
                data, epsilon=40, delta="1e-10", cap=2, way=way, ledger=ledger
            ),
            lambda: tag_pairs(USER),
            label=way,
        )
        for what, find in (("tags", discover_tags), ("resources", discover_resources))
        for way in ("laplace", "gaussian", "policy")
    ],
    other("session", asked_session, table_pairs, unit=Unit("record", "replace")),
]

TAGGING = [
    tags("ptr-j", epsilon=1, delta="1e-6"),
    tags("ptr-j", epsilon=1, delta=0),
    tags("ptr-j", RECORD, epsilon=1, delta=0, unit="assignment"),
    tags("ptr-s", epsilon=1, delta="1e-6"),
    tags("ptr-s", epsilon=1),
    tags("ptr-t", Unit("record", "value"), epsilon=1, delta="1e-6"),
    tags("ptr-t", Unit("record", "value"), epsilon=1),
    tags("private-topics", epsilon=1, delta="1e-6", topics=2),
    tags("private-topics", epsilon=1, delta="1e-6", topics=2, method="expected"),
    tags("private-topics", epsilon=1, delta="1e-6", topics=2, method="gibbs"),
    tags("private-topics", epsilon=1, topics=2),
    tags("private-topics", epsilon=1, topics=2, method="expected"),
]

QUERIES = [
    queries(name, household=household, **settings)
    for household in (False, True)
    for name, settings in (
        ("pmw", {"epsilon": 1}),
        ("pmw", {"epsilon": 50}),
        ("mwem", {"epsilon": 1}),
        ("histogram", {"epsilon": 1}),
        ("histogram", {"epsilon": 1, "delta": "1e-6"}),
        ("shrunk-histogram", {"epsilon": 1}),
        ("shrunk-histogram", {"epsilon": 1, "delta": "1e-6"}),
        ("strategy", {"epsilon": 1}),
        ("strategy", {"epsilon": 1, "delta": "1e-6"}),
        ("tree", {"epsilon": 1}),
        ("tree", {"epsilon": 1, "delta": "1e-6"}),
        ("tree", {"epsilon": 50, "delta": "1e-6"}),
        ("lm-gs", {"epsilon": 1}),
        ("marginals", {"epsilon": 1}),
        ("marginals", {"epsilon": 1, "ways": 2}),
        ("marginals", {"epsilon": 1, "delta": "1e-6", "ways": 2}),
        ("marginals", {"epsilon": 50, "ways": 1, "nonnegative": False}),
    )
]

CASES = [*MODELS, *COUNTS, *OTHERS, *TAGGING, *QUERIES]

REGISTERED = {*names("recommender"), *names("counts"), *names("synthetic data"), *names("tags"), *names("answers")}
"""Everything that has a name on the command line."""

WITHOUT_PROOF = {
    *("ease", "als", "popularity", "biases", "knn", "slope-one", "copurchase-cosine"),  # guarantee nothing
    *("uniform-neighbors", "npns", "naive-exponential", "pncf", "ppns", "ppns-assured", "published-slope-one"),
    *("published-cosine", "pritop", "lm-cs", "cim"),
}


def test_everything_that_is_registered_is_run_or_guarantees_nothing_that_holds() -> None:
    """A new name without a dataset to run on fails here."""
    assert {case.name for case in CASES} >= REGISTERED - WITHOUT_PROOF


@pytest.mark.parametrize("name", sorted(WITHOUT_PROOF & set(names("recommender"))))
def test_models_that_are_left_out_are_not_proved(name: str) -> None:
    data = next(interaction_pairs(USER)).first
    guarantee = (
        create(name, "recommender", **dict.fromkeys({"epsilon"} & set(settings_of(registered(name))), 1))
        .fit(data, allow_refuted=True)
        .guarantee
    )
    assert guarantee is None or guarantee.standing is not Standing.PROVED


def test_methods_that_are_left_out_are_not_proved() -> None:
    triples, table = next(tag_pairs(USER)).first, next(table_pairs()).first
    assert create("pritop", epsilon=1).plan(triples).guarantee.standing is Standing.REFUTED
    for name in ("lm-cs", "cim"):
        guarantee = create(name, "answers", epsilon=1).plan(table, random_queries(table, 3, seed=1)).guarantee
        assert guarantee.standing is Standing.REFUTED


def in_both(pair: NeighboringPair) -> list[Any]:
    """People who are in both datasets: what they are recommended must not differ."""
    return [user for user in pair.first.users.ids() if user in pair.second.users.ids()]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_neighboring_dataset_changes_nothing_but_what_is_paid_for(case: Case) -> None:
    results: list[CoupledResult] = []
    for pair in case.pairs():
        try:
            run = partial(case.run, others=in_both(pair)) if case.asks else case.run
            result = coupled_run(run, pair.first, pair.second)
        except AssertionError as error:
            raise AssertionError(f"{case} on {pair}: {error}") from error
        if result.guarantee is not None:
            assert result.guarantee.standing is Standing.PROVED
            assert case.unit in (None, result.guarantee.unit)
        results.append(result)
    ran = [result for result in results if result.guarantee is not None]
    assert len(ran) >= min(case.runs, len(results)), {result.refusal for result in results}
    # A check in which nothing ever differs would check nothing.
    assert any(result.spent != type(result.spent)() for result in ran)
