"""Collaborative filtering by neighbors: as published, as proved."""

from discreet.neighbors.private_item_knn import PrivateItemKNN

__all__ = ["PrivateItemKNN"]
