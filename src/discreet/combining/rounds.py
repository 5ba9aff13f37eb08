"""One round of a method by one curator: a release of its own, with a guarantee of its own.

What the round is about follows from the rounds before it, which all curators combined. ``docs/proofs/combining.md`` has
the theorems.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.combining.public_side import PublicSide
from discreet.combining.shared import BUDGET, ROUND, Shared, leaf_parts, loaded, named, require_round
from discreet.combining.stages import CHOICE, CHOOSE_LATER, Array, Step, by_round, flat, part_name, played
from discreet.common.foreign import foreign_errors
from discreet.errors import ReleaseError, UsageError
from discreet.models.registry import registered
from discreet.privacy.guarantees import Standing
from discreet.privacy.losses import add, loss_from_json
from discreet.privacy.method import Method, Plan, Rounds
from discreet.privacy.parallel import composed
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.privacy.ledger import Ledger

__all__ = ["OneRound", "release_round"]


def release_round(
    method: Method,
    data: Any,
    *asked: Any,
    after: Release | str | Path | None = None,
    contexts: Sequence[Any] = (),
    coupling: Any = None,
    ledger: Ledger | None = None,
    allow_refuted: bool = False,
) -> Release:
    """Release one round of a method from the records of one curator.

    Parameters
    ----------
    method
        With the budget of all rounds; a round spends the share that the method gives it.
    data
        The records, tags or rows of this curator.
    asked
        For a table: the queries.
    after
        What the round before has released: the combination of all curators, or a folder with it. None for the first.
    contexts
        For counts: what to count by.
    coupling
        For a table: which rows depend on each other.
    ledger
        Where the loss of this round is charged.
    allow_refuted
        Run a published method whose guarantee is known not to hold.

    Returns
    -------
    Release
        Of kind "round": noisy sums, to be combined with those of others by ``combine``.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=600, items=80, seed=7)
    >>> first = release_round(dc.PrivateRecommender(epsilon=8), films)
    >>> first.kind, sorted(first.parts)
    ('round', ['catalog', 'round1_1'])
    """
    return OneRound(method, None if after is None else loaded(after)).release(
        data, *asked, contexts=contexts, coupling=coupling, ledger=ledger, allow_refuted=allow_refuted
    )


@dataclass(frozen=True, eq=False)
class _Ready:
    """A round with the mechanisms that one curator's budget pays for."""

    method: Method
    plan: Plan
    step: Step
    mechanisms: tuple[Any, ...]
    earlier: Sequence[Sequence[Array]]
    side: PublicSide


@dataclass(frozen=True, eq=False)
class OneRound(Method):
    """One round of a method.

    Parameters
    ----------
    method
        With the budget of all rounds.
    after
        The combined round before; None for the first.
    took_part
        Whether this curator took part in all rounds up to ``after``, as far as the ledger tells.

    Privacy
    -------
    Unit and caps are those of the method. The round spends its share of the budget, so that all rounds together spend
    what a release of the method spends. What is asked for follows from ``after`` and from what is public; bounds and
    noise hold whatever ``after`` is, so nobody has to trust those who made it (``docs/proofs/combining.md``,
    Theorem 3).
    """

    method: Method
    after: Release | None = None
    took_part: bool | None = None

    kind: ClassVar[str] = ROUND

    def __post_init__(self) -> None:
        if self.after is not None:
            require_round(self.after, "what comes before a round")
        if self.method.reads != "sums":
            raise UsageError(
                f"{self.method.name} cannot be run round by round: it does not release sums over people.",
                remedy="Take a method that releases sums, such as private-recommender or weighted counts.",
            )
        if self.method.chooses:  # before anything is charged: sums may come before the choice
            raise UsageError(f"{self.method.name} cannot be combined: {CHOICE}.", remedy=CHOOSE_LATER)
        if _unknown(self.method):
            raise UsageError(
                f"{self.method.name} is not registered, so nobody could combine its rounds.",
                remedy="Register its class first: discreet.models.registry.register(…).",
            )

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"round {self.number} of {self.method.name}"

    @property
    def number(self) -> int:
        return 1 if self.after is None else self.after.parameters["round"]["number"] + 1

    @property
    def parameters(self) -> dict[str, Any]:
        return {}  # all of them follow from the plan

    def _described(self) -> dict[str, Any]:
        return {}

    def release(
        self, data: Any, *asked: Any, ledger: Ledger | None = None, allow_refuted: bool = False, **options: Any
    ) -> Release:
        known = getattr(ledger, "account_of_release", None)
        mine = self
        if self.after is not None and known is not None:
            mine = replace(self, took_part=_took_part(self.after, known))
        return super(OneRound, mine).release(data, *asked, ledger=ledger, allow_refuted=allow_refuted, **options)

    def plan(self, data: Any, *asked: Any, **options: Any) -> Plan:
        """What a release of this round will be and guarantee. Reads no record, spends nothing."""
        shared = Shared.of(self.method, self._whole(data), *asked, **options)
        own = shared.side.plan(self.method)
        if reason := self.method._not_combined(own):
            raise UsageError(f"{self.method.name} cannot be combined: {reason}.", remedy="Take another method.")
        # What was released before is somebody else's: whatever is wrong with it is found here, before the charge.
        with foreign_errors(lambda words: ReleaseError(f"nothing can follow this round: {words}.")):
            driver, plan, earlier, known = self._driver(shared, own)
            step = played(driver, plan, shared.side.nobody, earlier).next
        mechanisms = step.paid_by(own.loss)
        for mechanism, sums in zip(mechanisms, step.bounds, strict=True):
            mechanism.check(sums)
        budget = {name: shared.settings[name] for name in BUDGET if name in shared.settings}
        noise = [*known["noise"], step.deviations(mechanisms)]
        details = {**budget, **shared.to_json(), "round": {**known, "number": self.number, "noise": noise}}
        return replace(
            own,
            loss=reduce(add, _losses(mechanisms)),
            subject=f"round {self.number} of {own.subject}{self._followed()}",
            basis=f"a round of a method, docs/proofs/combining.md, Theorem 3; {own.basis}",
            joint=False,  # of a round nobody has results of their own
            expected={},
            details=details,
            public=_Ready(driver, plan, step, mechanisms, earlier, shared.side),
        )

    def _driver(self, shared: Shared, own: Plan) -> tuple[Method, Plan, Sequence[Sequence[Array]], dict[str, Any]]:
        """The method that decides what is asked for, with its plan: the same one for all curators."""
        if self.after is None:
            like = {name: shared.settings.get(name, "0") for name in BUDGET}
            return self.method, own, (), {"after": None, "took_part": None, "before": None, "like": like, "noise": []}
        before_it = Shared.of_release(self.after)
        shared.require_same(before_it, named(self.after))
        known = self.after.parameters["round"]
        driver = shared.method(**known["like"])
        facts = {
            "after": self.after.id,
            "took_part": self.took_part,
            "before": before(self.after),
            "like": known["like"],
            "noise": known["noise"],
        }
        side = shared.side.after(before_it.side)
        return driver, side.plan(driver), by_round(self.after.parts, known["number"]), facts

    def _followed(self) -> str:
        if self.after is None:
            return ""
        # Of a later round: it, or one before it.
        where = ", in which" if self.number == 2 else ", and after a round in which"
        stranger = f"{where} this curator took no part" if self.took_part is False else ""
        return f", after {self.after.dataset or 'an unnamed round'} ({self.after.id[:12]}){stranger}"

    def _plan(self, public: Any) -> Plan:
        return self.plan(public)

    def _prepare(self, data: Any, plan: Plan) -> Any:
        return plan.public.method._prepare(data, plan.public.plan)

    def _rounds(self, plan: Plan) -> Rounds:
        ready: _Ready = plan.public
        several = isinstance(ready.step.asked.mechanism, tuple)
        mine = ready.mechanisms if several else ready.mechanisms[0]
        answer = yield replace(ready.step.asked, mechanism=mine)
        rounds = [*ready.earlier, flat(answer, ready.step)]
        arrays = {
            part_name(number, place): array
            for number, round_ in enumerate(rounds, start=1)
            for place, array in enumerate(round_, start=1)
        }
        return {**ready.side.parts, **arrays}


def before(after: Release) -> dict[str, Any]:
    """What all rounds up to this one have spent of one person, and the weakest of their standings; JSON-able."""
    promised, earlier = after.guarantee, after.parameters["round"]["before"]
    if earlier is None:
        return {"loss": promised.loss.to_json(), "standing": promised.standing.name}
    loss = composed([loss_from_json(earlier["loss"]), promised.loss])
    standing = max(Standing[earlier["standing"]], promised.standing, key=lambda one: one.rank)
    return {"loss": loss.to_json(), "standing": standing.name}


def _took_part(after: Release, known: Callable[[str], Any]) -> bool:
    """Whether a part of this round is in the ledger, whose curator took part in the rounds before it."""
    mine = [part for part in leaf_parts(after) if known(part["id"]) is not None]
    return any(part.get("took_part_before") is not False for part in mine)


def _unknown(method: Method) -> bool:
    try:
        return registered(method.name) is not type(method)
    except UsageError:
        return True


def _losses(mechanisms: Sequence[Any]) -> list[Any]:
    """What the mechanisms of a round spend; sums that nothing protected can change spend nothing."""
    losses = [one.loss for one in mechanisms]
    return [one for one in losses if any(vars(one).values())] or losses[:1]
