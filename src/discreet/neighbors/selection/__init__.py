"""Neighbor selection: the nearest, at random, by similarity, PNCF, partitioned; each with its exact law."""

from discreet.neighbors.selection.exponential import PNCF, NaiveExponential
from discreet.neighbors.selection.lists import CandidateLists, Candidates
from discreet.neighbors.selection.partitioned import PPNS, AssuredPPNS
from discreet.neighbors.selection.strategies import Nearest, Probabilistic, SelectionStrategy, Uniform, alpha, beta

__all__ = [
    "PNCF",
    "PPNS",
    "AssuredPPNS",
    "CandidateLists",
    "Candidates",
    "NaiveExponential",
    "Nearest",
    "Probabilistic",
    "SelectionStrategy",
    "Uniform",
    "alpha",
    "beta",
]
