"""`discreet new`, and a model of somebody's own on the command line: by its place, and by the name of its package."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.cli.new import write_project
from discreet.data import synthetic
from discreet.data.readers import write
from discreet.models import registry
from discreet.models.registry import create, names
from discreet.service.app import create_app
from discreet.service.settings import ServiceSettings


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project as pip installs it: its package on the path, and its entry points beside it."""
    write_project(tmp_path / "my-algorithm", "my-algorithm", "my_algorithm", "private")
    source = tmp_path / "my-algorithm" / "src"
    about = source / "my_algorithm-0.1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-algorithm\nVersion: 0.1.0\n")
    (about / "entry_points.txt").write_text("[discreet.models]\nmy-algorithm = my_algorithm:MyAlgorithm\n")
    monkeypatch.syspath_prepend(source)
    registry._installed.cache_clear()
    yield tmp_path
    registry._installed.cache_clear()
    for name in [one for one in sys.modules if one.partition(".")[0] == "my_algorithm"]:
        del sys.modules[name]


@pytest.fixture
def films(tmp_path: Path) -> Path:
    write(synthetic.films(users=80, items=20, seed=7), tmp_path / "films.parquet")
    return tmp_path / "films.parquet"


@pytest.mark.parametrize("kind", ["private", "plain"])
def test_the_tests_of_a_new_project_pass(run: Any, tmp_path: Path, kind: str) -> None:
    done = run("new", "my-algorithm", "--kind", kind)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "my-algorithm" / "pyproject.toml").is_file()
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp", tmp_path / "temporary"],
        cwd=tmp_path / "my-algorithm",
        capture_output=True,
        text=True,
        check=False,
        # Plugins that discreet is tested with take longer to load than these tests do to run.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    assert tested.returncode == 0, tested.stdout


def test_nothing_that_exists_is_overwritten(run: Any, tmp_path: Path) -> None:
    for name, make in (("a-file", Path.touch), ("a-folder", Path.mkdir), ("a-link", lambda p: p.symlink_to("nowhere"))):
        make(tmp_path / name)
        before = sorted(tmp_path.iterdir())
        done = run("new", name)
        assert done.returncode == 2
        assert "exists already" in done.stderr
        assert sorted(tmp_path.iterdir()) == before
        assert not (tmp_path / name / "pyproject.toml").exists()


@pytest.mark.parametrize("name", ["", "My", "a--b", "../evil", "a/b", "class", "ease", "discreet", "-x", "ü"])
def test_odd_names_are_refused(run: Any, tmp_path: Path, name: str) -> None:
    assert run("new", "--", name).returncode == 2
    assert [one.name for one in tmp_path.iterdir()] == []


def test_an_installed_package_gives_a_name(installed: Path) -> None:
    assert "my-algorithm" in names("recommender")
    assert "my_algorithm" not in sys.modules  # nothing is imported for it
    assert create("my-algorithm", epsilon=1).cap == 20


def test_a_package_that_does_not_load_is_named(installed: Path) -> None:
    (installed / "my-algorithm" / "src" / "my_algorithm" / "model.py").write_text("import nothing_of_the_kind\n")
    with pytest.raises(registry.UsageError, match="package my-algorithm cannot be loaded"):
        create("my-algorithm", epsilon=1)


FILE = "my-algorithm/src/my_algorithm/model.py:MyAlgorithm"


@pytest.mark.parametrize("model", ["my-algorithm", "my_algorithm:MyAlgorithm", FILE])
def test_every_command_takes_it(run: Any, installed: Path, films: Path, model: str) -> None:
    def ok(*line: object) -> str:
        done = run(*line)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (installed / "told.json").write_text('["film-3", "film-5"]')
    ok("fit", films, "--model", model, "--epsilon", "1", "--items-public", "--no-ledger", "--out", "model")
    given = () if ":" not in model else ("--model", model)
    assert "score" in ok("recommend", "model", "--history", "told.json", *given)
    assert "consistent" in ok(
        "audit", films, "--model", model, "--epsilon", "1", "--attacks", "canary", "--runs", "20", "--processes", "1"
    )
    assert "does not apply" not in ok("attack", films, "--model", model, "--sees", "list", "--targets", "2")
    assert "Recommended" in ok(
        *("risk", films, "--model", model, "--epsilons", "1,8", "--targets", "2", "--fits", "1", "--users", "10"),
    )


def test_a_study_compares_it(run: Any, installed: Path, films: Path) -> None:
    done = run("study", "frontier", "--quick", "--data", films, "--model", "my-algorithm", "--json")
    assert done.returncode == 0, done.stderr
    assert '"my-algorithm"' in done.stdout
    refused = run("study", "pncf", "--quick", "--model", "my-algorithm")
    assert refused.returncode == 2
    assert "study frontier" in refused.stderr


def test_the_service_knows_what_the_operator_gave(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.service.catalog import described, method_names

    monkeypatch.delitem(registry.REGISTRY, "my-algorithm", raising=False)
    place = "my_algorithm:MyAlgorithm"
    settings = ServiceSettings(folder=installed / "service", models=(place,))
    assert ServiceSettings.from_json(settings.to_json()).models == (place,)
    create_app(settings, jobs=False)
    try:
        assert "my-algorithm" in method_names()
        assert described("my-algorithm")["settings"]["required"] == ["epsilon"]
        with pytest.raises(registry.UsageError, match="not a recommender"):
            ServiceSettings(folder=installed, models=("json:JSONDecoder",)).load_models()
    finally:
        registry.REGISTRY.pop("my-algorithm", None)
        described.cache_clear()
