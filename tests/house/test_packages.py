"""Which package may import which, and which files may draw random numbers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent

METHOD = {"data", "privacy", "models", "common"}
"""What a package of methods may import."""

STUDY = METHOD | {"reports"}
"""What packages that use methods may import: they find methods in the registry of ``models``."""

ALLOWED: dict[str, set[str]] = {
    "common": set(),
    "data": {"common"},
    "privacy": {"data", "common"},
    "models": {"data", "privacy", "common"},
    "reports": {"common"},
    "neighbors": METHOD,
    "pairs": METHOD,
    "subsets": METHOD,
    "counting": METHOD,
    "tagging": METHOD,
    "coupled": METHOD,
    "factors": METHOD,
    "series": METHOD,
    "engines": METHOD,
    "combining": METHOD | {"series"},
    "evaluation": STUDY,
    "attacks": STUDY | {"evaluation"},
    "studies": STUDY | {"evaluation", "attacks", "series", "combining"},
    "testing": METHOD,
    "board": STUDY,
}
"""Package: the packages that it may import, in functions, for type checkers and by the name of a module, too.

``cli`` and ``service`` may import everything; nothing imports ``cli``, and nothing but ``cli`` imports ``service``.
``errors.py`` is free for all.
"""

SUBJECTS: dict[str, str] = {
    "studies/cim": "coupled",
    "studies/pncf": "neighbors",
    "studies/ppns": "neighbors",
    "studies/pritop": "tagging",
    "studies/sampling": "counting",
    "studies/subsets": "subsets",
    "studies/synthetic": "factors",
    "studies/twins": "neighbors",
    "attacks/engine/queries": "coupled",
    "attacks/games/tables": "coupled",
    "combining/tables": "coupled",
    "privacy/showing": "reports",
}
"""How a file begins: the one package of methods that it is about, and may import beside what its package may.

A study measures the inside of the mechanism of its paper: its strategies, laws, similarity lists. Attacks on answers
to queries choose the queries and the coupling, which are types of ``coupled``; several curators agree on queries and
couplings, and one file of ``combining`` writes them down. Guarantees, releases and statements are
shown in notebooks by one file of ``privacy`` that may import ``reports``. What is only fitted or released is found
in the registry, here too (docs/architecture.md).
"""

REGISTRY = ("models/registry.py", "models/recommender.py")
"""The files that may name modules of every package in strings."""


@cache
def texts() -> dict[str, str]:
    """The text of every source file, by its path below ``src/discreet``."""
    return {path.relative_to(SOURCE).as_posix(): path.read_text() for path in sorted(SOURCE.rglob("*.py"))}


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of every source file."""
    return {file: ast.parse(text) for file, text in texts().items()}


def package_of(file: str) -> str | None:
    return file.partition("/")[0] if "/" in file else None


def imported_modules(file: str) -> set[str]:
    """Modules of discreet that a file imports or names in a string ("discreet.models.heads", "discreet.pairs:X")."""
    found = set()
    for node in ast.walk(trees()[file]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are written out in full"
            module = node.module or ""
            found |= {f"discreet.{alias.name}" for alias in node.names} if module == "discreet" else {module}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and file not in REGISTRY:
            found |= {node.value} if re.fullmatch(r"discreet(\.[a-z_]+)+(:\w+)?", node.value) else set()
    return {name for name in found if name.startswith("discreet.")}


def imported_packages(file: str) -> set[str]:
    """Other packages that a file imports; the interface of recommenders belongs to ``models``."""
    packages = {re.split(r"[.:]", name)[1] for name in imported_modules(file)} - {"errors", "__version__"}
    return {"models" if package == "recommender" else package for package in packages} - {package_of(file)}


def forbidden(file: str) -> set[str]:
    package = package_of(file)
    subjects = {subject for start, subject in SUBJECTS.items() if file.startswith(start)}
    return set() if package in (None, "cli", "service") else imported_packages(file) - ALLOWED[package] - subjects


def test_packages_import_only_what_they_may() -> None:
    found = {file: forbidden(file) for file in trees() if forbidden(file)}
    assert not found, f"these imports are not allowed: {found}"


def test_every_exception_is_used() -> None:
    for start, subject in SUBJECTS.items():
        files = [file for file in trees() if file.startswith(start)]
        assert any(subject in imported_packages(file) for file in files), f"{start} does not import {subject}"


def test_every_folder_is_a_package_of_the_design() -> None:
    folders = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= {*ALLOWED, "cli", "service"}


# Releases draw from privacy/ alone. Synthetic data, splits, attacks, metrics and studies release nothing, nor do the
# foreign recommenders that an audit is tested with, nor RecBole, whose seeds are undone.
OTHERS = ("testing/broken_recommenders.py", "testing/noisy_knn.py", "models/foreign/recbole.py")
SEEDED = ("data/synthetic", "data/splits.py", "attacks", "evaluation", "studies", *OTHERS)
ENTROPY = "privacy/entropy.py"


def calls_of_randomness(tree: ast.Module) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in ("random", "secrets")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("random", "secrets"):
            found.append(node.module or "")
        elif isinstance(node, ast.Attribute) and node.attr in ("default_rng", "urandom", "getrandom"):
            found.append(node.attr)
        elif isinstance(node, ast.Attribute) and node.attr == "random" and is_module(node.value):
            found.append("numpy.random")
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "random":
            found.append("random()")
        elif isinstance(node, ast.Name) and node.id in ("default_rng", "urandom"):
            found.append(node.id)
    return found


def is_module(node: ast.expr) -> bool:
    """Whether this is numpy: an option may be called ``random``, too."""
    return isinstance(node, ast.Name) and node.id in ("np", "numpy")


def test_random_numbers_come_from_one_file() -> None:
    elsewhere = {
        file: calls
        for file, tree in trees().items()
        if file != ENTROPY and not file.startswith(SEEDED) and (calls := calls_of_randomness(tree))
    }
    assert not elsewhere


def asking_for(function: str) -> set[str]:
    """The files that call a function of ``privacy/entropy.py``."""
    return {file for file, text in texts().items() if f"entropy.{function}" in text and file != ENTROPY}


def test_each_purpose_of_randomness_has_its_users() -> None:
    # Records are chosen by keyed hashes where contributions are bounded by a choice.
    counting = {"privacy/bounding.py", "counting/cells.py", "counting/streaming.py"}
    assert asking_for("bounding_key") == counting | {"tagging/topics/private_topics.py", "series/entering.py"}
    # Names protect nothing; synthetic posts and rows are drawn from what was released.
    naming = {"privacy/release.py", "privacy/ledger/families.py", "counting/streaming.py", "series/series.py"}
    naming |= {"service/keys.py", "service/store.py", "engines/spark/files.py", "engines/spark/checkpoints.py"}
    drawn = {"tagging/ptr_s.py", "tagging/ptr_t.py", "coupled/consistency.py", "factors/synthetic_interactions.py"}
    assert asking_for("public_") == naming | drawn


def test_only_noise_and_selection_ask_for_secret_entropy() -> None:
    asking = asking_for("random_") - {"testing/coupled.py"}  # which watches it
    # Published strategies, which guarantee nothing that holds, choose neighbors and break ties with the same bits.
    published = {where for where in asking if where.startswith(("neighbors/", "privacy/published"))}
    drawing = {f"privacy/{name}.py" for name in ("noise", "rounded_gaussian", "selection", "subset_selection")}
    assert asking - published == drawing
    assert published <= {"neighbors/similarity.py", "privacy/published_draws.py"}


def test_no_public_function_that_releases_takes_a_seed() -> None:
    # Queries are public, and a topic model without privacy releases nothing: both can be made again from their seed.
    without_release = {"coupled/workloads/builders.py", "tagging/topics/chain.py"}
    seeded = {
        file
        for file, tree in trees().items()
        if not file.startswith((*SEEDED, "data", "cli", "testing"))
        and any(takes_a_seed(node) for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    }
    assert seeded <= without_release


def takes_a_seed(function: ast.FunctionDef) -> bool:
    return "seed" in [argument.arg for argument in (*function.args.args, *function.args.kwonlyargs)]


def test_import_is_light() -> None:
    """Importing discreet loads none of the heavy packages; the time itself is for the benchmark."""
    heavy = ("numpy", "polars", "scipy", "numba", "sqlalchemy")
    code = f"import sys, discreet; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_public_name_can_be_had() -> None:
    for name in discreet.__all__:
        assert getattr(discreet, name) is not None
    with pytest.raises(AttributeError):
        _ = discreet.nonsense
    assert "Interactions" in dir(discreet)
