"""Run all benchmarks with claims: ``python -m benchmarks``, or some by name: ``python -m benchmarks noise``.

Options after the names go to each of them: ``python -m benchmarks audit --kind tags``. What benchmarks with claims
found goes into docs/evidence/speed.md and README, unless options were given: then they ran with something else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from claims_page import BY_NAME, SUBJECTS, entry, keep  # noqa: E402
from harness import CLAIMS  # noqa: E402

SHARED = {"__init__", "__main__", "claims_page", "harness", "unpack"}
PLACES = {"--folder"}
"""Options that do not change what is measured."""


def main() -> int:
    known = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in SHARED)
    options = next((place for place, word in enumerate(sys.argv) if word.startswith("-")), len(sys.argv))
    chosen = sys.argv[1:options] or [name for name in SUBJECTS if name not in BY_NAME]
    given = sys.argv[options:]
    if unknown := set(chosen) - set(known):
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    failed: list[str] = []
    usual = all(word in PLACES for word in given if word.startswith("-"))
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            print(f"\n== {name}", flush=True)
            target, load, begun = Path(folder, f"{name}.json"), os.getloadavg()[0], time.perf_counter()
            command = [sys.executable, str(HERE / f"{name}.py"), *given]
            done = subprocess.run(command, env={**os.environ, CLAIMS: str(target)}, check=False)
            if done.returncode:
                failed.append(name)
            if target.exists() and usual:
                keep({name: entry(json.loads(target.read_text()), load, time.perf_counter() - begun)})
    if failed:
        print(f"\nfailed, or with a claim that does not hold: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
