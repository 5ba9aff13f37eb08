"""The audit of everything in the house: what is claimed, what attacks prove, and whether that is a surprise.

Every model, every way to count, to release tags and to answer queries at its usual settings, the published ones with
the numbers that they look up in the records, and the broken mechanisms. Each is audited by one process within a given
time; as many run beside each other as there are processors. The table that is printed is the one in docs/audit.md.

python benchmarks/audit.py                    everything, on small synthetic datasets
python benchmarks/audit.py --kind tags        what releases or recommends tags; also: tables, interactions
python benchmarks/audit.py --only pncf,lpa    some of it, by name
python benchmarks/audit.py --data PATH        the games on real records of this kind are played on these
python benchmarks/audit.py --seconds 180      as long for each as `discreet audit` takes

Exit code 1 if a guarantee that is known to be false passes, or one that is proved is refuted.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, fields
from multiprocessing import get_context
from typing import Any

from discreet.attacks import Asked, AuditReport, audit
from discreet.attacks.games.game import Dataset
from discreet.counting import ItemPairs, TopItems
from discreet.data import Interactions, Table, TagAssignments, read, synthetic
from discreet.factors import SyntheticInteractions
from discreet.models.registry import create, names, registered
from discreet.privacy.guarantees import Standing
from discreet.subsets import BirthDeathChain, GumbelTopK, KSubset, PermuteAndFlipTopK
from discreet.subsets.row_lists import RowLists
from discreet.testing.broken_counts import BROKEN_COUNTS, CorrectCounts

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")

# What has no usual setting, and smaller neighborhoods for those whose counterexamples grow with them.
SETTINGS: dict[str, dict[str, Any]] = {
    "context-popularity": {"cap": 6},
    "ppns": {"k": 10},
    "ppns-assured": {"k": 10},
    "weighted": {"cap": 6},
    "hybrid": {"cap": 6},
    "sra": {"cap": 6},
    "hpa": {"cap": 6},
    "lpa": {"cap": 6},
    "dft": {"cap": 6},
    "gs": {"cap": 6},
}

# As published: numbers that are looked up in the records.
FROM_RECORDS: dict[str, dict[str, Any]] = {
    "hpa": {"cap": 30, "first": "data"},
    "lpa": {"cap": "data"},
    "dft": {"cap": "data"},
    "gs": {"cap": "data"},
}

# What is not a model and not a way to count. A chain of 5,000 steps is near its limit and takes no time.
ROW: dict[str, Any] = {"k": 10, "low": 1, "high": 5, "epsilon": 1, "change": "entry"}
OTHERS: dict[str, Callable[[], Any]] = {
    "top-items": lambda: TopItems(k=3, epsilon=1),
    "item-pairs": lambda: ItemPairs(epsilon=1, cap=6, head=4),
    "synthetic-interactions": lambda: SyntheticInteractions(epsilon=1, people=60),
    "k-subset": lambda: RowLists(KSubset(**ROW)),
    "gumbel": lambda: RowLists(GumbelTopK(**ROW)),
    "permute-and-flip": lambda: RowLists(PermuteAndFlipTopK(**ROW)),
    "birth-death chain": lambda: RowLists(BirthDeathChain(steps=5_000)),
}

# Releases of tags without a delta are pure; how many people PTR-S invents is a setting, and few are quickly drawn.
TAG_SETTINGS: dict[str, dict[str, Any]] = {
    "pritop": {},
    "ptr-s": {"delta": "1e-6", "users": 30},
}

KINDS: dict[str, type[Any]] = {"interactions": Interactions, "tags": TagAssignments, "tables": Table}


@dataclass(frozen=True)
class Line:
    """One system in the table."""

    system: str
    standing: str
    claimed: str
    proved: str
    verdict: str
    attack: str
    seconds: float

    @property
    def surprising(self) -> bool:
        """A false guarantee that passed, or a proved one that did not."""
        refuted = self.verdict == "REFUTED"
        return (self.standing == "refuted" and not refuted) or (self.standing == "proved" and refuted)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="file or folder; small synthetic datasets if left out")
    parser.add_argument("--only", help="names, separated by commas")
    parser.add_argument("--kind", choices=KINDS, help="only what works on data of this kind")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each system")
    parser.add_argument("--runs", type=int, default=500, help="fits to each dataset")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    named = [name for name, (kind, _) in systems().items() if options.kind in (None, kind)]
    names = named if options.only is None else options.only.split(",")
    if unknown := set(names) - set(systems()):
        print(f"no such system: {', '.join(sorted(unknown))}; there are {', '.join(systems())}", file=sys.stderr)
        return 2
    # The processes that are started take this over: one thread each, since there are as many as processors.
    os.environ |= dict.fromkeys(ONE_THREAD, "1")
    started = time.monotonic()
    lines = {}
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(audited, name, options.data, options.seconds, options.runs): name for name in names}
        for done in as_completed(waiting):
            lines[waiting[done]] = line = done.result()
            print(f"{len(lines):3}/{len(names)} {line.system}: {line.verdict}, {line.seconds:.0f} s", file=sys.stderr)
    print_table([lines[name] for name in names])
    print(f"\n{len(names)} systems in {time.monotonic() - started:.0f} s")
    surprising = [line.system for line in lines.values() if line.surprising]
    print(f"verdicts that should not be: {', '.join(surprising) or 'none'}")
    return 1 if surprising else 0


def systems() -> dict[str, tuple[str, Callable[[], Any]]]:
    """Everything that is audited, by name: the kind of its data, and a function that makes it."""
    models = {name: _maker(_model, name, SETTINGS) for name in names("recommender")}
    counts = {name: _maker(_counts, name, SETTINGS) for name in names("counts")}
    published = {f"{name} (from records)": _maker(_counts, name, FROM_RECORDS) for name in FROM_RECORDS}
    broken: dict[str, Callable[[], Any]] = {
        f"broken: {name}": lambda name=name: BROKEN_COUNTS[name] for name in BROKEN_COUNTS
    }
    first = {**models, **counts, **OTHERS, **published, "correct counts": CorrectCounts, **broken}
    kinds = {"interactions": first, "tags": _tag_systems(), "tables": _table_systems()}
    return {name: (kind, make) for kind, some in kinds.items() for name, make in some.items()}


def _tag_systems() -> dict[str, Callable[[], Any]]:
    usual = {"delta": "1e-6"}
    releases = {
        name: lambda name=name: create(name, "tags", epsilon=1, **TAG_SETTINGS.get(name, usual))
        for name in names("tags")
    }
    single = {"ptr-j (one triple)": lambda: create("ptr-j", "tags", epsilon=1, unit="assignment", **usual)}
    return {**{name: lambda name=name: create(name) for name in names("tag recommender")}, **releases, **single}


def _table_systems() -> dict[str, Callable[[], Any]]:
    answers = {name: lambda name=name: Asked(create(name, epsilon=1)) for name in names("answers")}
    looked_up = {
        f"{name} (Pearson)": lambda name=name: Asked(create(name, epsilon=1), coupling="pearson")
        for name in ("lm-gs", "lm-cs", "cim")
    }
    corrected = {"cim (corrected)": lambda: Asked(create("cim", epsilon=1, update="corrected"))}
    return {**answers, **looked_up, **corrected}


def _maker(make: Callable[..., Any], name: str, settings: dict[str, dict[str, Any]]) -> Callable[[], Any]:
    return lambda: make(name, **settings.get(name, {}))


def _model(name: str, **given: Any) -> Any:
    kind = registered(name)
    private = "epsilon" in {field.name for field in fields(kind)}
    return kind(**({"epsilon": 1} if private else {}), **given)


def _counts(name: str, **given: Any) -> Any:
    return create(name, "counts", epsilon=1, **given)


def audited(name: str, data: str | None, seconds: float, runs: int) -> Line:
    """Audit one system in this process."""
    started = time.monotonic()
    kind, make = systems()[name]
    report = audit(make(), _data(data, kind), runs=runs, seconds=seconds, processes=1)
    return _line(name, report, time.monotonic() - started)


def _data(path: str | None, kind: str) -> Dataset:
    given = None if path is None else read(path)
    data = given if given is not None and isinstance(given, KINDS[kind]) else _synthetic(kind)
    if isinstance(data, TagAssignments):
        return data.with_vocabulary("observed").with_resources("observed")
    return data.with_catalog("observed") if isinstance(data, Interactions) and not data.catalog_is_public else data


def _synthetic(kind: str) -> Dataset:
    if kind == "tags":
        return synthetic.tags(users=100, resources=30, seed=7).cleaned()
    if kind == "tables":
        return synthetic.survey(households=100, seed=7)
    return synthetic.films(users=300, items=120, seed=7)


def _line(name: str, report: AuditReport, seconds: float) -> Line:
    score, guarantee = report.worst, report.guarantee
    claim = score.claim
    measure = "ε" if claim is None else claim.measure
    standing = (
        "none" if guarantee is None else "proved" if guarantee.standing is Standing.PROVED else guarantee.standing.value
    )
    return Line(
        system=name,
        standing=standing,
        claimed="nothing" if claim is None else str(claim),
        proved=f"{measure} ≥ {score.proved.of(measure):.2f}",
        verdict="REFUTED" if score.verdict == "refuted" else score.verdict,
        attack=score.game,
        seconds=seconds,
    )


def print_table(lines: list[Line]) -> None:
    """A table as Markdown has it."""
    rows = [("system", "standing", "claimed", "audited", "verdict", "by")]
    rows += [(line.system, line.standing, line.claimed, line.proved, line.verdict, line.attack) for line in lines]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
        if number == 0:
            print("| " + " | ".join("-" * width for width in widths) + " |")


if __name__ == "__main__":
    sys.exit(main())
