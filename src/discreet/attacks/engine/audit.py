"""The audit: play every attack that applies, prove what can be proved, say it in words."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from discreet.attacks.engine.claims import ClaimLike, as_guarantee
from discreet.attacks.engine.foreign import is_foreign
from discreet.attacks.engine.making import by_name, made, notes_on_noise
from discreet.attacks.engine.report import AuditReport
from discreet.attacks.engine.rules import stacked
from discreet.attacks.engine.runs import Job, perform
from discreet.attacks.engine.targets import Target, small_datasets
from discreet.attacks.engine.trials import Clock, Trial, affordable, ready_attacks
from discreet.attacks.engine.verdicts import Score, evaluate_runs
from discreet.attacks.engine.workers import WorkerPool
from discreet.attacks.games.datasets import require_records
from discreet.attacks.games.game import Attack, Dataset, Features, Game
from discreet.attacks.games.given import OneRun
from discreet.attacks.games.registry import attacks as attacks_of
from discreet.data.interactions import Interactions
from discreet.errors import DiscreetError, EvaluationError, UsageError
from discreet.privacy.units import Unit
from discreet.reports.progress import Progress, shown_progress

__all__ = ["audit"]

WORTH_A_PROCESS = 6.0
"""Seconds of work below which other processes take longer to start than they save."""


def audit(
    model: Any,
    data: Dataset,
    *,
    attacks: str | Sequence[str | Attack] = "all",
    runs: int = 500,
    claim: ClaimLike | None = None,
    unit: Unit | str | None = None,
    cap: int | None = None,
    confidence: float = 0.95,
    seconds: float | None = 180.0,
    processes: int | None = None,
    folder: str | Path | None = None,
    seed: int = 0,
    progress: Progress | bool | None = None,
) -> AuditReport:
    """Measure how much a model gives away, and compare it with its guarantee.

    Parameters
    ----------
    model
        What to audit, not fitted: a ``Recommender``, a ``Method`` (``Asked`` says which queries and which coupling),
        or any object with ``fit(data)`` and one of ``predict``, ``recommend`` and ``similar_items``; or a class or
        function that makes one; or the name of a model of another library ("lenskit:ItemKNN"). Every run has a new
        model: what a class or function makes, or a copy of the object, with a new state of its random generators.
    data
        Interactions, tag assignments or a table, whichever the model is made for: the records for the games that are
        played on real ones. They are fitted without a charge, inside a sandbox; the report is for their owner.
    attacks
        "all", names as in ``ATTACKS``, or attacks themselves. Those that do not apply are named with the reason.
    runs
        Fits to each of the two datasets of a game on the caller's records; games on small datasets are played
        ``effort`` times as often. Half of them teach the attacker, the other half count.
    claim
        What is claimed, where the model itself says nothing or something else is to be tested: epsilon, (epsilon,
        delta), a loss or a guarantee.
    unit
        What a claim in numbers is about: "user" (the default), "record", "record/value" or another unit.
    cap
        How many records of one user the model uses, where it has no attribute ``cap`` that says so: canaries have as
        many.
    confidence
        Of all that the report says together: each of K games is held to the error (1 − confidence)/K.
    seconds
        How long the audit may take, divided among the games, small datasets three times as much as the caller's
        records; runs and attacks that the time does not allow are left out, and the report says so. A fit that takes
        too long is ended, where other processes do it. None for no limit.
    processes
        How many processes share the fits; None for as many as there are processors. A service behind a URL is fitted
        by one.
    folder
        Where finished runs are kept, so that an interrupted audit goes on. It is as secret as the records. Runs count
        for the same model, with the same settings and source, and for no other.
    seed
        Draws targets and canaries. The noise of the model is never seeded.
    progress
        Called with the share that is done and with what is being done. Without it, a bar is shown on a terminal and in
        a notebook; False shows none.

    Notes
    -----
    Ctrl-C ends the audit, and what was played until then is reported.

    Privacy
    -------
    Nothing is charged and nothing leaves: no ledger is touched, releases made on the way cannot be saved, and what the
    games on the caller's own records show is for the curator.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=60, items=30, seed=7)
    >>> report = audit(dc.counting.ItemCounts(epsilon=1, cap=8), films, attacks="canary", runs=20, processes=1)
    >>> report.verdict.startswith("consistent with ε = 1")
    True
    """
    _check(runs, confidence, seconds, seed, cap)
    require_records(data)
    clock, kept = Clock(seconds, time.monotonic()), None if folder is None else Path(folder)
    listed = attacks_of(attacks, type(data))
    target = Target.of(by_name(model), data, claim=as_guarantee(claim, unit), cap=cap, folder=kept)
    if kept is not None:
        _ = target.identity  # refuses what could not be told from another version
    notes = list(_noise(target, data, clock))
    if target.unread:
        notes.append(
            f"no attack can look at these parts of its release_: {', '.join(target.unread[:5])}. Give arrays, "
            "tables or numbers by item"
        )
    if target.one_process and (processes or 2) > 1:
        notes.append(f"{target.name} is one service: it is fitted by one process")
    bar = nullcontext(progress) if callable(progress) else shown_progress(f"auditing {target.name}", progress)
    with (
        bar as tell,
        WorkerPool(1 if target.one_process else processes or _processors()) as crew,
    ):
        ready, skipped = ready_attacks(listed, target, data, seed, clock, crew)
        ready, slow = affordable(ready, clock, crew.processes)
        share = 1 - (1 - confidence) / max(1, sum(len(trial.attacks) for trial in ready))
        audit = _Audit(target, data, clock, crew, kept, share, runs, seed, tell)
        scores = audit.play(ready)
    skipped |= slow | audit.skipped
    if not scores:
        if audit.interrupted:
            raise KeyboardInterrupt
        raise _none_applies(target, skipped)
    if audit.interrupted:
        notes.append("the audit was interrupted: it reports what was played until then")
    places = {attack.name: place for place, attack in enumerate(listed)}
    return AuditReport(
        model=target.name,
        settings={**target.described(), "data": data.name, "runs": runs, "seed": seed},
        guarantee=target.guarantee,
        confidence=confidence,
        scores=tuple(sorted(scores, key=lambda score: places[score.game])),
        skipped=skipped,
        notes=tuple(notes),
        interrupted=audit.interrupted,
        shown=target.views,
    )


def _noise(target: Target, data: Dataset, clock: Clock) -> tuple[str, ...]:
    """What there is to say about the noise of a model that was written elsewhere and for which something is claimed."""
    if target.guarantee is None or target.one_process or not is_foreign(made(target.prototype)):
        return ()
    return notes_on_noise(target, small_datasets(data)[0], seconds=min(10.0, 0.1 * (clock.seconds or 100.0)))


def _none_applies(target: Target, skipped: Mapping[str, str]) -> DiscreetError:
    reasons: dict[str, list[str]] = {}
    for name, reason in skipped.items():
        reasons.setdefault(reason, []).append(name)
    # What the model did wrong comes before what it does not have.
    first = sorted(reasons, key=lambda reason: not reason.startswith(f"{target.name}."))
    told = " ".join(f"{', '.join(reasons[reason])}: {reason.rstrip('.')}." for reason in first)
    return UsageError(f"no attack could be played against {target.name}.", remedy=told)


@dataclass(eq=False)
class _Audit:
    """One audit while it is played."""

    target: Target
    data: Dataset
    clock: Clock
    crew: WorkerPool
    folder: Path | None
    confidence: float
    runs: int
    seed: int
    say: Progress
    skipped: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False

    def play(self, ready: Sequence[Trial]) -> list[Score]:
        """One group of games after the other; what cannot be played after all is added to what was skipped."""
        scores: list[Score] = []
        # The shortest first: the time that they leave goes to the others. Which is which depends on the clock alone.
        trials = sorted(ready, key=lambda trial: trial.seconds * trial.attacks[0].effort)
        weights = [trial.attacks[0].share for trial in trials]
        for number, trial in enumerate(trials):
            names = [attack.name for attack in trial.attacks]
            self.say(number / len(trials), ", ".join(names))

            def tick(done: float, number: int = number, doing: str = ", ".join(names)) -> None:
                self.say((number + done) / len(trials), doing)

            try:
                if self.interrupted:
                    raise EvaluationError("the audit was interrupted.")
                scores.extend(self._played(trial, self.clock.turn(weights[number:]), tick))
            except KeyboardInterrupt:
                self.interrupted = True
                self.skipped |= dict.fromkeys(names, "the audit was interrupted.")
            except DiscreetError as error:
                self.skipped |= dict.fromkeys(names, str(error))
        self.say(1.0, "done")
        return scores

    def _played(self, trial: Trial, until: float, tick: Callable[[float], None]) -> list[Score]:
        started, first = time.monotonic(), trial.attacks[0]
        if isinstance(first, OneRun):
            assert isinstance(self.data, Interactions)
            if self.clock.for_runs < 0:
                raise EvaluationError("there was no time left for it.")
            options: Any = {"claim": trial.claim, "confidence": self.confidence, "seed": self.seed}
            fields = [first.play(self.target, self.data, **options)]
        else:
            fields = self._fields(trial, until, tick)
        common: Any = {"unit": trial.unit, "claim": trial.claim, "confidence": self.confidence}
        common["seconds"] = (time.monotonic() - started) / len(fields)
        return [
            Score(game=attack.name, view=attack.view, **common, **found)
            for attack, found in zip(trial.attacks, fields, strict=True)
        ]

    def _fields(self, trial: Trial, until: float, tick: Callable[[float], None]) -> list[dict[str, Any]]:
        """What the runs of games that share their fits show, for each of them."""
        games = tuple(attack for attack in trial.attacks if isinstance(attack, Game))
        job, wanted = Job(self.target, games, self.data, self.seed), self.runs * games[0].effort
        # Processes are started for work that takes longer than their start.
        work = min(2 * wanted * trial.seconds, until - time.monotonic())
        crew = self.crew if self.crew.processes > 1 and (self.crew.started or work > WORTH_A_PROCESS) else None
        limits: Any = {"until": until, "latest": self.clock.latest}
        played = perform(job, wanted, **limits, folder=self.folder, tick=tick, crew=crew, pace=trial.seconds)
        self.interrupted = self.interrupted or played.interrupted
        runs = len(played.with_)
        if runs < 2:
            raise EvaluationError(
                "the audit was interrupted." if played.interrupted else f"the time allowed {runs} runs only."
            )
        stopped = "it was interrupted" if played.interrupted else "the time allowed no more"
        short = f" ({wanted:,} asked for; {stopped})" if runs < wanted else ""
        how = f"{runs:,} fits to each dataset, {'small datasets' if job.crafted else 'the given records'}{short}"
        found, hints = [], _hints(job)
        for number, hint in enumerate(hints):
            absent, present = (stacked([seen[number] for seen in part]) for part in (played.without, played.with_))
            fields = evaluate_runs(absent, present, claim=trial.claim, confidence=self.confidence, hint=hint)
            found.append({**fields, "how": how})
        return found


def _hints(job: Job) -> Sequence[Features | None]:
    """What the secret changes of what each game sees where there is next to no noise; None where that is not known."""
    loud, unknown = job.target.noiseless(), [None] * len(job.games)
    if loud is None or not job.crafted:
        return unknown
    try:
        (_, without), (_, with_) = replace(job, target=loud).play([(0, False), (0, True)])
    except DiscreetError:
        return unknown
    pairs = [stacked(pair) for pair in zip(without, with_, strict=True)]
    return [pair[1] - pair[0] for pair in pairs]


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check(runs: int, confidence: float, seconds: float | None, seed: int, cap: int | None) -> None:
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 2:
        raise UsageError(f"runs = {runs!r} must be a whole number from 2: one half teaches, the other half counts.")
    if not 0 < confidence < 1:
        raise UsageError(f"confidence = {confidence} must be between 0 and 1.")
    if seconds is not None and seconds <= 0:
        raise UsageError(f"seconds = {seconds} must be above 0, or None for no limit.")
    if seed < 0:
        raise UsageError(f"seed = {seed} must not be below 0.")
    if cap is not None and (isinstance(cap, bool) or not isinstance(cap, int) or cap < 1):
        raise UsageError(f"cap = {cap!r} must be a whole number from 1.")
