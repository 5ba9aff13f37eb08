"""Counts that could be counts: what may be done to noisy ones before they are used, at no cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.counting.estimation import counts_of, expected_counts
from discreet.counting.fusion import nonnegative, nonnegative_rows
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.release import Release

__all__ = ["Finish", "FinishKind", "finish_counts", "finished"]

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
        was looked up in the records would be told by the counts.**
    """

    kind: FinishKind
    total: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(FinishKind):
            raise UsageError(f"finish={self.kind!r}?", remedy=f"Choose from: {', '.join(get_args(FinishKind))}.")
        if self.total is not None and self.kind != "nonnegative":
            raise UsageError("a total goes with nonnegative counts.", remedy="Leave it out.")

    @classmethod
    def of(cls, kind: FinishKind, *, total: Rational | None = None) -> Finish:
        return cls(kind, None if total is None else float(as_positive(total, "total")))


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
    >>> from discreet.counting import item_counts
    >>> shop = dc.Interactions([("ann", "tea"), ("ann", "rum"), ("bob", "tea")], items=["tea", "rum", "gin"])
    >>> tidy = finish_counts(item_counts(shop, epsilon="1/10", cap=10), "nonnegative", total=300)
    >>> round(tidy.table("counts")["count"].sum()), tidy.table("counts")["count"].min() >= 0
    (300, True)
    """
    return finished(release, Finish.of(kind, total=total), finished_from=release.id)


def finished(release: Release, finish: Finish, **parameters: Any) -> Release:
    """The release with finished counts, which its parameters say."""
    items, edges = counts_of(release)
    if "finish" in release.parameters:
        raise ReleaseError("these counts are finished already.", remedy="Finish the release that they came from.")
    items, edges = expected_counts(release) if finish.kind == "expected" else _nonnegative(items, edges, finish.total)
    parts = {**release.parts, "counts": release.table("counts").with_columns(count=items)}
    if edges is not None:
        parts["edges"] = release.table("edges").with_columns(count=edges.ravel())
    done = {"kind": finish.kind} | ({} if finish.total is None else {"total": finish.total})
    # Replaced, not made anew: what was made in the sandbox of an audit stays there.
    return replace(release, parameters={**release.parameters, "finish": done, **parameters}, parts=parts, id="")


def _nonnegative(
    items: NDArray[np.float64], edges: NDArray[np.float64] | None, total: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Items first; then the edges of each item, which add up to it."""
    counts = nonnegative(items, total)
    return counts, None if edges is None else nonnegative_rows(edges, counts)
