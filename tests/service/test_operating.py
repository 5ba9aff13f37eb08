"""What docs/operating.md gives to operators is run, or read by what will read it."""

from __future__ import annotations

import configparser
import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from discreet.cli.app import app
from discreet.service.hub import Hub
from discreet.service.settings import ServiceSettings
from discreet.service.store import Store

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "examples/service/discreet.service"


def unit() -> configparser.ConfigParser:
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment]
    parser.read(UNIT)
    return parser


def test_the_command_of_the_unit_starts_a_service(tmp_path: Path) -> None:
    program, *arguments = shlex.split(unit()["Service"]["ExecStart"])
    assert Path(program).name == "discreet"
    places = {"/var/lib/discreet": str(tmp_path / "service"), "/srv/exports": str(tmp_path)}
    given = [places.get(argument, argument) for argument in arguments]
    # With this option the same command prepares everything, adds a tenant and ends.
    answer = CliRunner().invoke(app, [*given, "--add-tenant", "shop"])
    assert answer.exit_code == 0, answer.output
    assert re.search(r"https://discreet\.example\.org/setup#\S{40,}", answer.output + answer.stderr)
    hub = Hub(Store(ServiceSettings(folder=tmp_path / "service")))
    assert hub.keys.tenants() == ["shop"]


def test_stopping_the_unit_leaves_jobs_alone() -> None:
    assert unit()["Service"]["KillMode"] == "process"
    assert unit()["Service"]["StateDirectoryMode"] == "0700"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, with continued lines joined."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split(maxsplit=1)[0], line.split(maxsplit=1)[1]) for line in lines]


def test_the_container_file_is_well_formed() -> None:
    known = {"FROM", "WORKDIR", "COPY", "RUN", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "ENTRYPOINT"}
    found = instructions()
    assert {name for name, _ in found} <= known
    assert found[0][0] == "FROM"
    ignored = (ROOT / ".dockerignore").read_text().split()
    for name, rest in found:
        if name == "COPY" and not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert source not in ignored


def test_the_container_does_not_run_as_root_and_starts_the_service() -> None:
    found = dict(instructions())
    assert found["USER"] == "discreet"
    program, *arguments = json.loads(found["ENTRYPOINT"])
    assert program == "discreet"
    answer = CliRunner().invoke(app, [*arguments, "--help"])
    assert answer.exit_code == 0
    extras = re.search(r"\.\[([a-z,]+)\]", (ROOT / "Dockerfile").read_text())
    assert extras is not None
    assert "service" in extras.group(1).split(",")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org"])
def test_no_service_without_keys_on_an_open_address(tmp_path: Path, host: str) -> None:
    answer = CliRunner().invoke(app, ["serve", "--folder", str(tmp_path / "s"), "--insecure-local", "--host", host])
    assert answer.exit_code != 0
    assert not (tmp_path / "s").exists()
