"""Recommendations that other people may see: on a shared screen, over a shoulder, in the log of a page.

A private model protects each person's records from all others. Its recommendations for a person are computed from that
person's own records, so those who see the list learn about them. Here the list itself is drawn privately.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from discreet.common.arrays import Integers
from discreet.errors import PrivacyError, UsageError
from discreet.models.recommender import Recommender
from discreet.privacy.budget import Budget
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.numbers import Rational
from discreet.privacy.release import Release
from discreet.privacy.selection import noisy_order
from discreet.privacy.units import Unit
from discreet.subsets.samplers import RowSampler, Sampler, sampler_class
from discreet.subsets.score_rows import ScoreRows

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["Order", "Protects", "ScreenList", "ScreenLists", "recommend_privately"]

Protects = Literal["row", "entry"]
Order = Literal["random", "list", "drawn"] | Mapping[Any, float]

KIND = "screen-list"

_LOCK = Lock()


@dataclass(frozen=True, eq=False)
class ScreenList:
    """The list of one person, with the guarantees of the list and of the model.

    Attributes
    ----------
    items : polars.DataFrame
        item_id and place (from 1). The order reveals nothing about scores beyond the items themselves.
    onlookers : Guarantee
        The guarantee for the person against those who see the list.
    model : Guarantee or None
        The guarantee of the model for everybody; None where it has none.
    release : Release
        The list with its guarantee and parameters.
    """

    items: pl.DataFrame
    onlookers: Guarantee
    model: Guarantee | None
    release: Release

    def together(self, delta: Rational = "1e-6") -> Guarantee | None:
        """The guarantee for the person against those who see the list *and* the release of the model.

        Stated at this δ, unless both are pure. None where nothing is proved about both together: the model has no
        proved guarantee for the same unit, or the list protects one score.
        """
        if self.model is None or self.onlookers.unit.what == "score" or self.model.unit != self.onlookers.unit:
            return None
        if self.model.standing is not Standing.PROVED:
            return None
        # (ε, δ) and ε add up; as zCDP a pure ε would count as ε²/2, which is worse for large ε.
        of_model = self.model if isinstance(self.model.loss, Pure) else self.model.at_delta(delta)
        return of_model.compose(self.onlookers)

    @property
    def statement(self) -> str:
        """Both guarantees in words."""
        of_model = "no guarantee; this list depends on the records of others." if self.model is None else self.model
        return f"The model: {of_model}\nThis list, against those who see it: {self.onlookers}"


@dataclass(frozen=True, eq=False)
class ScreenLists:
    """Private lists from one fitted model, each drawn once and kept.

    Parameters
    ----------
    model
        Fitted, with its records.
    k
        Number of items.
    epsilon
        The budget of one person's list.
    protects
        "row" (the default): all records of the person. "entry": a single score of the person's completed row, as in the
        paper. That does not protect records: one rating changes all scores of a row. No ledger is charged for it, and
        ``together()`` is None.
    sampler
        "subset", "gumbel" or "permute-and-flip".
    score_range
        The public range of scores. By default predicted ratings are used, in the range of their scale; with a range
        given, the scores of ``recommend``.
    items
        A public list to draw from; the whole catalog by default. A short list gives better results.
    order
        How items are shown: "random", "list" (as in the catalog), "drawn" (not for "subset"), or public numbers by
        item, such as popularity, the largest first. By default "random" for "subset" and "drawn" for the others.
    ledger
        The ledger to charge.

    Privacy
    -------
    *Released* is one list, to those who see it. *Protected* are the recipient's own records. With ``protects="row"``
    any two rows of scores within the range are within ε, so the guarantee covers all records of one user, present or
    absent, for any model. Items that the person has seen are not removed (a list that never holds them would reveal
    them): they get the lowest score. Items are never shown in the order of their scores.

    The account of the records is *charged* before the first draw. Where the model is proved and joint, a list depends
    only on the release of the model and on the recipient's own records. Lists of different people then depend on
    records of different people, everybody's loss is ε for any number of lists, and ε is charged **once** for all lists
    of a fitted model. Otherwise every list depends on everybody's records, and each is charged ε. Lists with other
    settings, or of a model that was fitted again, add up for the person who sees both: they are charged again.

    Proof: ``docs/proofs/selection.md``, Theorem 14. *Not covered*: that the person is shown a list; what the person
    does with it; for ``protects="entry"`` the records that the scores were computed from. A list that another process
    draws again is charged again.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=300, items=60, seed=7)
    >>> model = dc.PrivateRatings(epsilon=4).fit(films)
    >>> lists = ScreenLists(model, k=3, epsilon=2)
    >>> lists.show("u17").items.equals(lists.show("u17").items)
    True
    """

    model: Recommender
    _: KW_ONLY
    k: int = 10
    epsilon: Rational = 1
    protects: Protects = "row"
    sampler: Sampler = "subset"
    score_range: tuple[Rational, Rational] | None = None
    items: Sequence[Hashable] | None = None
    order: Order | None = None
    ledger: Ledger | None = None
    _rows: ScoreRows = field(init=False, repr=False)
    _sampler: RowSampler = field(init=False, repr=False)
    _fitted: tuple[Any, ...] = field(init=False, repr=False)
    _drawn: dict[Hashable, ScreenList] = field(default_factory=dict, init=False, repr=False)
    _lock: Any = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.protects not in get_args(Protects):
            raise UsageError(f"protects must be 'row' or 'entry', got {self.protects!r}.")
        if self.protects == "entry" and self.ledger is not None:
            raise PrivacyError(
                "protects='entry' is no guarantee about records, so a ledger cannot be charged for it.",
                remedy="Choose protects='row', or leave the ledger out.",
            )
        # Made here, so that wrong settings are found before a list is shown.
        rows = ScoreRows.of(self.model, items=self.items, score_range=self.score_range)
        sampler = sampler_class(self.sampler)(
            k=self.k, low=rows.low, high=rows.high, epsilon=self.epsilon, change=self.protects
        )
        sampler.slope(rows.codes.size)
        _check_order(self.order, self.sampler)
        object.__setattr__(self, "_fitted", _fitted(self.model))
        object.__setattr__(self, "_rows", rows)
        object.__setattr__(self, "_sampler", sampler)

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of one list about the recipient's own records."""
        whole = self.protects == "row"
        gaps = ("that a person is shown a list", "what the person does with it")
        return Guarantee(
            loss=Budget(self.epsilon).loss,
            unit=Unit("user") if whole else Unit("score", "value"),
            standing=Standing.PROVED,
            basis=f"{self._sampler.theorem}; lists that others see, Theorem 14",
            subject=f"a list of {self.k} of {self._rows.codes.size:,} items to those who see it, drawn once",
            caps=(f"scores were clipped to the range from {self._rows.low} to {self._rows.high}",),
            not_covered=gaps if whole else (*gaps, "the records that the scores were computed from"),
        )

    @property
    def charged_once(self) -> bool:
        """Whether, given the release of the model, each list depends on the recipient's own records only."""
        of_model = self.model.guarantee
        return of_model is not None and of_model.standing is Standing.PROVED and of_model.joint

    def show(self, user: Hashable) -> ScreenList:
        """The list of one person: drawn at the first call, and the same at every later one."""
        return self.show_all([user])[0]

    def show_all(self, users: Iterable[Hashable]) -> list[ScreenList]:
        """The lists of several people, in their order; new ones are charged and drawn together."""
        wanted = list(users)
        with self._lock:
            if new := [user for user in dict.fromkeys(wanted) if user not in self._drawn]:
                self._draw(new)
            return [self._drawn[user] for user in wanted]

    def _draw(self, users: list[Hashable]) -> None:
        if not _same(self._fitted, _fitted(self.model)):
            raise UsageError(
                "the model was fitted again, or got other records, since these lists were made.",
                remedy="Make new ones: ScreenLists(model, …). They are charged to the new records.",
            )
        rows = self._rows.of_users(users)
        guarantee = self.guarantee
        with self._charged(guarantee, len(users)) as charge:
            shown = [self._listed(chosen, guarantee) for chosen in self._sampler.choose(rows)]
            self._drawn.update(zip(users, shown, strict=True))
            charge.settle(shown[0].release.id)

    def _charged(self, guarantee: Guarantee, lists: int) -> Any:
        """The charge: none where the first list was charged for all lists of this fitted model."""
        if self.charged_once:
            ledger = None if self._drawn else self.ledger
        else:
            ledger = self.ledger
            guarantee = replace(
                guarantee,
                loss=Pure(lists * Budget(self.epsilon).amount),
                subject=f"{lists:,} times {guarantee.subject}",
            )
        return charged(ledger, self._rows.records, guarantee, mechanism=KIND, parameters=self._parameters)

    def _listed(self, chosen: Integers, guarantee: Guarantee) -> ScreenList:
        names = self.model.items_.take(self._rows.codes[self._in_order(chosen)])
        table = pl.DataFrame({"item_id": names, "place": np.arange(1, self.k + 1)})
        name = self._rows.records.name
        release = Release(KIND, guarantee, self._sampler.theorem, self._parameters, {"items": table}, name)
        return ScreenList(table, guarantee, self.model.guarantee, release)

    def _in_order(self, chosen: Integers) -> Integers:
        order = self.order or ("random" if self.sampler == "subset" else "drawn")
        if order == "drawn":
            return chosen
        chosen = np.sort(chosen)
        if isinstance(order, Mapping):
            numbers = [float(order.get(item, 0.0)) for item in self.model.items_.take(self._rows.codes[chosen])]
            return chosen[np.argsort(-np.array(numbers), kind="stable")]
        if order == "random":
            # Equal scores with fresh noise give a uniformly random order.
            equal = np.zeros(chosen.size, dtype=np.int64)
            return chosen[noisy_order(equal, Fraction(1), noise="exponential", most=chosen.size)]
        return chosen

    @property
    def _parameters(self) -> dict[str, Any]:
        order = "given" if isinstance(self.order, Mapping) else self.order
        return {
            "k": self.k,
            "epsilon": str(Budget(self.epsilon).amount),
            "protects": self.protects,
            "sampler": self.sampler,
            "range": [str(self._rows.low), str(self._rows.high)],
            "items": int(self._rows.codes.size),
            "order": order,
            "model": self.model.name,
        }


def _check_order(order: Order | None, sampler: Sampler) -> None:
    if order is None or isinstance(order, Mapping) or order in ("random", "list"):
        return
    if order != "drawn":
        raise UsageError(f"order must be 'random', 'list', 'drawn' or public numbers by item, got {order!r}.")
    if sampler == "subset":
        raise UsageError("a set has no order of its own.", remedy="Choose 'random' or 'list', or sampler='gumbel'.")


def recommend_privately(
    model: Recommender, user: Hashable, k: int = 10, epsilon: Rational = 1, **settings: Any
) -> ScreenList:
    """A list of k items for one person that others may see.

    The first call for a person draws the list; later calls with the same settings return the same list, until the model
    is fitted again or gets other records. Lists are kept with the model, in memory.

    Parameters
    ----------
    user
        The person who is shown the list.
    model, k, epsilon, **settings
        Those of :class:`ScreenLists`.

    Privacy
    -------
    That of :class:`ScreenLists`: ε for the recipient's own records against those who see the list, charged to the
    account of the records, once for all recipients where the model is proved. ``statement`` of the result has the
    guarantees of the model and of the list, ``together()`` that of both for the recipient.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=300, items=60, seed=7)
    >>> model = dc.PrivateRatings(epsilon=4).fit(films)
    >>> shown = recommend_privately(model, "u17", 3, epsilon=2)
    >>> shown.items.height, shown.onlookers.loss, shown.together().unit.code
    (3, Pure(epsilon=Fraction(2, 1)), 'user/add-remove')
    """
    if not isinstance(model, Recommender):
        raise UsageError(f"model must be a Recommender, got {type(model).__name__}.")
    order, items = settings.get("order"), settings.get("items")
    wanted = {"k": k, "epsilon": epsilon, **settings}
    # Settings are compared by value, so they must not change later.
    wanted |= {"order": dict(order) if isinstance(order, Mapping) else order}
    wanted |= {"items": None if items is None else tuple(items)}
    with _LOCK:
        lists = _kept(model, wanted)
    return lists.show(user)


def _kept(model: Recommender, wanted: dict[str, Any]) -> ScreenLists:
    """The lists of this fitted model and these settings; those of earlier fits are forgotten."""
    kept: list[tuple[dict[str, Any], ScreenLists]] = vars(model).setdefault("_screen_lists", [])
    kept[:] = [entry for entry in kept if _same(entry[1]._fitted, _fitted(model))]
    for settings, lists in kept:
        if settings == wanted:
            return lists
    lists = ScreenLists(model, **wanted)
    kept.append((wanted, lists))
    return lists


def _fitted(model: Recommender) -> tuple[Any, ...]:
    """What changes when a model is fitted again or gets other records, and its settings.

    All of it is public, unlike scores: drawing a new list because *scores* changed would reveal that they did.
    """
    learned = (getattr(model, name, None) for name in ("items_", "guarantee_", "records_", "release_"))
    return (*learned, model.parameters)


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return all(a is b for a, b in zip(one[:-1], other[:-1], strict=True)) and one[-1] == other[-1]
