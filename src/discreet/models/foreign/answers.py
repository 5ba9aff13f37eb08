"""Answers of other people's recommenders, in whatever form they come, as tables of ids and scores."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from discreet.data.ids import IdMap
from discreet.errors import DataError

__all__ = ["ask_list", "ask_scores", "list_of", "list_table", "plain", "score_table", "scores_of"]

Scored = tuple[Any, float | None]
Pair = tuple[Hashable, Hashable]

ITEM_NAMES = ("item_id", "item", "items", "itemid", "item_ids", "iid", "id", "product_id", "movie_id")
SIMILAR_NAMES = ("similar_id", "similar", "similar_item", "neighbor", "neighbor_id")
SCORE_NAMES = (
    "score", "scores", "rating", "prediction", "predicted", "estimate", "est", "similarity", "weight", "value",
)  # fmt: skip
LENGTH_NAMES = (
    "n", "k", "N", "top_n", "topn", "top_k", "topk", "n_items", "num_items", "num", "limit", "length", "size",
)  # fmt: skip
ONE_NAMES = ("user", "user_id", "uid", "u", "userid", "item", "item_id", "iid", "i", "itemid")

FORMS = (
    "Return a table with item_id (and score), a list of ids or of (id, score) pairs, a dictionary of id: score, or an "
    "array of ids."
)


# Tables


def score_table(pairs: Sequence[Pair], scores: Sequence[float | None]) -> pl.DataFrame:
    """user_id, item_id, score; null where there is none."""
    columns = {"user_id": [user for user, _ in pairs], "item_id": [item for _, item in pairs]}
    return pl.DataFrame({**columns, "score": pl.Series(scores, dtype=pl.Float64)})


def list_table(lists: Iterable[tuple[Hashable, Sequence[Scored]]], asked: str, listed: str) -> pl.DataFrame:
    """One row for each entry of a list, best first: who was asked about, the item, its score and its rank."""
    rows = [(one, item, score, rank) for one, told in lists for rank, (item, score) in enumerate(told, start=1)]
    schema: dict[str, Any] = {asked: None, listed: None, "score": pl.Float64, "rank": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


# Asking


def ask_list(method: Callable[..., Any], asked: Hashable, n: int, items: IdMap) -> list[Scored]:
    """What ``recommend`` or ``similar_items`` lists for one user or item, best first; at most ``n``, each item once."""
    names = _parameters(method)
    length = next((name for name in names[1:] if name in LENGTH_NAMES), None)
    # A first parameter with the name of one thing takes one, any other takes several.
    first: Any = asked if names and names[0] in ONE_NAMES else [asked]
    told = method(first) if length is None else method(first, **{length: n})
    return list_of(told, asked, items)[:n]


def ask_scores(method: Callable[..., Any], pairs: Sequence[Pair], items: IdMap) -> list[float | None]:
    """What ``predict`` answers to pairs of a user and an item; None where there is no answer."""
    names = _parameters(method)
    if len(names) >= 2 and names[0] in ONE_NAMES:
        return [_number(method(user, item)) for user, item in pairs]
    return scores_of(method(list(pairs)), pairs, items)


def _parameters(method: Callable[..., Any]) -> list[str]:
    try:
        listed = inspect.signature(method).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one.name for one in listed if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]


# Lists


def list_of(told: Any, asked: Hashable, items: IdMap) -> list[Scored]:
    """A list of items with scores, where there are any, of any of the forms that libraries use.

    Examples
    --------
    >>> items = IdMap(["a", "b", "c"])
    >>> list_of(["b", "a"], "ann", items)
    [('b', None), ('a', None)]
    >>> list_of({"ann": [("b", 0.5), ("c", 1)]}, "ann", items)
    [('b', 0.5), ('c', 1.0)]
    >>> list_of((np.array(["c", "b"]), np.array([2.5, 1.0])), "ann", items)
    [('c', 2.5), ('b', 1.0)]
    """
    found: dict[Any, Scored] = {}
    for item, score in _entries(told, asked, items):
        name = _known(item, items)
        found.setdefault(name, (name, score))
    return list(found.values())


def _entries(told: Any, asked: Hashable, items: IdMap) -> list[Scored]:
    told = plain(told)
    if told is None:
        return []
    if isinstance(told, pl.DataFrame):
        return [_entry(row, items) for row in told.to_dicts()]
    if isinstance(told, Mapping):
        return _of_mapping(told, asked, items)
    if isinstance(told, np.ndarray):
        told = told.tolist() if told.ndim else [told.item()]
    if isinstance(told, str | bytes) or not isinstance(told, Iterable):
        raise DataError(f"the model answered with {type(told).__name__}, which is no list of items.", remedy=FORMS)
    return _of_sequence(told if isinstance(told, tuple) else list(told), asked, items)


def _of_sequence(told: Any, asked: Hashable, items: IdMap) -> list[Scored]:
    if isinstance(told, tuple) and len(told) == 2 and all(_is_array(plain(one)) for one in told):
        ids, scores = ([*np.ravel(plain(one))] for one in told)  # ids and scores side by side
        if len(ids) != len(scores):
            raise DataError(f"the model listed {len(ids)} items and {len(scores)} scores.", remedy=FORMS)
        return [(_scalar(item), _number(score)) for item, score in zip(ids, scores, strict=True)]
    if len(told) == 1 and not _is_pair(told[0], items) and _is_nested(told[0]):
        return _entries(told[0], asked, items)  # one list for each user that was asked about
    return [_entry(one, items) for one in told]


def _entry(one: Any, items: IdMap) -> Scored:
    if isinstance(one, Mapping):
        names = {str(name).lower(): value for name, value in one.items()}
        item = _first(names, SIMILAR_NAMES + ITEM_NAMES)
        if item is None:
            raise DataError(f"the model listed an entry without an item_id: {dict(one)!r:.100}.", remedy=FORMS)
        score = _first(names, SCORE_NAMES)
        return names[item], None if score is None else _number(names[score])
    if _is_pair(one, items):
        return _scalar(one[0]), _number(one[1])
    if _is_nested(one):
        raise DataError(f"the model listed {one!r:.100}, which is no item and no pair of item and score.", remedy=FORMS)
    return _scalar(one), None


def _of_mapping(told: Mapping[Any, Any], asked: Hashable, items: IdMap) -> list[Scored]:
    if asked in told and (len(told) == 1 or asked not in items):
        return _entries(told[asked], asked, items)
    name, scores = _first(told, ("items", "recommendations", *ITEM_NAMES)), _first(told, SCORE_NAMES)
    if name is None or any(one in items for one in told):
        found = [(item, _number(score)) for item, score in told.items()]
        return sorted(found, key=lambda one: -(-np.inf if one[1] is None else one[1]))
    if scores is None:
        return _entries(told[name], asked, items)
    return _of_sequence((np.asarray(told[name], dtype=object), np.asarray(told[scores])), asked, items)


# Scores


def scores_of(told: Any, pairs: Sequence[Pair], items: IdMap) -> list[float | None]:
    """Scores of pairs, in their order; tables and dictionaries are put into it by their ids.

    Examples
    --------
    >>> items = IdMap(["a", "b"])
    >>> scores_of([4, None], [("ann", "a"), ("ann", "b")], items)
    [4.0, None]
    >>> scores_of({("ann", "b"): 2}, [("ann", "a"), ("ann", "b")], items)
    [None, 2.0]
    """
    told = plain(told)
    if isinstance(told, pl.DataFrame):
        told = _column(told, pairs, items)
    if isinstance(told, Mapping):
        return [_number(told.get(pair, told.get(pair[1]))) for pair in pairs]
    if isinstance(told, np.ndarray):
        told = told.ravel().tolist()
    if not isinstance(told, Iterable) or isinstance(told, str | bytes):
        told = [told]
    told = [one[-1] if isinstance(one, tuple | list) and one else one for one in told]
    if len(told) != len(pairs):
        raise DataError(f"the model gave {len(told)} answers to {len(pairs)} questions.")
    return [_number(one) for one in told]


def _column(told: pl.DataFrame, pairs: Sequence[Pair], items: IdMap) -> Any:
    lower = {name.lower(): name for name in told.columns}
    score, item = _first(lower, SCORE_NAMES), _first(lower, ITEM_NAMES)
    if score is None and len(told.columns) == 1:
        return told.to_series().to_list()
    if score is None:
        raise DataError(
            f"the model's predictions have the columns {', '.join(told.columns)}.", remedy="Name one of them score."
        )
    scores = told[lower[score]].to_list()
    if item is None or len({user for user, _ in pairs}) > 1:
        return scores
    ids = [_known(one, items) for one in told[lower[item]].to_list()]
    return scores if ids == [one for _, one in pairs] else dict(zip(ids, scores, strict=True))


# Values


def plain(told: Any) -> Any:
    """Tables and columns of other libraries as polars, arrays or dictionaries."""
    kind = type(told).__module__.partition(".")[0]
    if kind == "pandas" and hasattr(told, "columns"):
        indexed = told.index.name is not None and told.index.name not in told.columns
        frame = told.reset_index() if indexed else told
        return pl.DataFrame({str(name): frame[name].tolist() for name in frame.columns}, strict=False)
    if kind == "pandas" and hasattr(told, "index") and hasattr(told, "to_dict"):
        # Scores by item, or ids with the numbers of rows.
        by_row = list(told.index) == list(range(len(told)))
        floats = getattr(told.dtype, "kind", "O") == "f"
        return told.to_dict() if floats and not by_row else told.to_numpy()
    if kind == "pandas":
        return np.asarray(told)
    if kind == "pyarrow" and hasattr(told, "column_names"):
        return pl.DataFrame(pl.from_arrow(told))
    if isinstance(told, pl.LazyFrame):
        return told.collect()
    if isinstance(told, pl.Series):
        return told.to_list()
    if kind == "torch":
        return told.detach().cpu().numpy()
    return told


def _known(item: Any, items: IdMap) -> Any:
    """An id as the records have it; services and libraries often turn numbers into text, or the reverse."""
    item = _scalar(item)
    for spelled in (item, str(item), _whole(item)):
        if spelled is not None and isinstance(spelled, Hashable) and spelled in items:
            return spelled
    raise DataError(
        f"the model listed {item!r:.80}, which is no item of the records.",
        remedy="Return the ids that the records have, not positions in a matrix.",
    )


def _whole(item: Any) -> int | None:
    if isinstance(item, float) and item.is_integer():
        return int(item)
    return int(item) if isinstance(item, str) and item.lstrip("-").isdecimal() else None


def _scalar(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _number(value: Any) -> float | None:
    """A score; None for none."""
    value = getattr(value, "est", value)  # as Surprise answers
    if isinstance(value, list | tuple | np.ndarray) and len(value) == 1:
        value = value[0]
    if value is None:
        return None
    try:
        score = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise DataError(f"the model gave {value!r:.80} where a score was expected.", remedy=FORMS) from None
    return None if np.isnan(score) else score


def _is_array(value: Any) -> bool:
    return isinstance(value, list | np.ndarray)


def _is_nested(value: Any) -> bool:
    return _is_array(value) or isinstance(value, tuple | Mapping) or plain(value) is not value


def _is_pair(value: Any, items: IdMap) -> bool:
    """Whether it is an item with its score, and not two items."""
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 2 or _is_nested(value[0]):
        return False
    score = _scalar(value[1])
    if isinstance(value, tuple) and isinstance(score, float):
        return True
    return score is None or (isinstance(score, int | float) and not (isinstance(score, int) and score in items))


def _first(named: Mapping[str, Any], wanted: Iterable[str]) -> str | None:
    return next((name for name in wanted if name in named), None)
