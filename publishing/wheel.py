"""Builds the wheel, installs it into an empty environment, and runs the lines of README there: ``make check-wheel``.

The environment has what the wheel asks for and nothing else, in the versions of ``constraints.txt``. The code of README
and of the first pages of the site runs in a folder without the source.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

__all__ = ["MOST_BYTES", "contents_of", "main", "wheel_problems"]

ROOT = Path(__file__).parents[1]

MOST_BYTES = 2_000_000
"""The largest that a wheel may be."""

PAGES = ("README.md", "docs/start/ten-minutes.md", "docs/start/your-data.md", "docs/start/install.md")


def contents_of(wheel: Path) -> dict[str, int]:
    """The files of a wheel, with their sizes."""
    with zipfile.ZipFile(wheel) as packed:
        return {info.filename: info.file_size for info in packed.infolist()}


def wheel_problems(wheel: Path) -> list[str]:
    """What is wrong with a wheel: its size, what is missing, and what does not belong into it."""
    files, size = contents_of(wheel), wheel.stat().st_size
    found = [] if size <= MOST_BYTES else [f"the wheel has {size:,} bytes, more than {MOST_BYTES:,}"]
    source = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*") if path.is_file()}
    source = {name for name in source if "__pycache__" not in name and ".egg-info" not in name}
    missing = source - set(files)
    found += [f"missing in the wheel: {name}" for name in sorted(missing)[:10]]
    strange = [name for name in files if not name.startswith("discreet")]
    return found + [f"not of the library: {name}" for name in strange[:10]]


def main() -> int:
    """Build, look at, install and use the wheel; the exit code tells whether all went well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="Where the wheel goes.")
    parser.add_argument("--python", default=sys.executable, help="The Python of the empty environment.")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    pip = ["-m", "pip", "--disable-pip-version-check", "--quiet"]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _run(sys.executable, *pip, "wheel", "--no-deps", "--wheel-dir", str(place / "wheel"), str(ROOT))
        (made,) = (place / "wheel").glob("*.whl")
        wheel = given.out / made.name
        wheel.write_bytes(made.read_bytes())
        if problems := wheel_problems(wheel):
            sys.stderr.write("\n".join(problems) + "\n")
            return 1
        _run(given.python, "-m", "venv", str(place / "empty"))
        python = str(place / "empty" / "bin" / "python")
        _run(python, *pip, "install", "-c", str(ROOT / "constraints.txt"), str(wheel))
        where = _run(python, "-c", "import discreet; print(discreet.__file__)", cwd=place).strip()
        if not Path(where).resolve().is_relative_to((place / "empty").resolve()):
            sys.stderr.write(f"the environment uses {where}, not the wheel\n")
            return 1
        _run(str(place / "empty" / "bin" / "discreet"), "doctor", cwd=place)
        pages = [str(ROOT / page) for page in PAGES]
        script = "import runpy, sys; sys.argv[0] = 'running'; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
        _run(python, "-c", script, str(ROOT / "publishing" / "running.py"), *pages, cwd=place)
    size = wheel.stat().st_size
    sys.stdout.write(f"{wheel.name}: {size:,} bytes; README and {len(PAGES) - 1} pages run with it alone\n")
    return 0


def _run(*command: str, cwd: Path | None = None) -> str:
    """Run a program; its output if it went well, and otherwise an error with it."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)[:300]}\nended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
