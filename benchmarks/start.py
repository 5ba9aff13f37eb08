"""How long the first things take: the import, help, the first answer of a model from disk, and the demo.

python -m benchmarks start           `make demo` in a fresh clone, too: it needs git, and an index of packages
python -m benchmarks start --no-clone

Each is run three times in a process of its own, and the best one counts (`make demo` once). Goals on two idle cores:
0.1 s for the import beyond that of an empty Python, 0.4 s for `discreet --help`, 1 s from loading a model to its first
answer, 30 s for the demo, 75 s for `make demo` from nothing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from harness import Claims

ROOT = Path(__file__).parent.parent
PROGRAM = "import sys; from discreet.cli import main; sys.argv[0] = 'discreet'; main()"
FIRST = """
import time
begun = time.perf_counter()
import discreet as dc
model = dc.PrivateRecommender.load({model!r})
found = model.recommend(history={history!r}, n=10)
print(time.perf_counter() - begun)
"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-clone", action="store_true", help="leave make demo from nothing out")
    options = parser.parse_args(arguments)
    claims = Claims()
    empty = best([sys.executable, "-c", "pass"])
    claims.goal("import discreet", best([sys.executable, "-c", "import discreet"]) - empty, 0.1)
    claims.goal("discreet --help", best([sys.executable, "-c", PROGRAM, "--help"]), 0.4)
    with tempfile.TemporaryDirectory() as folder:
        claims.goal("first answer of a loaded model", first_answer(Path(folder)), 1)
        claims.goal("discreet demo", best([sys.executable, "-c", PROGRAM, "demo"], times=1, cwd=folder), 30)
    if not options.no_clone:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "clone", "--quiet", str(ROOT), folder], check=True)
            claims.goal("make demo, from nothing", best(["make", "demo"], times=1, cwd=folder), 75)
    return claims.close()


def best(command: list[str], *, times: int = 3, cwd: str | None = None) -> float:
    """Seconds of the fastest run."""
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        found.append(time.perf_counter() - begun)
        if done.returncode:
            sys.exit(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")
    return min(found)


def first_answer(folder: Path) -> float:
    """Seconds from the import to the first list, in a new process; the model was saved by another one."""
    import discreet as dc

    films = dc.synthetic.films(users=6_000, items=3_700, seed=7)
    model, script = folder / "model", ""
    dc.PrivateRecommender(epsilon=1, delta="1e-6").fit(films).save(model)
    script = FIRST.format(model=str(model), history=films.items.ids()[:5])
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in range(3)
    ]
    return min(float(run.stdout.splitlines()[-1]) for run in runs)


if __name__ == "__main__":
    sys.exit(main())
