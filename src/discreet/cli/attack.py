"""`discreet attack`: what an attacker learns from a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.commands import Settings, chosen_from, settings_of
from discreet.cli.console import AsJson, answer_json, answer_table, answer_text, counted, progressing
from discreet.cli.reading import DataPath, RecordsReading
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.attacks import AttackReport, LinearReport
    from discreet.attacks.games.reports import RowsReport

__all__ = ["attack"]

USUAL = "knn,npns,pncf,ppns,private-item-knn"


def attack(
    data: DataPath,
    reading: RecordsReading,
    attack: Annotated[
        str,
        typer.Option(
            "--attack",
            help="sybil, beta-sybil (more and more sybils), adaptive-sybil (step by step), item-sybil (item-based "
            "models), two-releases (before and after new records), or lia.",
        ),
    ] = "sybil",
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME|MODULE:CLASS",
            help="A model by name, or another one: module:Class, file.py:Class, lenskit:ItemKNN; repeatable.",
        ),
    ] = None,
    option: Settings = None,
    against: Annotated[
        str | None,
        typer.Option("--against", metavar="MODEL,…", help=f"Models in one list; without any: {USUAL}."),
    ] = None,
    known: Annotated[
        int | None, typer.Option("--known", help="How many ratings of the target the attacker knows; 8 for sybil.")
    ] = None,
    known_share: Annotated[
        str,
        typer.Option("--known-share", metavar="SHARE,…", help="Of lia: which share of the other ratings is known."),
    ] = "1",
    rounds: Annotated[int, typer.Option("--rounds", help="Of adaptive-sybil: fits, each asked anew.")] = 3,
    new: Annotated[int, typer.Option("--new", help="Of two-releases: new records of the target.")] = 1,
    choose: Annotated[
        str | None,
        typer.Option("--choose", help="Which ratings are known: random (rarest for item-sybil), rarest, popular."),
    ] = None,
    fillers: Annotated[
        str, typer.Option("--fillers", help="Other sybils: shifted (one rating one step off) or copies.")
    ] = "shifted",
    sees: Annotated[
        str | None, typer.Option("--sees", help="What a client sees: ratings or list; ratings where there are any.")
    ] = None,
    targets: Annotated[int, typer.Option("--targets", help="How many users to attack, each with two fits.")] = 20,
    target: Annotated[list[str] | None, typer.Option("--target", help="Attack this user; repeatable.")] = None,
    k: Annotated[int, typer.Option("--k", help="Neighbors of the user-based models; as many sybils.")] = 10,
    beta: Annotated[int, typer.Option("--beta", help="Partitions of ppns, and how far npns looks, in k.")] = 4,
    similarity: Annotated[
        str, typer.Option("--similarity", help="Of users: cosine, cosine_full, pearson, cosine_adjusted.")
    ] = "cosine",
    shrinkage: Annotated[
        float, typer.Option("--shrinkage", help="s: similarities count n/(n + s) with n common ratings.")
    ] = 5,
    epsilon: Annotated[str, typer.Option("--epsilon", help="The budget that each model is given.")] = "1",
    delta: Annotated[str, typer.Option("--delta", help="The delta that goes with it, where a model has one.")] = "1e-6",
    seed: Annotated[int, typer.Option("--seed", help="Draws targets and what is known of them.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Attack models, with the target in the data and without.

    Invented users copy KNOWN ratings of a target and ask a model for the others. A model reveals the target as far as
    the attacker does better with the target present than with the target absent. Models with neighbors predict from
    users' plain ratings here (all users are candidates), the setting of the published attacks. Nothing is charged to a
    ledger: the answer is for the owner of the data.

    The linear attack, lia, knows everything but one rating of a target (or whether one record is there) and solves for
    it: from what the target is shown, and from what others are. With --known-share 0,0.5,1 it knows that share of the
    target's other ratings. Its other options are --targets, --epsilon, --delta, --seed.

    adaptive-sybil fits the model --rounds times; its sybils adopt what they were told. item-sybil reads similarities of
    items with two sybils, and models with neighbors are item-based here. two-releases compares what one invented user
    is shown before and after --new records of the target, of whom --known ratings are known.

    [bold]Example[/bold], from nothing:

        discreet data generate films --seed 7 --out films.parquet
        discreet attack films.parquet --attack sybil --against knn,ppns,private-item-knn --known 8
        discreet attack films.parquet --attack lia --against slope-one,private-slope-one --known-share 0,0.5,1
        discreet attack films.parquet --attack item-sybil --against knn,private-item-knn
        discreet attack films.parquet --attack two-releases --against knn,slope-one,private-item-knn
        discreet attack films.parquet --model package.module:Class --option k=20 --sees list
    """
    from discreet.attacks import linear_attack
    from discreet.data.id_forms import typed as id_as_typed
    from discreet.service.attacking import GAMES, ITEM_BASED, factory_of, game_of

    names, typed = _names(model, against), settings_of(option)
    if typed and len(names) > 1:
        raise UsageError("--option is for one model.", remedy="Give one --model.")
    budget = {"epsilon": epsilon, "delta": delta}
    if attack == "lia":
        if target:
            raise UsageError("the linear attack draws its targets.", remedy="Give --targets N instead of --target.")
        models = {name: factory_of(name, typed, budget, code=True)() for name in names}
        records = reading.interactions(data)
        with progressing("linear attack") as progress:
            shares = _shares(known_share)
            linear = linear_attack(models, records, targets=targets, known=shares, seed=seed, progress=progress)
        title = "What the linear attack learns about one secret of a person"
        _answer(linear, linear.to_json(), title, _about_linear, as_json=as_json)
        return
    chosen_from(attack, (*GAMES, "lia"), "--attack")
    game = game_of(
        attack, k=k, known=known, choose=choose, fillers=fillers, beta=beta, sees=sees, rounds=rounds, new=new
    )
    settings = {"k": k, "beta": beta, "similarity": similarity, "shrinkage": shrinkage}
    axis = "item" if attack in ITEM_BASED else "user"
    factories = {name: factory_of(name, typed, budget, axis=axis, code=True, **settings) for name in names}
    records = reading.interactions(data)
    wanted = targets if not target else [id_as_typed(name, records.users.series) for name in target]
    with progressing("sybil attack") as progress:
        report = game.run(
            factories,
            records,
            targets=wanted,
            seed=seed,
            progress=lambda done, fits: progress(done / fits, f"{counted(done, 'fit')} of {fits:,}"),
        )
    facts = report.to_json()
    facts["settings"] |= settings
    title = f"What sybils learn about a target; attacked: {report.rows[0].targets}"
    _answer(report, facts, title, _about_sybils, as_json=as_json)


def _names(models: list[str] | None, against: str | None) -> list[str]:
    """The models that are named, each once."""
    listed = USUAL if against is None and not models else against or ""
    names = [*(models or []), *(part.strip() for part in listed.split(","))]
    if not any(names):
        raise UsageError("no model was given.", remedy="Give --model NAME, or --against knn,ppns,private-item-knn.")
    return list(dict.fromkeys(name for name in names if name))


def _shares(text: str) -> list[float]:
    """Shares of ratings that are known, from 0 to 1."""
    from discreet.privacy.numbers import as_fraction

    return [float(as_fraction(part.strip(), "--known-share")) for part in text.split(",")]


def _answer(
    report: RowsReport, facts: dict[str, Any], title: str, about: Callable[[Any], str], *, as_json: bool
) -> None:
    if as_json:
        answer_json(facts)
        return
    words = ("model", "secret", "reads", "claim")
    names = report.headings()
    answer_table(title, names, report.cells(), numbers=[name for name in names if name not in words])
    for obstacle in report.obstacles():
        answer_text(f"{obstacle}.")
    if not all(row.obstacle for row in report.rows):
        answer_text(about(report))


def _about_linear(report: LinearReport) -> str:
    games = max(row.games for row in report.rows)
    return (
        f"right: share of {games} games in which the secret was guessed, with its interval; blind: what a guess "
        "without any answer gets; at most: what the proved guarantee of the model leaves to any attacker who sees what "
        "others are shown. No guarantee covers what a person sees in their own recommendations: they are made from "
        "that person's own records."
    )


def _about_sybils(report: AttackReport) -> str:
    first = report.rows[0]
    only_ratings = all(row.sees == "ratings" for row in report.rows)
    lists = "" if only_ratings else ", or hidden items found where only lists are shown"
    what, whole = f"hidden ratings guessed right{lists}", "the whole history of one user"
    if report.attack == "two-releases":
        what, whole = "new items found", "the new records of one user"
    more = {
        "adaptive-sybil": " Claims are added up over the rounds.",
        "item-sybil": " Unanswered: hidden ratings of which the attacker says that there is none.",
    }
    return (
        f"exact: share of all {first.hidden:,} {what}, with the target in the data and "
        "without; what is guessed without the target was not revealed by the target's records. ε at least: what one "
        f"rating of each target proves about {whole}, with confidence "
        f"{report.settings['confidence']:.0%}; more than {first.epsilon_ceiling:.2f} cannot be shown with "
        f"{counted(first.targets, 'target')}, and 0 proves nothing.{more.get(report.attack, '')}"
    )
