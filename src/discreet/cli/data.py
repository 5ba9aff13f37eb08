"""`discreet data`: list, describe, convert, generate and split datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.console import answer_json, answer_table, answer_text, working
from discreet.cli.options import (
    AsJson,
    Catalog,
    Column,
    DataPath,
    Duplicates,
    Format,
    ItemsPublic,
    Scale,
    read_any,
    read_interactions,
)
from discreet.errors import UsageError

__all__ = ["app"]

app = typer.Typer(help="List, describe, convert, generate and split datasets.", no_args_is_help=True)

WORLDS = {
    "films": "ratings of films with times, gender, age, titles and genres",
    "checkins": "repeated visits to places, with weekdays and a few very busy people",
    "tags": "who tagged what with which word",
    "listeners": "who tagged which artist, of the size and nature of Last.fm (HetRec 2011)",
    "survey": "answers of people in households",
}

Out = Annotated[Path, typer.Option("--out", help="Where to write it: .parquet, .csv, .tsv, .arrow, or a folder.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same result.")]


@app.command(name="list")
def list_formats(as_json: AsJson = False) -> None:
    """Formats that can be read, and worlds that can be generated.

    [bold]Example[/bold]: discreet data list
    """
    from discreet.data.readers import formats

    known = [{"name": f.name, "holds": f.returns, "what": f.summary, "recognized_by": f.recognized} for f in formats()]
    if as_json:
        answer_json({"formats": known, "worlds": WORLDS})
        return
    answer_table("Formats", ["name", "holds", "what", "recognized by"], [tuple(f.values()) for f in known])
    answer_table("Worlds to generate", ["name", "what"], list(WORLDS.items()))


@app.command()
def describe(
    data: DataPath,
    format: Format = None,
    column: Column = None,
    scale: Scale = None,
    duplicates: Duplicates = None,
    as_json: AsJson = False,
) -> None:
    """Facts about a dataset, for its owner: they are not private.

    [bold]Example[/bold]: discreet data describe films.parquet
    """
    facts = read_any(data, format=format, column=column, scale=scale, duplicates=duplicates).describe()
    if as_json:
        answer_json(facts)
        return
    answer_table(
        "", ["", "value"], [(name, _readable(value)) for name, value in facts.items() if value not in (None, [])]
    )


@app.command()
def convert(
    data: DataPath,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where to write it.")],
    format: Format = None,
    column: Column = None,
    scale: Scale = None,
    duplicates: Duplicates = None,
    catalog: Catalog = None,
    items_public: ItemsPublic = False,
    overwrite: Overwrite = False,
) -> None:
    """Read any format, write one of ours. The target keeps scale, catalog and name.

    [bold]Example[/bold]: discreet data convert ml-1m/ films.parquet
    """
    from discreet.data.readers import write

    records = read_any(
        data,
        format=format,
        column=column,
        scale=scale,
        duplicates=duplicates,
        catalog=catalog,
        items_public=items_public,
    )
    with working(f"writing {out}"):
        write(records, out, overwrite=overwrite)
    answer_text(f"{records!r} → {out}")


@app.command()
def generate(
    world: Annotated[str, typer.Argument(metavar="WORLD", help=", ".join(WORLDS))],
    out: Out,
    seed: Seed,
    users: Annotated[int | None, typer.Option("--users", help="How many users (households for survey).")] = None,
    items: Annotated[int | None, typer.Option("--items", help="How many items.")] = None,
    records: Annotated[int | None, typer.Option("--records", help="How many records.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Generate a world whose people are invented.

    [bold]Example[/bold]: discreet data generate films --seed 7 --out films.parquet
    """
    from discreet.data import synthetic
    from discreet.data.readers import write

    if world not in WORLDS:
        raise UsageError(f"there is no world {world!r}.", remedy=f"Choose one of {', '.join(WORLDS)}.")
    sizes: dict[str, Any] = {"users": users, "items": items, "records": records}
    if world == "survey":
        sizes = {"households": users}
    elif world in ("tags", "listeners"):
        sizes = {"users": users, "resources": items, "records": records}
    with working(f"generating {world}"):
        data = getattr(synthetic, world)(seed=seed, **{name: size for name, size in sizes.items() if size is not None})
    with working(f"writing {out}"):
        write(data, out, overwrite=overwrite)
    answer_text(f"{data!r} → {out}")


@app.command()
def split(
    data: DataPath,
    out: Annotated[Path, typer.Option("--out", help="Folder for the parts.")],
    seed: Seed = 0,
    how: Annotated[
        str,
        typer.Option(
            "--how", help="all-but-one, leave-one-out, k-fold-records, k-fold-users, temporal, generalization."
        ),
    ] = "all-but-one",
    folds: Annotated[int, typer.Option("--folds", help="For k-fold.")] = 5,
    fraction: Annotated[float, typer.Option("--fraction", help="Earlier share (temporal), fold-in share.")] = 0.8,
    held_out: Annotated[int, typer.Option("--held-out", help="Users to hold out (generalization).")] = 100,
    format: Format = None,
) -> None:
    """Split interactions for an experiment.

    [bold]Example[/bold]: discreet data split films.parquet --how all-but-one --seed 1 --out split/
    """
    from discreet.data import splits
    from discreet.data.readers import write

    records = read_interactions(data, format=format)
    makers = {
        "all-but-one": lambda: [splits.all_but_one(records, seed=seed)],
        "leave-one-out": lambda: [splits.leave_one_out(records, seed=seed)],
        "k-fold-records": lambda: list(splits.k_fold_records(records, folds, seed=seed)),
        "k-fold-users": lambda: list(splits.k_fold_users(records, folds, seed=seed)),
        "temporal": lambda: [splits.temporal(records, fraction=fraction)],
        "generalization": lambda: [
            splits.strong_generalization(records, held_out_users=held_out, fold_in=fraction, seed=seed)
        ],
    }
    if how not in makers:
        raise UsageError(f"--how {how!r}?", remedy=f"Choose one of {', '.join(makers)}.")
    with working(f"splitting {data}"):
        made = makers[how]()
    rows = []
    for number, result in enumerate(made):
        folder = out / f"fold-{number}" if len(made) > 1 else out
        for part in vars(result):
            target = folder / f"{part.replace('_', '-')}.parquet"
            write(getattr(result, part), target)
            rows.append((str(target), len(getattr(result, part))))
    answer_table("", ["part", "records"], rows, numbers=["records"])


def _readable(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{n} {v:,.6g}" if isinstance(v, int | float) else f"{n} {v}" for n, v in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else value
