"""Commands as processes: answers on stdout, words on stderr, exit codes, and never a traceback."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

import discreet as dc


def opened(run, **more: str):
    return run("ledger", "open", "films.parquet", "--epsilon", "2", "--delta", "1e-6", "--ledger", "budget.db", **more)


def test_the_example_of_count_help_works_word_for_word(run) -> None:
    """Every line of the example is taken from the help itself and run."""
    from discreet.cli.count import count

    assert count.__doc__ is not None
    lines = [line.strip() for line in count.__doc__.splitlines() if line.strip().startswith("discreet ")]
    assert len(lines) == 4
    answers = []
    for line in lines:
        done = run(*line.split()[1:])
        assert done.returncode == 0, done.stderr
        answers.append(done.stdout)
    assert "ε = 0.5" in answers[-1]


def test_help_of_every_command_has_an_example(run) -> None:
    for command in (
        ["demo"], ["count"], ["doctor"], ["fit"], ["recommend"], ["similar"], ["attack"],
        ["data", "list"], ["data", "describe"], ["data", "convert"], ["data", "generate"], ["data", "split"],
        ["ledger", "open"], ["ledger", "show"], ["ledger", "statement"], ["ledger", "link"],
        ["ledger", "backup"], ["ledger", "restore"],
        ["release", "show"], ["release", "verify"],
    ):  # fmt: skip
        done = run(*command, "--help")
        assert done.returncode == 0
        assert "Example" in done.stdout, command


def test_help_loads_no_library_for_numbers() -> None:
    """Help comes at once: what computes is imported by the command that needs it."""
    script = (
        "import sys, discreet.cli.app; print(*({'numpy', 'polars', 'scipy', 'sqlalchemy', 'numba'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "\n"


def test_count_end_to_end(run, process, films: Path, tmp_path: Path) -> None:
    assert opened(run).returncode == 0
    arguments = [
        "count",
        "films.parquet",
        "--epsilon",
        "1/2",
        "--cap",
        "30",
        "--ledger",
        "budget.db",
        "--out",
        "counts",
    ]
    done = process(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["guarantee"]["standing"] == "PROVED"
    assert len(answer["top"]) == 10
    release = dc.Release.load(tmp_path / "counts")
    assert release.id == answer["id"]
    assert release.table("counts").height == 40

    again = run(*arguments)
    assert again.returncode == 1
    assert "nothing was spent" in again.stderr
    statement = json.loads(run("ledger", "statement", "films", "--ledger", "budget.db", "--json").stdout)
    assert (statement["spent"]["epsilon"], statement["spent"]["epsilon_exact"]) == (0.5, "1/2")
    by_file = json.loads(run("ledger", "statement", "films.parquet", "--ledger", "budget.db", "--json").stdout)
    assert by_file == statement

    verified = run("release", "verify", "counts", "--ledger", "budget.db")
    assert verified.returncode == 0
    assert "films" in verified.stdout
    shown = run("release", "show", "counts")
    assert "proved by" in shown.stdout
    assert json.loads(run("release", "show", "counts", "--json").stdout)["id"] == release.id


def test_too_large_a_request_is_refused_with_numbers(run, films: Path, tmp_path: Path) -> None:
    opened(run)
    done = run("count", "films.parquet", "--epsilon", "5", "--ledger", "budget.db", "--out", "counts")
    assert done.returncode == 3
    assert done.stdout == ""
    for words in ("requested ε = 5", "left ε = 2", "shortfall is ε = 3"):
        assert words in done.stderr
    assert not (tmp_path / "counts").exists()


def test_estimate_spends_nothing_and_needs_no_ledger(run, films: Path) -> None:
    done = run("count", "films.parquet", "--epsilon", "1/2", "--estimate", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["items"] == 40


def test_not_to_keep_a_book_has_to_be_said(run, films: Path) -> None:
    done = run("count", "films.parquet", "--epsilon", "1", "--out", "counts")
    assert done.returncode == 2
    assert "--no-ledger" in done.stderr
    assert run("count", "films.parquet", "--epsilon", "1", "--out", "counts", "--no-ledger").returncode == 0


def test_the_ledger_can_come_from_the_environment(process, films: Path) -> None:
    assert process("ledger", "open", "films.parquet", "--epsilon", "1", DISCREET_LEDGER="b.db").returncode == 0
    assert "films" in process("ledger", "show", DISCREET_LEDGER="b.db").stdout


def test_without_a_catalog_the_program_says_what_to_do(run, tmp_path: Path) -> None:
    (tmp_path / "shop.csv").write_text("user_id,item_id\nann,tea\nbob,rum\n")
    done = run("count", "shop.csv", "--epsilon", "1", "--no-ledger", "--out", "counts")
    assert done.returncode == 1
    assert "--items-public" in done.stderr
    assert run("count", "shop.csv", "--epsilon", "1", "--no-ledger", "--out", "a", "--items-public").returncode == 0
    (tmp_path / "catalog.csv").write_text("item_id,title\ntea,Tea\nrum,Rum\ngin,Gin\n")
    done = run("count", "shop.csv", "--epsilon", "1", "--no-ledger", "--out", "b", "--catalog", "catalog.csv", "--json")
    assert done.returncode == 0, done.stderr
    assert {row["title"] for row in json.loads(done.stdout)["top"]} == {"Tea", "Rum", "Gin"}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["count", "nowhere.csv", "--epsilon", "1", "--no-ledger", "--out", "x"], 1, "nowhere.csv"),
        (["count", "films.parquet", "--epsilon", "0", "--no-ledger", "--out", "x"], 2, "epsilon"),
        (["count", "films.parquet", "--epsilon", "1", "--cap", "0", "--no-ledger", "--out", "x"], 2, "cap"),
        (["count", "films.parquet", "--epsilon", "1", "--no-ledger"], 2, "--out"),
        (["count", "films.parquet"], 2, "--epsilon"),
        (["data", "generate", "moon", "--seed", "1", "--out", "x.csv"], 2, "moon"),
        (["data", "generate", "films", "--seed", "1", "--users", "-4", "--out", "x.parquet"], 2, "users"),
        (["data", "split", "films.parquet", "--how", "sideways", "--out", "x"], 2, "sideways"),
        (["data", "describe", "films.parquet", "--format", "punch-cards"], 2, "punch-cards"),
        (["data", "describe", "films.parquet", "--column", "who"], 2, "--column"),
        (["ledger", "statement", "nobody", "--ledger", "budget.db"], 2, "nobody"),
        (["release", "show", "films.parquet"], 1, "release"),
        (["no-such-command"], 2, "no-such-command"),
    ],
)
def test_wrong_use_and_failures(run, films: Path, arguments: list[str], code: int, words: str) -> None:
    done = run(*arguments)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["count", "films.parquet", "--epsilon", "1/4", "--out", "films.parquet/x"],
        ["count", "films.parquet", "--epsilon", "1/4", "--out", "ok", "--top", "0"],
        ["count", "films.parquet", "--epsilon", "1e400", "--out", "ok"],
        ["fit", "films.parquet", "--epsilon", "1/4", "--out", "films.parquet/x"],
        ["fit", "films.parquet", "--epsilon", "1/4", "--out", "ok", "--option", "k=abc"],
    ],
)
def test_a_mistake_is_found_before_anything_is_spent(run, films: Path, tmp_path: Path, arguments: list[str]) -> None:
    opened(run)
    done = run(*arguments, "--ledger", "budget.db")
    assert done.returncode in (1, 2), done.stdout
    assert "defect" not in done.stderr
    assert not (tmp_path / "ok").exists()
    assert dc.Ledger(tmp_path / "budget.db").statement("films").entries == ()


def test_what_was_paid_for_is_not_lost_when_its_place_is_taken(tmp_path: Path) -> None:
    from discreet.cli.spending import place_for, saved
    from discreet.common.folders import RELEASE

    shop = dc.Interactions([("ann", "tea")], items=["tea"])
    release = dc.counting.ItemCounts(epsilon=1, cap=1).release(shop)
    target = place_for(tmp_path / "counts", RELEASE, overwrite=False)
    release.save(tmp_path / "counts")
    with pytest.warns(dc.errors.DiscreetWarning, match="in the meantime"):
        place = saved(release.save, target)
    assert place != tmp_path / "counts"
    assert dc.Release.load(place).id == release.id


def test_the_program_speaks_the_words_of_the_shell(run, films: Path, tmp_path: Path) -> None:
    missing = run("count", "films.parquet", "--epsilon", "1", "--ledger", "new.db", "--out", "x")
    assert "discreet ledger open" in missing.stderr
    (tmp_path / "twice.csv").write_text("user_id,item_id\nann,tea\nann,tea\n")
    assert "--duplicates last" in run("data", "describe", "twice.csv").stderr
    opened_csv = ["ledger", "open", "twice.csv", "--epsilon", "1", "--ledger", "b.db", "--duplicates", "last"]
    assert run(*opened_csv).returncode == 0
    assert "no ledger" in run("ledger", "show", "--ledger", "nosuch.db").stderr


def wait_for_handler(process: subprocess.Popen[str]) -> None:
    """Wait until the program handles SIGTERM: before that, it is still being imported."""
    caught = 1 << (signal.SIGTERM - 1)
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        (mask,) = (line for line in status.splitlines() if line.startswith("SigCgt"))
        if int(mask.split()[1], 16) & caught:
            return
        time.sleep(0.05)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_says_so_and_leaves_nothing(tmp_path: Path, how: signal.Signals) -> None:
    code = "from discreet.cli import main; main()"
    sizes = ["--users", "60000", "--items", "5000", "--records", "5000000", "--seed", "1", "--out", "big.parquet"]
    process = subprocess.Popen(
        [sys.executable, "-c", code, "data", "generate", "films", *sizes],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for_handler(process)
    time.sleep(0.3)
    said = ""
    for _ in range(100):  # as a person would: an interrupt that a library has swallowed is followed by another
        process.send_signal(how)
        try:
            _, said = process.communicate(timeout=4)
            break
        except subprocess.TimeoutExpired:
            continue
    assert process.returncode == 1
    assert "interrupted" in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_bad_lines_are_named(run, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("user_id,item_id,rating\nann,tea,5\nbob,rum,many\n")
    done = run("data", "describe", "bad.csv", "--scale", "1:5")
    assert done.returncode == 1
    for words in ("bad.csv", "line 3", "rating", "many"):
        assert words in done.stderr


def test_convert_keeps_the_fingerprint(run, films: Path) -> None:
    prints = set()
    for target in ("copy.parquet", "folder", "copy.arrow"):
        assert run("data", "convert", "films.parquet", target).returncode == 0
        prints.add(json.loads(run("data", "describe", target, "--json").stdout)["fingerprint"])
    prints.add(json.loads(run("data", "describe", "films.parquet", "--json").stdout)["fingerprint"])
    assert len(prints) == 1


@pytest.mark.parametrize("how", ["all-but-one", "leave-one-out", "k-fold-users", "temporal", "generalization"])
def test_split(run, films: Path, tmp_path: Path, how: str) -> None:
    done = run("data", "split", "films.parquet", "--how", how, "--out", "parts", "--folds", "2", "--held-out", "20")
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "parts").rglob("*.parquet"))


def test_list_and_doctor(run) -> None:
    listed = json.loads(run("data", "list", "--json").stdout)
    assert {"films", "checkins", "tags", "listeners", "survey"} == set(listed["synthetic"])
    assert any("netflix" in f["name"] for f in listed["formats"])
    health = json.loads(run("doctor", "--json").stdout)
    assert all(health["core"].values())
    assert "pip install 'discreet[lenskit]'" in run("doctor").stdout or health["extras"]["lenskit"]
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(health["extras"]) == set(project["optional-dependencies"])


@pytest.mark.parametrize("dataset", ["checkins", "tags", "survey"])
def test_every_dataset_can_be_generated_and_described(run, dataset: str) -> None:
    assert run("data", "generate", dataset, "--seed", "1", "--users", "60", "--out", "w").returncode == 0
    assert run("data", "describe", "w").returncode == 0


def test_demo_tells_the_whole_story(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, check_page) -> None:
    demo, stories = sys.modules["discreet.cli.demo"], []
    compute = demo.told
    # What the second demo would show is what the first has computed.
    monkeypatch.setattr(
        demo, "told", lambda *given: stories[0] if stories else stories.append(compute(*given)) or stories[0]
    )
    done = run("demo", "--out", "demo")
    assert done.returncode == 0, done.stderr
    for words in ("proved by", "REFUTED", "consistent with", "recall@20", "requested ε = 9", "Left: ε", "report.html"):
        assert words in done.stdout
    page = (tmp_path / "demo" / "report.html").read_text()
    assert "<svg" in page
    assert "http" not in page.replace("http://www.w3.org", "")  # nothing is loaded from elsewhere
    dc.Release.load(tmp_path / "demo" / "counts")
    assert run("demo", "--out", "demo", "--json").returncode == 0  # again, over its own folder
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").touch()
    refused = run("demo", "--out", "mine")
    assert refused.returncode == 1
    assert "not made by a demo" in refused.stderr
    assert page.count("<pre") == 1, "the program to copy; what is printed stands in tables"
    check_page(tmp_path / "demo" / "report.html")


def test_no_color_and_pipes(process, films: Path) -> None:
    assert "\x1b[" not in process("data", "describe", "films.parquet", NO_COLOR="1", FORCE_COLOR="").stdout
    assert "\x1b[" not in process("data", "describe", "films.parquet").stdout


def test_a_reader_who_leaves_early_is_no_error_message(films: Path) -> None:
    command = f"{sys.executable} -c 'from discreet.cli import main; main()' data list --json | head -c 10"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=films.parent)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_on_a_terminal_it_is_readable(films: Path) -> None:
    """A real pseudo-terminal: the table fits and the answer is there."""
    leader, follower = pty.openpty()
    code = "from discreet.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "data", "describe", "films.parquet"],
        cwd=films.parent, stdout=follower, stderr=follower, env={**os.environ, "COLUMNS": "80", "TERM": "xterm"},
    )  # fmt: skip
    os.close(follower)
    seen = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    process.wait()
    assert process.returncode == 0
    assert b"fingerprint" in seen


def test_a_defect_is_said_to_be_one(run, monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import discreet.cli.app as a; import discreet.data.readers as r\n"
        "def broken(): raise ZeroDivisionError('oops')\n"
        "r.formats = broken\n"
        "a.main()"
    )
    done = subprocess.run([sys.executable, "-c", code, "data", "list"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "defect of discreet" in done.stderr
    assert "Traceback" not in done.stderr


def test_completion_script(process) -> None:
    done = process("--show-completion", "bash")
    assert done.returncode == 0
    assert "discreet" in done.stdout or "_COMPLETE" in done.stdout


def test_version(process) -> None:
    assert process("--version").stdout.strip() == f"discreet {dc.__version__}"


def test_python_runs_it_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "discreet", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()[-1]) == (0, dc.__version__), done.stderr
