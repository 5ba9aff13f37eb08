"""What a game of an audit is: two neighboring datasets, and what an attacker sees of a model fitted to one of them.

How a game is added
-------------------
- On made-up records: write a function that makes the two datasets for a target, and add a ``SmallGame`` with it to
  ``registry.ATTACKS``. ``small``, ``tags`` and ``tables`` have helpers and examples.
- Anything else: write a class that inherits from ``Game``. Make the two datasets in ``datasets``, and turn what the
  attacker sees into numbers in ``observe``. Class attributes say what the game is about, which kind of data it is for
  and what it needs.

The engine does the rest. It fits the model many times to either dataset, learns on one half of the runs which numbers
give the secret away, and proves on the other half how much they give away. ``observe`` must not look at which dataset
was used: it is handed the same ``NeighboringData`` for both. The numbers must come in the same order and mean the same
in every run. NaN stands for "no answer"; vectors of different lengths are filled up with it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.common.arrays import Floats
from discreet.data.interactions import Interactions
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = [
    "RECORD", "USER", "VALUE", "VIEWS", "Attack", "Dataset", "Features", "Game", "GivenGame", "NeighboringData",
    "SmallGame", "View",
]  # fmt: skip

View = Literal["white box", "predictions", "recommendations", "similar items", "predictions and recommendations"]
VIEWS: tuple[View, ...] = ("white box", "predictions", "recommendations", "similar items")
"""What a model can show. A game that compares two of them has both in its view."""
Features = Floats
Dataset = Interactions | TagAssignments | Table
About = Literal["user", "record"] | None

USER, RECORD, VALUE = Unit(), Unit("record"), Unit("record", "value")


@dataclass(frozen=True, eq=False)
class NeighboringData:
    """Two neighboring datasets: they differ in the secret and in nothing else.

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
    fits
        How many releases that were made with the secret, or without it, the attacker sees. The claim of the model is
        added up over them.
    """

    without: Any
    with_: Any
    unit: Unit = USER
    records: int = 1
    secret: Any = None
    fits: int = 1

    def dataset(self, *, present: bool) -> Any:
        """The dataset with the secret, or the one without it."""
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
    data_type : type
        The kind of data that it is for; it is tried on no other.
    about : str or None
        What it is about, "user" or "record": it is not played against a guarantee about something else. None for
        attacks that are played against every guarantee.
    needs_claim : bool
        Whether it is played only where something is claimed about that.
    needs_settings : tuple of str
        Settings of the model, whole numbers from 1, that it is made from.
    crafted : bool
        Whether the datasets are made up, small, and the same in every run; otherwise they are drawn from the caller's
        records for every run anew, and a run costs what a fit costs there.
    effort : int
        How many times the runs asked for are played. Small datasets afford more.
    share : int
        How much of the time it is given, beside the others. Small datasets prove most for their time.
    """

    # Without annotations: attributes of the class, which are fields of a ``SmallGame``.
    data_type = Interactions
    about = None
    needs_claim = False
    needs_settings = ()
    crafted = False
    effort = 1
    share = 1

    name: str
    view: View = "white box"

    def obstacle(self, target: Target, data: Any) -> str | None:
        """Why the attack cannot be tried on this target and these records; None where it can."""
        promise, about = target.guarantee, self.about
        if promise is None and self.needs_claim:
            return f"nothing is claimed about one {about}"
        if promise is not None and about is not None and promise.unit.what != about:
            return f"the guarantee is about one {promise.unit.what}"
        for name in self.needs_settings:
            value = target.setting(name)
            if not isinstance(value, int) or value < 1:
                return f"the model has no setting {name}"
        missing = [view for view in VIEWS if view in self.view and view not in target.views]
        if not missing:
            return None
        return "the model has no `release_`" if missing == ["white box"] else f"the model shows no {missing[0]}"


class Game(Attack, ABC):
    """One way to find out a secret, from many fits with it and without."""

    crafted = True
    effort = 8
    share = 3

    @abstractmethod
    def datasets(self, target: Target, data: Any, draw: np.random.Generator) -> NeighboringData:
        """The two datasets of a run. Public settings of the target may shape them; chance comes from ``draw`` alone."""

    @abstractmethod
    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        """What the attacker sees of a model fitted to one of the datasets, as numbers."""


class GivenGame(Game):
    """A game about one user of the caller's records, who is drawn for every run."""

    about = "user"
    crafted = False
    effort = 1
    share = 1


@dataclass(frozen=True, kw_only=True)
class SmallGame(Game):
    """A game on made-up records: two functions, and the attributes of ``Attack`` and ``Game`` as settings.

    Parameters
    ----------
    make
        The two datasets, from the public settings of a target.
    reads
        What an attacker sees in a view of a model that was fitted to one of them, as numbers.
    unless
        Why it is not played against a target in a view, besides what is said for every attack; None where it is.
    """

    make: Callable[[Target], NeighboringData]
    reads: Callable[[View, Fitted, NeighboringData], Features]
    unless: Callable[[Target, View], str | None] | None = None
    data_type: type[Any] = Interactions
    about: About = None
    needs_claim: bool = False
    needs_settings: tuple[str, ...] = ()
    effort: int = 8
    share: int = 3

    def obstacle(self, target: Target, data: Any) -> str | None:
        return super().obstacle(target, data) or (None if self.unless is None else self.unless(target, self.view))

    def datasets(self, target: Target, data: Any, draw: np.random.Generator) -> NeighboringData:
        return self.make(target)

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        return self.reads(self.view, fitted, pair)
