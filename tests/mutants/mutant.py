"""One deliberate break of a privacy-relevant line, and the list of all of them."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["LISTS", "ROOT", "Mutant", "StaleMutantError", "mutants"]

ROOT = Path(__file__).parents[2]
LISTS = Path(__file__).parent


class StaleMutantError(Exception):
    """An entry of the list no longer fits the code."""


@dataclass(frozen=True)
class Mutant:
    """A small change that breaks a guarantee, and the tests that must notice it.

    Parameters
    ----------
    name
        A short name, unique in the whole list.
    file
        The file that is changed, below ``src/discreet``.
    before, after
        The text that is replaced, which occurs exactly once in the file, and what it is replaced by.
    tests
        Arguments of pytest: the files, and with ``-k`` which of their tests.
    breaks
        What is wrong then, in one sentence.
    """

    name: str
    file: str
    before: str
    after: str
    tests: str
    breaks: str

    @property
    def path(self) -> Path:
        """The file, relative to the repository."""
        return Path("src/discreet") / self.file

    @property
    def arguments(self) -> list[str]:
        """The arguments of pytest, one by one."""
        return shlex.split(self.tests)

    def applied(self, source: str) -> str:
        """The text of the file with the change."""
        count = source.count(self.before)
        if count != 1:
            raise StaleMutantError(f"{self.name}: the text before occurs {count} times in {self.path}, not once.")
        if self.before == self.after:
            raise StaleMutantError(f"{self.name}: the change changes nothing.")
        return source.replace(self.before, self.after)

    def check(self, root: Path = ROOT) -> None:
        """Raise ``StaleMutantError`` unless the change applies and its test files exist."""
        if not (root / self.path).is_file():
            raise StaleMutantError(f"{self.name}: there is no file {self.path}.")
        self.applied((root / self.path).read_text(encoding="utf-8"))
        files = [one.partition("::")[0] for one in self.arguments if one.startswith("tests/")]
        missing = [file for file in files if not (root / file).is_file()]
        if missing or not files:
            raise StaleMutantError(f"{self.name}: no such test files: {missing or self.tests!r}.")


def mutants() -> Iterator[Mutant]:
    """All entries of the lists, which are the ``.toml`` files of this folder, in the order of their names."""
    for file in sorted(LISTS.glob("*.toml")):
        for entry in tomllib.loads(file.read_text(encoding="utf-8"))["mutant"]:
            yield Mutant(**entry)
