"""The targets of fuzzing: each gets a random generator and runs one case. Only errors of discreet may be raised."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from random import Random
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np

from discreet.attacks.engine.runs import Journal
from discreet.cli.reading import TableReading
from discreet.cli.risk_page import RISK
from discreet.common.folders import MODEL, RELEASE
from discreet.common.replacing import Kind, place_for
from discreet.counting import ContextPopularity, ItemCounts, StreamingBound, TopItems
from discreet.counting.stream_folder import STREAM
from discreet.coupled import queries_from_json
from discreet.data import Interactions, RatingScale, synthetic
from discreet.data.contexts import context_of
from discreet.data.readers import detect, kind_of_file, read, write
from discreet.engines.scanning import scan
from discreet.factors import Popularity
from discreet.models.recommender import load_model
from discreet.neighbors import KNN, PrivateItemKNN
from discreet.privacy import Release, Unit
from discreet.privacy.numbers import as_fraction, as_positive, as_probability
from discreet.studies.report import REPORT
from fuzzing.damage import damaged_bytes, damaged_json, odd_text

__all__ = ["Target", "targets"]

Target = Callable[[Random], object]
STUDY = '{"tables": {"Cups of tea": []}, "charts": {"tea": {}}}'
FIXTURES = Path(__file__).parent.parent / "tests" / "data" / "readers" / "fixtures"


def targets(folder: Path) -> dict[str, Target]:
    """All targets; what they read is made in a folder first."""
    warnings.simplefilter("ignore")
    made = _Made(folder)
    return {
        **{f"read {path.name}": _files(path, read) for path in made.fixtures},
        **{f"read own {path.name}": _files(path, read) for path in made.datasets},
        **{f"scan {path.name}": _files(path, _scanned) for path in made.scanned},
        **{f"release {path.name}": _folder(path, Release.load) for path in made.releases},
        **{f"model {path.name}": _folder(path, load_model) for path in made.models},
        "stream state": _folder(made.stream, StreamingBound.resume),
        **{f"replace {kind.name} {path.name}": _replaced(path, kind) for path, kind in made.kinds},
        "audit runs": _files_of(made.runs, lambda: made.journal.read()),
        "domains": _files_of(made.domains, made.read_table),
        "numbers": _numbers,
        "queries": lambda random: queries_from_json(made.survey, _query(random)),
        "command line": lambda random: _command(made, random),
    }


class _Made:
    """Good input of every kind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(FIXTURES, folder / "fixtures")
        self.fixtures = sorted(path for path in (folder / "fixtures").iterdir() if path.is_dir())
        films = synthetic.films(users=40, items=12, seed=1)
        tags = synthetic.tags(users=20, resources=10, records=80, seed=1)
        self.survey = synthetic.survey(households=20, seed=1)
        self.datasets = [write(films, folder / f"films{ending}") for ending in (".parquet", ".arrow", "")]
        self.datasets += [write(tags, folder / "tags"), write(self.survey, folder / "survey.parquet")]
        self.datasets += [write(films, folder / "films.csv", tables=False)]
        self.scanned = [self.datasets[0], self.datasets[1], self.datasets[-1]]
        self.releases = [
            ItemCounts(epsilon=1, cap=5).release(films).save(folder / "counts"),
            TopItems(k=3, epsilon=1).release(films).save(folder / "top"),
        ]
        models = (PrivateItemKNN(epsilon=8, delta="1e-6"), ContextPopularity(epsilon=1), Popularity(), KNN(k=3))
        self.models = [model.fit(films).save(folder / f"model-{model.name}") for model in models]
        stream = StreamingBound(3, items=[f"film-{number}" for number in range(1, 13)])
        stream.add([("u", "film-1"), ("v", "film-2")])
        self.stream = stream.save(folder / "stream")
        self.domains, self.table = folder / "domains.json", folder / "table.csv"
        self.domains.write_text(
            '{"sex": ["F", "M"], "age": {"low": 0, "high": 99, "bins": [0, 18, 65]}, "zip": [1, 2]}'
        )
        self.table.write_text("sex,age,zip\nF,3,1\nM,40,2\n")
        self.kinds = [(self.releases[0], RELEASE), *((path, MODEL) for path in self.models), (self.stream, STREAM)]
        self.kinds += [(path, kind_of_file(path)) for path in self.datasets]
        for name, kind, text in (("risk.json", RISK, '{"curves": []}'), ("report.json", REPORT.kind, STUDY)):
            (folder / name[:-5]).mkdir()
            (folder / name[:-5] / name).write_text(text)
            self.kinds.append((folder / name[:-5], kind))
        game = SimpleNamespace(name="canary")
        self.journal = Journal(folder / "runs", SimpleNamespace(games=[game], key="key"))  # type: ignore[arg-type]
        self.journal.write((0, False), [np.array([1.0, np.nan])])
        self.journal.write((1, True), [np.array([2.0]), np.array([np.inf, 3.0])])
        self.runs = next((folder / "runs").iterdir())
        self.history = folder / "history.json"
        self.history.write_text('{"film-1": 5, "film-2": 3}')
        self.films: Interactions = films

    def read_table(self) -> object:
        """The table with the domains that are declared for it."""
        return TableReading(domains=self.domains).read(self.table)


# Files


@contextmanager
def _changed(path: Path, data: bytes) -> Iterator[None]:
    before = path.read_bytes()
    path.write_bytes(data)
    try:
        yield
    finally:
        path.write_bytes(before)


def _scanned(path: Path) -> object:
    """A file in two parts, all of which are read; their temporary files are removed."""
    with scan(path, items="observed", parts=2) as data:  # type: ignore[union-attr]
        return SimpleNamespace(fingerprint=data.fingerprint)


def _files(place: Path, load: Callable[[Path], object]) -> Target:
    """Read a dataset after one of its files was damaged."""
    paths = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
    known = detect(place).name

    def play(random: Random) -> object:
        path = random.choice(paths)
        damage = damaged_json if path.suffix == ".json" else damaged_bytes
        whole = path.read_bytes()
        if path.suffix == ".gz" and random.random() < 0.7:
            damaged = gzip.compress(damage(gzip.decompress(whole), random), 1)
        else:
            damaged = damage(whole, random)
        with _changed(path, damaged):
            data = load(place) if random.random() < 0.5 else read(place, format=known)
            return getattr(data, "fingerprint", None)

    return play


def _files_of(path: Path, load: Callable[[], object]) -> Target:
    """Load something after its one file was damaged."""

    def play(random: Random) -> object:
        damage = damaged_json if path.suffix == ".json" else damaged_bytes
        with _changed(path, damage(path.read_bytes(), random)):
            return load()

    return play


def _replaced(place: Path, kind: Kind) -> Target:
    """Look at whether a damaged result may be replaced; most may not."""
    paths = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]

    def play(random: Random) -> object:
        path = random.choice(paths)
        damage = damaged_json if path.suffix == ".json" else damaged_bytes
        with _changed(path, damage(path.read_bytes(), random)):
            return place_for(place, kind, overwrite=True)

    return play


def _folder(place: Path, load: Callable[[Path], object]) -> Target:
    """Load a release, a model or a state after a file was damaged, with seals and hashes made to fit in most cases."""
    paths = sorted(path for path in place.rglob("*") if path.is_file())

    def play(random: Random) -> object:
        path = random.choice(paths)
        damaged = (damaged_json if path.suffix == ".json" else damaged_bytes)(path.read_bytes(), random)
        fitting = _fitting(place, path, damaged) if random.random() < 0.8 else nullcontext()
        with _changed(path, damaged), fitting:
            return load(place)

    return play


@contextmanager
def _fitting(place: Path, path: Path, data: bytes) -> Iterator[None]:
    """Write the hash of a changed file where it is named, and seal the document again."""
    main = next(place / name for name in ("manifest.json", "model.json", "state.json") if (place / name).exists())
    try:
        text = data if path == main else main.read_bytes()
        document = json.loads(text)
        if path != main:
            document = _renamed_hash(document, path, place, hashlib.sha256(data).hexdigest())
        if isinstance(document, dict) and "id" in document:
            unsealed = {name: value for name, value in document.items() if name != "id"}
            sealed = json.dumps(unsealed, sort_keys=True, ensure_ascii=False).encode()
            document["id"] = hashlib.sha256(sealed).hexdigest()
        fitted = json.dumps(document).encode()
    except (ValueError, RecursionError, TypeError):
        fitted = main.read_bytes()
    with _changed(main, fitted):
        yield


def _renamed_hash(document: object, path: Path, place: Path, sha256: str) -> object:
    if isinstance(document, dict):
        for name, part in (document.get("parts") or document.get("tables") or {}).items():
            if path.name in (f"{name}.{part.get('type')}", part.get("file")):
                part["sha256"] = sha256
        if isinstance(document.get("files"), dict) and path.relative_to(place).as_posix() in document["files"]:
            document["files"][path.relative_to(place).as_posix()] = sha256
    return document


# Words


def _numbers(random: Random) -> object:
    read_it = random.choice((as_fraction, as_positive, as_probability, RatingScale.of, Unit.of, context_of))
    return read_it(odd_text(random))


def _query(random: Random) -> object:
    good = b'[{"age": [18, 30], "sex": "F"}, {"age": {"in": [1, 2]}}, {"age": {"ranges": [[1, 5]]}}]'
    return damaged_json(good, random).decode("utf-8", "replace") if random.random() < 0.7 else odd_text(random) or "["


def _command(made: _Made, random: Random) -> object:
    """Run the program in this process: exit codes 0 to 3, and no word of a defect."""
    word = odd_text(random)
    films, model = str(made.datasets[0]), str(made.models[0])
    out = str(made.folder / "never" / "there")
    lines = [
        ["top", str(made.releases[0]), "-k", word],
        ["top", films, "--epsilon", word, "--estimate"],
        ["top", word],
        ["count", films, "--epsilon", word, "--estimate"],
        ["count", films, "--epsilon", "1", "--delta", word, "--estimate"],
        ["count", films, "--epsilon", "1", "--estimate", "--cap", word],
        ["count", films, "--epsilon", "1", "--estimate", "--context", word],
        ["count", films, "--epsilon", "1", "--estimate", "--assume", word],
        ["count", films, "--epsilon", "1", "--estimate", "--option", word],
        ["count", films, "--epsilon", "1", "--estimate", "--scale", word],
        ["count", films, "--epsilon", "1", "--estimate", "--column", word],
        ["count", films, "--epsilon", "1", "--estimate", "--catalog", word],
        ["fit", films, "--epsilon", word, "--delta", "1e-6", "--no-ledger", "--out", str(made.releases[0])],
        ["fit", films, "--model", word, "--no-ledger", "--out", out],
        ["fit", films, "--model", "knn", "--option", f"k={word}", "--no-ledger", "--out", str(made.datasets[0])],
        ["similar", model, word],
        ["similar", model, "film-1", "-n", word],
        ["recommend", model, "--user", word],
        ["recommend", model, "--history", str(made.history), "-n", word],
        ["release", "show", word],
        ["data", "describe", word],
        ["data", "describe", films, "--format", word],
        ["data", "generate", "films", "--seed", word, "--users", "5", "--items", "3", "--out", films],
        ["context", str(made.releases[0]), "--where", word],
        ["query", str(made.datasets[4]), "--random", word, "--epsilon", "1", "--estimate"],
        ["query", str(made.datasets[4]), "--ranges", word, "--epsilon", "1", "--estimate"],
        ["tags", "release", str(made.datasets[3]), "--epsilon", word, "--estimate", "--vocabulary-public"],
        ["risk", films, "--epsilons", word, "--out", films],
        ["audit", films, "--model", "knn", "--seconds", word, "--out", films],
    ]
    line = random.choice(lines)
    document = damaged_json(made.history.read_bytes(), random) if "--history" in line else made.history.read_bytes()
    with _changed(made.history, document):
        return _run(line)


def _run(line: list[str]) -> str:
    from discreet.cli import main

    said, told = io.StringIO(), io.StringIO()
    code: object = 0
    here = os.getcwd()
    program = patch.object(sys, "argv", ["discreet", *line])
    with program, redirect_stdout(said), redirect_stderr(told), warnings.catch_warnings():
        try:
            main()
        except SystemExit as left:
            code = left.code
        finally:
            os.chdir(here)
    if code not in (0, 1, 2, 3) or "defect of discreet" in told.getvalue() or "Traceback" in told.getvalue():
        raise AssertionError(f"exit {code} of {line!r}: {told.getvalue()[:500]}")
    return told.getvalue()
