"""What `discreet query` is asked: queries on a table, and which rows depend on each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from discreet.common.numerals import parse_whole
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.coupled import Coupling, Workload
    from discreet.data import Table

__all__ = ["CouplingOptions", "QueryOptions"]

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

    @property
    def file(self) -> Path | None:
        """The path that the coupling may name."""
        return None if self.coupling is None else Path(self.coupling)

    def of(self, table: Table) -> Coupling | None:
        """The coupling: the group column, an attribute, a computed one, or a graph in a file."""
        from discreet.coupled import Coupling

        name = self.coupling
        if name is None:
            if self.components:
                raise UsageError("--components goes with --coupling.")
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
        return found.as_components() if self.components else found
