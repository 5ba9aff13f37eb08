"""How a release is made: settings → plan → charge → sums over people → noise → release.

Every count, top list, pair count, tagging release, query answer and released model is a ``Method``. The whole way of a
release is ``Method._release`` below; a method fills in ``_plan`` and ``_rounds``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import polars as pl
from numpy.typing import NDArray

from discreet.data.parted import Parted
from discreet.errors import UsageError
from discreet.privacy import entropy
from discreet.privacy.bounding import BoundedSums, require_catalog
from discreet.privacy.budget import Budget
from discreet.privacy.charging import charged, kept_release, require_working_polars
from discreet.privacy.gram import BoundedGram, ProjectedGram
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Loss
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from discreet.privacy.ledger import Dataset, Ledger

__all__ = [
    "Enters",
    "Made",
    "Method",
    "Parts",
    "Plan",
    "Reads",
    "Round",
    "Rounds",
    "Sums",
    "run_rounds",
    "settings_as_json",
]

USER = Unit("user")
Sums = BoundedSums | BoundedGram
Parts = Mapping[str, pl.DataFrame | NDArray[Any]]
"""The tables and arrays of a release, by name."""


class Mechanism(Protocol):
    """Noise or a selection: works out its scale from the bounds of the sums, and spends its loss."""

    @property
    def loss(self) -> Loss: ...

    def release(self, sums: Any, /) -> Any: ...


@dataclass(frozen=True)
class Round:
    """One use of the budget: sums over people, and the mechanism that releases them.

    Parameters
    ----------
    statistics
        The sums of any group of people, from their records. Sums of disjoint groups add up to the sums of all
        (``docs/proofs/bounding.md``), so this may be called for one part of the people after the other.
    mechanism
        What releases the sums. Several mechanisms release as many sums that are computed together.
    settles
        Where later rounds are computed by what this one released: the name of the part of the release that has it. In a
        series (``discreet.series``) that part stays as it was first released, since it fixes what later sums are about;
        the part ``NAME_now`` beside it is up to date. Only the last round may go without.
    noise
        For each mechanism the parameter of the release that has the deviation of its noise. Where releases of several
        curators are combined (``discreet.combining``), it becomes that of the sum.
    """

    statistics: Callable[[Any], Any]
    mechanism: Mechanism | tuple[Mechanism, ...]
    settles: str = ""
    noise: tuple[str, ...] = ()

    def computed(self, part: Any) -> tuple[Any, ...]:
        """The sums of one part of the people, for each of the mechanisms."""
        return self.statistics(part) if isinstance(self.mechanism, tuple) else (self.statistics(part),)

    def sums(self, parts: Iterable[Any] | PreparedParts) -> tuple[Sums, ...]:
        """The sums over all parts of the people, for each of the mechanisms."""
        if isinstance(parts, PreparedParts):
            totals = parts.added(self.computed)
        else:
            totals = reduce(lambda one, other: tuple(map(add, one, other)), map(self.computed, parts))
        return tuple(total.settled() if isinstance(total, ProjectedGram) else total for total in totals)

    def released(self, parts: Iterable[Any] | PreparedParts, unit: Unit) -> Any:
        """What the mechanisms make of the sums over all parts of the people."""
        several = isinstance(self.mechanism, tuple)
        mechanisms = self.mechanism if isinstance(self.mechanism, tuple) else (self.mechanism,)
        totals = self.sums(parts)
        for sums in totals:
            if sums.unit != unit:
                raise UsageError(f"the sums are bounded for {sums.unit}, and the guarantee is about {unit}.")
        answers = tuple(mechanism.release(sums) for mechanism, sums in zip(mechanisms, totals, strict=True))
        return answers if several else answers[0]


Made = Parts | tuple[Parts, Mapping[str, Any]]
"""The parts of a release, and optionally further public parameters that follow from what was released."""

Rounds = Generator[Round, Any, Made]
"""Yields rounds, is sent what each of them released, returns what the release is made of. It sees no record."""


@dataclass(frozen=True)
class Plan:
    """What a release will be, decided from public values alone.

    Parameters
    ----------
    loss, basis, subject, unit, caps, not_covered, standing, joint
        As in ``Guarantee``.
    expected
        Figures about the noise, JSON-able: for the estimate and the parameters of the release.
    details
        Further public parameters of the release, such as the contexts that are counted by.
    public
        The data without records, or whatever else public the method needs later.
    """

    loss: Loss
    basis: str
    subject: str
    unit: Unit = USER
    caps: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    standing: Standing = Standing.PROVED
    joint: bool = False
    expected: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    public: Any = None

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee that the release will have."""
        return Guarantee(**{one.name: getattr(self, one.name) for one in fields(Guarantee) if hasattr(self, one.name)})


Reads = Literal["sums", "local", "answers", "records"]
Enters = Literal["", "once", "records"]


class Method(ABC):
    """One way to release something: a dataclass of settings.

    ``_plan`` reads nothing of the records and finds every mistake: it runs before the ledger is charged. ``_rounds``
    runs after the charge and sees only what was released; records are read by the ``statistics`` of its rounds alone.

    Attributes
    ----------
    name : str
        The name of the method, as on the command line.
    kind : str
        What is released: "item-counts", "query-answers" … For a model its name.
    reads : str
        How records are used. "sums": sums over people in rounds. Otherwise the method overrides ``_draw``: "local"
        (each person's records are randomized by themselves), "answers" (one answer at a time), "records" (in another
        way, as some published methods do).
    is_model : bool
        Whether a recommender is built from the release.
    chooses : bool
        Whether something is chosen by scores: what one curator chooses is nothing that several could add up.
    listed : str
        What needs a public list of items; empty where no list is needed.
    enters : str
        How people enter a series of releases (``discreet.series``). "once": each person on one step, with all records
        that they have by then. "records": record by record, as long as the squared length of the person's counts is at
        most ``cap``; the sums of such records are plain counts. Empty: the method has no series.
    adds : mapping
        The parts of a release that are noisy sums, where those of several curators can be added up as they are: each
        with the parameters that grow with its noise, the standard deviation first. Empty where a release is something
        else; its rounds may still be combined one by one (``discreet.combining``).
    """

    name: ClassVar[str]
    kind: ClassVar[str]
    reads: ClassVar[Reads] = "sums"
    is_model: ClassVar[bool] = False
    chooses: ClassVar[bool] = False
    listed: ClassVar[str] = ""
    enters: ClassVar[Enters] = ""
    adds: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    # What a method fills in

    @abstractmethod
    def _plan(self, public: Any) -> Plan:
        """Decide everything that can be decided from public values, and refuse wrong settings and unsuitable data."""

    def _rounds(self, plan: Plan) -> Rounds:
        """Ask for sums round by round, and make the parts of the release from the answers."""
        raise NotImplementedError(f"{type(self).__name__} defines neither _rounds nor _draw")

    def _prepare(self, data: Any, plan: Plan) -> Any:
        """What the statistics are computed from: each person's records, chosen and bounded for this person alone."""
        return data

    def _draw(self, data: Any, plan: Plan) -> Made:
        """What the release is made of. Overridden by methods that do not release sums over people."""
        people = PreparedParts(self, data, plan) if isinstance(data, Parted) else [self._prepare(data, plan)]
        return run_rounds(self._rounds(plan), people, plan.unit)

    def _facts(self, name: str, plan: Plan) -> Mapping[str, Any] | None:
        """What readers of data have to know where the release is a dataset, from public values; None elsewhere."""
        return None

    def _not_combined(self, plan: Plan) -> str:
        """Why several curators cannot run this plan round by round; empty where they can (``discreet.combining``)."""
        return ""

    def _public(self, data: Any) -> Any:
        """What the plan may look at: the public lists without any record."""
        require_working_polars()  # in a forked process polars would hang
        data = self._whole(data)
        if self.listed:
            require_catalog(data, self.listed)
        return data.emptied()

    @property
    def _budget(self) -> Budget:
        """What the settings epsilon, delta and unit may spend: pure without delta, for users without unit."""
        given = {name: getattr(self, name) for name in ("epsilon", "delta", "unit") if hasattr(self, name)}
        return Budget(**given)

    # What everybody calls

    @property
    def parameters(self) -> dict[str, Any]:
        """The settings, which are public; JSON-able."""
        return settings_as_json(self)

    def plan(self, data: Any) -> Plan:
        """What a release will be and guarantee. Reads no record, spends nothing."""
        return self._plan(self._public(self._whole(data)))

    def estimate(self, data: Any) -> dict[str, Any]:
        """What to expect of a release. Reads no record, spends nothing."""
        return self._estimate(self.plan(data))

    def release(
        self, data: Any, *asked: Any, ledger: Ledger | None = None, allow_refuted: bool = False, **options: Any
    ) -> Release:
        """Charge the ledger, draw the noise, return the release.

        Parameters
        ----------
        data
            The records.
        asked, options
            What else ``plan`` of the method takes: contexts of counts, the queries to answer.
        ledger
            Where the loss is charged before anything is drawn.
        allow_refuted
            Run a published method whose guarantee is known not to hold.
        """
        plan = self.plan(self._whole(data), *asked, **options)
        return self._release(data, plan, ledger=ledger, allow_refuted=allow_refuted)

    def _whole(self, data: Any) -> Any:
        """What a plan is made from: data in parts stand for themselves by what is public about them."""
        if not isinstance(data, Parted):
            return data
        data.require_sums(self)
        return data.public

    def _release(self, data: Dataset, plan: Plan, *, ledger: Ledger | None, allow_refuted: bool = False) -> Release:
        settings = {**self._described(), **plan.details}
        kept = kept_release(ledger, data, plan.guarantee, mechanism=self.name, parameters=settings)
        if kept is not None:
            return kept
        with charged(
            ledger, data, plan.guarantee, mechanism=self.name, parameters=settings, allow_refuted=allow_refuted
        ) as charge:
            made = self._draw(data, plan)
            parts, found = made if isinstance(made, tuple) else (made, {})
            release = Release(
                kind=self.kind,
                guarantee=getattr(charge, "guarantee", plan.guarantee),
                mechanism=self.name,
                parameters={**settings, **plan.expected, **found},
                parts=parts,
                dataset=data.name,
                model=self.is_model,
                facts=self._facts(data.name, plan),
            )
            charge.settle(release.id)
        return release

    def _estimate(self, plan: Plan) -> dict[str, Any]:
        return {
            **self._described(),
            "loss": str(plan.loss),
            "standing": plan.standing.value,
            **plan.details,
            **plan.expected,
        }

    def _described(self) -> dict[str, Any]:
        """What a release says about how it was made; a model is rebuilt from it."""
        return self.parameters if self.is_model else {"method": self.name, **self.parameters}


@dataclass(frozen=True)
class PreparedParts:
    """The people of data in parts, as the statistics take them: prepared alike in every round."""

    method: Method
    data: Parted
    plan: Plan
    keys: entropy.Keys = field(default_factory=entropy.Keys)

    def added(self, computed: Callable[[Any], tuple[Any, ...]]) -> tuple[Any, ...]:
        """The totals of what is computed of each part."""
        return self.data.added(_Computed(self.method, self.plan, self.keys, computed))


@dataclass(frozen=True)
class _Computed:
    """A function of the records of a part that other processes can be sent."""

    method: Method
    plan: Plan
    keys: entropy.Keys
    computed: Callable[[Any], tuple[Any, ...]]

    def __call__(self, part: Any) -> tuple[Any, ...]:
        with self.keys.replayed():
            prepared = self.method._prepare(part, self.plan)
        return self.computed(prepared)


def run_rounds(rounds: Rounds, parts: Iterable[Any] | PreparedParts, unit: Unit) -> Made:
    """Compute the sums of each part of the people, add them up, release them, round after round.

    Parameters
    ----------
    parts
        The people's data in disjoint groups; one group for all of them is the usual case.
    unit
        What the guarantee is about. Sums that are bounded for another unit are refused.
    """
    answer = None
    while True:
        try:
            asked = rounds.send(answer)
        except StopIteration as finished:
            return finished.value
        answer = asked.released(parts, unit)


def settings_as_json(settings: Any) -> dict[str, Any]:
    """The fields of a dataclass; fractions and units as text, tuples as lists, settings within settings as mappings."""

    def as_json(value: Any) -> Any:
        if isinstance(value, Fraction | Decimal):
            return str(value)
        if isinstance(value, Unit):
            return value.code
        if is_dataclass(value):
            return settings_as_json(value)
        if isinstance(value, Mapping):
            return {name: as_json(part) for name, part in value.items()}
        return list(value) if isinstance(value, tuple) else value

    return {one.name: as_json(getattr(settings, one.name)) for one in fields(settings) if one.init}
