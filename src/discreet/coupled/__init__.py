"""Coupled records: many queries on data whose rows depend on each other."""

from discreet.coupled.cim import CIM, cim_account
from discreet.coupled.cim_rounds import CIMAccount
from discreet.coupled.consistency import consistent_tree, onto_simplex, raked, synthetic_rows
from discreet.coupled.coupling import Coupling
from discreet.coupled.histograms import HistogramRelease, ShrunkHistogram
from discreet.coupled.laplace_published import LMCS, LMGS
from discreet.coupled.laplace_session import LaplaceSession
from discreet.coupled.marginals_extra import TreeMarginals
from discreet.coupled.markov_quilt import MarkovChain, MarkovQuiltCount
from discreet.coupled.multiplicative_weights import most_updates
from discreet.coupled.mwem import MWEM
from discreet.coupled.pmw import PMW
from discreet.coupled.product_workload import ProductWorkload
from discreet.coupled.query_method import QueryMethod
from discreet.coupled.random_workload import RandomWorkload
from discreet.coupled.sensitivities import (
    proved_group_sensitivity,
    proved_influence_sensitivity,
    published_coupled_sensitivity,
    published_global_sensitivity,
    published_record_sensitivities,
)
from discreet.coupled.sessions import QuerySession
from discreet.coupled.strategies import FixedStrategy
from discreet.coupled.wasserstein import BinaryLaw, WassersteinCount, farthest_shift
from discreet.coupled.workload import Workload
from discreet.coupled.workload_builders import all_marginals, marginals, prefix_sums, random_queries, range_queries
from discreet.coupled.workload_json import queries_from_json, queries_to_json

__all__ = [
    "CIM",
    "LMCS",
    "LMGS",
    "MWEM",
    "PMW",
    "BinaryLaw",
    "CIMAccount",
    "Coupling",
    "FixedStrategy",
    "HistogramRelease",
    "LaplaceSession",
    "MarkovChain",
    "MarkovQuiltCount",
    "ProductWorkload",
    "QueryMethod",
    "QuerySession",
    "RandomWorkload",
    "ShrunkHistogram",
    "TreeMarginals",
    "WassersteinCount",
    "Workload",
    "all_marginals",
    "cim_account",
    "consistent_tree",
    "farthest_shift",
    "marginals",
    "most_updates",
    "onto_simplex",
    "prefix_sums",
    "proved_group_sensitivity",
    "proved_influence_sensitivity",
    "published_coupled_sensitivity",
    "published_global_sensitivity",
    "published_record_sensitivities",
    "queries_from_json",
    "queries_to_json",
    "raked",
    "random_queries",
    "range_queries",
    "synthetic_rows",
]
