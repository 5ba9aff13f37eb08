"""Units, guarantees, bounding, noise, selection, accounting, ledger, release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Approximate, Concentrated, GaussianLoss, Pure
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

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


def __getattr__(name: str) -> Any:
    # The ledger loads when it is first used: a database comes with it, which a model that answers does not need.
    if name == "Ledger":
        from discreet.privacy.ledger import Ledger

        return Ledger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
