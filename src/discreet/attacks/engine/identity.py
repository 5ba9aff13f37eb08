"""Which code and which settings a run was made with: a hash, so that runs of another version never count."""

from __future__ import annotations

import hashlib
import inspect
import io
import pickle
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePath
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import polars as pl

from discreet.attacks.engine.randomness import fixed_seeds, is_generator
from discreet.errors import Remedy, UsageError

__all__ = ["identity", "local_modules"]

_VALUES = (str, bytes, int, float, complex, bool, type(None), Fraction, Decimal, PurePath, date, time, np.generic)


def identity(*things: Any) -> str:
    """A hash of objects: of their settings and of the source that they are made of.

    The source of a class or function is its module, all modules that it uses and that are not installed, and its code.
    Of installed packages the version counts, of discreet every file. Generators count by their fixed seed only.

    Raises
    ------
    UsageError
        Where an object holds something with content that cannot be read.

    Examples
    --------
    >>> identity({"scale": 1}) == identity({"scale": 1}), identity({"scale": 1}) == identity({"scale": 2})
    (True, False)
    """
    content = _Content()
    content.feed("discreet", _package(Path(__file__).parents[2]))
    for thing in things:
        content.add(thing)
    return content.hexdigest()


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


class _Content:
    """What a hash is made of; every object once."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._met: dict[int, int] = {}
        self._kept: list[Any] = []

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def feed(self, *words: str | bytes) -> None:
        for word in words:
            data = word.encode() if isinstance(word, str) else word
            self._hash.update(len(data).to_bytes(8, "big") + data)

    def add(self, thing: Any, path: str = "") -> None:
        if isinstance(thing, _VALUES) and not isinstance(thing, Enum):
            return self.feed(type(thing).__name__, repr(thing))
        if id(thing) in self._met:
            return self.feed("again", str(self._met[id(thing)]))
        self._met[id(thing)] = len(self._met)
        self._kept.append(thing)  # an id is good for as long as its object lives
        return self._add_new(thing, path)

    def _add_new(self, thing: Any, path: str) -> None:
        if isinstance(thing, Enum):
            self.feed("enum", str(thing))
        elif is_generator(thing):
            self.feed("generator", type(thing).__name__, repr(_seed(thing)) if fixed_seeds(thing) else "")
        elif isinstance(thing, np.ndarray) and thing.dtype != object:
            self.feed("array", str(thing.dtype), str(thing.shape), np.ascontiguousarray(thing).tobytes())
        elif isinstance(thing, pl.DataFrame | pl.Series):
            self.feed("table", _table_bytes(thing))
        elif isinstance(thing, Mapping):
            self._each("mapping", sorted(thing.items(), key=lambda pair: repr(pair[0])), path)
        elif isinstance(thing, list | tuple | np.ndarray):
            self._each("list", thing, path)
        elif isinstance(thing, set | frozenset):
            self._each("set", sorted(thing, key=repr), path)
        elif isinstance(thing, ModuleType):
            self.feed("module", thing.__name__, *_sources([thing.__name__]))
        elif isinstance(thing, type):
            self._class(thing, path)
        elif isinstance(thing, FunctionType):
            self._function(thing, path)
        elif isinstance(thing, MethodType):
            self._each("method", (thing.__self__, thing.__func__), path)
        elif isinstance(thing, partial):
            self._each("partial", (thing.func, thing.args, thing.keywords), path)
        elif isinstance(thing, CodeType):
            self._code(thing, path)
        elif hasattr(thing, "__dict__") and not inspect.isroutine(thing):
            self.add(type(thing), path)
            self.add(dict(vars(thing)), path)
        else:
            self._pickled(thing, path)

    def _each(self, kind: str, things: Iterable[Any], path: str) -> None:
        listed = list(things)
        self.feed(kind, str(len(listed)))
        for one in listed:
            self.add(one, path)

    def _class(self, kind: type, path: str) -> None:
        self.feed("class", kind.__module__, kind.__qualname__, *_sources([kind.__module__]))
        if _installed(sys.modules.get(kind.__module__)):
            return
        self._each("bases", kind.__bases__, path)
        for name, value in sorted(vars(kind).items()):
            inner = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
            if isinstance(inner, FunctionType | type) or (isinstance(inner, _VALUES) and not name.startswith("__")):
                self.feed(name)
                self.add(inner, f"{path}.{name}")

    def _function(self, function: FunctionType, path: str) -> None:
        self.feed("function", function.__module__ or "", *_sources([function.__module__ or ""]))
        if _installed(sys.modules.get(function.__module__ or "")):
            return self.feed(function.__qualname__)
        self._code(function.__code__, path)
        self.add(function.__defaults__, path)
        self.add(function.__kwdefaults__, path)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name != "__class__":
                self.feed(name)
                self.add(_content(cell), f"{path}.{name}")
        # What a function reads from its module: constants anywhere, and all else where there is no file to read.
        fileless = not getattr(sys.modules.get(function.__module__ or ""), "__file__", None)
        for name in sorted(_names(function.__code__)):
            value = function.__globals__.get(name)
            if isinstance(value, _VALUES) or (fileless and value is not None):
                self.feed(name)
                self.add(value, f"{path}.{name}")
        return None

    def _code(self, code: CodeType, path: str) -> None:
        self.feed("code", code.co_code, *code.co_names, *code.co_varnames)
        self._each("constants", code.co_consts, path)

    def _pickled(self, thing: Any, path: str) -> None:
        try:
            self.feed("pickle", pickle.dumps(thing))
        except Exception:
            raise UsageError(
                f"runs cannot be kept: {path.lstrip('.') or 'the model'} is a {type(thing).__name__}, whose content "
                "cannot be told, so that runs of another version could be taken for these.",
                remedy=Remedy(
                    "Audit without a folder for runs, or give a class with plain settings.",
                    cli="Leave --keep out, or give a class with plain settings.",
                ),
            ) from None


def _names(code: CodeType) -> set[str]:
    inner = [_names(one) for one in code.co_consts if isinstance(one, CodeType)]
    return set(code.co_names).union(*inner)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _seed(generator: Any) -> Any:
    bits = getattr(generator, "bit_generator", getattr(generator, "_bit_generator", generator))
    return getattr(getattr(bits, "seed_seq", bits), "entropy", None)


def _table_bytes(table: pl.DataFrame | pl.Series) -> bytes:
    out = io.BytesIO()
    (table.to_frame() if isinstance(table, pl.Series) else table).write_ipc(out)
    return out.getvalue()


# Sources


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
        return top != "__main__" and not _is_fileless_source(module)
    return any(Path(file).is_relative_to(place) for place in _installed_places())


def _is_fileless_source(module: ModuleType) -> bool:
    """Whether functions of a module without a file were written in Python, as those of a notebook are."""
    return any(isinstance(value, FunctionType | type) for value in vars(module).values())


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
