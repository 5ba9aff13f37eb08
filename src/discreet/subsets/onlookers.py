"""Lists that may be seen by others: on a shared screen, over a shoulder, in the log of a page.

A private model protects everybody's records from everybody *else*. What it recommends to a person is made from that
person's own records, and whoever sees the list learns about them. Here the list itself is drawn privately.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.privacy.charging import charged
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.release import Release
from discreet.privacy.selection import noisy_order
from discreet.privacy.units import Unit
from discreet.recommender import Recommender
from discreet.subsets.accounting import Sampler
from discreet.subsets.samplers import RowSampler, sampler_class
from discreet.subsets.score_rows import ScoreRows
from discreet.subsets.training import Training

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["Order", "Protects", "ScreenList", "ScreenLists"]

Protects = Literal["row", "entry"]
Order = Literal["random", "list", "drawn"] | Mapping[Any, float]

KIND = "screen-list"


@dataclass(frozen=True, eq=False)
class ScreenList:
    """One person's items, and the two promises that they are shown under.

    Attributes
    ----------
    items : polars.DataFrame
        item_id and place (from 1). Places say nothing about scores that the items themselves do not.
    onlookers : Guarantee
        What is promised to the person about those who see the list.
    model : Guarantee or None
        What the model promises to everybody; None where it promises nothing.
    release : Release
        The list with its guarantee and parameters.
    """

    items: pl.DataFrame
    onlookers: Guarantee
    model: Guarantee | None
    release: Release

    def together(self, delta: Rational = "1e-6") -> Guarantee | None:
        """The promise about one's own records against those who see the list *and* what the model released.

        Stated at this δ, unless both are pure. None where the model promises nothing, or something for another unit.
        """
        if self.model is None or self.model.unit != self.onlookers.unit:
            return None
        # (ε, δ) and ε add up; as zCDP a pure ε would count for ε²/2, which is much where it is large.
        of_model = self.model if isinstance(self.model.loss, Pure) else self.model.at_delta(delta)
        return of_model.compose(self.onlookers)

    @property
    def statement(self) -> str:
        """Both promises in words."""
        of_model = "nothing is promised; what others did goes into this list." if self.model is None else self.model
        return f"The model: {of_model}\nThis list, against whoever sees it: {self.onlookers}"


@dataclass(frozen=True, eq=False)
class ScreenLists:
    """Lists of one training of a model, each drawn once and kept.

    Parameters
    ----------
    model
        Fitted, with its records.
    k
        How many items.
    epsilon
        The budget of one person's list.
    protects
        "row" (the default): everything that the person did. "entry": a single score of the person's completed row, as
        in the paper. That is much less: one rating moves all scores of a row.
    sampler
        "subset", "gumbel" or "permute-and-flip".
    score_range
        The public range of scores. By default predicted ratings are used, in the range of their scale; with a range
        given, the scores that ``recommend`` goes by.
    items
        A public list to draw from; the whole catalog by default. A short list gives better ones.
    order
        How items are shown: "random", "list" (as in the catalog), "drawn" (not for "subset"), or public numbers by
        item, such as popularity, the largest first. By default "random" for "subset" and "drawn" for the others.
    ledger
        The book to charge.

    Privacy
    -------
    *Protected* are the recipient's own records. *Released* is one list, to whoever sees it. With ``protects="row"`` any
    two rows of scores within the range are within ε, so that the promise is for the whole history of one user, present
    or absent, whatever the model makes of it. Items that the person has seen are not taken out (a list that can never
    hold them would tell which they are): they get the lowest score. Items are never shown in the order of their scores.

    *Charged* is the account of the records, before the first draw. Where the model is proved and joint, a list is made
    from what the model released and from the recipient's own records. Lists of different people then depend on
    records of different people, everybody's loss is ε however many lists there are, and ε is charged **once** for
    all lists of a training. Where the model is not, every list depends on everybody's records, and each is charged ε.
    Lists of other settings, or of another training, add up for the person who is shown both: they are charged again.

    Proof: ``docs/proofs/selection.md``, Theorem 14. *Not covered*: that the person is shown a list; what the person
    does with it; for ``protects="entry"`` the records that the scores were made from. A list that is drawn again by
    another process is charged again.

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
    _training: Training = field(init=False, repr=False)
    _drawn: dict[Hashable, ScreenList] = field(default_factory=dict, init=False, repr=False)
    _lock: Any = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.protects not in get_args(Protects):
            raise UsageError(f"protects={self.protects!r}?", remedy="Choose 'row' or 'entry'.")
        # Made here, so that everything that can be wrong is found before anybody is shown anything.
        rows = ScoreRows.of(self.model, items=self.items, score_range=self.score_range)
        sampler = sampler_class(self.sampler)(
            k=self.k, low=rows.low, high=rows.high, epsilon=self.epsilon, change=self.protects
        )
        sampler.slope(rows.codes.size)
        _check_order(self.order, self.sampler)
        object.__setattr__(self, "_training", Training.of(self.model))
        object.__setattr__(self, "_rows", rows)
        object.__setattr__(self, "_sampler", sampler)

    @property
    def guarantee(self) -> Guarantee:
        """What one person's list promises about that person's records."""
        whole = self.protects == "row"
        gaps = ("that a person is shown a list", "what the person does with it")
        return Guarantee(
            loss=Pure(as_positive(self.epsilon, "epsilon")),
            unit=Unit("user") if whole else Unit("record", "value"),
            standing=Standing.PROVED,
            basis=f"{self._sampler.theorem}; lists that others see, Theorem 14",
            subject=f"a list of {self.k} of {self._rows.codes.size:,} items to those who see it, drawn once",
            caps=(f"scores were moved into the range from {self._rows.low} to {self._rows.high}",),
            not_covered=gaps if whole else (*gaps, "the records that the scores were made from"),
        )

    @property
    def charged_once(self) -> bool:
        """Whether lists of different people depend on different people's records, given what the model released."""
        promise = self.model.guarantee
        return promise is not None and promise.standing is Standing.PROVED and promise.joint

    def show(self, user: Hashable) -> ScreenList:
        """The list of one person: drawn when it is first asked for, and the same ever after."""
        return self.show_all([user])[0]

    def show_all(self, users: Iterable[Hashable]) -> list[ScreenList]:
        """The lists of several people, in the order asked for; new ones are paid for and drawn together."""
        wanted = list(users)
        with self._lock:
            if new := [user for user in dict.fromkeys(wanted) if user not in self._drawn]:
                self._draw(new)
            return [self._drawn[user] for user in wanted]

    def _draw(self, users: list[Hashable]) -> None:
        if not self._training.same(Training.of(self.model)):
            raise UsageError(
                "the model was fitted again, or got other records, after these lists were begun.",
                remedy="Begin new ones: ScreenLists(model, …). They are charged to the records that they show.",
            )
        rows = self._rows.of_users(users)
        promise = self.guarantee
        with self._charged(promise, len(users)) as charge:
            shown = [self._listed(chosen, promise) for chosen in self._sampler.choose(rows)]
            self._drawn.update(zip(users, shown, strict=True))
            charge.settle(shown[0].release.id)

    def _charged(self, promise: Guarantee, lists: int) -> Any:
        """The gate: open without a further charge where all lists of this training were paid for with the first."""
        if self.charged_once:
            ledger = None if self._drawn else self.ledger
        else:
            ledger = self.ledger
            promise = replace(
                promise,
                loss=Pure(lists * as_positive(self.epsilon, "epsilon")),
                subject=f"{lists:,} times {promise.subject}",
            )
        return charged(ledger, self._rows.records, promise, mechanism=KIND, parameters=self._parameters)

    def _listed(self, chosen: NDArray[np.int64], promise: Guarantee) -> ScreenList:
        names = self.model.items_.take(self._rows.codes[self._in_order(chosen)])
        table = pl.DataFrame({"item_id": names, "place": np.arange(1, self.k + 1)})
        name = self._rows.records.name
        release = Release(KIND, promise, self._sampler.theorem, self._parameters, {"items": table}, name)
        return ScreenList(table, promise, self.model.guarantee, release)

    def _in_order(self, chosen: NDArray[np.int64]) -> NDArray[np.int64]:
        order = self.order or ("random" if self.sampler == "subset" else "drawn")
        if order == "drawn":
            return chosen
        chosen = np.sort(chosen)
        if isinstance(order, Mapping):
            numbers = [float(order.get(item, 0.0)) for item in self.model.items_.take(self._rows.codes[chosen])]
            return chosen[np.argsort(-np.array(numbers), kind="stable")]
        if order == "random":
            # Equal scores with fresh noise: every order is as likely as any other.
            equal = np.zeros(chosen.size, dtype=np.int64)
            return chosen[noisy_order(equal, Fraction(1), noise="exponential", most=chosen.size)]
        return chosen

    @property
    def _parameters(self) -> dict[str, Any]:
        order = "given" if isinstance(self.order, Mapping) else self.order
        return {
            "k": self.k,
            "epsilon": str(as_positive(self.epsilon, "epsilon")),
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
        raise UsageError(f"order={order!r}?", remedy="Choose 'random', 'list', 'drawn' or public numbers by item.")
    if sampler == "subset":
        raise UsageError("a set has no order of its own.", remedy="Choose 'random' or 'list', or sampler='gumbel'.")
