"""What a game of an audit is: two worlds that differ in one secret, and what an attacker sees of a model fitted in one.

How a game is added
-------------------
1. Write a frozen dataclass that inherits from ``Game``: give it a ``name`` and a ``view``, build the two worlds in
   ``worlds`` and turn what the attacker sees into numbers in ``observe``. Say in ``obstacle`` where it is no use.
2. Name it in ``registry.ATTACKS``, one line. A game on tag assignments or tables says so in ``data_type``.

The engine does the rest. It fits the model many times in either world, learns on one half of the runs which numbers
give the secret away, and proves on the other half how much they give away. ``observe`` need not decide anything, and
must not look at which world it is in: it is handed the same ``Worlds`` in both. Numbers that come in the same order and
mean the same in every run are all that is asked for; NaN stands for "no answer", and vectors of different lengths are
filled up with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.attacks.audit.targets import Fitted, Target

__all__ = ["Attack", "Dataset", "Features", "Game", "View", "Worlds"]

View = Literal["white box", "predictions", "recommendations", "similar items"]
Features = NDArray[np.float64]
Dataset = Interactions | TagAssignments | Table


@dataclass(frozen=True, eq=False)
class Worlds:
    """Two datasets that differ in the secret and in nothing else.

    Parameters
    ----------
    without, with_
        The records without the secret and with it; all that is public must be the same. For tables a request: the
        rows with the queries and the coupling that the attacker chose.
    unit
        What they differ in. The claim of the model is compared in this unit.
    records
        How many records the secret is made of.
    secret
        What ``observe`` needs to know: whom to ask, about what.
    """

    without: Any
    with_: Any
    unit: Unit = field(default_factory=Unit)
    records: int = 1
    secret: Any = None

    def world(self, *, present: bool) -> Any:
        """The one that a run is played in."""
        return self.with_ if present else self.without


@dataclass(frozen=True, kw_only=True)
class Attack:
    """What all attacks of an audit share.

    Parameters
    ----------
    name
        What it is called in reports and on the command line.
    view
        What the attacker sees: "white box" is everything that was released.

    Attributes
    ----------
    data_type
        The kind of data that it is for; it is tried on no other.
    """

    data_type: ClassVar[type[Any]] = Interactions

    name: str = ""
    view: View = "white box"

    def obstacle(self, target: Target, data: Any) -> str | None:
        """Why the attack cannot be tried on this target and these records; None where it can."""
        if self.view not in target.views:
            return f"the model shows no {self.view}" if self.view != "white box" else "nothing is released"
        return None


@dataclass(frozen=True, kw_only=True)
class Game(Attack, ABC):
    """One way to find out a secret, from many fits with it and without.

    Parameters
    ----------
    crafted
        Whether the worlds are made up, small, and the same in every run; otherwise they are drawn from the caller's
        records for every run anew, and a run costs what a fit costs there.
    effort
        How many times the runs asked for are played. Small worlds afford more.
    """

    crafted: bool = True
    effort: int = 8

    @abstractmethod
    def worlds(self, target: Target, data: Any, draw: np.random.Generator) -> Worlds:
        """The two worlds of a run. Public settings of the target may shape them; chance comes from ``draw`` alone."""

    @abstractmethod
    def observe(self, fitted: Fitted, worlds: Worlds) -> Features:
        """What the attacker sees of a model fitted in one of the worlds, as numbers."""
