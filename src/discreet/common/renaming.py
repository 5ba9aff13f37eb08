"""Two atomic renames: to a name that is free, and an exchange of two names.

Linux does both in one system call. Where the system or the file system cannot, several calls are used that never rename
onto an existing file.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

__all__ = ["exchange", "fresh_name", "rename_new", "sync_folder"]

AT_FDCWD, NOREPLACE, EXCHANGE = -100, 1, 2
UNSUPPORTED = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM}


def rename_new(source: Path, target: Path) -> None:
    """Rename a file or folder; raise ``FileExistsError`` if the name is taken.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in "ab":
    ...         _ = Path(folder, name).write_text(name)
    ...     try:
    ...         rename_new(Path(folder, "a"), Path(folder, "b"))
    ...     except FileExistsError:
    ...         Path(folder, "b").read_text()
    'b'
    """
    if _renameat2(source, target, NOREPLACE):
        return
    if source.is_dir():
        target.mkdir()  # raises if the name is taken; a folder may be renamed onto an empty one
        try:
            os.rename(source, target)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target)) from None
            with contextlib.suppress(OSError):
                target.rmdir()
            raise
    else:
        try:
            os.link(source, target, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.replace(source, target)
        else:
            source.unlink()


def exchange(made: Path, target: Path) -> Path:
    """Replace ``target`` by ``made``; return the path of the former content of ``target``.

    Raises
    ------
    FileNotFoundError
        ``target`` is gone; ``made`` is where it was.
    FileExistsError
        Another process took the name in the middle (only where the system cannot exchange names); ``made`` is where
        it was, and the former content is named by ``filename2`` of the error.
    """
    if _renameat2(made, target, EXCHANGE):
        return made
    held = fresh_name(target.parent)
    os.rename(target, held)
    try:
        rename_new(made, target)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target), None, str(held)) from None
    except OSError:
        rename_new(held, target)
        raise
    return held


def fresh_name(folder: Path) -> Path:
    """A new hidden name in a folder."""
    from uuid import uuid4

    return folder / f".discreet-{uuid4().hex[:12]}"


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable, if the system supports it."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _renameat2(source: Path, target: Path, flag: int) -> bool:
    """Whether the system did it; False if it does not support it."""
    call = _system_call()
    if call is None:
        return False
    if call(AT_FDCWD, os.fsencode(source), AT_FDCWD, os.fsencode(target), flag) == 0:
        return True
    code = ctypes.get_errno()
    if code in UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), str(source), None, str(target))


@cache
def _system_call() -> Callable[..., int] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return None
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    call.restype = ctypes.c_int
    return call
