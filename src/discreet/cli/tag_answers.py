"""What `discreet tags` says and writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.console import answer_json, answer_release, answer_table, answer_text, counted, note, release_facts
from discreet.common.replacing import Kind, Place

if TYPE_CHECKING:
    from discreet.data import TagAssignments
    from discreet.privacy import Release
    from discreet.tagging import TagRecommender

__all__ = ["LIST", "say_release", "say_what_is_missing", "write_list"]

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
    if as_json:
        parts = {name: list(part.shape) for name, part in release.parts.items()}
        answer_json(release_facts(release, place, parts=parts))
        return
    import polars as pl

    tables = {name: part for name, part in release.parts.items() if isinstance(part, pl.DataFrame)}
    if "assignments" in tables:
        triples = tables["assignments"]
        parts = (
            counted(triples[name].n_unique(), what)
            for name, what in (("user_id", "user"), ("resource_id", "resource"), ("tag", "tag"))
        )
        answer_text(f"{counted(triples.height, 'triple')}: {', '.join(parts)}")
    elif "tags" in tables and "count" in tables["tags"].columns:
        best = tables["tags"].sort("count", descending=True).head(SHOWN)
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
