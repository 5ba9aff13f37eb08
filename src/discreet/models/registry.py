"""Everything that has a name on the command line: where it is defined and what it takes.

The one place in which modules of other packages are named by strings; a module is imported when its name is first used.
Names are those of discreet, of classes that were registered (``register``), and of installed packages that declare an
entry point ``discreet.models``. A place, "package.module:Class" or "file.py:Class", imports code: only ``class_of``
takes it, for the person who typed it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

from discreet.errors import Remedy, UsageError

__all__ = [
    "REGISTRY",
    "Entry",
    "Gives",
    "class_of",
    "code_at",
    "create",
    "entries",
    "entry_of",
    "imported",
    "names",
    "register",
    "registered",
    "settings_of",
    "with_settings",
]

GROUP = "discreet.models"
"""The entry points by which installed packages give their recommenders names."""

PLACES = "Write package.module:Class or file.py:Class."

Gives = Literal["recommender", "counts", "top list", "pairs", "synthetic data", "tags", "tag recommender", "answers"]
"""What one gets: a fitted model, or a release of that kind."""

Takes = Literal["interactions", "tags", "table"]

_TAKES: dict[Gives, Takes] = {"tags": "tags", "tag recommender": "tags", "answers": "table"}


@dataclass(frozen=True)
class Entry:
    """One name.

    Parameters
    ----------
    name
        As it is typed on the command line.
    place
        "module:Class", below ``discreet``.
    gives
        What one gets from it.
    kind
        The class, where it was registered by somebody else.
    package
        The installed package that names it; empty for those of discreet and for what was registered.
    """

    name: str
    place: str
    gives: Gives
    kind: type[Any] | None = None
    package: str = ""

    @property
    def takes(self) -> Takes:
        """The data it is made from."""
        return _TAKES.get(self.gives, "interactions")

    def load(self) -> type[Any]:
        """The class."""
        if self.kind is not None:
            return self.kind
        module, _, attribute = self.place.partition(":")
        if not self.package:
            return getattr(import_module(f"discreet.{module}"), attribute)
        try:
            return _as_class(_found(module, attribute), self.place)
        except UsageError as error:
            raise UsageError(
                f"{self.name!r} of the package {self.package} cannot be loaded: {error.what}",
                remedy=f"Put {self.place} right, or remove the package.",
            ) from error


def _entries(gives: Gives, places: dict[str, str]) -> dict[str, Entry]:
    return {name: Entry(name, place, gives) for name, place in places.items()}


REGISTRY: dict[str, Entry] = {
    **_entries(
        "recommender",
        {
            "private-recommender": "factors:PrivateRecommender",
            "private-ratings": "factors:PrivateRatings",
            "ease": "factors:EASE",
            "als": "factors:ALS",
            "popularity": "factors:Popularity",
            "biases": "factors:Biases",
            "dp-als": "factors:DPALS",
            "knn": "neighbors:KNN",
            "uniform-neighbors": "neighbors:UniformNeighbors",
            "npns": "neighbors:NPNS",
            "naive-exponential": "neighbors:NaiveExponentialNeighbors",
            "pncf": "neighbors:PNCF",
            "ppns": "neighbors:PPNS",
            "ppns-assured": "neighbors:AssuredPPNS",
            "private-item-knn": "neighbors:PrivateItemKNN",
            "slope-one": "pairs:SlopeOne",
            "copurchase-cosine": "pairs:CoPurchaseCosine",
            "published-slope-one": "pairs:PublishedSlopeOne",
            "published-cosine": "pairs:PublishedCosine",
            "private-slope-one": "pairs:PrivateSlopeOne",
            "private-cosine": "pairs:PrivateCosine",
            "context-popularity": "counting:ContextPopularity",
        },
    ),
    **_entries(
        "counts",
        {
            "weighted": "counting:ItemCounts",
            "hybrid": "counting:HybridCounts",
            "sra": "counting:SRA",
            "hpa": "counting:HPA",
            "lpa": "counting:LPA",
            "dft": "counting:DFT",
            "gs": "counting:GS",
        },
    ),
    **_entries("top list", {"top-items": "counting:TopItems"}),
    **_entries("pairs", {"item-pairs": "counting:ItemPairs"}),
    **_entries("synthetic data", {"synthetic-interactions": "factors:SyntheticInteractions"}),
    **_entries(
        "tags",
        {
            "ptr-j": "tagging.ptr_j:PTRJ",
            "ptr-s": "tagging.ptr_s:PTRS",
            "ptr-t": "tagging.ptr_t:PTRT",
            "private-topics": "tagging.topics.private_topics:PrivateTopics",
            "pritop": "tagging.pritop.pritop:PriTop",
        },
    ),
    **_entries(
        "tag recommender",
        {
            "folk-rank": "tagging.recommenders.folk_rank:FolkRank",
            "popular-tags": "tagging.recommenders.baselines:PopularTags",
            "resource-tags": "tagging.recommenders.baselines:ResourceTags",
            "co-occurring-tags": "tagging.recommenders.baselines:CoOccurringTags",
            "tag-suppression": "tagging.tag_suppression:SuppressedTags",
        },
    ),
    **_entries(
        "answers",
        {
            "pmw": "coupled.pmw:PMW",
            "mwem": "coupled.mwem:MWEM",
            "histogram": "coupled.histograms:HistogramRelease",
            "shrunk-histogram": "coupled.histograms:ShrunkHistogram",
            "strategy": "coupled.strategies:FixedStrategy",
            "marginals": "coupled.marginals:MeasuredMarginals",
            "tree": "coupled.histograms:TreeMarginals",
            "lm-gs": "coupled.published.laplace:LMGS",
            "lm-cs": "coupled.published.laplace:LMCS",
            "cim": "coupled.published.cim:CIM",
        },
    ),
}


def entries() -> dict[str, Entry]:
    """Every name with its entry. Where a package names something that discreet has already, that of discreet holds."""
    return {**_installed(), **REGISTRY}


@cache
def _installed() -> dict[str, Entry]:
    """The recommenders of installed packages; nothing of them is imported for it."""
    return {
        one.name: Entry(one.name, one.value, "recommender", package=one.dist.name if one.dist else "?")
        for one in entry_points(group=GROUP)
    }


def names(gives: Gives | None = None) -> list[str]:
    """The known names, of one kind or of all.

    Examples
    --------
    >>> names("pairs")
    ['item-pairs']
    """
    return [entry.name for entry in entries().values() if gives in (None, entry.gives)]


def entry_of(name: str, gives: Gives | None = None) -> Entry:
    """The entry of a name; an unknown one, or one of another kind, is an error that lists the known ones."""
    entry = REGISTRY.get(name) or entries().get(name)
    if entry is None or gives not in (None, entry.gives):
        what = {"recommender": "model", None: "model or method"}.get(gives, f"method for {gives}")
        raise UsageError(f"there is no {what} called {name!r}.", remedy=f"Choose from: {', '.join(names(gives))}.")
    return entry


def registered(name: str, gives: Gives | None = None) -> type[Any]:
    """The class that has this name. A place such as "package.module:Class" is not a name (``class_of``)."""
    return entry_of(name, gives).load()


def register(kind: type[Any], gives: Gives = "recommender") -> type[Any]:
    """Give a class of your own a name, its ``name``: the command line, ``load_model`` and audits then know it.

    Registering the same class again changes nothing; a name that another class has is refused.
    """
    place = f"{kind.__module__}:{kind.__qualname__}"
    known = entries().get(kind.name)
    if known is not None and known.place != place and not (known.package and _same_class(known.place, place)):
        raise UsageError(f"the name {kind.name!r} is taken by {known.place}.", remedy="Choose another name.")
    REGISTRY[kind.name] = Entry(kind.name, place, gives, kind)
    return kind


def _same_class(declared: str, place: str) -> bool:
    """Whether an entry point may name a class by a package that hands it on: it is not imported to find out."""
    (first, _, name), (second, _, other) = declared.partition(":"), place.partition(":")
    return name == other and first.partition(".")[0] == second.partition(".")[0]


def class_of(name: str, gives: Gives | None = None) -> type[Any]:
    """The class of a name, or of a place: "package.module:Class", "file.py:Class".

    A place is code that is imported and run. Take it from the person at the keyboard, never from a file or a request.
    """
    return imported(name) if ":" in name else registered(name, gives)


def imported(place: str) -> type[Any]:
    """The class at "package.module:Class" or "file.py:Class"; see ``code_at``."""
    return _as_class(code_at(place), place)


def code_at(place: str, more: str = "") -> Callable[..., Any]:
    """The class or function at "package.module:Name" or "file.py:Name"; modules of the current folder are found, too.

    ``more`` says in errors what else could have been written.
    """
    where, _, name = place.rpartition(":")
    if not where or not name:
        raise UsageError(f"{place!r} is not the place of a class.", remedy=f"{PLACES} {more}".rstrip())
    file = Path(where)
    folder, module = (file.parent, file.stem) if file.suffix == ".py" else (Path(), where)
    if str(folder.resolve()) not in sys.path:
        sys.path.insert(0, str(folder.resolve()))
    return _found(module, name, more)


def _found(module: str, name: str, more: str = "") -> Callable[..., Any]:
    remedy = f"{PLACES} {more}".rstrip()
    try:
        found: Any = import_module(module)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{module}:{name} cannot be imported: there is no module {error.name!r}.", remedy=remedy
        ) from error
    except Exception as error:
        raise UsageError(
            f"{module}:{name} cannot be imported: {type(error).__name__}: {error}.", remedy=remedy
        ) from error
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise UsageError(f"{module} has no class or function {name!r}.", remedy=remedy)
    return found


def _as_class(found: Callable[..., Any], place: str) -> type[Any]:
    if not isinstance(found, type):
        raise UsageError(f"{place} is not a class.", remedy=PLACES)
    return found


def create(name: str, gives: Gives | None = None, **settings: Any) -> Any:
    """A model or method with its settings; unknown and missing settings are named in the error.

    Examples
    --------
    >>> create("weighted", "counts", epsilon="1/2", cap=30).parameters["cap"]
    30
    """
    return with_settings(registered(name, gives), settings, name)


def with_settings(kind: type[Any], settings: Mapping[str, Any], name: str = "") -> Any:
    """A class with settings; unknown and missing settings are named in the error."""
    known, name = settings_of(kind), name or kind.__name__
    if unknown := sorted(set(settings) - set(known)):
        raise UsageError(f"{name} has no setting {', '.join(unknown)}.", remedy=_settings(name, known))
    if missing := [setting for setting, required in known.items() if required and setting not in settings]:
        raise UsageError(f"{name} needs {' and '.join(missing)}.", remedy=_settings(name, known))
    return kind(**settings)


def settings_of(kind: type[Any]) -> dict[str, bool]:
    """The settings of a model or method, by name, and whether each is required."""
    if is_dataclass(kind):
        return {one.name: one.default is MISSING and one.default_factory is MISSING for one in fields(kind) if one.init}
    return {one.name: one.default is one.empty for one in inspect.signature(kind).parameters.values()}


def _settings(name: str, known: dict[str, bool]) -> Remedy:
    listed = f"Settings of {name}: {', '.join(known)}."
    return Remedy(listed, cli=f"Give --epsilon, --delta or --option NAME=VALUE. {listed}")
