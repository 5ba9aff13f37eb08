"""What `discreet tags` reads beside the triples: public lists, and the tags of the person who asks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from discreet.cli.console import counted, note
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    from discreet.cli.reading import Reading
    from discreet.data import TagAssignments

__all__ = ["PublicLists", "read_own"]

Listed = Literal["tag", "resource"]


@dataclass(frozen=True, kw_only=True)
class PublicLists:
    """Lists of tags and resources that are public."""

    PANEL: ClassVar = "Public lists"

    vocabulary: Annotated[
        Path | None, typer.Option("--vocabulary", metavar="FILE", help="The public list of tags, one a line.")
    ] = None
    vocabulary_public: Annotated[
        bool, typer.Option("--vocabulary-public", help="Declare that it is public knowledge which tags occur.")
    ] = False
    resources: Annotated[
        Path | None, typer.Option("--resources", metavar="FILE", help="The public list of resources, one a line.")
    ] = None
    resources_public: Annotated[
        bool, typer.Option("--resources-public", help="Declare that it is public knowledge which resources occur.")
    ] = False

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
