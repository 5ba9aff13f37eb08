"""Whole evaluations of models: split, fit, recommend, measure, compare.

References
----------
D. Liang, R. Krishnan, M. Hoffman, T. Jebara: Variational autoencoders for collaborative filtering. WWW 2018 (strong
generalization, and the recall that is used here).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from discreet.common.arguments import require_choice
from discreet.data import splits as cutting
from discreet.data.interactions import Interactions
from discreet.errors import EvaluationError, Remedy, UsageError
from discreet.evaluation.catalog import evaluate_catalog
from discreet.evaluation.checks import check_lengths, check_number
from discreet.evaluation.contestants import contestants_of, described, fresh, label_of
from discreet.evaluation.evaluation import Evaluation, Run
from discreet.evaluation.ranking import evaluate_ranking
from discreet.evaluation.ratings import evaluate_ratings
from discreet.evaluation.reference import kept_run, reference_for
from discreet.evaluation.scores import Scores
from discreet.models.likes import liked_records
from discreet.models.recommender import Recommender
from discreet.models.registry import names
from discreet.privacy.charging import sandbox
from discreet.privacy.numbers import Rational
from discreet.reports.progress import Progress, shown_progress

__all__ = ["RATING_PROTOCOLS", "Questions", "evaluate", "run_model", "strong_generalization"]

RANKINGS = "strong-generalization"

RANKS = Remedy("Try protocol='strong-generalization', for models that rank.", cli="Try without --protocol.")
RATES = Remedy("A model of ratings: protocol='holdout'.", cli="A model of ratings: --protocol holdout.")

LISTED_USERS = 1_000
"""The number of users that a model of ratings makes lists for, to measure the catalog."""

MOST_TEST_USERS = 10_000
TENTH = 0.1
"""The share of the records that ``holdout`` tests on, and the share that it leaves for tuning."""


def evaluate(
    model: Any,
    data: Interactions,
    *,
    epsilons: Iterable[Rational] | None = None,
    protocol: str = "strong-generalization",
    k: int | Iterable[int] = (20, 100),
    splits: int = 3,
    seed: int = 0,
    test_users: int | None = None,
    fold_in: float = 0.8,
    least_likes: int = 5,
    positive: Rational | None = None,
    reference: Recommender | str | None = "auto",
    progress: Progress | bool | None = None,
) -> Evaluation:
    """Measure one or several models on splits of the same records, compared with a model without privacy.

    Parameters
    ----------
    model
        A model, a list of models, or a mapping of names to models. A model is an object, a class, or the name of one
        ("private-recommender"; "lenskit:ItemKNN" of another library). Each split fits a new copy with the same
        settings; whether they were fitted before makes no difference. A model of another library, or any object with
        ``fit(data)`` and ``recommend(users, n)`` or ``predict(pairs)``, is fitted on the training records together
        with those records of the test users that it may know.
    data
        The records.
    epsilons
        Budgets: each model that has one is evaluated with each of them.
    protocol
        ``"strong-generalization"``: rankings for users that the model was not fitted on. Ratings from ``positive`` on
        are likes; users with at least ``least_likes`` likes are included; ``test_users`` of them are held out; the
        model gets a share ``fold_in`` of their likes, the rest is predicted. ``"holdout"``: ratings; a random tenth of
        the records is predicted, another tenth is left for tuning, the rest trains. ``"all-but-one"``: ratings; one
        random record of each user is predicted. ``"leave-one-out"``: ratings; the latest record of each user is (a
        random one where there are no times).
    k
        List lengths.
    splits, seed
        Number of splits, with the seeds ``seed``, ``seed + 1`` …
    test_users
        Number of held-out users; None for a tenth of them, 10,000 at most.
    positive
        As in the models: None for three quarters of the way up the scale.
    reference
        The model without privacy to compare with, or its name; "auto" for EASE, or ALS where there are more than 6,000
        items (rankings), or Biases (ratings), if any model is private; None for no comparison. It is fitted once for
        the same data and splits, and remembered while the process lives.
    progress
        Called with the share that is done and with what is being done. Without it, a bar with the time left is shown on
        a terminal and in a notebook; False shows none.

    Returns
    -------
    Evaluation
        Prints as one table, compares models user by user (``compare``), draws itself (``plot``) and is saved as a page
        (``save("page.html")``). recall@k is hits over min(k, held out), as in Liang et al.; popularity@k is the mean
        percentile of popularity of the recommended items, 1 for the most popular item.

    Privacy
    -------
    Nothing is charged, and nothing made here can be released: models are fitted in a sandbox and discarded. **The
    figures are functions of the secret records, computed without noise.** They are for the owner of the data; no
    guarantee covers their publication, or settings that were chosen by them.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=300, items=60, seed=7)
    >>> found = evaluate(dc.factors.Popularity(), films, k=10, splits=2)
    >>> 0 < found["recall@10"] < 1
    True
    >>> found.to_frame().columns
    ['model', 'split', 'metric', 'value']
    """
    if not isinstance(data, Interactions):
        raise UsageError(f"models are evaluated on Interactions, not on {type(data).__name__}.")
    require_choice(protocol, "protocol", (RANKINGS, *RATING_PROTOCOLS), error=EvaluationError)
    lengths = sorted(check_lengths(k))
    check_number(splits, name="splits", what="a number of splits")
    check_number(least_likes, name="least_likes", what="a number of likes")
    if isinstance(reference, str):
        require_choice(reference, "reference", ("auto", *names("recommender")), error=EvaluationError)
    rankings = protocol == RANKINGS
    if test_users is not None and not rankings:
        raise UsageError(f"test_users= is for strong generalization; {protocol} asks about all users.")
    contestants = contestants_of(model, epsilons)
    wanted = contestants_of(reference).popitem()[1] if isinstance(reference, str) and reference != "auto" else reference
    runs: dict[str, list[Run]] = {name: [] for name in contestants}
    chosen: str | None = None
    added: dict[str, Recommender] = {}
    with shown_progress("evaluating", progress) as tell:
        steps = _Steps(tell, splits, len(contestants))
        for number in range(splits):
            questions = (
                strong_generalization(data, seed + number, test_users, fold_in, least_likes, positive)
                if rankings
                else RATING_PROTOCOLS[protocol](data, seed + number)
            )
            for name, pattern in contestants.items():
                steps.next(number, name)
                runs[name].append(run_model(name, fresh(pattern), questions, lengths))
            if number == 0:
                chosen, added = _reference(wanted, contestants, runs, data, rankings=rankings)
                runs |= {name: [] for name in added}
                steps.models += len(added)
            for name, pattern in added.items():
                steps.next(number, name)
                asked = (protocol, seed + number, test_users, fold_in, least_likes, str(positive), lengths)
                measure = partial(run_model, name, fresh(pattern), questions, lengths)
                runs[name].append(kept_run(pattern, data, asked, measure))
        tell(1.0, "done")
    return Evaluation(
        protocol=protocol,
        dataset=data.name,
        items=data.n_items,
        runs={name: tuple(done) for name, done in runs.items()},
        reference=chosen,
        described={name: described(pattern) for name, pattern in {**contestants, **added}.items()},
    )


@dataclass
class _Steps:
    """How much of an evaluation is done."""

    tell: Progress
    splits: int
    models: int
    done: int = 0

    def next(self, split: int, name: str) -> None:
        self.tell(min(1.0, self.done / (self.splits * self.models)), f"split {split + 1} of {self.splits}, {name}")
        self.done += 1


def _reference(
    wanted: Recommender | str | None,
    contestants: Mapping[str, Any],
    runs: Mapping[str, list[Run]],
    data: Interactions,
    *,
    rankings: bool,
) -> tuple[str | None, dict[str, Recommender]]:
    """The name of the reference, and the models that must be fitted for it."""
    if wanted is None or (wanted == "auto" and all(done[0].guarantee is None for done in runs.values())):
        return None, {}
    model = reference_for(data, rankings=rankings) if isinstance(wanted, str) else wanted
    for name, pattern in contestants.items():
        if type(pattern) is type(model) and described(pattern) == described(model):
            return name, {}
    return label_of(model), {label_of(model): model}


# Models


def run_model(name: str, model: Any, questions: Questions, lengths: list[int]) -> Run:
    """Fit a model in a sandbox, and ask it the questions of one split."""
    ours = isinstance(model, Recommender)
    with sandbox():
        begun = time.perf_counter()
        if ours:
            model.fit(questions.for_model(model)[0], allow_refuted=True)
        else:
            model.fit(questions.known)
        fitted = time.perf_counter()
        scores = ask_model(name, model, questions, lengths)
    return Run(scores, model.guarantee if ours else None, fitted - begun, time.perf_counter() - fitted)


# Measuring


def ask_model(name: str, model: Any, questions: Questions, lengths: list[int]) -> Scores:
    """Ask a fitted model the questions of one split."""
    ask = _ask_for_rankings if questions.rankings else _ask_for_ratings
    return ask(name, model, questions, lengths)


def _ask_for_rankings(name: str, model: Any, questions: Questions, lengths: list[int]) -> Scores:
    lists = _lists(name, model, questions.for_model(model)[1], max(lengths))
    if lists is None or not len(lists):
        raise EvaluationError(f"{name} recommends nothing to anybody.", remedy=RATES)
    found = evaluate_ranking(lists, held_out=questions.held_out, k=lengths, metrics=["truncated_recall", "ndcg"])
    values = {metric.replace("truncated_", ""): value for metric, value in found.values.items()}
    per_user = found.per_user
    assert per_user is not None
    per_user = per_user.rename({column: column.replace("truncated_", "") for column in per_user.columns})
    return Scores({**values, **_shown(lists, questions.train, lengths[0])}, found.counts, per_user)


def _ask_for_ratings(name: str, model: Any, questions: Questions, lengths: list[int]) -> Scores:
    held_out, train = questions.held_out, questions.train
    if not callable(getattr(model, "predict", None)):
        raise EvaluationError(f"{name} predicts no ratings.", remedy=RANKS)
    items = model.items_ if isinstance(model, Recommender) else train.items
    known = held_out.to_frame().filter(
        pl.Series((train.users.encode(held_out.users.series, unknown="mark") >= 0)[held_out.user])
        & pl.Series((items.encode(held_out.items.series, unknown="mark") >= 0)[held_out.item])
    )
    predicted = model.predict(known.select("user_id", "item_id").iter_rows())
    if predicted["score"].null_count() == predicted.height:
        raise EvaluationError(f"{name} predicts no ratings.", remedy=RANKS)
    found = evaluate_ratings(predicted, held_out=held_out, missing="skip")
    values = {metric: found[metric] for metric in ("rmse", "mae", "coverage")}
    asked = train.users.ids()[:: max(1, math.ceil(train.n_users / LISTED_USERS))]
    if not callable(getattr(model, "recommend", None)):
        return Scores(values, found.counts, found.per_user)
    lists = model.recommend(asked, n=lengths[0])
    return Scores({**values, **_shown(lists, train, lengths[0])}, found.counts, found.per_user)


def _lists(name: str, model: Any, told: Interactions, n: int) -> pl.DataFrame:
    """Recommendations for users that the model was not fitted on, given some of their records."""
    people = told.users.ids()
    if not isinstance(model, Recommender):
        if not callable(getattr(model, "recommend", None)):
            raise EvaluationError(f"{name} makes no lists.", remedy=RATES)
        return model.recommend(people, n=n)
    try:
        return model.attach(told).recommend(people, n=n)
    except UsageError:
        # Models that keep their own records take new users one by one.
        frame = told.to_frame().filter(told.items.take(told.item).is_in(model.items_.series.implode()))
        if "rating" not in frame.columns:
            frame = frame.with_columns(rating=pl.lit(1.0))
        tables = [
            model.recommend(history=dict(zip(part["item_id"], part["rating"], strict=True)), n=n).select(
                pl.lit(who[0]).alias("user_id"), pl.all()
            )
            for who, part in frame.group_by("user_id", maintain_order=True)
        ]
        return pl.concat(tables)


def _shown(lists: pl.DataFrame, train: Interactions, k: int) -> dict[str, float]:
    """Coverage of the catalog and popularity of the recommended items."""
    found = evaluate_catalog(lists, trained_on=train, k=k)
    return {
        f"catalog@{k}": found[f"catalog_coverage@{k}"],
        f"popularity@{k}": found[f"popularity_percentile@{k}"],
    }


# Splits


@dataclass(frozen=True, eq=False)
class Questions:
    """One split: records to fit the model on, records of the test users that it gets at use, and records to predict.

    What is predicted is a ranking where ``rankings``, otherwise ratings. Models that tell likes from the rest by
    themselves are fitted on ``rated``, all ratings of the people in ``train``, and told ``rated_told``.
    """

    train: Interactions
    told: Interactions
    held_out: Interactions
    rankings: bool = False
    rated: Interactions | None = None
    rated_told: Interactions | None = None

    def for_model(self, model: Any) -> tuple[Interactions, Interactions]:
        """What a model is fitted on, and what it is told about the test users."""
        if self.rated is None or self.rated_told is None or not getattr(model, "takes_all_ratings", False):
            return self.train, self.told
        return self.rated, self.rated_told

    def with_ratings(self, data: Interactions) -> Questions:
        """The same, with the ratings that these people have in the data."""
        if data.rating is None:
            return self
        told, fitted = self.told, np.isin(data.user, data.users.encode(self.train.users.series, unknown="mark"))
        user = data.users.encode(told.users.series, unknown="mark").astype(np.int64)[told.user]
        item = data.items.encode(told.items.series, unknown="mark").astype(np.int64)[told.item]
        pairs = data.user.astype(np.int64) * data.n_items + data.item
        known = np.isin(pairs, (user * data.n_items + item)[(user >= 0) & (item >= 0)])
        return replace(
            self, rated=data.filter(fitted, independent=True), rated_told=data.filter(known, independent=True)
        )

    @cached_property
    def known(self) -> Interactions:
        """All records that a model may know, in one dataset: for models that cannot be told records later."""
        if self.told is self.train:
            return self.train
        frame = pl.concat([self.train.to_frame(), self.told.to_frame()], how="vertical_relaxed")
        return Interactions(
            frame, items=self.train.items.series, scale=self.train.scale, duplicates="last", name=self.train.name
        )


def strong_generalization(
    data: Interactions,
    seed: int,
    test_users: int | None,
    fold_in: float,
    least_likes: int,
    positive: Rational | None,
) -> Questions:
    """Test users are held out, and the model gets a share of what they like; those it is fitted on have all ratings."""
    likes = liked_records(data, positive)
    likes = likes.filter((likes.records_per_user >= least_likes)[likes.user], independent=True)
    number = min(MOST_TEST_USERS, math.ceil(likes.n_users / 10)) if test_users is None else test_users
    if not 1 <= number < likes.n_users:
        some = f"{number:,} of {likes.n_users:,} users with {least_likes} likes cannot be held out."
        told = some if likes.n_users else f"no user has {least_likes} likes, so that nobody can be held out."
        remedy = "Give more records, fewer test_users, or lower least_likes or positive."
        raise EvaluationError(told, remedy=Remedy(remedy, cli="Give more records, or fewer --test-users."))
    cut = cutting.strong_generalization(likes, held_out_users=number, fold_in=fold_in, seed=seed)
    return Questions(cut.train, cut.fold_in, cut.target, rankings=True).with_ratings(data)


def holdout(data: Interactions, seed: int) -> Questions:
    """A random tenth of the records is tested, another tenth is left for tuning."""
    tenth = int(TENTH * len(data))
    if tenth < 1:
        raise EvaluationError(f"a tenth of {len(data)} records cannot be held out.", remedy="Give more records.")
    part = np.zeros(len(data), dtype=np.int64)
    order = cutting.seeded(seed, "holdout").permutation(len(data))
    part[order[:tenth]], part[order[tenth : 2 * tenth]] = 1, 2
    train = data.filter(part == 0)
    return Questions(train, train, data.filter(part == 1))


def all_but_one(data: Interactions, seed: int) -> Questions:
    """One random record of each user is tested."""
    cut = cutting.all_but_one(data, seed=seed)
    return Questions(cut.train, cut.train, cut.test)


def leave_one_out(data: Interactions, seed: int) -> Questions:
    """The latest record of each user is tested, a random one where there are no times."""
    cut = cutting.leave_one_out(data, without_times="random", seed=seed)
    return Questions(cut.train, cut.train, cut.test)


RATING_PROTOCOLS: Mapping[str, Callable[[Interactions, int], Questions]] = {
    "holdout": holdout,
    "all-but-one": all_but_one,
    "leave-one-out": leave_one_out,
}
