"""The study of the frontier, from the setting to the report."""

from __future__ import annotations

from typing import Any

from discreet.data.interactions import Interactions
from discreet.studies.frontier.contestants import Contestant, ranking_contestants, rating_contestants
from discreet.studies.frontier.figures import charts, tables
from discreet.studies.frontier.findings import findings
from discreet.studies.frontier.measuring import measure_rankings, measure_ratings
from discreet.studies.frontier.results import Results
from discreet.studies.frontier.setting import FOLD_IN, LEAST_LIKES, Setting, setting_of
from discreet.studies.published import published
from discreet.studies.report import Progress, StudyReport

__all__ = ["run"]


def run(data: Interactions, *, seed: int = 0, quick: bool = False, progress: Progress | None = None) -> StudyReport:
    """Accuracy of all proved models over ε, beside the published competitor and models without privacy.

    Rankings by strong generalization: a tenth of the users (2,000 at most) is held out, four fifths of their likes are
    told, the others asked about. Ratings, where there are any, by a random 80/10/10. ``PrivateRecommender`` also learns
    from a quarter and from half of the users, to see accuracy over users × μ.

    Parameters
    ----------
    data
        Any records. Ratings from three quarters up the scale on are likes; without a scale every record is one. Where
        no catalog was declared, the items that occur are taken for public.
    seed
        The splits have the seeds ``seed + 1``, ``seed + 2``, ``seed + 3``: with the default, the split with seed 0, on
        which constants of the models were settled, is left out.
    quick
        Two budgets and two splits, to see that it runs.
    progress
        Called with the share that is done and what was done.

    Privacy
    -------
    None: models are fitted in a sandbox and thrown away, and the report shows accuracy measured on the records.
    """
    setting = setting_of(data, seed=seed, quick=quick)
    rankers = ranking_contestants(setting)
    raters = rating_contestants() if setting.rated else []
    tick = _Ticks(setting, [*rankers, *raters], progress)
    results = Results(
        setting=setting,
        ranking=measure_rankings(setting, rankers, tick),
        ratings=measure_ratings(setting, raters, tick) if raters else None,
        contestants=(*rankers, *raters),
    )
    return StudyReport(
        name="frontier",
        title="The frontier: accuracy of proved private recommenders over epsilon",
        source=published("frontier")["source"],
        setting=_described(results),
        tables=tables(results),
        charts=charts(results),
        findings=findings(results),
    )


class _Ticks:
    """Progress by models fitted."""

    def __init__(self, setting: Setting, contestants: list[Contestant], progress: Progress | None) -> None:
        each = sum(len(one.budgets(setting.epsilons)) for one in contestants)
        fewer = len(setting.epsilons) * (len(setting.shares) - 1)
        self.whole = len(setting.seeds) * (each + fewer)
        self.done = 0
        self.progress = progress

    def __call__(self, what: str) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done / self.whole, what)


def _described(results: Results) -> dict[str, Any]:
    setting = results.setting
    data = setting.data
    return {
        "data": data.name or "records",
        "records": len(data),
        "users": data.n_users,
        "items": data.n_items,
        "likes": len(setting.likes),
        f"users with {LEAST_LIKES} likes": setting.likes.n_users,
        "users that rankings are learned from": results.ranking.users(),
        "users held out": setting.test_users,
        "share of their likes that is told": FOLD_IN,
        "epsilon": [str(epsilon) for epsilon in setting.epsilons],
        "delta": str(float(setting.delta)),
        "public columns used": list(setting.features),
        "seeds of the splits": list(setting.seeds),
    }
