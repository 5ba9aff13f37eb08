"""`discreet demo`: every step on built-in data, with a report to open in a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.console import AsJson, answer_json, answer_text, progressing
from discreet.cli.demo_story import Story, told
from discreet.common.folders import MODEL, RELEASE
from discreet.common.renaming import fresh_name, rename_new
from discreet.common.replacing import Kind, place_for, strangers

__all__ = ["demo"]

MARK = "made-by-discreet-demo"


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the releases, the ledger and the report.")] = Path(
        "demo"
    ),
    as_json: AsJson = False,
) -> None:
    """Recommendations, counts and a top 10 from synthetic data: results, costs, attacks and an audit.

    [bold]Example[/bold]

        discreet demo --out demo
    """
    from discreet.cli.demo_page import TITLE, PrintedPage, add_report
    from discreet.reports import Page

    with _prepared(out):
        with progressing("the demo") as progress:
            story = told(out, progress)
        lead = f"{story.films.n_users:,} invented people rated {story.films.n_items:,} films."
        page = (Page if as_json else PrintedPage)(TITLE, lead)
        add_report(page, story)
        report = page.save(out / "report.html")
    if as_json:
        answer_json({"report": str(report), **_as_json(story)})
    else:
        answer_text(f"Open {report} in a browser.")


@contextmanager
def _prepared(out: Path) -> Iterator[None]:
    """An empty folder of our own. What an earlier demo left is kept aside until the new one is done."""
    place = place_for(out, DEMO, overwrite=True)
    place.check_writable()
    earlier = None
    if place.before is not None:
        earlier = fresh_name(place.path.parent)
        rename_new(place.path, earlier)
    place.path.mkdir()
    (place.path / MARK).touch()
    try:
        yield
    except BaseException:
        shutil.rmtree(place.path, ignore_errors=True)
        if earlier is not None:
            rename_new(earlier, place.path)
        raise
    if earlier is not None:
        place.dispose(earlier)


def _foreign(folder: Path) -> str | None:
    """Why a folder is not wholly what a demo left."""
    if not (folder / MARK).is_file():
        return "it was not made by a demo"
    known = {MARK, "report.html"}
    for name, kind in (("model", MODEL), ("counts", RELEASE), ("top", RELEASE)):
        if (folder / name).is_dir():
            if (why := kind.foreign(folder / name)) is not None:
                return f"in {name}, {why}"
            known |= {f"{name}/{path.name}" for path in (folder / name).iterdir()}
    return strangers(folder, known | {path.name for path in folder.glob("budget.db*") if path.is_file()})


DEMO = Kind("demo", _foreign)


def _as_json(story: Story) -> dict[str, Any]:
    return {
        "model": {
            "folder": str(story.folder / "model"),
            "guarantee": str(story.model.guarantee),
            "lists": story.lists,
            "accuracy": story.accuracy.to_dict(),
        },
        "counts": {"folder": str(story.folder / "counts"), "guarantee": story.counts.guarantee.to_json()},
        "top": {
            "folder": str(story.folder / "top"),
            "guarantee": story.top.guarantee.to_json(),
            "truly_in_top_10": story.found,
        },
        "attack": story.attack.to_json(),
        "audits": [audit.to_json() for audit in story.audits],
        "risk": story.risk.to_json(),
        "refusal": story.refusal,
        "statement": story.statement.to_json(),
    }
