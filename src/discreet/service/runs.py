"""One request in three ways: estimate it, rehearse it on invented people, run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from fractions import Fraction
from typing import Any, Self

from discreet.counting import Profile
from discreet.coupled import Coupling, queries_from_json
from discreet.data import Interactions, Table, TagAssignments
from discreet.data.synthetic.rehearsal import like
from discreet.errors import UsageError
from discreet.models.recommender import Recommender
from discreet.models.registry import create, entry_of
from discreet.privacy import Guarantee, Ledger, Release, Standing
from discreet.privacy.ledger import Amount
from discreet.privacy.numbers import as_fraction
from discreet.service.datasets import Data

__all__ = ["RunRequest", "cost_of"]

KINDS = {"interactions": Interactions, "tags": TagAssignments, "table": Table}


@dataclass(frozen=True)
class RunRequest:
    """What is to be released.

    Parameters
    ----------
    dataset
        The id or name of a dataset.
    method
        A name of the registry.
    settings
        Of the method; ``epsilon`` first.
    name
        What the release will be called.
    contexts
        For counts and top lists: what to count by.
    queries, coupling
        For answers: the queries (as ``queries_from_json`` takes them), and the column of groups of rows that depend on
        each other.
    allow_refuted
        Run a published method whose guarantee is refuted; for curators.
    """

    dataset: str
    method: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    contexts: tuple[str, ...] = ()
    queries: Any = None
    coupling: str | None = None
    allow_refuted: bool = False

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        known = {one.name: given[one.name] for one in fields(cls) if one.name in given}
        return cls(**{**known, "contexts": tuple(known.get("contexts", ()))})

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "contexts": list(self.contexts)}

    @property
    def gives(self) -> str:
        return entry_of(self.method).gives

    @property
    def delta(self) -> Fraction:
        """Where losses are stated as (ε, δ)."""
        return as_fraction(self.settings.get("delta") or getattr(self.made(), "delta", 0) or 0)

    def made(self) -> Any:
        """The method with its settings; wrong ones are refused here."""
        return create(self.method, **self.settings)

    # From public values alone

    def guarantee(self, public: Data) -> Guarantee | None:
        """What the release will guarantee; None for a model that protects nobody."""
        made = self.made()
        self._require_kind(public)
        if not hasattr(made, "plan"):
            return None
        return made.plan(public, *self._asked(public), **self._options(public)).guarantee

    def estimate(self, public: Data, declared: Mapping[str, int]) -> dict[str, Any]:
        """What to expect, from public values and declared figures."""
        made = self.made()
        self._require_kind(public)
        if not hasattr(made, "estimate"):
            return {}
        options = self._options(public)
        if self.gives in ("counts", "top list", "pairs"):
            assumed = {name: declared[name] for name in ("users", "records") if name in declared}
            options["profile"] = Profile(**assumed)
        elif self.gives == "recommender" and "users" in _parameters(made.estimate):
            options["users"] = declared.get("users", 10_000)
        return made.estimate(public, *self._asked(public), **options)

    # From records

    def release(self, data: Data, ledger: Ledger | None) -> Release | Recommender:
        """The release, or the fitted model."""
        made = self.made()
        self._require_kind(data)
        if self.gives == "recommender":
            return made.fit(data, ledger=ledger, allow_refuted=self.allow_refuted)
        return made.release(
            data, *self._asked(data), **self._options(data), ledger=ledger, allow_refuted=self.allow_refuted
        )

    def rehearsal(self, public: Data, declared: Mapping[str, int]) -> Data:
        """Invented people with the public schema of the data."""
        people = declared.get("users") or declared.get("rows") or 1000
        own = self.settings.get("contexts", ())
        declared_contexts = (*self.contexts, *((own,) if isinstance(own, str) else own))
        values = {name: rest.split(",") for name, _, rest in (one.partition("=") for one in declared_contexts) if rest}
        return like(public, people=min(people, 100_000), contexts=values, seed=0)

    def _asked(self, data: Data) -> tuple[Any, ...]:
        if self.gives != "answers":
            return ()
        if not isinstance(self.queries, dict | list):
            raise UsageError("no queries were given.", remedy='Give queries, such as {"all_marginals": 2}.')
        return (queries_from_json(data, self.queries),)

    def _options(self, data: Data) -> dict[str, Any]:
        if self.gives in ("counts", "top list"):
            return {"contexts": self.contexts}
        if self.gives == "answers" and self.coupling is not None:
            assert isinstance(data, Table)
            if self.coupling in data.domains:
                raise UsageError(
                    f"the attribute {self.coupling!r} is part of the records, so it says nothing public about groups.",
                    remedy="Name the column of groups when the table is written: Table(…, group=…).",
                )
            return {"coupling": Coupling.by_group(data)}
        return {}

    def _require_kind(self, data: Data) -> None:
        takes = entry_of(self.method).takes
        if not isinstance(data, KINDS[takes]):
            raise UsageError(f"{self.method} takes {takes}, and the dataset is of another kind.")


def cost_of(guarantee: Guarantee | None, loss: Any, delta: Fraction) -> Amount:
    """What a request is held to in an allowance: ε at its δ; nothing for what guarantees nothing."""
    if guarantee is None or guarantee.standing is Standing.REFUTED:
        return Amount(Fraction(0))
    at = getattr(loss, "delta", None)
    at = delta if at is None else at
    return Amount(loss.epsilon_at(at), at)


def _parameters(function: Any) -> Mapping[str, Any]:
    from inspect import signature

    return signature(function).parameters
