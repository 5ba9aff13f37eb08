"""Published experiments, run again: the papers' figures beside ours."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from discreet.data.interactions import Interactions
from discreet.errors import UsageError
from discreet.studies.published import published
from discreet.studies.report import Chart, Progress, StudyReport

__all__ = ["STUDIES", "Chart", "StudyReport", "published", "study"]

# Where each study lives; loaded when it is first asked for.
STUDIES = {
    "pncf": "discreet.studies.pncf:run",
    "ppns": "discreet.studies.ppns:run",
    "twins": "discreet.studies.twins:run",
    "sampling": "discreet.studies.sampling:run",
    "frontier": "discreet.studies.frontier:run",
    "slope-one": "discreet.studies.slope_one:run",
    "subsets": "discreet.studies.subsets:run",
}


def study(
    name: str, data: Interactions | None = None, *, seed: int = 0, quick: bool = False, progress: Progress | None = None
) -> StudyReport:
    """Run the experiments of a paper.

    Parameters
    ----------
    name
        Which study: one of ``STUDIES``.
    data
        The records to run it on; the built-in films where there are none.
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
    discreet.errors.UsageError: there is no study 'nothing'. Choose from: frontier, pncf, ppns, ...
    """
    if name not in STUDIES:
        raise UsageError(f"there is no study {name!r}.", remedy=f"Choose from: {', '.join(sorted(STUDIES))}.")
    if data is not None and not isinstance(data, Interactions):
        raise UsageError(f"a study runs on Interactions, not on {type(data).__name__}.")
    module, _, attribute = STUDIES[name].partition(":")
    run: Callable[..., StudyReport] = getattr(import_module(module), attribute)
    if data is None:
        from discreet.data import synthetic

        data = synthetic.films(seed=7)
    return run(data, seed=seed, quick=quick, progress=progress)
