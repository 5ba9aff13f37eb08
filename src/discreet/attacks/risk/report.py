"""Risk and utility of a model over epsilon: one report for every model of ours.

References
----------
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. 2011,
Definitions 5 and 6.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.attacks.risk.curve import RiskCurve
from discreet.attacks.risk.measured import MeasuredPlan, measured_curve
from discreet.attacks.risk.noisy_outputs import Plan, noisy_output_curves
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.pairs import PublishedCosine, PublishedSlopeOne
from discreet.recommender import Recommender

__all__ = ["RiskReport", "risk_report"]

Progress = Callable[[float, str], None]


@dataclass(frozen=True)
class RiskReport:
    """Risk and utility of one model.

    Parameters
    ----------
    model
        Its name.
    secret
        What is guessed: ``"rating"`` or ``"record"``.
    standing
        Whether what the model promises is proved, as published or refuted.
    curves
        One for each attacker, the strongest first.
    setting
        How it was measured.
    seconds
        How long it took.
    """

    model: str
    secret: str
    standing: str | None
    curves: tuple[RiskCurve, ...]
    setting: dict[str, Any]
    seconds: float = field(default=0.0, compare=False)

    @property
    def curve(self) -> RiskCurve:
        """The curve of the strongest attacker."""
        return self.curves[0]

    def to_json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "secret": self.secret,
            "standing": self.standing,
            "setting": self.setting,
            "curves": [curve.to_json() for curve in self.curves],
            "seconds": self.seconds,
        }


def risk_report(
    model: Recommender,
    data: Interactions,
    *,
    epsilons: Iterable[float] | None = None,
    also: Iterable[float] = (),
    length: int = 20,
    users: int | None = None,
    targets: int = 20,
    fits: int = 5,
    seed: int = 0,
    confidence: float = 0.95,
    progress: Progress | None = None,
) -> RiskReport:
    """Measure ε-risk (Definition 5) and ε-utility (Definition 6) of a model.

    Parameters
    ----------
    model
        A model with an epsilon, not fitted; its epsilon is replaced by those to try.
    data
        The records.
    epsilons
        What to try; by default 0.1 to 1000 for noise on answers, 0.25 to 32 for released models.
    also
        Further epsilons to try, beside those.
    length
        How long the lists are whose items are compared.
    users
        Lists of so many users are compared, 1000 for noise on answers and 300 for released models.
    targets, fits
        For released models: how many secrets are guessed, in each of how many fits for an epsilon.
    seed
        Draws people, secrets and, for noise on answers, that noise. The noise of released models is not seeded.
    confidence
        Of the bands.
    progress
        Called with the share that is done, from 0 to 1, and what is being done.

    Privacy
    -------
    None: the report is for the owner of the records. It is computed from them without noise, and nothing is charged.

    Notes
    -----
    Utility is 1 minus the share of a list that differs from the list of the same model without noise. Risk is how often
    an attacker who knows everything but one rating guesses it, where every value is as likely; for models that predict
    no ratings it is whether a record is there. For ``PublishedSlopeOne`` and ``PublishedCosine`` the attacker sees
    what the target is shown, as in the paper; risk is in closed form where there is one. Of released models the
    attacker sees what others are shown: one's own screen is not covered by what they promise, and gives away one's own
    records at any epsilon. Where the promise is proved, the curve has the limit that it sets to every attacker; games
    in one fit share its noise, so the band of the measured risk is only roughly what it says.

    Examples
    --------
    >>> from discreet.data import synthetic
    >>> films = synthetic.films(users=80, items=40, seed=7)
    >>> report = risk_report(PublishedSlopeOne(least_ratings=5, minimum_overlap=2), films, epsilons=[1, 10, 100])
    >>> [round(point.risk, 2) for point in report.curve.points]
    [0.26, 0.67, 1.0]
    """
    published = isinstance(model, PublishedSlopeOne | PublishedCosine)
    usual = Plan().epsilons if published else MeasuredPlan().epsilons
    tried = _epsilons([*(usual if epsilons is None else epsilons), *also])
    _check(length=length, users=users, targets=targets, fits=fits, seed=seed, confidence=confidence)
    started, tell = time.monotonic(), progress or (lambda _share, _what: None)
    common: dict[str, Any] = {"epsilons": tried, "length": length, "seed": seed, "confidence": confidence}
    common |= {} if users is None else {"users": users}
    if isinstance(model, PublishedSlopeOne | PublishedCosine):
        plan = Plan(**common)
        curves: tuple[RiskCurve, ...] = noisy_output_curves(model, data, plan, progress=tell)
        secret = "rating" if isinstance(model, PublishedSlopeOne) else "record"
        standing, played = "refuted", {"users": plan.users}
    else:
        plan = MeasuredPlan(**common, targets=targets, fits=fits)
        curve, secrets, fitted = measured_curve(model, data, plan, progress=tell)
        curves, secret = (curve,), "rating" if secrets.ratings else "record"
        standing = None if fitted.guarantee is None else fitted.guarantee.standing.value
        played = {"users": plan.users, "targets": secrets.places.size, "fits": fits}
    settings = {name: value for name, value in model.config().items() if name != "epsilon"}
    setting = {"data": data.name or repr(data), "length": length, "seed": seed, **played, "settings": settings}
    return replace(RiskReport(model.name, secret, standing, curves, setting), seconds=time.monotonic() - started)


def _check(*, confidence: float, **counts: int | None) -> None:
    for name, count in counts.items():
        least = 0 if name == "seed" else 1
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < least):
            raise UsageError(f"{name} = {count!r} must be a whole number from {least}.")
    if not 0 < confidence < 1:
        raise UsageError(f"confidence = {confidence} must be between 0 and 1.")


def _epsilons(given: Iterable[float]) -> tuple[float, ...]:
    """What is tried, by rising epsilon."""
    tried = tuple(sorted(set(given)))
    if len(tried) < 2 or not all(math.isfinite(epsilon) and epsilon > 0 for epsilon in tried):
        raise UsageError("a curve takes at least two epsilons, all above 0.")
    return tried
