"""Broken mechanisms: noisy counts with one mistake each, and correct ones, to test an audit with.

Each has one of the mistakes that are made in practice. An audit that lets one of them pass, or that refutes the correct
counts, is broken itself.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arrays import Floats
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.privacy import published_draws
from discreet.privacy.bounding import BoundedSums, cap_records
from discreet.privacy.guarantees import Standing
from discreet.privacy.losses import Pure
from discreet.privacy.mechanisms import LaplaceMechanism
from discreet.privacy.method import Method, Plan
from discreet.privacy.numbers import Rational, as_positive

__all__ = [
    "BROKEN_COUNTS",
    "CapFromRecords",
    "CorrectCounts",
    "FloatNoise",
    "HalfNoise",
    "NoisyCounts",
    "ReusedNoise",
    "SeededNoise",
    "SparseNoise",
    "UnchargedHead",
]

Parts = dict[str, pl.DataFrame | NDArray[Any]]


@dataclass(frozen=True)
class NoisyCounts(Method):
    """Noisy counts of the items of a catalog, with a claim of ε for one user.

    Parameters
    ----------
    epsilon
        What is claimed.
    cap
        How many records of each user count.

    Privacy
    -------
    The guarantee looks like that of ``CorrectCounts``. Its standing is REFUTED, so that none of the broken ones runs by
    accident: ``release`` needs ``allow_refuted=True``.
    """

    kind = "item-counts"
    reads = "records"
    flaw: ClassVar[str]

    epsilon: Rational = 1
    cap: int = 6

    def _parts(self, data: Interactions) -> Parts:
        """What is released."""
        raise NotImplementedError

    def _plan(self, public: Interactions) -> Plan:
        return Plan(
            loss=Pure(as_positive(self.epsilon, "epsilon")),
            standing=Standing.REFUTED if self.flaw else Standing.PROVED,
            basis=f"broken on purpose: {self.flaw}" if self.flaw else LaplaceMechanism.theorem,
            subject=f"noisy counts of {public.n_items:,} items",
            caps=(f"each user's records were cut to {self.cap} at random",),
        )

    def _draw(self, data: Interactions, plan: Plan) -> Parts:
        return self._parts(data)

    def _sums(self, data: Interactions) -> BoundedSums:
        return cap_records(data, self.cap).item_counts()

    def _mechanism(self) -> LaplaceMechanism:
        return LaplaceMechanism.of(self.epsilon)

    def _scale(self) -> float:
        return self.cap / float(as_positive(self.epsilon, "epsilon"))


class CorrectCounts(NoisyCounts):
    """Correct: discrete Laplace noise of scale cap/ε on every count.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=50, items=20, seed=7)
    >>> print(CorrectCounts(cap=4).release(films).guarantee.loss)
    ε = 1
    """

    name = "correct counts"
    flaw = ""

    def _parts(self, data: Interactions) -> Parts:
        return {"counts": _table(data, self._mechanism().release(self._sums(data)))}


class HalfNoise(NoisyCounts):
    """A lost factor of 2: noise for twice the ε that is claimed."""

    name = "half noise"
    flaw = "the noise has half of the scale that it needs"

    def _parts(self, data: Interactions) -> Parts:
        mechanism = LaplaceMechanism(2 * as_positive(self.epsilon, "epsilon"))
        return {"counts": _table(data, mechanism.release(self._sums(data)))}


@dataclass(frozen=True)
class UnchargedHead(NoisyCounts):
    """Counts of the most popular items; which these are is found out from the exact counts.

    Parameters
    ----------
    head
        How many items are listed.
    """

    name = "uncharged head"
    flaw = "which items are counted was looked up in the records without a charge"

    head: int = 4

    def _parts(self, data: Interactions) -> Parts:
        sums = self._sums(data)
        head = np.sort(np.argsort(-sums.values, kind="stable")[: self.head])
        noisy = self._mechanism().release(sums)
        return {"counts": _table(data, noisy)[head]}


class CapFromRecords(NoisyCounts):
    """Noise for the largest number of records that anybody happens to have."""

    name = "cap from the records"
    flaw = "the cap, and with it the noise, depends on the most active user"

    def _parts(self, data: Interactions) -> Parts:
        most = int(data.records_per_user.max(initial=1))
        return {"counts": _table(data, self._mechanism().release(cap_records(data, most).item_counts()))}


class FloatNoise(NoisyCounts):
    """Textbook noise in floating point, −b·sign(u)·ln(1 − 2|u|), added to the exact count.

    Which floating-point numbers a sum can come to depends on what was added to: digits that are too fine for a count
    of 1 or more show that nobody was there.

    References
    ----------
    I. Mironov: On significance of the least significant bits for differential privacy. CCS 2012.
    """

    name = "float noise"
    flaw = "noise in floating point leaves traces in the lowest digits"

    def _parts(self, data: Interactions) -> Parts:
        noise = published_draws.laplace(np.full(data.n_items, self._scale()))
        return {"counts": _table(data, self._sums(data).values + noise)}


class SparseNoise(NoisyCounts):
    """Noise on counts above 0 only: zeros stay zeros."""

    name = "sparse noise"
    flaw = "a count of 0 is released as it is"

    def _parts(self, data: Interactions) -> Parts:
        sums = self._sums(data)
        return {"counts": _table(data, np.where(sums.values > 0, self._mechanism().release(sums), 0))}


class ReusedNoise(NoisyCounts):
    """Two lists, each with noise for half of ε: the same noise. Their difference has none.

    The second list counts ratings above the middle of the scale.
    """

    name = "reused noise"
    flaw = "two lists of counts have the same noise on them"

    def _parts(self, data: Interactions) -> Parts:
        if data.rating is None or data.scale is None:
            raise UsageError("reused noise counts all ratings and good ratings; there are no ratings here.")
        bounded = cap_records(data, self.cap)
        sums = bounded.item_counts()
        ratings = bounded.records.rating
        assert ratings is not None
        good = ratings > float(data.scale.low + data.scale.width / 2)
        liked = np.bincount(bounded.records.item[good], minlength=data.n_items)
        noise = LaplaceMechanism(as_positive(self.epsilon, "epsilon") / 2).release(sums) - sums.values
        return {"counts": _table(data, sums.values + noise), "liked": _table(data, liked + noise)}


@dataclass(frozen=True)
class SeededNoise(NoisyCounts):
    """Noise of the right law, from a generator that starts at the same place every time.

    Parameters
    ----------
    seed
        Where it starts: a number, or "records" for a hash of the records, which is another place for every dataset and
        the same one for the same dataset.
    """

    name = "seeded noise"
    flaw = "whoever knows the seed can take the noise away"

    seed: int | Literal["records"] = 7

    def _parts(self, data: Interactions) -> Parts:
        start = data.fingerprint if self.seed == "records" else self.seed
        words = [hashlib.sha256(f"{start} {item}".encode()).digest()[:8] for item in range(data.n_items)]
        uniform = np.array([int.from_bytes(word) for word in words]) * 2.0**-64
        noise = np.rint(_laplace(uniform, self._scale())).astype(np.int64)
        return {"counts": _table(data, self._sums(data).values + noise)}


BROKEN_COUNTS: dict[str, NoisyCounts] = {
    "half-noise": HalfNoise(),
    "uncharged-head": UnchargedHead(),
    "cap-from-records": CapFromRecords(),
    "float-noise": FloatNoise(),
    "sparse-noise": SparseNoise(),
    "reused-noise": ReusedNoise(),
    "seeded-noise": SeededNoise(),
    "records-seeded-noise": SeededNoise(seed="records"),
}
"""All broken ones: an audit at its default settings must refute every one."""


def _table(data: Interactions, counts: NDArray[Any]) -> pl.DataFrame:
    return pl.DataFrame({"item_id": data.items.series, "count": counts})


def _laplace(uniform: Floats, scale: float) -> Floats:
    """The Laplace quantile of numbers from 0 up to 1."""
    centered = np.clip(uniform, 2.0**-54, None) - 0.5
    return -scale * np.sign(centered) * np.log1p(-2 * np.abs(centered))
