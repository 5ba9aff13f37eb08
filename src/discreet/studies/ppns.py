"""Study: partitioned probabilistic neighbor selection (PPNS) and the kNN attacks, Figures 5.4 to 5.15 of Lu's thesis.

The figures themselves are not in the copy of the thesis at hand; each is run again from its caption and judged by what
the text says of it. The thesis reports the error of predictions under attack and takes a small one for a success. But
what is predicted there are ratings that the attacker does not know: a small error is the *attacker's* success. So the
share of all hidden ratings that is recovered stands beside the error, and beside that the same without the target.

References
----------
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis, The
University of Adelaide 2015, chapter 5.
"""

from __future__ import annotations

from dataclasses import asdict

import polars as pl

from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.studies.ppns_arena import FULL, LAYOUT, RAREST, READINGS, Plan
from discreet.studies.ppns_claims import FAR, TRIED, claims_table, curve
from discreet.studies.ppns_figures import Figure, figures
from discreet.studies.published import published
from discreet.studies.report import Progress, StudyReport

__all__ = ["run"]

MOST_USERS = 1_000
"""Of more users so many are drawn: the size of the data that the thesis uses."""

Figures = dict[str, Figure]


def run(data: Interactions, *, seed: int = 0, quick: bool = False, progress: Progress | None = None) -> StudyReport:
    """Run the experiments of Lu's fifth chapter.

    Parameters
    ----------
    data
        Ratings on a declared scale, one of each item by each user. Of more than 1,000 users 1,000 are drawn.
    seed
        Draws users, targets and what is known of them. The choice of neighbors draws from the operating system.
    quick
        Fewer targets and values, to see that it runs.
    progress
        Called with the share that is done and what was done.

    Privacy
    -------
    None: the report shows errors measured on the records themselves.

    Notes
    -----
    In the tables "exact" is the share of all hidden ratings that the attacker is told to the last digit, "right" the
    share that is right after rounding, which a mean of strangers often is, too; "absent" is the same attack with the
    target's records taken out.
    """
    _check(data)
    sampled = data.sample_users(MOST_USERS, seed=seed) if data.n_users > MOST_USERS else data
    plan = Plan.of(sampled.n_users, quick=quick)
    found: Figures = {}
    for place, of, figure in figures(sampled, plan, seed=seed):
        found[figure.number] = figure
        if progress is not None:
            progress((place + 1) / of, figure.heading)
    claims = claims_table(found)
    return StudyReport(
        name="ppns",
        title="Partitioned neighbor selection under the kNN attacks",
        source=published("ppns")["source"],
        setting={
            "data": data.name or repr(data),
            "users": sampled.n_users,
            "items": sampled.n_items,
            "records": len(sampled),
            "seed": seed,
            "m": plan.MAIN_KNOWN,
            **asdict(plan),
        },
        tables={"Claims of the text": claims} | {figure.heading: figure.table for figure in found.values()},
        charts=tuple(figure.chart for figure in found.values()),
        findings=tuple(_findings(found, claims, plan)),
    )


def _check(data: Interactions) -> None:
    if data.rating is None or data.scale is None:
        raise UsageError(
            "this study guesses ratings, and these records have none on a declared scale.",
            remedy="Give records with ratings: Interactions(…, scale='1:5').",
        )
    if data.may_repeat:
        raise UsageError(
            "this study needs one rating of each item by each user; these records may repeat.",
            remedy="Choose duplicates='last' or call without_repeats().",
        )


# What it shows


def _findings(found: Figures, claims: pl.DataFrame, plan: Plan) -> list[str]:
    return [
        _on_the_attack(found["kNN"].table, plan),
        _on_the_meaning(found["5.7"].table, plan),
        _on_epsilon_and_k(found["5.9"].table, found["5.8"].table),
        _on_more_sybils(found["5.12"].table, plan),
        _on_accuracy(found["5.5"].table, found["5.4"].table),
        _on_the_claims(claims),
    ]


def _on_the_attack(table: pl.DataFrame, plan: Plan) -> str:
    at_main = table.filter(pl.col("m") == plan.MAIN_KNOWN)

    def recovered(reading: str) -> str:
        exact = curve(at_main, "kNN", "exact", reading=reading)[0]
        absent = curve(at_main, "kNN", "exact, absent", reading=reading)[0]
        return f"{exact:.0%} (without the target {absent:.0%})"

    return (
        "How much the attack gets from plain kNN depends on what the thesis leaves open. "
        f"With {plan.MAIN_KNOWN} known ratings, {plan.k} sybils recover {recovered(READINGS[0].name)} of the hidden "
        "ratings with the co-rated cosine as printed and ties broken by a coin, "
        f"{recovered(LAYOUT.name)} if the target goes first among equals, "
        f"{recovered(FULL.name)} with the cosine of whole rating lists, "
        f"and {recovered(RAREST.name)} with the latter if the rarest items are the known ones."
    )


def _on_the_meaning(table: pl.DataFrame, plan: Plan) -> str:
    at_beta = table.filter(pl.col("β") == plan.beta)
    parts = []
    for reading in (LAYOUT, FULL, RAREST):
        exact = {model: curve(at_beta, model, "exact", reading=reading.name)[0] for model in ("kNN", "nPNS", "PPNS")}
        error = {model: curve(at_beta, model, reading=reading.name)[0] for model in ("nPNS", "PPNS")}
        kept = f", {exact['PPNS'] / exact['kNN']:.0%} of what kNN leaks" if exact["kNN"] > 0 else ""
        parts.append(
            f"{reading.name}: PPNS errs by {error['PPNS']:.2f} and gives away {exact['PPNS']:.0%} of the hidden ratings"
            f"{kept}; nPNS errs by {error['nPNS']:.2f} and gives away {exact['nPNS']:.0%}"
        )
    return (
        "Under attack a small error is the attacker's success, because what is predicted is what the attacker does not "
        f"know. At β = {plan.beta} with {plan.k} sybils, "
        + "; ".join(parts)
        + ". PPNS keeps all but one of the nearest "
        f"neighbors, the target with probability {1 - 1 / plan.k:.2f}, so that β does not add to what an attack costs."
    )


def _on_epsilon_and_k(over_epsilon: pl.DataFrame, over_k: pl.DataFrame) -> str:
    tried = over_epsilon.filter(pl.col("ε") <= TRIED)
    parts = []
    for reading in (LAYOUT.name, FULL.name):
        budget = {model: curve(tried, model, reading=reading) for model in ("PPNS", "PNCF")}
        size = curve(over_k, "PPNS", reading=reading)
        errors = " and ".join(f"{model} from {each[0]:.2f} to {each[-1]:.2f}" for model, each in budget.items())
        parts.append(
            f"{reading}: from the smallest ε to {TRIED:.0f} the errors go, of {errors}; "
            f"from the smallest k to the largest, of PPNS from {size[0]:.2f} to {size[-1]:.2f}"
        )
    return (
        "PPNS keeps all but one of the first partition whatever ε, which only weighs members of a partition against "
        f"each other. {'; '.join(parts)}. Differences up to {FAR} are within the chance of the draws."
    )


def _on_more_sybils(table: pl.DataFrame, plan: Plan) -> str:
    def recovered(reading: str) -> str:
        exact = curve(table, "PPNS", "exact", reading=reading)
        return ", ".join(f"{exact[plan.sizes.index(x)]:.0%} to {x}·k" for x in shown)

    shown = (plan.sizes[0], max(x for x in plan.sizes if x <= plan.beta), plan.sizes[-1])
    return (
        "Whether more sybils help is a matter of the ranking. Where the target stands before them, as the thesis draws "
        f"it, PPNS gives away {recovered(LAYOUT.name)} sybils. With the cosine of whole rating lists sybils are more "
        "similar to each other than the target is to them, and from 2·k on they fill the first partition alone: "
        f"{recovered(FULL.name)} sybils."
    )


def _on_accuracy(by_user: pl.DataFrame, by_item: pl.DataFrame) -> str:
    def errors(table: pl.DataFrame, reading: str) -> str:
        plain, ours = curve(table, "kNN", reading=reading)[0], curve(table, "PPNS", reading=reading)
        return (
            f"kNN {plain:.3f}, PPNS {ours[0]:.3f} to {ours[-1]:.3f} for β from 1 to {ours.size}, "
            f"nPNS {curve(table, 'nPNS', reading=reading)[0]:.3f}"
        )

    inside, corated, full = by_user["reading"].unique(maintain_order=True).to_list()
    return (
        "Where nobody attacks, the thesis names no hold-out. User-based errors with the rating in question inside the "
        f"similarity: {errors(by_user, inside)}; with it left out: {errors(by_user, corated)} over co-rated items, "
        f"{errors(by_user, full)} over whole lists. Item-based and left out: {errors(by_item, corated)} over co-rated "
        f"raters, {errors(by_item, full)} over whole lists."
    )


def _on_the_claims(claims: pl.DataFrame) -> str:
    run_ = claims.filter(pl.col("verdict").is_in(["holds", "does not hold"]))
    holding = run_.filter(pl.col("verdict") == "holds").height
    everywhere = run_.group_by("figure", "claim").agg(holds=(pl.col("verdict") == "holds").all())
    return (
        f"Of {run_.height} judgments of {everywhere.height} claims under the readings here, {holding} bear the text "
        f"out; {everywhere['holds'].sum()} claims hold under every reading that they were measured under."
    )
