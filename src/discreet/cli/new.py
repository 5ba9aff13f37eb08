"""`discreet new`: a project for an algorithm of your own."""

from __future__ import annotations

import keyword
import re
import shutil
from importlib import resources
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import typer

from discreet.cli.commands import chosen_from
from discreet.cli.console import AsJson, answer_json, answer_text, note
from discreet.common.renaming import rename_new
from discreet.errors import UsageError

__all__ = ["new"]

FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    ".gitignore": "gitignore",
    "src/{package}/__init__.py": "init.py",
    "src/{package}/model.py": "{kind}.py",
    "tests/test_model.py": "test_{kind}.py",
}
"""The files of a project, and the templates that they are made from."""

KINDS = ("private", "plain")


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the algorithm is called: my-algorithm.")],
    kind: Annotated[
        str,
        typer.Option("--kind", help="private: noisy sums over people, with a guarantee; plain: without privacy."),
    ] = "private",
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="FOLDER", help="Where to; NAME unless given. Must not exist.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a small project for a recommender of your own, with tests that pass.

    The model is forty lines. Installed (pip install -e NAME), it has a name like the models of discreet: fit, attack,
    audit, risk, study frontier and serve take it. Nothing that exists is overwritten.

    [bold]Example[/bold]

        discreet new my-algorithm
        pip install -e my-algorithm
        pytest my-algorithm
    """
    from discreet.models.registry import entries

    chosen_from(kind, KINDS, "--kind")
    package, target = _package(name), folder or Path(name)
    if name in entries():
        raise UsageError(f"there is a model {name!r} already.", remedy="Choose another name.")
    made = write_project(target, name, package, kind)
    if as_json:
        answer_json({"project": str(target), "files": made})
        return
    answer_text("\n".join(f"{target / file}" for file in made))
    note(f"next: pip install -e {target} && pytest {target}; the model is {target / 'src' / package / 'model.py'}")


def write_project(target: Path, name: str, package: str, kind: str) -> list[str]:
    """Write the files beside the target and rename them into place, where nothing may be; the paths in it."""
    from discreet import __version__

    texts = {
        "@NAME@": name,
        "@PACKAGE@": package,
        "@CLASS@": "".join(part.capitalize() for part in name.split("-")),
        "@VERSION@": __version__,
        "@BUDGET@": "--epsilon 1 " if kind == "private" else "",
    }
    if target.exists() or target.is_symlink():
        raise UsageError(f"{target} exists already.", remedy="Choose another name, or --folder.")
    if not target.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {target.absolute().parent}.", remedy="Make it first.")
    aside = Path(mkdtemp(prefix=f".{target.name}-", dir=target.absolute().parent))
    try:
        project, written = aside / "project", []
        for file, template in FILES.items():
            path = project / file.format(package=package)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_filled(template.format(kind=kind), texts), encoding="utf-8")
            written.append(file.format(package=package))
        rename_new(project, target.absolute())
    except FileExistsError:
        raise UsageError(f"{target} exists already.", remedy="Choose another name, or --folder.") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return written


def _filled(template: str, texts: dict[str, str]) -> str:
    text = (resources.files("discreet.cli") / "template" / f"{template}.in").read_text(encoding="utf-8")
    for mark, value in texts.items():
        text = text.replace(mark, value)
    return text


def _package(name: str) -> str:
    """The name of the Python package of a project."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or len(name) > 60:
        raise UsageError(
            f"{name!r} cannot be the name of a project.", remedy="Use small letters, digits and single hyphens."
        )
    package = name.replace("-", "_")
    if keyword.iskeyword(package) or package in ("discreet", "test", "tests", "src"):
        raise UsageError(f"{name!r} cannot be the name of a project.", remedy="Choose another name.")
    return package
