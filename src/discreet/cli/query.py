"""`discreet query`: answers to many linear queries on a table whose rows may depend on each other."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import answer_json, answer_table, answer_text, note, working
from discreet.cli.options import (
    AsJson,
    DataPath,
    Format,
    LedgerPath,
    Settings,
    ledger_at,
    saved,
    settings_of,
    target_for,
)
from discreet.cli.query_inputs import Asked, coupling_named, read_declared
from discreet.errors import DiscreetError, ReleaseError, UsageError

if TYPE_CHECKING:
    from discreet.coupled import Coupling
    from discreet.coupled.query_method import QueryMethod
    from discreet.data import Table
    from discreet.privacy import Ledger, Release

__all__ = ["query"]

# Answers that are measured one by one are those of no histogram.
FEW = 50
"""Up to so many queries, each is measured rather than read off one histogram of all cells."""

WITHOUT_HISTOGRAM = ("lm-gs", "lm-cs")


def query(
    data: DataPath,
    epsilon: Annotated[str, typer.Option("--epsilon", help='The budget: "1/2", "0.5" or "1".')],
    queries: Annotated[
        Path | None, typer.Option("--queries", metavar="FILE", help='Queries in JSON: [{"age": [18, 29], …}, …].')
    ] = None,
    random: Annotated[int | None, typer.Option("--random", metavar="N", help="So many random queries.")] = None,
    marginals: Annotated[
        int | None, typer.Option("--marginals", metavar="K", help="Counts of every combination of K attributes.")
    ] = None,
    ranges: Annotated[
        str | None, typer.Option("--ranges", metavar="ATTRIBUTE[,…][=N]", help="N random ranges (1000).")
    ] = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="ATTRIBUTE", help="How many rows are at or below each value.")
    ] = None,
    kind: Annotated[str, typer.Option("--kind", help="Of random queries: subset or weighted.")] = "subset",
    seed: Annotated[int, typer.Option("--seed", help="Of what is random in the queries; public.")] = 0,
    method: Annotated[
        str | None, typer.Option("--method", help="How to answer, see above; by the number of queries unless told.")
    ] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="With a delta, such as 1e-6, noise is Gaussian.")] = None,
    coupling: Annotated[
        str | None,
        typer.Option(
            "--coupling",
            metavar="NAME",
            help="Rows that depend on each other: the group column, an attribute (declared public), a file of edges.",
        ),
    ] = None,
    components: Annotated[
        bool, typer.Option("--components", help="Rows depend on each other through others, too.")
    ] = False,
    option: Settings = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Read queries from stdin, one JSON a line, and answer each.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Folder for the release.")] = None,
    synthetic: Annotated[
        Path | None, typer.Option("--synthetic", metavar="FILE", help="Write rows drawn from the released histogram.")
    ] = None,
    show: Annotated[int, typer.Option("--show", min=1, help="How many answers to show.")] = 10,
    estimate: Annotated[bool, typer.Option("--estimate", help="Say what to expect; spend nothing.")] = False,
    ledger: LedgerPath = None,
    no_ledger: Annotated[bool, typer.Option("--no-ledger", help="Spend without keeping a book.")] = False,
    allow_refuted: Annotated[
        bool, typer.Option("--allow-refuted", help="Run a published method whose promise does not hold.")
    ] = False,
    attributes: Annotated[
        str | None, typer.Option("--attributes", metavar="NAME,…", help="Ask about these attributes alone.")
    ] = None,
    domains: Annotated[
        Path | None, typer.Option("--domains", metavar="FILE", help="Public domains of attributes, in JSON.")
    ] = None,
    format: Format = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Answer many linear queries on a table, privately.

    With --coupling the promise is about a whole group of rows that depend on
    each other, such as a household; without it about one row. Ways to answer:

    [bold]shrunk-histogram[/bold]: for many queries, and the default for them. Noisy cells,
    shrunk to a private model.

    [bold]histogram[/bold]: for many queries on rows that crowd in few cells. Noise on
    every cell.

    [bold]strategy[/bold]: for a few queries, and the default for up to 50 that are not random;
    for ranges and prefix sums. Counts chosen for the queries.

    [bold]pmw, mwem[/bold]: multiplicative weights, in one pass or by the worst answered
    query; pmw also answers one question at a time (--ask).

    [bold]tree[/bold]: for marginals. Small tables alone.

    [bold]lm-gs, lm-cs, cim[/bold]: of Zhu's thesis, to compare with.

    [bold]Example[/bold], from nothing:

        discreet data generate survey --seed 7 --out survey.parquet
        discreet ledger open survey.parquet --epsilon 2 --unit group/replace:6 --ledger budget.db
        discreet query survey.parquet --random 10000 --epsilon 1 --coupling household --ledger budget.db --out answers/
    """
    from discreet.coupled.methods import query_method_named

    settings = settings_of(option, epsilon=epsilon, delta=delta)
    chosen = None if method is None else query_method_named(method, **settings)
    asked = Asked(queries, random, marginals, ranges, prefix, kind, seed)
    _check(asked, ask=ask, estimate=estimate, method=method, synthetic=synthetic, overwrite=overwrite)
    book = None if estimate else ledger_at(ledger, unbooked=no_ledger)
    if out is not None and not estimate:
        target_for(out, overwrite=overwrite)
    table = read_declared(data, format=format, attributes=attributes, domains=domains)
    coupled = coupling_named(coupling, table, components=components)
    if ask:
        release = _session(table, chosen or query_method_named("pmw", **settings), coupled, book, as_json=as_json)
    else:
        workload = asked.workload(table)
        if chosen is None:
            few = len(workload) <= FEW and asked.drawn is None and synthetic is None
            chosen = query_method_named("strategy" if few else "shrunk-histogram", **settings)
        if estimate:
            _say_estimate(chosen.estimate(table, workload, coupling=coupled), as_json=as_json)
            return
        with working(f"answering {len(workload):,} queries"):
            release = chosen.release(table, workload, coupling=coupled, ledger=book, allow_refuted=allow_refuted)
    place = None if out is None else saved(release.save, out, overwrite=overwrite)
    if not ask:
        _answer(release, place, show, as_json=as_json)
    elif place is not None:
        note(f"saved in {place}")
    if synthetic is not None:
        _write_synthetic(release, table, synthetic, overwrite=overwrite)


def _check(
    asked: Asked, *, ask: bool, estimate: bool, method: str | None, synthetic: Path | None, overwrite: bool
) -> None:
    """Refuse what cannot be done before anything is read or spent."""
    if not ask:
        asked.check()
    elif asked.given or estimate:
        raise UsageError(f"--ask and {' and '.join(asked.given) or '--estimate'} exclude each other.")
    if synthetic is None:
        return
    if method in WITHOUT_HISTOGRAM:
        raise UsageError(
            f"{method} answers query by query; there is no histogram to draw rows from.",
            remedy="Choose another --method, or leave --synthetic out.",
        )
    if synthetic.exists() and not overwrite:
        raise ReleaseError(
            f"{synthetic} is there already; nothing was spent.", remedy="Choose another file, or --overwrite."
        )


def _session(
    table: Table, method: QueryMethod, coupling: Coupling | None, ledger: Ledger | None, *, as_json: bool
) -> Release:
    """One question a line; a line that is not understood costs nothing and ends nothing."""
    from discreet.coupled import PMW, QuerySession

    if not isinstance(method, PMW):
        raise UsageError(
            f"{method.name} does not answer one question at a time.", remedy="Take --method pmw with --ask."
        )
    with QuerySession.open(table, method, coupling=coupling, ledger=ledger) as session:
        note(f'{session.guarantee}\nAsk: {{"{table.attributes[0]}": …}}, one a line; end with Ctrl-D.')
        for line in sys.stdin:
            if not line.strip():
                continue
            try:
                answer = session.ask(json.loads(line))
            except json.JSONDecodeError as error:
                note(f"discreet: this is not JSON: {error}.")
            except DiscreetError as error:
                note(f"discreet: {error}")
            else:
                told = {
                    "query": len(session) - 1,
                    "label": answer.label,
                    "answer": answer.value,
                    "source": answer.source,
                }
                answer_text(json.dumps(told) if as_json else f"{answer.label}: {answer.value:,.1f} ({answer.source})")
                sys.stdout.flush()
        return session.close()


def _answer(release: Release, place: Path | None, length: int, *, as_json: bool) -> None:
    answers = release.table("answers")
    if as_json:
        answer_json(
            {
                "release": None if place is None else str(place),
                "id": release.id,
                "guarantee": release.guarantee.to_json(),
                "parameters": dict(release.parameters),
                # What was paid for and not kept elsewhere is said whole.
                "answers": (answers if place is None else answers.head(length)).to_dicts(),
            }
        )
        return
    answer_table(
        f"Answers, in rows, to the first of {answers.height:,} queries{_noise_of(release)}",
        answers.columns,
        answers.head(length).rows(),
        numbers=["query", "answer"],
    )
    answer_text(str(release.guarantee))
    if place is None:
        note("not kept: give --out FOLDER for all answers and the histogram")
    else:
        note(f"saved in {place}")


def _noise_of(release: Release) -> str:
    """How far off one answer is, where the method answers each with noise of its own."""
    measured = set(release.table("answers")["source"].unique()) == {"measured"}
    noise = release.parameters.get("noise_95") if measured else None
    return "" if noise is None else f"; noise ± {noise:,.0f} (95 %)"


def _say_estimate(expected: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        answer_json(expected)
        return
    rows = [(name.replace("_", " "), value) for name, value in expected.items() if value is not None]
    answer_table("What to expect, from public values alone", ["", "value"], rows)
    refuted = expected["standing"] == "refuted"
    costs = f"Claims {expected['loss']}, which is refuted," if refuted else f"Costs {expected['loss']}"
    answer_text(f"{costs} for {expected['unit']}; nothing was spent, no row was read.")


def _write_synthetic(release: Release, table: Table, path: Path, *, overwrite: bool) -> None:
    from discreet.coupled import synthetic_rows
    from discreet.data.readers import write

    if "histogram" not in release.parts:
        raise ReleaseError(
            "these answers are not those of one histogram without negative counts; no rows can be drawn.",
            remedy="Take --method shrunk-histogram, or --option nonnegative=true with --method strategy.",
        )
    rows = synthetic_rows(release, table.domains)
    write(rows, path, overwrite=overwrite)
    note(f"{len(rows):,} synthetic rows in {path}: the promise of the release covers them, too")
