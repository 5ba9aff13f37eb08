"""`discreet series`: a release every night, at one price for all of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.commands import Settings, command, group, settings_of
from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, counted, note, working
from discreet.cli.count import ContextOption
from discreet.cli.parts import DataFiles, PartsCatalogReading, found_files
from discreet.cli.sources import source_writer
from discreet.cli.spending import Charging, answer_release, release_facts, saved, say_estimate

if TYPE_CHECKING:
    from discreet.series import Series

__all__ = ["app"]

app = group("A release every night, at one price for all of them.")

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the series is kept; as secret as the records.")]


@command(app, "open")
def open_series(
    folder: Folder,
    data: DataFiles,
    epsilon: Annotated[str, typer.Option("--epsilon", help="The price of the whole series.")],
    steps: Annotated[int, typer.Option("--steps", min=1, help="How many steps: 365 for a year of nights.")],
    charging: Charging,
    reading: PartsCatalogReading,
    delta: Annotated[str, typer.Option("--delta", help="The delta that goes with it, above 0.")] = "1e-6",
    method: Annotated[
        str,
        typer.Option(
            "--method",
            help="weighted (counts), context-popularity, private-recommender, private-ratings or private-item-knn.",
        ),
    ] = "private-recommender",
    context: ContextOption = None,
    full_export: Annotated[
        bool, typer.Option("--full-export", help="Every step is given all records so far, not only the new ones.")
    ] = False,
    enter_after: Annotated[
        int, typer.Option("--enter-after", min=1, help="Models: with how many records a person enters.")
    ] = 10,
    settle: Annotated[
        int | None,
        typer.Option("--settle", min=0, help="Models: the first step that releases; those before only collect."),
    ] = None,
    expected_people: Annotated[
        int | None,
        typer.Option(
            "--expected-people",
            min=1,
            metavar="N",
            help="Models without a history: people expected by the end, from which --settle follows; public.",
        ),
    ] = None,
    people: Annotated[
        int, typer.Option("--people", min=1, help="The most people that may come, so that sums fit; public.")
    ] = 10**7,
    option: Settings = None,
    estimate: Annotated[bool, typer.Option("--estimate", help="Show what to expect and spend nothing.")] = False,
) -> None:
    """Open a series and charge all of it.

    DATA are the records of the first step, or any with the same columns and catalog: only what is public about them is
    used here. Every release of the series has the totals of all records so far. All of them together have the
    guarantee that a single release has at this price, with about three times the noise for 365 steps.

    With --window the series is about those days alone, in every step: an account per period is charged for every period
    that they meet.

    [bold]Example[/bold], from nothing:

        discreet data generate films --seed 7 --out films.parquet
        discreet ledger open films.parquet --epsilon 4 --delta 1e-6 --ledger budget.db
        discreet series open nightly/ films.parquet --steps 365 --epsilon 4 --ledger budget.db
        discreet series advance nightly/ films.parquet --ledger budget.db --out model/
    """
    from discreet.models.registry import class_of, with_settings
    from discreet.series import Series

    made = with_settings(class_of(method), settings_of(option, epsilon=epsilon, delta=delta), method)
    series = Series(
        made,
        steps=steps,
        contexts=context or (),
        folder=None if estimate else folder,
        records="all" if full_export else "new",
        enter_after=enter_after,
        settle=settle,
        expected=expected_people,
        people=people,
        population=charging.population,
        window=reading.window,
        time_zone=reading.time_zone,
    )
    if estimate:
        say_estimate(series.estimate(_records(series, reading, data, public=True)), as_json=charging.as_json)
        return
    ledger = charging.opened()
    series.open(_records(series, reading, data), ledger=ledger)
    if charging.as_json:
        answer_json(series.show())
        return
    answer_text(series.guarantee.describe())
    if made.enters == "once":
        note(_first_release(series, said=settle is not None or expected_people is not None))
    note(f"opened in {folder}, which will hold people's records; next: discreet series advance {folder} DATA --out …")


@command(app)
def advance(
    folder: Folder,
    data: DataFiles,
    charging: Charging,
    reading: PartsCatalogReading,
    step: Annotated[
        int | None,
        typer.Option("--step", min=0, help="The number of the step, from 0; the next one unless given."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FOLDER", help="Where the release goes.")] = None,
) -> None:
    """Take the records of the next step, and release the totals of all steps so far.

    A step that was taken is given out again, so a job that gives --step can be run twice. Steps that are left out are
    made up for without new records. What was interrupted is finished by the next call.

    [bold]Example[/bold]

        discreet series advance nightly/ tonight.parquet --step 17 --ledger budget.db --out model/ --overwrite
    """
    from discreet.common.folders import MODEL, RELEASE
    from discreet.series import Series

    series = Series.resume(folder)
    ledger = charging.opened()
    kind = MODEL if series.settings.method.is_model else RELEASE
    place = charging.place(out, kind, *found_files(data), reading.catalog, folder)
    tonight = _records(series, _of_series(reading, series), data)
    with working(f"step {series.last + 1 if step is None else step}"):
        last = series.last
        release = series.advance(tonight, ledger=ledger, step=step)
    if step is not None and step <= last:
        lost = step in series.missed and series.settings.records == "new"
        more = "; it was made up for without records: give these to the next step" if lost else ""
        note(f"step {step} was taken before and is returned as it was: {data} was not used{more}")
    if release is None:
        first = series.settings.settle
        if charging.as_json:
            answer_json({"release": None, "step": series.last})
        else:
            note(f"step {series.last} collected records; step {first} will be the first that releases something.")
        return
    kept = saved(release.save, place, beside=source_writer(data, reading) if kind is MODEL else None)
    facts = release.parameters["series"]
    if charging.as_json:
        answer_json(release_facts(release, kept, series=facts))
        return
    answer_release(release, kept)
    note(
        f"step {facts['step']}, with the noise of a single release at ε = {_rounded(facts['single_release_epsilon'])}; "
        f"{counted(series.settings.steps - 1 - series.last, 'step')} left"
    )
    if facts["missed"]:
        note(f"missed and made up for: {', '.join(map(str, facts['missed']))}")


@command(app)
def show(folder: Folder, as_json: AsJson = False) -> None:
    """Show where a series stands. Nothing secret is shown.

    [bold]Example[/bold]

        discreet series show nightly/
    """
    from discreet.series import Series

    series = Series.resume(folder)
    facts = series.show()
    if as_json:
        answer_json(facts)
        return
    rows = [
        ("method", facts["method"]),
        ("steps", f"{facts['last'] + 1} of {facts['steps']} taken"),
        ("days", "all" if series.window is None else str(series.window)),
        ("first release", f"step {facts['settle']}"),
        ("missed", ", ".join(map(str, facts["missed"])) or "none"),
        ("noise", "-" if facts["noise_factor"] is None else f"{facts['noise_factor']:.2f} × a single release"),
        ("charged", "without a ledger" if not facts["ledger"] else f"entry {facts['charge']} of {facts['ledger']}"),
        *((f"step {one['step']}", f"{one['release'][:12]}  {one['created']}") for one in facts["releases"][-5:]),
    ]
    answer_table(f"Series {str(facts['series'])[:12]}", ["", "value"], rows)
    answer_text(series.guarantee.describe())


def _first_release(series: Series, *, said: bool) -> str:
    """When the first model comes, and what it is settled by."""
    first = series.settings.settle
    if not said:
        return (
            "step 0 settles which items the model learns tastes for, for all steps: give it a history; if there is "
            "none, open the series with --expected-people N"
        )
    return f"step {first} is the first that releases a model; it settles which items the model learns tastes for"


def _of_series(reading: PartsCatalogReading, series: Series) -> PartsCatalogReading:
    """Read with the window of the series, before anything else looks at the records, unless another one is given."""
    if series.window is None or reading.window is not None:
        return reading
    return replace(reading, window=series.window.code, time_zone=series.window.time_zone)


def _records(series: Series, reading: PartsCatalogReading, data: Path, *, public: bool = False) -> Any:
    """The records, with the columns of the contexts that the series counts by."""
    return reading.records(data, series.settings.method, contexts=series.settings.contexts, public=public)


def _rounded(epsilon: str) -> str:
    from fractions import Fraction

    return f"{float(Fraction(epsilon)):.3g}"
