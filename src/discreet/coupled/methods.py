"""The ways to answer queries by name: what the command line, audits and studies choose from."""

from __future__ import annotations

from typing import Any

from discreet.coupled.query_method import QueryMethod
from discreet.tagging.methods import configured, looked_up

__all__ = ["METHODS", "query_method_named"]

METHODS = {
    "pmw": "discreet.coupled.pmw:PMW",
    "mwem": "discreet.coupled.mwem:MWEM",
    "histogram": "discreet.coupled.histograms:HistogramRelease",
    "shrunk-histogram": "discreet.coupled.histograms:ShrunkHistogram",
    "strategy": "discreet.coupled.strategies:FixedStrategy",
    "tree": "discreet.coupled.marginals_extra:TreeMarginals",
    "lm-gs": "discreet.coupled.laplace_published:LMGS",
    "lm-cs": "discreet.coupled.laplace_published:LMCS",
    "cim": "discreet.coupled.cim:CIM",
}
"""Where each way lives; loaded when it is first asked for."""


def query_method_named(name: str, **settings: Any) -> QueryMethod:
    """A way to answer queries with its settings; one that it does not have, or lacks, is named.

    Examples
    --------
    >>> query_method_named("mwem", epsilon="1/2").parameters["epsilon"]
    '1/2'
    """
    return configured(name, looked_up(name, METHODS, "way to answer queries"), settings)
