"""Collaborative filtering by neighbors: as published, as proved."""

from discreet.neighbors import selection
from discreet.neighbors.knn import KNN, NPNS, PNCF, PPNS, AssuredPPNS, NaiveExponentialNeighbors, UniformNeighbors
from discreet.neighbors.private_item_knn import PrivateItemKNN
from discreet.neighbors.twins import HashedTwins, TwinIndex, TwinSearch

__all__ = [
    "KNN",
    "NPNS",
    "PNCF",
    "PPNS",
    "AssuredPPNS",
    "HashedTwins",
    "NaiveExponentialNeighbors",
    "PrivateItemKNN",
    "TwinIndex",
    "TwinSearch",
    "UniformNeighbors",
    "selection",
]
