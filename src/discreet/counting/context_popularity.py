"""What is popular in a context: recommendations from counts alone, for people of whom nothing else is known."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl

from discreet.common.arrays import Floats
from discreet.counting.cells import Cells
from discreet.counting.counts import COUNT_SUMS, CountMethod
from discreet.counting.estimation import counts_of, expected_counts, require_counts
from discreet.data.contexts import Context
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.models.recommender import Recommender
from discreet.models.registry import create, names, registered, settings_of
from discreet.models.released_model import ReleasedModel
from discreet.privacy.bounding import require_named_catalog
from discreet.privacy.method import Enters, Plan, Rounds
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["ContextPopularity"]


@dataclass
class ContextPopularity(ReleasedModel):
    """Items by their noisy counts, in all or in a context: "good places on a Tuesday", "films for men under 25".

    Parameters
    ----------
    epsilon
        The budget.
    cap
        The most that one user weighs, as in ``ItemCounts``; public.
    contexts
        What to count by, with public values: ``"weekday"``, ``"device=phone,laptop"``, ``"age=<25,25-44,45+"``.
    delta
        0 for a pure guarantee; above 0 only for methods that take one.
    method
        How to count, by its name on the command line.
    settings
        Further settings of that method.

    Attributes
    ----------
    release_ : Release
        The counts, which are all that the model knows.
    contexts_ : tuple of Context
        The contexts of the release with their values.
    expected_ : float array or None
        Expected counts of items (rows) in contexts (columns).
    popularity_ : float array
        The score of each item without a context.

    Privacy
    -------
    Spent and guaranteed is what the counting method spends and guarantees; every list is post-processing of its
    release. A list for one of the users leaves out what that user has touched, which nobody else's list shows: the
    guarantee is joint. Recommendations for a context or a history use no records at all.

    Notes
    -----
    An item's count in a context is noisier than it is large for most items, while its count in all is known well. The
    score is therefore the expected count (``discreet.counting.estimation``): the noisy one, drawn towards what it would
    be if the context made no difference, the more the larger its noise is. All of it is computed from the release.
    Without a context the score is the released count itself.

    Examples
    --------
    >>> import discreet as dc
    >>> visits = dc.synthetic.checkins(users=300, seed=7)
    >>> model = ContextPopularity(epsilon=1, cap=30, contexts=["weekday"]).fit(visits)
    >>> model.recommend(context={"weekday": "Tuesday"}, n=3).columns
    ['item_id', 'score', 'rank']
    """

    name: ClassVar[str] = "context-popularity"
    _items_part: ClassVar[str] = "counts"
    enters: ClassVar[Enters] = "records"
    adds: ClassVar[Mapping[str, tuple[str, ...]]] = COUNT_SUMS

    epsilon: Rational
    cap: Rational | None = None
    contexts: Sequence[str] = ()
    delta: Rational = 0
    method: str = "weighted"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.contexts = (self.contexts,) if isinstance(self.contexts, str) else tuple(self.contexts)
        self.epsilon, self.cap = self._counting.epsilon, getattr(self._counting, "cap", None)
        self.delta = getattr(self._counting, "delta", 0)

    @property
    def _counting(self) -> CountMethod:
        """The method that counts."""
        given = {"cap": self.cap, "delta": self.delta or None}
        return create(
            self.method,
            "counts",
            epsilon=self.epsilon,
            **{name: value for name, value in given.items() if value is not None},
            **self.settings,
        )

    @classmethod
    def of_release(cls, release: Release) -> Self:
        """The model of counts that are already public; it costs nothing."""
        contexts = release.parameters.get("declared") or [str(context) for context in _contexts(release)]
        model = cls(contexts=contexts, **_settings(release.parameters))
        model._use(release)
        model.guarantee_ = replace(release.guarantee, joint=True)
        return model

    # The release: that of the counting method

    def _public(self, data: Interactions) -> Cells:
        require_named_catalog(data, "recommendations")
        return Cells.of(super()._public(data), self.contexts)

    def _plan(self, public: Cells) -> Plan:
        plan = self._counting._plan(public)
        # "contexts" are their values in every release of counts; here is how they were declared.
        return replace(plan, joint=True, details={**plan.details, "declared": list(self.contexts)})

    def _prepare(self, data: Interactions, plan: Plan) -> Cells:
        return self._counting._prepare(data, plan)

    def _rounds(self, plan: Plan) -> Rounds:
        return self._counting._rounds(plan)

    # Using

    def recommend(
        self,
        users: Iterable[Hashable] | None = None,
        n: int = 10,
        *,
        context: Mapping[str, str] | None = None,
        history: Mapping[Any, float] | Sequence[Any] | None = None,
        exclude_seen: bool = True,
        items: Iterable[Hashable] | None = None,
    ) -> pl.DataFrame:
        """The best ``n`` items in a context, for anybody, for users, or for somebody with a history.

        Parameters
        ----------
        context
            A value for each context that is known; the others are summed over. Without one, what is popular in all.
        users, n, history, exclude_seen, items
            As for every recommender; for a context alone neither users nor a history are needed.
        """
        self._require_fitted()
        view = copy.copy(self)
        view.popularity_ = self.scores(context or {})
        if context is not None and users is None and history is None:
            history = {}
        return Recommender.recommend(view, users, n, history=history, exclude_seen=exclude_seen, items=items)

    def scores(self, context: Mapping[str, str]) -> Floats:
        """The score of every item in a context, in the order of the catalog."""
        self._require_fitted()
        known = {one.name: one for one in self.contexts_}
        for name in context:
            if name not in known:
                has = f"It has {', '.join(known)}." if known else "It has none."
                raise UsageError(f"these counts have no context {name!r}.", remedy=has)
        if not context:
            return counts_of(self.release_)[0]
        where = tuple(one.code(context[one.name]) if one.name in context else slice(None) for one in self.contexts_)
        assert self.expected_ is not None
        cube = self.expected_.reshape(-1, *(len(one.values) for one in self.contexts_))[:, *where]
        return cube.reshape(cube.shape[0], -1).sum(axis=1)

    # What a recommender fills in

    def _build(self, release: Release) -> None:
        self.contexts_ = _contexts(release)
        _, self.expected_ = expected_counts(release)
        self.popularity_ = self.scores({})

    def _score(self, rows: csr_array) -> Floats:
        return np.tile(self.popularity_, (rows.indptr.size - 1, 1))

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a release and build the model from it; also from a folder of version 0.1."""
        return cls.of_release(Release.load(folder))


OWN = ("epsilon", "cap", "delta")
"""Settings of a counting method that the model has itself."""


def _settings(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the model that a release of counts is of; those of methods of version 0.1 may be lost."""
    method = parameters["method"]
    own = {name: parameters[name] for name in OWN if parameters.get(name) is not None}
    if method not in names("counts"):
        return {**own, "cap": parameters.get("norm_squared", parameters.get("cap"))}
    known = settings_of(registered(method, "counts"))
    given = {name: value for name, value in parameters.items() if name in known and name not in OWN}
    return {**own, "method": method, "settings": parameters.get("settings", given)}


def _contexts(release: Release) -> tuple[Context, ...]:
    """The contexts of a release of counts."""
    require_counts(release)
    if "edges" not in release.parts:
        return ()
    types = release.parameters.get("context_types", {})
    values_of = release.parameters["contexts"].items()
    return tuple(Context(name, tuple(values), kind=types.get(name)) for name, values in values_of)
