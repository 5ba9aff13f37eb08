"""`discreet tags`: release tagging data privately, and recommend tags from a release."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from discreet.cli.commands import Settings, chosen_from, command, group, settings_of
from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, counted, note, working
from discreet.cli.reading import DataPath, Reading, TimedReading
from discreet.cli.rounds import CuratorRound
from discreet.cli.spending import Charging, Spending, answer_release, release_facts, saved, say_estimate
from discreet.common.folders import RELEASE
from discreet.common.replacing import Kind, Place
from discreet.errors import DataError, ReleaseError, UsageError

if TYPE_CHECKING:
    from discreet.cli.reading import Reading
    from discreet.data import TagAssignments
    from discreet.privacy import Ledger, Release
    from discreet.tagging import TagRecommender
    from discreet.tagging.tag_method import TagMethod

__all__ = ["app"]

app = group("Release tagging data privately, and recommend tags.")


Listed = Literal["tag", "resource"]


def _list(name: str, what: str) -> Any:
    return typer.Option(f"--{name}", metavar="FILE", help=f"The public list of {what}, one a line.")


def _declared(name: str, what: str) -> Any:
    return typer.Option(f"--{name}-public", help=f"Declare that it is public knowledge which {what} occur.")


@dataclass(frozen=True, kw_only=True)
class PublicLists:
    """Lists of tags and resources that are public."""

    PANEL: ClassVar = "Public lists"

    vocabulary: Annotated[Path | None, _list("vocabulary", "tags")] = None
    vocabulary_public: Annotated[bool, _declared("vocabulary", "tags")] = False
    resources: Annotated[Path | None, _list("resources", "resources")] = None
    resources_public: Annotated[bool, _declared("resources", "resources")] = False

    def of(self, data: TagAssignments, *, take_all: bool) -> TagAssignments:
        """The triples with the lists that were declared public; what is not on a list is left out, with a note.

        Methods for which it is public who tagged what take all triples or none: then an entry that is not on the list
        is an error.
        """
        outside: Literal["error", "drop"] = "error" if take_all else "drop"
        for name in ("vocabulary", "resources"):
            if getattr(self, name) is not None and getattr(self, f"{name}_public"):
                raise UsageError(f"--{name} and --{name}-public exclude each other.")
        if self.vocabulary is not None:
            before = len(data)
            data = data.with_vocabulary(_listed(self.vocabulary, "tag"), outside=outside)
            _note_dropped(before - len(data), "tag", self.vocabulary)
        elif self.vocabulary_public:
            data = data.with_vocabulary("observed")
        if self.resources is not None:
            before = len(data)
            data = data.with_resources(_listed(self.resources, "resource"), outside=outside)
            _note_dropped(before - len(data), "resource", self.resources)
        elif self.resources_public:
            data = data.with_resources("observed")
        return data


@command(app)
def release(
    data: DataPath,
    spending: Spending,
    lists: PublicLists,
    reading: TimedReading,
    curator: CuratorRound,
    method: Annotated[str, typer.Option("--method", help="How to release, see above.")] = "ptr-j",
    unit: Annotated[
        str | None, typer.Option("--unit", help="For ptr-j, what is protected: user or assignment.")
    ] = None,
    topics: Annotated[int | None, typer.Option("-K", "--topics", help="How many topics, where there are any.")] = None,
    option: Settings = None,
) -> None:
    """Release what people tagged, privately.

    Tags that are not in the public vocabulary are left out. Methods:

    [bold]ptr-j[/bold]: the default. Popular tags and the tags of popular resources; a person's own tags complete them
    on that person's side. Hides everything that one person tagged, or with --unit assignment one tag on one resource.

    [bold]ptr-s[/bold]: a table of triples of synthetic people. Hides everything that one person tagged.

    [bold]ptr-t[/bold]: real posts with replaced tags. Hides which tag a person chose, not that they tagged the
    resource.

    [bold]private-topics[/bold]: topics alone. Hides everything that one person tagged.

    [bold]pritop[/bold]: of the paper, to compare with; its guarantee is refuted.

    [bold]Example[/bold], from nothing:

        discreet data generate tags --seed 7 --out tags.parquet
        discreet tags vocabulary tags.parquet --public --out public.txt
        discreet ledger open tags.parquet --epsilon 2 --delta 1e-5 --ledger b.db
        discreet tags release tags.parquet --epsilon 1 --delta 1e-6 --vocabulary public.txt --ledger b.db --out release/
        discreet tags recommend release/ --user u3 --resource page-9 -n 10 --data tags.parquet

    [bold]Several curators[/bold] release round by round, each with their own tags (docs/curators.md):

        discreet tags release tags.parquet --epsilon 1 --vocabulary public.txt --no-ledger --round 1 --out a1/
    """
    from discreet.models.registry import registered

    settings = settings_of(option, epsilon=spending.epsilon, delta=spending.delta, unit=unit, topics=topics)
    take_all = registered(method, "tags").posts_are_public
    ledger = place = None
    if not spending.estimate and not curator.asked:
        ledger = spending.opened()
        place = spending.place(spending.out, RELEASE, data, lists.vocabulary, lists.resources)
    triples = lists.of(reading.tags(data), take_all=take_all)
    chosen = _method(method, settings, triples)
    if curator.asked and not spending.estimate:
        curator.run(chosen, triples, spending, data, lists.vocabulary, lists.resources)
        return
    if place is None:
        say_estimate(chosen.estimate(triples), as_json=spending.as_json)
        return
    with working(f"releasing with {method}"):
        made = chosen.release(triples, ledger=ledger, allow_refuted=spending.allow_refuted)
    say_release(made, saved(made.save, place), as_json=spending.as_json)


@command(app)
def recommend(
    folder: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release of tags.")],
    user: Annotated[str, typer.Option("--user", help="Who is about to tag.")],
    resource: Annotated[list[str], typer.Option("--resource", help="What is to be tagged; repeatable.")],
    reading: Reading,
    n: Annotated[int, typer.Option("-n", "--many", help="How many tags.")] = 10,
    own: Annotated[
        Path | None, typer.Option("--own", metavar="FILE", help="This person's own tags: user, resource, tag.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="All triples, of which this person's own are used and no others.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recommend tags for a resource, from a release and from a person's own tags.

    A person's own tags are read where this runs, for this person's list alone, and are not published. Without them
    the list is the same for everybody.

    [bold]Example[/bold]

        discreet tags recommend release/ --user u3 --resource page-9 -n 10 --own mine.csv
    """
    from discreet.data.id_forms import typed
    from discreet.privacy import Release
    from discreet.tagging import recommender

    release = Release.load(folder)
    model = recommender(release)
    mine = read_own(own, data, user, reading)
    asking = typed(user, model.users_.series if mine is None else mine.users.series)
    asked = [typed(one, model.resources_.series) for one in resource]
    best = model.recommend([(asking, one) for one in asked], n=n, own=mine)
    say_what_is_missing(model, mine, user, asked, given=own is not None or data is not None)
    if as_json:
        guarantee = None if model.guarantee is None else model.guarantee.to_json()
        answer_json({"id": release.id, "guarantee": guarantee, "tags": best.to_dicts()})
        return
    shown = ["rank", "tag", "score"] if len(asked) == 1 else ["resource_id", "rank", "tag", "score"]
    answer_table(f"Tags for {', '.join(map(str, asked))}", shown, best.select(shown).rows(), numbers=["rank", "score"])
    if model.guarantee is not None:
        answer_text(model.guarantee.describe())


@command(app)
def vocabulary(
    data: DataPath,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the list goes, one entry a line.")],
    charging: Charging,
    reading: TimedReading,
    of: Annotated[str, typer.Option("--of", help="What is listed: tags or resources.")] = "tags",
    public: Annotated[
        bool, typer.Option("--public", help="Declare that it is public knowledge which occur, and list all of them.")
    ] = False,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="List privately, for this budget.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="The delta that goes with it.")] = None,
    option: Settings = None,
    kept: Annotated[
        Path | None, typer.Option("--release", metavar="FOLDER", help="Keep the private list as a release, too.")
    ] = None,
) -> None:
    """Make a public list of tags, or of resources: declared public, or found privately.

    Which tags occur is somebody's secret: a name, an illness. With --epsilon the tags are listed that enough people
    use (--option cap=20: the most of one person that are counted; --option way=gaussian, laplace or policy). With
    --public all are listed, without a guarantee.

    [bold]Example[/bold]

        discreet tags vocabulary tags.parquet --epsilon 1 --delta 1e-6 --ledger budget.db --out public.txt
    """
    chosen_from(of, ("tags", "resources"), "--of")
    if public == (epsilon is not None):
        raise UsageError("give either a budget or --public.", remedy="Give --epsilon and --delta, or --public.")
    if out.is_dir():
        raise ReleaseError(f"{out} is a folder.", remedy="Give a file for the list; --release FOLDER keeps a release.")
    place = charging.place(out, LIST, data)
    folder = None if kept is None else charging.place(kept, RELEASE, data, out)
    settings = _discovery_settings(settings_of(option, epsilon=epsilon, delta=delta))
    ledger = None if public else charging.opened()
    triples = reading.tags(data)
    if public:
        entries, guarantee = sorted((triples.tags if of == "tags" else triples.resources).ids()), None
    else:
        found = _discovered(of, settings, triples, ledger)
        if folder is not None:
            saved(found.save, folder)
        entries, guarantee = found.table(of).to_series(0).to_list(), found.guarantee
        if not entries:
            note("none is held by enough people to be named: a larger --epsilon or --delta names more")
    out = write_list(entries, place)
    if charging.as_json:
        said = None if guarantee is None else guarantee.to_json()
        answer_json({"list": str(out), "entries": len(entries), "guarantee": said})
        return
    answer_text(f"{counted(len(entries), of.removesuffix('s'))} → {out}")
    answer_text("There is no guarantee: they were declared public." if guarantee is None else guarantee.describe())


# Settings


def _method(name: str, settings: dict[str, Any], data: TagAssignments) -> TagMethod:
    """The method with the settings that were typed."""
    from discreet.models.registry import create

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
    return create(name, "tags", **settings)


def _discovery_settings(settings: dict[str, Any]) -> dict[str, Any]:
    if unknown := sorted(set(settings) - {"epsilon", "delta", "cap", "way", "ids"}):
        raise UsageError(f"there is no setting {unknown[0]} here.", remedy="Settings are cap, way and ids.")
    if "epsilon" in settings and "delta" not in settings:
        raise UsageError("a list is found privately with a delta.", remedy="Give --delta 1e-6.")
    return settings


def _discovered(of: str, settings: dict[str, Any], data: TagAssignments, ledger: Ledger | None) -> Release:
    from discreet.tagging import discover_resources, discover_tags

    discover = discover_tags if of == "tags" else discover_resources
    with working(f"listing {of}"):
        return discover(data, **settings, ledger=ledger)


def read_own(own: Path | None, data: Path | None, user: str, reading: Reading) -> TagAssignments | None:
    """The triples of the person who asks, and of nobody else; None where there are none."""
    from discreet.data.id_forms import recognized

    if own is not None and data is not None:
        raise UsageError("--own and --data exclude each other.", remedy="Give the file that holds this person's tags.")
    place = own if own is not None else data
    if place is None:
        return None
    triples = reading.tags(place)
    asking = recognized(triples.users, [user])
    theirs = triples.filter(triples.user == asking[0], independent=True)
    return theirs if len(theirs) else None


def _listed(path: Path, what: Listed) -> list[Any]:
    """A public list: a text file with one entry a line, or the folder that `discreet tags vocabulary` released.

    Its entries are numbers where all of them are whole numbers, otherwise text. The type of the triples is not used:
    it may depend on a single one of them.
    """
    from discreet.data.id_forms import id_as_number

    if path.is_dir():
        from discreet.privacy import Release

        release = Release.load(path)
        if release.kind != f"{what}-list":
            raise UsageError(
                f"{path} holds {release.kind!r}, not a list of {what}s.",
                remedy=f"Make one: discreet tags vocabulary DATA --of {what}s …",
            )
        return release.table(f"{what}s")["tag" if what == "tag" else "resource_id"].to_list()
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise DataError(f"the list cannot be read: {error.strerror or error}.", file=path) from None
    except UnicodeDecodeError:
        raise DataError("the list is not text in UTF-8.", file=path, remedy="Write one entry a line.") from None
    entries = [line for line in lines if line.strip()]
    if not entries:
        raise DataError("the list is empty.", file=path, remedy=f"Write one {what} a line.")
    numbers = [number for number in map(id_as_number, entries) if number is not None]
    return numbers if len(numbers) == len(entries) else entries


def _note_dropped(many: int, what: Listed, path: Path) -> None:
    if many:
        have, were = ("has", "was") if many == 1 else ("have", "were")
        left = f"{counted(many, 'triple')} {have} a {what} that is not in {path}, and {were} left out"
        note(f"{left} (this number is not private)")


SHOWN = 10
"""How many tags of a release are shown."""

LIST = Kind("list", lambda path: None, is_folder=False, marked=False)


def write_list(entries: list[Any], place: Place) -> Path:
    """One entry a line. The list is paid for: an entry that does not fit on a line is left out, not an error."""
    lines = [text for entry in entries if len((text := str(entry)).splitlines()) == 1 and text.strip()]
    if len(lines) < len(entries):
        note(f"{counted(len(entries) - len(lines), 'entry', 'entries')} with line breaks left out")
    text = "".join(f"{line}\n" for line in lines)
    return place.put(lambda aside: aside.write_text(text, encoding="utf-8"))


def say_release(release: Release, place: Path, *, as_json: bool) -> None:
    """Print what was released, its guarantee, and where it is."""
    import polars as pl

    if as_json:
        parts = {name: list(part.shape) for name, part in release.parts.items()}
        answer_json(release_facts(release, place, parts=parts))
        return
    triples, tags = release.parts.get("assignments"), release.parts.get("tags")
    if isinstance(triples, pl.DataFrame):
        parts = (
            counted(triples[name].n_unique(), what)
            for name, what in (("user_id", "user"), ("resource_id", "resource"), ("tag", "tag"))
        )
        answer_text(f"{counted(triples.height, 'triple')}: {', '.join(parts)}")
    elif isinstance(tags, pl.DataFrame) and "count" in tags.columns:
        best = tags.sort("count", descending=True).head(SHOWN)
        answer_table("Most used tags, with noise", best.columns, best.rows(), numbers=["count"])
    answer_release(release, place)


def say_what_is_missing(
    model: TagRecommender, mine: TagAssignments | None, user: str, asked: list[Any], *, given: bool
) -> None:
    """Print which parts of a list are missing, and why."""
    from discreet.data.id_forms import recognized

    if mine is None and given:
        note(f"there are no triples of {user}: the list is the same for everybody")
    elif mine is None:
        note("without --own FILE or --data FILE the list does not know this person's own tags")
    known = recognized(model.resources_, asked)
    for one, code in zip(asked, known, strict=True):
        if code < 0:
            note(f"the release says nothing about the resource {one}")
