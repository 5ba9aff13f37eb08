"""The audit of recommenders as other people write them: every broken one must be refuted, and no correct one.

python -m benchmarks outsiders                                   both tables of docs/audit.md
python -m benchmarks outsiders --correct 0 --broken 1            each broken one once
python -m benchmarks outsiders --broken 0 --only "half the noise"

Broken ones are audited one after the other at the default settings, with 60 seconds each, and correct ones with more
confidence and less time, as many at a time as there are processors. Each has the claim ε = 1 for one user. Exit code 1
if a verdict is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from fractions import Fraction
from multiprocessing import get_context

from discreet.attacks import AuditReport, audit
from discreet.data import synthetic
from discreet.privacy import Guarantee, Standing, Unit
from discreet.privacy.losses import Pure
from discreet.testing.broken_recommenders import BROKEN_RECOMMENDERS, CORRECT_RECOMMENDERS

CLAIM = Guarantee(Pure(Fraction(1)), Unit("user"), Standing.AS_PUBLISHED, "claimed by its author", "what it shows")
SYSTEMS = {**CORRECT_RECOMMENDERS, **BROKEN_RECOMMENDERS}

Found = tuple[bool, float, str, float]
"""Whether it was refuted, at least which ε, by which attack, and the seconds that the audit took."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--broken", type=int, default=3, help="audits of each broken one")
    parser.add_argument("--correct", type=int, default=50, help="audits of each correct one")
    parser.add_argument("--seconds", type=float, default=60.0, help="for the audit of a broken one")
    parser.add_argument("--correct-seconds", type=float, default=20.0, help="for the audit of a correct one")
    parser.add_argument("--confidence", type=float, default=0.99, help="of the audits of correct ones")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="audits of correct ones at a time")
    parser.add_argument("--only", help="names, separated by commas")
    options = parser.parse_args(arguments)
    names = list(SYSTEMS) if options.only is None else options.only.split(",")
    if unknown := set(names) - set(SYSTEMS):
        print(f"no such system: {', '.join(sorted(unknown))}; there are {', '.join(SYSTEMS)}", file=sys.stderr)
        return 2
    broken = {name: [] for name in names if name in BROKEN_RECOMMENDERS and options.broken}
    for name in broken:
        for number in range(options.broken):
            broken[name].append(audited(name, options.seconds, 0.95, number, None))
            print(f"{name}: {broken[name][-1]}", file=sys.stderr)
    correct = audited_correct([name for name in names if name in CORRECT_RECOMMENDERS and options.correct], options)
    print_table(broken | correct)
    missed = [name for name, found in broken.items() if not all(refuted for refuted, *_ in found)]
    wronged = [name for name, found in correct.items() if any(refuted for refuted, *_ in found)]
    print(
        f"\nbroken and not refuted: {', '.join(missed) or 'none'}; correct and refuted: {', '.join(wronged) or 'none'}"
    )
    return 1 if missed or wronged else 0


def audited(name: str, seconds: float, confidence: float, seed: int, processes: int | None) -> Found:
    """One audit."""
    started = time.monotonic()
    films = synthetic.films(users=300, items=120, seed=7)
    report: AuditReport = audit(
        SYSTEMS[name](), films, claim=CLAIM, seconds=seconds, confidence=confidence, seed=seed, processes=processes
    )
    return report.refuted, report.worst.proved.epsilon, report.worst.game, time.monotonic() - started


def audited_correct(names: list[str], options: argparse.Namespace) -> dict[str, list[Found]]:
    """Many audits of each, side by side, a process each."""
    found: dict[str, list[Found]] = defaultdict(list)
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        waiting = {
            pool.submit(audited, name, options.correct_seconds, options.confidence, seed, 1): name
            for seed in range(options.correct)
            for name in names
        }
        for done in as_completed(waiting):
            found[waiting[done]].append(done.result())
            print(f"{waiting[done]}: {found[waiting[done]][-1]}", file=sys.stderr)
    return found


def print_table(found: dict[str, list[Found]]) -> None:
    """A table as Markdown has it."""
    print("| system | refuted | at least ε | by | seconds |\n| --- | --- | --- | --- | --- |")
    for name, audits in found.items():
        bounds = [bound for _, bound, _, _ in audits]
        games = ", ".join(sorted({game for _, _, game, _ in audits})) if len(audits) < 10 else "–"
        print(
            f"| {name} | {sum(refuted for refuted, *_ in audits)} of {len(audits)} | {min(bounds):.2f} to "
            f"{max(bounds):.2f} | {games} | {max(seconds for *_, seconds in audits):.0f} |"
        )


if __name__ == "__main__":
    sys.exit(main())
