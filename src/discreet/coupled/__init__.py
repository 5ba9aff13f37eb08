"""Coupled records: many queries on data whose rows depend on each other."""

from discreet.coupled.consistency import synthetic_rows
from discreet.coupled.coupling import Coupling
from discreet.coupled.histograms import HistogramRelease, ShrunkHistogram, TreeMarginals
from discreet.coupled.marginals import MeasuredMarginals
from discreet.coupled.mwem import MWEM
from discreet.coupled.pmw import PMW
from discreet.coupled.published.cim import CIM
from discreet.coupled.published.laplace import LMCS, LMGS
from discreet.coupled.query_method import QueryMethod
from discreet.coupled.sessions import QuerySession
from discreet.coupled.strategies import FixedStrategy
from discreet.coupled.workloads.builders import all_marginals, marginals, prefix_sums, random_queries, range_queries
from discreet.coupled.workloads.workload import Workload
from discreet.coupled.workloads.written import queries_from_json

__all__ = [
    "CIM",
    "LMCS",
    "LMGS",
    "MWEM",
    "PMW",
    "Coupling",
    "FixedStrategy",
    "HistogramRelease",
    "MeasuredMarginals",
    "QueryMethod",
    "QuerySession",
    "ShrunkHistogram",
    "TreeMarginals",
    "Workload",
    "all_marginals",
    "marginals",
    "prefix_sums",
    "queries_from_json",
    "random_queries",
    "range_queries",
    "synthetic_rows",
]
