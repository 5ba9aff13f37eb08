"""The exponential mechanism as Zhu uses it for comparison, with global sensitivity or with RS.

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, chapter 3.
T. Zhu, Y. Ren, W. Zhou, J. Rong, P. Xiong: An effective privacy preserving algorithm for neighborhood-based
collaborative filtering. Future Generation Computer Systems 36 (2014).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.neighbors.selection.lists import Block
from discreet.neighbors.selection.strategies import WeightedStrategy
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.numbers import Rational, as_positive
from discreet.privacy.units import Unit

__all__ = [
    "NaiveExponential",
    "Sensitivity",
    "check_sensitivity",
    "log_exponential_weights",
    "pair_sensitivity",
    "sensitivity_form",
]

Matrix = NDArray[np.float64]
Sensitivity = float | Literal["lemma", "exact", "max"]

# A sensitivity of 0, which the exact form has for proportional co-ratings, leaves the exponent undefined. With this in
# its place such candidates come first, and equal ones among them with equal chance.
LEAST_SENSITIVITY = 1e-9

LOCAL = (
    "RS depends on the records: one user more takes a neighbor's chance from 2.29e-11 to 0.32, "
    "a loss of 23.36 where 0.5 was claimed at epsilon 1 (tests/refutations/test_pncf.py)"
)
SCALE = (
    "one user can move all k weights, so noise of scale 2Δ/ε on each costs k·ε/2, not ε/2 "
    "(tests/refutations/test_pncf.py)"
)
BARE = "the weights go into the prediction without noise (tests/refutations/test_pncf.py)"


@dataclass(frozen=True)
class NaiveExponential(WeightedStrategy):
    """k rounds without replacement with weight exp(ε·s/(4k·Δ)), then Laplace noise of scale 2Δ/ε on the similarities.

    Parameters
    ----------
    k
        How many neighbors.
    epsilon
        The budget as the paper divides it: half for the choice, half for the weights.
    rs
        Δ. A number: one global sensitivity for all (the papers' "DP" or GS&NM; 1 is the range of a cosine of
        ratings, 2 that of Pearson). "lemma" or "exact": RS of each pair (RS&NM). "max": the largest RS of the list.
    rs_cap
        RS is cut at this number; None for as it comes.
    laplace
        Noise on the weights: "2" for scale 2Δ/ε (equation 3.4.1), "2k" for 2kΔ/ε (Algorithm 1), None for none.

    Privacy
    -------
    Claimed: ε for one target, one user present or absent. Refuted with RS, which depends on the records. With a true
    global sensitivity the choice keeps ε/2, but the noise of equation 3.4.1 is too small by the factor k; with
    ``laplace="2k"`` no counterexample is known as long as neighbors are items, and nothing is proved here: see
    ``ShrunkPNCF`` for that. ``guarantee()`` says which of these holds for the options taken.

    Notes
    -----
    At ε = 1 and k = 40 the exponents are at most 1/160, so the choice is uniform for all anybody can tell.

    Examples
    --------
    >>> from discreet.neighbors.selection import Candidates
    >>> naive = NaiveExponential(40, epsilon=1)
    >>> naive.log_weights(Candidates(np.array([1.0, 0.0])))
    array([0.00625, 0.     ])
    """

    _: KW_ONLY
    epsilon: Rational
    rs: Sensitivity = 1.0
    rs_cap: float | None = None
    laplace: Literal["2", "2k"] | None = "2"
    name: ClassVar[str] = "naive exponential"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", as_positive(self.epsilon, "epsilon"))
        check_sensitivity(self.rs)
        if self.rs_cap is not None and self.rs_cap <= 0:
            raise UsageError(f"rs_cap = {self.rs_cap} must be above 0, or None.")
        if self.laplace not in ("2", "2k", None):
            raise UsageError(f"laplace = {self.laplace!r} is not known.", remedy='Use "2", "2k" or None.')

    @property
    def sensitivity_form(self) -> Literal["lemma", "exact"] | None:
        return sensitivity_form(self.rs)

    def guarantee(self) -> Guarantee:
        errors = self._errors()
        return Guarantee(
            loss=Pure(as_positive(self.epsilon)),
            unit=Unit("user"),
            standing=Standing.REFUTED if errors else Standing.AS_PUBLISHED,
            basis="; ".join(errors) or "one constant sensitivity for all candidates",
            subject="the neighbors of one target with their weights",
            not_covered=("further targets, each of which costs as much again", "ratings of neighbors who are users"),
        )

    def _errors(self) -> list[str]:
        """What breaks the claim under these options."""
        errors = [] if isinstance(self.rs, int | float) else [LOCAL]
        if self.laplace is None:
            errors.append(BARE)
        elif self.laplace == "2" and self.k > 1:
            errors.append(SCALE)
        return errors

    def _sensitivity(self, block: Block) -> Matrix:
        return pair_sensitivity(block, self.rs, self.rs_cap)

    def _log_weights(self, block: Block) -> Matrix:
        return self._exponents(block, block.similarity)

    def _exponents(self, block: Block, scores: Matrix) -> Matrix:
        return log_exponential_weights(block, scores, self._sensitivity(block), k=self.k, epsilon=float(self.epsilon))

    def _noise_scale(self, block: Block) -> Matrix:
        if self.laplace is None:
            return np.zeros(block.similarity.shape)
        factor = 2 if self.laplace == "2" else 2 * self.k
        return factor * self._sensitivity(block) / float(self.epsilon)


def pair_sensitivity(block: Block, rs: Sensitivity, cap: float | None) -> Matrix:
    """Δ of every cell of a block."""
    if isinstance(rs, int | float):
        values = np.full(block.similarity.shape, float(rs))
    elif block.sensitivity is None:
        raise UsageError(
            f"rs = {rs!r} needs the sensitivity of every pair.",
            remedy="Give Candidates(similarity, sensitivity), or a global sensitivity as a number.",
        )
    elif rs == "max":
        values = np.broadcast_to(block.sensitivity.max(axis=1, initial=0.0)[:, None], block.similarity.shape)
    else:
        values = block.sensitivity
    return values if cap is None else np.minimum(values, cap)


def log_exponential_weights(block: Block, scores: Matrix, sensitivity: Matrix, *, k: int, epsilon: float) -> Matrix:
    """Exponents ε·score/(4k·Δ); −∞ where nobody is present."""
    exponents = epsilon * np.where(block.present, scores, 0.0) / (4 * k * np.maximum(sensitivity, LEAST_SENSITIVITY))
    return np.where(block.present, exponents, -np.inf)


def check_sensitivity(rs: Sensitivity) -> None:
    if isinstance(rs, bool) or (isinstance(rs, int | float) and not 0 < rs < np.inf):
        raise UsageError(f"rs = {rs} must be above 0.")
    if not isinstance(rs, int | float) and rs not in ("lemma", "exact", "max"):
        raise UsageError(f"rs = {rs!r} is not known.", remedy='Use "lemma", "exact", "max" or a number.')


def sensitivity_form(rs: Sensitivity) -> Literal["lemma", "exact"] | None:
    """The form of RS that pairs must come with."""
    if isinstance(rs, int | float):
        return None
    return "exact" if rs == "exact" else "lemma"
