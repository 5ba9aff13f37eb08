"""`discreet evaluate`: how accurate models are, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.commands import Settings, settings_of
from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, note, progressing
from discreet.cli.reading import DataPath, RecordsReading
from discreet.cli.spending import Overwrite, place_for
from discreet.common.numerals import parse_whole
from discreet.errors import UsageError

__all__ = ["evaluate"]


def evaluate(
    data: DataPath,
    reading: RecordsReading,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME|MODULE:CLASS",
            help="A model by name, or another one: lenskit:ItemKNN, recbole:BPR, module:Class, file.py:Class; "
            "repeatable.",
        ),
    ] = None,
    option: Settings = None,
    epsilons: Annotated[
        str | None, typer.Option("--epsilons", metavar="E,…", help="Budgets that each model is given that has one.")
    ] = None,
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help="strong-generalization (lists for new users), or ratings: holdout, all-but-one, leave-one-out.",
        ),
    ] = "strong-generalization",
    k: Annotated[str, typer.Option("--k", metavar="K,…", help="Lengths of lists.")] = "20,100",
    splits: Annotated[int, typer.Option("--splits", help="Number of splits.")] = 3,
    test_users: Annotated[
        int | None, typer.Option("--test-users", help="Held-out users; a tenth of them otherwise, 10,000 at most.")
    ] = None,
    reference: Annotated[
        str, typer.Option("--reference", help="The model without privacy to compare with: auto, none, or a name.")
    ] = "auto",
    train_url: Annotated[
        str | None, typer.Option("--train-url", metavar="URL", help="For a URL: where records are posted to.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Draws the splits, never noise.")] = 0,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write a page, evaluation.html.")] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Measure models on held-out records, beside a model without privacy.

    Models are fitted on the same splits, and compared user by user with a paired test. Nothing is charged to a ledger
    and nothing that is fitted can be saved: the figures are computed from the records without noise and are for their
    owner. Models of other libraries cannot be told a history later; they learn from the told records of the test
    users, too.

    [bold]Example[/bold], from nothing:

        discreet data generate films --seed 7 --out films.parquet
        discreet evaluate films.parquet --model private-recommender --model popularity --epsilons 1,4 --k 10
        discreet evaluate films.parquet --model private-ratings --epsilons 1 --protocol holdout --out evaluation.html
        discreet evaluate films.parquet --model private-recommender --model lenskit:ItemKNN --epsilons 1,4
        discreet evaluate films.parquet --model recbole:BPR --option epochs=20
    """
    from discreet.evaluation import evaluate as run
    from discreet.reports import PAGE

    if out is not None:
        place_for(out, PAGE, overwrite=overwrite, sources=(data,))
    tried = None if epsilons is None else [one.strip() for one in epsilons.split(",") if one.strip()]
    models = _models(model or (), settings_of(option), tried, train_url)
    records = reading.interactions(data)
    with progressing("evaluating") as progress:
        found = run(
            models,
            records if records.catalog_is_public else records.with_catalog("observed"),
            epsilons=tried,
            protocol=protocol,
            k=_lengths(k),
            splits=splits,
            seed=seed,
            test_users=test_users,
            reference=None if reference == "none" else reference,
            progress=progress,
        )
    if out is not None:
        note(f"written to {found.save(out, overwrite=overwrite)}; it is for the owner of the records")
    if as_json:
        answer_json(found.to_dict())
        return
    columns = found.headings()
    answer_table(found.heading, columns, found.cells(), numbers=columns[1:])
    answer_text("\n".join(found.remarks))


def _models(names: Sequence[str], typed: dict[str, Any], epsilons: list[str] | None, train: str | None) -> list[Any]:
    """The models that are named, each once, with the settings that were typed for the only one."""
    listed = list(dict.fromkeys(names))
    if not listed:
        raise UsageError("no model was given.", remedy="Give --model NAME, or --model lenskit:ItemKNN.")
    if typed and len(listed) > 1:
        raise UsageError("--option is for one model.", remedy="Give one --model.")
    return [_model(name, typed, epsilons, train) for name in listed]


def _model(name: str, typed: dict[str, Any], epsilons: list[str] | None, train: str | None) -> Any:
    from discreet.attacks.engine.foreign import as_tables
    from discreet.models.foreign.lookup import is_outside, outside
    from discreet.models.foreign.making import Made
    from discreet.models.recommender import Recommender
    from discreet.models.registry import registered, settings_of, with_settings

    if is_outside(name):
        found = outside(name, train=train, settings=typed)
        if not isinstance(found, Made):
            return found
        kind = found.make
        if not (isinstance(kind, type) and issubclass(kind, Recommender)):
            return as_tables(found())
    else:
        kind = registered(name, "recommender")
    if epsilons and "epsilon" in settings_of(kind):
        typed = {"epsilon": epsilons[0], **typed}  # set to each that is tried
    return with_settings(kind, typed, name)


def _lengths(text: str) -> list[int]:
    try:
        return [parse_whole(part.strip()) for part in text.split(",") if part.strip()]
    except (ValueError, OverflowError):
        raise UsageError(f"--k {text!r} is not understood.", remedy="Write whole numbers: 20,100.") from None
