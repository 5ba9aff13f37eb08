"""Attacks that can be played against a target in the time that there is: found by playing one run of each."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.attacks.engine.claims import Claim, claim_about
from discreet.attacks.engine.clock import Clock
from discreet.attacks.engine.runs import FEWEST, Job, perform
from discreet.attacks.engine.targets import Target
from discreet.attacks.engine.workers import WorkerPool
from discreet.attacks.games.game import Attack, Dataset, Game
from discreet.attacks.games.given import OneRun
from discreet.errors import DiscreetError, EvaluationError

__all__ = ["Trial", "affordable", "grouped", "is_crafted", "ready_attacks", "sharing_fits"]

LAST_TRIAL = {True: 0.7, False: 0.4}
"""Share of the time after which no attack is tried out any more: on small datasets, and on the caller's records."""
LONGEST_TRIAL = 0.5
"""Share of the time after which a trial on the caller's records is given up."""
QUICK = 5.0


@dataclass(frozen=True)
class Trial:
    """An attack that applies, with what one fit of it takes and what is claimed about its datasets."""

    attack: Attack
    claim: Claim | None
    unit: str
    seconds: float


def ready_attacks(
    listed: Sequence[Attack], target: Target, data: Dataset, seed: int, clock: Clock, crew: WorkerPool
) -> tuple[list[Trial], dict[str, str]]:
    """Attacks that can be played, found by playing one run of each; the reasons of the others.

    Which attacks share the confidence is settled here and by ``affordable``, before anything counts.
    """
    ready: list[Trial] = []
    skipped: dict[str, str] = {}
    for attack in listed:
        reason = _other_kind(attack, data) or attack.obstacle(target, data)
        if reason is not None:
            skipped[attack.name] = reason
    # What a trial takes, once its model is loaded and compiled: on small datasets, and on the caller's records.
    expected = {True: 0.0, False: 0.0}
    # Small datasets first: they prove most, and what a fit to the caller's records takes is not known yet.
    applying = sorted((one for one in listed if one.name not in skipped), key=lambda one: not is_crafted(one))
    for group in sharing_fits(applying):
        small = is_crafted(group[0])
        if time.monotonic() + expected[small] > clock.at(LAST_TRIAL[small]):
            each = f", with {expected[small] / 2:.2g} seconds a fit" if expected[small] else ""
            reason = f"there was no time to try it{each}"
            skipped.update({attack.name: reason for attack in group})
            continue
        started = time.monotonic()
        tried, failed = _tried_together(group, target, data, seed, clock, crew)
        ready.extend(tried)
        skipped.update(failed)
        spent = 2 * tried[0].seconds if small and tried else time.monotonic() - started
        expected[small] = max(expected[small], spent)
    places = {attack.name: place for place, attack in enumerate(listed)}
    return (
        sorted(ready, key=lambda trial: places[trial.attack.name]),
        dict(sorted(skipped.items(), key=lambda pair: places[pair[0]])),
    )


def _tried_together(
    group: Sequence[Attack], target: Target, data: Dataset, seed: int, clock: Clock, crew: WorkerPool
) -> tuple[list[Trial], dict[str, str]]:
    """Attacks that share their fits, by one run for all of them; one after the other where that fails."""
    try:
        return _tried(group, target, data, seed, clock, crew), {}
    except DiscreetError as error:
        if len(group) == 1:
            return [], {group[0].name: str(error)}
    ready, skipped = [], {}
    for attack in group:
        tried, failed = _tried_together([attack], target, data, seed, clock, crew)
        ready.extend(tried)
        skipped.update(failed)
    return ready, skipped


def affordable(trials: Sequence[Trial], clock: Clock, processes: int) -> tuple[list[Trial], dict[str, str]]:
    """Attacks with enough time for the fewest runs, the quickest first; the reasons of the others."""
    left, kept, skipped = clock.for_runs, [], {}
    for group in sorted(grouped(trials), key=lambda group: _fewest_seconds(group, processes)):
        needed = _fewest_seconds(group, processes)
        if needed <= left or math.isinf(left):
            kept.extend(group)
            left -= needed
        else:
            reason = f"there is no time for it: {2 * FEWEST} fits take about {needed:.0f} seconds"
            skipped.update({trial.attack.name: reason for trial in group})
    return [trial for trial in trials if trial in kept], skipped


def _fewest_seconds(group: Sequence[Trial], processes: int) -> float:
    """What the fewest runs of games that share their fits take."""
    each = max(trial.seconds for trial in group)
    return each if isinstance(group[0].attack, OneRun) else 2 * FEWEST * each / processes


def _other_kind(attack: Attack, data: Dataset) -> str | None:
    wanted = attack.data_type
    return None if isinstance(data, wanted) else f"it is played on {wanted.__name__}, not on {type(data).__name__}"


def _tried(
    group: Sequence[Attack], target: Target, data: Dataset, seed: int, clock: Clock, crew: WorkerPool
) -> list[Trial]:
    delta, first = target.setting("delta"), group[0]
    if isinstance(first, OneRun):
        claim = claim_about(target.guarantee, first.unit, records=first.size, delta=delta)
        # Guesses in one run bound ε and nothing else.
        return [Trial(first, None if claim is None else claim.as_epsilon(), str(first.unit), 0.0)]
    games = tuple(attack for attack in group if isinstance(attack, Game))
    job = Job(target, games, data, seed)
    pair = job.pair(0)
    claim = claim_about(target.guarantee_for(pair.without), pair.unit, records=pair.records, delta=delta)
    seconds = _timed(job, clock, crew)
    return [Trial(game, claim, str(pair.unit), seconds) for game in games]


def _timed(job: Job, clock: Clock, crew: WorkerPool) -> float:
    """Seconds of one fit. On the caller's records it may take long, and another process does it, which can be ended."""
    if job.crafted or crew.processes == 1 or clock.seconds is None:
        list(job.play([(0, False)]))
        # The first fit loads and compiles; the second one tells the time.
        started = time.monotonic()
        list(job.play([(0, True)]))
        return time.monotonic() - started
    began, was_started = time.monotonic(), crew.started
    played = perform(job, 1, latest=clock.at(LONGEST_TRIAL), crew=crew)
    spent = time.monotonic() - began
    if played.interrupted:
        raise KeyboardInterrupt
    if not played.with_:
        raise EvaluationError(f"there is no time for it: two fits take more than {spent:.0f} seconds.")
    if not was_started and spent < QUICK:
        # Most of that was the start of the processes.
        began = time.monotonic()
        perform(job, 1, latest=clock.at(LONGEST_TRIAL), crew=crew)
        spent = time.monotonic() - began
    return spent / 2


def is_crafted(attack: Attack) -> bool:
    """Whether an attack is played on small datasets, where a fit is quick."""
    return isinstance(attack, Game) and attack.crafted


def sharing_fits(attacks: Sequence[Attack]) -> list[list[Attack]]:
    """Games that differ in what the attacker sees and in nothing else: they are played on the same fits.

    Their bounds are not independent then. They need not be: the confidence is shared by a union bound.
    """
    groups: dict[Attack, list[Attack]] = {}
    for attack in attacks:
        groups.setdefault(replace(attack, name="", view="white box"), []).append(attack)
    return list(groups.values())


def grouped(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Trials of attacks that share their fits."""
    of = {trial.attack.name: trial for trial in trials}
    return [[of[attack.name] for attack in group] for group in sharing_fits([trial.attack for trial in trials])]
