"""The audit of other people's systems: the table of third-party systems in docs/audit.md.

python -m benchmarks third_party                     everything, 60 seconds each
python -m benchmarks third_party --only ReuseKNN     some of it
python -m benchmarks third_party --seconds 180       as long for each as `discreet audit` takes

Models of implicit, LensKit and Surprise at their default settings, which guarantee nothing, and two neighbor models of
the literature (``discreet.testing.noisy_knn``) with what is claimed of them. The libraries are installed when this is
first run, into an environment of its own in the cache, never into that of the project.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import time
import venv
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "discreet"
ROOT = Path(__file__).parent.parent
# Step by step: LensKit needs torch, and takes the one that is there.
PACKAGES = [["torch==2.13.0"], ["lenskit", "implicit", "scikit-surprise"], [str(ROOT)]]
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS")

# The model, and what is claimed: ε = 1 for a unit, or nothing.
LIBRARIES = (
    "implicit:AlternatingLeastSquares",
    "implicit:ItemItemRecommender",
    "lenskit:ItemKNN",
    "lenskit:ImplicitMF",
    "surprise:KNNBasic",
    "surprise:SVD",
)
CLAIMS = {
    "RandomizedRatingsKNN (value of a rating)": ("RandomizedRatingsKNN", "record/value"),
    "RandomizedRatingsKNN (a rating)": ("RandomizedRatingsKNN", "record"),
    "ReuseKNN (value of a rating)": ("ReuseKNN", "record/value"),
    "ReuseKNN (a rating)": ("ReuseKNN", "record"),
}
# Against models that draw no noise for privacy the first games tell as much as all of them, in less time.
PLAYED = [
    f"{secret}-{view}" for secret in ("canary", "rating", "attribute") for view in ("predictions", "recommendations")
]
SYSTEMS = (*LIBRARIES, *CLAIMS)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help="names or parts of names, separated by commas")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each system")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--installed", action="store_true", help="the libraries are in this environment")
    options = parser.parse_args(arguments)
    if not options.installed:
        given = sys.argv[1:] if arguments is None else arguments
        # The project's sources, and the libraries of the other environment.
        paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        command = [environment(), __file__, "--installed", *given]
        return subprocess.run(command, env={**os.environ, "PYTHONPATH": paths}, check=False).returncode
    wanted = [name for name in SYSTEMS if options.only is None or any(part in name for part in options.only.split(","))]
    os.environ |= dict.fromkeys(ONE_THREAD, "1")
    rows: dict[str, tuple[str, ...]] = {}
    started = time.monotonic()
    with ProcessPoolExecutor(options.processes, mp_context=get_context("spawn")) as pool:
        waiting = {pool.submit(audited, name, options.seconds): name for name in wanted}
        for done in as_completed(waiting):
            rows[waiting[done]] = done.result()
            print(f"{len(rows):3}/{len(wanted)} {' | '.join(rows[waiting[done]])}", file=sys.stderr)
    print("| system | claimed | audited | verdict | by |\n| --- | --- | --- | --- | --- |")
    for name in wanted:
        print(f"| {' | '.join(rows[name])} |")
    print(f"\n{len(wanted)} systems in {time.monotonic() - started:.0f} s")
    return 0


def environment() -> str:
    """The Python of the environment with the libraries, which is made where there is none yet."""
    folder = CACHE / "third-party"
    python, done = folder / ("Scripts" if os.name == "nt" else "bin") / "python", folder / "installed"
    if not done.exists():
        print(f"installing implicit, LensKit and Surprise into {folder}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        for packages in PACKAGES:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
        done.touch()
    return str(python)


def audited(name: str, seconds: float) -> tuple[str, ...]:
    """One audit in this process: the line of the table."""
    from fractions import Fraction

    from discreet.attacks import audit
    from discreet.data import synthetic
    from discreet.models.foreign.lookup import outside
    from discreet.privacy import Guarantee, Standing, Unit
    from discreet.privacy.losses import Pure
    from discreet.testing import noisy_knn

    films = synthetic.films(users=100, items=60, seed=7)
    if name in CLAIMS:
        kind, unit = CLAIMS[name]
        model, basis, attacks = getattr(noisy_knn, kind)(epsilon=1), "claimed by its authors", "all"
        claim = Guarantee(Pure(Fraction(1)), Unit.of(unit), Standing.AS_PUBLISHED, basis, "what the model shows")
    else:
        model, claim, attacks = outside(name), None, PLAYED
    with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):  # some libraries print
        report = audit(model, films, attacks=attacks, claim=claim, seconds=seconds, processes=1)
    worst = report.worst
    claimed = "nothing" if claim is None else f"ε = 1 for {claim.unit}"
    verdict = "REFUTED" if report.refuted else worst.verdict
    views = f"{worst.game}; attacked: {', '.join(report.attacked)}"
    return name, claimed, f"ε ≥ {worst.proved.epsilon:.2f}", verdict, views


if __name__ == "__main__":
    sys.exit(main())
