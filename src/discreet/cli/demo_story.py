"""What the demo computes, step by step, before anything is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import BudgetError

if TYPE_CHECKING:
    import polars as pl

    from discreet.attacks import AttackReport, AuditReport
    from discreet.attacks.risk import RiskReport
    from discreet.data import Interactions
    from discreet.evaluation import Evaluation
    from discreet.models.recommender import Recommender
    from discreet.privacy import Release
    from discreet.privacy.ledger.statements import Statement

__all__ = ["CAP", "EPSILON", "KNOWN", "PERSON", "Story", "told"]

EPSILON, CAP, PERSON, KNOWN = "1/2", 30, "u17", 8
MODEL_EPSILON, DELTA = 1, "1e-6"


@dataclass(frozen=True)
class Story:
    """The results of the demo."""

    folder: Path
    films: Interactions
    model: Recommender
    lists: dict[str, list[str]]
    accuracy: Evaluation
    counts: Release
    compared: pl.DataFrame
    top: Release
    found: int
    attack: AttackReport
    audits: tuple[AuditReport, ...]
    risk: RiskReport
    refusal: str
    statement: Statement


def told(folder: Path, progress: Callable[[float, str], None]) -> Story:
    """Compute everything; releases, the model and the ledger stay in the folder."""
    from discreet import counting
    from discreet.data import synthetic
    from discreet.evaluation import evaluate
    from discreet.factors import PrivateRecommender
    from discreet.neighbors import KNN, PrivateItemKNN
    from discreet.privacy import Ledger

    progress(0.02, "generating synthetic data")
    films = synthetic.films(seed=7)
    ledger = Ledger(folder / "budget.db")
    ledger.open(films, epsilon=4, delta=DELTA, unit="user", name="films")

    progress(0.05, "fitting recommenders")
    models: dict[str, Recommender] = {
        "item neighbors": KNN(k=20).fit(films),
        "private item neighbors": PrivateItemKNN(epsilon=MODEL_EPSILON, delta=DELTA).fit(films, ledger=ledger),
        "private recommender": PrivateRecommender(epsilon=MODEL_EPSILON, delta=DELTA).fit(films, ledger=ledger),
    }
    models["private recommender"].save(folder / "model")
    progress(0.15, "measuring how good the private recommender is")
    private = {"private recommender": PrivateRecommender(epsilon=MODEL_EPSILON, delta=DELTA)}
    accuracy = evaluate(private, films, k=20, splits=1)
    progress(0.3, "counting")
    counts = counting.ItemCounts(epsilon=EPSILON, cap=CAP).release(films, ledger=ledger)
    counts.save(folder / "counts")
    top = counting.TopItems(k=10, epsilon=EPSILON).release(films, ledger=ledger)
    top.save(folder / "top")
    progress(0.35, "attacking with invented users")
    attack = _attacked(films)
    progress(0.5, "auditing two models")
    audits = _audited(films)
    progress(0.8, "drawing risk against utility")
    return Story(
        folder=folder,
        films=films,
        model=models["private recommender"],
        lists={name: _titles(films, model) for name, model in models.items()},
        accuracy=accuracy,
        counts=counts,
        compared=_compared(films, counts),
        top=top,
        found=_shared_with_truth(films, top),
        attack=attack,
        audits=audits,
        risk=_risk(films),
        refusal=_refused(lambda: counting.ItemCounts(epsilon=9, cap=CAP).release(films, ledger=ledger)),
        statement=ledger.statement(films),
    )


def _refused(ask: Callable[[], object]) -> str:
    try:
        ask()
    except BudgetError as refusal:
        return str(refusal)
    raise AssertionError("the ledger let a request pass that was larger than its limit")


def _compared(films: Interactions, counts: Release) -> pl.DataFrame:
    """Released beside true counts, best first. The truth may be shown because nobody in it exists."""
    import polars as pl

    from discreet.counting import top
    from discreet.privacy.weighing import weigh

    weighed = weigh(films, CAP)
    true = pl.DataFrame(
        {
            "item_id": films.items.series,
            "true": films.records_per_item,
            "clipped": weighed.values * float(weighed.step),
        }
    )
    return top(counts, films.n_items).join(true, on="item_id", how="left", maintain_order="left")


def _shared_with_truth(films: Interactions, top: Release) -> int:
    import numpy as np

    best = set(films.items.decode(np.argsort(-films.records_per_item, kind="stable")[:10]))
    return len(best & set(top.table("top")["item_id"].to_list()))


def _titles(films: Interactions, model: Recommender) -> list[str]:
    best = model.recommend([PERSON], n=8)
    return films.titles(films.items.encode(best["item_id"]))


def _attacked(films: Interactions) -> AttackReport:
    """Sybils against neighbors of users, as the published attacks have them, and against private item neighbors."""
    from discreet.attacks import SybilAttack
    from discreet.neighbors import KNN, PrivateItemKNN
    from discreet.neighbors.similarity import Similarity

    def plain() -> KNN:
        likeness = Similarity("cosine", shrinkage=5)
        return KNN(k=10, axis="user", candidates="all", centering=None, fallback=None, similarity=likeness)

    def private() -> PrivateItemKNN:
        return PrivateItemKNN(epsilon=MODEL_EPSILON, delta=DELTA)

    return SybilAttack(k=10, known=KNOWN).run({"neighbors": plain, "private": private}, films, targets=3, seed=7)


def _audited(films: Interactions) -> tuple[AuditReport, ...]:
    """A published guarantee that is refuted, and a proved one: the same attacks on both."""
    from discreet.attacks import audit
    from discreet.factors import PrivateRecommender
    from discreet.neighbors import PNCF

    attacks = ("canary", "local-sensitivity")
    models = (PNCF(epsilon=MODEL_EPSILON), PrivateRecommender(epsilon=MODEL_EPSILON, delta=DELTA))
    return tuple(audit(model, films, attacks=attacks, runs=100, seconds=None, processes=1) for model in models)


def _risk(films: Interactions) -> RiskReport:
    from discreet.attacks.risk import risk_report
    from discreet.pairs import PublishedSlopeOne

    return risk_report(PublishedSlopeOne(1, least_ratings=20, minimum_overlap=10), films, users=200)
