"""Audits, attacks and risk curves as jobs. They are measured on the records, so their results are for curators."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Row

from discreet.errors import UsageError
from discreet.models.registry import create, entry_of
from discreet.service.access import Caller
from discreet.service.datasets import Datasets
from discreet.service.jobs import Jobs
from discreet.service.problems import not_found
from discreet.service.schema import REPORTS
from discreet.service.store import Store, fresh_id
from discreet.service.tasks import Task, task

__all__ = ["Reports"]


class Reports:
    """Reports that were kept."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def listed(
        self, caller: Caller, *, before: int | None = None, limit: int = 50, dataset: str | None = None
    ) -> list[Row[Any]]:
        """Reports, about one dataset or all, the latest first."""
        caller.require("read reports")
        query = self._rows(caller).order_by(REPORTS.c.number.desc())
        if dataset is not None:
            query = query.where(REPORTS.c.dataset == dataset)
        return self.store.all((query if before is None else query.where(REPORTS.c.number < before)).limit(limit))

    def get(self, caller: Caller, report: str) -> Row[Any]:
        caller.require("read reports")
        row = self.store.one(self._rows(caller).where(REPORTS.c.id == report))
        if row is None:
            raise not_found("report", report)
        return row

    def about(self, caller: Caller, release: Row[Any]) -> list[dict[str, Any]]:
        """The reports about a release, the latest first; nothing for those who may not read reports."""
        if not caller.may("read reports"):
            return []
        names = ("id", "kind", "summary", "created")
        rows = self.store.all(
            self._rows(caller).where(REPORTS.c.release == release.id).order_by(REPORTS.c.number.desc())
        )
        return [{name: getattr(row, name) for name in names} for row in rows]

    def _rows(self, caller: Caller) -> Any:
        """Audits are for auditors, too; attacks and risk curves are the curator's alone."""
        query = sql.select(REPORTS).where(REPORTS.c.tenant == caller.tenant)
        return query if caller.is_curator else query.where(REPORTS.c.kind == "audit")


def keep(task: Task, summary: str, report: dict[str, Any]) -> None:
    """Keep a report, and end its job."""
    store, job, name = task.store, task.job, fresh_id("rep")
    with store.write(f"job {job.id}") as connection:
        connection.execute(
            sql.insert(REPORTS).values(
                id=name,
                tenant=job.tenant,
                job=job.id,
                kind=job.kind,
                dataset=job.request.get("dataset"),
                release=job.request.get("release"),
                summary=summary,
                report=report,
                created=job.created,  # when it ended tells how long it took, which depends on the records
                who=job.who,
            )
        )
        Jobs(store).end(connection, job.id, "done", result={"report": name})


@task("audit")
def _audit(task: Task) -> None:
    from discreet.attacks import Asked, audit

    asked = task.request
    data: Any = Datasets(task.store).load(task.job.tenant, asked["dataset"])
    model: Any = create(asked["method"], **asked["settings"])
    if entry_of(asked["method"]).takes == "table":
        model = Asked(model)
    options = asked.get("options", {})
    if unknown := sorted(set(options) - AUDIT):
        raise UsageError(
            f"an audit has no option {', '.join(unknown)}.", remedy=f"Options: {', '.join(sorted(AUDIT))}."
        )
    report = audit(model, data, **options, processes=1, progress=task.progress)
    keep(task, str(report.verdict), report.to_json())


@task("attack")
def _attack(task: Task) -> None:
    """Play an attack against several models."""
    from discreet.attacks import linear_attack
    from discreet.service.attacking import ITEM_BASED, factory_of, game_of

    asked, options = task.request, dict(task.request["options"])
    data: Any = Datasets(task.store).load(task.job.tenant, asked["dataset"])
    budget = {"epsilon": str(asked["epsilon"]), "delta": str(asked["delta"])}
    common = {"targets": asked["targets"], "seed": options.pop("seed", 0)}
    if asked["attack"] == "lia":
        models = {name: factory_of(name, {}, budget)() for name in asked["against"]}
        known = [float(share) for share in options.pop("known_share", (0, 0.5, 1))]
        report: Any = linear_attack(models, data, known=known, **common, progress=task.progress)
    else:
        sybil = {name: options.pop(name, usual) for name, usual in SYBIL.items()}
        game = game_of(asked["attack"], **sybil, **{**GAME, **options})
        axis = "item" if asked["attack"] in ITEM_BASED else "user"
        setting = {**sybil, "similarity": "cosine", "shrinkage": 5}
        factories = {name: factory_of(name, {}, budget, axis=axis, **setting) for name in asked["against"]}
        report = game.run(
            factories, data, **common, progress=lambda done, fits: task.progress(done / fits, f"{done} of {fits} fits")
        )
    keep(task, f"{asked['attack']} against {', '.join(asked['against'])}", report.to_json())


AUDIT = frozenset(("attacks", "runs", "claim", "unit", "cap", "confidence", "seconds", "seed"))
"""What a request may say about an audit: not where files are kept."""

SYBIL: dict[str, Any] = {"k": 10, "beta": 4}
GAME: dict[str, Any] = {"known": None, "choose": None, "fillers": "shifted", "sees": None, "rounds": 3, "new": 1}
"""The usual settings of games, as on the command line."""


@task("risk")
def _risk(task: Task) -> None:
    """What an attacker learns and what is left of the lists, over epsilon."""
    from discreet.attacks import risk_report

    asked = task.request
    data: Any = Datasets(task.store).load(task.job.tenant, asked["dataset"])
    model: Any = create(asked["method"], "recommender", **{"epsilon": 1, **asked["settings"]})
    report = risk_report(model, data, **asked["options"], progress=task.progress)
    best = report.curve.operating_point(value_of_utility=asked["value_of_utility"], cost_of_risk=asked["cost_of_risk"])
    found = {**report.to_json(), "recommended": best.to_json()}
    keep(task, best.words(), found)


@task("frontier")
def _frontier(task: Task) -> None:
    """Accuracy over epsilon on held-out people, beside the same measured without privacy."""
    from discreet.evaluation.protocols import RATING_PROTOCOLS, run_model, strong_generalization
    from discreet.evaluation.reference import reference_for

    asked = task.request
    data: Any = Datasets(task.store).load(task.job.tenant, asked["dataset"])
    rankings, seed = asked["measure"] == "rankings", asked["seed"]
    questions = (
        strong_generalization(data, seed, None, 0.8, 5, None) if rankings else RATING_PROTOCOLS["holdout"](data, seed)
    )
    tried: list[Any] = [*asked["epsilons"], None]
    rows = []
    for place, epsilon in enumerate(tried):
        name = asked["method"] if epsilon is not None else reference_for(data, rankings=rankings).name
        settings = {} if epsilon is None else {**asked["settings"], "epsilon": epsilon}
        task.progress(
            place / len(tried), f"{name}, ε = {epsilon}" if epsilon is not None else f"{name}, without privacy"
        )
        run = run_model(name, create(name, "recommender", **settings), questions, [20, 100])
        rows.append({"model": name, "epsilon": epsilon, "values": dict(run.scores.values)})
    keep(
        task, f"{asked['method']} at {len(asked['epsilons'])} values of ε", {"measure": asked["measure"], "rows": rows}
    )
