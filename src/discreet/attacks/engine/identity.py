"""Which code and which settings a run was made with: a hash, so that runs of another version never count."""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from discreet.attacks.engine.randomness import fixed_seeds, is_generator
from discreet.errors import Remedy, UsageError

__all__ = ["identity", "local_modules"]

_CONSTANTS = (str, bytes, int, float, complex, tuple, frozenset)


def identity(*things: Any) -> str:
    """A hash of objects: of their settings and of the source that they are made of.

    Settings are what pickle keeps. Of classes and functions it keeps names, so the source counts besides: of modules
    that are not installed the files, with those of all such modules that they use, and the compiled code; of installed
    packages the version, of discreet every file. Generators count by their fixed seed only.

    Raises
    ------
    UsageError
        Where an object holds something with content that cannot be read.

    Examples
    --------
    >>> identity({"scale": 1}) == identity({"scale": 1}), identity({"scale": 1}) == identity({"scale": 2})
    (True, False)
    """
    file = io.BytesIO()
    content = _Content(file, protocol=5)
    try:
        for thing in things:
            content.dump(thing)
    except Exception as error:
        raise UsageError(
            f"runs cannot be kept: {error}. Runs of another version could be taken for these.",
            remedy=Remedy(
                "Audit without a folder for runs, or give a class with plain settings.",
                cli="Leave --keep out, or give a class with plain settings.",
            ),
        ) from None
    said = [_package(Path(__file__).parents[2]), *_sources(content.modules)]
    return hashlib.sha256(file.getvalue() + "\n".join(said).encode()).hexdigest()


class _Content(pickle.Pickler):
    """What a hash is made of: classes and functions that are not installed with their code, and which modules count."""

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self.modules: set[str] = set()
        self._met: set[int] = set()

    def reducer_override(self, obj: Any) -> Any:
        if is_generator(obj):
            return str, (f"{type(obj).__name__} {_seed(obj) if fixed_seeds(obj) else ''}",)
        if isinstance(obj, ModuleType):
            self.modules.add(obj.__name__)
            return str, (obj.__name__,)
        if not isinstance(obj, type | FunctionType):
            return NotImplemented
        name = f"{obj.__module__}.{obj.__qualname__}"
        self.modules.add(obj.__module__ or "")
        if _installed(sys.modules.get(obj.__module__ or "")):
            return NotImplemented  # by its name
        if id(obj) in self._met:
            return str, (name,)
        self._met.add(id(obj))
        return tuple, ([name, *(self._class(obj) if isinstance(obj, type) else self._function(obj))],)

    def _class(self, kind: type) -> list[Any]:
        """Its bases, its methods, and its constants."""
        found: list[Any] = list(kind.__bases__)
        for name, value in sorted(vars(kind).items()):
            inner = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
            if isinstance(inner, FunctionType | type) or (isinstance(inner, _CONSTANTS) and not name.startswith("__")):
                found += [name, inner]
        return found

    def _function(self, function: FunctionType) -> list[Any]:
        """Its code, its defaults, what it closes over, and what it reads from its module.

        Of a module with a file these are constants, since the file counts as well; of any other everything.
        """
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        closed = [(name, _value(cell)) for name, cell in cells if name != "__class__"]
        fileless = not getattr(sys.modules.get(function.__module__ or ""), "__file__", None)
        read = {name: function.__globals__.get(name) for name in sorted(_names(function.__code__))}
        kept = [(name, value) for name, value in read.items() if fileless or isinstance(value, _CONSTANTS)]
        return [*_code(function.__code__), function.__defaults__, function.__kwdefaults__, closed, kept]


def _code(code: CodeType) -> list[Any]:
    """Compiled code as plain values; sets in an order that is the same in every process."""
    plain = [sorted(one, key=repr) if isinstance(one, frozenset) else one for one in code.co_consts]
    constants = [_code(one) if isinstance(one, CodeType) else repr(one) for one in plain]
    return [code.co_code, code.co_names, code.co_varnames, constants]


def _names(code: CodeType) -> set[str]:
    inner = [_names(one) for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*inner)


def _value(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # empty


def _seed(generator: Any) -> Any:
    bits = getattr(generator, "bit_generator", getattr(generator, "_bit_generator", generator))
    return getattr(getattr(bits, "seed_seq", bits), "entropy", None)


# Sources


def local_modules(*names: str) -> set[str]:
    """These modules and those that they use, as far as they are neither installed nor part of Python."""
    found: set[str] = set()
    left = list(names)
    while left:
        name = left.pop()
        module = sys.modules.get(name)
        if name in found or module is None or _installed(module):
            continue
        found.add(name)
        for value in list(vars(module).values()):
            used = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(used, str):
                left.append(used)
    return found


def _sources(names: Iterable[str]) -> list[str]:
    """Hashes of the files of modules that are not installed, versions of installed ones."""
    said = []
    for name in sorted({*names, *local_modules(*names)}):
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if _installed(module):
            said.append(f"{name} {_version(name.partition('.')[0])}")
        elif file is not None and Path(file).is_file():
            said.append(f"{name} {hashlib.sha256(Path(file).read_bytes()).hexdigest()}")
    return said


def _installed(module: ModuleType | None) -> bool:
    """Whether a module is part of Python, of an installed package, or of discreet."""
    if module is None:
        return True
    top = module.__name__.partition(".")[0]
    if (top in sys.stdlib_module_names and top != "__main__") or top == "discreet":
        return True
    file = getattr(module, "__file__", None)
    if file is None:
        # Functions of a module without a file that were written in Python, as those of a notebook, are not.
        return top != "__main__" and not any(isinstance(one, FunctionType | type) for one in vars(module).values())
    return any(Path(file).is_relative_to(place) for place in _installed_places())


@cache
def _installed_places() -> tuple[str, ...]:
    return tuple({sysconfig.get_paths()[name] for name in ("purelib", "platlib", "stdlib", "platstdlib")})


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return str(getattr(sys.modules.get(package), "__version__", ""))


@cache
def _package(folder: Path) -> str:
    """A hash of all files of a package."""
    files = sorted(folder.rglob("*.py"))
    return hashlib.sha256(b"".join(hashlib.sha256(file.read_bytes()).digest() for file in files)).hexdigest()
