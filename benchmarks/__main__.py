"""Run all benchmarks, one after another: ``python -m benchmarks``, or some: ``python -m benchmarks noise``.

Options after the names go to each of them: ``python -m benchmarks audit --kind tags``.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SKIPPED = {"__init__", "__main__", "unpack"}
BY_NAME = {"third_party", "papers", "parts", "spark", "bridges"}
"""Run when they are named: they install other libraries, need a folder of datasets, or write gigabytes of files."""


def main() -> int:
    here = Path(__file__).parent
    known = sorted(path.stem for path in here.glob("*.py") if path.stem not in SKIPPED)
    options = next((place for place, word in enumerate(sys.argv) if word.startswith("-")), len(sys.argv))
    chosen = sys.argv[1:options] or [name for name in known if name not in BY_NAME]
    if unknown := set(chosen) - set(known):
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    worst = 0
    for name in chosen:
        print(f"\n== {name}", flush=True)
        worst = max(
            worst,
            subprocess.run([sys.executable, str(here / f"{name}.py"), *sys.argv[options:]], check=False).returncode,
        )
    return worst


if __name__ == "__main__":
    sys.exit(main())
