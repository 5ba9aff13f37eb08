"""What `discreet tags` says and writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.console import answer_json, answer_table, answer_text, note
from discreet.errors import ReleaseError

if TYPE_CHECKING:
    from discreet.data import TagAssignments
    from discreet.privacy import Release
    from discreet.tagging import TagRecommender

__all__ = ["say_estimate", "say_release", "say_what_is_missing", "write_list"]

SHOWN = 10
"""Of a release so many tags are shown."""


def write_list(entries: list[Any], out: Path) -> None:
    """One entry a line. The list is paid for: an entry that does not fit on a line is left out, not an error."""
    lines = [text for entry in entries if len((text := str(entry)).splitlines()) == 1 and text.strip()]
    if len(lines) < len(entries):
        note(f"{len(entries) - len(lines):,} entries have line breaks and were left out")
    try:
        out.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    except OSError as error:
        raise ReleaseError(f"{out} cannot be written: {error.strerror}.") from None


def say_release(release: Release, place: Path, *, as_json: bool) -> None:
    """What was released, its promise, and where it is."""
    if as_json:
        answer_json(
            {
                "release": str(place),
                "id": release.id,
                "kind": release.kind,
                "guarantee": release.guarantee.to_json(),
                "parameters": dict(release.parameters),
                "parts": {name: list(part.shape) for name, part in release.parts.items()},
            }
        )
        return
    if "assignments" in release.parts:
        triples = release.table("assignments")
        people, things, words = (triples[name].n_unique() for name in ("user_id", "resource_id", "tag"))
        answer_text(f"{triples.height:,} triples: {people:,} users, {things:,} resources, {words:,} tags")
    elif "tags" in release.parts and "count" in release.table("tags").columns:
        best = release.table("tags").sort("count", descending=True).head(SHOWN)
        answer_table("Most used tags, with noise", best.columns, best.rows(), numbers=["count"])
    answer_text(str(release.guarantee))
    note(f"saved in {place}")


def say_what_is_missing(
    model: TagRecommender, mine: TagAssignments | None, user: str, asked: list[Any], *, given: bool
) -> None:
    """Say which parts of a list could not be had, where one would wonder."""
    from discreet.data.id_forms import recognized

    if mine is None and given:
        note(f"there are no triples of {user}: the list is the same for everybody")
    elif mine is None:
        note("without --own FILE or --data FILE the list does not know this person's own tags")
    known = recognized(model.resources_, asked)
    for one, code in zip(asked, known, strict=True):
        if code < 0:
            note(f"the release says nothing about the resource {one}")


def say_estimate(expected: dict[str, Any], *, as_json: bool) -> None:
    """What a release would be like."""
    if as_json:
        answer_json(expected)
        return
    rows = [(name.replace("_", " "), value) for name, value in expected.items() if name != "loss"]
    answer_table("What to expect", ["", "value"], rows, numbers=["value"])
    costs = f"{'Claims' if expected['standing'] == 'refuted' else 'Costs'} {expected['loss']}"
    refuted = ", which is refuted" if expected["standing"] == "refuted" else ""
    answer_text(f"{costs}{refuted}; nothing was spent. Nothing secret was looked at.")
