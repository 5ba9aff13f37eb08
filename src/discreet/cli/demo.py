"""`discreet demo`: the whole story on built-in data, with a report to open in a browser."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import answer_json, answer_table, answer_text
from discreet.cli.demo_page import demo_page
from discreet.cli.demo_story import CAP, EPSILON, PERSON, Story, told
from discreet.cli.options import AsJson
from discreet.cli.progress import progressing
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.attacks import AttackReport

__all__ = ["demo"]

MARK = "made-by-discreet-demo"


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the releases, the ledger and the report.")] = Path(
        "demo"
    ),
    as_json: AsJson = False,
) -> None:
    """Recommendations, counts and a top-10 of invented film fans: what came out, what it cost, who attacked it.

    [bold]Example[/bold]: discreet demo --out demo
    """
    _prepare(out)
    with progressing("the demo") as progress:
        story = told(out, progress)
    page = demo_page(story).save(out / "report.html")
    if as_json:
        answer_json({"report": str(page), **_as_json(story)})
    else:
        _say(story)
        answer_text(f"Open {page} in a browser.")


def _prepare(out: Path) -> None:
    """An empty folder of our own; what an earlier demo left is replaced, anything else is not touched."""
    if out.exists():
        if not (out / MARK).exists():
            raise UsageError(f"{out} is there and was not made by a demo.", remedy="Choose another folder with --out.")
        shutil.rmtree(out)
    out.mkdir(parents=True)
    (out / MARK).touch()


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


def _say(story: Story) -> None:
    answer_text(f"{story.films!r}: invented people, so this demo may show the truth beside what is released.\n")
    answer_table(
        f"Recommended to {PERSON}, without privacy and with ε = 1, δ = 1e-6 for everybody's whole history",
        ["rank", *story.lists],
        [(place + 1, *titles) for place, titles in enumerate(zip(*story.lists.values(), strict=True))],
        numbers=["rank"],
    )
    answer_text(f"{story.accuracy}\n")
    noise = story.counts.parameters["noise_95"]
    answer_table(
        f"Private counts, ε = {EPSILON}: noise ±{noise:,.0f}, and lower because nobody weighs more than {CAP} ratings",
        ["rank", "film", "released", "(true)"],
        [(r["rank"], r["title"], r["count"], r["true"]) for r in story.compared.head(5).to_dicts()],
        numbers=["rank", "released", "(true)"],
    )
    best = ", ".join(story.top.table("top")["title"].to_list())
    answer_text(f"Private top-10 chosen directly, ε = {EPSILON}; {story.found} truly are in the top 10:\n{best}\n")
    _say_attacks(story.attack)
    for audit in story.audits:
        answer_text(f"Audited, {audit.model}: {audit.verdict}.")
    answer_text(f"\nPromised for the recommendations:\n{story.model.guarantee}\n")
    answer_text(f"A request that is too large costs nothing:\n{story.refusal}\n")
    answer_text(f"{story.statement}\n")


def _say_attacks(attack: AttackReport) -> None:
    columns = ["model", "ratings found", "found anyway, without that person"]
    answer_table(
        f"What {attack.rows[0].sybils} invented users find out about a person of whom they know 8 ratings",
        columns,
        [(row.model, f"{row.exact_present:.0%}", f"{row.exact_absent:.0%}") for row in attack.rows],
        numbers=columns[1:],
    )
