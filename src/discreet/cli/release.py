"""`discreet release`: what a release guarantees, and whether it is whole."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.commands import command, group
from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, counted
from discreet.cli.spending import LedgerPath, Overwrite, answer_release, place_for, release_facts, saved

__all__ = ["app"]

app = group("Show, verify and combine releases.")

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of a release.")]


@command(app)
def show(
    folder: Folder,
    part: Annotated[
        str | None, typer.Option("--part", metavar="NAME", help="Show this table of the release, and nothing else.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The guarantee of a release, and how it was made; or one of its tables.

    [bold]Example[/bold]

        discreet release show counts/
        discreet release show counts/ --part counts
    """
    from discreet.privacy import Release

    release = Release.load(folder)
    if part is not None:
        table = release.table(part)
        if as_json:
            answer_json(table.to_dicts())
            return
        # A catalog has years and codes, which are names.
        numbers = [name for name, kind in table.schema.items() if kind.is_numeric() and not name.endswith("_id")]
        numbers = [] if part == "items" else numbers
        answer_table(part, table.columns, table.rows(), numbers=numbers)
        return
    if as_json:
        answer_json(
            release_facts(
                release,
                folder,
                dataset=release.dataset,
                mechanism=release.mechanism,
                created=release.created,
                version=release.version,
                parts={name: list(part.shape) for name, part in release.parts.items()},
            )
        )
        return
    answer_text(f"{release.describe()}\n")
    rows = [
        ("kind", release.kind),
        ("dataset", release.dataset or "(unnamed)"),
        ("mechanism", release.mechanism),
        *((f"  {name}", value) for name, value in release.parameters.items() if name != "combined"),
        *_parts(release.parameters.get("combined")),
        ("created", f"{release.created} by discreet {release.version}"),
        ("id", release.id),
        *((f"part {name}", " × ".join(map(str, part.shape))) for name, part in release.parts.items()),
    ]
    answer_table("", ["", "value"], rows)


def _parts(combined: dict[str, Any] | None, indent: str = "  ") -> list[tuple[str, str]]:
    """What a combination is made of, a row for each part."""
    if combined is None:
        return []
    rows = [(f"{indent}people", "declared disjoint" if combined["people"] == "disjoint" else "may overlap")]
    for part in combined["parts"]:
        budget = ", ".join(
            f"{sign} = {part[name]}" for sign, name in (("ε", "epsilon"), ("δ", "delta")) if name in part
        )
        rows.append(
            (f"{indent}of", f"{part['dataset'] or '(unnamed)'} ({part['id'][:12]}): {budget}; {part['standing']}")
        )
        rows += _parts(part if "parts" in part else None, indent + "  ")
    return rows


@command(app)
def combine(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER…", help="Releases of the curators, two or more.")],
    out: Annotated[Path | None, typer.Option("--out", metavar="FOLDER", help="Where the combination goes.")] = None,
    disjoint: Annotated[
        bool, typer.Option("--disjoint-people", help="Declare that nobody is in the data of two curators.")
    ] = False,
    may_overlap: Annotated[
        bool, typer.Option("--people-may-overlap", help="Somebody may be: the guarantees add up.")
    ] = False,
    name: Annotated[
        str | None, typer.Option("--name", help="What the records of all are called; the names of the parts.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Add up the releases of several curators: counts, or a round of a model, of tags or of queries. It costs nothing.

    All parts are of one method, with the same settings but for epsilon and delta, and have the same catalog, the same
    lists of tags, or the same domains and queries. Where nobody is in two of them, the guarantee is the weakest of
    theirs. It is charged to nobody: each curator has charged their own part.

    [bold]Example[/bold]: counts of two shops, and a model of theirs in two rounds

        discreet data generate films --seed 7 --out a.parquet
        discreet data generate films --seed 8 --out b.parquet
        discreet count a.parquet --epsilon 1 --cap 30 --no-ledger --out a/
        discreet count b.parquet --epsilon 1 --cap 30 --no-ledger --out b/
        discreet release combine a/ b/ --disjoint-people --out both/
        discreet fit a.parquet --epsilon 4 --delta 1e-6 --no-ledger --round 1 --out a1/
        discreet fit b.parquet --epsilon 4 --delta 1e-6 --no-ledger --round 1 --out b1/
        discreet release combine a1/ b1/ --disjoint-people --out round1/
        discreet fit a.parquet --epsilon 4 --delta 1e-6 --no-ledger --round 2 --after round1/ --out a2/
        discreet fit b.parquet --epsilon 4 --delta 1e-6 --no-ledger --round 2 --after round1/ --out b2/
        discreet release combine a2/ b2/ --disjoint-people --out model/
    """
    from discreet.combining import combine as combined
    from discreet.common.folders import MODEL, RELEASE
    from discreet.errors import UsageError

    if disjoint == may_overlap:
        said = "--disjoint-people and --people-may-overlap exclude each other."
        raise UsageError(
            said if disjoint else "it was not said whether somebody may be in the data of two curators.",
            remedy="Give one of them." if disjoint else "Give --disjoint-people or --people-may-overlap.",
        )
    release = combined(*folders, people="disjoint" if disjoint else "may-overlap", name=name)
    kind = MODEL if release.model else RELEASE
    place = place_for(out, kind, overwrite=overwrite, sources=folders, spends=False)
    folder = saved(release.save, place)
    if as_json:
        answer_json(release_facts(release, folder))
        return
    answer_release(release, folder)


@command(app)
def verify(folder: Folder, ledger: LedgerPath = None, as_json: AsJson = False) -> None:
    """Check every part against its SHA-256, and the release against a ledger if one is given.

    [bold]Example[/bold]

        discreet release verify counts/ --ledger budget.db
    """
    from discreet.combining.shared import leaves
    from discreet.errors import ReleaseError
    from discreet.privacy import Ledger, Release

    release = Release.load(folder)
    account = None
    if ledger is not None:
        # A combination is charged to nobody; each curator finds their own part of it.
        # People who were drawn again from a release are charged with that one.
        drawn = [release.parameters["drawn_from"]] if "drawn_from" in release.parameters else []
        found = [Ledger(ledger).account_of_release(part) for part in (release.id, *leaves(release), *drawn)]
        account = next((one for one in found if one is not None), None)
        if account is None:
            raise ReleaseError(f"{folder} is whole, but {ledger} has no such release ({release.id[:12]}…).")
    if as_json:
        answer_json({"whole": True, "id": release.id, "account": None if account is None else account.name})
        return
    what = "A part of it" if "combined" in release.parameters else "It"
    if "drawn_from" in release.parameters and "combined" not in release.parameters:
        what = f"Release {release.parameters['drawn_from'][:12]}…, which it says that it was drawn from,"
    charged = "" if account is None else f" {what} was charged to {account.name!r}."
    answer_text(f"{folder} is whole: {counted(len(release.parts), 'part')}, id {release.id[:12]}….{charged}")
