"""Releases: what came out, what was promised about it, and how it came to be, in a folder of plain files."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.common.arrow import read_arrow
from discreet.common.folders import FACTS, MANIFEST, MODEL, RELEASE, RELEASE_FORMAT, is_model
from discreet.common.foreign import foreign_errors
from discreet.common.plain_json import read_json
from discreet.common.replacing import place_for
from discreet.errors import DiscreetError, ReleaseError
from discreet.privacy import entropy
from discreet.privacy.charging import in_sandbox, note_saved
from discreet.privacy.guarantees import Guarantee
from discreet.privacy.shown import Shown

__all__ = ["Release", "dated"]

MAJOR, MINOR = 1, 0

Part = pl.DataFrame | NDArray[Any]


_CREATED: ContextVar[str | None] = ContextVar("discreet_created", default=None)


@contextmanager
def dated(at: datetime) -> Iterator[None]:
    """Date the releases that are made within: when one was asked for, since how long it took depends on the records.

    Examples
    --------
    >>> from discreet import counting, synthetic
    >>> with dated(datetime(2026, 11, 18, tzinfo=UTC)):
    ...     counting.ItemCounts(epsilon=1, cap=5).release(synthetic.films(users=20, items=9, seed=7)).created
    '2026-11-18T00:00:00+00:00'
    """
    token = _CREATED.set(at.astimezone(UTC).isoformat(timespec="seconds"))
    try:
        yield
    finally:
        _CREATED.reset(token)


@dataclass(frozen=True, eq=False)
class Release(Shown):
    """The data that came out of a mechanism, with their guarantee and origin.

    A release never holds a fingerprint of the secret records: whoever knows all of them but one could try out that one
    against it. The owner finds the origin of a release in the ledger, by ``id``.

    Parameters
    ----------
    kind
        What it is: "item-counts", "top-items" …
    guarantee
        What was promised.
    mechanism, parameters
        How it was made; parameters are public and JSON-like.
    parts
        The data: polars frames and numpy arrays by name.
    dataset
        What the owner calls the records; public.
    model
        Whether a recommender is built from it, so that saving may replace a saved model and nothing else.
    facts
        Where the parts are a dataset that ``discreet.read`` takes: what a reader has to know about it (rating scale,
        contexts …). Tables are then saved as Parquet, for readers of every kind.

    Attributes
    ----------
    id : str
        SHA-256 over everything else. The ledger keeps it, so a release can be checked against the ledger.
    created : str
        UTC time; in a service the time of the request.
    version : str
        Version of discreet that made it.
    sandboxed : bool
        Whether it was made for an audit, inside a sandbox: nothing was charged for it, so it cannot be saved.
    loaded_from : Path or None
        The folder that it was read from; None if it was made in this process.
    """

    kind: str
    guarantee: Guarantee
    mechanism: str
    parameters: Mapping[str, Any]
    parts: Mapping[str, Part]
    dataset: str = ""
    model: bool = False
    facts: Mapping[str, Any] | None = None
    created: str = field(default_factory=lambda: _CREATED.get() or datetime.now(UTC).isoformat(timespec="seconds"))
    version: str = field(default_factory=lambda: _version())
    nonce: str = field(default_factory=lambda: _token(16))
    id: str = ""
    sandboxed: bool = field(default_factory=in_sandbox)
    loaded_from: Path | None = None

    def __post_init__(self) -> None:
        for name in self.parts:
            _check_name(name)
        if not self.id:
            described = {name: _describe(part, self._tables) for name, part in self.parts.items()}
            object.__setattr__(self, "id", _seal(self._manifest(described)))

    def __repr__(self) -> str:
        return f"Release({self.kind!r}, {self.guarantee.loss}, {self.guarantee.standing.name}, id {self.id[:12]})"

    @property
    def _tables(self) -> str:
        """The type of the files of tables."""
        return "arrow" if self.facts is None else "parquet"

    def describe(self) -> str:
        """The guarantee in labelled lines."""
        return self.guarantee.describe()

    def table(self, name: str) -> pl.DataFrame:
        """A part that is a table."""
        part = self._part(name)
        if not isinstance(part, pl.DataFrame):
            raise ReleaseError(f"part {name!r} of this release is an array.", remedy="Use array().")
        return part

    def array(self, name: str) -> NDArray[Any]:
        """A part that is an array."""
        part = self._part(name)
        if isinstance(part, pl.DataFrame):
            raise ReleaseError(f"part {name!r} of this release is a table.", remedy="Use table().")
        return part

    def _part(self, name: str) -> Part:
        if name not in self.parts:
            raise ReleaseError(f"a release of kind {self.kind!r} has no part {name!r}; it has {sorted(self.parts)}.")
        return self.parts[name]

    # On disk

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the release into a folder: aside first, then renamed, so that it is there whole or not at all.

        Parameters
        ----------
        overwrite
            Whether a release that is there may be replaced. Nothing else is: a folder that discreet did not write, or
            that holds other files too, is refused.

        Returns
        -------
        Path
            The folder; another one beside it, with a warning, if another process took the name in the meantime.
        """
        self.check_savable()
        place = place_for(folder, MODEL if self.model else RELEASE, overwrite=overwrite)
        return place.put(self.write_into, then=lambda saved: note_saved(self.id, str(saved.absolute())))

    def check_savable(self) -> None:
        """Raise if nothing was charged for this release because it was made for an audit."""
        if self.sandboxed:
            raise ReleaseError(
                "this release was made in the sandbox of an audit, where nothing is charged; it cannot be saved.",
                remedy="Fit again outside of the audit, with a ledger.",
            )

    def write_into(self, folder: Path) -> None:
        """Write the files of the release into a folder that is made here; ``save`` renames it into place."""
        folder.mkdir()
        described = {name: _write_part(folder, name, part, self._tables) for name, part in sorted(self.parts.items())}
        if self.facts is not None:
            text = json.dumps(self.facts, indent=2, ensure_ascii=False, sort_keys=True)
            _write_bytes(folder / FACTS, (text + "\n").encode())
        text = json.dumps({**self._manifest(described), "id": self.id}, indent=2, ensure_ascii=False)
        _write_bytes(folder / MANIFEST, (text + "\n").encode())

    @classmethod
    def load(cls, folder: str | Path) -> Release:
        """Read a release and check it: every part against its SHA-256, the manifest against its id."""
        path = Path(folder)
        with foreign_errors(lambda words: ReleaseError(f"{path / MANIFEST} is not a complete manifest: {words}.")):
            return cls._loaded(path)

    @classmethod
    def _loaded(cls, path: Path) -> Release:
        manifest = _read_manifest(path)
        parts = {name: _read_part(path, name, described) for name, described in manifest["parts"].items()}
        texts = ("kind", "mechanism", "dataset", "created", "version", "nonce", "id")
        if odd := [name for name in texts if not isinstance(manifest[name], str)]:
            raise ReleaseError(f"{path / MANIFEST} is not a complete manifest: {odd[0]} is not text.")
        for name in ("parameters", "facts"):
            if not isinstance(manifest.get(name, {}), dict):
                raise ReleaseError(f"{path / MANIFEST} is not a complete manifest: {name} is not an object.")
        try:
            guarantee = Guarantee.from_json(manifest["guarantee"])
        except DiscreetError as error:
            raise ReleaseError(f"{path / MANIFEST} is not a complete manifest: {error!r}.") from error
        release = cls(
            parts=parts,
            guarantee=guarantee,
            parameters=manifest["parameters"],
            sandboxed=False,
            loaded_from=path.absolute(),
            model=is_model(manifest),
            facts=manifest.get("facts"),
            **{name: manifest[name] for name in texts},
        )
        if not manifest["id"]:
            raise ReleaseError(f"{path / MANIFEST} has no id.", remedy="Get the release again from its source.")
        # The seal is over the manifest as it was read, with whatever a later minor version may have added.
        if _seal({name: value for name, value in manifest.items() if name != "id"}) != release.id:
            raise ReleaseError(
                f"{path / MANIFEST} was changed after it was written.", remedy="Get the release again from its source."
            )
        return release

    def _manifest(self, described: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "format": RELEASE_FORMAT,
            "format_version": f"{MAJOR}.{MINOR}",
            "kind": self.kind,
            "dataset": self.dataset,
            "mechanism": self.mechanism,
            "parameters": dict(self.parameters),
            "guarantee": self.guarantee.to_json(),
            "created": self.created,
            "version": self.version,
            "nonce": self.nonce,
            "parts": dict(sorted(described.items())),
            **({"model": True} if self.model else {}),
            **({} if self.facts is None else {"facts": dict(self.facts)}),
        }


def _version() -> str:
    from discreet import __version__

    return __version__


def _token(n: int) -> str:
    return entropy.public_bytes(n).tobytes().hex()


def _seal(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,63}", name):
        raise ReleaseError(f"{name!r} cannot be the name of a part.", remedy="Use small letters, digits, - and _.")


# Parts: a table is an Arrow file, or a Parquet file in a dataset; an array is a NumPy file. None can hold code.


class _Digest(io.RawIOBase):
    """A file that keeps nothing of what is written to it but the hash."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()
        self._written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self.sha256.update(data)
        self._written += len(data)
        return len(data)

    def tell(self) -> int:
        return self._written


def _serialize(part: Part, file: IO[bytes] | io.RawIOBase, kind: str) -> None:
    if isinstance(part, pl.DataFrame) and kind == "parquet":
        # In pieces of one size, however the table came to be: the same table is the same bytes.
        _afresh(part).rechunk().write_parquet(file, compression="zstd", row_group_size=2**20)  # type: ignore[arg-type]
    elif isinstance(part, pl.DataFrame):
        _afresh(part).write_ipc(file, compression="zstd")  # type: ignore[arg-type]
    else:
        np.lib.format.write_array(file, np.ascontiguousarray(part), allow_pickle=False)  # type: ignore[arg-type]


def _afresh(table: pl.DataFrame) -> pl.DataFrame:
    """The table in memory of its own.

    Columns of text that were picked out of a longer column share its memory, and would be written with all of it: ids
    that are in no row of the table would be in the file.
    """
    shared = [column for column in table.iter_columns() if not column.dtype.is_numeric()]
    return table.with_columns(pl.Series(column.name, column.to_list(), dtype=column.dtype) for column in shared)


def _kind_of(part: Part, tables: str) -> str:
    if isinstance(part, pl.DataFrame):
        return tables
    if part.dtype.hasobject:
        raise ReleaseError("an array of Python objects cannot be released.", remedy="Use numbers or text.")
    return "npy"


def _describe(part: Part, tables: str) -> dict[str, str]:
    digest, kind = _Digest(), _kind_of(part, tables)
    _serialize(part, digest, kind)
    return {"type": kind, "sha256": digest.sha256.hexdigest()}


def _write_part(folder: Path, name: str, part: Part, tables: str) -> dict[str, str]:
    kind = _kind_of(part, tables)
    path = folder / f"{name}.{kind}"
    with path.open("wb") as file:
        _serialize(part, file, kind)
        file.flush()
        os.fsync(file.fileno())
    with path.open("rb") as file:
        return {"type": kind, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}


def _read_part(folder: Path, name: str, described: Mapping[str, str]) -> Part:
    _check_name(name)
    kind = described["type"]
    if kind not in ("arrow", "parquet", "npy"):
        raise ReleaseError(f"part {name!r} is of unknown type {kind!r}.", remedy="Use a newer discreet.")
    path = folder / f"{name}.{kind}"
    try:
        if path.exists() and not path.is_file():
            raise ReleaseError(f"{path} is not a regular file.", remedy="Get the release again.")
        data = path.read_bytes()
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror}.", remedy="Get the release again.") from error
    if hashlib.sha256(data).hexdigest() != described["sha256"]:
        raise ReleaseError(f"{path} is damaged or was changed: its SHA-256 is not the one in the manifest.")
    with foreign_errors(lambda words: ReleaseError(f"{path} cannot be understood: {words}.")):
        return {"arrow": read_arrow, "parquet": _parquet_of, "npy": _array_of}[kind](data)


def _parquet_of(data: bytes) -> pl.DataFrame:
    return pl.read_parquet(io.BytesIO(data))


def _array_of(data: bytes) -> NDArray[Any]:
    """An array from the bytes of a NumPy file; its header must name as many bytes as there are."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
    shape, _, dtype = header(file)
    if dtype.hasobject or math.prod(shape) * dtype.itemsize != len(data) - file.tell():
        raise ValueError(f"an array of shape {shape} and type {dtype} does not fit in {len(data):,} bytes")
    return np.load(io.BytesIO(data), allow_pickle=False)


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = read_json(path)
    except (FileNotFoundError, NotADirectoryError):
        raise ReleaseError(f"{folder} is not a release: it has no {MANIFEST}.") from None
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise ReleaseError(f"{path} is truncated or damaged: {error}.", remedy="Get the release again.") from error
    if not isinstance(manifest, dict) or manifest.get("format") != RELEASE_FORMAT:
        raise ReleaseError(f"{path} is not the manifest of a release.")
    found = str(manifest.get("format_version", ""))
    if not re.fullmatch(r"[0-9]{1,9}\.[0-9]{1,9}", found):
        raise ReleaseError(f"{path} has no usable format version ({found!r}).")
    if int(found.split(".")[0]) > MAJOR:
        raise ReleaseError(
            f"{folder} is a release of format {found}; this discreet reads {MAJOR}.x.",
            remedy="Install a newer discreet.",
        )
    return manifest


def _write_bytes(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
