"""`discreet tags`: release tagging data privately, and recommend tags from a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import answer_json, answer_table, answer_text, note, working
from discreet.cli.options import (
    AsJson,
    Column,
    DataPath,
    Format,
    LedgerPath,
    Settings,
    ledger_at,
    saved,
    settings_of,
    target_for,
)
from discreet.cli.tag_answers import say_estimate, say_release, say_what_is_missing, write_list
from discreet.cli.tag_inputs import public_lists, read_own, read_tags, typed
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.data import TagAssignments
    from discreet.privacy import Ledger, Release
    from discreet.tagging import TagMethod

__all__ = ["app"]

app = typer.Typer(help="Release tagging data privately, and recommend tags.", no_args_is_help=True)

NoLedger = Annotated[bool, typer.Option("--no-ledger", help="Spend without keeping a book.")]


@app.command()
def release(
    data: DataPath,
    epsilon: Annotated[str, typer.Option("--epsilon", help='The budget: "1/2", "0.5" or "1".')],
    method: Annotated[str, typer.Option("--method", help="How to release, see above.")] = "ptr-j",
    delta: Annotated[
        str | None, typer.Option("--delta", help="The delta that goes with it: 1e-6; ptr-l and pritop have none.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the release.")] = None,
    vocabulary: Annotated[
        Path | None, typer.Option("--vocabulary", metavar="FILE", help="The public list of tags, one a line.")
    ] = None,
    vocabulary_public: Annotated[
        bool, typer.Option("--vocabulary-public", help="Declare that it is public knowledge which tags occur.")
    ] = False,
    resources: Annotated[
        Path | None, typer.Option("--resources", metavar="FILE", help="The public list of resources, one a line.")
    ] = None,
    resources_public: Annotated[
        bool, typer.Option("--resources-public", help="Declare that it is public knowledge which resources occur.")
    ] = False,
    unit: Annotated[
        str | None, typer.Option("--unit", help="For ptr-j, what is protected: user or assignment.")
    ] = None,
    topics: Annotated[int | None, typer.Option("-K", "--topics", help="How many topics, where there are any.")] = None,
    option: Settings = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what to expect; spend nothing.")] = False,
    ledger: LedgerPath = None,
    no_ledger: NoLedger = False,
    allow_refuted: Annotated[
        bool, typer.Option("--allow-refuted", help="Run a published method whose promise does not hold.")
    ] = False,
    format: Format = None,
    column: Column = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the release in the folder.")] = False,
    as_json: AsJson = False,
) -> None:
    """Release what people tagged, privately.

    Tags that are not in the public vocabulary are left out. Ways to release:

    [bold]ptr-j[/bold]: the default. Popular tags and the tags of popular resources; a
    person's own tags complete them on that person's side. Hides everything that
    one person tagged, or with --unit assignment one tag on one resource.

    [bold]ptr-s[/bold]: a table of triples of invented people. Hides everything that one
    person tagged.

    [bold]ptr-t[/bold]: real posts with replaced tags. Hides which tag you chose, not that
    you tagged this resource.

    [bold]ptr-l[/bold]: a few noisy tags of each person. Hides all that a person tagged,
    not that they take part.

    [bold]private-topics[/bold]: topics alone. Hides everything that one person tagged.

    [bold]pritop[/bold]: of the paper, to compare with; its promise does not hold.

    [bold]Example[/bold], from nothing:

        discreet data generate tags --seed 7 --out tags.parquet
        discreet tags vocabulary tags.parquet --public --out public.txt
        discreet ledger open tags.parquet --epsilon 2 --delta 1e-5 --ledger b.db
        discreet tags release tags.parquet --epsilon 1 --delta 1e-6 --vocabulary public.txt --ledger b.db --out release/
        discreet tags recommend release/ --user u3 --resource page-9 -n 10 --data tags.parquet
    """
    from discreet.tagging.methods import METHODS, looked_up

    settings = settings_of(option, epsilon=epsilon, delta=delta, unit=unit, topics=topics)
    book = None if estimate else ledger_at(ledger, unbooked=no_ledger)
    target = None if estimate else target_for(out, overwrite=overwrite)
    triples = public_lists(
        read_tags(data, format=format, column=column),
        vocabulary=vocabulary,
        vocabulary_public=vocabulary_public,
        resources=resources,
        resources_public=resources_public,
        take_all=looked_up(method, METHODS, "way to release tags").takes_all,
    )
    chosen = _method(method, settings, triples)
    if target is None:
        say_estimate(chosen.estimate(triples), as_json=as_json)
        return
    with working(f"releasing with {method}"):
        made = chosen.release(triples, ledger=book, allow_refuted=allow_refuted)
    say_release(made, saved(made.save, target, overwrite=overwrite), as_json=as_json)


@app.command()
def recommend(
    folder: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release of tags.")],
    user: Annotated[str, typer.Option("--user", help="Who is about to tag.")],
    resource: Annotated[list[str], typer.Option("--resource", help="What is to be tagged; repeatable.")],
    n: Annotated[int, typer.Option("-n", "--many", help="How many tags.")] = 10,
    own: Annotated[
        Path | None, typer.Option("--own", metavar="FILE", help="This person's own tags: user, resource, tag.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="All triples, of which this person's own are used and no others.")
    ] = None,
    format: Format = None,
    column: Column = None,
    as_json: AsJson = False,
) -> None:
    """Recommend tags for a resource, from a release and from one's own tags.

    A person's own tags are read where this runs, for this person's list, and go
    nowhere. Without them the list says what the release says to everybody.

    [bold]Example[/bold]:

        discreet tags recommend release/ --user u3 --resource page-9 -n 10 --own mine.csv
    """
    from discreet.privacy import Release
    from discreet.tagging import recommender

    release = Release.load(folder)
    model = recommender(release)
    mine = read_own(own, data, user, format=format, column=column)
    asking = typed(user, model.users_.series if mine is None else mine.users.series)
    asked = [typed(one, model.resources_.series) for one in resource]
    best = model.recommend([(asking, one) for one in asked], n=n, own=mine)
    say_what_is_missing(model, mine, user, asked, given=own is not None or data is not None)
    if as_json:
        promise = None if model.guarantee is None else model.guarantee.to_json()
        answer_json({"id": release.id, "guarantee": promise, "tags": best.to_dicts()})
        return
    shown = ["rank", "tag", "score"] if len(asked) == 1 else ["resource_id", "rank", "tag", "score"]
    answer_table(f"Tags for {', '.join(map(str, asked))}", shown, best.select(shown).rows(), numbers=["rank", "score"])
    answer_text(str(model.guarantee))


@app.command()
def vocabulary(
    data: DataPath,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the list goes, one entry a line.")],
    of: Annotated[str, typer.Option("--of", help="What is listed: tags or resources.")] = "tags",
    public: Annotated[
        bool, typer.Option("--public", help="Declare that it is public knowledge which occur, and list all of them.")
    ] = False,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="List privately, for this budget.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="The delta that goes with it.")] = None,
    option: Settings = None,
    ledger: LedgerPath = None,
    no_ledger: NoLedger = False,
    kept: Annotated[
        Path | None, typer.Option("--release", metavar="FOLDER", help="Keep the private list as a release, too.")
    ] = None,
    format: Format = None,
    column: Column = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a public list of tags, or of resources: declared public, or found privately.

    Which tags occur is somebody's secret: a name, an illness. With --epsilon the
    tags are listed that enough people use (--option cap=20: the most of one person that
    are looked at; --option way=gaussian, laplace or policy). With --public all are
    listed, and nothing is promised.

    [bold]Example[/bold]:

        discreet tags vocabulary tags.parquet --epsilon 1 --delta 1e-6 --ledger budget.db --out public.txt
    """
    if of not in ("tags", "resources"):
        raise UsageError(f"--of {of!r}?", remedy="Choose tags or resources.")
    if public == (epsilon is not None):
        raise UsageError("how is the list to be made?", remedy="Give --epsilon and --delta, or --public.")
    if out.is_dir():
        raise UsageError(f"{out} is a folder.", remedy="Give a file for the list; --release FOLDER keeps a release.")
    for place in (out, kept):
        if place is not None:
            target_for(place, overwrite=overwrite)
    settings = _discovery_settings(settings_of(option, epsilon=epsilon, delta=delta))
    book = None if public else ledger_at(ledger, unbooked=no_ledger)
    triples = read_tags(data, format=format, column=column)
    if public:
        entries, promise = sorted((triples.tags if of == "tags" else triples.resources).ids()), None
    else:
        found = _discovered(of, settings, triples, book)
        if kept is not None:
            saved(found.save, kept, overwrite=overwrite)
        entries, promise = found.table(of).to_series(0).to_list(), found.guarantee
        if not entries:
            note("none is held by enough people to be named: a larger --epsilon or --delta names more")
    write_list(entries, out)
    if as_json:
        said = None if promise is None else promise.to_json()
        answer_json({"list": str(out), "entries": len(entries), "guarantee": said})
        return
    answer_text(f"{len(entries):,} {of} → {out}")
    answer_text("Nothing is promised: they were declared public." if promise is None else str(promise))


# Settings


def _method(name: str, settings: dict[str, Any], data: TagAssignments) -> TagMethod:
    """The way to release with the settings that were typed."""
    from discreet.tagging.methods import tag_method

    if (
        name == "ptr-j"
        and not data.resources_are_public
        and settings.get("unit", "user") == "user"
        and "resources" not in settings
    ):
        note(
            "without a public list of resources no tags of resources are counted: give --resources FILE or "
            "--resources-public to have them"
        )
        settings = {**settings, "resources": 0}
    return tag_method(name, **settings)


def _discovery_settings(settings: dict[str, Any]) -> dict[str, Any]:
    if unknown := sorted(set(settings) - {"epsilon", "delta", "cap", "way", "ids"}):
        raise UsageError(f"there is no setting {unknown[0]} here.", remedy="Settings are cap, way and ids.")
    if "epsilon" in settings and "delta" not in settings:
        raise UsageError("a list is found privately with a delta.", remedy="Give --delta 1e-6.")
    return settings


def _discovered(of: str, settings: dict[str, Any], data: TagAssignments, book: Ledger | None) -> Release:
    from discreet.tagging import discover_resources, discover_tags

    discover = discover_tags if of == "tags" else discover_resources
    with working(f"listing {of}"):
        return discover(data, **settings, ledger=book)
