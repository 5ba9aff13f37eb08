"""`discreet fit`, `discreet recommend`, `discreet similar`: train a recommender, ask it."""

from __future__ import annotations

import json
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
    model_of,
    read_interactions,
    saved,
    target_for,
)
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from discreet.recommender import Recommender

__all__ = ["fit", "recommend", "similar"]

SOURCE = "source.json"
"""Beside a model: where the curator keeps the records. It holds a path, no records."""

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a model.")]
Many = Annotated[int, typer.Option("-n", "--many", help="How many.")]
RecordsPath = Annotated[
    Path | None, typer.Option("--data", help="The records, if they are not where the model was fitted.")
]


def fit(
    data: DataPath,
    out: Annotated[Path, typer.Option("--out", help="Folder for the model.")],
    model: Annotated[str, typer.Option("--model", help="Which model; they are named above.")] = "private-recommender",
    epsilon: Annotated[str | None, typer.Option("--epsilon", help='The budget: "1/2", "0.5" or "1".')] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="The delta that goes with it.")] = None,
    unit: Annotated[
        str | None, typer.Option("--unit", help="What is protected, where a model offers it: user or rating.")
    ] = None,
    option: Settings = None,
    ledger: LedgerPath = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Spend without keeping a book.")] = False,
    allow_refuted: Annotated[
        bool, typer.Option("--allow-refuted", help="Run a published model whose promise does not hold.")
    ] = False,
    catalog: Catalog = None,
    items_public: ItemsPublic = False,
    format: Format = None,
    column: Column = None,
    scale: Scale = None,
    duplicates: Duplicates = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model in the folder.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a recommender.

    Proved: private-recommender (rankings; the default), private-ratings (predicted ratings), private-item-knn,
    shrunk-pncf, noisy-neighbor-mean, private-slope-one, private-cosine, context-popularity, dp-als. As published:
    pncf, ppns, npns, naive-exponential, uniform-neighbors, published-slope-one, published-cosine. Without privacy:
    knn, slope-one, copurchase-cosine, ease, als, popularity, biases.

    [bold]Example[/bold]:

        discreet data generate films --seed 7 --out films.parquet
        discreet fit films.parquet --epsilon 1 --delta 1e-6 --no-ledger --out model/
        discreet recommend model/ --user u17 -n 10
    """
    recommender = model_of(model, option, epsilon=epsilon, delta=delta, unit=unit)
    book = ledger_at(ledger, unbooked=no_ledger)
    target = target_for(out, overwrite=overwrite)
    reading = {"format": format, "column": column, "scale": scale, "duplicates": duplicates}
    records = read_interactions(data, **reading, catalog=catalog, items_public=items_public)
    with working(f"fitting {model}"):
        recommender.fit(records, ledger=book, allow_refuted=allow_refuted)
    target = saved(recommender.save, target, overwrite=overwrite)
    (target / SOURCE).write_text(json.dumps({"data": str(data.absolute()), **reading}), encoding="utf-8")
    promise = recommender.guarantee
    if as_json:
        answer_json({"model": str(target), "guarantee": None if promise is None else promise.to_json()})
    else:
        answer_text("This model promises nothing: it protects nobody." if promise is None else str(promise))
        note(f"saved in {target}; its {SOURCE} tells where your records are: leave that out when you hand it on")


def recommend(
    model: Model,
    user: Annotated[list[str] | None, typer.Option("--user", help="Whom to recommend to; repeatable.")] = None,
    history: Annotated[
        Path | None, typer.Option("--history", help="A JSON file of one person's items: a list, or item: rating.")
    ] = None,
    n: Many = 10,
    data: RecordsPath = None,
    as_json: AsJson = False,
) -> None:
    """Recommend items to users, or to somebody with a history of their own.

    [bold]Example[/bold]: discreet recommend model/ --user u17 -n 10
    """
    from discreet.recommender import load_model

    recommender = load_model(model)
    if (user is None) == (history is None):
        raise UsageError("for whom?", remedy="Give --user ID, or --history FILE.")
    if history is not None:
        best = recommender.recommend(history=_history(history, recommender), n=n)
    else:
        _attach(recommender, model, data)
        assert recommender.records_ is not None
        best = recommender.recommend([_id(u, recommender.records_.users.series) for u in user or []], n=n)
    _answer(best, recommender, as_json=as_json)


def similar(
    model: Model,
    item: Annotated[str, typer.Argument(metavar="ITEM", help="An item of the catalog.")],
    n: Many = 10,
    as_json: AsJson = False,
) -> None:
    """Items like this one.

    [bold]Example[/bold]: discreet similar model/ film-3 -n 10
    """
    from discreet.recommender import load_model

    recommender = load_model(model)
    best = recommender.similar_items([_id(item, recommender.items_.series)], n=n)
    _answer(best, recommender, as_json=as_json)


def _attach(recommender: Recommender, model: Path, data: Path | None) -> None:
    """Give the model the records that people's own recommendations are made from."""
    if getattr(recommender, "records_", None) is not None:
        return
    reading: dict[str, Any] = {}
    if data is None:
        try:
            reading = json.loads((model / SOURCE).read_text(encoding="utf-8"))
            data = Path(reading.pop("data"))
        except (OSError, ValueError, KeyError):
            raise UsageError("where are the records?", remedy="Give --data FILE, or --history FILE.") from None
    if not data.exists():
        raise DataError("the records are no longer here.", file=data, remedy="Give --data FILE.")
    recommender.attach(read_interactions(data, **reading))


def _history(path: Path, recommender: Recommender) -> dict[Any, float] | list[Any]:
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror}.", file=path) from None
    except ValueError as error:
        raise DataError(f"this is not JSON: {error}.", file=path) from None
    ids = recommender.items_.series
    if isinstance(given, dict):
        return {_id(item, ids): rating for item, rating in given.items()}
    if isinstance(given, list):
        return [_id(item, ids) for item in given]
    raise DataError("a history is a list of items, or a mapping from items to ratings.", file=path)


def _id(text: Any, ids: pl.Series) -> Any:
    """An id as typed on the command line, in the type of the ids."""
    return int(text) if ids.dtype.is_integer() and str(text).lstrip("-").isdecimal() else text


def _answer(best: pl.DataFrame, recommender: Recommender, *, as_json: bool) -> None:
    if as_json:
        answer_json(best.to_dicts())
        return
    if best.is_empty():
        note("there is nothing to show: no item is left that the model could name.")
    records = recommender.records_ if getattr(recommender, "records_", None) is not None else None
    shown = best
    if records is not None and records.item_table is not None and "title" in records.item_table.columns:
        column = "item_id" if "similar_id" not in best.columns else "similar_id"
        titles = records.titles(records.items.encode(best[column]))
        shown = best.insert_column(best.get_column_index(column) + 1, _titles(titles))
    answer_table("", shown.columns, shown.rows(), numbers=["score", "rank"])


def _titles(titles: list[str]) -> pl.Series:
    import polars as pl

    return pl.Series("title", titles)
