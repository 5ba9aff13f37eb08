"""The rooms know only those above them, and randomness has one home."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import discreet

SOURCE = Path(discreet.__file__).parent

ROOMS = [
    "data", "privacy", "neighbors", "pairs", "subsets", "counting", "tagging", "coupled", "factors",
    "attacks", "evaluation", "studies", "testing", "engines", "service", "cli",
]  # fmt: skip

# Files outside the rooms, which every room may know.
LOBBY = {"errors", "recommender"}


def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str | None:
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else None


def imported_rooms(path: Path) -> set[str]:
    """Rooms that a file imports, in functions and under TYPE_CHECKING, too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are written out in full"
            names = [node.module or ""]
            if node.module == "discreet":
                names = [f"discreet.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("discreet.")}
    return found - LOBBY - {"__version__"}


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_room_knows_only_the_rooms_above_it(path: Path) -> None:
    room = room_of(path)
    if room is None:
        return
    below = [other for other in imported_rooms(path) if ROOMS.index(other) > ROOMS.index(room)]
    assert not below, f"{room} must not know {below}"


def test_every_folder_is_a_room_of_the_design() -> None:
    folders = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders <= set(ROOMS)


# Who may draw: releases from privacy/ alone; worlds, splits, attacks, metrics and studies release nothing.
SEEDED = ("data/synthetic", "data/splits.py", "attacks", "evaluation", "studies")
ENTROPY = "privacy/entropy.py"


def calls_of_randomness(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.split(".")[0] in ("random", "secrets")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("random", "secrets"):
            found.append(node.module or "")
        elif isinstance(node, ast.Attribute) and node.attr in ("random", "default_rng", "urandom", "getrandom"):
            found.append(node.attr)
        elif isinstance(node, ast.Name) and node.id in ("default_rng", "urandom"):
            found.append(node.id)
    return found


@pytest.mark.parametrize("path", files(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_randomness_has_one_home(path: Path) -> None:
    where = path.relative_to(SOURCE).as_posix()
    if where == ENTROPY or where.startswith(SEEDED):
        return
    assert not calls_of_randomness(path)


def test_only_noise_selection_and_bounding_ask_for_entropy() -> None:
    asking = {
        path.relative_to(SOURCE).as_posix()
        for path in files()
        if "entropy.random_" in path.read_text() and path.name != "entropy.py"
    }
    # Releases and unnamed accounts are numbered at random; nothing is protected by that.
    naming = {"privacy/release.py", "privacy/ledger/book.py"}
    # Published strategies, which promise nothing that holds, choose neighbors and break ties with the same bits.
    published = {where for where in asking if where.startswith("neighbors/")}
    drawing = {
        f"privacy/{name}.py" for name in ("noise", "rounded_gaussian", "selection", "subset_selection", "bounding")
    }
    # Records are chosen with the same bits where contributions are bounded by sampling.
    sampling = {"counting/sampling.py", "counting/streaming.py", "coupled/consistency.py"}
    # Synthetic posts are drawn from what was released: post-processing.
    after = {"tagging/synthetic_posts.py"}
    # Tags are sent through channels, and released tags are given to posts, with whole numbers made of the same bits.
    channels = {"tagging/exact_draws.py"}
    assert asking - naming - published - after == drawing | sampling | channels
    assert published <= {"neighbors/lists.py", "neighbors/selection/draws.py"}


def test_no_public_function_that_releases_takes_a_seed() -> None:
    # Queries are public, and a topic model without privacy releases nothing: both can be made again from their seed.
    without_release = {"coupled/random_workload.py", "coupled/workload_builders.py", "tagging/topic_chain.py"}
    seeded = set()
    for path in files():
        where = path.relative_to(SOURCE).as_posix()
        if where.startswith((*SEEDED, "data", "cli", "testing")):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                names = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
                if "seed" in names:
                    seeded.add(where)
    assert seeded <= without_release


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
