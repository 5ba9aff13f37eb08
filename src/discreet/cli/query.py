"""`discreet query`: answers to many linear queries on a table whose rows may depend on each other."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from discreet.cli.commands import Settings, settings_of
from discreet.cli.console import answer_json, answer_table, answer_text, counted, note, working
from discreet.cli.reading import DataPath, TableReading
from discreet.cli.rounds import CuratorRound
from discreet.cli.spending import Spending, answer_release, release_facts, saved, say_estimate
from discreet.common.folders import RELEASE
from discreet.common.numerals import parse_whole
from discreet.common.plain_json import parse_json
from discreet.errors import DiscreetError, ReleaseError, UsageError

if TYPE_CHECKING:
    from discreet.coupled import Coupling, Workload
    from discreet.coupled.query_method import QueryMethod
    from discreet.data import Table
    from discreet.privacy import Ledger, Release

__all__ = ["query"]

WITHOUT_HISTOGRAM = ("lm-gs", "lm-cs")


def query(
    data: DataPath,
    spending: Spending,
    queries: QueryOptions,
    coupling: CouplingOptions,
    reading: TableReading,
    curator: CuratorRound,
    method: Annotated[
        str | None, typer.Option("--method", help="How to answer, see above; by the queries and the domain by default.")
    ] = None,
    option: Settings = None,
    ask: Annotated[
        bool, typer.Option("--ask", help="Read queries from stdin, one JSON a line, and answer each.")
    ] = False,
    synthetic: Annotated[
        Path | None, typer.Option("--synthetic", metavar="FILE", help="Write rows drawn from the release.")
    ] = None,
    show: Annotated[int, typer.Option("--show", min=1, help="How many answers to show.")] = 10,
) -> None:
    """Answer many linear queries on a table, privately.

    With --coupling the guarantee is about a whole group of rows that depend on each other, such as a household;
    without it about one row. Methods:

    [bold]marginals[/bold]: for queries that name few attributes at a time, on tables of any width, and the default for
    more than 50 of them. The counts of these attributes, measured at once.

    [bold]shrunk-histogram[/bold]: for random queries, and the default for them. Noisy cells, shrunk to a private model.

    [bold]histogram[/bold]: for many queries on rows that fall into few cells. Noise on every cell.

    [bold]strategy[/bold]: for a few queries, for ranges and prefix sums of the same attributes, and the default for
    both. Counts chosen for the queries.

    [bold]pmw, mwem[/bold]: multiplicative weights, in one pass or by the worst answered query; pmw also answers one
    question at a time (--ask).

    [bold]tree[/bold]: for marginals. Small tables alone.

    [bold]lm-gs, lm-cs, cim[/bold]: of Zhu's thesis, to compare with.

    [bold]Example[/bold], from nothing:

        discreet data generate survey --seed 7 --out survey.parquet
        discreet ledger open survey.parquet --epsilon 2 --unit group/replace:6 --ledger budget.db
        discreet query survey.parquet --random 10000 --epsilon 1 --coupling household --ledger budget.db --out answers/

    [bold]Several curators[/bold] have the same questions answered on all their rows, with marginals, histogram,
    shrunk-histogram or strategy (docs/curators.md):

        discreet query survey.parquet --marginals 2 --epsilon 1 --no-ledger --round 1 --out a1/
    """
    from discreet.coupled.default_method import default_method
    from discreet.models.registry import create

    settings = settings_of(option, epsilon=spending.epsilon, delta=spending.delta)
    chosen = None if method is None else create(method, "answers", **settings)
    _check(queries, ask=ask, estimate=spending.estimate, method=method, synthetic=synthetic)
    if curator.asked and (ask or synthetic is not None or spending.estimate):
        raise UsageError(
            "a round is noisy counts: --ask, --synthetic and --estimate are not for it.",
            remedy="Leave them out, and draw rows from the combination: synthetic_rows(release, domains).",
        )
    ledger = place = None
    if not spending.estimate and not curator.asked:
        ledger = spending.opened()
        read = (data, queries.queries, reading.domains, coupling.file)
        if spending.out is not None:
            place = spending.place(spending.out, RELEASE, *read, synthetic)
        if synthetic is not None:
            from discreet.data.readers import kind_of_file

            spending.place(synthetic, kind_of_file(synthetic), *read, spending.out)
    table = reading.read(data)
    coupled = coupling.of(table)
    if ask:
        method_asked = chosen or create("pmw", "answers", **settings)
        release = _session(table, method_asked, coupled, ledger, as_json=spending.as_json)
    else:
        workload = queries.workload(table)
        if chosen is None:
            chosen = create(default_method(workload, draws_rows=synthetic is not None), "answers", **settings)
        if curator.asked:
            read = (data, queries.queries, reading.domains, coupling.file)
            curator.run(chosen, table, spending, *read, workload=workload, coupling=coupled)
            return
        if synthetic is not None:
            _require_rows(chosen, table, workload, coupled)
        if spending.estimate:
            say_estimate(chosen.estimate(table, workload, coupling=coupled), as_json=spending.as_json)
            return
        with working(f"answering {counted(len(workload), 'query', 'queries')}"):
            release = chosen.release(
                table, workload, coupling=coupled, ledger=ledger, allow_refuted=spending.allow_refuted
            )
    folder = None if place is None else saved(release.save, place)
    if not ask:
        _answer(release, folder, show, as_json=spending.as_json)
    elif folder is not None:
        note(f"saved in {folder}")
    if synthetic is not None:
        _write_synthetic(release, table, synthetic, overwrite=spending.overwrite)


def _check(asked: QueryOptions, *, ask: bool, estimate: bool, method: str | None, synthetic: Path | None) -> None:
    """Refuse what cannot be done before anything is read or spent."""
    if not ask:
        asked.check()
    elif asked.given or estimate:
        raise UsageError(f"--ask and {' and '.join(asked.given) or '--estimate'} exclude each other.")
    if synthetic is not None and method in WITHOUT_HISTOGRAM:
        raise UsageError(
            f"{method} answers query by query; there is no histogram to draw rows from.",
            remedy="Choose another --method, or leave --synthetic out.",
        )


def _require_rows(method: QueryMethod, table: Table, workload: Workload, coupling: Coupling | None) -> None:
    """Refuse, before anything is spent, what would give answers and no rows."""
    if getattr(method, "nonnegative", True) is False:
        raise UsageError(
            f"rows cannot be drawn from {method.name} with nonnegative=false, which leaves negative counts.",
            remedy="Leave --method out, give --option nonnegative=true, or leave --synthetic out.",
        )
    if not method.draws_rows(method.plan(table, workload, coupling=coupling)):
        raise UsageError(
            f"{method.name} counts the attributes that the queries name, and rows need all of them.",
            remedy="Name those attributes alone with --attributes, leave --method out, or leave --synthetic out.",
        )


def _session(
    table: Table, method: QueryMethod, coupling: Coupling | None, ledger: Ledger | None, *, as_json: bool
) -> Release:
    """One question a line; a line that is not understood costs nothing and ends nothing."""
    from discreet.coupled import PMW, QuerySession

    if not isinstance(method, PMW):
        raise UsageError(
            f"{method.name} does not answer one question at a time.", remedy="Give --method pmw with --ask."
        )
    with QuerySession.open(table, method, coupling=coupling, ledger=ledger) as session:
        note(f'{session.guarantee.describe()}\nAsk: {{"{table.attributes[0]}": …}}, one a line; end with Ctrl-D.')
        for line in sys.stdin:
            if not line.strip():
                continue
            try:
                answer = session.ask(parse_json(line, finite=True))
            except ValueError as error:
                note(f"discreet: this is not JSON: {error}.")
            except DiscreetError as error:
                note(f"discreet: {error.cli_message}")
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
        # What was paid for and not kept elsewhere is shown whole.
        shown = answers if place is None else answers.head(length)
        answer_json(release_facts(release, place, answers=shown.to_dicts()))
        return
    answer_table(
        f"Answers, in rows, to the first of {counted(answers.height, 'query', 'queries')}{_noise_of(release)}",
        answers.columns,
        answers.head(length).rows(),
        numbers=["query", "answer"],
    )
    answer_release(release, place)
    if place is None:
        note("not kept: give --out FOLDER for all answers and what they come from")


def _noise_of(release: Release) -> str:
    """How far off one answer is, where the method answers each with noise of its own."""
    measured = set(release.table("answers")["source"].unique()) == {"measured"}
    noise = release.parameters.get("noise_95") if measured else None
    return "" if noise is None else f"; noise ± {noise:,.0f} (95 %)"


def _write_synthetic(release: Release, table: Table, path: Path, *, overwrite: bool) -> None:
    from discreet.coupled import synthetic_rows
    from discreet.data.readers import write

    if not {"histogram", "tree"} & set(release.parts):
        raise ReleaseError(
            "the answers do not come from counts without negative ones; no rows can be drawn.",
            remedy="Give --method marginals or shrunk-histogram, or --option nonnegative=true.",
        )
    rows = synthetic_rows(release, table.domains)
    path = write(rows, path, overwrite=overwrite)
    note(f"{counted(len(rows), 'synthetic row')} in {path}: the guarantee of the release covers them, too")


USUAL_RANGES = 1000
SECRET_COUPLINGS = ("pearson", "similar", "kl")
"""Couplings that are computed from the rows; only refuted methods take them."""


@dataclass(frozen=True, kw_only=True)
class QueryOptions:
    """The ways to name queries, of which one is to be given."""

    PANEL: ClassVar = "Queries"

    queries: Annotated[
        Path | None, typer.Option("--queries", metavar="FILE", help='Queries in JSON: [{"age": [18, 29], …}, …].')
    ] = None
    drawn: Annotated[int | None, typer.Option("--random", metavar="N", help="This many random queries.")] = None
    marginals: Annotated[
        int | None, typer.Option("--marginals", metavar="K", help="Counts of every combination of K attributes.")
    ] = None
    ranges: Annotated[
        str | None, typer.Option("--ranges", metavar="ATTRIBUTE[,…][=N]", help="N random ranges (1000).")
    ] = None
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="ATTRIBUTE", help="How many rows are at or below each value.")
    ] = None
    kind: Annotated[str, typer.Option("--kind", help="Of random queries: subset or weighted.")] = "subset"
    seed: Annotated[int, typer.Option("--seed", help="Of random queries; public.")] = 0

    @property
    def given(self) -> list[str]:
        """The options that name queries."""
        names = {
            "queries": "queries",
            "random": "drawn",
            "marginals": "marginals",
            "ranges": "ranges",
            "prefix": "prefix",
        }
        return [f"--{option}" for option, name in names.items() if getattr(self, name) is not None]

    def check(self) -> None:
        """Refuse none and several, before a large table is read."""
        if len(self.given) > 1:
            raise UsageError(f"{' and '.join(self.given)} exclude each other.", remedy="Give one of them.")
        if not self.given:
            raise UsageError(
                "no queries were given.",
                remedy="Give --queries FILE, --random N, --marginals K, --ranges ATTRIBUTE or --prefix ATTRIBUTE.",
            )

    def workload(self, table: Table) -> Workload:
        """The queries."""
        from discreet import coupled

        if self.queries is not None:
            return coupled.queries_from_json(table, self.queries)
        if self.drawn is not None:
            return coupled.random_queries(table, self.drawn, seed=self.seed, kind=self.kind)  # type: ignore[arg-type]
        if self.marginals is not None:
            return coupled.all_marginals(table, self.marginals)
        if self.ranges is not None:
            attributes, separator, number = self.ranges.partition("=")
            try:
                many = parse_whole(number) if separator else USUAL_RANGES
            except ValueError:
                raise UsageError(
                    f"--ranges {self.ranges!r} is not understood.", remedy="Write --ranges age or --ranges age=5000."
                ) from None
            return coupled.range_queries(table, attributes.split(","), many, seed=self.seed)
        assert self.prefix is not None
        return coupled.prefix_sums(table, self.prefix)


@dataclass(frozen=True, kw_only=True)
class CouplingOptions:
    """Which rows depend on each other."""

    PANEL: ClassVar = "Queries"

    coupling: Annotated[
        str | None,
        typer.Option(
            "--coupling",
            metavar="NAME",
            help="Rows that depend on each other: the group column, an attribute (declared public), a file of edges.",
        ),
    ] = None
    components: Annotated[bool, typer.Option("--components", help="Rows depend on each other through others, too.")] = (
        False
    )
    at_most: Annotated[
        int | None,
        typer.Option("--at-most", metavar="K", min=1, help="State the most rows of a group, the same for all tables."),
    ] = None

    @property
    def file(self) -> Path | None:
        """The path that the coupling may name."""
        return None if self.coupling is None else Path(self.coupling)

    def of(self, table: Table) -> Coupling | None:
        """The coupling: the group column, an attribute, a computed one, or a graph in a file."""
        from discreet.coupled import Coupling

        name = self.coupling
        if name is None:
            if self.components or self.at_most is not None:
                raise UsageError(f"{'--components' if self.components else '--at-most'} goes with --coupling.")
            return None
        group = next((one for one in table.to_frame().columns if one not in table.attributes), None)
        if name == group:
            found = Coupling.by_group(table)
        elif name in table.domains:
            # Naming it here is the declaration; the guarantee says so.
            found = Coupling.by_attribute(table, name, public=True)
        elif name in SECRET_COUPLINGS:
            found = getattr(Coupling, name)(table)
        elif Path(name).is_file():
            found = Coupling.from_graph(table, name, public=True)
        else:
            grouped = "has no group column" if group is None else f"has the group column {group!r}"
            raise UsageError(
                f"--coupling {name!r} is neither a column of this table, which {grouped}, nor a file.",
                remedy=f"Give the group column, a public attribute ({', '.join(table.attributes)}) or a file of edges.",
            )
        found = found.as_components() if self.components else found
        return found if self.at_most is None else found.at_most(self.at_most)
