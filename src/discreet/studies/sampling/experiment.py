"""The study of Fan and Jin's sampling, from the setting to the report."""

from __future__ import annotations

from discreet.data.interactions import Interactions
from discreet.studies.published import published
from discreet.studies.report import Progress, StudyReport
from discreet.studies.sampling.figures import charts, tables
from discreet.studies.sampling.findings import findings
from discreet.studies.sampling.measuring import measure
from discreet.studies.sampling.results import Results
from discreet.studies.sampling.setting import Setting, setting_of
from discreet.studies.sampling.sweeps import (
    CAPPED,
    data_reduction,
    in_order_of_ids,
    over_caps,
    popularity_precision,
    weekly_shares,
)
from discreet.studies.sampling.ways import our_ways, published_ways, single_ways

__all__ = ["run"]


def run(data: Interactions, *, seed: int = 0, quick: bool = False, progress: Progress | None = None) -> StudyReport:
    """Figures 5 to 11 and Table 5 of Fan and Jin (2015), and the same for counts without sampling.

    Edges are counted by gender and age where the table of users has them, otherwise by day of the week. Every method
    is run 20 times (3 times if ``quick``). ``seed`` orders the catalog where none was declared; noise is fresh in
    every run.
    """
    setting = setting_of(data, seed=seed, quick=quick)
    main = [*published_ways(setting, setting.epsilon), *our_ways(setting, setting.epsilon)]
    single = single_ways(setting, setting.single)
    tick = _Ticks(setting, len(main) + len(single), progress)
    results = Results(
        setting=setting,
        main=measure(setting, main, tick),
        single=measure(setting, single, lambda who: tick(f"{who}, items alone"), contexts=()),
        caps=over_caps(setting, tick),
        look=popularity_precision(setting, tick),
        reduction=data_reduction(setting),
        weekly=weekly_shares(setting, tick),
        as_they_came=in_order_of_ids(setting, tick),
    )
    return StudyReport(
        name="sampling",
        title="Counts from samples: what is popular, with whom and when",
        source=published("sampling")["source"],
        setting=_described(setting, seed),
        tables=tables(results),
        charts=charts(results),
        findings=findings(results),
    )


class _Ticks:
    """Progress by releases made."""

    def __init__(self, setting: Setting, ways: int, progress: Progress | None) -> None:
        more = int(setting.has_days) + int(setting.as_they_came is not None)
        self.whole = setting.runs * (ways + len(CAPPED) * len(setting.caps) + 2 + more)
        self.done = 0
        self.progress = progress

    def __call__(self, what: str) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(min(1.0, self.done / self.whole), what)


def _described(setting: Setting, seed: int) -> dict[str, object]:
    data = setting.data
    return {
        "data": data.name or "records",
        "records": len(data),
        "users": data.n_users,
        "items": data.n_items,
        "contexts": [f"{one.name}: {', '.join(one.values)}" for one in setting.contexts],
        "edges": setting.edges.size,
        "epsilon": str(setting.epsilon),
        "epsilon of one release of item counts": str(setting.single),
        "delta where there is one": str(float(setting.delta)),
        "l": setting.cap,
        "runs": setting.runs,
        "seed of the order of an undeclared catalog": seed,
    }
