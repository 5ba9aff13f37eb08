"""What is promised about a combination, and how it names its parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from discreet.combining.shared import BUDGET, ROUND, leaves
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import loss_from_json
from discreet.privacy.numbers import as_fraction
from discreet.privacy.parallel import USUAL_DELTA, composed, weakest
from discreet.privacy.release import Release

__all__ = ["People", "combined_guarantee", "described", "stated_budget"]

People = Literal["disjoint", "may-overlap"]

MARK = ", combined from "


def combined_guarantee(
    releases: Sequence[Release], people: People, subject: str, *, joint: bool | None = None
) -> Guarantee:
    """The promise about one person, whose records are in one of the parts, or in several.

    Parameters
    ----------
    subject
        What is released.
    joint
        Given where the last round is combined, so that the promise is about all rounds together.
    """
    each = [one.guarantee for one in releases]
    count = len([leaf for one in releases for leaf in leaves(one)])
    delta = max(_delta(one) for one in releases)
    losses, standings = [one.loss for one in each], [one.standing for one in each]
    disjoint = people == "disjoint"
    loss = weakest(losses, delta) if disjoint else composed(losses, delta)
    before = releases[0].parameters["round"]["before"] if joint is not None else None
    if before is not None:
        loss = composed([loss_from_json(before["loss"]), loss], delta)
        standings.append(Standing[before["standing"]])
    # Of several rounds, or of people in several parts, each curator's ledger has what a period was charged.
    one_period = disjoint and before is None and len({one.per_period for one in each}) == 1
    how = "parallel composition" if disjoint else "composition of all parts"
    theorem = f"{how}, docs/proofs/combining.md, Theorem {1 if disjoint else 2}"
    declared = f"it was declared that {'nobody is in two' if disjoint else 'people may be in several'} of {count} parts"
    who = "groups with rows" if each[0].unit.what == "group" else "people who are"
    gaps = (f"{who} in several parts that were declared disjoint",) if disjoint else ()
    return replace(
        each[0],
        loss=loss,
        standing=max(standings, key=lambda one: one.rank),
        basis="; ".join(_distinct([theorem, *(ground for one in each for ground in one.basis.split("; "))])),
        subject=f"{subject.partition(MARK)[0]}{MARK}{count} curators",
        caps=_distinct([*(cap for one in each for cap in one.caps), declared]),
        not_covered=_distinct([*(gap for one in each for gap in one.not_covered), *gaps]),
        joint=any(one.joint for one in each) if joint is None else joint,
        per_period=each[0].per_period if one_period else "",
    )


def described(releases: Sequence[Release], people: People) -> dict[str, Any]:
    """The parts of a combination, and what was declared about their people; JSON-able."""
    return {"people": people, "parts": [_part(one) for one in releases]}


def _part(release: Release) -> dict[str, Any]:
    inner = release.parameters.get("combined")
    known = release.parameters.get("round", {}) if release.kind == ROUND else {}
    return {
        "id": release.id,
        "dataset": release.dataset,
        **{name: str(release.parameters[name]) for name in BUDGET if name in release.parameters},
        "loss": str(release.guarantee.loss),
        "standing": release.guarantee.standing.value,
        **({"took_part_before": known["took_part"]} if known.get("took_part") is not None else {}),
        **({} if inner is None else {"people": inner["people"], "parts": inner["parts"]}),
    }


def stated_budget(releases: Sequence[Release]) -> dict[str, Any]:
    """ε and δ of the part that spends most."""
    most = max(releases, key=lambda one: (as_fraction(one.parameters.get("epsilon", 0)), _delta(one)))
    covering = weakest([one.guarantee.loss for one in releases])
    most = next((one for one in releases if one.guarantee.loss == covering), most)
    return {name: most.parameters[name] for name in BUDGET if name in most.parameters}


def _delta(release: Release) -> Fraction:
    return as_fraction(release.parameters.get("delta", 0)) or USUAL_DELTA


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))
