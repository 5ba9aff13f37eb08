"""One call for a list that others may see; what was drawn is kept until the model is fitted again."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from discreet.errors import UsageError
from discreet.privacy.numbers import Rational
from discreet.recommender import Recommender
from discreet.subsets.accounting import Sampler
from discreet.subsets.onlookers import Order, Protects, ScreenList, ScreenLists
from discreet.subsets.training import Training

if TYPE_CHECKING:
    from discreet.privacy.ledger import Ledger

__all__ = ["recommend_privately"]

_LOCK = Lock()


def recommend_privately(
    model: Recommender,
    user: Hashable,
    k: int = 10,
    epsilon: Rational = 1,
    *,
    protects: Protects = "row",
    sampler: Sampler = "subset",
    score_range: tuple[Rational, Rational] | None = None,
    items: Sequence[Hashable] | None = None,
    order: Order | None = None,
    ledger: Ledger | None = None,
) -> ScreenList:
    """A list of k items for one person that others may see.

    The first call for a person draws the list; later calls with the same settings give the same list, until the model
    is fitted again or gets other records. Lists are kept with the model, in memory.

    Parameters
    ----------
    model
        Fitted, with its records.
    user
        Who is shown the list.
    k
        How many items.
    epsilon
        The budget of the list.
    protects
        "row": everything that the person did. "entry": a single score of the person's completed row.
    sampler
        "subset", "gumbel" or "permute-and-flip".
    score_range
        The public range of scores; by default predicted ratings on their scale are used.
    items
        A public list to draw from; the whole catalog by default.
    order
        How items are shown: "random", "list", "drawn", or public numbers by item. Never by score.
    ledger
        The book to charge.

    Privacy
    -------
    That of :class:`~discreet.subsets.ScreenLists`: ε for the recipient's own records against those who see the list,
    charged to the account of the records, once for all recipients where the model is proved. ``statement`` of the
    result says what the model promises and what the list promises, ``together()`` what both promise to the recipient.

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
        raise UsageError(f"a list is made by a recommender, not by {type(model).__name__}.")
    wanted = {
        "k": k,
        "epsilon": epsilon,
        "protects": protects,
        "sampler": sampler,
        "score_range": score_range,
        "items": None if items is None else tuple(items),
        "order": dict(order) if isinstance(order, Mapping) else order,
        "ledger": ledger,
    }
    with _LOCK:
        lists = _kept(model, wanted)
    return lists.show(user)


def _kept(model: Recommender, wanted: dict[str, Any]) -> ScreenLists:
    """The lists of this training and these settings; those of earlier trainings are forgotten."""
    kept: list[tuple[Training, dict[str, Any], ScreenLists]] = vars(model).setdefault("_screen_lists", [])
    training = Training.of(model)
    kept[:] = [entry for entry in kept if entry[0].same(training)]
    for _, settings, lists in kept:
        if settings == wanted:
            return lists
    lists = ScreenLists(model, **wanted)
    kept.append((training, wanted, lists))
    return lists
