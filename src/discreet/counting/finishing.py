"""What may be done to noisy counts before they are used, at no cost: lists that agree, counts that are not negative."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from discreet.common.arguments import require_choice
from discreet.common.arrays import Floats
from discreet.counting.estimation import count_arrays, expected_of_parts, require_counts
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.method import Parts
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.release import Release

__all__ = [
    "Finish",
    "FinishKind",
    "consistent",
    "consistent_variances",
    "finish_counts",
    "finished_parts",
    "nonnegative",
    "nonnegative_rows",
]

FinishKind = Literal["nonnegative", "expected"]


@dataclass(frozen=True)
class Finish:
    """What to do to noisy counts.

    Parameters
    ----------
    kind
        "nonnegative": the nearest counts that are nowhere negative; those of an item in all contexts add up to the
        item's. "expected": what each count most likely stands for, given all of them and the size of the noise.
    total
        For "nonnegative": what the counts of all items are to add up to. It must be public or released: **a total that
        was computed from the records would be released with the counts.**
    """

    kind: FinishKind
    total: Rational | None = None

    def __post_init__(self) -> None:
        require_choice(self.kind, "finish", get_args(FinishKind))
        if self.total is not None:
            if self.kind != "nonnegative":
                raise UsageError("a total goes with nonnegative counts.", remedy="Leave it out.")
            object.__setattr__(self, "total", float(as_positive(self.total, "total")))

    def to_json(self) -> dict[str, Any]:
        """As in the parameters of a release."""
        return {"kind": self.kind} | ({} if self.total is None else {"total": self.total})


def finish_counts(release: Release, kind: FinishKind, *, total: Rational | None = None) -> Release:
    """Another release of the same counts, finished; post-processing, so the guarantee is the same and nothing is spent.

    What was done is in its parameters, with the id of the release that it was made from: the ledger knows that one.

    Parameters
    ----------
    release
        Item counts as they came out of a mechanism.
    kind, total
        As in ``Finish``.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.counting import ItemCounts
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> tidy = finish_counts(ItemCounts(epsilon="1/10", cap=10).release(shop), "nonnegative", total=300)
    >>> round(tidy.table("counts")["count"].sum()), tidy.table("counts")["count"].min() >= 0
    (300, True)
    """
    require_counts(release)
    if "finish" in release.parameters:
        raise ReleaseError("these counts are finished already.", remedy="Finish the release that they came from.")
    parameters = {**release.parameters, "finish": Finish(kind, total).to_json(), "finished_from": release.id}
    # Replaced, not made anew: what was made in the sandbox of an audit stays there.
    return replace(release, parameters=parameters, parts=finished_parts(release.parts, parameters), id="")


def finished_parts(parts: Parts, parameters: Mapping[str, Any]) -> Parts:
    """The parts of a release of counts, finished as its parameters say."""
    finish = parameters["finish"]
    if finish["kind"] == "expected":
        items, edges = expected_of_parts(parts, parameters)
    else:
        items, edges = _nonnegative(*count_arrays(parts), finish.get("total"))
    done = {**parts, "counts": parts["counts"].with_columns(count=items)}  # type: ignore[union-attr]
    if edges is not None:
        done["edges"] = parts["edges"].with_columns(count=edges.ravel())  # type: ignore[union-attr]
    return done


def _nonnegative(items: Floats, edges: Floats | None, total: float | None) -> tuple[Floats, Floats | None]:
    """Items first; then the edges of each item, which add up to it."""
    counts = nonnegative(items, total)
    return counts, None if edges is None else nonnegative_rows(edges, counts)


def consistent(items: Floats, edges: Floats, *, item_variance: float, edge_variance: float) -> tuple[Floats, Floats]:
    """Item counts and edge counts of the same records, made consistent by least squares.

    An item's count and the sum of its h edges are two measurements of one number, with variances v₁ and h·v₂. The total
    is their inverse-variance mean; what it differs from the sum of the edges is shared equally among them, which is
    the least-squares solution for equal variances.

    Parameters
    ----------
    items, edges
        One noisy count an item; one row an item.
    item_variance, edge_variance
        Variances of the noise, of one item count and of one edge count.

    Examples
    --------
    >>> items, edges = consistent(np.array([10.0]), np.array([[2.0, 4.0]]), item_variance=2, edge_variance=1)
    >>> items.tolist(), edges.tolist()
    ([8.0], [[3.0, 5.0]])
    """
    width = edges.shape[1]
    trust = edge_variance * width / (item_variance + edge_variance * width)
    summed = edges.sum(axis=1)
    total = summed + trust * (items - summed)
    return total, edges + ((total - summed) / width)[:, None]


def consistent_variances(width: int, *, item_variance: float, edge_variance: float) -> tuple[float, float]:
    """What is left of the variances of an item's count and of each of its ``width`` edges after ``consistent``.

    Examples
    --------
    >>> consistent_variances(2, item_variance=2, edge_variance=1)
    (1.0, 0.75)
    """
    summed = width * edge_variance
    total = item_variance * summed / (item_variance + summed)
    return total, edge_variance + (total - summed) / width**2


def nonnegative(counts: Floats, total: float | None = None) -> Floats:
    """The nearest counts, in Euclidean distance, that are nowhere negative and, where a total is given, add up to it.

    With a total this is the projection onto a simplex: one number is taken from all counts, and what falls below zero
    is set to zero.

    Examples
    --------
    >>> nonnegative(np.array([3.0, -1.0])).tolist()
    [3.0, 0.0]
    >>> nonnegative(np.array([3.0, 1.0, -2.0]), total=2.0).tolist()
    [2.0, 0.0, 0.0]
    """
    if total is None:
        return np.maximum(counts, 0)
    return nonnegative_rows(counts.reshape(1, -1), np.array([total])).reshape(counts.shape)


def nonnegative_rows(counts: Floats, totals: Floats) -> Floats:
    """The same for every row, each with a total of its own.

    Examples
    --------
    >>> nonnegative_rows(np.array([[3.0, -1.0], [1.0, 1.0]]), np.array([2.0, 4.0])).tolist()
    [[2.0, 0.0], [2.0, 2.0]]
    """
    if not counts.size:
        return counts.copy()
    goal = np.maximum(totals, 0)[:, None]
    falling = -np.sort(-counts, axis=1)
    surplus = (np.cumsum(falling, axis=1) - goal) / np.arange(1, counts.shape[1] + 1)
    last = counts.shape[1] - 1 - np.argmax((falling > surplus)[:, ::-1], axis=1)
    taken = np.take_along_axis(surplus, last[:, None], axis=1)
    return np.where(goal > 0, np.maximum(counts - taken, 0), 0.0)
