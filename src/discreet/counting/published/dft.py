"""The first Fourier coefficients of the counts: DFT after Rastogi and Nath, as run by Fan and Jin and corrected."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from discreet.common.arguments import require_whole
from discreet.common.arrays import AnyFloats, Floats, Integers
from discreet.counting.cells import Cells, Level
from discreet.counting.counts import PREFIX, Cap
from discreet.counting.profiles import Expectation, Profile, expected_smooth, expected_within
from discreet.counting.published.fan_jin import COUNTED_IN_FULL, PublishedCounts, most_records
from discreet.errors import UsageError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.method import Plan, Round, Rounds
from discreet.privacy.noise import MOST_SCALE
from discreet.privacy.numbers import Rational, sqrt_up
from discreet.privacy.weighing import sums_within_l2

__all__ = ["DFT", "IntegerDFT"]

TABLE_BITS, BITS = 16, 10
"""Cosines are whole numbers of 2^−16, weights of users of 2^−10: every product sum stays within 63 bits."""

GRIDS = (
    *((a, BITS) for a in range(TABLE_BITS, 9, -1)),
    *((10, b) for b in range(BITS - 1, 3, -1)),
)
"""Bits of cosines and of weights, finest first. The first grid is used on which the noise can be drawn."""


@dataclass(frozen=True)
class DFT(PublishedCounts):
    """Noise on the first Fourier coefficients of the list of counts, the others set to 0.

    Parameters
    ----------
    epsilon
        The budget.
    cap
        A public number: users whose squared length of counts is larger (who touched more items than that, where an item
        is touched once) are scaled down to it. ``"data"``: the largest number M of records that a user has, as in the
        paper; nobody is scaled down, and the guarantee is refuted.
    coefficients
        How many coefficients are kept, at most; public.
    delta
        0 for Laplace noise; above 0 for normal noise.
    item_share
        Share of the budget for the counts of items where there are contexts; the rest goes to the edges.

    Privacy
    -------
    Unit: one user, present or absent. Released: the first k coefficients of the unitary transform of the counts of
    items in the order of the catalog, and of those of edges, which are one long list. A user's vector of length
    C = √cap changes the real and imaginary parts by at most √k·C in L1, so Laplace noise of scale √k·C/ε spends ε. For
    normal noise of deviation C/μ parts that stand for two coefficients count √2-fold. Both hold for the integers that
    the noise is added to (``docs/proofs/counting.md``, Theorem 5), which takes a scale larger by less than a thousandth
    for k = 20, and by at most a hundredth on the coarser grids that very large scales are drawn on.

    Notes
    -----
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
    >>> method = DFT(epsilon=1, cap=20, coefficients=5)
    >>> round(method.estimate(films)["noise_sd"], 2)
    7.53
    >>> method.release(films).table("counts").height
    60
    """

    name: ClassVar[str] = "dft"
    proof: ClassVar[str] = "Fourier coefficients in whole numbers, docs/proofs/counting.md, Theorem 5"
    counterexample: ClassVar[str] = (
        "the scale √k·Δ₂/ε takes Δ₂ from M = max|T_u|, which is read from the records: one more user changes the "
        "noise, tests/refutations/test_counting.py"
    )

    epsilon: Rational
    cap: Cap = 30
    coefficients: int = 20
    delta: Rational = 0
    item_share: Rational = "1/2"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_whole(self.coefficients, "coefficients")

    def _transform(self, cells: Cells, level: Level) -> IntegerDFT:
        return self._on_grid(cells, level)[0]

    def _on_grid(self, cells: Cells, level: Level) -> tuple[IntegerDFT, int]:
        """The transform and the bits of weights: the finest grid that noise can be drawn on, from public values alone.

        With M from the records every record weighs 1, so that no bits are needed for weights.
        """
        length = cells.size(level)
        kept, even = min(self.coefficients, length // 2 + 1), not self._budget.is_pure
        if self.cap == "data":
            return IntegerDFT(length, kept, even), 0
        mechanism = self._mechanisms(cells)[level]
        for bits, weight_bits in GRIDS:
            one = sums_within_l2(np.zeros(0, dtype=np.int64), Fraction(self.cap), may_repeat=True, bits=weight_bits)
            transform = IntegerDFT(length, kept, even, bits)
            if mechanism.parameter(transform.bounded(one, one.values)) <= MOST_SCALE:
                return transform, weight_bits
        # No grid is coarse enough: noise of such a scale is refused when the release is planned.
        return IntegerDFT(length, kept, even, GRIDS[-1][0]), GRIDS[-1][1]

    def _sums(self, cells: Cells, level: Level) -> BoundedSums:
        """Counts of the records, each user's scaled down to the public length; or as they are, up to M."""
        bound = Fraction(self.cap) if self.cap != "data" else _published_bound(cells)
        return cells.within(level, bound, 2, bits=self._on_grid(cells, level)[1])

    def _caps(self, cells: Cells) -> tuple[str, ...]:
        return super()._caps(cells) if self._is_public else COUNTED_IN_FULL

    def _plan(self, public: Cells) -> Plan:
        if public.n_items == 0:
            raise UsageError("a catalog without items has no coefficients.")
        return super()._plan(public)

    def _drawn_noise(self, cells: Cells) -> dict[str, float]:
        """Of a coefficient as it is drawn; and of a count, to which coefficients add up as normal laws do."""
        expected = {}
        for level, mechanism in self._mechanisms(cells).items():
            transform = self._transform(cells, level)
            bounded = transform.of(self._sums(cells, level))
            mechanism.check(bounded)
            drawn = mechanism.standard_deviation(bounded)
            unit = math.sqrt(transform.length) * (math.sqrt(2) if self._budget.is_pure else 1)
            deviation = transform.deviation_back(drawn)
            expected |= {
                f"{PREFIX[level]}scale": drawn / unit,
                f"{PREFIX[level]}noise_sd": deviation,
                f"{PREFIX[level]}noise_95": NormalDist().inv_cdf(0.975) * deviation,
            }
        return expected

    def _rounds(self, plan: Plan) -> Rounds:
        cells, noisy = plan.public, {}
        for level, mechanism in self._mechanisms(cells).items():
            transform = self._transform(cells, level)
            step = float(transform.of(self._sums(cells, level)).step)
            released = yield Round(
                lambda records, level=level, transform=transform: transform.of(self._sums(records, level)), mechanism
            )
            noisy[level] = transform.back(released * step)
        return self._parts(plan, noisy)

    def _expected(self, cells: Cells, level: Level, profile: Profile) -> Expectation:
        counted = expected_within(cells, level, profile, None if self.cap == "data" else self.cap, norm=2).counted
        # The edges of an item stand side by side: smoothing them over is smoothing items over.
        return expected_smooth(counted, min(self._transform(cells, level).coordinates, cells.n_items))


def _published_bound(cells: Cells) -> Fraction:
    """Δ₂² of the records at hand: M² where one item can take all M records of a user, otherwise M."""
    most = most_records(cells)
    return Fraction(most**2 if cells.may_repeat else most)


@dataclass(frozen=True)
class IntegerDFT:
    """The first coefficients of the unitary discrete Fourier transform of real vectors, times 2^bits·√length.

    Cosines and sines are rounded to integers once, from public values alone: the transform is a public integer matrix,
    sums go through it without any rounding, and what one user can change is bounded for this very matrix
    (``docs/proofs/counting.md``, Theorem 5).

    Coordinates come in the order Re F₀, Re F₁, Im F₁, Re F₂, …; there is no imaginary part of F₀, nor of the last
    coefficient where all are kept and the length is even.

    Parameters
    ----------
    length
        How many numbers are transformed.
    coefficients
        How many coefficients are kept: at most ⌊length/2⌋ + 1, the others of a real vector repeat these.
    even
        Whether parts of coefficients that stand for two are taken √2-fold. The transform is then an isometry, which
        noise of one L2 scale wants; otherwise they are as they are, which the published L1 scale wants.
    bits
        Cosines and sines are whole numbers of 2^−bits.
    """

    length: int
    coefficients: int
    even: bool = False
    bits: int = TABLE_BITS

    @property
    def has_middle(self) -> bool:
        """Whether the last coefficient is the one at half the length, which is real and stands for itself alone."""
        return self.length % 2 == 0 and 0 < self.length // 2 == self.coefficients - 1

    @property
    def coordinates(self) -> int:
        """How many real numbers the kept coefficients are."""
        return 2 * self.coefficients - 1 - self.has_middle

    def of(self, sums: BoundedSums) -> BoundedSums:
        """The transform of sums, with what one user can change about it."""
        return self.bounded(sums, self._coordinates(sums.values))

    def bounded(self, sums: BoundedSums, coordinates: Integers) -> BoundedSums:
        """Coordinates of sums with what one user can change about them.

        Where one user's vector has ‖v‖₂² ≤ S, and table entries are off by at most 1, its transform has ‖·‖₁ ≤
        √(length·S)·(2^bits·√k + n) and ‖·‖₂ ≤ √(length·S)·(2^bits + √n), for k coefficients with n coordinates.
        """
        root = sqrt_up(self.length * sums.l2_squared)
        n = self.coordinates
        l2 = root * (2**self.bits + sqrt_up(Fraction(n)))
        l1 = (
            sqrt_up(Fraction(n)) * l2 if self.even else root * (2**self.bits * sqrt_up(Fraction(self.coefficients)) + n)
        )
        return BoundedSums(
            values=coordinates,
            step=sums.step / 2**self.bits,
            l1=l1,
            l2_squared=l2**2,
            linf=l2,
            nonnegative=False,
            unit=sums.unit,
            caps=sums.caps,
        )

    def back(self, coordinates: AnyFloats) -> Floats:
        """The vector whose kept coefficients these are, and all others 0; from what ``of`` gives, in the same steps."""
        parts = np.asarray(coordinates, dtype=np.float64) / math.sqrt(self.length)
        whole = np.zeros(self.length // 2 + 1, dtype=np.complex128)
        pairs = parts[1 : 2 * self._pairs + 1].reshape(-1, 2) / (math.sqrt(2) if self.even else 1.0)
        whole[0] = parts[0]
        whole[1 : self._pairs + 1] = pairs[:, 0] - 1j * pairs[:, 1]
        if self.has_middle:
            whole[-1] = parts[-1]
        return np.fft.irfft(whole, n=self.length, norm="ortho")

    def deviation_back(self, deviation: float) -> float:
        """Standard deviation of every number of ``back``, for noise of this deviation on every coordinate."""
        alone = 1 + self.has_middle
        return deviation * math.sqrt(alone + (2 if self.even else 4) * self._pairs) / self.length

    @property
    def _pairs(self) -> int:
        """Coefficients with two parts, which stand for two of the whole transform."""
        return self.coefficients - 1 - self.has_middle

    def _coordinates(self, values: Integers) -> Integers:
        """Product sums with the rows of the integer matrix, one coefficient at a time."""
        angle = np.arange(self.length) * (math.tau / self.length)
        fold = 2**self.bits * (math.sqrt(2) if self.even else 1.0)
        cosine, sine = (np.rint(fold * wave(angle)).astype(np.int64) for wave in (np.cos, np.sin))
        rows = [values.sum() << self.bits]
        place = np.zeros(self.length, dtype=np.int64)
        for _ in range(self._pairs):
            place += np.arange(self.length)
            place[place >= self.length] -= self.length
            rows += [values @ cosine[place], values @ sine[place]]
        if self.has_middle:
            rows.append((values[0::2].sum() - values[1::2].sum()) << self.bits)
        return np.array(rows, dtype=np.int64)
