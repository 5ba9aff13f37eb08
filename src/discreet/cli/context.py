"""`discreet context`: what is popular in a context, from a release of counts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, note
from discreet.cli.settings import split_pair
from discreet.errors import ReleaseError, UsageError

__all__ = ["context"]


def context(
    folder: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release of counts by context.")],
    where: Annotated[
        list[str] | None, typer.Option("--where", metavar="NAME=VALUE", help="The context; repeatable.")
    ] = None,
    k: Annotated[int, typer.Option("-k", "--many", help="How many items.")] = 10,
    as_json: AsJson = False,
) -> None:
    """What is popular in a context: "good places on a Tuesday", "films for men under 25".

    Counts in a context are shrunk towards what is popular in all, the more the larger their noise is. Contexts that
    are not named are summed over. Everything is read from the release and costs nothing.

    [bold]Example[/bold]

        discreet count checkins.parquet --epsilon 1 --cap 10 --context weekday --ledger budget.db --out counts/
        discreet context counts/ --where weekday=Tuesday -k 10
    """
    from discreet.counting import ContextPopularity
    from discreet.counting.counts import check_k
    from discreet.privacy import Release

    wanted = _where(where or [])
    release = Release.load(folder)
    model = ContextPopularity.of_release(release)
    if not model.contexts_:
        raise ReleaseError(
            f"{folder} has no counts by context.", remedy="Count by one: discreet count DATA --context weekday …"
        )
    if not wanted:
        known = "; ".join(f"{one.name}: {', '.join(one.values)}" for one in model.contexts_)
        raise UsageError("no context was given.", remedy=f"Give --where NAME=VALUE. The contexts are {known}.")
    check_k(k, len(model.items_))
    best = model.recommend(context=wanted, n=k)
    counts = release.table("counts")
    if "title" in counts.columns:
        best = best.join(counts.select("item_id", "title"), on="item_id", how="left", maintain_order="left")
    if as_json:
        answer_json(
            {"id": release.id, "context": wanted, "guarantee": release.guarantee.to_json(), "top": best.to_dicts()}
        )
        return
    shown = ["rank", "title" if "title" in best.columns else "item_id", "score"]
    described = ", ".join(f"{name} {value}" for name, value in wanted.items())
    answer_table(f"Popular where {described}", shown, best.select(shown).rows(), numbers=["rank", "score"])
    answer_text(release.guarantee.describe())
    if noise := release.parameters.get("edge_noise_95"):
        note(f"every count in a context was released with noise of ± {noise:,.0f} (95 %)")


def _where(texts: list[str]) -> dict[str, str]:
    wanted: dict[str, str] = {}
    for text in texts:
        name, value = split_pair(text, "--where")
        if not value:
            raise UsageError(f"--where {text!r} names no value.", remedy="Write NAME=VALUE.")
        if name in wanted:
            raise UsageError(f"--where names {name!r} twice.", remedy="Leave it out to sum over its values.")
        wanted[name] = value
    return wanted
