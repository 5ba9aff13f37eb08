"""The first Fourier coefficients of the counts: DFT after Rastogi and Nath, as run by Fan and Jin and corrected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import ClassVar, Literal

from discreet.counting.cells import Cells, Level
from discreet.counting.counts import Counted, CountMethod, Plan
from discreet.counting.fourier import IntegerDFT
from discreet.counting.levels import PREFIX, as_share, clipped, level_mechanisms, loss_of, side_by_side, without_records
from discreet.counting.outlooks import clipped_outlook, smoothed_outlook, weighed_outlook
from discreet.counting.profiles import Outlook, Profile
from discreet.counting.published import Cap, check_cap_or_data, most_records
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.guarantees import Standing
from discreet.privacy.losses import Loss
from discreet.privacy.mechanisms import AdditiveMechanism, LaplaceMechanism
from discreet.privacy.numbers import Rational, as_positive, as_probability

__all__ = ["DFT"]

BITS = 10
"""Weights of users are whole numbers of 2^−10."""

REFUTED_BASIS = (
    "the scale √k·Δ₂/ε takes Δ₂ from M = max|T_u|, which is read from the records: one more user changes the noise, "
    "tests/refutations/test_counting.py"
)

Noise = Literal["laplace", "gaussian"]


@dataclass(frozen=True)
class DFT(CountMethod):
    """Noise on the first Fourier coefficients of the list of counts, the others set to 0.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        A public number: users whose squared length of counts is larger (who touched more items than that, where an item
        is touched once) are scaled down to it. ``"data"``: the largest number M of records that a user has, as in the
        paper; nobody is scaled down, and the promise is refuted.
    coefficients
        How many coefficients are kept, at most; public.
    noise
        ``"laplace"``, or ``"gaussian"``, which needs ``delta``.
    delta
        For Gaussian noise.
    item_share
        Share of the budget for the counts of items where there are contexts; the rest goes to the edges.

    Notes
    -----
    **Privacy.** Unit: one user, present or absent. Released: the first k coefficients of the unitary transform of the
    counts of items in the order of the catalog, and of those of edges, which are one long list. A user's vector of
    length C = √cap changes the real and imaginary parts by at most √k·C in L1, so Laplace noise of scale √k·C/ε spends
    ε. For Gaussian noise of variance C²/(2ρ) parts that stand for two coefficients count √2-fold. Both hold for the
    integers that the noise is added to (``docs/proofs/counting.md``, Theorem 5), which takes a scale larger by less
    than a thousandth for k = 20.

    The list is smoothed over neighbors in the catalog: unless these are alike, little but the level is left.
    ``noise_sd`` of an estimate is the noise alone. Time grows with ``coefficients`` times the length of the list.

    References
    ----------
    V. Rastogi, S. Nath: Differentially private aggregation of distributed time-series with transformation and
    encryption. SIGMOD 2010.
    L. Fan, H. Jin: A practical framework for privacy-preserving data analytics. WWW 2015 (Section 6).

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=300, items=60, seed=3)
    >>> method = DFT.of(epsilon=1, cap=20, coefficients=5)
    >>> round(method.estimate(films)["noise_sd"], 2)
    7.53
    >>> method.release(films).table("counts").height
    60
    """

    name: ClassVar[str] = "dft"

    epsilon: Fraction
    cap: Cap
    coefficients: int = 20
    noise: Noise = "laplace"
    delta: Fraction | None = None
    item_share: Fraction = Fraction(1, 2)

    @classmethod
    def of(
        cls,
        *,
        epsilon: Rational,
        cap: Cap,
        coefficients: int = 20,
        noise: Noise = "laplace",
        delta: Rational | None = None,
        item_share: Rational = "1/2",
    ) -> DFT:
        return cls(
            as_positive(epsilon, "epsilon"),
            cap,
            coefficients,
            noise,
            None if delta is None else as_probability(delta),
            as_share(item_share, "item_share"),
        )

    @cached_property
    def loss(self) -> Loss:
        """ε, or for Gaussian noise the largest ρ that keeps (ε, δ)."""
        return loss_of(self.epsilon, self.delta)

    def _mechanisms(self, cells: Cells) -> dict[Level, AdditiveMechanism]:
        return level_mechanisms(cells, self.loss, self.item_share)

    def _transform(self, cells: Cells, level: Level) -> IntegerDFT:
        length = cells.size(level)
        return IntegerDFT(length, min(self.coefficients, length // 2 + 1), even=self.noise == "gaussian")

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        """Counts of the records, each user's scaled down to the public length; or as they are, up to M."""
        bound = Fraction(self.cap) if self.cap != "data" else _published_bound(cells)
        return clipped(cells, level, bound, bits=BITS)

    def _check(self, cells: Cells) -> None:
        check_cap_or_data(self.cap)
        if isinstance(self.coefficients, bool) or not isinstance(self.coefficients, int) or self.coefficients < 1:
            raise UsageError(f"coefficients = {self.coefficients!r} must be a whole number, at least 1.")
        if self.noise not in ("laplace", "gaussian"):
            raise UsageError(f"noise={self.noise!r}?", remedy="Choose 'laplace' or 'gaussian'.")
        if (self.noise == "gaussian") != (self.delta is not None):
            raise UsageError("delta and Gaussian noise belong together.", remedy="Give both or neither.")
        if cells.n_items == 0:
            raise UsageError("a catalog without items has no coefficients.")

    def _plan(self, cells: Cells) -> Plan:
        self._check(cells)
        public = self.cap != "data"
        # What is looked up in the records must be looked up before it can be asked whether the noise can be drawn.
        known = without_records(cells) if public else cells
        expected = {}
        for level, mechanism in self._mechanisms(cells).items():
            transform = self._transform(cells, level)
            bounded = transform.of(self._sums(known, level))
            mechanism.check(bounded)
            # Of a coefficient as it is drawn; and of a count, to which coefficients add up as normal laws do.
            drawn = mechanism.standard_deviation(bounded)
            unit = math.sqrt(transform.length) * (math.sqrt(2) if isinstance(mechanism, LaplaceMechanism) else 1)
            deviation = transform.deviation_back(drawn)
            expected |= {
                f"{PREFIX[level]}scale": drawn / unit,
                f"{PREFIX[level]}noise_sd": deviation,
                f"{PREFIX[level]}noise_95": NormalDist().inv_cdf(0.975) * deviation,
            }
        every = ("all records of each user were counted",)
        return Plan(
            loss=self.loss,
            basis="Fourier coefficients in whole numbers, docs/proofs/counting.md, Theorem 5"
            if public
            else REFUTED_BASIS,
            caps=self._sums(known, "items").caps if public else every,
            expected=expected if public or cells.user.size else {},
            standing=Standing.PROVED if public else Standing.REFUTED,
        )

    def _count(self, cells: Cells) -> Counted:
        noisy = {}
        for level, mechanism in self._mechanisms(cells).items():
            transform = self._transform(cells, level)
            bounded = transform.of(self._sums(cells, level))
            noisy[level] = transform.back(mechanism.release(bounded) * float(bounded.step))
        return side_by_side(cells, noisy)

    def _outlook(self, cells: Cells, level: Level, profile: Profile) -> Outlook:
        if self.cap == "data":
            counted = weighed_outlook(cells, level, profile, None).counted
        else:
            counted = clipped_outlook(cells, level, profile, self.cap).counted
        # The edges of an item stand side by side: smoothing them over is smoothing items over.
        return smoothed_outlook(counted, min(self._transform(cells, level).coordinates, cells.n_items))


def _published_bound(cells: Cells) -> Fraction:
    """Δ₂² of the records at hand: M² where one item can take all M records of a user, otherwise M."""
    most = most_records(cells)
    return Fraction(most**2 if cells.may_repeat else most)
