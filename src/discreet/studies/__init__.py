"""Published experiments, run again: the papers' figures beside ours."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from discreet.data.interactions import Interactions
from discreet.data.tables import Table
from discreet.data.tags import TagAssignments
from discreet.errors import UsageError
from discreet.studies.published import published
from discreet.studies.report import Chart, Progress, StudyReport

__all__ = ["KINDS", "STUDIES", "Chart", "StudyReport", "published", "study"]

# Where each study lives; loaded when it is first asked for.
STUDIES = {
    "pncf": "discreet.studies.pncf:run",
    "ppns": "discreet.studies.ppns:run",
    "twins": "discreet.studies.twins:run",
    "sampling": "discreet.studies.sampling:run",
    "frontier": "discreet.studies.frontier:run",
    "slope-one": "discreet.studies.slope_one:run",
    "subsets": "discreet.studies.subsets:run",
    "pritop": "discreet.studies.pritop:run",
    "cim": "discreet.studies.cim:run",
}

# What a study runs on where that is not interactions. Its module has the built-in data: ``builtin(quick=…)``.
KINDS: dict[str, type] = {"pritop": TagAssignments, "cim": Table}


def study(
    name: str,
    data: Interactions | TagAssignments | Table | None = None,
    *,
    seed: int = 0,
    quick: bool = False,
    progress: Progress | None = None,
) -> StudyReport:
    """Run the experiments of a paper.

    Parameters
    ----------
    name
        Which study: one of ``STUDIES``.
    data
        What to run it on; the built-in films, or what takes their place for tags and tables, where there is nothing.
    seed
        Draws the splits and the samples. Noise of the models themselves is fresh in every run.
    quick
        A small version of everything, to see that it runs.
    progress
        Called with the share that is done, from 0 to 1, and what is being done.

    Privacy
    -------
    None: a report is for the owner of the data. It shows errors measured on the records themselves, and nothing is
    charged for it.

    Examples
    --------
    >>> import discreet as dc
    >>> dc.study("nothing")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    discreet.errors.UsageError: there is no study 'nothing'. Choose from: cim, frontier, pncf, ...
    """
    if name not in STUDIES:
        raise UsageError(f"there is no study {name!r}.", remedy=f"Choose from: {', '.join(sorted(STUDIES))}.")
    kind = KINDS.get(name, Interactions)
    if data is not None and not isinstance(data, kind):
        raise UsageError(f"the study {name} runs on {kind.__name__}, not on {type(data).__name__}.")
    module, _, attribute = STUDIES[name].partition(":")
    home = import_module(module)
    run: Callable[..., StudyReport] = getattr(home, attribute)
    if data is None and name in KINDS:
        data = home.builtin(quick=quick)
    elif data is None:
        from discreet.data import synthetic

        data = synthetic.films(seed=7)
    return run(data, seed=seed, quick=quick, progress=progress)
