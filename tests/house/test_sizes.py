"""How large the source is: lines, files, public names. The limits go down as the redesign proceeds."""

from __future__ import annotations

import ast
from pathlib import Path

import discreet

SOURCE = Path(discreet.__file__).parent

MOST_LINES = 87_100
"""Of the library and the command line."""

MOST_LINES_OF_ENGINES = 3_000
"""Of ``engines``, which came after the redesign."""

MOST_LINES_OF_SERVICE = 11_000
"""Of ``service``, which came after the redesign."""

MOST_LINES_OF_A_FILE = 400

LARGE: set[str] = set()
"""Files that are larger. Remove what is no longer; nothing may be added."""

MOST_TOP_LEVEL_NAMES = 37
"""32 of the redesign; ``scan``, ``Client``, ``combine`` and synthetic interactions (two names) came after it."""

MOST_PACKAGE_NAMES = 207
"""In the ``__all__`` of all packages together; ``check_method``, foreign models and combinations came later."""

LINES = {path.relative_to(SOURCE).as_posix(): len(path.read_text().splitlines()) for path in SOURCE.rglob("*.py")}


def test_no_file_is_too_long() -> None:
    large = {file for file, lines in LINES.items() if lines > MOST_LINES_OF_A_FILE}
    assert not large - LARGE, "these files are too long: split them by subject"
    assert not LARGE - large, "these files are no longer too long (good): remove them from LARGE"


def test_the_source_does_not_grow() -> None:
    service, engines = (
        sum(lines for file, lines in LINES.items() if file.startswith(part)) for part in ("service/", "engines/")
    )
    assert service <= MOST_LINES_OF_SERVICE
    assert engines <= MOST_LINES_OF_ENGINES
    assert sum(LINES.values()) - service - engines <= MOST_LINES


def test_there_are_few_public_names() -> None:
    assert len(discreet.__all__) <= MOST_TOP_LEVEL_NAMES
    packages = {path.parent.name: exported(path) for path in SOURCE.glob("*/__init__.py")}
    together = sum(len(names) for names in packages.values())
    assert together <= MOST_PACKAGE_NAMES, {name: len(names) for name, names in packages.items()}


def exported(path: Path) -> list[str]:
    """The names in the ``__all__`` of a file."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            return ast.literal_eval(node.value)
    return []
