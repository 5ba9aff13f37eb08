"""What is popular in a context: recommendations from counts alone, for people of whom nothing else is known."""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.counting.contexts import Context
from discreet.counting.estimation import counts_of, expected_counts
from discreet.counting.methods import settings_of, usual_method
from discreet.data.ids import IdMap
from discreet.data.interactions import Interactions
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release
from discreet.recommender import Recommender

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from discreet.privacy.ledger import Ledger

__all__ = ["ContextPopularity"]

DESCRIPTION = "model.json"


@dataclass
class ContextPopularity(Recommender):
    """Items by their noisy counts, in all or in a context: "good places on a Tuesday", "films for men under 25".

    Parameters
    ----------
    epsilon, delta
        The budget; a delta only for ways to count that take one.
    cap
        The most that one user weighs, in records, or the largest squared length for ways that bound lengths; public.
    contexts
        What to count by, with public values: ``"weekday"``, ``"device=phone,laptop"``, ``"age=<25,25-44,45+"``.
    method
        How to count, by its name in ``discreet.counting.METHODS``; weighted, or clipped where there is a delta, unless
        given.
    settings
        Further settings of the way to count.

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
    What fitting spends and promises is what the way to count does; every list is post-processing of its release. A
    list for one of the users leaves out what that user has touched, which nobody else's list shows: the guarantee is
    joint. Recommendations for a context or a history use no records at all.

    Notes
    -----
    An item's count in a context is noisier than it is large for most items, while its count in all is known well. The
    score is therefore the expected count (``discreet.counting.estimation``): the noisy one, drawn towards what it would
    be if the context made no difference, as far as noise drowns it. All of it is computed from the release. Without a
    context the score is the released count itself.

    Examples
    --------
    >>> import discreet as dc
    >>> visits = dc.synthetic.checkins(users=300, seed=7)
    >>> model = ContextPopularity(epsilon=1, cap=30, contexts=["weekday"]).fit(visits)
    >>> model.recommend(context={"weekday": "Tuesday"}, n=3).columns
    ['item_id', 'score', 'rank']
    """

    name: ClassVar[str] = "context-popularity"

    epsilon: Rational | None = None
    cap: int | None = None
    contexts: Sequence[str] = ()
    delta: Rational | None = None
    method: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_release(cls, release: Release) -> Self:
        """The model of counts that are already public; it costs nothing."""
        contexts, method = _contexts(release), release.parameters["method"]
        given = {name: value for name, value in release.parameters.items() if name in settings_of(method)}
        own = {name: given.pop(name, None) for name in ("epsilon", "cap", "delta")}
        model = cls(contexts=[_written(context) for context in contexts], method=method, settings=given, **own)
        model._build(release)
        model.records_ = None
        return model

    def config(self) -> dict[str, Any]:
        settings = {name: getattr(self, name) for name in ("epsilon", "cap", "delta", "method")}
        plain = {name: v if v is None or isinstance(v, int | str) else str(v) for name, v in settings.items()}
        return {**plain, "contexts": list(self.contexts), "settings": dict(self.settings)}

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

    def scores(self, context: Mapping[str, str]) -> NDArray[np.float64]:
        """The score of every item in a context, in the order of the catalog."""
        self._require_fitted()
        known = {one.name: one for one in self.contexts_}
        for name in context:
            if name not in known:
                has = f"It has {', '.join(known)}." if known else "It has none: count by one to have it."
                raise UsageError(f"these counts have no context {name!r}.", remedy=has)
        if not context:
            return counts_of(self.release_)[0]
        where = tuple(one.code(context[one.name]) if one.name in context else slice(None) for one in self.contexts_)
        assert self.expected_ is not None
        cube = self.expected_.reshape(-1, *(len(one.values) for one in self.contexts_))[:, *where]
        return cube.reshape(cube.shape[0], -1).sum(axis=1)

    # What a recommender fills in

    def _fit(self, data: Interactions, *, ledger: Ledger | None, allow_refuted: bool) -> None:
        if data.items.series.dtype == pl.Object:
            raise UsageError("a released count names its item: ids must be numbers or text.")
        method = usual_method(self.method, epsilon=self.epsilon, delta=self.delta, cap=self.cap, **self.settings)
        self._build(method.release(data, contexts=self.contexts, ledger=ledger, allow_refuted=allow_refuted))

    def _build(self, release: Release) -> None:
        self.contexts_ = _contexts(release)
        self.release_ = release
        _, self.expected_ = expected_counts(release)
        self.items_ = IdMap(release.table("counts")["item_id"], what="item")
        self.guarantee_ = replace(release.guarantee, joint=True)
        self.popularity_ = self.scores({})

    def _score(self, rows: csr_array) -> NDArray[np.float64]:
        return np.tile(self.popularity_, (rows.indptr.size - 1, 1))

    def _rate(self, rows: csr_array, row: NDArray[np.int64], item: NDArray[np.int32]) -> NDArray[np.float64]:
        """Counts say how many, not how much they liked it."""
        return np.full(item.size, np.nan)

    def _similar(self, items: NDArray[np.int32]) -> NDArray[np.float64]:
        """Counts of single items do not say which go together."""
        return np.full((items.size, len(self.items_)), -np.inf)

    # On disk: a release with the settings beside it

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the release and the settings: aside first, so that both are there or nothing is."""
        self._require_fitted()
        target = Path(folder)
        if target.exists() and not overwrite:
            raise ReleaseError(f"{target} is there already.", remedy="Choose another folder, or overwrite=True.")
        text = json.dumps({"model": self.name, "config": self.config()}, indent=2, ensure_ascii=False)
        try:
            target.absolute().parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=f".{target.name}.") as aside:
                made = self.release_.save(Path(aside) / "model")
                (made / DESCRIPTION).write_text(text + "\n", encoding="utf-8")
                if target.exists():
                    shutil.move(target, Path(aside) / "replaced")
                shutil.move(made, target)
        except OSError as error:
            raise ReleaseError(f"cannot write {target}: {error.strerror or error}.") from error
        return target

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        path = Path(folder) / DESCRIPTION
        try:
            described = json.loads(path.read_text(encoding="utf-8"))
            model = cls(**described["config"]) if described["model"] == cls.name else None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ReleaseError(f"{folder} holds no {cls.name} model: {error}.") from error
        if model is None:
            raise ReleaseError(f"{folder} holds {described['model']!r}, not {cls.name!r}.")
        model._build(Release.load(folder))
        model.records_ = None
        return model


def _contexts(release: Release) -> tuple[Context, ...]:
    """The contexts of a release of counts."""
    if release.kind != "item-counts":
        raise ReleaseError(f"a release of kind {release.kind!r} has no item counts.")
    if "edges" not in release.parts:
        return ()
    return tuple(Context(name, tuple(values)) for name, values in release.parameters["contexts"].items())


def _written(context: Context) -> str:
    return f"{context.name}={','.join(context.values)}"
