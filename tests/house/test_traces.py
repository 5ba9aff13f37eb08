"""Four commands cross packages in few places: ``tests/house/traces.py`` prints where."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MOST = {"count": 12, "fit": 15, "tags release": 12, "audit": 19}
"""Half of what version 0.1 had; lower it when a number goes down. Contexts moved from ``counting`` to ``data``."""


def test_commands_cross_packages_in_few_places() -> None:
    script = Path(__file__).with_name("traces.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    numbers = dict(line.split(": ") for line in done.stdout.splitlines() if not line.startswith(" "))
    assert list(numbers) == list(MOST)
    grown = {name: int(number) for name, number in numbers.items() if int(number) > MOST[name]}
    assert not grown, f"more than {MOST}:\n{done.stdout}"
