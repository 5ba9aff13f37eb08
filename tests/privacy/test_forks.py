"""A fork of a process that has used polars: an error before the charge, and no hang after it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="these tests fork")

_CODE = """
import os, sys
import discreet as dc
from discreet.errors import PrivacyError
from discreet.privacy import charging

ledger = dc.Ledger(sys.argv[1])
if sys.argv[2] == "used":
    charging._WORKING_SECONDS = 1  # polars never answers here, however long one waits
    films = dc.synthetic.films(users=50, items=20, seed=7)
child = os.fork()
if child == 0:
    code = 9
    try:
        if sys.argv[2] != "used":
            films = dc.synthetic.films(users=50, items=20, seed=7)
        dc.counting.ItemCounts(epsilon="1/2", cap=30).release(films, ledger=ledger)
        code = 0
    except PrivacyError as error:
        code = 3 if "forked" in str(error) and "nothing was charged" in str(error) else 4
    finally:
        os._exit(code)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize(("polars", "code", "charges"), [("used", 3, 0), ("only imported", 0, 1)])
def test_a_fork_fails_before_the_charge_or_works(tmp_path: Path, polars: str, code: int, charges: int) -> None:
    import discreet as dc

    ledger = dc.Ledger(tmp_path / "budget.db")
    ledger.open(dc.synthetic.films(users=50, items=20, seed=7), epsilon=1, name="films")
    # The time limit is what fails where the fork hangs.
    done = subprocess.run([sys.executable, "-c", _CODE, str(tmp_path / "budget.db"), polars], check=False, timeout=120)
    assert done.returncode == code
    assert len(ledger.statement("films").entries) == charges
