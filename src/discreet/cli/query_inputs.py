"""What `discreet query` is asked: a table, queries on it, and which rows depend on each other."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.options import read_any
from discreet.errors import DataError, UsageError

if TYPE_CHECKING:
    from discreet.coupled import Coupling, Workload
    from discreet.data import Table

__all__ = ["Asked", "coupling_named", "read_declared", "read_table"]

USUAL_RANGES = 1000
SECRET_COUPLINGS = ("pearson", "similar", "kl")
"""Couplings that are computed from the rows; only methods that promise nothing take them."""


@dataclass(frozen=True)
class Asked:
    """The ways to name queries, of which one is to be given.

    Parameters
    ----------
    queries
        A JSON file.
    drawn
        How many random queries.
    marginals
        How many attributes each marginal has.
    ranges
        ``ATTRIBUTE[,ATTRIBUTE…][=HOW MANY]``.
    prefix
        The attribute whose prefix sums are asked for.
    kind, seed
        Of what is random: a public way to write down many queries.
    """

    queries: Path | None
    drawn: int | None
    marginals: int | None
    ranges: str | None
    prefix: str | None
    kind: str
    seed: int

    @property
    def given(self) -> list[str]:
        options = {
            "--queries": self.queries,
            "--random": self.drawn,
            "--marginals": self.marginals,
            "--ranges": self.ranges,
            "--prefix": self.prefix,
        }
        return [name for name, value in options.items() if value is not None]

    def check(self) -> None:
        """Refuse none and several, before a large table is read."""
        if len(self.given) > 1:
            raise UsageError(f"{' and '.join(self.given)} exclude each other.", remedy="Give one of them.")
        if not self.given:
            raise UsageError(
                "what is asked?",
                remedy="Give --queries FILE, --random N, --marginals K, --ranges ATTRIBUTE or --prefix ATTRIBUTE.",
            )

    def workload(self, table: Table) -> Workload:
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
                many = int(number) if separator else USUAL_RANGES
            except ValueError:
                raise UsageError(
                    f"--ranges {self.ranges!r} is not understood.", remedy="Write --ranges age or --ranges age=5000."
                ) from None
            return coupled.range_queries(table, attributes.split(","), many, seed=self.seed)
        assert self.prefix is not None
        return coupled.prefix_sums(table, self.prefix)


def read_table(path: Path, **options: Any) -> Table:
    """Read data that must be a table."""
    from discreet.data import Table

    data = read_any(path, **options)
    if not isinstance(data, Table):
        raise UsageError(
            f"{path} holds {type(data).__name__}; this command needs a table of attributes with declared domains.",
            remedy="Give one that discreet wrote, or a known one (discreet data list).",
        )
    return data


def read_declared(path: Path, *, format: str | None, attributes: str | None, domains: Path | None) -> Table:
    """Read a table with the attributes and the domains that were named.

    Parameters
    ----------
    attributes
        Names, separated by commas; all of them unless told.
    domains
        A JSON file of public domains, which a bare CSV file needs and any other table may be given wider ones by.
    """
    from discreet.data import Table, read
    from discreet.data.readers import detect
    from discreet.data.table_views import with_attributes

    if domains is None:
        table = read_table(path, format=format)
    else:
        bare = (format or detect(path).name) in ("csv", "parquet")
        table = read(path, format=format, domains=_declared(domains), **({"what": "table"} if bare else {}))
        assert isinstance(table, Table)
    return table if attributes is None else with_attributes(table, [name.strip() for name in attributes.split(",")])


def _declared(path: Path) -> dict[str, Any]:
    """Domains from a file: a list of values, or low, high and perhaps bins."""
    from discreet.data import IntegerDomain

    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot be read: {error}.", file=path) from None
    except ValueError as error:
        raise DataError(f"this is not JSON: {error}.", file=path) from None
    remedy = 'Write {"sex": ["F", "M"], "age": {"low": 0, "high": 99, "bins": [0, 18, 65]}}.'
    if not isinstance(given, dict) or not given:
        raise DataError("these are no domains.", file=path, remedy=remedy)
    domains: dict[str, Any] = {}
    for name, domain in given.items():
        if isinstance(domain, dict) and {"low", "high"} <= set(domain) <= {"low", "high", "bins"}:
            bins = domain.get("bins")
            domains[name] = IntegerDomain(
                domain["low"], domain["high"], tuple(bins) if isinstance(bins, list) else bins
            )
        elif isinstance(domain, list):
            domains[name] = domain
        else:
            raise DataError("this is no domain.", file=path, column=name, value=domain, remedy=remedy)
    return domains


def coupling_named(name: str | None, table: Table, *, components: bool) -> Coupling | None:
    """The coupling that a name stands for: the group column, an attribute, a computed one, or a graph in a file."""
    from discreet.coupled import Coupling

    if name is None:
        if components:
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
    return found.as_components() if components else found
