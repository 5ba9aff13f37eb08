"""Units, guarantees, bounding, noise, selection, accounting, ledger, release."""

from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.ledger import Ledger
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Pure
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

__all__ = [
    "Approximate",
    "Concentrated",
    "GaussianLoss",
    "Guarantee",
    "Ledger",
    "Pure",
    "Release",
    "Standing",
    "Unit",
]
