"""Proved models learned from noisy sums, and the models without privacy that they are measured against."""

from discreet.factors.als import ALS
from discreet.factors.dp_als import DPALS
from discreet.factors.private_ratings import PrivateRatings
from discreet.factors.private_recommender import PrivateRecommender
from discreet.factors.references import EASE, Biases, Popularity
from discreet.factors.synthetic_interactions import SyntheticInteractions, draw_interactions

__all__ = [
    "ALS",
    "DPALS",
    "EASE",
    "Biases",
    "Popularity",
    "PrivateRatings",
    "PrivateRecommender",
    "SyntheticInteractions",
    "draw_interactions",
]
