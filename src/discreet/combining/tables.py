"""What is public about the table of a curator: domains, queries, the number of rows and the size of coupled groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from discreet.combining.public_side import PublicSide
from discreet.coupled.coupling import Coupling
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.workloads.builders import RandomWorkload
from discreet.coupled.workloads.product import ProductWorkload
from discreet.coupled.workloads.workload import Workload
from discreet.data.domains import CategoricalDomain, Domain, domains_from_json
from discreet.data.tables import Table
from discreet.errors import ReleaseError, Remedy, UsageError
from discreet.privacy.method import Method, Parts, Plan
from discreet.privacy.release import Release

__all__ = ["PublicTable"]

QUERIES, CHOICES = "queries", "choices"
"""Which choice of each attribute a query has; the runs of codes of all choices."""

SAME_QUERIES = Remedy(
    "All curators need the same domains and the same queries.",
    cli="Give all curators the same --domains and the same queries (--queries FILE, --seed).",
)


@dataclass(frozen=True, eq=False)
class PublicTable(PublicSide):
    """Of a table: what every curator asks of their rows, and how many rows there are."""

    setting: QuerySetting

    @classmethod
    def of(cls, data: Table, workload: Any = None, *, coupling: Coupling | None = None) -> Self:
        setting = replace(QuerySetting.of(data, workload, coupling), several=True)
        if coupling is not None:
            coupling.require_public("a release that several curators combine")
        if not isinstance(workload, ProductWorkload | RandomWorkload):
            raise UsageError(f"queries of the type {type(workload).__name__} cannot be written down for others.")
        return cls(setting)

    @classmethod
    def of_release(cls, release: Release) -> Self:
        known, domains = release.parameters["shape"], domains_from_json(release.parameters["shape"]["domains"])
        coupling, rows = known["coupling"], int(known["rows"])
        if known["random"] is not None:
            workload: Workload = RandomWorkload(domains, **known["random"])
        else:
            workload = ProductWorkload.of_arrays(domains, release.array(QUERIES), release.array(CHOICES))
        groups = None
        if coupling is not None:
            groups = Coupling(rows, True, coupling["origin"], _stated=int(coupling["largest"]))
        return cls(QuerySetting(rows, workload, groups, several=True))

    @property
    def public(self) -> QuerySetting:
        return self.setting

    @cached_property
    def nobody(self) -> Table:  # type: ignore[override]
        domains = self.setting.workload.domains
        return Table({name: [] for name in domains}, domains=domains)

    def plan(self, method: Method) -> Plan:
        return method._plan(self.setting)

    @property
    def parts(self) -> Parts:
        workload = self.setting.workload
        return (
            dict(zip((QUERIES, CHOICES), workload.arrays(), strict=True))
            if isinstance(workload, ProductWorkload)
            else {}
        )

    def to_json(self) -> dict[str, Any]:
        workload, coupling = self.setting.workload, self.setting.coupling
        drawn = None
        if isinstance(workload, RandomWorkload):
            drawn = {"queries": len(workload), "seed": workload.seed, "kind": workload.kind, "first": workload.first}
        return {
            "kind": "table",
            "rows": self.setting.n_rows,
            "domains": {name: _as_json(name, domain) for name, domain in workload.domains.items()},
            "random": drawn,
            "coupling": None if coupling is None else {"origin": coupling.origin, "largest": coupling.largest},
        }

    def require_same(self, other: PublicTable, whose: str, settings: Mapping[str, Any]) -> None:
        mine, theirs = self.to_json(), other.to_json()
        if list(mine["domains"].items()) != list(theirs["domains"].items()):
            raise ReleaseError(f"{whose} has other attributes or other domains.", remedy=SAME_QUERIES)
        alike = self.parts.keys() == other.parts.keys() and all(
            np.array_equal(np.asarray(part), np.asarray(other.parts[name])) for name, part in self.parts.items()
        )
        if mine["random"] != theirs["random"] or not alike:
            raise ReleaseError(f"{whose} has other queries.", remedy=SAME_QUERIES)
        if self.setting.unit != other.setting.unit:
            raise ReleaseError(f"{whose} protects {other.setting.unit}, not {self.setting.unit}.", remedy=SAME_GROUPS)

    def of_all(self, others: Sequence[PublicTable]) -> Self:
        return replace(self, setting=replace(self.setting, n_rows=sum(one.setting.n_rows for one in (self, *others))))

    def after(self, combined: PublicTable) -> Self:
        return replace(self, setting=replace(self.setting, n_rows=combined.setting.n_rows))


SAME_GROUPS = Remedy(
    "All curators need to state the same largest group: Coupling.at_most(k).",
    cli="All curators need to state the same largest group: --at-most K.",
)


def _as_json(name: str, domain: Domain) -> Any:
    """A domain as ``domains_from_json`` reads it."""
    if isinstance(domain, CategoricalDomain):
        if odd := [value for value in domain.values if not isinstance(value, str | int | float)]:
            raise UsageError(
                f"the domain of {name!r} has the value {odd[0]!r}, which cannot be written down for others.",
                remedy="Declare values that are text or numbers.",
            )
        return list(domain.values)
    bins = domain.bins if domain.bins is None or isinstance(domain.bins, int) else [int(one) for one in domain.bins]
    return {"low": int(domain.low), "high": int(domain.high), "bins": bins}
