"""Answers to all pairs of attributes of a table, beside MST and AIM (OpenDP with mbi) and histograms of diffprivlib.

python -m benchmarks answers

People with eight activities, yes or no; asked are the counts of all 28 pairs, 112 numbers. MST and AIM get ρ = 1/64 of
zero-concentrated privacy and ours the (ε, δ) that follows from it for δ = 10⁻⁶; diffprivlib releases one histogram of
all 256 cells with ε = ½, which is ε = 1 for a row that is replaced by another one, and ours gets ε = 1 with δ = 0.
Theirs hide whether a row is there, ours what is in it, which takes more noise: MST and AIM have the easier task. Errors
are roots of mean squares over answers and runs, in people; times are those of a release with its answers, after one to
warm up. Each has a process of its own. Claimed: smaller errors, and faster than MST and AIM; the plain histogram of
diffprivlib takes less time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from harness import Claims, UnmeasuredError, measured

ROWS, ATTRIBUTES = 21_574, 8
RHO, DELTA = "1/64", "1e-6"
OURS_NORMAL, OURS_PURE = "discreet", "discreet, δ = 0"
PEERS = {
    "MST": ("opendp", "OpenDP with mbi: MST", OURS_NORMAL, 1, 1.0),
    "AIM": ("opendp", "OpenDP with mbi: AIM", OURS_NORMAL, 1, 1.0),
    "diffprivlib": ("diffprivlib", "diffprivlib: histogram", OURS_PURE, 20, 0.1),
}
"""Of each: environment, title, whom it is compared with, how many runs are measured, the claim about time."""

Codes = NDArray[np.int32]
Answers = NDArray[np.float64]
NAMES = [f"a{place}" for place in range(ATTRIBUTES)]
PAIRS = list(combinations(range(ATTRIBUTES), 2))


def of_cells(cells: NDArray[np.float64]) -> Answers:
    """The answers that follow from counts of all cells."""
    kept = [tuple(axis for axis in range(ATTRIBUTES) if axis not in pair) for pair in PAIRS]
    return np.concatenate([cells.sum(axis=others).ravel() for others in kept])


def exact(codes: Codes) -> Answers:
    cells = np.zeros((2,) * ATTRIBUTES)
    np.add.at(cells, tuple(codes.T), 1)
    return of_cells(cells)


def ours(codes: Codes, delta: str) -> Callable[[], Answers]:
    from discreet.coupled import MeasuredMarginals, all_marginals
    from discreet.data import Table
    from discreet.privacy.losses import Concentrated

    columns = {name: codes[:, place] for place, name in enumerate(NAMES)}
    table = Table(columns, domains=dict.fromkeys(NAMES, range(2)))
    workload = all_marginals(table, 2)
    epsilon = 1 if delta == "0" else Concentrated(Fraction(RHO)).epsilon_at(Fraction(delta))
    return lambda: MeasuredMarginals(epsilon, delta).release(table, workload).table("answers")["answer"].to_numpy()


def of_opendp(codes: Codes, algorithm: str) -> Callable[[], Answers]:
    import polars as pl

    dp = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib")
    frame = pl.LazyFrame({name: codes[:, place] for place, name in enumerate(NAMES)})

    def answered() -> Answers:
        context = dp.Context.compositor(
            data=frame,
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(rho=float(Fraction(RHO))),
            split_evenly_over=1,
        )
        chosen = getattr(dp.mbi, algorithm)()
        table = context.query().contingency_table(keys={name: [0, 1] for name in NAMES}, algorithm=chosen).release()
        # Each attribute has a third value, for what is in none of its keys.
        return np.concatenate(
            [np.asarray(table.project((NAMES[a], NAMES[b])))[:2, :2].ravel() for a, b in PAIRS], dtype=np.float64
        )

    return answered


def of_diffprivlib(codes: Codes) -> Callable[[], Answers]:
    from diffprivlib.tools import histogramdd  # pyright: ignore[reportMissingImports]

    ranges = [(-0.5, 1.5)] * ATTRIBUTES
    return lambda: of_cells(histogramdd(codes, epsilon=0.5, bins=2, range=ranges)[0])


def measure(who: str, dataset: Path, repeats: int) -> dict[str, float]:
    """The best time and the error over all runs."""
    codes = np.load(dataset)
    jobs: dict[str, Callable[[], Callable[[], Answers]]] = {
        OURS_NORMAL: lambda: ours(codes, DELTA),
        OURS_PURE: lambda: ours(codes, "0"),
        "MST": lambda: of_opendp(codes, "MST"),
        "AIM": lambda: of_opendp(codes, "AIM"),
        "diffprivlib": lambda: of_diffprivlib(codes),
    }
    job, truth, times, squares = jobs[who](), exact(codes), [], []
    for _ in range(1 + repeats):
        begun = time.perf_counter()
        found = job()
        times.append(time.perf_counter() - begun)
        squares.append(float(np.square(found - truth).mean()))
    return {"seconds": min(times[1:]), "error": float(np.sqrt(np.mean(squares)))}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--dataset", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--repeats", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(measure(options.measure, options.dataset, options.repeats)))
        return 0

    from discreet.data import synthetic

    table = synthetic.disabilities(rows=ROWS, activities=ATTRIBUTES, seed=7)
    claims = Claims()
    with tempfile.TemporaryDirectory() as folder:
        dataset = Path(folder) / "codes.npy"
        np.save(dataset, np.column_stack([table.codes[name] for name in table.domains]).astype(np.int32))

        def run(who: str, peer: str | None, repeats: int) -> dict[str, float]:
            return measured(__file__, who, ["--dataset", dataset, "--repeats", repeats], threads=2, peer=peer)

        found = {who: run(who, None, 20) for who in (OURS_NORMAL, OURS_PURE)}
        for name in options.peers:
            peer, title, beside, repeats, least = PEERS[name]
            try:
                theirs = run(name, peer, repeats)
            except UnmeasuredError as error:
                print(error)
                continue
            what = f"all pairs of {ATTRIBUTES} attributes{beside.partition('discreet')[2]}"
            claims.seconds(what, title, found[beside]["seconds"], theirs["seconds"], least)
            claims.error(f"{what}: error", title, found[beside]["error"], theirs["error"], "people")
    return claims.close()


if __name__ == "__main__":
    sys.exit(main())
