"""Errors of the published neighbor models and their rivals, held-out rating by held-out rating."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.data.interactions import Interactions
from discreet.data.splits import all_but_one
from discreet.errors import DataError
from discreet.evaluation.significance import PairedTest, paired_t_test
from discreet.models.recommender import Recommender
from discreet.neighbors import KNN, PNCF, NaiveExponentialNeighbors, PrivateItemKNN, UniformNeighbors
from discreet.neighbors.profiles import Axis

__all__ = [
    "AXES", "BARE", "DELTA", "DRAWS", "METHODS", "PRIVATE", "SIMILARITIES", "UNIFORM",
    "Cell", "Errors", "Question", "make", "question",
]  # fmt: skip

AXES: tuple[Axis, ...] = ("item", "user")
SIMILARITIES = {"pearson": "PCC", "cosine": "COS"}
"""Similarities, and what the thesis calls them."""

DELTA = "1e-6"
PRIVATE = "PrivateItemKNN"
"""The proved model. It has its own similarity, so its errors are the same in every part of the grid."""

UNIFORM = "uniform, no noise"

Make = Callable[..., Recommender]

METHODS: dict[str, Make] = {
    "non-private": lambda epsilon, **of: KNN(**of),
    UNIFORM: lambda epsilon, **of: UniformNeighbors(**of),
    "DP": NaiveExponentialNeighbors,
    "RS&NM": lambda **of: NaiveExponentialNeighbors(rs="lemma", **of),
    "RS&NM, exact RS": lambda **of: NaiveExponentialNeighbors(rs="exact", **of),
    "PNCF": PNCF,
    "PNCF, exact RS": lambda **of: PNCF(rs="exact", **of),
}
"""How each method is made from epsilon, k, axis and similarity."""

BARE: dict[str, Make] = {
    UNIFORM: lambda epsilon, **of: UniformNeighbors(**of),
    "DP": lambda **of: NaiveExponentialNeighbors(laplace=None, **of),
    "PNCF": lambda **of: PNCF(laplace=None, **of),
    "PNCF, C0 each": lambda **of: PNCF(c0="each", laplace=None, **of),
    "PNCF, exact RS": lambda **of: PNCF(rs="exact", laplace=None, **of),
}
"""The same choices of neighbors without noise on the weights."""

DRAWS = 3
"""How often each of these chooses in a split: the differences between them are small."""


class Cell(NamedTuple):
    """One entry of the grid."""

    method: str
    axis: str
    similarity: str
    k: int
    epsilon: str = "1"
    noise: bool = True


@dataclass(frozen=True, eq=False)
class Question:
    """One split: what models learn from, and the ratings that they are asked for.

    Attributes
    ----------
    user
        Code, among the users of all records, of whoever gave the held-out rating.
    unanswerable
        How many held-out ratings were left out because nobody else has rated the item.
    """

    train: Interactions
    pairs: list[tuple[Hashable, Hashable]]
    actual: NDArray[np.float64]
    user: NDArray[np.int32]
    unanswerable: int

    def errors(self, model: Recommender) -> NDArray[np.float64]:
        """Absolute error of each answer."""
        fitted = model.fit(self.train, allow_refuted=True)
        return np.abs(fitted.predict(self.pairs)["score"].to_numpy() - self.actual)


def question(data: Interactions, *, seed: int) -> Question:
    """Hold out one rating of each user, All-But-One."""
    split = all_but_one(data, seed=seed)
    test = split.test
    assert test.rating is not None
    known = split.train.records_per_item[split.train.items.encode(test.items.series)][test.item] > 0
    if known.sum() < 2:
        raise DataError(
            "fewer than two held-out ratings are of items that somebody else has rated; nothing can be measured."
        )
    users, items = test.users.take(test.user[known]), test.items.take(test.item[known])
    return Question(
        train=split.train,
        pairs=list(zip(users.to_list(), items.to_list(), strict=True)),
        actual=test.rating[known].astype(np.float64),
        user=data.users.encode(users),
        unanswerable=int((~known).sum()),
    )


@dataclass(eq=False)
class Errors:
    """Absolute errors by cell, split and user.

    Parameters
    ----------
    n_users
        Users of the records; whoever has no held-out rating in a split has no error there (NaN).
    """

    n_users: int
    of_cell: dict[Cell, list[NDArray[np.float64]]] = field(default_factory=dict)

    def add(self, cell: Cell, asked: Question) -> None:
        """Measure the model of a cell on one split."""
        settings = {"epsilon": cell.epsilon, "k": cell.k, "axis": cell.axis, "similarity": cell.similarity}
        draws = [
            asked.errors(make(cell.method, noise=cell.noise, **settings)) for _ in range(1 if cell.noise else DRAWS)
        ]
        row = np.full(self.n_users, np.nan)
        row[asked.user] = np.mean(draws, axis=0)
        self.of_cell.setdefault(cell, []).append(row)

    def by_split(self, cell: Cell) -> NDArray[np.float64]:
        """MAE of each split."""
        return np.array([float(np.nanmean(row)) for row in self.of_cell[cell]])

    def mae(self, cell: Cell) -> float:
        """Mean of the splits."""
        return float(self.by_split(cell).mean())

    def spread(self, cell: Cell) -> float | None:
        """Standard deviation over the splits; None for one split."""
        found = self.by_split(cell)
        return float(found.std(ddof=1)) if found.size > 1 else None

    def gain_over_k(self, ours: Iterable[Cell], against: Iterable[Cell]) -> PairedTest:
        """Student's test of how much lower our MAE is, one pair for each k, as the thesis tests."""
        return paired_t_test([self.mae(cell) for cell in against], against=[self.mae(cell) for cell in ours])

    def gain_over_users(self, ours: Cell, against: Cell) -> PairedTest:
        """The same with one pair for each user: the user's mean error over the splits."""
        theirs, own = (self._by_user(cell) for cell in (against, ours))
        both = ~np.isnan(theirs - own)
        return paired_t_test(theirs[both], against=own[both])

    def _by_user(self, cell: Cell) -> NDArray[np.float64]:
        rows = np.stack(self.of_cell[cell])
        answered = (~np.isnan(rows)).sum(axis=0)
        return np.divide(np.nansum(rows, axis=0), answered, out=np.full(self.n_users, np.nan), where=answered > 0)


def make(method: str, *, noise: bool = True, **settings: Any) -> Recommender:
    """The model of a method."""
    if method == PRIVATE:
        return PrivateItemKNN(epsilon=settings["epsilon"], delta=DELTA, k=settings["k"])
    return (METHODS if noise else BARE)[method](**settings)
