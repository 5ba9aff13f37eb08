"""How much memory there is, and which folders are in it."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["available_memory", "is_in_memory"]

MEMINFO = Path("/proc/meminfo")
MOUNTS = Path("/proc/self/mounts")
GROUP = Path("/sys/fs/cgroup")
"""Where Linux tells the limits of a container."""


def available_memory() -> int:
    """Bytes that a program may still take without swapping, within the limit of its container.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    found = [_available_on_machine()]
    try:
        most = (GROUP / "memory.max").read_text().strip()
        used = int((GROUP / "memory.current").read_text())
        cache = next(
            (
                int(line.split()[1])
                for line in (GROUP / "memory.stat").read_text().splitlines()
                if line[:14] == "inactive_file "
            ),
            0,
        )
        found += [] if most == "max" else [max(0, int(most) - used + cache)]
    except (OSError, ValueError):
        pass
    return min(found)


def _available_on_machine() -> int:
    try:
        lines = MEMINFO.read_text().splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


def is_in_memory(folder: Path) -> bool:
    """Whether what is written into a folder takes memory, as in a tmpfs; False where that cannot be told.

    Examples
    --------
    >>> is_in_memory(Path("/proc"))
    False
    """
    try:
        mounts = [line.split(" ")[1:3] for line in MOUNTS.read_text().splitlines()]
        inside = [(place, kind) for place, kind in mounts if folder.resolve().is_relative_to(place)]
    except (OSError, ValueError):
        return False
    return bool(inside) and max(inside, key=lambda mount: len(mount[0]))[1] in ("tmpfs", "ramfs")
