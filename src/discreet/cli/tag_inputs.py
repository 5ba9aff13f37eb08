"""What `discreet tags` and studies of tags read: triples, public lists, and the tags of the person who asks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from discreet.cli.console import note
from discreet.cli.options import read_any
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    import polars as pl

    from discreet.data import TagAssignments

__all__ = ["public_lists", "read_own", "read_tags", "typed"]

Listed = Literal["tag", "resource"]

BESIDE = ("user_taggedartists.dat", "user_taggedmovies.dat")
"""Tags in folders that are read as plays or ratings otherwise: HetRec's Last.fm and MovieLens."""


def read_tags(
    path: Path, *, format: str | None = None, column: list[str] | None = None, **options: Any
) -> TagAssignments:
    """Read data that must be triples. A folder of HetRec 2011 is read for its tags."""
    from discreet.data import TagAssignments

    if format is None and path.is_dir():
        path = next((path / name for name in BESIDE if (path / name).is_file()), path)
    data = read_any(path, format=format, column=column, **options)
    if not isinstance(data, TagAssignments):
        raise UsageError(
            f"{path} holds {type(data).__name__}; this command needs tags (user, resource, tag).",
            remedy="Name the columns: --column user=… --column resource=… --column tag=….",
        )
    return data


def public_lists(
    data: TagAssignments,
    *,
    vocabulary: Path | None,
    vocabulary_public: bool,
    resources: Path | None,
    resources_public: bool,
    take_all: bool = False,
) -> TagAssignments:
    """The triples with the lists that were declared public. What is on neither list is left out, and that is said.

    Methods for which it is public who tagged what take all triples or none: then a stranger to the list is an error.
    """
    outside: Literal["error", "drop"] = "error" if take_all else "drop"
    for name, given, declared in (
        ("vocabulary", vocabulary, vocabulary_public),
        ("resources", resources, resources_public),
    ):
        if given is not None and declared:
            raise UsageError(f"--{name} and --{name}-public exclude each other.")
    before = len(data)
    if vocabulary is not None:
        data = data.with_vocabulary(_listed(vocabulary, "tag"), outside=outside)
        _say_dropped(before - len(data), "tag", vocabulary)
    elif vocabulary_public:
        data = data.with_vocabulary("observed")
    before = len(data)
    if resources is not None:
        data = data.with_resources(_listed(resources, "resource"), outside=outside)
        _say_dropped(before - len(data), "resource", resources)
    elif resources_public:
        data = data.with_resources("observed")
    return data


def read_own(
    own: Path | None, data: Path | None, user: str, *, format: str | None, column: list[str] | None
) -> TagAssignments | None:
    """The triples of the person who asks, and of nobody else; None where there are none."""
    from discreet.data.id_forms import recognized

    if own is not None and data is not None:
        raise UsageError("--own and --data exclude each other.", remedy="Give the file that holds this person's tags.")
    place = own if own is not None else data
    if place is None:
        return None
    triples = read_tags(place, format=format, column=column)
    asking = recognized(triples.users, [typed(user, triples.users.series)])
    theirs = triples.filter(triples.user == asking[0], independent=True)
    return theirs if len(theirs) else None


def typed(text: str, ids: pl.Series) -> Any:
    """An id as it was typed, in the type of the ids."""
    from discreet.data.id_forms import id_as_number

    number = id_as_number(text) if ids.dtype.is_integer() else None
    return text if number is None else number


def _listed(path: Path, what: Listed) -> list[Any]:
    """A public list: a text file with one entry a line, or the folder that `discreet tags vocabulary` released.

    Its type is its own: numbers where all entries are whole numbers, otherwise text. What type the triples have may
    follow from a single one of them.
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
        raise DataError("the list is no text in UTF-8.", file=path, remedy="Write one entry a line.") from None
    entries = [line for line in lines if line.strip()]
    if not entries:
        raise DataError("the list is empty.", file=path, remedy=f"Write one {what} a line.")
    numbers = [number for number in map(id_as_number, entries) if number is not None]
    return numbers if len(numbers) == len(entries) else entries


def _say_dropped(many: int, what: Listed, path: Path) -> None:
    if many:
        note(f"{many:,} triples have a {what} that is not in {path}, and were left out (this number is not private)")
