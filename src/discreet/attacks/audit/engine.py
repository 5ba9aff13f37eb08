"""The audit: play every attack that applies, prove what can be proved, say it in words."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.attacks.audit.game import Attack, Dataset, Game
from discreet.attacks.audit.one_run import OneRun
from discreet.attacks.audit.registry import attacks as attacks_of
from discreet.attacks.audit.report import AuditReport
from discreet.attacks.audit.rules import stacked
from discreet.attacks.audit.runs import Job, Seen, perform
from discreet.attacks.audit.targets import Target
from discreet.attacks.audit.trials import Trial, ready_attacks, sharing_fits
from discreet.attacks.audit.verdicts import Score, evaluate_runs
from discreet.attacks.audit.workers import Crew
from discreet.data.interactions import Interactions
from discreet.errors import DiscreetError, UsageError
from discreet.privacy.guarantees import Guarantee

__all__ = ["audit"]

Progress = Callable[[float, str], None]

WORTH_A_PROCESS = 6.0
"""Seconds of work below which other processes take longer to start than they save."""


def audit(
    model: Any,
    data: Dataset,
    *,
    attacks: str | Sequence[str | Attack] = "all",
    runs: int = 500,
    claim: Guarantee | None = None,
    confidence: float = 0.95,
    seconds: float | None = 180.0,
    processes: int | None = None,
    folder: str | Path | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> AuditReport:
    """Measure how much a model gives away, and compare it with what the model promises.

    Parameters
    ----------
    model
        What to audit, not fitted: a recommender, a way to count, to release tags or to answer queries (``Asked`` says
        which queries and which coupling), or any object with ``fit(data)`` and one of ``predict``, ``recommend`` and
        ``similar_items``; or a function that makes one.
    data
        Interactions, tag assignments or a table, whichever the model is made for: the records for the games that are
        played on real ones. They are fitted without a charge, inside a sandbox; the report is for their owner.
    attacks
        "all", names as in ``ATTACKS``, or attacks themselves. Those that do not apply are named with the reason.
    runs
        Fits in each of the two worlds of a game on the caller's records; games in small worlds are played ``effort``
        times as often. Half of them teach the attacker, the other half count.
    claim
        What is promised, where the model itself says nothing or something else is to be tested.
    confidence
        Of all that the report says together: each of K games is held to the error (1 − confidence)/K.
    seconds
        About how long the audit may take, divided among the games, small worlds three times as much as the caller's
        records; runs that the time does not allow are left out, and the report says so. None for no limit.
    processes
        How many processes share the fits; None for as many as there are processors.
    folder
        Where finished runs are kept, so that an interrupted audit goes on. It is as secret as the records.
    seed
        Draws targets and canaries. The noise of the model is never seeded.
    progress
        Called with the share that is done and with what is being done.

    Privacy
    -------
    Nothing is charged and nothing leaves: no ledger is touched, releases made on the way cannot be saved, and what the
    games on the caller's own records show is for the curator.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=60, items=30, seed=7)
    >>> report = audit(dc.counting.ItemCounts.of(epsilon=1, cap=8), films, attacks="canary", runs=20, processes=1)
    >>> report.verdict.startswith("consistent with ε = 1")
    True
    """
    _check(runs, confidence, seconds, seed)
    if not isinstance(data, Dataset) or len(data) == 0:
        raise UsageError("an audit needs records of the kind that the model is made for.")
    listed = attacks_of(attacks, type(data))
    target = Target.of(model, data, claim=claim)
    say = progress or (lambda share, doing: None)
    ready, skipped = ready_attacks(listed, target, data, seed)
    if not ready:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in skipped.items())
        raise UsageError(f"none of these attacks applies to {target.name}.", remedy=f"Choose others ({reasons}).")
    share = 1 - (1 - confidence) / len(ready)
    plan = _Plan(runs, seconds, None if folder is None else Path(folder))
    with Crew(processes or _processors()) as crew:
        scores = _all_played(ready, skipped, target, data, plan, crew, share, seed, say)
    if not scores:
        raise UsageError(f"no attack could be played against {target.name}.", remedy="Choose others.")
    say(1.0, "done")
    return AuditReport(
        model=target.name,
        settings={**target.described(), "data": data.name, "runs": runs, "seed": seed},
        guarantee=target.guarantee,
        confidence=confidence,
        scores=tuple(scores),
        skipped=skipped,
    )


@dataclass(frozen=True)
class _Plan:
    runs: int
    seconds: float | None
    folder: Path | None

    def turn(self, spent: float, weights: Sequence[int]) -> _Plan:
        """The plan of the first of several turns that are left: its part of the time that is left."""
        if self.seconds is None:
            return self
        left = max(self.seconds - spent, self.seconds / 20)
        return replace(self, seconds=left * weights[0] / sum(weights))


def _all_played(
    ready: Sequence[Trial],
    skipped: dict[str, str],
    target: Target,
    data: Dataset,
    plan: _Plan,
    crew: Crew,
    confidence: float,
    seed: int,
    say: Progress,
) -> list[Score]:
    """One group of games after the other; what cannot be played after all is added to what was skipped."""
    scores: list[Score] = []
    groups, begun = sharing_fits(ready), time.monotonic()
    # Small worlds prove most for their time.
    weights = [3 if isinstance(group[0].attack, Game) and group[0].attack.crafted else 1 for group in groups]
    for number, group in enumerate(groups):
        doing = ", ".join(trial.attack.name for trial in group)
        say(number / len(groups), doing)

        def tick(done: float, number: int = number, doing: str = doing) -> None:
            say((number + done) / len(groups), doing)

        if isinstance(group[0].attack, OneRun):
            try:
                scores.append(_once(group[0], target, data, confidence, seed))
            except DiscreetError as error:
                skipped[group[0].attack.name] = str(error)
        else:
            turn = plan.turn(time.monotonic() - begun, weights[number:])
            scores.extend(_played(group, target, data, turn, crew, confidence, seed, tick))
    return scores


def _once(trial: Trial, target: Target, data: Dataset, confidence: float, seed: int) -> Score:
    assert isinstance(trial.attack, OneRun)
    assert isinstance(data, Interactions)
    started = time.monotonic()
    fields = trial.attack.play(target, data, claim=trial.claim, confidence=confidence, seed=seed)
    return replace(_score(trial, confidence, fields), seconds=time.monotonic() - started)


def _played(
    trials: Sequence[Trial],
    target: Target,
    data: Dataset,
    plan: _Plan,
    crew: Crew,
    confidence: float,
    seed: int,
    tick: Callable[[float], None],
) -> list[Score]:
    started = time.monotonic()
    games = tuple(trial.attack for trial in trials if isinstance(trial.attack, Game))
    job, each = Job(target, games, data, seed), sum(trial.seconds for trial in trials)
    wanted = plan.runs * games[0].effort
    # Processes are started for work that takes longer than their start.
    together = crew.processes > 1 and (crew.started or 2 * wanted * each > WORTH_A_PROCESS)
    without, with_ = perform(
        job,
        wanted,
        seconds=plan.seconds,
        folder=plan.folder,
        tick=tick,
        crew=crew if together else None,
        pace=each,
    )
    runs = len(with_)
    hints = _hints(job)
    spent = (time.monotonic() - started) / len(games)
    place = "a small world" if job.crafted else "the given records"
    short = f" ({wanted:,} asked for; the time allowed no more)" if runs < wanted else ""
    scores = []
    for number, trial in enumerate(trials):
        absent, present = (stacked([seen[number] for seen in part]) for part in (without, with_))
        hint = None if hints is None else hints[number]
        fields = evaluate_runs(absent, present, claim=trial.claim, confidence=confidence, hint=hint)
        fields["how"] = f"{runs:,} fits in each world, {place}{short}"
        scores.append(replace(_score(trial, confidence, fields), seconds=spent))
    return scores


def _hints(job: Job) -> Seen | None:
    """What the secret changes of what each game sees where there is next to no noise."""
    loud = job.target.noiseless()
    if loud is None or not job.crafted:
        return None
    try:
        (_, without), (_, with_) = replace(job, target=loud).play([(0, False), (0, True)])
    except DiscreetError:
        return None
    pairs = [stacked(pair) for pair in zip(without, with_, strict=True)]
    return [pair[1] - pair[0] for pair in pairs]


def _score(trial: Trial, confidence: float, fields: dict[str, Any]) -> Score:
    attack = trial.attack
    return Score(
        game=attack.name, view=attack.view, unit=trial.unit, claim=trial.claim, confidence=confidence, **fields
    )


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check(runs: int, confidence: float, seconds: float | None, seed: int) -> None:
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 2:
        raise UsageError(f"runs = {runs!r} must be a whole number from 2: one half teaches, the other half counts.")
    if not 0 < confidence < 1:
        raise UsageError(f"confidence = {confidence} must be between 0 and 1.")
    if seconds is not None and seconds <= 0:
        raise UsageError(f"seconds = {seconds} must be above 0, or None for no limit.")
    if seed < 0:
        raise UsageError(f"seed = {seed} must not be below 0.")
