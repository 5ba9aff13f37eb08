"""The two readings of Zhu's chapter 3: as it is printed, and the one that comes near its Table 3.1.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, sections 3.2.1 and 3.3.1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from discreet.common.arguments import require_choice
from discreet.neighbors.neighbor_model import NeighborModel

__all__ = ["AS_READ", "Laplace", "ReadModel", "Reading"]

Reading = Literal["centered", "printed"]
Laplace = Literal["2", "2k"] | None

AS_READ: Any = "as read"
"""The value of a setting that follows from the reading."""


@dataclass(kw_only=True)
class ReadModel(NeighborModel):
    """A neighbor model of Zhu's comparison: its reading decides what is not said otherwise.

    Parameters
    ----------
    reading
        "printed": neighbors of an item are chosen "from I", which is all items (Algorithm 1); its prediction is
        equation 3.2.3, ratings as they are, where the one for users takes means away; noise on weights has the scale
        2k·Δ/ε (Algorithm 1). "centered": neighbors are chosen among those with a rating to offer, ratings count as
        distances from means for items, too, and the scale is 2·Δ/ε (equation 3.4.1). The second one was found by
        trying about fifty variants: its errors come near those of Table 3.1, and those of the first do not
        (``discreet study pncf``).
    candidates, centering
        As in ``NeighborModel``; "as read" for what the reading has.
    """

    reading: Reading = "centered"
    candidates: Literal["rated", "all"] = field(default=AS_READ)
    centering: Literal["mean"] | None = field(default=AS_READ)

    def __post_init__(self) -> None:
        require_choice(self.reading, "reading", get_args(Reading))
        printed = self.reading == "printed"
        values = {
            "candidates": "all" if printed else "rated",
            "centering": None if printed and self.axis == "item" else "mean",
            "laplace": "2k" if printed else "2",
        }
        for name, value in values.items():
            if getattr(self, name, None) == AS_READ:
                setattr(self, name, value)
        super().__post_init__()
