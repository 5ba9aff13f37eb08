"""The model without privacy that others are compared with: which one, and fitted once for the same data."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from discreet.data.interactions import Interactions
from discreet.evaluation.evaluation import Run
from discreet.models.recommender import Recommender
from discreet.models.registry import create

__all__ = ["EASE_ITEMS", "kept_run", "reference_for"]

EASE_ITEMS = 6_000
"""Up to so many items EASE is the reference. It inverts a matrix of items × items: seconds for 6,000 items, minutes for
17,000, and more memory than most machines have for 100,000. ALS takes its place beyond."""

MOST_KEPT = 32
"""Results of references that are kept in memory."""

_KEPT: OrderedDict[str, Run] = OrderedDict()


def reference_for(data: Interactions, *, rankings: bool) -> Recommender:
    """The reference for data of this size: EASE or ALS for rankings, Biases for ratings.

    Examples
    --------
    >>> import discreet as dc
    >>> films = dc.synthetic.films(users=20, items=10, seed=7)
    >>> reference_for(films, rankings=True).name, reference_for(films, rankings=False).name
    ('ease', 'biases')
    """
    if not rankings:
        return create("biases")
    return create("ease" if data.n_items <= EASE_ITEMS else "als")


def kept_run(model: Recommender, data: Interactions, asked: Any, run: Callable[[], Run]) -> Run:
    """The result of a reference on one split, measured once for the same data, settings and questions.

    A reference has no noise, so measuring it again shows nothing new. The results are kept in this process alone.
    """
    key = json.dumps([data.fingerprint, type(model).__qualname__, model.parameters, asked], default=str)
    if key in _KEPT:
        _KEPT.move_to_end(key)
        return _KEPT[key]
    _KEPT[key] = run()
    while len(_KEPT) > MOST_KEPT:
        _KEPT.popitem(last=False)
    return _KEPT[key]
