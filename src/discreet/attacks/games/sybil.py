"""The kNN attack: invented users who look like somebody make a recommender give away what that somebody likes.

One target at a time, a fresh model for each, and every game a second time with the target's records removed. What the
attacker gets there is what anybody could have guessed.

References
----------
J. Calandrino, A. Kilzer, A. Narayanan, E. Felten, V. Shmatikov: "You might also like": privacy risks of collaborative
filtering. IEEE S&P 2011.
Z. Lu: Privacy preserving neighbourhood-based collaborative filtering recommendation algorithms. MPhil thesis, The
University of Adelaide 2015, chapters 3 and 5 (kNN and beta-kNN attacks).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from discreet.attacks.engine.bounds import epsilon_ceiling, epsilon_lower_bound
from discreet.attacks.engine.foreign import as_tables, fit_any
from discreet.attacks.engine.making import makers_of
from discreet.attacks.games.datasets import drawn_user
from discreet.attacks.games.game import Features, GivenGame, NeighboringData, View
from discreet.attacks.games.observing import predicted
from discreet.attacks.games.reports import AttackReport, AttackRow, claimed
from discreet.attacks.games.sybil_targets import (
    Outcome,
    Sees,
    SybilTarget,
    as_features,
    check_records,
    guessed_right,
    instead,
    one_step_off,
    readable_views,
    tally,
)
from discreet.common.arguments import require_choice, require_whole
from discreet.common.arrays import Codes, Floats, Integers
from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.privacy.guarantees import Guarantee

if TYPE_CHECKING:
    from discreet.attacks.engine.targets import Fitted, Target

__all__ = ["BetaSybilAttack", "SybilAttack"]

Factory = Callable[[], Any]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class SybilAttack(GivenGame):
    """Some of somebody's ratings are known; k invented users copy them, and one of them asks for the rest.

    The observer has exactly the known ratings. The fillers occupy the observer's other places for neighbors, so that
    the observer's predictions are made of the ratings of the target, and of no other real person. Every hidden rating
    is guessed: the prediction, clipped to the scale and rounded to its step.

    Parameters
    ----------
    k
        Neighbors that the attacked model uses. An audit goes by the k of the model.
    known
        How many ratings of the target are known.
    choose
        Which: at random, those of the rarest items, or those of the most popular ones.
    fillers
        ``"shifted"``: copies with one rating one step off, so that a target who agrees with every known rating ranks
        before them; where there are no ratings, copies without one of the items. ``"copies"``: exact ones.
    beta
        There are beta·k sybils: the observer and beta·k − 1 fillers.
    sees
        What a client of the model sees: ``"ratings"`` it predicts, or the ``"list"`` it recommends; None for
        ratings where the model and the data have them.
    length
        How long a list is.
    target_first
        Whether the target and the sybils have the lowest numbers of all users, so that a model that breaks ties by the
        lower id prefers them: the most that ties can give away.

    Notes
    -----
    From a list the attacker learns which items the target has touched, not how they were rated: success is that a
    hidden item is on the observer's list.

    The bound on epsilon uses one hidden rating of each target, drawn before anything is asked, because what is read
    from one fit is not independent. It is a bound for the whole history of one user, present or absent; a guarantee
    about single ratings is not refuted by it, and a guarantee for each question covers one question.

    The list of items is public, the same with the target and without. Users have numbers in place of their ids, in the
    same order, and the sybils come last, so that "lower id first" favors the target. Times and contexts are left out.

    The guess takes a prediction for a rating. A model that centers ratings on the means of their users shifts all its
    answers by the same amount, which this attacker does not undo; that is a limit of the attacker, not a protection.

    Fits are not charged to any ledger: play it where the data are, and publish nothing but the shares.

    Examples
    --------
    >>> import discreet as dc
    >>> from discreet.neighbors import PrivateItemKNN
    >>> films = dc.synthetic.films(users=120, items=40, seed=7)
    >>> report = SybilAttack(k=5, known=4).run(lambda: PrivateItemKNN(epsilon=1), films, targets=2, seed=1)
    >>> report.rows[0].model, report.rows[0].sybils, report.rows[0].targets
    ('private-item-knn', 5, 2)
    """

    about = None

    name: str = "sybil"
    view: View = "predictions"
    k: int = 10
    known: int = 8
    choose: Literal["random", "rarest", "popular"] = "random"
    fillers: Literal["shifted", "copies"] = "shifted"
    beta: int = 1
    sees: Sees | None = None
    length: int = 10
    target_first: bool = False

    def __post_init__(self) -> None:
        for field in ("k", "known", "beta", "length"):
            require_whole(getattr(self, field), field)
        require_choice(self.choose, "choose", ("random", "rarest", "popular"))
        require_choice(self.fillers, "fillers", ("shifted", "copies"))
        require_choice(self.sees, "sees", (None, "ratings", "list"))

    @property
    def sybils(self) -> int:
        """How many users are invented."""
        return self.beta * self.k

    @property
    def needed(self) -> int:
        """How many ratings a target has at least."""
        return self.known + 1

    @property
    def fits(self) -> int:
        """How many releases with the target the attacker sees."""
        return 1

    def run(
        self,
        models: Factory | str | Mapping[str, Factory | str],
        data: Interactions,
        *,
        targets: int | Iterable[Hashable] = 20,
        seed: int = 0,
        delta: float = 0.0,
        confidence: float = 0.95,
        progress: Progress | None = None,
    ) -> AttackReport:
        """Play the game against models, and report what the attacker learns.

        Parameters
        ----------
        models
            What makes a fresh model: anything with ``fit(data)`` and ``predict(pairs)`` or ``recommend(users, n)``; or
            the name of one ("slope-one", "lenskit:ItemKNN"). Several by name.
        data
            The records. Each target costs two fits of each model.
        targets
            Ids of the users to attack, or how many to draw (fewer only where fewer have enough ratings).
        seed
            Draws targets, known ratings and fillers. The noise of private models is not seeded.
        delta, confidence
            For the bound on epsilon.
        progress
            Called with the number of fits done and of all fits.
        """
        drawn = self.draw_targets(data, targets, seed)
        named = makers_of(models)
        if not named:
            raise UsageError("there is no model to attack.")
        rows, each = [], 2 * len(drawn)
        for place, (name, factory) in enumerate(named.items()):

            def tick(done: int, place: int = place) -> None:
                if progress is not None:
                    progress(place * each + done, each * len(named))

            rows.append(self._row(name, factory, data, drawn, delta, confidence, tick))
        own = {field: value for field, value in asdict(self).items() if field not in ("name", "view")}
        settings = own | {"seed": seed, "delta": delta, "confidence": confidence, "data": data.name}
        return AttackReport(settings, tuple(rows), self.name)

    # A game of an audit

    def obstacle(self, target: Target, data: Interactions) -> str | None:
        promise = target.guarantee
        if promise is not None and (promise.unit.what, promise.unit.relation) == ("record", "add-remove"):
            return f"the guarantee is about {promise.unit}"
        if data.rating is None or data.scale is None:
            return "there are no ratings on a public scale"
        return super().obstacle(target, data)

    def datasets(self, target: Target, data: Interactions, draw: np.random.Generator) -> NeighboringData:
        attack = self._made_for(target)
        check_records(data)
        chosen = attack.prepare(data, drawn_user(data, draw, least=self.needed), draw)
        without, with_ = (chosen.dataset(data, present=present) for present in (False, True))
        records = int(data.records_per_user[chosen.target])
        return NeighboringData(without, with_, records=records, secret=(chosen, data))

    def _made_for(self, target: Target) -> Self:
        """The same attack with as many sybils as the attacked model has neighbors."""
        k = target.setting("k", self.k)
        return replace(self, k=k if isinstance(k, int) else self.k)

    def observe(self, fitted: Fitted, pair: NeighboringData) -> Features:
        chosen, data = pair.secret
        return as_features(self._ask(fitted.model, chosen, data, "ratings"))

    # Preparing

    def draw_targets(self, data: Interactions, targets: int | Iterable[Hashable], seed: int) -> list[SybilTarget]:
        """Who is attacked, what is known of them, and the sybils; see ``run``."""
        check_records(data)
        require_whole(seed, "seed", least=0)
        needed = self.needed
        if isinstance(targets, int | np.integer):
            require_whole(int(targets), "targets")
            able = np.flatnonzero(data.records_per_user >= needed)
            if able.size == 0:
                raise UsageError(f"no user has {needed} ratings, which it takes to know {self.known} and hide one.")
            codes = np.random.default_rng(seed).permutation(able)[:targets]
        else:
            ids = [targets] if isinstance(targets, str) else list(dict.fromkeys(targets))
            if not ids:
                raise UsageError("there is no target.")
            codes = data.users.encode(ids)
            for identity, count in zip(ids, data.records_per_user[codes], strict=True):
                if count < needed:
                    raise UsageError(
                        f"target {identity!r} has {count} ratings; to know {self.known} and hide one takes {needed}.",
                        remedy="Choose another target, or know fewer.",
                    )
        # Each target has its own stream: the others do not change what is drawn for one.
        return [self.prepare(data, int(code), np.random.default_rng([seed, int(code)])) for code in codes]

    def prepare(self, data: Interactions, target: int, draw: np.random.Generator) -> SybilTarget:
        """One target: which ratings are known, which one is asked for first, and the sybils."""
        begin, end = data.user_starts[target : target + 2]
        items = data.item[begin:end]
        ratings = None if data.rating is None else data.rating[begin:end].astype(np.float64)
        order = draw.permutation(items.size)
        if self.choose != "random":
            # The target counts once for each of these items, so their order is the one without the target.
            counts = data.records_per_item[items[order]]
            order = order[np.argsort(counts if self.choose == "rarest" else -counts, kind="stable")]
        known, hidden = np.sort(order[: self.known]), np.sort(order[self.known :])
        return SybilTarget(
            target=target,
            hidden=items[hidden],
            truth=None if ratings is None else ratings[hidden],
            probe=int(draw.integers(hidden.size)),
            observer=data.n_users,
            sybils=self._sybils(items[known], None if ratings is None else ratings[known], data),
            first=self.target_first,
        )

    def _sybils(
        self, items: Codes, ratings: Floats | None, data: Interactions
    ) -> tuple[Integers, Codes, Floats | None]:
        """Records of the sybils: user numbers from the first free one on (the observer), items, ratings."""
        rows = np.repeat(np.arange(self.sybils), items.size)
        columns = np.tile(np.arange(items.size), self.sybils)
        values = None if ratings is None else ratings[columns]
        if self.fillers == "shifted":
            # Filler j differs in the (j mod m)-th of the known items.
            off = (rows > 0) & (columns == rows % items.size)
            if values is not None:
                assert data.scale is not None
                values = np.where(off, one_step_off(values, data.scale), values)
            elif items.size > 1:
                rows, columns = rows[~off], columns[~off]
        return rows + data.n_users, items[columns], values

    # Playing

    def _row(
        self,
        name: str,
        factory: Factory,
        data: Interactions,
        targets: list[SybilTarget],
        delta: float,
        confidence: float,
        tick: Callable[[int], None],
    ) -> AttackRow:
        """All targets against one model, each present and absent."""
        started, promise, model, n = time.monotonic(), None, factory(), len(targets)
        sees, obstacle = self._view(model, data)
        outcomes: dict[bool, list[Outcome]] = {True: [], False: []}
        for number, target in enumerate(targets if obstacle is None else []):
            for present in (True, False):
                outcome, promise = self._play(factory, target, data, sees, present=present)
                outcomes[present].append(outcome)
                tick(2 * number + (1 if present else 2))
        figures = tally(outcomes[True], "present") | tally(outcomes[False], "absent")
        hits = (figures["hits_present"], n, figures["hits_absent"], n)
        if obstacle is None and figures["unanswered_present"] == figures["unanswered_absent"] == 1:
            others: list[Sees] = [other for other in readable_views(model, data) if other != sees]
            obstacle = f"the model answers none of these questions in its {sees}" + instead(others)
        return AttackRow(
            model=name,
            sees=sees,
            sybils=self.sybils,
            targets=n,
            hidden=sum(target.hidden.size for target in targets),
            **figures,
            epsilon_lower=epsilon_lower_bound(*hits, delta=delta, confidence=confidence),
            epsilon_ceiling=epsilon_ceiling(n, delta=delta, confidence=confidence),
            **claimed(promise, fits=self.fits),
            seconds=time.monotonic() - started,
            obstacle=obstacle,
        )

    def _play(
        self, factory: Factory, target: SybilTarget, data: Interactions, sees: Sees, *, present: bool
    ) -> tuple[Outcome, Guarantee | None]:
        """One target, present or absent: fit, ask, and what the model claims."""
        model = as_tables(factory())
        promise = fit_any(model, target.dataset(data, present=present))
        return self._ask(model, target, data, sees), promise

    def _view(self, model: Any, data: Interactions) -> tuple[Sees, str | None]:
        """What the attacker reads of a model, and why that cannot be done, where it cannot."""
        able = readable_views(model, data)
        wanted: list[Sees] = [self.sees] if self.sees else ["ratings", "list"]
        for view in wanted:
            if view in able:
                return view, None
        if "ratings" in wanted and callable(getattr(model, "predict", None)):
            reason = "the records have no ratings to guess"
        else:
            reason = f"the model shows no {' and no '.join(wanted)} to a client"
        return wanted[0], reason + instead(able)

    def _ask(self, model: Any, target: SybilTarget, data: Interactions, sees: Sees) -> Outcome:
        """What the observer is told about the hidden ratings, and how much of it is right."""
        observer = target.number(target.observer)
        if sees == "list":
            shown = model.recommend([observer], n=self.length)["item_id"].to_list()
            listed = np.isin(target.hidden, data.items.encode(shown) if shown else [])
            return Outcome(listed, np.full(target.hidden.size, bool(shown)), None, target.probe)
        answers = predicted(model, observer, data.items.decode(target.hidden), first=target.probe)
        assert data.scale is not None
        assert target.truth is not None
        answered = np.isfinite(answers)
        clipped = np.clip(np.where(answered, answers, np.nan), float(data.scale.low), float(data.scale.high))
        right = guessed_right(clipped, target.truth, data.scale) & answered
        return Outcome(right, answered, np.abs(clipped - target.truth), target.probe)


@dataclass(frozen=True, kw_only=True)
class BetaSybilAttack(SybilAttack):
    """The kNN attack with more and more sybils: beta'·k for beta' from 1 to beta + 1.

    A defense that spreads its neighbors over beta groups of k claims to cost an attacker beta·k sybils. The first row,
    with k of them, shows what the cheapest attacker gets.

    Parameters
    ----------
    beta
        The number of groups that the attacked model uses. For the others see ``SybilAttack``.
    """

    name: str = "beta-sybil"
    beta: int = 4

    def run(
        self,
        models: Factory | str | Mapping[str, Factory | str],
        data: Interactions,
        *,
        progress: Progress | None = None,
        **how: Any,
    ) -> AttackReport:
        """Play every size; one row for each model and size. The targets are the same in all of them."""
        if not isinstance(how.get("targets", 20), int | np.integer | str):
            how["targets"] = list(how["targets"])
        reports, parts = [], self.beta + 1
        settings = {field: value for field, value in asdict(self).items() if field not in ("name", "beta")}
        for part in range(parts):

            def tick(done: int, total: int, part: int = part) -> None:
                if progress is not None:
                    progress(part * total + done, parts * total)

            reports.append(SybilAttack(**settings, beta=part + 1).run(models, data, progress=tick, **how))
        rows = tuple(row for report in reports for row in report.rows)
        return AttackReport({**reports[0].settings, "beta": self.beta}, rows, self.name)
