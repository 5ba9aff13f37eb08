"""What all ways of counting share: a promise before, a charge, a release of item counts and of edge counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.counting.cells import Cells
from discreet.counting.contexts import Context
from discreet.counting.tables import catalog_table, edge_table
from discreet.data.interactions import Interactions
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Loss
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["CountMethod", "Counted", "Plan"]


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
        Figures for an estimate: ``noise_sd`` and ``noise_95`` of an item count, with contexts also
        ``edge_noise_sd`` and ``edge_noise_95``.
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


class CountMethod(ABC):
    """A way to count: subclasses are frozen dataclasses that plan from public values and count with noise.

    ``_plan`` must read nothing of the records (it is handed cells without any, or the real ones for their public
    shape) and must find every mistake: it runs before the ledger is charged. ``_count`` runs after.
    """

    name: ClassVar[str]

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The public parameters, JSON-able."""

    @abstractmethod
    def _plan(self, cells: Cells) -> Plan: ...

    @abstractmethod
    def _count(self, cells: Cells) -> Counted: ...

    def guarantee(self, data: Interactions, *, contexts: Sequence[Context | str] = ()) -> Guarantee:
        """What a release will promise, known before it is made."""
        cells = Cells.of(data.emptied(), contexts)
        return _promise(self._plan(cells), cells)

    def estimate(self, data: Interactions, *, contexts: Sequence[Context | str] = ()) -> dict[str, Any]:
        """What to expect, from public values alone: no record is read, nothing is spent."""
        cells = Cells.of(data.emptied(), contexts)
        plan = self._plan(cells)
        facts = {"method": self.name, **self.parameters, "items": cells.n_items, "loss": str(plan.loss)}
        if cells.contexts:
            facts["edges"] = cells.size("edges")
        return {**facts, **plan.expected}

    def release(
        self,
        data: Interactions,
        *,
        contexts: Sequence[Context | str] = (),
        ledger: Ledger | None = None,
        allow_refuted: bool = False,
    ) -> Release:
        """Charge the ledger, draw the noise, hand out the counts."""
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
            charge.settle(release.id)
        return release


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


def split(epsilon: Fraction, shares: Sequence[Fraction]) -> list[Fraction]:
    """A budget divided in proportion to shares, exactly."""
    total = sum(shares)
    return [epsilon * share / total for share in shares]
