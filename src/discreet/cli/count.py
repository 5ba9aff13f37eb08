"""`discreet count`: noisy counts of items, in all and by context."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import answer_json, answer_table, answer_text, note, working
from discreet.cli.options import (
    AsJson,
    Catalog,
    Column,
    DataPath,
    Duplicates,
    Format,
    ItemsPublic,
    LedgerPath,
    Scale,
    Settings,
    ledger_at,
    read_interactions,
    saved,
    settings_of,
    target_for,
)
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.counting import Profile
    from discreet.counting.counts import CountMethod
    from discreet.privacy import Release

__all__ = ["AssumeOption", "ContextOption", "assumed_profile", "count"]

ContextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--context",
        metavar="NAME[=VALUE,…]",
        help='What to count by: weekday, "device=phone,laptop", "age=<25,25-44,45+"; repeatable.',
    ),
]
AssumeOption = Annotated[
    list[str] | None,
    typer.Option("--assume", metavar="NAME=VALUE", help="For the estimate: users, records, exponent; repeatable."),
]


def count(
    data: DataPath,
    epsilon: Annotated[str, typer.Option("--epsilon", help='The budget: "1/2", "0.5" or "1".')],
    delta: Annotated[str | None, typer.Option("--delta", help="With a delta, such as 1e-6, noise is Gaussian.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the release.")] = None,
    method: Annotated[
        str | None, typer.Option("--method", help="How to count, see above; weighted, or clipped with --delta.")
    ] = None,
    cap: Annotated[
        int | None,
        typer.Option("--cap", help="The most that one user weighs, in records (30), or as a squared length (100)."),
    ] = None,
    context: ContextOption = None,
    option: Settings = None,
    finish: Annotated[
        str | None,
        typer.Option("--finish", help="After the noise: nonnegative, or expected (what each count likely stands for)."),
    ] = None,
    total: Annotated[
        str | None, typer.Option("--total", help="With --finish nonnegative: a PUBLIC number that items add up to.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many items to show.")] = 10,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what to expect; spend nothing.")] = False,
    assume: AssumeOption = None,
    ledger: LedgerPath = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Spend without keeping a book.")] = False,
    allow_refuted: Annotated[
        bool, typer.Option("--allow-refuted", help="Run a published method whose promise does not hold.")
    ] = False,
    catalog: Catalog = None,
    items_public: ItemsPublic = False,
    format: Format = None,
    column: Column = None,
    scale: Scale = None,
    duplicates: Duplicates = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the release in the folder.")] = False,
    as_json: AsJson = False,
) -> None:
    """Count every item of the catalog, privately, in all and by context.

    One user weighs no more than the cap allows, and every count gets noise for
    that: the counts are differentially private for the whole history of one
    user. Ways to count:

    [bold]weighted[/bold]: for a pure epsilon, and the default without --delta. Records
    of users over the cap weigh less; Laplace noise.

    [bold]clipped[/bold]: the default with --delta, and better wherever people have more
    than a few records. A user's counts are bounded in length, so that noise
    grows with the root of the cap only; Gaussian noise.

    [bold]hybrid[/bold]: where popular items matter most. A first look finds them, and
    each user's cap is spent there.

    [bold]head-tail[/bold]: popular items and the others with caps of their own
    (--option head=50 --option head_cap=5 --option tail_cap=30).

    [bold]sra, hpa, lpa, dft, gs[/bold]: of the papers, to compare with.

    [bold]Example[/bold], from nothing:

        discreet data generate checkins --seed 7 --out checkins.parquet
        discreet ledger open checkins.parquet --epsilon 2 --delta 1e-6 --ledger budget.db
        discreet count checkins.parquet --epsilon 1/2 --cap 30 --context weekday --ledger budget.db --out counts/
        discreet release show counts/
    """
    from discreet.counting import Finish

    mechanism = _method(method, epsilon, delta, cap, option or [])
    after = None if finish is None else Finish.of(finish, total=total)  # type: ignore[arg-type]
    if after is None and total is not None:
        raise UsageError("--total goes with --finish nonnegative.")
    profile = assumed_profile(assume or [])
    book = None if estimate else ledger_at(ledger, unbooked=no_ledger)
    target = target_for(out, overwrite=overwrite) if not estimate else None
    records = read_interactions(
        data,
        format=format,
        column=column,
        scale=scale,
        duplicates=duplicates,
        catalog=catalog,
        items_public=items_public,
    )
    contexts = context or ()
    if target is None:
        _say_estimate(mechanism.estimate(records, contexts=contexts, profile=profile, k=top), as_json=as_json)
        return
    with working("counting"):
        release = mechanism.release(records, contexts=contexts, finish=after, ledger=book, allow_refuted=allow_refuted)
    _answer(release, saved(release.save, target, overwrite=overwrite), top, as_json=as_json)


def assumed_profile(assumed: list[str]) -> Profile:
    """The popularity that an estimate is for."""
    from discreet.counting import Profile

    kinds = {"users": int, "records": int, "exponent": float}
    given: dict[str, Any] = {}
    for text in assumed:
        name, _, value = text.partition("=")
        try:
            given[name] = kinds[name](value)
        except (KeyError, ValueError):
            raise UsageError(
                f"--assume {text!r} is not understood.", remedy="Write users=10000, records=30 or exponent=1."
            ) from None
    return Profile(**given)


def _method(name: str | None, epsilon: str, delta: str | None, cap: int | None, options: list[str]) -> CountMethod:
    """The way to count with the settings that were typed."""
    from discreet.counting import usual_method

    return usual_method(name, **settings_of(options, epsilon=epsilon, delta=delta, cap=cap))


def _answer(release: Release, place: Path, length: int, *, as_json: bool) -> None:
    from discreet.counting import top as best

    leaders = best(release, min(length, release.table("counts").height))
    if as_json:
        answer_json(
            {
                "release": str(place),
                "id": release.id,
                "guarantee": release.guarantee.to_json(),
                "parameters": dict(release.parameters),
                "top": leaders.to_dicts(),
            }
        )
        return
    shown = ["rank", *(["title"] if "title" in leaders.columns else ["item_id"]), "count"]
    answer_table(f"Most popular{_noise_of(release)}", shown, leaders.select(shown).rows(), numbers=["rank", "count"])
    answer_text(str(release.guarantee))
    note(f"saved in {place}")
    if release.parameters["contexts"]:
        wanted = " ".join(f'--where "{name}=…"' for name in release.parameters["contexts"])
        note(f"by context: discreet context {place} {wanted}")


def _noise_of(release: Release) -> str:
    """How far off the shown counts are; the most popular items may have noise of their own."""
    known = release.parameters
    noise = known.get("head_noise_95", known.get("noise_95"))
    after = f"; finished: {known['finish']['kind']}" if "finish" in known else ""
    return f"{'' if noise is None else f'; noise ± {noise:,.0f} (95 %)'}{after}"


def _say_estimate(expected: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        answer_json(expected)
        return
    if "noise_sd" not in expected:
        answer_text(
            f"{expected['items']:,} items: the records themselves set the noise, so nothing can be said before."
        )
        answer_text(f"Claims {expected['loss']}, which is refuted; nothing was spent.")
        return
    answer_text(f"{expected['items']:,} items: {_noise(expected, '')}")
    if "head_noise_sd" in expected:
        answer_text(f"The {expected['head']:,} most popular of them: {_noise(expected, 'head_')}")
    if "edge_noise_sd" in expected:
        answer_text(f"{expected['edges']:,} counts by context: {_noise(expected, 'edge_')}")
    answer_text(
        f"Costs {expected['loss']}; nothing was spent. Errors, with what the cap takes away, and precision are for an "
        f"assumed {expected['assumed']}; the records were not looked at."
    )


def _noise(expected: dict[str, Any], level: str) -> str:
    text = (
        f"noise of ±{expected[f'{level}noise_95']:,.1f} on each count, 95 times in 100 (scale "
        f"{expected[f'{level}scale']:,.1f}, standard deviation {expected[f'{level}noise_sd']:,.1f})"
    )
    if f"{level}expected_mse" not in expected:
        return f"{text}."
    error, found = expected[f"{level}expected_mse"], expected[f"{level}expected_precision"]
    return f"{text}; expected mean squared error {error:,.0f}, {found:.0%} of the top {expected['k']} found."
