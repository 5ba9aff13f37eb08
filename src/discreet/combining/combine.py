"""Releases of several curators become one: sums add up, and so do the variances of their noise.

Whoever combines reads releases alone, so it costs nothing and needs nobody's records. ``docs/proofs/combining.md`` has
the theorems.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from discreet.combining.promises import People, combined_guarantee, described, stated_budget
from discreet.combining.public_side import require_same_list
from discreet.combining.shared import (
    BUDGET,
    ROUND,
    Shared,
    leaves,
    loaded,
    named,
    require_round,
)
from discreet.combining.stages import CHOICE, CHOOSE_LATER, Array, Stage, by_round, epsilon_like, part_name, played
from discreet.common.arguments import require_choice
from discreet.common.foreign import foreign_errors
from discreet.errors import ReleaseError, Remedy, UsageError
from discreet.models.registry import Entry, entry_of
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.method import Method, Plan
from discreet.privacy.numbers import as_fraction
from discreet.privacy.release import Release

__all__ = ["combine"]

ALIKE = 1e-6
"""Noise of a later round that differs by less from what the first round lets expect is as expected."""


def combine(
    *parts: Release | str | Path, people: Literal["disjoint", "may-overlap"], name: str | None = None
) -> Release:
    """One release from those of several curators, of the sums of all of them.

    Counts are added up as they are. Methods of several rounds are combined round by round: the combination of one round
    is what each curator starts the next one from (``release_round``), and that of the last one is the model.

    Parameters
    ----------
    parts
        Releases of one method with the same settings (but for ε and δ) and the same catalog, or folders with them.
        Combinations can be combined again.
    people
        Whether nobody is in two of the parts ("disjoint"), which the curators declare and nobody can check, or
        somebody may be ("may-overlap").
    name
        What the records of all are called; the names of the parts unless given.

    Returns
    -------
    Release
        Where people are disjoint, the guarantee is the weakest of the parts; otherwise it is their composition. It is
        charged to nobody: each curator has charged their own part.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=600, items=80, seed=7)
    >>> shops = [films.filter(films.user % 3 == shop, independent=True) for shop in range(3)]
    >>> counts = [dc.counting.ItemCounts(epsilon=1, delta="1e-6").release(shop) for shop in shops]
    >>> together = dc.combine(*counts, people="disjoint")
    >>> together.guarantee.loss == counts[0].guarantee.loss
    True
    >>> round(together.parameters["noise_sd"] / counts[0].parameters["noise_sd"], 3)  # the square root of 3
    1.732
    """
    require_choice(people, "people", ("disjoint", "may-overlap"))
    releases = [loaded(part) for part in parts]
    _require_several(releases)
    first, rest = releases[0], releases[1:]
    if any((one.kind == ROUND) != (first.kind == ROUND) for one in rest):
        raise ReleaseError("some of these are releases of a round, and some are not: they cannot be added up.")
    if name is None:
        name = " + ".join(dict.fromkeys(one.dataset or "(unnamed)" for one in releases))
    with foreign_errors(lambda words: ReleaseError(f"these releases cannot be combined: {words}.")):
        if first.kind == ROUND:
            facts, guarantee, found = _added_rounds(releases, people, name)
        else:
            facts, guarantee, found = _added_releases(releases, people)
    return Release(
        guarantee=guarantee,
        parts=found,
        dataset=name,
        sandboxed=any(one.sandboxed for one in releases),
        **facts,
    )


def _require_several(releases: Sequence[Release]) -> None:
    if len(releases) < 2:
        raise UsageError("at least two releases are required.")
    seen: dict[str, str] = {}
    for release in releases:
        for leaf in leaves(release):
            if leaf in seen:
                raise ReleaseError(
                    f"release {leaf[:12]} is there twice, in {seen[leaf]} and in {named(release)}: its people would "
                    "count twice.",
                    remedy="Name each part once.",
                )
            seen[leaf] = named(release)
    units = {str(one.guarantee.unit): one for one in releases}
    if len(units) > 1:
        raise ReleaseError(
            f"the parts protect different units: {' and '.join(units)}.",
            remedy=Remedy(
                "All curators need the same unit; of groups of rows, the same largest one: Coupling.at_most(k).",
                cli="All curators need the same unit; of groups of rows, the same largest one: --at-most K.",
            ),
        )


Added = tuple[dict[str, Any], Guarantee, Mapping[str, Any]]
"""Facts about the release, its guarantee, its parts."""


# Releases as they are


def _added_releases(releases: Sequence[Release], people: People) -> Added:
    first = releases[0]
    for one in releases[1:]:
        if (one.kind, one.mechanism) != (first.kind, first.mechanism):
            raise ReleaseError(f"{named(one)} is a release of {one.mechanism}, not of {first.mechanism}.")
    adds = _sums_of(first)
    figures = {
        figure: names[0]
        for part, names in adds.items()
        if part in first.parts
        for figure in names
        if figure in first.parameters
    }
    for one in releases[1:]:
        _sums_of(one)
        _require_same_settings(first, one, {*BUDGET, *figures, "combined"})
        _require_same_parts(first, one)
    if len({as_fraction(one.parameters.get("delta", 0)) > 0 for one in releases}) > 1:
        raise ReleaseError(
            "some parts have delta = 0 and others have not: their sums are bounded in different ways.",
            remedy="All curators need a delta above 0, or none.",
        )
    growth = {
        deviation: math.sqrt(sum(float(one.parameters[deviation]) ** 2 for one in releases))
        / float(first.parameters[deviation])
        for deviation in set(figures.values())
    }
    parameters = {
        **first.parameters,
        **{figure: first.parameters[figure] * growth[deviation] for figure, deviation in figures.items()},
        **stated_budget(releases),
        "combined": described(releases, people),
    }
    parts = {name: _sum_of(releases, name) if name in adds else part for name, part in first.parts.items()}
    facts = {"kind": first.kind, "mechanism": first.mechanism, "model": first.model, "parameters": parameters}
    return facts, combined_guarantee(releases, people, first.guarantee.subject), parts


def _sums_of(release: Release) -> Mapping[str, tuple[str, ...]]:
    """The parts of a release that are sums; refuses what is not made of sums, and says what to do."""
    entry, known = entry_of(release.mechanism), release.parameters
    if "series" in known:
        raise ReleaseError(f"{named(release)} is a step of a series, which cannot be combined.")
    if "finish" in known:
        raise ReleaseError(
            f"the counts of {named(release)} are finished, so they are no sums any more.",
            remedy="Combine the counts as they were drawn, and finish the combination.",
        )
    adds = dict(getattr(entry.load(), "adds", {}))
    # An array beside the sums is what an earlier round has said, and other counts were made of sums afterwards.
    others = [part for name, part in release.parts.items() if name not in adds]
    later = any(not isinstance(part, pl.DataFrame) or COUNT in part.columns for part in others)
    stated = all(isinstance(known.get(adds[name][0]), float) for name in adds if name in release.parts)
    if not adds or later or not stated:
        way = _round_by_round(entry)
        raise ReleaseError(f"releases of {release.mechanism} cannot be added up{way[0]}.", remedy=way[1])
    return adds


def _round_by_round(entry: Entry) -> tuple[str, str]:
    method = entry.load()
    if issubclass(method, Method) and method.chooses:
        return f": {CHOICE}", CHOOSE_LATER
    if issubclass(method, Method) and method.reads == "sums":
        made = "each was made by what its first round said, which differs"
        if entry.takes == "table":
            made = "answers are made of noisy counts, which such a release does not keep"
        return (
            f": {made}",
            "Run the method round by round: --round 1, combine, --round 2 --after … (docs/curators.md).",
        )
    return "", "Take a method that releases sums over people, such as weighted counts or private-recommender."


def _require_same_settings(first: Release, other: Release, free: set[str]) -> None:
    for name in {**first.parameters, **other.parameters}:
        mine, theirs = first.parameters.get(name), other.parameters.get(name)
        if name not in free and mine != theirs:
            raise ReleaseError(
                f"{named(other)} was made with {name} = {theirs!r}, not {mine!r}.",
                remedy="All curators need the same settings; epsilon and delta may differ.",
            )


COUNT = "count"
TEXTS = ("title",)
"""Columns that say nothing about which number a row has."""


def _require_same_parts(first: Release, other: Release) -> None:
    """What is no sum must be the same: the catalog, the values of contexts, a public head."""
    for name in {**first.parts, **other.parts}:
        if name not in first.parts or name not in other.parts:
            raise ReleaseError(f"of {named(first)} and {named(other)} one has no part {name!r}.")
        mine, theirs = first.parts[name], other.parts[name]
        if isinstance(mine, pl.DataFrame) and isinstance(theirs, pl.DataFrame):
            keys = [column for column in mine.columns if column not in (COUNT, *TEXTS)]
            if keys[0] in theirs.columns:
                require_same_list(mine[keys[0]], theirs[keys[0]], named(other))
            if not all(column in theirs.columns and mine[column].equals(theirs[column]) for column in keys):
                raise ReleaseError(f"the table {name!r} of {named(other)} has other rows.")
        elif np.shape(mine) != np.shape(theirs):
            raise ReleaseError(f"the part {name!r} of {named(other)} has another size.")


def _sum_of(releases: Sequence[Release], name: str) -> Any:
    parts = [one.parts[name] for one in releases]
    if isinstance(parts[0], pl.DataFrame):
        counts = np.sum([one[COUNT].to_numpy() for one in parts if isinstance(one, pl.DataFrame)], axis=0)
        return parts[0].with_columns(pl.Series(COUNT, counts))
    return sum(np.asarray(one) for one in parts)


# Releases of a round


def _added_rounds(releases: Sequence[Release], people: People, name: str) -> Added:
    for one in releases:
        require_round(one, "each part")
    first, (shared, *others) = releases[0], [Shared.of_release(one) for one in releases]
    number = first.parameters["round"]["number"]
    for one, other in zip(releases[1:], others, strict=True):
        shared.require_same(other, named(one))
        _require_same_round(first, one)
    if number == 1:
        shared = replace(shared, side=shared.side.of_all([one.side for one in others]))
    earlier = by_round(first.parts, number)
    summed = [_summed(arrays) for arrays in zip(*(by_round(one.parts, number)[-1] for one in releases), strict=True)]
    noise = [*first.parameters["round"]["noise"][:-1], _noise_of_sum(releases)]
    like = dict(first.parameters["round"]["like"])
    if number == 1:
        like = _like(shared, releases, noise[0])
    driver = shared.method(**like)
    plan = shared.side.plan(driver)
    stage = played(driver, plan, shared.side.nobody, [*earlier[:-1], summed])
    if stage.made is None:
        return _next_round(releases, people, shared, {"like": like, "noise": noise}, summed)
    facts, guarantee, parts = _finished(releases, people, driver, plan, stage, noise)
    return {**facts, "facts": driver._facts(name, plan)}, guarantee, parts


def _require_same_round(first: Release, other: Release) -> None:
    mine, theirs = first.parameters["round"], other.parameters["round"]
    if mine["number"] != theirs["number"]:
        raise ReleaseError(f"{named(other)} is round {theirs['number']}, {named(first)} is round {mine['number']}.")
    if (mine["after"], mine["before"], mine["like"]) != (theirs["after"], theirs["before"], theirs["like"]) and (
        mine["number"] > 1
    ):
        raise ReleaseError(
            f"{named(other)} comes after another round than {named(first)}: {str(theirs['after'])[:12]}, not "
            f"{str(mine['after'])[:12]}. Their sums are about different things.",
            remedy="All curators start a round from the same combination of the one before.",
        )
    earlier = (by_round(one.parts, mine["number"] - 1) for one in (first, other))
    for one, two in zip(*earlier, strict=True):
        if len(one) != len(two) or not all(map(np.array_equal, one, two)):
            raise ReleaseError(f"{named(other)} has other numbers of the rounds before than {named(first)}.")


def _summed(arrays: Sequence[Array]) -> Array:
    if len({one.shape for one in arrays}) > 1 or len({one.dtype for one in arrays}) > 1:
        raise ReleaseError("the arrays of these rounds have different shapes.")
    if not all((np.abs(one.astype(np.float64)) < 2.0**62 / len(arrays)).all() for one in arrays):
        raise ReleaseError("a number of these rounds is not finite, or their sum is too large.")
    total = arrays[0].copy()  # one after the other: matrices are large
    for one in arrays[1:]:
        total += one
    return total


def _noise_of_sum(releases: Sequence[Release]) -> list[float]:
    """Of the latest round: variances add up, for each mechanism."""
    each = [one.parameters["round"]["noise"][-1] for one in releases]
    return [math.sqrt(sum(deviation**2 for deviation in column)) for column in zip(*each, strict=True)]


def _like(shared: Shared, releases: Sequence[Release], noise: Sequence[float]) -> dict[str, str]:
    """The budget of a single release with as much noise as the sum: it decides what such noise is good for."""
    deltas = [as_fraction(one.parameters.get("delta", 0)) for one in releases]
    method = shared.method(shared.settings["epsilon"], str(max(deltas)))
    plan = shared.side.plan(method)
    step = played(method, plan, shared.side.nobody, []).next
    epsilon = epsilon_like(step, plan.loss, noise[0], max(deltas))
    return {"epsilon": str(shared.settings["epsilon"] if epsilon is None else epsilon), "delta": str(max(deltas))}


def _next_round(
    releases: Sequence[Release], people: People, shared: Shared, changed: dict[str, Any], summed: list[Array]
) -> Added:
    """A round that others follow: as each of the parts, with the sums of all."""
    first = releases[0]
    number = first.parameters["round"]["number"]
    parameters = {
        **first.parameters,
        **stated_budget(releases),
        "shape": shared.side.to_json(),
        "round": {**first.parameters["round"], **changed, "took_part": None},
        "combined": described(releases, people),
    }
    parts = {**first.parts, **{part_name(number, place): array for place, array in enumerate(summed, start=1)}}
    facts = {"kind": ROUND, "mechanism": first.mechanism, "model": False, "parameters": parameters}
    return facts, combined_guarantee(releases, people, first.guarantee.subject), parts


def _finished(
    releases: Sequence[Release], people: People, driver: Method, plan: Plan, stage: Stage, noise: list[list[float]]
) -> Added:
    """What the method makes of all rounds: a release like any other."""
    assert stage.made is not None
    parts, found = stage.made if isinstance(stage.made, tuple) else (stage.made, {})
    asked = {**plan.details, **plan.expected, **found}
    figures, settled = dict(asked), {}
    for step, deviations in zip(stage.steps, noise, strict=True):
        expected = step.deviations(step.mechanisms)
        for place, (deviation, known) in enumerate(zip(deviations, expected, strict=True)):
            ratio = deviation / known if known else 1.0
            if place < len(step.asked.noise):
                figures[step.asked.noise[place]] *= ratio
                if step.asked.settles and abs(ratio - 1) > ALIKE:
                    # Later rounds were computed with the noise that was expected: they are read with it, too.
                    settled = {"settled": asked}
            elif abs(ratio - 1) > ALIKE:
                raise ReleaseError(
                    f"the parts of a later round of {driver.name} have {ratio:.4g} times the noise that those of the "
                    "first one let expect.",
                    remedy="The same curators need to take part in all rounds, with the same epsilon and delta.",
                )
    known = releases[0].parameters["round"]
    budget = {name: value for name, value in stated_budget(releases).items() if name in driver.parameters}
    parameters = {
        **driver._described(),
        **figures,
        **settled,
        **budget,
        "combined": {
            **described(releases, people),
            "after": known["after"],
            "single_release": known["like"] if known["number"] > 1 else {n: str(getattr(driver, n, 0)) for n in BUDGET},
            "noise_like": plan.loss.to_json(),
        },
    }
    facts = {"kind": driver.kind, "mechanism": driver.name, "model": driver.is_model, "parameters": parameters}
    return facts, combined_guarantee(releases, people, plan.subject, joint=plan.joint), parts
