"""Run all benchmarks, one after another: ``python -m benchmarks``, or some: ``python -m benchmarks noise``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SKIPPED = {"__init__", "__main__", "unpack"}


def main() -> int:
    here = Path(__file__).parent
    known = sorted(path.stem for path in here.glob("*.py") if path.stem not in SKIPPED)
    chosen = sys.argv[1:] or known
    if unknown := set(chosen) - set(known):
        print(f"no such benchmark: {', '.join(sorted(unknown))}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    worst = 0
    for name in chosen:
        print(f"\n== {name}", flush=True)
        worst = max(worst, subprocess.run([sys.executable, str(here / f"{name}.py")], check=False).returncode)
    return worst


if __name__ == "__main__":
    sys.exit(main())
