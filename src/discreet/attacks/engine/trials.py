"""Attacks that can be played against a target in the time that there is: found by playing one run of each."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.attacks.engine.claims import Claim, claim_about
from discreet.attacks.engine.runs import FEWEST, Job, perform
from discreet.attacks.engine.targets import Target
from discreet.attacks.engine.workers import WorkerPool
from discreet.attacks.games.game import Attack, Dataset, Game
from discreet.attacks.games.given import OneRun
from discreet.errors import DiscreetError, EvaluationError
from discreet.privacy.units import Unit

__all__ = ["Clock", "Trial", "affordable", "ready_attacks", "sharing_fits"]

FOR_RUNS = 0.9
"""Share of the time after which no new runs are made; the rest is for learning what they show."""
AT_MOST = 1.2
"""Share of the time after which runs are given up, however few there are."""
LAST_TRIAL = {True: 0.7, False: 0.4}
"""Share of the time after which no attack is tried out any more: on small datasets, and on the caller's records."""
LONGEST_TRIAL = 0.5
"""Share of the time after which a trial on the caller's records is given up."""
SHORTEST, QUICK = 2.0, 5.0


@dataclass(frozen=True)
class Clock:
    """How long an audit may take, None for no limit, and when it began, as ``time.monotonic`` tells."""

    seconds: float | None
    begun: float

    def at(self, share: float) -> float:
        """The time when a share of the seconds is spent; less than ``SHORTEST`` seconds are not enough for anything."""
        return math.inf if self.seconds is None else self.begun + share * max(self.seconds, SHORTEST)

    @property
    def for_runs(self) -> float:
        """Seconds that are left for runs."""
        return self.at(FOR_RUNS) - time.monotonic()

    @property
    def latest(self) -> float:
        """The time when runs are given up."""
        return self.at(AT_MOST)

    def turn(self, weights: Sequence[float]) -> float:
        """The time when the first of several turns ends: each has a share of what is left by its weight."""
        return time.monotonic() + max(0.0, self.for_runs) * weights[0] / sum(weights)


@dataclass(frozen=True)
class Trial:
    """Attacks that apply and share their fits, with what one fit takes and what is claimed about their datasets."""

    attacks: tuple[Attack, ...]
    claim: Claim | None
    unit: Unit
    seconds: float

    def fewest_seconds(self, processes: int) -> float:
        """What the fewest runs take."""
        return self.seconds if isinstance(self.attacks[0], OneRun) else 2 * FEWEST * self.seconds / processes


def ready_attacks(
    listed: Sequence[Attack], target: Target, data: Dataset, seed: int, clock: Clock, crew: WorkerPool
) -> tuple[list[Trial], dict[str, str]]:
    """Attacks that can be played, found by playing one run of each; the reasons of the others.

    Which attacks share the confidence is settled here and by ``affordable``, before anything counts.
    """
    ready: list[Trial] = []
    reasons = {attack.name: _other_kind(attack, data) or attack.obstacle(target, data) for attack in listed}
    skipped = {name: reason for name, reason in reasons.items() if reason is not None}
    # What a trial takes, once its model is loaded and compiled: on small datasets, and on the caller's records.
    expected = {True: 0.0, False: 0.0}
    # Small datasets first: they prove most, and what a fit to the caller's records takes is not known yet.
    applying = sorted((one for one in listed if one.name not in skipped), key=lambda one: not one.crafted)
    for group in sharing_fits(applying):
        small = group[0].crafted
        if time.monotonic() + expected[small] > clock.at(LAST_TRIAL[small]):
            each = f", with {expected[small] / 2:.2g} seconds a fit" if expected[small] else ""
            skipped |= {attack.name: f"there was no time to try it{each}" for attack in group}
            continue
        started = time.monotonic()
        tried, failed = _tried(group, target, data, seed, clock, crew)
        skipped |= failed
        if tried is not None:
            ready.append(tried)
        spent = 2 * tried.seconds if small and tried is not None else time.monotonic() - started
        expected[small] = max(expected[small], spent)
    return ready, {attack.name: skipped[attack.name] for attack in listed if attack.name in skipped}


def affordable(trials: Sequence[Trial], clock: Clock, processes: int) -> tuple[list[Trial], dict[str, str]]:
    """Attacks with enough time for the fewest runs, the quickest first; the reasons of the others."""
    left, kept, skipped = clock.for_runs, [], {}
    for trial in sorted(trials, key=lambda one: one.fewest_seconds(processes)):
        needed = trial.fewest_seconds(processes)
        if needed <= left or math.isinf(left):
            kept.append(trial)
            left -= needed
        else:
            reason = f"there is no time for it: {2 * FEWEST} fits take about {needed:.0f} seconds"
            skipped |= {attack.name: reason for attack in trial.attacks}
    return kept, skipped


def sharing_fits(attacks: Sequence[Attack]) -> list[tuple[Attack, ...]]:
    """Games that differ in what the attacker sees and in nothing else: they are played on the same fits.

    Their bounds are not independent then. They need not be: the confidence is shared by a union bound.
    """
    groups: dict[Attack, list[Attack]] = {}
    for attack in attacks:
        groups.setdefault(replace(attack, name="", view="white box"), []).append(attack)
    return [tuple(group) for group in groups.values()]


def _other_kind(attack: Attack, data: Dataset) -> str | None:
    wanted = attack.data_type
    return None if isinstance(data, wanted) else f"it is played on {wanted.__name__}, not on {type(data).__name__}"


def _tried(
    group: tuple[Attack, ...], target: Target, data: Dataset, seed: int, clock: Clock, crew: WorkerPool
) -> tuple[Trial | None, dict[str, str]]:
    """Attacks that share their fits, by one run for all of them; one after the other where that fails."""
    try:
        return _trial(group, target, data, seed, clock, crew), {}
    except DiscreetError as error:
        if len(group) == 1:
            return None, {group[0].name: str(error)}
    alone = [_tried((attack,), target, data, seed, clock, crew) for attack in group]
    failed = {name: reason for _, reasons in alone for name, reason in reasons.items()}
    able = [trial for trial, _ in alone if trial is not None]
    if not able:
        return None, failed
    attacks = tuple(attack for trial in able for attack in trial.attacks)
    return replace(able[0], attacks=attacks, seconds=max(trial.seconds for trial in able)), failed


def _trial(
    group: tuple[Attack, ...], target: Target, data: Dataset, seed: int, clock: Clock, crew: WorkerPool
) -> Trial:
    delta, first = target.setting("delta"), group[0]
    if isinstance(first, OneRun):
        claim = claim_about(target.guarantee, first.unit, records=first.size, delta=delta)
        # Guesses in one run bound ε and nothing else.
        return Trial(group, None if claim is None else claim.as_epsilon(), first.unit, 0.0)
    job = Job(target, tuple(attack for attack in group if isinstance(attack, Game)), data, seed)
    pair = job.pair(0)
    promise = target.guarantee_for(pair.without)
    claim = claim_about(promise, pair.unit, records=pair.records, delta=delta, fits=pair.fits)
    return Trial(group, claim, pair.unit, _timed(job, clock, crew))


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
