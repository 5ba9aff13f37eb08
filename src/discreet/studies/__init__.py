"""Published experiments, run again: the papers' figures beside ours."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from discreet.errors import UsageError
from discreet.studies.report import Progress, StudyReport
from discreet.studies.study import Study, StudyData, published

__all__ = ["STUDIES", "Study", "StudyReport", "published", "study", "study_named"]

# The class of each study; loaded when it is first asked for.
STUDIES = {
    "pncf": "discreet.studies.pncf:PNCFStudy",
    "ppns": "discreet.studies.ppns:PPNSStudy",
    "ppns-assured": "discreet.studies.ppns_assured:AssuredPPNSStudy",
    "twins": "discreet.studies.twins:TwinsStudy",
    "sampling": "discreet.studies.sampling:SamplingStudy",
    "curators": "discreet.studies.curators:CuratorsStudy",
    "frontier": "discreet.studies.frontier:FrontierStudy",
    "nightly": "discreet.studies.nightly:NightlyStudy",
    "synthetic": "discreet.studies.synthetic:SyntheticStudy",
    "slope-one": "discreet.studies.slope_one:SlopeOneStudy",
    "subsets": "discreet.studies.subsets:SubsetsStudy",
    "pritop": "discreet.studies.pritop:PriTopStudy",
    "cim": "discreet.studies.cim:CIMStudy",
}


def study_named(name: str) -> Study:
    """The study with a name, one of ``STUDIES``; its ``data_kind`` says what it runs on."""
    if name not in STUDIES:
        raise UsageError(f"there is no study {name!r}.", remedy=f"Choose from: {', '.join(sorted(STUDIES))}.")
    module, _, attribute = STUDIES[name].partition(":")
    return getattr(import_module(module), attribute)()


def study(
    name: str,
    data: StudyData | None = None,
    *,
    seed: int = 0,
    quick: bool = False,
    models: Iterable[type[Any]] = (),
    progress: Progress | bool | None = None,
) -> StudyReport:
    """Run the experiments of a paper.

    Parameters
    ----------
    name
        Which study: one of ``STUDIES``.
    data
        What to run it on: interactions, tag assignments or a table. Without data, built-in data are used.
    seed
        Draws the splits and the samples. Noise of the models themselves is fresh in every run.
    quick
        A small version of everything.
    models
        Classes of recommenders of your own, beside those that the study compares: "frontier" takes them.
    progress
        Called with the share that is done, from 0 to 1, and what is being done. Without it, a bar is shown on a
        terminal and in a notebook; False shows none.

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
    discreet.errors.UsageError: there is no study 'nothing'. Choose from: cim, curators, frontier, ...
    """
    return study_named(name).run(data, seed=seed, quick=quick, models=models, progress=progress)
