"""Units, guarantees, bounding, noise, selection, accounting, ledger, release."""

from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Pure
from discreet.privacy.units import Unit

__all__ = ["Approximate", "Concentrated", "GaussianLoss", "Guarantee", "Pure", "Standing", "Unit"]
