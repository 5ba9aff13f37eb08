"""`discreet fit`, `discreet recommend`, `discreet similar`: train a recommender, ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.commands import Settings, model_of
from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, note, progressing, stopping, working
from discreet.cli.count import AssumeOption, assumed_profile
from discreet.cli.parts import DataFiles, PartsCatalogReading, PartsReading, found_files, located
from discreet.cli.reading import json_file
from discreet.cli.rounds import CuratorRound
from discreet.cli.sources import attached, source_writer
from discreet.cli.spending import OptionalSpending, Overwrite, answer_release, place_for, saved, say_estimate
from discreet.common.folders import MODEL, SOURCE
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from discreet.data import Interactions
    from discreet.models.recommender import Recommender

__all__ = ["fit", "recommend", "similar"]

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a model.")]
ListsOut = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write lists to this .parquet, .arrow or .csv file.")
]
Records = Annotated[
    Path | None, typer.Option("--data", help="The records, if they are not where the model was fitted.")
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="MODULE:CLASS", help="The class of a model of your own that has no name; imports your code."
    ),
]
Many = Annotated[int, typer.Option("-n", "--many", help="How many.")]


def fit(
    data: DataFiles,
    spending: OptionalSpending,
    reading: PartsCatalogReading,
    curator: CuratorRound,
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="NAME|MODULE:CLASS",
            help="Which model; they are named above. Or your own: module:Class, file.py:Class.",
        ),
    ] = "private-recommender",
    unit: Annotated[
        str | None, typer.Option("--unit", help="What is protected, where a model offers it: user or rating.")
    ] = None,
    option: Settings = None,
    assume: AssumeOption = None,
) -> None:
    """Fit a recommender.

    Proved: private-recommender (rankings; the default), private-ratings (predicted ratings), private-item-knn,
    private-slope-one, private-cosine, context-popularity, dp-als. As published: pncf, ppns, npns, naive-exponential,
    uniform-neighbors, published-slope-one, published-cosine; ppns-assured (a construction after an abstract). Without
    privacy: knn, slope-one, copurchase-cosine, ease, als, popularity, biases.

    [bold]Example[/bold], from nothing:

        discreet data generate films --seed 7 --out films.parquet
        discreet fit films.parquet --epsilon 1 --delta 1e-6 --no-ledger --out model/
        discreet recommend model/ --user u17 -n 10

    [bold]Several curators[/bold] fit one model round by round, each with their own records (docs/curators.md):

        discreet fit films.parquet --epsilon 1 --delta 1e-6 --no-ledger --round 1 --out a1/
    """
    from discreet.models.released_model import ReleasedModel

    recommender = model_of(model, option, epsilon=spending.epsilon, delta=spending.delta, unit=unit)
    if spending.estimate:
        if not hasattr(recommender, "estimate"):
            raise UsageError(f"{model} has no estimate.", remedy="Leave --estimate out.")
        estimate = recommender.estimate  # type: ignore[attr-defined]
        users = {"users": assumed_profile(assume or []).users} if "users" in signature(estimate).parameters else {}
        say_estimate(estimate(_records(recommender, reading, data, public=True), **users), as_json=spending.as_json)
        return
    if curator.asked:
        records = _records(recommender, reading, data)
        curator.run(recommender, records, spending, *found_files(data), reading.catalog)
        return
    ledger, place = spending.opened(), spending.place(spending.out, MODEL, *found_files(data), reading.catalog)
    records = _records(recommender, reading, data)
    with working(f"fitting {model}"):
        recommender.fit(records, ledger=ledger, allow_refuted=spending.allow_refuted)
    folder = saved(recommender.save, place, beside=source_writer(data, reading))
    guarantee = recommender.guarantee
    if spending.as_json:
        answer_json({"model": str(folder), "guarantee": None if guarantee is None else guarantee.to_json()})
        return
    if isinstance(recommender, ReleasedModel):
        answer_release(recommender.release_, None)
    else:
        answer_text("This model has no guarantee: it protects nobody." if guarantee is None else guarantee.describe())
    note(f"saved in {folder}; its {SOURCE} contains the path of your records: leave it out when you hand it on")


def recommend(
    model: Model,
    reading: PartsReading,
    user: Annotated[list[str] | None, typer.Option("--user", help="Whom to recommend to; repeatable.")] = None,
    history: Annotated[
        Path | None, typer.Option("--history", help="A JSON file of one person's items: a list, or item: rating.")
    ] = None,
    everybody: Annotated[bool, typer.Option("--all", help="All users of the records; needs --out.")] = False,
    users: Annotated[
        Path | None, typer.Option("--users", metavar="FILE", help="Users, one id a line; needs --out.")
    ] = None,
    n: Many = 10,
    data: Records = None,
    out: ListsOut = None,
    overwrite: Overwrite = False,
    kind: Kind = None,
    as_json: AsJson = False,
) -> None:
    """Recommend items to users, to somebody with a given history, or to everybody into a file.

    A file for many users is as secret as the records: each row is made from one person's own records, for that person.

    [bold]Example[/bold]

        discreet recommend model/ --user u17 -n 10
        discreet recommend model/ --all -n 20 --out recs.parquet
    """
    from discreet.data.id_forms import typed
    from discreet.models.recommender import load_model
    from discreet.models.registry import class_of

    recommender = load_model(model, None if kind is None else class_of(kind))
    if sum([user is not None, history is not None, everybody, users is not None]) != 1:
        raise UsageError("no user given.", remedy="Give one of --user ID, --history FILE, --users FILE and --all.")
    if everybody or users is not None:
        data = attached(recommender, model, data, reading)
        named = None if users is None else _users(users, recommender)
        write = partial(recommender.recommend_all, n=n, users=named)
        sources = (model, *_sources(data), users)
        _export(write, out, sources=sources, overwrite=overwrite, as_json=as_json, by_spark=reading.engine is not None)
        note("each row is for that person alone: keep the file as secret as the records")
        return
    _no_file(out)
    if history is not None:
        best = recommender.recommend(history=_history(history, recommender), n=n)
    else:
        attached(recommender, model, data, reading)
        best = recommender.recommend([typed(u, _known(recommender).users.series) for u in user or []], n=n)
    _answer(best, recommender, as_json=as_json)


def similar(
    model: Model,
    reading: PartsCatalogReading,
    item: Annotated[str | None, typer.Argument(metavar="ITEM", help="An item of the catalog.")] = None,
    n: Many = 10,
    everything: Annotated[bool, typer.Option("--all", help="All items of the catalog; needs --out.")] = False,
    feature: Annotated[
        list[str] | None,
        typer.Option("--feature", metavar="COLUMN", help="With --all: a public column of the catalog; repeatable."),
    ] = None,
    data: Records = None,
    out: ListsOut = None,
    overwrite: Overwrite = False,
    kind: Kind = None,
    as_json: AsJson = False,
) -> None:
    """Items like this one, or those of every item into a file.

    In a file no item comes back empty. Where the model knows too few, items with the same public features follow, then
    popular ones; the column source says which.

    [bold]Example[/bold]

        discreet similar model/ film-3 -n 10
        discreet similar model/ --all -n 10 --feature genres --out also.parquet
    """
    from discreet.data.id_forms import typed
    from discreet.models.recommender import load_model
    from discreet.models.registry import class_of

    recommender = load_model(model, None if kind is None else class_of(kind))
    if (item is None) != everything:
        raise UsageError("no item given.", remedy="Give an ITEM, or --all with --out FILE.")
    if everything:
        catalog = None
        if feature or reading.engine:
            data = attached(recommender, model, data, reading)
            catalog = _known(recommender)
        write = partial(recommender.similar_all, n=n, catalog=catalog, features=feature or ())
        sources = (model, *_sources(data))
        _export(write, out, sources=sources, overwrite=overwrite, as_json=as_json, by_spark=reading.engine is not None)
        return
    _no_file(out)
    best = recommender.similar_items([typed(item, recommender.items_.series)], n=n)
    _answer(best, recommender, as_json=as_json)


def _records(recommender: Recommender, reading: PartsCatalogReading, data: Path, *, public: bool = False) -> Any:
    """The records, with the columns of the contexts that a model names."""
    contexts = list(map(str, getattr(recommender, "contexts", ())))
    return reading.records(data, recommender, contexts=contexts, public=public)


def _known(recommender: Recommender) -> Interactions:
    """The records of a model, or what is public about them where they are in parts."""
    assert recommender.records_ is not None
    return getattr(recommender.records_, "public", recommender.records_)


def _export(
    write: Callable[..., Path],
    out: Path | None,
    *,
    sources: Iterable[Path | None],
    overwrite: bool,
    as_json: bool,
    by_spark: bool,
) -> None:
    """Write lists to a file, with a bar; what the command reads is never replaced."""
    from discreet.models.export import kind_of_lists

    if out is None:
        raise UsageError("no file for the lists was given.", remedy="Give --out FILE, such as lists.parquet.")
    if by_spark:
        with working("making lists with Spark"):
            path = located(write(located(out), overwrite=overwrite))
    else:
        place_for(out, kind_of_lists(out), overwrite=overwrite, sources=sources, spends=False)
        with progressing("making lists") as progress:
            path = write(out, overwrite=overwrite, progress=stopping(progress))
    answer_json({"lists": str(path)}) if as_json else answer_text(f"written to {path}")


def _sources(data: Path | None) -> list[Path]:
    return [] if data is None else found_files(data)


def _no_file(out: Path | None) -> None:
    if out is not None:
        raise UsageError("--out is for lists of many.", remedy="Add --all, or leave --out out.")


def _users(path: Path, recommender: Recommender) -> list[Any]:
    from discreet.data.id_forms import typed

    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the file cannot be read: {error}.", file=path) from None
    return [typed(line.strip(), _known(recommender).users.series) for line in lines if line.strip()]


def _history(path: Path, recommender: Recommender) -> dict[Any, float] | list[Any]:
    from discreet.data.id_forms import typed

    given = json_file(path)
    if not isinstance(given, dict | list):
        raise DataError("a history is a list of items, or a mapping from items to ratings.", file=path)
    for place, item in enumerate(given):
        if isinstance(item, bool) or not isinstance(item, str | int):
            raise DataError(
                f"entry {place + 1} of the history is not the id of an item.",
                file=path,
                value=item,
                remedy="Ids are text or whole numbers.",
            )
    for item, rating in given.items() if isinstance(given, dict) else ():
        if isinstance(rating, bool) or not isinstance(rating, int | float) or not abs(rating) < 1e300:
            raise DataError(f"the rating of item {item!r} is not a number.", file=path, value=rating)
    named = [typed(item, recommender.items_.series) for item in given]
    if repeated := len(named) - len(set(named)):
        note(f"{path}: {repeated:,} of the items in the history repeat others and count once.")
    return dict(zip(named, given.values(), strict=True)) if isinstance(given, dict) else list(dict.fromkeys(named))


def _answer(best: pl.DataFrame, recommender: Recommender, *, as_json: bool) -> None:
    import polars as pl

    if as_json:
        answer_json(best.to_dicts())
        return
    if best.is_empty():
        note("there is nothing to show: no item is left that the model could name.")
    records = None if getattr(recommender, "records_", None) is None else _known(recommender)
    if records is not None and records.item_table is not None and "title" in records.item_table.columns:
        column = "item_id" if "similar_id" not in best.columns else "similar_id"
        titles = pl.Series("title", records.titles(records.items.encode(best[column])))
        best = best.insert_column(best.get_column_index(column) + 1, titles)
    answer_table("", best.columns, best.rows(), numbers=["score", "rank"])
