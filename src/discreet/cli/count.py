"""`discreet count`: noisy counts of items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
    ledger_at,
    read_interactions,
    saved,
    target_for,
)

__all__ = ["count"]


def count(
    data: DataPath,
    epsilon: Annotated[str, typer.Option("--epsilon", help='The budget: "1/2", "0.5" or "1".')],
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the release.")] = None,
    cap: Annotated[int, typer.Option("--cap", help="The most that one user weighs, in records; public.")] = 30,
    top: Annotated[int, typer.Option("--top", min=1, help="How many items to show.")] = 10,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what to expect; spend nothing.")] = False,
    ledger: LedgerPath = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Spend without keeping a book.")] = False,
    catalog: Catalog = None,
    items_public: ItemsPublic = False,
    format: Format = None,
    column: Column = None,
    scale: Scale = None,
    duplicates: Duplicates = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the release in the folder.")] = False,
    as_json: AsJson = False,
) -> None:
    """Count every item of the catalog, privately.

    Each user weighs at most CAP records; discrete Laplace noise of scale CAP/EPSILON goes on every count. The counts
    are EPSILON-differentially private for the whole history of one user.

    [bold]Example[/bold], from nothing:

        discreet data generate films --seed 7 --out films.parquet
        discreet ledger open films.parquet --epsilon 2 --delta 1e-6 --ledger budget.db
        discreet count films.parquet --epsilon 1/2 --cap 30 --ledger budget.db --out counts/
        discreet release show counts/
    """
    from discreet.counting import ItemCounts
    from discreet.counting import top as best

    mechanism = ItemCounts.of(epsilon=epsilon, cap=cap)
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
    if target is None:
        _say_estimate(mechanism.estimate(records), as_json=as_json)
        return
    with working("counting"):
        release = mechanism.release(records, ledger=book)
    target = saved(release.save, target, overwrite=overwrite)
    leaders = best(release, top)
    if as_json:
        answer_json(
            {
                "release": str(target),
                "id": release.id,
                "guarantee": release.guarantee.to_json(),
                "parameters": dict(release.parameters),
                "top": leaders.to_dicts(),
            }
        )
        return
    shown = ["rank", *(["title"] if "title" in leaders.columns else ["item_id"]), "count"]
    answer_table(
        f"Most popular; noise ± {release.parameters['noise_95']:,.0f} (95 %), nobody weighs more than {cap} records",
        shown,
        leaders.select(shown).rows(),
        numbers=["rank", "count"],
    )
    answer_text(str(release.guarantee))
    note(f"saved in {target}")


def _say_estimate(expected: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        answer_json(expected)
        return
    answer_text(
        f"{expected['items']:,} items; noise of ±{expected['noise_95']:,.1f} on each count, 95 times in 100 "
        f"(standard deviation {expected['noise_sd']:,.1f}); costs ε = {expected['epsilon']}."
    )
