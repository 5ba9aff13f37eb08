"""Attacks that can be played against a target: found by playing one run of each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.attacks.audit.claims import Claim, claim_about
from discreet.attacks.audit.game import Attack, Dataset, Game
from discreet.attacks.audit.one_run import OneRun
from discreet.attacks.audit.runs import Job
from discreet.attacks.audit.targets import Target
from discreet.errors import DiscreetError

__all__ = ["Trial", "ready_attacks", "sharing_fits"]


@dataclass(frozen=True)
class Trial:
    """An attack that applies, with what one fit of it takes and what is claimed about its worlds."""

    attack: Attack
    claim: Claim | None
    unit: str
    seconds: float


def ready_attacks(
    listed: Sequence[Attack], target: Target, data: Dataset, seed: int
) -> tuple[list[Trial], dict[str, str]]:
    """Attacks that can be played, found by playing one run of each; the reasons of the others.

    Which attacks share the confidence is settled here, before anything counts.
    """
    ready, skipped = [], {}
    for attack in listed:
        reason = _other_kind(attack, data) or attack.obstacle(target, data)
        if reason is None:
            try:
                ready.append(_tried(attack, target, data, seed))
            except DiscreetError as error:
                reason = str(error)
        if reason is not None:
            skipped[attack.name] = reason
    return ready, skipped


def _other_kind(attack: Attack, data: Dataset) -> str | None:
    wanted = attack.data_type
    return None if isinstance(data, wanted) else f"it is played on {wanted.__name__}, not on {type(data).__name__}"


def _tried(attack: Attack, target: Target, data: Dataset, seed: int) -> Trial:
    delta = target.setting("delta")
    if isinstance(attack, OneRun):
        claim = claim_about(target.guarantee, attack.unit, records=attack.size, delta=delta)
        # Guesses in one run bound ε and nothing else.
        return Trial(attack, None if claim is None else claim.as_epsilon(), str(attack.unit), 0.0)
    assert isinstance(attack, Game)
    job = Job(target, (attack,), data, seed)
    worlds = job.worlds(0)
    list(job.play([(0, False)]))
    # The first fit loads and compiles; the second one tells the time.
    started = time.monotonic()
    list(job.play([(0, True)]))
    promise = target.promise_in(worlds.without)
    claim = claim_about(promise, worlds.unit, records=worlds.records, delta=delta)
    return Trial(attack, claim, str(worlds.unit), time.monotonic() - started)


def sharing_fits(trials: Sequence[Trial]) -> list[list[Trial]]:
    """Games that differ in what the attacker sees and in nothing else: they are played on the same fits.

    Their bounds are not independent then. They need not be: the confidence is shared by a union bound.
    """
    groups: dict[Attack, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(replace(trial.attack, name="", view="white box"), []).append(trial)
    return list(groups.values())
