"""``python -m fuzzing --cases 100000``: play cases in processes of their own, and print what was found."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fuzzing.playing import play

AT_ONCE = 10_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="Number of the first case.")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside is not None:
        found = play(range(given.first, given.first + given.cases), given.seed, journal=given.inside)
        print(json.dumps([vars(finding) for finding in found]))
        return 0
    return _supervise(range(given.first, given.first + given.cases), given.seed)


def _supervise(cases: range, seed: int) -> int:
    """A case that takes its process down (no memory, a crash of a library) is a finding like any other."""
    started, findings = time.monotonic(), []
    first = cases.start
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "last"
        while first < cases.stop:
            many = min(AT_ONCE, cases.stop - first)
            asked = [sys.executable, "-m", "fuzzing", "--cases", str(many), "--first", str(first), "--seed", str(seed)]
            # One thread: the cases are tiny, and several processes may fuzz at once.
            threads = {**os.environ, "POLARS_MAX_THREADS": "1"}
            done = subprocess.run([*asked, "--inside", str(journal)], stdout=subprocess.PIPE, check=False, env=threads)
            if done.returncode == 0:
                found = json.loads(done.stdout.splitlines()[-1])
                first += many
            else:
                number = int(journal.read_text() or first)
                found = [{"case": number, "target": "?", "error": f"the process ended with {done.returncode}"}]
                first = number + 1
            findings += found
            for finding in found:
                print(f"case {finding['case']} ({finding['target']}): {finding['error']}")
            spent = time.monotonic() - started
            print(f"{first - cases.start:,} cases, {len(findings)} findings, {spent:.0f} s", flush=True)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
