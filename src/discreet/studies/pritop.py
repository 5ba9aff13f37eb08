"""Study: tagging releases, Figures 4.1 to 4.5 and Tables 4.2 and 4.3 of Zhu's thesis, with proved releases beside.

The figures themselves are not in the copy at hand; they are run again from the text, which gives some numbers. The
promise of PriTop is refuted elsewhere (``tests/refutations/test_pritop.py``).

References
----------
T. Zhu: Differential privacy and its application. PhD thesis, Deakin University 2014, section 4.5.
T. Zhu, G. Li, W. Zhou, P. Xiong, C. Yuan: Deferentially private tagging recommendation based on topic model.
PAKDD 2014.
"""

from __future__ import annotations

from discreet.data.tags import TagAssignments
from discreet.studies.pritop_claims import Found, paragraphs
from discreet.studies.pritop_figures import charts, tables
from discreet.studies.pritop_measures import MOST_CELLS, baselines, measure_ours, measure_pritop, over_topics, proved
from discreet.studies.pritop_setting import Setting, builtin, setting_of
from discreet.studies.published import published
from discreet.studies.report import Progress, StudyReport

__all__ = ["builtin", "run"]


def run(data: TagAssignments, *, seed: int = 0, quick: bool = False, progress: Progress | None = None) -> StudyReport:
    """Run Figures 4.1 to 4.5 again, and the same for the proved releases.

    Parameters
    ----------
    data
        Triples, such as a folder of HetRec 2011 or BibSonomy, or ``synthetic.listeners``. System tags go.
    seed
        Draws the posts that are left out. Noise and topics are fresh in every run.
    quick
        A few users, few topics and budgets, to see that it runs.
    progress
        Called with the share that is done and what was done.

    Privacy
    -------
    None: the report is about the triples themselves, without noise.

    Notes
    -----
    One post of each user is left out, and its tags are to be found. Published releases are read by FolkRank as they
    are; proved ones with the remaining posts of the person who asks, which that person knows anyway.
    """
    setting = setting_of(data, seed=seed, quick=quick)
    tick = _Ticks(setting, progress)
    losses, counts = over_topics(setting, tick)
    ways = (
        *baselines(setting, tick),
        *measure_pritop(setting, counts, tick),
        *measure_ours(setting, counts, tick),
    )
    found = Found(setting, losses, ways)
    return StudyReport(
        name="pritop",
        title="Releases of tagging data: PriTop, suppression, and releases that keep their promise",
        source=published("pritop")["source"],
        setting=_described(setting),
        tables=tables(found),
        charts=charts(found),
        findings=paragraphs(found),
    )


class _Ticks:
    """Progress by what was measured."""

    def __init__(self, setting: Setting, progress: Progress | None) -> None:
        fits = len({*setting.topics, setting.chosen_topics})
        ways = 6 + 2 * len(setting.published) + sum(len(proved(setting, epsilon)) for epsilon in setting.ours)
        self.whole = fits + len(setting.topics) * len(setting.losses) + ways
        self.done = 0
        self.progress = progress

    def __call__(self, what: str) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(min(1.0, self.done / self.whole), what)


def _described(setting: Setting) -> dict[str, object]:
    data = setting.data
    cells = data.n_resources * data.n_tags
    left_out = {"left out": f"PTR-J for assignments: {cells:,} cells take too long"} if cells > MOST_CELLS else {}
    return {
        "data": data.name or "triples",
        "triples": len(data),
        "posts": len(data.posts),
        "users": data.n_users,
        "users who are asked for": len(setting.questions.queries),
        "resources": data.n_resources,
        "tags": data.n_tags,
        "K": setting.chosen_topics,
        "delta of the proved releases": str(float(setting.delta)),
        "semantic loss of whole releases": f"{min(setting.sampled, data.n_users)} users, tags paired at best",
        "seed of what is left out": setting.seed,
        **left_out,
    }
