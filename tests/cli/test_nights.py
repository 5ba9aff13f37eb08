"""docs/nights.md: its files are the ones in examples/nightly, its blocks run, and the script survives crashes.

The script is a real one in a real shell. The programs that it starts are run by this process, which saves the seconds
that imports take; a program that is to be killed is a process of its own.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from configparser import ConfigParser
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Run

from discreet.privacy import Ledger
from discreet.series import Series

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "nightly"
PAGE = (ROOT / "docs" / "nights.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```bash\n(.*?)```", PAGE, re.S)

CLIENT = """#!{python} -IS
import json, os, sys
crash = os.environ.get("CRASH", "")
if crash and sys.argv[1] == ("recommend" if crash == "in the lists" else "fit"):
    os.execv({python!r}, [{python!r}, {folder!r} + "/killed.py", *sys.argv[1:]])
with open({folder!r} + "/ask", "w") as file:
    json.dump([os.getcwd(), *sys.argv[1:]], file)
with open({folder!r} + "/answer") as file:
    code, out, err = json.load(file)
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""

KILLED = """
import os, signal
from discreet.cli import main
from discreet.models import export
from discreet.privacy import draws
from discreet.privacy.ledger import tables

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def writes_one(*given):
    writes = iter([whole(*given)])
    return lambda part: next(writes, kill)(part)

if os.environ["CRASH"] == "before the mark":
    tables.note_drawing = kill
elif os.environ["CRASH"] == "after the mark":
    draws.SAMPLERS.update(dict.fromkeys(draws.SAMPLERS, kill))
else:
    whole, export._writer, export.AT_ONCE = export._writer, writes_one, 100
main()
"""

Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def shell(run: Run, tmp_path: Path) -> Shell:
    """Run commands in bash, in a folder with the examples; `discreet` there is run by this process."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "discreet").write_text(CLIENT.format(python=sys.executable, folder=str(tmp_path)))
    (programs / "discreet").chmod(0o755)
    (programs / "python").symlink_to(sys.executable)
    (tmp_path / "killed.py").write_text(KILLED)
    for name in ("ask", "answer"):
        os.mkfifo(tmp_path / name)

    def call(text: str, **settings: str) -> subprocess.CompletedProcess[str]:
        known = {"PATH": f"{programs}:{os.environ['PATH']}", "SHOP": str(tmp_path / "shop"), **settings}
        with (tmp_path / "said").open("w+") as said:
            shell = subprocess.Popen(
                ["bash", "-e", "-c", text], cwd=tmp_path, env={**os.environ, **known}, stdout=said, stderr=said
            )
            asked = os.open(tmp_path / "ask", os.O_RDWR)  # for writing, too: it never ends
            while shell.poll() is None:
                if select.select([asked], [], [], 0.02)[0]:
                    request = b""
                    while not request.endswith(b"]"):
                        request += os.read(asked, 100_000)
                    where, *arguments = json.loads(request)
                    assert where == str(tmp_path)
                    done = run(*arguments)
                    (tmp_path / "answer").write_text(json.dumps([done.returncode, done.stdout, done.stderr]))
            os.close(asked)
            said.seek(0)
            return subprocess.CompletedProcess(text, shell.returncode, said.read(), "")

    return call


def night(shell: Shell, day: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return shell(f"exec examples/nightly/nightly.sh {day}", **settings)


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir() if path.name != "__pycache__"))
def test_the_page_shows_the_files(name: str) -> None:
    text = (EXAMPLES / name).read_text(encoding="utf-8")
    assert f"```\n{text}```" in re.sub(r"```(sh|ini|python)\n", "```\n", PAGE) or name == "invented_shop.py"


def test_three_nights_with_crashes_in_the_second(shell: Shell, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    recommendations = shop / "lists" / "recommendations.parquet"

    def outcomes() -> list[str]:
        return [entry.outcome for entry in Ledger(shop / "ledger.db").statement("customers").entries]

    def log(day: str) -> str:
        return (shop / "logs" / f"{day}.log").read_text()

    # The first night, as the page begins.
    done = shell(BLOCKS[0])
    assert done.returncode == 0, done.stdout
    assert outcomes() == ["settled"]
    assert (shop / "models" / "current").readlink() == Path("2026-11-15")
    customers = pl.read_csv(shop / "exports" / "2026-11-15" / "orders.csv")["customer"].unique()
    assert set(pl.read_parquet(recommendations)["user_id"]) == set(customers)
    assert recommendations.stat().st_mode & 0o777 == 0o600
    similar = pl.read_parquet(shop / "lists" / "similar.parquet")
    assert similar.group_by("item_id").len()["len"].to_list() == [10] * 60
    assert "features" in similar["source"]
    first = recommendations.read_bytes()

    # The second night is killed before its noise may be drawn: the charge is used again.
    killed = {"EPSILON": "2.5", "CRASH": "before the mark"}
    assert night(shell, "2026-11-16", **killed).returncode == 128 + signal.SIGKILL
    assert outcomes() == ["settled", "reserved, nothing drawn"]
    # Killed when its noise may be drawn: that charge was used; what was drawn for it is not known.
    killed["CRASH"] = "after the mark"
    assert "run it again with the same date" in night(shell, "2026-11-16", **killed).stdout
    assert outcomes() == ["settled", "reserved, never settled"]
    # So the next run is charged again. It saves its model, and is killed in the middle of the lists.
    killed["CRASH"] = "in the lists"
    assert night(shell, "2026-11-16", **killed).returncode == 128 + signal.SIGKILL
    assert outcomes() == ["settled", "reserved, never settled", "settled"]
    assert "charged again, as entry 3" in log("2026-11-16")
    assert recommendations.read_bytes() == first
    assert len(list(recommendations.parent.glob(".discreet-*"))) == 1
    # Repeated once more, it finds the model: nothing is charged, and the lists are made.
    done = night(shell, "2026-11-16", EPSILON="2.5")
    assert done.returncode == 0, log("2026-11-16")
    assert outcomes() == ["settled", "reserved, never settled", "settled"]
    assert "nothing was charged" in log("2026-11-16")
    assert (shop / "models" / "current").readlink() == Path("2026-11-16")
    assert recommendations.read_bytes() != first
    assert sorted(path.name for path in recommendations.parent.iterdir()) == [
        "recommendations.parquet",
        "similar.parquet",
    ]

    # On the third night no budget is left: the last model serves, with the records of tonight.
    with (shop / "exports" / "2026-11-17" / "orders.csv").open("a") as orders:
        orders.write("c-new,SKU-1,2026-11-17T10:00:00\n")
    done = night(shell, "2026-11-17", EPSILON="2.5")
    assert done.returncode == 3, log("2026-11-17")
    assert "does not fit" in log("2026-11-17")
    assert "serving goes on with that of 2026-11-16" in done.stdout
    assert len(outcomes()) == 3
    assert (shop / "models" / "current").readlink() == Path("2026-11-16")
    assert pl.read_parquet(recommendations).filter(user_id="c-new").height == 20
    # A repeated run of an older night does not point back to its model.
    assert night(shell, "2026-11-15").returncode == 0
    assert (shop / "models" / "current").readlink() == Path("2026-11-16")
    assert len(outcomes()) == 3

    # A new year that has just begun leaves the model of the last one in use.
    done = shell("python examples/nightly/invented_shop.py $SHOP/exports 2027-01-05 && exec "
                 "examples/nightly/nightly.sh 2027-01-05", NEW_YEAR="02-01")  # fmt: skip
    assert done.returncode == 3, log("2027-01-05")
    assert len(outcomes()) == 3


def test_a_series_takes_the_step_of_its_date(shell: Shell, tmp_path: Path) -> None:
    shop, (_, plan, series) = tmp_path / "shop-with-a-series", BLOCKS
    assert "0.164" in shell(plan).stdout
    done = shell(series)
    assert done.returncode == 0, done.stdout
    shell("python examples/nightly/invented_shop.py $SHOP/exports 2026-11-17 2027-01-01", SHOP=str(shop))
    again = {"SHOP": str(shop), "SERIES_FROM": "2026-11-15", "SERIES_STEPS": "47"}
    for _ in range(2):
        assert night(shell, "2026-11-17", **again).returncode == 0
    facts = Series.resume(shop / "series").show()
    assert (facts["last"], facts["missed"]) == (2, [1])
    statement = Ledger(shop / "ledger.db").statement("customers")
    assert [entry.outcome for entry in statement.entries if entry.id == facts["charge"]] == ["settled"]
    # It is over after its last step.
    done = night(shell, "2027-01-01", **again)
    assert done.returncode == 3, done.stdout
    assert "that of 2026-11-17" in done.stdout


def test_one_run_at_a_time_and_none_without_an_export(shell: Shell, tmp_path: Path) -> None:
    done = night(shell, "2026-11-15")
    assert done.returncode == 66
    assert "no export" in done.stdout
    with (tmp_path / "shop" / "nightly.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = night(shell, "2026-11-15")
    assert done.returncode == 75
    assert "not finished" in done.stdout


def test_the_units_of_systemd(shell: Shell, tmp_path: Path) -> None:
    service, timer = (ConfigParser(interpolation=None, delimiters=("=",)) for _ in range(2))
    for unit, name in ((service, "discreet-nightly.service"), (timer, "discreet-nightly.timer")):
        unit.optionxform = str  # type: ignore[assignment, method-assign]
        unit.read_string((EXAMPLES / name).read_text(encoding="utf-8"))
    assert re.fullmatch(r"\*-\*-\* \d\d:\d\d:00", timer["Timer"]["OnCalendar"])
    run = service["Service"]
    assert (run["Type"], run["SuccessExitStatus"], run["RestartPreventExitStatus"]) == ("oneshot", "3", "2 66 75")
    assert run["EnvironmentFile"] == "/etc/discreet/nightly.env"
    lines = (EXAMPLES / "nightly.env").read_text(encoding="utf-8").splitlines()
    settings = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    settings |= {"SHOP": str(tmp_path / "shop"), "DISCREET": "discreet"}
    assert run["ExecStart"] == "/opt/discreet/nightly.sh"
    # The unit names no date. It may be midnight in between.
    days = [str(date.fromtimestamp(time.time()) - timedelta(days=back)) for back in (1, 0)]
    opened = "discreet ledger open --population customers --epsilon 4 --delta 1e-6 --per year --ledger $SHOP/ledger.db"
    done = shell(
        f"python examples/nightly/invented_shop.py $SHOP/exports {' '.join(days)}\n{opened}\n"
        f"exec {run['ExecStart'].replace('/opt/discreet', 'examples/nightly')}",
        **settings,
    )
    assert done.returncode == 0, done.stdout
    assert (tmp_path / "shop" / "models" / "current").readlink().name in days
