"""What counting adds to a ``Method``: contexts, a list of items and a list of edges, and what to expect of both."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.counting.cells import Cells, Level
from discreet.counting.contexts import TYPES_OF_TABLE, Context
from discreet.counting.finishing import Finish, FinishKind, finished_parts
from discreet.counting.levels import PREFIX, expected_noise, level_budgets, noisy_lists
from discreet.counting.profiles import Expectation, Law, Profile
from discreet.counting.settings import normalize
from discreet.counting.tables import catalog_table, edge_table
from discreet.data.interactions import Interactions
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.budget import Budget
from discreet.privacy.forks import require_working_polars
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.method import Made, Method, Parts, Plan, Rounds
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["CountMethod", "PublicLists", "contexts_as_json", "not_covered"]

LIST_LENGTH = 10
"""How long the list is that an estimate gives the precision of."""


@dataclass(frozen=True)
class PublicLists:
    """What a plan of counts is made from.

    Parameters
    ----------
    catalog
        The data without records.
    cells
        Items and contexts without records.
    """

    catalog: Interactions
    cells: Cells

    @classmethod
    def of(cls, data: Interactions, contexts: Sequence[Context | str] = ()) -> PublicLists:
        require_working_polars()  # in a forked process polars would hang
        catalog = data.emptied()
        return cls(catalog, Cells.of(catalog, contexts))


class CountMethod(Method):
    """Counts of items, and of edges (an item in a context) where there are contexts.

    A subclass is a frozen dataclass. It says how the records of each user are bounded (``_sums``) and what is expected
    to be counted (``_expected``). Both lists are released one after the other, unless ``_rounds`` is overridden.
    """

    kind: ClassVar[str] = "item-counts"

    epsilon: Rational
    item_share: Rational

    def __post_init__(self) -> None:
        normalize(self)

    # What a counting method fills in

    @abstractmethod
    def _plan(self, public: PublicLists) -> Plan: ...

    @abstractmethod
    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        """The counts of one level, bounded for each user alone."""

    @abstractmethod
    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        """What would be counted of each item, or of each item in one of the contexts, for an assumed popularity."""

    @property
    def _budget(self) -> Budget:
        return Budget(self.epsilon, getattr(self, "delta", 0))

    @property
    def _counts_budget(self) -> Budget:
        """What the counts spend; less than all where something is released before."""
        return self._budget

    def _mechanisms(self, cells: Cells) -> dict[Level, AdditiveMechanism]:
        budgets = level_budgets(cells, self._counts_budget, self.item_share)
        return {level: budget.for_sums() for level, budget in budgets.items()}

    def _rounds(self, plan: Plan) -> Rounds:
        cells = plan.public.cells
        noisy = yield from noisy_lists(cells, self._mechanisms(cells), self._sums)
        return self._parts(plan, noisy)

    # What counting methods use

    def _noise(self, cells: Cells) -> dict[str, float]:
        """Figures about the noise as it is drawn; refuses noise that cannot be."""
        return expected_noise(self._mechanisms(cells), lambda level: self._sums(cells, level))

    def _plan_of(
        self, public: PublicLists, *, basis: str, caps: tuple[str, ...], expected: dict[str, float], **more: Any
    ) -> Plan:
        subject = f"noisy counts of {public.cells.n_items:,} items"
        if public.cells.contexts:
            subject += f" by {', '.join(context.name for context in public.cells.contexts)}"
        return Plan(
            loss=self._budget.loss,
            basis=basis,
            subject=subject,
            caps=caps,
            not_covered=not_covered(public.cells),
            details=contexts_as_json(public.cells),
            expected=expected,
            public=public,
            **more,
        )

    def _prepare(self, data: Interactions, plan: Plan) -> Cells:
        return Cells.of(data, plan.public.cells.contexts)

    def _parts(self, plan: Plan, noisy: dict[Level, NDArray[np.float64]], **more: Any) -> Parts:
        """The tables of a release."""
        catalog, cells = plan.public.catalog, plan.public.cells
        parts = {"counts": catalog_table(catalog, count=noisy["items"]), **more}
        if "edges" in noisy:
            parts["edges"] = edge_table(catalog, cells.contexts, noisy["edges"].reshape(cells.n_items, cells.n_places))
        return parts

    def _draw(self, data: Interactions, plan: Plan) -> Made:
        made = super()._draw(data, plan)
        if "finish" not in plan.details:
            return made
        assert not isinstance(made, tuple)
        return finished_parts(made, {**plan.expected, **plan.details})

    # What everybody calls

    def plan(self, data: Interactions, *, contexts: Sequence[Context | str] = ()) -> Plan:
        """What a release will be and guarantee. Reads no record, spends nothing."""
        return self._plan(PublicLists.of(data, contexts))

    def estimate(
        self,
        data: Interactions,
        *,
        contexts: Sequence[Context | str] = (),
        profile: Profile | None = None,
        k: int = LIST_LENGTH,
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
        plan = self.plan(data, contexts=contexts)
        cells = plan.public.cells
        edges = {"edges": cells.size("edges")} if cells.contexts else {}
        assumed = self._expected_errors(cells, plan, profile or Profile(), k)
        return {**self._estimate(plan), "items": cells.n_items, **edges, **assumed}

    def release(
        self,
        data: Interactions,
        *,
        contexts: Sequence[Context | str] = (),
        finish: Finish | FinishKind | None = None,
        ledger: Ledger | None = None,
        allow_refuted: bool = False,
    ) -> Release:
        """Charge the ledger, draw the noise, return the counts.

        Parameters
        ----------
        contexts
            What to count by beside items, with public values: ``"weekday"``, ``"device=phone,laptop"``,
            ``"age=<25,25+"``.
        finish
            What to do to the noisy counts before they are returned; it costs nothing. See ``finish_counts``.
        """
        plan = self.plan(data, contexts=contexts)
        if finish is not None:
            done = finish if isinstance(finish, Finish) else Finish(finish)
            plan = replace(plan, details={**plan.details, "finish": done.to_json()})
        return self._release(data, plan, ledger=ledger, allow_refuted=allow_refuted)

    def _expected_errors(self, cells: Cells, plan: Plan, profile: Profile, k: int) -> dict[str, Any]:
        """Error and precision for an assumed popularity; nothing where the records set the noise."""
        expected: dict[str, Any] = {}
        law: Law = "laplace" if self._budget.is_pure else "gaussian"
        for level, word in PREFIX.items():
            noise = plan.expected.get(f"{word}noise_sd")
            if noise is None or not cells.n_items:
                continue
            counted = self._expected(cells, level, profile)
            truth = profile.counts(cells.n_items) / (cells.n_places if level == "edges" else 1)
            expected[f"{word}expected_mse"] = counted.error(truth, noise)
            expected[f"{word}expected_precision"] = counted.precision(k, law, noise)
        return {**expected, "k": k, "assumed": str(profile)} if expected else {}


def not_covered(cells: Cells) -> tuple[str, ...]:
    """What no guarantee about counts covers."""
    lists = "the public list of items and of the values of contexts" if cells.contexts else "the public list of items"
    typed = (TYPES_OF_TABLE,) if any(context.from_table for context in cells.contexts) else ()
    return (lists, "facts that would be true without this person's data", *typed)


def contexts_as_json(cells: Cells) -> dict[str, Any]:
    """The contexts as parameters of a release."""
    contexts = {"contexts": {context.name: list(context.values) for context in cells.contexts}}
    types = {"context_types": {context.name: context.kind for context in cells.contexts}} if cells.contexts else {}
    return {**contexts, **types}
