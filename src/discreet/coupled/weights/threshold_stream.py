"""Many questions against one noisy threshold, block by block."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PrivacyError
from discreet.privacy.bounding import BoundedSums
from discreet.privacy.draws import Spend, observed
from discreet.privacy.noise import discrete_laplace
from discreet.privacy.threshold import AboveThreshold

__all__ = ["ThresholdStream"]

DRAWN_AT_ONCE = 1024


@dataclass
class ThresholdStream:
    """A session of ``AboveThreshold`` that is asked about whole blocks and says which sum is the first to pass.

    Parameters
    ----------
    mechanism
        Threshold, number of passes and budget. Its share for answers must be 0: who is asked here gives none.
    like
        A sum like those that will be asked about.

    Attributes
    ----------
    passes_left : int
        How many more sums may pass.

    Privacy
    -------
    The replies are those of a session that is asked one sum after the other (``docs/proofs/selection.md``, Theorem 6):
    sums behind the first that passes are not tested, and each test has noise of its own. Noise is drawn ahead of the
    tests, in stock, which changes nothing: it depends on nothing.
    """

    mechanism: AboveThreshold
    like: BoundedSums
    passes_left: int = field(init=False)
    _threshold: int = field(init=False)
    _stock: NDArray[np.int64] = field(init=False)
    _spend: Spend = field(init=False)

    def __post_init__(self) -> None:
        if self.mechanism.epsilon_answers:
            raise PrivacyError("a stream of tests gives no answers.", remedy="Leave the share for answers at 0.")
        self.passes_left = self.mechanism.most
        self._spend = Spend(self.mechanism.name, self.mechanism.loss)
        self._threshold = self.mechanism.noisy_threshold(self.like, self._spend)
        self._stock = np.empty(0, dtype=np.int64)

    def first_pass(self, sums: BoundedSums) -> int | None:
        """Place of the first sum that passes, or None; sums behind it are left untested."""
        if not self.passes_left:
            raise PrivacyError(
                f"{self.mechanism.most} sums have passed: this stream is over.", remedy="Open and charge another one."
            )
        if sums.step != self.like.step or sums.unit != self.like.unit:
            raise PrivacyError("these sums are on another grid or for another unit than the stream was opened for.")
        if sums.linf_sensitivity > self.like.linf_sensitivity or (self.like.one_sided and not sums.one_sided):
            raise PrivacyError("these sums can change in more ways than those that the stream was opened for.")
        place = observed(self.mechanism.test(sums, self.like, self._spend), lambda: self._first(sums))
        if place is not None:
            self.passes_left -= 1
        return place

    def _first(self, sums: BoundedSums) -> int | None:
        missing = sums.values.size - self._stock.size
        if missing > 0:
            fresh = discrete_laplace(max(missing, DRAWN_AT_ONCE), self.mechanism.test_scale(self.like))
            self._stock = np.concatenate([self._stock, fresh])
        above = sums.values.reshape(-1) + self._stock[: sums.values.size] >= self._threshold
        place = int(np.argmax(above)) if above.any() else None
        tested = sums.values.size if place is None else place + 1
        self._stock = self._stock[tested:]
        return place
