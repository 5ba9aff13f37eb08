"""What counting adds to a ``Method``: contexts, a list of items and a list of edges, and what to expect of both."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from discreet.common.arguments import require_whole
from discreet.common.arrays import Floats
from discreet.counting.cells import Cells, Level
from discreet.counting.estimation import require_counts
from discreet.counting.finishing import Finish, FinishKind, consistent, consistent_variances, finished_parts
from discreet.counting.profiles import Expectation, Law, Profile
from discreet.data.contexts import Context
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.privacy.bounding import MOST_CAP, BoundedSums
from discreet.privacy.budget import Budget, as_share
from discreet.privacy.guarantees import Standing
from discreet.privacy.mechanisms import AdditiveMechanism
from discreet.privacy.method import Made, Method, Parts, Plan, Round, Rounds
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release

__all__ = ["COUNT_SUMS", "LIST_LENGTH", "PREFIX", "Cap", "CountMethod", "Lists", "check_k", "normalize", "store", "top"]

Lists = dict[Level, Floats]

Cap = int | Literal["data"]
"""A public number of records, or "data": looked up in the records, as some papers do."""

CAPS = ("cap", "first", "count_cap")

PREFIX: Mapping[Level, str] = {"items": "", "edges": "edge_"}
"""What the figures of a level are called: ``noise_sd`` and ``edge_noise_sd``."""

COUNT_SUMS: Mapping[str, tuple[str, ...]] = {
    part: tuple(f"{word}{figure}" for figure in ("noise_sd", "noise_95", "scale"))
    for part, word in (("counts", ""), ("edges", "edge_"))
}
"""The parts of a release of counts that are noisy sums, with the figures of their noise. Lists that were made
consistent still are when they are added up: that is linear, and the same for every ε."""

LIST_LENGTH = 10
"""How long the list is that an estimate gives the precision of."""


def normalize(settings: Any, *, unchecked: tuple[str, ...] = ()) -> None:
    """Make epsilon, delta and shares of a frozen dataclass exact, and check its caps.

    Parameters
    ----------
    unchecked
        Shares and caps that the method checks by itself.
    """
    names = [one.name for one in fields(settings)]
    budget = Budget(settings.epsilon, getattr(settings, "delta", 0))
    exact = {name: getattr(budget, name) for name in ("epsilon", "delta") if name in names}
    given = {name: getattr(settings, name) for name in names if name not in unchecked}
    shares = {name: value for name, value in given.items() if name.endswith("_share") and value is not None}
    store(settings, **exact, **{name: as_share(value, name) for name, value in shares.items()})
    for one in fields(settings):
        if one.name in CAPS and one.name in given and (given[one.name] is not None or one.default is not None):
            require_whole(given[one.name], one.name, most=MOST_CAP)


def store(settings: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass while it is made."""
    for name, value in values.items():
        object.__setattr__(settings, name, value)


class CountMethod(Method):
    """Counts of items, and of edges (an item in a context) where there are contexts.

    A subclass is a frozen dataclass. It says how the records of each user are bounded (``_sums``) and what is expected
    to be counted (``_expected``). Both lists are released together, unless ``_rounds`` is overridden.

    Attributes
    ----------
    proof
        The theorem.
    agree
        Whether noisy counts of items and edges are made consistent.
    """

    kind: ClassVar[str] = "item-counts"
    listed: ClassVar[str] = "item counts"
    proof: ClassVar[str]
    agree: ClassVar[bool] = False

    epsilon: Rational
    item_share: Rational

    def __post_init__(self) -> None:
        normalize(self)

    # What a counting method fills in

    @abstractmethod
    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        """The counts of one level, bounded for each user alone."""

    @abstractmethod
    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        """What would be counted of each item, or of each item in one of the contexts, for an assumed popularity."""

    @property
    def _basis(self) -> str:
        return self.proof

    @property
    def _standing(self) -> Standing:
        return Standing.PROVED

    def _caps(self, cells: Cells) -> tuple[str, ...]:
        return self._sums(cells, "items").caps

    # The budget

    @property
    def _norm(self) -> int:
        """The norm that users are bounded in: 1 without delta, 2 with one."""
        return self._budget.norm

    @property
    def _counts_budget(self) -> Budget:
        """What the counts spend; less than all where something is released before."""
        return self._budget

    def _budgets(self, cells: Cells, budget: Budget | None = None) -> dict[Level, Budget]:
        """What items and edges may spend; without contexts there are items only, with the whole budget."""
        budget = self._counts_budget if budget is None else budget
        if not cells.contexts:
            return {"items": budget}
        return {"items": budget.part(self.item_share), "edges": budget.rest(self.item_share)}

    def _mechanisms(self, cells: Cells) -> dict[Level, AdditiveMechanism]:
        return {level: budget.for_sums() for level, budget in self._budgets(cells).items()}

    def _drawn_noise(self, cells: Cells) -> dict[str, float]:
        """Figures about the noise of each level as it is drawn; refuses noise that cannot be."""
        return {
            f"{PREFIX[level]}{name}": value
            for level, budget in self._budgets(cells).items()
            for name, value in budget.noise_on(self._sums(cells, level)).items()
        }

    def _noise(self, cells: Cells) -> dict[str, float]:
        """What is left of the noise after both lists were made consistent.

        Half-widths shrink as standard deviations do. That is on the safe side: sums of several noises have lighter
        tails than one of them.
        """
        expected = self._drawn_noise(cells)
        if not self.agree or "edge_noise_sd" not in expected:
            return expected
        before = [expected[f"{word}noise_sd"] for word in PREFIX.values()]
        after = consistent_variances(cells.n_places, item_variance=before[0] ** 2, edge_variance=before[1] ** 2)
        for word, drawn, variance in zip(PREFIX.values(), before, after, strict=True):
            expected[f"{word}noise_sd"] = math.sqrt(variance)
            expected[f"{word}noise_95"] *= math.sqrt(variance) / drawn
        return expected

    # The release

    def _plan(self, public: Cells) -> Plan:
        return Plan(
            loss=self._budget.loss,
            basis=self._basis,
            subject=public.named(f"noisy counts of {public.n_items:,} items"),
            caps=self._caps(public),
            not_covered=public.not_covered,
            standing=self._standing,
            details=public.contexts_as_json,
            expected=self._noise(public),
            public=public,
        )

    def _prepare(self, data: Interactions, plan: Plan) -> Cells:
        return Cells.of(data, plan.public.contexts)

    def _rounds(self, plan: Plan) -> Rounds:
        return self._parts(plan, (yield from self._noisy(plan.public)))

    def _noisy(
        self,
        public: Cells,
        prepare: Callable[[Cells], Any] = lambda records: records,
        sums: Callable[[Any, Level], BoundedSums] | None = None,
    ) -> Generator[Round, Any, Lists]:
        """One round for the lists of all levels; the noisy counts in records.

        Parameters
        ----------
        public
            The shape of the cells, without records.
        prepare
            What both lists are made from: each user's records, chosen or weighed for this user alone.
        sums
            The bounded counts of what was prepared, with the bounds of ``_sums``.
        """
        mechanisms, bounded = self._mechanisms(public), sums or self._sums

        def both(records: Cells) -> tuple[BoundedSums, ...]:
            prepared = prepare(records)
            return tuple(bounded(prepared, level) for level in mechanisms)

        released = yield Round(both, tuple(mechanisms.values()))
        noisy: Lists = {
            level: values.astype(np.float64) * float(self._sums(public, level).step)
            for level, values in zip(mechanisms, released, strict=True)
        }
        if not self.agree or "edges" not in noisy:
            return noisy
        variance = {level: one.standard_deviation(self._sums(public, level)) ** 2 for level, one in mechanisms.items()}
        items, edges = consistent(
            noisy["items"],
            noisy["edges"].reshape(public.n_items, public.n_places),
            item_variance=variance["items"],
            edge_variance=variance["edges"],
        )
        return {"items": items, "edges": edges}

    def _parts(self, plan: Plan, noisy: Lists, **more: Any) -> Parts:
        """The tables of a release: items in the order of the catalog, and edges, the last context fastest."""
        cells: Cells = plan.public
        parts = {"counts": cells.table(count=noisy["items"]), **more}
        if "edges" in noisy:
            items = np.repeat(np.arange(cells.n_items), cells.n_places)
            places = cells.place_columns(np.tile(np.arange(cells.n_places), cells.n_items))
            parts["edges"] = cells.table(items, **places, count=noisy["edges"].ravel())
        return parts

    def _draw(self, data: Interactions, plan: Plan) -> Made:
        made = super()._draw(data, plan)
        if "finish" not in plan.details:
            return made
        assert not isinstance(made, tuple)
        return finished_parts(made, {**plan.expected, **plan.details})

    # What everybody calls

    def plan(
        self,
        data: Interactions,
        *,
        contexts: Sequence[Context | str] = (),
        finish: Finish | FinishKind | None = None,
    ) -> Plan:
        """What a release will be and guarantee. Reads no record, spends nothing.

        Parameters
        ----------
        contexts
            What to count by beside items, with public values: ``"weekday"``, ``"device=phone,laptop"``,
            ``"age=<25,25+"``.
        finish
            What to do to the noisy counts before they are returned; it costs nothing. See ``finish_counts``.
        """
        plan = self._plan(Cells.of(self._public(data), contexts))
        if finish is None:
            return plan
        done = finish if isinstance(finish, Finish) else Finish(finish)
        return replace(plan, details={**plan.details, "finish": done.to_json()})

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
        edges = {"edges": plan.public.size("edges")} if plan.public.contexts else {}
        assumed = self._expected_errors(plan, profile or Profile(), k)
        return {**self._estimate(plan), "items": plan.public.n_items, **edges, **assumed}

    def _expected_errors(self, plan: Plan, profile: Profile, k: int) -> dict[str, Any]:
        """Error and precision for an assumed popularity; nothing where the records set the noise."""
        cells, expected = plan.public, {}
        law: Law = "laplace" if self._budget.is_pure else "gaussian"
        for level, word in PREFIX.items():
            noise = plan.expected.get(f"{word}noise_sd")
            if noise is None or not cells.n_items:
                continue
            counted, truth = self._expected(cells, level, profile), profile.of_level(cells, level)
            expected[f"{word}expected_mse"] = counted.error(truth, noise)
            expected[f"{word}expected_precision"] = counted.precision(k, law, noise)
        return {**expected, "k": k, "assumed": str(profile)} if expected else {}


def top(release: Release, k: int = 10, *, by_context: bool = False) -> pl.DataFrame:
    """The k items with the largest counts of a release, best first. Post-processing: it costs nothing.

    Equal counts stand in the order of the catalog, which is public.

    Parameters
    ----------
    by_context
        One list for each combination of the values of the contexts, instead of one for all.
    """
    require_counts(release)
    counts = release.parts["counts"]
    assert isinstance(counts, pl.DataFrame)
    check_k(k, counts.height)
    if by_context:
        names = list(release.parameters["contexts"])
        falling = [False] * len(names) + [True]
        ordered = release.table("edges").sort([*names, "count"], descending=falling, maintain_order=True)
        ranked = ordered.with_columns(rank=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(names))
        return ranked.filter(pl.col("rank") <= k)
    best = counts.sort("count", descending=True, maintain_order=True).head(k)
    return best.with_columns(pl.Series("rank", np.arange(1, k + 1)))


def check_k(k: int, n_items: int | None) -> None:
    """Refuse a number of items that is not from 1 to the size of the catalog."""
    require_whole(k, "k")
    if n_items is not None and k > n_items:
        raise UsageError(f"k must be between 1 and the number of items ({n_items:,}), got {k:,}.")
