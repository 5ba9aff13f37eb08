"""Risk and utility of a model over epsilon: one report for every model.

References
----------
Y. Park, A. Acharya: Differentially private recommendation systems: practical implementation and interpretation. 2011,
Definitions 5 and 6.
"""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from discreet.attacks.risk import measuring
from discreet.attacks.risk.answers import OperatingPoint
from discreet.attacks.risk.curve import RiskCurve
from discreet.common.arguments import require_share, require_whole
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.models.recommender import Recommender
from discreet.reports import BROAD, COLORS, NARROW, text_table
from discreet.reports.cards import Card
from discreet.reports.charts import styled
from discreet.reports.progress import Progress, shown_progress
from discreet.reports.theme import LIGHT

if TYPE_CHECKING:
    import altair as alt

__all__ = ["RiskReport", "risk_chart", "risk_report"]

UTILITY, LIMIT = "utility left", "any attacker at most"


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

    def headings(self) -> list[str]:
        """The columns of the printed table."""
        if len(self.curves) > 1:
            return ["ε", "utility", "±", "risk, all answers", "± ", "risk, one answer", "±  "]
        names = ["ε", "utility", "±", "risk", "from", "to"]
        return [*names, "any attacker at most"] if self.curve.proved else names

    def cells(self) -> list[list[str]]:
        """The printed table, line by line."""
        rows = []
        for place, point in enumerate(self.curve.points):
            row = [f"{point.epsilon:g}", f"{point.utility:.1%}", f"{(point.utility_high - point.utility_low) / 2:.1%}"]
            if len(self.curves) > 1:
                for curve in self.curves:
                    here = curve.points[place]
                    row += [f"{here.risk:.1%}", f"{(here.risk_high - here.risk_low) / 2:.1%}"]
            else:
                row += [f"{point.risk:.1%}", f"{point.risk_low:.1%}", f"{point.risk_high:.1%}"]
                if self.curve.proved and point.limit is not None:
                    row.append(f"{point.limit:.1%}")
            rows.append(row)
        return rows

    def __str__(self) -> str:
        return "\n".join([f"Risk and utility of {self.model}", text_table(self.headings(), self.cells())])

    def plot(self, *points: OperatingPoint) -> Any:
        """An Altair chart: risk against utility, and both over ε with bands; ``points`` are marked."""
        return styled(risk_chart(self, points))

    def _repr_html_(self) -> str:
        card, names = Card(f"Risk and utility of {self.model}", self.setting.get("data", "")), self.headings()
        card.mark("not private: for the owner of the records", "warn")
        card.table(names, self.cells(), numbers=names)
        what = "one rating" if self.secret == "rating" else "whether one record is there"
        card.text(
            f"Utility: the share of a list that stays as it is without noise. Risk: how often an attacker "
            f"({self.curve.attacker}) guesses {what}; a blind guess is right in {self.curve.chance:.0%}. Bands of "
            f"{self.curve.confidence:.0%}.",
            soft=True,
        )
        return card.html()

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
    more_epsilons: Iterable[float] = (),
    length: int = 20,
    users: int | None = None,
    targets: int = 20,
    fits: int = 5,
    seed: int = 0,
    confidence: float = 0.95,
    progress: Progress | bool | None = None,
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
    more_epsilons
        Further epsilons to try, besides those.
    length
        The length of the lists that are compared.
    users
        For how many users lists are compared; 1000 for noise on answers and 300 for released models.
    targets, fits
        For released models: how many secrets are guessed, in each of how many fits for an epsilon.
    seed
        Draws people, secrets and, for noise on answers, that noise. The noise of released models is not seeded.
    confidence
        Of the bands.
    progress
        Called with the share that is done, from 0 to 1, and what is being done. Without it, a bar is shown on a
        terminal and in a notebook; False shows none.

    Privacy
    -------
    None: the report is for the owner of the records. It is computed from them without noise, and nothing is charged.

    Notes
    -----
    Utility is 1 minus the share of a list that differs from the list of the same model without noise. Risk is how often
    an attacker who knows everything but one rating guesses it, where every value is as likely; for models that predict
    no ratings it is whether a record is there. For ``PublishedSlopeOne`` and ``PublishedCosine`` the attacker sees
    what the target is shown, as in the paper; risk is in closed form where there is one. Of released models the
    attacker sees what others are shown: their guarantee does not cover what a person sees in their own
    recommendations, which give away that person's records at any epsilon. Where the guarantee is proved, the curve has
    the limit that it sets to every attacker; games in one fit share its noise, so the band of the measured risk is
    approximate.

    Examples
    --------
    >>> from discreet.data import synthetic
    >>> from discreet.pairs import PublishedSlopeOne
    >>> films = synthetic.films(users=80, items=40, seed=7)
    >>> report = risk_report(PublishedSlopeOne(1, least_ratings=5, minimum_overlap=2), films, epsilons=[1, 10, 100])
    >>> [round(point.risk, 2) for point in report.curve.points]
    [0.26, 0.67, 1.0]
    """
    noisy = model.name in measuring.NOISY_OUTPUTS
    usual = measuring.NOISY_EPSILONS if noisy else measuring.EPSILONS
    tried = _epsilons([*(usual if epsilons is None else epsilons), *more_epsilons])
    users = users if users is not None else 1000 if noisy else 300
    for name, count in (("length", length), ("users", users), ("targets", targets), ("fits", fits)):
        require_whole(count, name)
    require_whole(seed, "seed", least=0)
    require_share(confidence, "confidence")
    started = time.monotonic()
    plan = measuring.RiskPlan(tried, length, users, targets, fits, seed, confidence)
    with shown_progress(f"risk of {model.name}", progress) as tell:
        if noisy:
            curves: tuple[RiskCurve, ...] = measuring.noisy_curves(model, data, plan, progress=tell)
            secret = "rating" if model.name == measuring.SLOPE_ONE else "record"
            standing, played = "refuted", {"users": users}
        else:
            curve, secrets, fitted = measuring.measured_curve(model, data, plan, progress=tell)
            curves, secret = (curve,), secrets.kind
            standing = None if fitted.guarantee is None else fitted.guarantee.standing.value
            played = {"users": users, "targets": secrets.places.size, "fits": fits}
    settings = {name: value for name, value in model.parameters.items() if name != "epsilon"}
    setting = {"data": data.name or repr(data), "length": length, "seed": seed, **played, "settings": settings}
    return RiskReport(model.name, secret, standing, curves, setting, seconds=time.monotonic() - started)


def _epsilons(given: Iterable[float]) -> tuple[float, ...]:
    """What is tried, by rising epsilon."""
    tried = tuple(sorted(set(given)))
    if len(tried) < 2 or not all(math.isfinite(epsilon) and epsilon > 0 for epsilon in tried):
        raise UsageError("a curve takes at least two epsilons, all above 0.")
    return tried


# The chart


def risk_chart(
    report: RiskReport, points: tuple[OperatingPoint, ...] = (), *, narrow: bool = False
) -> alt.HConcatChart | alt.VConcatChart:
    """Two panels: the risk-utility curve with the best points (the paper's Figure 2), and both over epsilon with bands.

    They stand side by side, or, ``narrow``, below each other for the width of a phone.

    Examples
    --------
    >>> from discreet.attacks.risk import RiskCurve, RiskPoint
    >>> rows = tuple(RiskPoint(e, u, u, u, r, r, r) for e, u, r in ((1, 0.1, 0.2), (5, 0.7, 0.3)))
    >>> report = RiskReport("a model", "rating", None, (RiskCurve("who knows", 0.2, rows),), {})
    >>> [len(panel["layer"]) for panel in risk_chart(report).to_dict()["hconcat"]]
    [2, 3]
    """
    import altair as alt

    rows = [
        {"series": series, "epsilon": point.epsilon, "utility": point.utility, "risk": risk, "low": low, "high": high}
        for curve in report.curves
        for point in curve.points
        for series, risk, low, high in (
            (_wrapped(curve.attacker), point.risk, point.risk_low, point.risk_high),
            (LIMIT, point.limit, point.limit, point.limit),
        )
        if risk is not None
    ]
    kept = [
        {"series": UTILITY, "epsilon": p.epsilon, "risk": p.utility, "low": p.utility_low, "high": p.utility_high}
        for p in report.curve.points
    ]
    y = alt.Y("risk:Q", title="risk: right guesses", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    x = alt.X("utility:Q", title=UTILITY, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    trade = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, color=_color(rows), order="epsilon:Q")
    left = alt.layer(trade.mark_line(strokeWidth=2), trade.mark_circle(size=28, opacity=1), *_best(points))
    over = alt.Chart(alt.Data(values=[*rows, *kept])).encode(
        x=alt.X("epsilon:Q", title="ε", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(tickCount=6)),
        y=alt.Y("risk:Q", title="share", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")),
        color=_color([*kept, *rows]),
    )
    band = over.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", title="share"), y2="high:Q")
    right = alt.layer(band, over.mark_line(strokeWidth=2), over.mark_circle(size=28, opacity=1))
    width = NARROW - 65 if narrow else (BROAD - 150) // 2
    panels = [
        panel.properties(width=width, height=260 if narrow else 300, title=title)
        for panel, title in ((left, "Risk against utility"), (right, "Over ε, with bands"))
    ]
    both = (alt.vconcat if narrow else alt.hconcat)(*panels)
    return both.resolve_scale(color="independent")


def _wrapped(text: str) -> str:
    """A name in lines that fit below a panel."""
    return "\n".join(textwrap.wrap(text, 44))


def _best(points: tuple[OperatingPoint, ...]) -> list[Any]:
    """The best points as diamonds with their epsilon."""
    import altair as alt

    rows = [{"utility": best.utility, "risk": best.risk, "label": f"ε = {best.epsilon:g}"} for best in points]
    base = alt.Chart(alt.Data(values=rows)).encode(x="utility:Q", y="risk:Q")
    label = base.mark_text(align="left", dx=9, dy=-9, fontWeight="bold").encode(text="label:N")
    return [base.mark_point(shape="diamond", size=130, filled=True, color=LIGHT["ink"]), label] if rows else []


def _color(rows: list[dict[str, Any]]) -> alt.Color:
    """Colors of the series: fixed ones for the utility and the limit, the others of the palette in their order."""
    import altair as alt

    names = list(dict.fromkeys(row["series"] for row in rows))
    fixed = {UTILITY: COLORS[0], LIMIT: COLORS[3]}
    free = iter([COLORS[1], COLORS[2], COLORS[4]])
    colors = [fixed[name] if name in fixed else next(free) for name in names]
    legend = alt.Legend(orient="bottom", columns=1, title=None, labelLimit=300, symbolOpacity=1)
    return alt.Color("series:N", scale=alt.Scale(domain=names, range=colors), legend=legend)
