"""`discreet tags`: what a person types, and what becomes of mistakes."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.data import synthetic
from discreet.data.readers import write
from discreet.tagging import PTRJ


@dataclass(frozen=True)
class Done:
    """What a run of the program left."""

    returncode: int
    stdout: str
    stderr: str


Call = Callable[..., Done]


@pytest.fixture(scope="session")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small dataset and a release of it, made once."""
    folder = tmp_path_factory.mktemp("tags")
    data = synthetic.tags(users=60, resources=40, vocabulary=80, records=1_500, seed=7)
    write(data, folder / "tags.parquet")
    public = data.with_vocabulary("observed").with_resources("observed")
    PTRJ(epsilon=8, delta="1e-6").release(public).save(folder / "release")
    return folder


@pytest.fixture
def call(dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The program in this process, in a folder with the dataset and with a ledger to charge."""
    from discreet.cli import main

    shutil.copy(dataset / "tags.parquet", tmp_path)
    shutil.copytree(dataset / "release", tmp_path / "made")
    data = dc.read(tmp_path / "tags.parquet")
    assert isinstance(data, dc.TagAssignments)
    dc.Ledger(tmp_path / "b.db").open(data, epsilon=4, delta="1e-5", unit="user", name="tags")
    (tmp_path / "public.txt").write_text("\n".join(data.tags.ids()[:50]) + "\n\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISCREET_LEDGER", "b.db")
    monkeypatch.setenv("COLUMNS", "100")

    def answer(line: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["discreet", *line.split()])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Done(int(ended.value.code or 0), said.out, said.err)

    return answer


def spent(folder: Path) -> float:
    return float(dc.Ledger(folder / "b.db").statement("tags").spent.epsilon)


def test_the_lines_of_the_manual_word_for_word(call: Call, tmp_path: Path) -> None:
    done = call(
        "tags release tags.parquet --method ptr-j --epsilon 1 --delta 1e-6 --vocabulary public.txt --out release/"
    )
    assert done.returncode == 0, done.stderr
    assert "proved by:" in done.stdout
    assert "--resources-public" in done.stderr
    assert "not in public.txt, and were left out" in done.stderr
    release = dc.Release.load(tmp_path / "release")
    assert sorted(release.table("tags")["tag"]) == (tmp_path / "public.txt").read_text().split()
    charged = spent(tmp_path)
    assert 0 < charged <= 1

    done = call("tags recommend release/ --user u3 --resource r9 -n 10")
    assert done.returncode == 0, done.stderr
    assert "nothing about the resource r9" in done.stderr
    assert "--own FILE" in done.stderr

    done = call("tags release tags.parquet --method pritop --epsilon 1 -K 100 --allow-refuted --out pritop/")
    assert done.returncode == 0, done.stderr
    assert "refuted" in done.stdout
    assert dc.Release.load(tmp_path / "pritop").parameters["topics"] == 100
    assert spent(tmp_path) == charged


def test_the_example_of_the_help(call: Call, tmp_path: Path) -> None:
    from discreet.cli.tags import release

    assert release.__doc__ is not None
    lines = [line.strip() for line in release.__doc__.splitlines() if line.strip().startswith("discreet ")]
    assert len(lines) == 6
    for name in ("tags.parquet", "public.txt", "b.db", "b.db.head"):
        (tmp_path / name).unlink()
    answers = [call(line.removeprefix("discreet ")) for line in lines]
    assert [done.returncode for done in answers] == [0] * 6, answers
    assert "against all others together" in answers[-2].stdout
    assert "round 1 of noisy sums" in answers[-1].stdout


def test_only_the_tags_of_the_person_who_asks_are_read(call: Call, tmp_path: Path) -> None:
    data = dc.read(tmp_path / "tags.parquet")
    assert isinstance(data, dc.TagAssignments)
    whole = json.loads(call("tags recommend made --user u3 --resource page-9 -n 500 --json --data tags.parquet").stdout)
    own = data.to_frame().filter(user_id="u3")
    own.write_csv(tmp_path / "mine.csv")
    mine = json.loads(call("tags recommend made --user u3 --resource page-9 -n 500 --json --own mine.csv").stdout)
    assert whole == mine
    nobody = json.loads(call("tags recommend made --user u3 --resource page-9 -n 500 --json").stdout)
    assert nobody["tags"] != mine["tags"]
    assert mine["guarantee"]["joint"]
    before, after = ({row["tag"]: row["score"] for row in said["tags"]} for said in (nobody, mine))
    used = set(own["tag"])
    # One's own tags gain, and nobody else's do.
    assert all(after[tag] > before[tag] for tag in used)
    assert all(after[tag] == before[tag] for tag in set(before) - used)
    unknown = call("tags recommend made --user somebody --resource page-9 --data tags.parquet")
    assert unknown.returncode == 0
    assert "no triples of somebody" in unknown.stderr


def test_several_resources(call: Call) -> None:
    done = call("tags recommend made --user u3 --resource page-9 --resource page-2 -n 2")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("page-9") >= 2
    assert "Tags for page-9, page-2" in done.stdout


@pytest.mark.parametrize(
    ("settings", "kind", "unit"),
    [
        ("ptr-j --unit assignment --delta 0", "tag-statistics", "record"),
        ("ptr-s --delta 1e-6 --option users=20", "tag-assignments", "user"),
        ("ptr-t --delta 1e-6", "tag-assignments", "record/value"),
        ("private-topics --delta 1e-6 -K 3", "tag-topics", "user"),
    ],
)
def test_every_way_to_release(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, kind: str, unit: str
) -> None:
    lists = "--vocabulary-public --resources-public"
    asked = f"tags release tags.parquet --method {settings} --epsilon 3 {lists} --json --out made --overwrite"
    if unit != "user":
        refused = call(asked)
        assert refused.returncode == 1
        assert "the account 'tags' is kept for" in refused.stderr
    monkeypatch.delenv("DISCREET_LEDGER")
    done = call(f"{asked} --no-ledger")
    assert done.returncode == 0, done.stderr
    release = dc.Release.load(tmp_path / "made")
    assert json.loads(done.stdout)["kind"] == release.kind == kind
    assert release.guarantee.unit == dc.Unit.of(unit)
    assert release.guarantee.standing is dc.Standing.PROVED
    told = call(f"{asked.replace(' --json', '')} --no-ledger")
    assert told.returncode == 0, told.stderr
    assert "proved by:" in told.stdout
    assert spent(tmp_path) == 0


def test_an_estimate_spends_nothing(call: Call, tmp_path: Path) -> None:
    asked = "tags release tags.parquet --epsilon 1 --delta 1e-6 --vocabulary-public --resources-public --estimate"
    done = call(asked)
    assert done.returncode == 0, done.stderr
    assert "popularity noise sd" in done.stdout
    assert "nothing was spent" in done.stdout
    assert json.loads(call(f"{asked} --json").stdout)["link_noise_sd"] > 0
    assert spent(tmp_path) == 0


def test_a_list_found_privately(call: Call, tmp_path: Path) -> None:
    shared = [(f"u{user}", "tea.org", tag) for user in range(80) for tag in ("tea", "cup")]
    everybody = pl.DataFrame(
        [*shared, ("u1", "tea.org", "my-own-word")], schema=["user_id", "resource_id", "tag"], orient="row"
    )
    everybody.write_csv(tmp_path / "tea.csv")
    data = dc.read(tmp_path / "tea.csv")
    dc.Ledger(tmp_path / "b.db").open(data, epsilon=6, delta="1e-5", unit="user", name="tea")
    done = call("tags vocabulary tea.csv --epsilon 3 --delta 1e-6 --option cap=3 --out list.txt --release list")
    assert done.returncode == 0, done.stderr
    assert "proved by" in done.stdout
    assert 0 < float(dc.Ledger(tmp_path / "b.db").statement("tea").spent.epsilon) <= 3
    assert (tmp_path / "list.txt").read_text().split() == ["cup", "tea"]
    assert dc.Release.load(tmp_path / "list").table("tags")["tag"].to_list() == ["cup", "tea"]
    for place in ("list.txt", "list"):
        done = call(f"tags release tea.csv --epsilon 1/2 --delta 1e-6 --vocabulary {place} --out r --overwrite")
        assert done.returncode == 0, done.stderr
        assert dc.Release.load(tmp_path / "r").table("tags")["tag"].to_list() == ["cup", "tea"]
    done = call("tags vocabulary tea.csv --epsilon 1/100 --delta 1e-9 --out list.txt --overwrite")
    assert "none is held by enough people" in done.stderr


def test_lists_that_are_declared_public(call: Call, tmp_path: Path) -> None:
    done = call("tags vocabulary tags.parquet --public --of resources --out pages.txt --json")
    assert json.loads(done.stdout) == {"list": "pages.txt", "entries": 40, "guarantee": None}
    lists = "--vocabulary public.txt --resources pages.txt"
    done = call(f"tags release tags.parquet --epsilon 1 --delta 1e-6 {lists} --out r --json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["parts"]["resources"] == [40, 2]


def test_resources_that_are_numbers(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = dc.read(tmp_path / "tags.parquet").to_frame()
    numbered = frame.with_columns(pl.col("resource_id").str.strip_prefix("page-").cast(pl.Int64))
    numbered.write_csv(tmp_path / "numbered.csv")
    (tmp_path / "pages.txt").write_text("".join(f"{page}\n" for page in range(1, 41)))
    lists = "--vocabulary-public --resources pages.txt --no-ledger"
    monkeypatch.delenv("DISCREET_LEDGER")
    done = call(f"tags release numbered.csv --epsilon 8 --delta 1e-6 {lists} --out r")
    assert done.returncode == 0, done.stderr
    assert "left out" not in done.stderr
    done = call("tags recommend r --user u3 --resource 9 --own numbered.csv")
    assert done.returncode == 0, done.stderr


def test_a_list_has_its_own_type(tmp_path: Path) -> None:
    """One user's resource called x makes the whole column text; what the list finds of the others stays the same."""
    from discreet.cli.tags import PublicLists

    lines = ["user,resource,tag", *(f"u{i},{(1, 2, 7)[i % 3]},t" for i in range(9))]
    (tmp_path / "numbers.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "text.csv").write_text("\n".join([*lines, "eve,x,t"]) + "\n")
    for entries, kept in (("1\n2\n", 6), ("007\n1\n2\n", 6), ("1\n--5\n", 3), ("x\n7\n", 3)):
        (tmp_path / "list.txt").write_text(entries)
        found = []
        for name in ("numbers.csv", "text.csv"):
            data = dc.read(tmp_path / name)
            assert isinstance(data, dc.TagAssignments)
            part = PublicLists(vocabulary_public=True, resources=tmp_path / "list.txt").of(data, take_all=False)
            found.append(part.to_frame().filter(pl.col("user_id") != "eve"))
        assert found[0].equals(found[1])
        assert found[0].height == kept


def test_ids_as_they_are_typed() -> None:
    from discreet.data.id_forms import typed

    numbers, text = pl.Series([1, 2]), pl.Series(["1"])
    for given, number in (("5", 5), ("-5", -5), ("--5", "--5"), ("-", "-"), ("", ""), ("9" * 5_000, "9" * 5_000)):
        assert typed(given, numbers) == number
        assert typed(given, text) == given


def test_wrong_use(call: Call, tmp_path: Path) -> None:
    write(synthetic.films(users=20, items=10, seed=7), tmp_path / "films.parquet")
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\xff")
    public = "--vocabulary-public --resources-public"
    release = f"tags release tags.parquet --epsilon 1 --delta 1e-6 {public}"
    for line, code, words in (
        (f"{release} --method magic --out r", 2, "Choose from: ptr-j"),
        (f"{release} --option magic=1 --out r", 2, "no setting magic"),
        (f"{release} --unit planet --out r", 2, "unit must be one of 'user', 'assignment'"),
        (f"{release} --method pritop --out r", 2, "no setting delta"),
        (f"{release} --vocabulary public.txt --out r", 2, "exclude each other"),
        (f"{release} --out made", 1, "nothing was spent"),
        (release, 2, "--out FOLDER"),
        ("tags release tags.parquet --epsilon 1 --delta 1e-6 --out r", 1, "--vocabulary FILE"),
        ("tags release tags.parquet --epsilon 0 --delta 1e-6 --vocabulary-public --out r", 2, "epsilon"),
        ("tags release tags.parquet --epsilon 1 --delta 2 --vocabulary-public --out r", 2, "delta"),
        ("tags release tags.parquet --epsilon 1 --delta 1e-6 --vocabulary no.txt --out r", 1, "no.txt"),
        ("tags release tags.parquet --epsilon 1 --delta 1e-6 --vocabulary empty.txt --out r", 1, "empty"),
        ("tags release tags.parquet --epsilon 1 --delta 1e-6 --vocabulary bytes.txt --out r", 1, "UTF-8"),
        ("tags release tags.parquet --epsilon 1 --delta 1e-6 --vocabulary made --out r", 2, "not a list of tags"),
        ("tags release films.parquet --epsilon 1 --delta 1e-6 --out r", 2, "needs tags"),
        ("tags release tags.parquet --method pritop --epsilon 1 --out r", 1, "--allow-refuted"),
        ("tags release tags.parquet --epsilon 99 --delta 1e-6 --vocabulary-public --out r", 3, "left"),
        ("tags recommend nowhere --user u3 --resource x", 1, "nowhere"),
        ("tags recommend made --user u3 --resource x -n 0", 2, "n must be"),
        ("tags recommend made --user u3 --resource x --own a --data b", 2, "exclude each other"),
        ("tags recommend made --user u3", 2, "--resource"),
        ("tags vocabulary tags.parquet --out l.txt", 2, "--public"),
        ("tags vocabulary tags.parquet --epsilon 1 --out l.txt", 2, "--delta"),
        ("tags vocabulary tags.parquet --public --out made", 1, "is a folder"),
        ("tags vocabulary tags.parquet --public --of words --out l.txt", 2, "tags, resources"),
    ):
        done = call(line)
        assert done.returncode == code, (line, done.stderr)
        assert words in done.stderr, (line, done.stderr)
        assert "Traceback" not in done.stderr
        assert not done.stdout
    assert spent(tmp_path) == 0
    assert not (tmp_path / "r").exists()


def test_a_folder_of_hetrec_is_read_for_its_tags(tmp_path: Path) -> None:
    from discreet.cli.reading import Reading

    (tmp_path / "user_artists.dat").write_text("userID\tartistID\tweight\n2\t51\t13883\n")
    (tmp_path / "user_taggedartists.dat").write_text(
        "userID\tartistID\ttagID\tday\tmonth\tyear\n2\t52\t13\t1\t4\t2009\n2\t52\t15\t1\t4\t2009\n"
    )
    (tmp_path / "tags.dat").write_text("tagID\ttagValue\n13\tchillout\n15\tdowntempo\n")
    assert Reading().tags(tmp_path).to_frame()["tag"].to_list() == ["chillout", "downtempo"]


@pytest.mark.parametrize(("folder", "triples"), [("movielens-10m", 3), ("movielens-csv", 4), ("hetrec-delicious", 3)])
def test_a_folder_of_movielens_is_read_for_its_tags(folder: str, triples: int) -> None:
    from discreet.cli.reading import Reading

    fixtures = Path(__file__).parents[1] / "data" / "readers" / "fixtures"
    assert len(Reading().tags(fixtures / folder)) == triples


def test_help_has_examples(call: Call) -> None:
    for command in ("release", "recommend", "vocabulary"):
        assert "Example" in call(f"tags {command} --help").stdout
