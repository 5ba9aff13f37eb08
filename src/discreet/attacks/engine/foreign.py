"""Other people's models with answers as tables; their exceptions become errors of ours."""

from __future__ import annotations

import contextlib
import inspect
import io
import tempfile
import traceback
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.data.interactions import Interactions
from discreet.data.readers import write
from discreet.errors import DataError, DiscreetError, EvaluationError
from discreet.models.foreign.answers import Pair, ask_list, ask_scores, list_table, plain, score_table
from discreet.models.recommender import Recommender
from discreet.privacy.guarantees import Guarantee, Standing
from discreet.privacy.losses import Pure
from discreet.privacy.release import Release
from discreet.privacy.units import Unit

__all__ = ["ForeignModel", "as_release", "as_tables", "fit_any", "guarded", "is_foreign", "name_of", "unread_parts"]

UNKNOWN = Guarantee(Pure(Fraction(10**6)), Unit(), Standing.REFUTED, "nothing is promised", "what a model released")
"""Stands where a release must have a promise; nobody is shown it."""


def is_foreign(model: Any) -> bool:
    """Whether a model was written by somebody else: its answers may have any form."""
    return type(model).__module__.partition(".")[0] != "discreet"


def name_of(model: Any) -> str:
    """What to call a model."""
    return str(getattr(model, "name", None) or type(model).__name__)


def as_tables(model: Any) -> Any:
    """A model that answers with tables, whoever wrote it."""
    return ForeignModel(model, name_of(model)) if is_foreign(model) and not isinstance(model, Recommender) else model


def fit_any(model: Any, data: Any) -> Guarantee | None:
    """Fit a model; what it says about its privacy."""
    if not isinstance(model, Recommender):
        model.fit(data)
        return None
    model.fit(data, allow_refuted=True)
    return model.guarantee


class ForeignModel:
    """A model of somebody else, with answers as tables and exceptions as errors that name the dataset.

    It has ``fit(data)`` and some of ``predict``, ``recommend`` and ``similar_items``. ``fit`` is handed the records as
    ``Interactions``; where its argument is annotated as a data frame of pandas or polars, as one with the columns
    user_id, item_id and rating. A dataset on which it fails is kept in the folder, or in a temporary one.
    """

    def __init__(self, model: Any, name: str, folder: Path | None = None) -> None:
        self.model_ = model
        self.data_: Any = None
        self.name = name
        self._folder = folder

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "model_":
            raise AttributeError(name)
        value = getattr(self.model_, name)
        asking = {"predict": self._predict, "recommend": self._recommend, "similar_items": self._similar_items}
        return asking[name] if name in asking and isinstance(self.data_, Interactions) and callable(value) else value

    def fit(self, data: Any) -> ForeignModel:
        """Let the model learn."""
        self.data_ = data
        with guarded(f"{self.name}.fit", data, self._folder):
            self.model_.fit(_as_annotated(self.model_.fit, data))
        return self

    def _predict(self, pairs: Iterable[Pair]) -> pl.DataFrame:
        asked = list(pairs)
        return score_table(asked, self._ask("predict", ask_scores, asked))

    def _recommend(self, users: Iterable[Hashable], n: int = 10) -> pl.DataFrame:
        return self._lists("recommend", "user_id", "item_id", list(users), n)

    def _similar_items(self, items: Iterable[Hashable], n: int = 10) -> pl.DataFrame:
        return self._lists("similar_items", "item_id", "similar_id", list(items), n)

    def _lists(self, method: str, whose: str, what: str, asked: Sequence[Hashable], n: int) -> pl.DataFrame:
        return list_table([(one, self._ask(method, ask_list, one, n)) for one in asked], whose, what)

    def _ask(self, method: str, how: Callable[..., Any], *asked: Any) -> Any:
        question = f"{self.name}.{method}({asked[0]!r:.60})"
        with guarded(question, self.data_, self._folder):
            try:
                return how(getattr(self.model_, method), *asked, self.data_.items)
            except DataError as error:
                raise DataError(f"{question}: {error.what}", remedy=error.remedy) from error


def as_release(told: Any, name: str) -> Release | None:
    """What a model says it released, in its attribute ``release_``: a Release, arrays or tables by name, one array, one
    table, or numbers by item. Other parts are left out; None where none is left.
    """
    if told is None or isinstance(told, Release):
        return told
    shown = {
        f"part{place}-{_safe(key)}": part for place, (key, part) in enumerate(_parts(told).items()) if part is not None
    }
    return Release("released", UNKNOWN, name, {}, shown) if shown else None


def unread_parts(told: Any) -> list[str]:
    """The parts of a ``release_`` that no attack can look at, and what they are."""
    if told is None or isinstance(told, Release):
        return []
    given = told if isinstance(told, Mapping) else {"release_": told}
    return [f"{key} ({type(given[key]).__name__})" for key, part in _parts(told).items() if part is None]


def _parts(told: Any) -> dict[Any, Any]:
    """Arrays and tables by name; None for what is neither."""
    told = plain(told)
    if isinstance(told, Mapping) and told and all(isinstance(one, int | float | np.number) for one in told.values()):
        told = pl.DataFrame({"item_id": list(told), "released": [float(one) for one in told.values()]}, strict=False)
    parts = told if isinstance(told, Mapping) else {"release_": told}
    return {key: _part(one) for key, one in parts.items()}


def _part(told: Any) -> Any:
    told = plain(told)
    if isinstance(told, pl.DataFrame):
        return told
    array = np.asarray(told)
    return np.atleast_1d(array) if array.dtype.kind in "biuf" else None


def _safe(name: Any) -> str:
    return "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in str(name))[:40]


@contextmanager
def guarded(what: str, data: Any, folder: Path | None = None) -> Iterator[None]:
    """Code of somebody else: what it prints is not shown, what it raises becomes an error that names the dataset."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    except (DiscreetError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error}".rstrip(": ")
        kept = _kept(data, folder)
        raise EvaluationError(
            f"{what} raised {said} ({Path(where.filename).name}, line {where.lineno}).",
            remedy="" if kept is None else f'The dataset is kept in {kept}; replay with discreet.read("{kept}").',
        ) from error


def _kept(data: Any, folder: Path | None) -> Path | None:
    """Write the dataset that a model failed on; where that cannot be done, None."""
    data = getattr(data, "table", data)  # of a request for answers to queries
    try:
        place = (folder or _temporary()) / f"failed-{data.fingerprint[-12:]}.parquet"
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            write(data, place)
            place.chmod(0o600)
    except (DiscreetError, OSError, AttributeError):
        return None
    return place


@cache
def _temporary() -> Path:
    return Path(tempfile.mkdtemp(prefix="discreet-audit-"))


def _as_annotated(fit: Callable[..., Any], data: Any) -> Any:
    """The records as what ``fit`` says that it takes."""
    try:
        annotations = [str(one.annotation) for one in inspect.signature(fit).parameters.values()][:1]
    except (TypeError, ValueError):
        return data
    named = annotations[0] if annotations else ""
    if "DataFrame" not in named or not hasattr(data, "to_frame"):
        return data
    frame = data.to_frame()
    return frame if "pl." in named or "polars" in named else _pandas(frame)


def _pandas(frame: pl.DataFrame) -> Any:
    import pandas as pd

    numbers = {name: kind.is_numeric() for name, kind in frame.schema.items()}
    return pd.DataFrame({name: frame[name].to_numpy() if numbers[name] else frame[name].to_list() for name in numbers})
