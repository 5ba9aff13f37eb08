"""Counts that could be counts: what may be done to noisy ones before they are used, at no cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from discreet.common.arguments import require_choice
from discreet.counting.consistency import nonnegative, nonnegative_rows
from discreet.counting.estimation import count_arrays, expected_of_parts, require_counts
from discreet.errors import ReleaseError, UsageError
from discreet.privacy.method import Parts
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.release import Release

__all__ = ["Finish", "FinishKind", "finish_counts", "finished_parts"]

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


def _nonnegative(
    items: NDArray[np.float64], edges: NDArray[np.float64] | None, total: float | None
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Items first; then the edges of each item, which add up to it."""
    counts = nonnegative(items, total)
    return counts, None if edges is None else nonnegative_rows(edges, counts)
