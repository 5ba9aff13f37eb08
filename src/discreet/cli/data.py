"""`discreet data`: list, describe, convert, generate and split datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.commands import chosen_from, command, group
from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, working
from discreet.cli.reading import CatalogReading, DataPath, RecordsReading
from discreet.cli.spending import Overwrite, place_for
from discreet.errors import DataError, UsageError

__all__ = ["app"]

app = group("List, describe, convert, generate and split datasets.")

SYNTHETIC = {
    "films": "ratings of films with times, gender, age, titles and genres",
    "checkins": "repeated visits to places, with weekdays and a few very busy people",
    "tags": "who tagged what with which word",
    "listeners": "who tagged which artist, of the size and nature of Last.fm (HetRec 2011)",
    "survey": "answers of people in households",
}

Out = Annotated[Path, typer.Option("--out", help="Where to write it: .parquet, .csv, .tsv, .arrow, or a folder.")]
Seed = Annotated[int, typer.Option("--seed", help="The same seed gives the same result.")]


@command(app, "list")
def list_formats(as_json: AsJson = False) -> None:
    """Formats that can be read, and synthetic data that can be generated.

    [bold]Example[/bold]

        discreet data list
    """
    from discreet.data.readers import formats

    known = [{"name": f.name, "holds": f.returns, "what": f.summary, "recognized_by": f.recognized} for f in formats()]
    if as_json:
        answer_json({"formats": known, "synthetic": SYNTHETIC})
        return
    answer_table("Formats", ["name", "holds", "what", "recognized by"], [tuple(f.values()) for f in known])
    answer_table("Synthetic data to generate", ["name", "what"], list(SYNTHETIC.items()))


@command(app)
def describe(
    data: DataPath,
    reading: RecordsReading,
    as_json: AsJson = False,
) -> None:
    """Facts about a dataset, for its owner: they are not private.

    [bold]Example[/bold]

        discreet data describe films.parquet
    """
    facts = reading.read(data).describe()
    if as_json:
        answer_json(facts)
        return
    answer_table(
        "", ["", "value"], [(name, _readable(value)) for name, value in facts.items() if value not in (None, [], {})]
    )


@command(app)
def check(
    data: DataPath,
    reading: CatalogReading,
    as_json: AsJson = False,
) -> None:
    """List everything that is wrong with a dataset, and what is left out of it. For its owner: it quotes records.

    [bold]Example[/bold]

        discreet data check shop.csv --column user=customer --missing drop
    """
    try:
        records = reading.read(data)
    except DataError as error:
        if not as_json:
            raise
        answer_json({"file": str(data), "good": False, **error.report()})
        raise typer.Exit(1) from None
    counts = {
        "records": len(records),
        "dropped_missing": records.dropped_missing,
        "missing_by_column": dict(records.missing_by_column),
        "dropped_duplicates": getattr(records, "dropped_duplicates", 0),
    }
    if as_json:
        answer_json({"file": str(data), "good": True, **counts})
        return
    answer_table(f"{data}: no problems", ["", "value"], [(n, _readable(v)) for n, v in counts.items() if v != {}])


@command(app)
def convert(
    data: DataPath,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where to write it.")],
    reading: CatalogReading,
    overwrite: Overwrite = False,
) -> None:
    """Read any format, write one of ours. The target keeps scale, catalog and name.

    [bold]Example[/bold]

        discreet data convert ml-1m/ films.parquet
    """
    from discreet.data.readers import write

    _check_target(out, overwrite=overwrite, sources=(data, reading.catalog))
    records = reading.read(data)
    with working(f"writing {out}"):
        out = write(records, out, overwrite=overwrite)
    answer_text(f"{records!r} → {out}")


@command(app)
def generate(
    name: Annotated[str, typer.Argument(metavar="NAME", help=", ".join(SYNTHETIC))],
    out: Out,
    seed: Seed,
    users: Annotated[int | None, typer.Option("--users", help="How many users (households for survey).")] = None,
    items: Annotated[int | None, typer.Option("--items", help="How many items.")] = None,
    records: Annotated[int | None, typer.Option("--records", help="How many records.")] = None,
    busiest: Annotated[
        int | None, typer.Option("--busiest", help="For checkins: records of the busiest user; a heavy tail below.")
    ] = None,
    overwrite: Overwrite = False,
) -> None:
    """Generate synthetic data about invented people.

    [bold]Examples[/bold]

        discreet data generate films --seed 7 --out films.parquet
        discreet data generate checkins --items 2000 --records 9000 --busiest 900 --seed 7 --out city.parquet
    """
    from discreet.data import synthetic
    from discreet.data.readers import write

    chosen_from(name, list(SYNTHETIC), "NAME")
    _check_target(out, overwrite=overwrite)
    sizes: dict[str, Any] = {"users": users, "items": items, "records": records}
    if name == "survey":
        sizes = {"households": users}
    elif name in ("tags", "listeners"):
        sizes = {"users": users, "resources": items, "records": records}
    if busiest is not None and name != "checkins":
        raise UsageError("--busiest goes with checkins.")
    if name == "checkins":
        sizes["busiest"] = busiest
    with working(f"generating {name}"):
        data = getattr(synthetic, name)(seed=seed, **{what: size for what, size in sizes.items() if size is not None})
    with working(f"writing {out}"):
        out = write(data, out, overwrite=overwrite)
    answer_text(f"{data!r} → {out}")


@command(app)
def split(
    data: DataPath,
    out: Annotated[Path, typer.Option("--out", help="Folder for the parts.")],
    reading: RecordsReading,
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
    overwrite: Overwrite = False,
) -> None:
    """Split interactions for an experiment.

    [bold]Example[/bold]

        discreet data split films.parquet --how all-but-one --seed 1 --out split/
    """
    from discreet.data import splits
    from discreet.data.readers import write

    records = reading.interactions(data)
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
    chosen_from(how, list(makers), "--how")
    with working(f"splitting {data}"):
        made = makers[how]()
    parts = {}
    for number, result in enumerate(made):
        folder = out / f"fold-{number}" if len(made) > 1 else out
        parts |= {folder / f"{part.replace('_', '-')}.parquet": getattr(result, part) for part in vars(result)}
    for target in parts:
        _check_target(target, overwrite=overwrite, sources=(data,))
    rows = [(str(write(part, target, overwrite=overwrite)), len(part)) for target, part in parts.items()]
    answer_table("", ["part", "records"], rows, numbers=["records"])


def _check_target(out: Path, *, overwrite: bool, sources: tuple[Path | None, ...] = ()) -> None:
    """Refuse what may not be replaced before minutes are spent on reading."""
    from discreet.data.readers import kind_of_file

    place_for(out, kind_of_file(out), overwrite=overwrite, sources=sources, spends=False)


def _readable(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{n} {v:,.6g}" if isinstance(v, int | float) else f"{n} {v}" for n, v in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else value
