"""What every recommender must do, as tests to inherit: yours can be put through them, too."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from discreet.data.interactions import Interactions
from discreet.errors import DataError, DiscreetError, PrivacyError, ReleaseError, UnknownItemsWarning, UsageError
from discreet.models.recommender import Recommender
from discreet.privacy.guarantees import Guarantee, Standing

__all__ = ["RecommenderConformance", "refuses", "two_tastes"]


def two_tastes(*, users: int = 24, items: int = 14) -> Interactions:
    """A checkerboard: even people love even items and dislike odd ones, odd people the other way round.

    Everybody rated about three fifths of the items, by a rule without chance; now and then somebody shrugs.

    Examples
    --------
    >>> two_tastes()
    Interactions('two tastes': 201 records, 24 users, 14 items, ratings 1:5:1)
    """
    rows = [
        (f"u{user}", f"i{item}", 3 if (user * item) % 7 == 1 else 5 - user % 3 // 2 if (user - item) % 2 == 0 else 1)
        for user in range(users)
        for item in range(items)
        if (user * 7 + item * 3 + user // 5) % 5 < 3
    ]
    return Interactions(rows, items=[f"i{item}" for item in range(items)], scale="1:5", name="two tastes")


class RecommenderConformance:
    """Inherit from it, give it a model, and pytest finds the rest.

    Attributes
    ----------
    deterministic
        Whether two fits on the same data give the same answers.
    reproducible
        Whether a saved and loaded model gives the answers of the model that was saved.
    keeps_records
        Whether a loaded model still knows its people; otherwise the records are attached again.
    answers_everything
        Whether every item that somebody rated has a score for everybody.
    worst_error
        The mean absolute error that predictions of the data's own ratings stay below; None to leave it open.
    fit_options
        Further arguments of ``fit``, such as ``allow_refuted=True``.

    Examples
    --------
    >>> from discreet.neighbors.knn import KNN
    >>> class TestKNN(RecommenderConformance):
    ...     def make_model(self):
    ...         return KNN(k=5)
    >>> TestKNN().test_ranks_count_from_one()
    """

    deterministic: ClassVar[bool] = True
    reproducible: ClassVar[bool] = True
    keeps_records: ClassVar[bool] = True
    answers_everything: ClassVar[bool] = True
    worst_error: ClassVar[float | None] = None
    fit_options: ClassVar[dict[str, Any]] = {}

    # What you give

    def make_model(self) -> Recommender:
        """A model that was not fitted."""
        raise NotImplementedError("make_model() returns the model to be tested.")

    def data(self) -> Interactions:
        """Records with text ids, a public catalog and a rating scale, on which fitting takes no time."""
        return two_tastes()

    # Settings

    def test_settings_survive_a_round_trip(self) -> None:
        model = self.make_model()
        config = json.loads(json.dumps(model.parameters))
        assert type(model)(**config).parameters == model.parameters

    def test_a_model_must_be_fitted_first(self) -> None:
        for use in (
            lambda model: model.recommend(["u1"]),
            lambda model: model.predict([("u1", "i1")]),
            lambda model: model.similar_items("i1"),
            lambda model: model.guarantee,
        ):
            refuses(UsageError, use, self.make_model())

    def test_a_proved_model_learns_from_nothing_and_from_one_record(self) -> None:
        """A refusal of data without records would tell them from data with one record.

        Models that prove nothing may refuse, with a ``DataError``.
        """
        promise, data = self._fitted().guarantee, self.data()
        if promise is None or promise.standing is not Standing.PROVED:
            if type(self.make_model()).needs_records:
                refuses(DataError, lambda empty: self.make_model().fit(empty, **self.fit_options), data.emptied())
            return
        one_record = data.filter(np.arange(len(data)) == 0)
        for few in (data.emptied(), one_record):
            model = self.make_model().fit(few, **self.fit_options)
            assert model.guarantee == promise
            assert model.recommend(history=self._history(), n=3)["score"].is_finite().all()

    def test_fit_returns_the_model_with_its_promise(self) -> None:
        model = self.make_model()
        assert model.fit(self.data(), **self.fit_options) is model
        assert model.guarantee is None or isinstance(model.guarantee, Guarantee)

    def test_a_refuted_promise_is_not_made_by_accident(self) -> None:
        promise = self._fitted().guarantee
        if promise is not None and promise.standing is Standing.REFUTED:
            refuses(PrivacyError, lambda data: self.make_model().fit(data), self.data())

    # Recommendations

    def test_ranks_count_from_one(self) -> None:
        best = self._fitted().recommend(self._people(), n=4)
        assert best.columns == ["user_id", "item_id", "score", "rank"]
        for _, rows in best.group_by("user_id", maintain_order=True):
            assert rows["rank"].to_list() == list(range(1, rows.height + 1))
            assert rows["score"].is_sorted(descending=True)
            assert rows["item_id"].n_unique() == rows.height

    def test_there_are_n_or_all_there_are(self) -> None:
        data, model = self.data(), self._fitted()
        whole = _counts(model.recommend(self._people(), n=data.n_items))
        for person in self._people():
            unseen = data.n_items - int(data.records_per_user[data.users.code(person)])
            assert whole.get(person, 0) == unseen if self.answers_everything else whole.get(person, 0) <= unseen
        for n in (1, 3):
            few = _counts(model.recommend(self._people(), n=n))
            assert few == {person: min(n, count) for person, count in whole.items()}

    def test_what_was_seen_is_left_out_unless_wanted(self) -> None:
        data, model = self.data(), self._fitted()
        seen = set(data.to_frame().select("user_id", "item_id").iter_rows())
        best = model.recommend(self._people(), n=data.n_items)
        assert not seen & set(best.select("user_id", "item_id").iter_rows())
        best = model.recommend(self._people(), n=data.n_items, exclude_seen=False)
        assert seen & set(best.select("user_id", "item_id").iter_rows())

    def test_recommendations_come_from_the_items_given(self) -> None:
        few = self.data().items.ids()[:3]
        best = self._fitted().recommend(self._people(), n=5, items=few, exclude_seen=False)
        assert set(best["item_id"]) <= set(few)
        assert best.height > 0

    def test_a_stranger_is_served(self) -> None:
        history = self._history()
        best = self._fitted().recommend(history=history, n=2)
        assert best.columns == ["item_id", "score", "rank"]
        assert best["rank"].to_list() == list(range(1, best.height + 1))
        assert best.height > 0
        assert not set(best["item_id"]) & set(history)
        assert self._fitted().predict(list(history), history=history).height == len(history)

    # Predictions and likeness

    def test_predictions_come_in_the_order_asked_and_on_the_scale(self) -> None:
        pairs = [(person, item) for item in self.data().items.ids()[::-1] for person in self._people()]
        table = self._fitted().predict(pairs)
        assert table.columns == ["user_id", "item_id", "score"]
        assert list(table.select("user_id", "item_id").iter_rows()) == pairs
        scale = self.data().scale
        if scale is not None:
            assert table["score"].drop_nulls().is_between(float(scale.low), float(scale.high)).all()
        assert not table["score"].is_nan().any()

    def test_predictions_stay_within_the_error(self) -> None:
        if self.worst_error is None:
            return
        rated = self.data().to_frame()
        predicted = self._fitted().predict(rated.select("user_id", "item_id").iter_rows())
        error = (predicted["score"] - rated["rating"]).abs().mean()
        assert isinstance(error, float)
        assert error <= self.worst_error

    def test_an_item_is_not_similar_to_itself(self) -> None:
        items = self.data().items.ids()[:3]
        alike = self._fitted().similar_items(items, n=4)
        assert alike.columns == ["item_id", "similar_id", "score", "rank"]
        assert (alike["item_id"] != alike["similar_id"]).all()
        assert set(alike["item_id"]) <= set(items)
        for _, rows in alike.group_by("item_id"):
            assert rows["rank"].to_list() == list(range(1, rows.height + 1))

    # Ids

    def test_unknown_ids_are_named(self) -> None:
        model, person, item = self._fitted(), self._people()[0], self.data().items.ids()[0]
        for use in (
            lambda nobody: model.recommend([person, nobody]),
            lambda nobody: model.recommend([person], items=[item, nobody]),
            lambda nobody: model.predict([(nobody, item)]),
            lambda nobody: model.predict([(person, nobody)]),
            lambda nobody: model.similar_items([item, nobody]),
        ):
            assert "no such id" in str(refuses(DataError, use, "no such id"))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            model.recommend(history={"no such id": 1})
        assert any(issubclass(one.category, UnknownItemsWarning) and "no such id" in str(one.message) for one in told)

    def test_ids_come_back_as_the_callers(self) -> None:
        data = self.data()
        frame = data.to_frame().with_columns(
            pl.Series("user_id", data.user.astype(np.int64) * 10 + 3),
            pl.Series("item_id", data.item.astype(np.int64) * 7 + 100),
        )
        numbered = Interactions(frame, items=[code * 7 + 100 for code in range(data.n_items)], scale=data.scale)
        model = self.make_model().fit(numbered, **self.fit_options)
        best = model.recommend([13, 3], n=2)
        assert set(best["user_id"]) == {13, 3}
        assert set(best["item_id"]) <= set(numbered.items.ids())
        assert model.predict([(3, 107)]).row(0)[:2] == (3, 107)
        assert set(model.similar_items(107)["similar_id"]) <= set(numbered.items.ids())

    def test_a_request_must_make_sense(self) -> None:
        model, person = self._fitted(), self._people()[0]
        refuses(UsageError, lambda n: model.recommend([person], n=n), 0)
        refuses(UsageError, lambda history: model.recommend([person], history=history), self._history())
        refuses(UsageError, lambda nobody: model.recommend(nobody), None)

    # Same question, same answer

    def test_many_at_once_are_as_one_by_one(self) -> None:
        model, people, items = self._fitted(), self._people(), self.data().items.ids()
        alone = pl.concat([model.recommend([person], n=5) for person in people])
        _same(model.recommend(people, n=5), alone)
        pairs = [(person, item) for person in people for item in items]
        alone = pl.concat([model.predict([pair]) for pair in pairs])
        _same(model.predict(pairs), alone)
        alone = pl.concat([model.similar_items(item, n=3) for item in items])
        _same(model.similar_items(items, n=3), alone)

    def test_asking_again_gives_the_same_answer(self) -> None:
        model, pairs = self._fitted(), [(person, item) for person in self._people() for item in self.data().items.ids()]
        _same(model.predict(pairs), model.predict(pairs))
        _same(model.recommend(self._people(), n=5), model.recommend(self._people(), n=5))

    def test_the_number_of_threads_makes_no_difference(self) -> None:
        answers = []
        for threads in (1, 2):
            with _threads(threads):
                model = self.make_model().fit(self.data(), **self.fit_options) if self.deterministic else self._fitted()
                answers.append(self._all_answers(model))
        for one, two in zip(*answers, strict=True):
            _same(one, two)

    # On disk

    def test_a_model_survives_the_disk(self) -> None:
        from discreet.models.recommender import load_model
        from discreet.models.registry import names

        model = self._fitted()
        with tempfile.TemporaryDirectory() as folder:
            path = model.save(Path(folder) / "model")
            refuses(ReleaseError, model.save, path)
            model.save(path, overwrite=True)
            again = load_model(path) if model.name in names("recommender") else type(model).load(path)
        assert type(again) is type(model), (
            f"what was saved is loaded as {type(again).__module__}:{type(again).__qualname__}, which is registered as "
            f"{model.name!r}. Choose another name."
        )
        assert again.parameters == model.parameters
        assert again.guarantee == model.guarantee
        assert again.items_ == model.items_
        if not self.keeps_records:
            refuses(UsageError, again.recommend, self._people())
            again.attach(self.data())
        for one, two in zip(self._all_answers(model), self._all_answers(again), strict=True):
            assert one.columns == two.columns
            if self.reproducible:
                _same(one, two)

    def test_a_folder_without_a_model_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            refuses(ReleaseError, type(self.make_model()).load, folder)

    # Helpers

    def _fitted(self) -> Recommender:
        """One fitted model for all tests of a class."""
        kept = type(self).__dict__.get("_kept")
        if kept is None:
            kept = self.make_model().fit(self.data(), **self.fit_options)
            type(self)._kept = kept  # type: ignore[attr-defined]
        return kept

    def _people(self) -> list[Any]:
        return self.data().users.ids()[1:6]

    def _history(self) -> dict[Any, float]:
        """The first records of somebody, as a stranger's history."""
        data = self.data()
        part = data.to_frame().filter(pl.col("user_id") == data.users.ids()[0]).head(3)
        rating = part["rating"] if "rating" in part.columns else [1.0] * part.height
        return dict(zip(part["item_id"], rating, strict=True))

    def _all_answers(self, model: Recommender) -> list[pl.DataFrame]:
        items = self.data().items.ids()
        return [
            model.recommend(self._people(), n=5),
            model.recommend(history=self._history(), n=5),
            model.predict([(person, item) for person in self._people() for item in items]),
            model.similar_items(items, n=3),
        ]


def refuses(error: type[DiscreetError], use: Callable[[Any], object], argument: Any) -> DiscreetError:
    """The error that a call must raise."""
    try:
        use(argument)
    except error as raised:
        return raised
    raise AssertionError(f"this should have been refused with {error.__name__}")


def _same(one: pl.DataFrame, two: pl.DataFrame) -> None:
    assert one.equals(two, null_equal=True), f"these answers differ:\n{one}\n{two}"


def _counts(best: pl.DataFrame) -> dict[Any, int]:
    return dict(best.group_by("user_id").len().iter_rows())


@contextmanager
def _threads(number: int) -> Iterator[None]:
    from numba import config, get_num_threads, set_num_threads

    before = get_num_threads()
    set_num_threads(min(number, config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]
    try:
        yield
    finally:
        set_num_threads(before)
