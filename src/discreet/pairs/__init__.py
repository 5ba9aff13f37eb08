"""Item-to-item recommendation from pairs of items: Slope One and co-purchases, plain, as published, and proved."""

from discreet.pairs.copurchase import CoPurchaseCosine
from discreet.pairs.private_cosine import PrivateCosine
from discreet.pairs.private_slope_one import PrivateSlopeOne
from discreet.pairs.published import PublishedCosine, PublishedSlopeOne
from discreet.pairs.slope_one import SlopeOne

__all__ = [
    "CoPurchaseCosine",
    "PrivateCosine",
    "PrivateSlopeOne",
    "PublishedCosine",
    "PublishedSlopeOne",
    "SlopeOne",
]
