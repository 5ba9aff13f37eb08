"""Rows in groups: what a coupling is, wherever it comes from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.degrees import block_degrees
from discreet.data.tables import Table
from discreet.errors import PrivacyError, UsageError
from discreet.privacy.units import Unit

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["CoupledRows", "Reach"]

Reach = Literal["neighborhoods", "components"]


@dataclass(frozen=True, eq=False)
class CoupledRows:
    """Degrees of coupling of the rows of a table, as groups with labels or as a matrix. See ``Coupling``."""

    n_rows: int
    public: bool
    origin: str
    reach: Reach = "neighborhoods"
    threshold: float = 0.0
    not_covered: tuple[str, ...] = ()
    _labels: NDArray[np.int64] | None = None
    _matrix: csr_array | None = None
    _stated: int | None = None

    def __repr__(self) -> str:
        known = "public" if self.public else "secret"
        return (
            f"{type(self).__name__}({self.n_rows:,} rows in groups of at most {self.largest:,}, {known}: {self.origin})"
        )

    @cached_property
    def largest(self) -> int:
        """k: the most rows in one group."""
        return self._found if self._stated is None else self._stated

    @cached_property
    def _found(self) -> int:
        if self.n_rows == 0:
            return 1
        if self._labels is None and self.reach == "neighborhoods":
            return int(np.diff(self.degrees.indptr).max())
        return int(np.bincount(self.groups).max())

    @property
    def unit(self) -> Unit:
        return Unit("record", "replace") if self.largest == 1 else Unit("group", "replace", self.largest)

    @cached_property
    def degrees(self) -> csr_array:
        if self._matrix is not None:
            return self._matrix
        assert self._labels is not None
        return block_degrees(self._labels)

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        if self._labels is not None:
            return self._labels
        from scipy.sparse.csgraph import connected_components

        return connected_components(self.degrees, directed=False)[1].astype(np.int64)

    def as_components(self) -> Self:
        """The same couplings, with whole components as groups: for rows that depend on each other through others."""
        return replace(self, reach="components", _stated=None)

    def at_most(self, k: int) -> Self:
        """The same coupling with a bound that is stated, so that promises about several tables have one unit."""
        if isinstance(k, bool) or not isinstance(k, int) or k < self._found:
            raise UsageError(
                f"groups of at most {k!r} rows cannot be stated: there is one of {self._found:,}.",
                remedy=f"State a whole number from {self._found:,}.",
            )
        return replace(self, _stated=k)

    def require_public(self, what: str) -> None:
        """Refuse a coupling that was read from the secret rows: what it decides would tell about them."""
        if not self.public:
            raise PrivacyError(
                f"{what} cannot use this coupling: {self.origin} is computed from the secret rows.",
                remedy="Give a coupling that is public: by_group, by_attribute(…, public=True) or from_graph.",
            )

    def require_fits(self, table: Table) -> None:
        """Refuse a coupling of another table."""
        if len(table) != self.n_rows:
            raise UsageError(
                f"this coupling is about {self.n_rows:,} rows; the table has {len(table):,}.",
                remedy="Make the coupling from the same table.",
            )

    def statistics(self) -> dict[str, Any]:
        """Table 5.2 and more, for the owner: unless the coupling is public these are facts about secret rows."""
        sizes = np.bincount(self.groups, minlength=1) if self.n_rows else np.zeros(1, dtype=np.int64)
        partners = sizes[self.groups] if self._labels is not None else np.diff(self.degrees.indptr)
        coupled = int((partners > 1).sum())
        return {
            "origin": self.origin,
            "public": self.public,
            "threshold": self.threshold,
            "rows": self.n_rows,
            "coupled_rows": coupled,
            "coupled_share": coupled / self.n_rows if self.n_rows else 0.0,
            "coupled_pairs": int((partners - 1).sum()) // 2,
            "groups": int((sizes > 1).sum()),
            "largest_neighborhood": int(partners.max(initial=1)),
            "largest_component": int(max(1, sizes.max())),
            "k": self.largest,
        }
