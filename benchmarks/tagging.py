"""Which method for tags: recall among ten by what is protected and by ε, on synthetic tags.

python benchmarks/tagging.py            1,500 users, 300 resources, 300 tags: about two minutes on two cores
python benchmarks/tagging.py --quick    one run of each, 300 users: no judgment

One post of each user is held out, and its tags are to be found among ten. Every release is read together with the
remaining tags of the person who asks. What is protected is the whole user, one assignment, or which tag was chosen (all
posts are public); a release that protects assignments at ε/2 protects the choice of a tag at ε, because a tag that is
replaced is one assignment less and another one more.
"""

from __future__ import annotations

import argparse
import sys
import time
from fractions import Fraction
from typing import NamedTuple

import numpy as np

import discreet as dc
from discreet.evaluation.tags import PostQuestions, evaluate_tags, leave_one_post_out
from discreet.models.registry import create
from discreet.tagging import FolkRank, OwnTags

DELTA = "1e-6"
EPSILONS = (Fraction(1, 2), Fraction(1), Fraction(5, 2))


class Row(NamedTuple):
    """A method, what it protects, and the part of ε that it is run with."""

    protects: str
    label: str
    name: str
    settings: dict[str, object]
    part: Fraction = Fraction(1)


ROWS = (
    Row("user", "`ptr-j`", "ptr-j", {"delta": DELTA}),
    Row("user", "`ptr-j`, δ = 0", "ptr-j", {}),
    Row("user", "`ptr-s` (a table)", "ptr-s", {"delta": DELTA}),
    Row("assignment", "`ptr-j`, δ = 0", "ptr-j", {"unit": "assignment"}),
    Row("which tag", "`ptr-t` (a table)", "ptr-t", {"delta": DELTA}),
    Row("which tag", "`ptr-j` for assignments at ε/2, δ = 0", "ptr-j", {"unit": "assignment"}, Fraction(1, 2)),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    started = time.perf_counter()
    data = dc.synthetic.tags(users=300 if quick else 1_500, resources=300, seed=7).cleaned()
    data = dc.TagAssignments(data.to_frame()).with_vocabulary("observed").with_resources("observed")
    questions = leave_one_post_out(data, seed=0)

    print(f"{data}\n")
    print("| protected | method | " + " | ".join(f"ε = {float(epsilon):g}" for epsilon in EPSILONS) + " |")
    print("| --- | --- |" + " --- |" * len(EPSILONS))
    for row in ROWS:
        found = [measured(row, questions, epsilon, 1 if quick else 2) for epsilon in EPSILONS]
        print(f"| {row.protects} | {row.label} | " + " | ".join(f"{value:.3f}" for value in found) + " |", flush=True)
    for name, model in (("own tags alone", OwnTags()), ("FolkRank on the true triples", FolkRank())):
        recall = evaluate_tags(model, questions)["recall@10"]
        print(f"| – | {name} | " + " | ".join([f"{recall:.3f}"] * len(EPSILONS)) + " |")
    print(f"\n{time.perf_counter() - started:.0f} s")
    return 0


def measured(row: Row, questions: PostQuestions, epsilon: Fraction, runs: int) -> float:
    method = create(row.name, "tags", epsilon=epsilon * row.part, **row.settings)
    return float(np.mean([evaluate_tags(method, questions)["recall@10"] for _ in range(runs)]))


if __name__ == "__main__":
    sys.exit(main())
