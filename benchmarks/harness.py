"""What benchmarks share: environments of peers, measurements in processes of their own, and claims.

Peers run these files, too, in environments without discreet: it is imported where it is used.
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import os
import resource
import subprocess
import sys
import venv
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "discreet"
CLAIMS = "DISCREET_CLAIMS"
"""The variable of the environment that names the file into which claims are written."""

# What to install for each peer, step by step. LensKit needs torch, and takes the one that is there.
PEERS = {
    "diffprivlib": [["diffprivlib", "scikit-learn==1.6.*"]],  # with later ones it cannot be imported
    "dp_accounting": [["dp-accounting"]],
    "implicit": [["implicit"]],
    "lenskit": [["torch==2.13.0"], ["lenskit", "pandas"]],
    "opendp": [["opendp[mbi,polars]"]],
    "pipeline_dp": [["pipeline-dp"]],
    "sparse_dot_topn": [["sparse_dot_topn"]],
    "surprise": [["scikit-surprise", "pandas"]],
    "tomotopy": [["tomotopy", "numpy"]],
}
# Every library has its own word for it.
THREAD_LIMITS = (
    "LK_NUM_BACKEND_THREADS", "LK_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS", "RAYON_NUM_THREADS",
)  # fmt: skip
# Memory that polars and Arrow have freed goes back at once, and not in the midst of the fit.
PROMPT_RELEASE = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0",
}
LARGE = 25_000_000, 162_000, 59_000


# Claims


@dataclass(frozen=True)
class Claim:
    """A figure of ours beside that of a peer, and how many times as good it is claimed to be."""

    what: str
    peer: str
    ours: float
    theirs: float
    unit: str
    less_is_better: bool
    least: float = 1.0

    @property
    def ratio(self) -> float:
        """How many times as good as the peer."""
        over, under = (self.theirs, self.ours) if self.less_is_better else (self.ours, self.theirs)
        return over / under if under else math.inf

    @property
    def holds(self) -> bool:
        return self.ratio >= self.least


@dataclass
class Claims:
    """What a benchmark found; :meth:`close` prints it and gives the exit code."""

    rows: list[Claim] = field(default_factory=list)

    def seconds(self, what: str, peer: str, ours: float, theirs: float, least: float = 1.0) -> None:
        """Two durations."""
        self.rows.append(Claim(what, peer, ours, theirs, "s", less_is_better=True, least=least))

    def rate(self, what: str, peer: str, ours: float, theirs: float, unit: str, least: float = 1.0) -> None:
        """Two numbers of which the larger one is better: things a second, recall."""
        self.rows.append(Claim(what, peer, ours, theirs, unit, less_is_better=False, least=least))

    def error(self, what: str, peer: str, ours: float, theirs: float, unit: str, least: float = 1.0) -> None:
        """Two numbers of which the smaller one is better: errors, memory."""
        self.rows.append(Claim(what, peer, ours, theirs, unit, less_is_better=True, least=least))

    def goal(self, what: str, found: float, most: float, unit: str = "s") -> None:
        """A number that must not be above a goal."""
        self.rows.append(Claim(what, "goal", found, most, unit, less_is_better=True))

    def close(self) -> int:
        """Print all claims, write them where the runner wants them; 1 if one does not hold."""
        width = max((len(row.what) for row in self.rows), default=0)
        print()
        for row in self.rows:
            told = f"{figure(row.ours)} {row.unit} against {figure(row.theirs)} ({row.peer})"
            judged = "holds" if row.holds else "DOES NOT HOLD"
            print(f"{row.what:<{width}}  {told:<48}{row.ratio:>9.2f} ×, claimed ≥ {row.least:g}: {judged}")
        if target := os.environ.get(CLAIMS):
            Path(target).write_text(json.dumps([asdict(row) for row in self.rows]))
        return 0 if all(row.holds for row in self.rows) else 1


def figure(value: float) -> str:
    """A number with three digits that count."""
    if value == 0 or not math.isfinite(value):
        return "∞" if value == math.inf else f"{value:g}"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


# Environments and processes


def interpreter(peer: str) -> Path:
    """The interpreter of a peer's environment, which is made if it is not there yet."""
    folder = CACHE / "peers" / f"{peer}-{sys.version_info.major}.{sys.version_info.minor}"
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        print(f"installing {peer} into {folder}", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        for packages in PEERS[peer]:
            subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True, capture_output=True)
        done.touch()
    return python


class UnmeasuredError(Exception):
    """A measurement ended with an error."""


def measured(file: str, who: str, options: Iterable[object], *, threads: int, peer: str | None = None) -> Any:
    """Run ``file --measure who`` in a process of its own, in a peer's environment if one is named: its last line."""
    try:
        python = interpreter(peer) if peer else Path(sys.executable)
    except subprocess.CalledProcessError as error:
        raise UnmeasuredError(f"{peer} could not be installed") from error
    environment = os.environ | dict.fromkeys(THREAD_LIMITS, str(threads)) | PROMPT_RELEASE
    command = [python, "-W", "ignore", file, "--measure", who, *options]
    done = subprocess.run([str(part) for part in command], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        reason = done.stderr.strip().splitlines() or ["no reason given"]
        raise UnmeasuredError(f"{who} could not be measured: {reason[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


# Memory


def forget_peak() -> float:
    """Bytes in use now; the peak counts from here where the system can do that."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL(None).malloc_trim(0)  # what is free belongs to nobody's data
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return peak_memory()
    return status("VmRSS")


def peak_memory() -> float:
    """Most bytes that were in use."""
    try:
        return status("VmHWM")
    except OSError:
        # It counts what the starting process had, too; there is no better number on other systems.
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)


def status(name: str) -> float:
    """A number of bytes from what Linux tells of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return float(line.split()[1]) * 1024
    raise OSError(name)


# Data


def large(records: int) -> Any:
    """A synthetic dataset of the shape of MovieLens-25M, or smaller."""
    from discreet.data import synthetic

    share = records / LARGE[0]
    users, items = math.ceil(LARGE[1] * share), math.ceil(LARGE[2] * math.sqrt(share))
    return synthetic.films(users=users, items=items, records=records, seed=7)
