"""Recommendations that keep secrets.

>>> import discreet as dc
>>> films = dc.synthetic.films(users=200, items=80, seed=7)
>>> release = dc.counting.ItemCounts(epsilon="1/2", cap=30).release(films)
>>> release.guarantee.standing.name
'PROVED'
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet import (
        attacks,
        counting,
        coupled,
        evaluation,
        factors,
        neighbors,
        pairs,
        studies,
        subsets,
        tagging,
        testing,
    )
    from discreet.attacks import audit
    from discreet.combining import combine
    from discreet.data import Interactions, Table, TagAssignments, read, splits, synthetic
    from discreet.engines.scanning import scan
    from discreet.errors import DiscreetError
    from discreet.evaluation import evaluate
    from discreet.factors import PrivateRatings, PrivateRecommender, SyntheticInteractions, draw_interactions
    from discreet.neighbors import PrivateItemKNN
    from discreet.privacy import Guarantee, Ledger, Release, Standing, Unit
    from discreet.series import Series
    from discreet.service.client import Client
    from discreet.studies import study
    from discreet.subsets import recommend_privately

__version__ = "0.3.0"

first_process = os.getpid()
"""The process that imported discreet: in a fork of it polars may not work (``privacy/charging.py``)."""

# Everything loads when it is first used: `import discreet` itself reads nothing but this file.
_HOMES = {
    "Interactions": "discreet.data",
    "Table": "discreet.data",
    "TagAssignments": "discreet.data",
    "read": "discreet.data",
    "scan": "discreet.engines.scanning",
    "splits": "discreet.data.splits",
    "synthetic": "discreet.data.synthetic",
    "Guarantee": "discreet.privacy",
    "Ledger": "discreet.privacy",
    "Release": "discreet.privacy",
    "Standing": "discreet.privacy",
    "Unit": "discreet.privacy",
    "DiscreetError": "discreet.errors",
    "PrivateItemKNN": "discreet.neighbors",
    "PrivateRatings": "discreet.factors",
    "PrivateRecommender": "discreet.factors",
    "SyntheticInteractions": "discreet.factors",
    "draw_interactions": "discreet.factors",
    "attacks": "discreet.attacks",
    "audit": "discreet.attacks",
    "combine": "discreet.combining",
    "counting": "discreet.counting",
    "coupled": "discreet.coupled",
    "neighbors": "discreet.neighbors",
    "evaluate": "discreet.evaluation",
    "evaluation": "discreet.evaluation",
    "factors": "discreet.factors",
    "study": "discreet.studies",
    "pairs": "discreet.pairs",
    "subsets": "discreet.subsets",
    "tagging": "discreet.tagging",
    "studies": "discreet.studies",
    "recommend_privately": "discreet.subsets",
    "Series": "discreet.series",
    "Client": "discreet.service.client",
    "testing": "discreet.testing",
}

__all__ = [
    "Client",
    "DiscreetError",
    "Guarantee",
    "Interactions",
    "Ledger",
    "PrivateItemKNN",
    "PrivateRatings",
    "PrivateRecommender",
    "Release",
    "Series",
    "Standing",
    "SyntheticInteractions",
    "Table",
    "TagAssignments",
    "Unit",
    "__version__",
    "attacks",
    "audit",
    "combine",
    "counting",
    "coupled",
    "draw_interactions",
    "evaluate",
    "evaluation",
    "factors",
    "neighbors",
    "pairs",
    "read",
    "recommend_privately",
    "scan",
    "splits",
    "studies",
    "study",
    "subsets",
    "synthetic",
    "tagging",
    "testing",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    module = import_module(home)
    value = module if home.endswith(f".{name}") else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
