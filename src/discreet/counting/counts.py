"""What all ways of counting share: a promise before, a charge, a release of item counts and of edge counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.counting.cells import Cells, Level
from discreet.counting.contexts import Context
from discreet.counting.finishing import Finish, finished
from discreet.counting.profiles import Law, Outlook, Profile
from discreet.counting.tables import catalog_table, edge_table
from discreet.data.interactions import Interactions
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Loss, Pure
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["CountMethod", "Counted", "Plan"]

LISTED = 10
"""How long the list is that an estimate tells the precision of, unless told."""


@dataclass(frozen=True)
class Plan:
    """What a method will do, from public values alone.

    Parameters
    ----------
    loss
        What a release spends.
    basis
        The theorem, or the counterexample.
    caps
        Phrases for the guarantee.
    expected
        Figures about the noise on an item count in units of records: its ``scale`` as it is drawn, and ``noise_sd``
        and ``noise_95`` as it is released; with contexts also ``edge_scale``, ``edge_noise_sd`` and ``edge_noise_95``.
        Empty where the records set the noise, which a refuted method does.
    """

    loss: Loss
    basis: str
    caps: tuple[str, ...]
    expected: dict[str, float]
    standing: Standing = Standing.PROVED


@dataclass(frozen=True)
class Counted:
    """Noisy counts in units of records: items, and items × places where there are contexts.

    Parameters
    ----------
    parts
        Further tables or arrays to release, for instance the popularity that a method spent on.
    """

    items: NDArray[np.float64]
    edges: NDArray[np.float64] | None = None
    parts: dict[str, pl.DataFrame | NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class CountMethod(ABC):
    """A way to count: subclasses are frozen dataclasses that plan from public values and count with noise.

    ``_plan`` must read nothing of the records (it is handed cells without any, or the real ones for their public
    shape) and must find every mistake: it runs before the ledger is charged. ``_count`` runs after.
    """

    name: ClassVar[str]

    @abstractmethod
    def _plan(self, cells: Cells) -> Plan: ...

    @abstractmethod
    def _count(self, cells: Cells) -> Counted: ...

    @abstractmethod
    def _outlook(self, cells: Cells, level: Level, profile: Profile) -> Outlook:
        """What would be counted of each item (or of each item in one of the contexts) in an assumed world."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The settings, which are public, JSON-able."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: str(value) if isinstance(value, Fraction) else value for name, value in given.items()}

    def guarantee(self, data: Interactions, *, contexts: Sequence[Context | str] = ()) -> Guarantee:
        """What a release will promise, known before it is made."""
        cells = Cells.of(data.emptied(), contexts)
        return _promise(self._plan(cells), cells)

    def estimate(
        self,
        data: Interactions,
        *,
        contexts: Sequence[Context | str] = (),
        profile: Profile | None = None,
        k: int = LISTED,
    ) -> dict[str, Any]:
        """What to expect, from public values alone: no record is read, nothing is spent.

        Parameters
        ----------
        profile
            The popularity that is assumed for ``expected_mse``, the mean squared error of a count with noise and with
            what the cap takes away, and for ``expected_precision``, the share of the most popular items that is
            expected on top. With contexts ``edge_expected_mse`` and ``edge_expected_precision`` (of the list of one
            context) beside them.
        k
            How long that list is.
        """
        cells = Cells.of(data.emptied(), contexts)
        plan = self._plan(cells)
        facts = {"method": self.name, **self.parameters, "items": cells.n_items, "loss": str(plan.loss)}
        if cells.contexts:
            facts["edges"] = cells.size("edges")
        return {**facts, **plan.expected, **self._expected(cells, plan, profile or Profile(), k)}

    def release(
        self,
        data: Interactions,
        *,
        contexts: Sequence[Context | str] = (),
        finish: Finish | None = None,
        ledger: Ledger | None = None,
        allow_refuted: bool = False,
    ) -> Release:
        """Charge the ledger, draw the noise, hand out the counts.

        Parameters
        ----------
        finish
            What to do to the noisy counts before they are handed out; it costs nothing. See ``finish_counts``.
        """
        cells = Cells.of(data, contexts)
        plan = self._plan(cells)
        guarantee = _promise(plan, cells)
        parameters = {
            "method": self.name,
            **self.parameters,
            "contexts": {context.name: list(context.values) for context in cells.contexts},
        }
        with charged(
            ledger, data, guarantee, mechanism=self.name, parameters=parameters, allow_refuted=allow_refuted
        ) as charge:
            counted = self._count(cells)
            parts: dict[str, Any] = {"counts": catalog_table(data, count=counted.items), **counted.parts}
            if counted.edges is not None:
                parts["edges"] = edge_table(data, cells.contexts, counted.edges)
            release = Release(
                kind="item-counts",
                guarantee=guarantee,
                mechanism=self.name,
                parameters={**parameters, **plan.expected},
                parts=parts,
                dataset=data.name,
            )
            if finish is not None:
                release = finished(release, finish)
            charge.settle(release.id)
        return release

    def _expected(self, cells: Cells, plan: Plan, profile: Profile, k: int) -> dict[str, Any]:
        """Error and precision in an assumed world; nothing where the records set the noise."""
        expected: dict[str, Any] = {}
        law: Law = "laplace" if isinstance(plan.loss, Pure) else "gaussian"
        levels: dict[Level, str] = {"items": "", "edges": "edge_"}
        for level, word in levels.items():
            noise = plan.expected.get(f"{word}noise_sd")
            if noise is None or not cells.n_items:
                continue
            outlook = self._outlook(cells, level, profile)
            truth = profile.counts(cells.n_items) / (cells.n_places if level == "edges" else 1)
            expected[f"{word}expected_mse"] = outlook.error(truth, noise)
            expected[f"{word}expected_precision"] = outlook.precision(k, law, noise)
        return {**expected, "k": k, "assumed": str(profile)} if expected else {}


def _promise(plan: Plan, cells: Cells) -> Guarantee:
    subject = f"noisy counts of {cells.n_items:,} items"
    outside: tuple[str, ...] = ("the public list of items", "facts about people at large")
    if cells.contexts:
        subject += f" by {', '.join(context.name for context in cells.contexts)}"
        outside = ("the public list of items and of the values of contexts", "facts about people at large")
    return Guarantee(
        loss=plan.loss,
        unit=Unit("user"),
        standing=plan.standing,
        basis=plan.basis,
        subject=subject,
        caps=plan.caps,
        not_covered=outside,
    )
