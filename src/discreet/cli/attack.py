"""`discreet attack`: what an attacker learns from a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.console import answer_json, answer_table, answer_text, working
from discreet.cli.options import AsJson, Column, DataPath, Duplicates, Format, Scale, read_interactions
from discreet.cli.progress import progressing
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.attacks import AttackReport, LinearReport, SybilAttack
    from discreet.data import Interactions

__all__ = ["attack"]

USERS_ARE_NEIGHBORS = ("noisy-neighbor-mean",)
"""Models beside the published ones whose neighbors are users, so that the attacker goes by their k."""


def attack(
    data: DataPath,
    attack: Annotated[
        str, typer.Option("--attack", help="sybil, beta-sybil (more and more sybils), or lia.")
    ] = "sybil",
    against: Annotated[
        str, typer.Option("--against", metavar="MODEL,…", help="Models by name; also implicit, lenskit, surprise.")
    ] = "knn,npns,pncf,ppns,private-item-knn",
    known: Annotated[int, typer.Option("--known", help="How many ratings of the target the attacker knows.")] = 8,
    choose: Annotated[
        str, typer.Option("--choose", help="Which ratings are known: random, rarest, popular.")
    ] = "random",
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
    format: Format = None,
    column: Column = None,
    scale: Scale = None,
    duplicates: Duplicates = None,
    as_json: AsJson = False,
) -> None:
    """Attack models, with the target among the data and without.

    Invented users copy KNOWN ratings of a target and ask a model for the others. A model gives the target away as far
    as the attacker does better with the target present than with the target absent. Models with neighbors predict
    from users' plain ratings here (all users are candidates), the setting that the published attacks are about.
    Nothing is charged to a ledger: the answer is for the owner of the data.

    The linear attack, lia, knows everything but one rating of a target (or whether one record is there) and solves for
    it: from what the target is shown, and from what others are. Its options are --targets, --epsilon, --delta, --seed.

    [bold]Example[/bold], from nothing:

        discreet data generate films --seed 7 --out films.parquet
        discreet attack films.parquet --attack sybil --against knn,ppns,private-item-knn --known 8
        discreet attack films.parquet --attack lia --against slope-one,private-slope-one
    """
    if attack == "lia":
        _linear(
            read_interactions(data, format=format, column=column, scale=scale, duplicates=duplicates),
            {name: _plain_factory(name, epsilon=epsilon, delta=delta)() for name in _names(against)},
            targets=targets if not target else None,
            seed=seed,
            as_json=as_json,
        )
        return
    game = _game(attack, k=k, known=known, choose=choose, fillers=fillers, beta=beta, sees=sees)
    settings = {"k": k, "beta": beta, "similarity": similarity, "shrinkage": shrinkage}
    models = {name: _factory(name, epsilon=epsilon, delta=delta, **settings) for name in _names(against)}
    records = read_interactions(data, format=format, column=column, scale=scale, duplicates=duplicates)
    wanted = targets if not target else [_user(records.users, name) for name in target]
    reports = []
    for name, factory in models.items():
        with working(f"attacking {name}"):
            reports.append(game.run({name: factory}, records, targets=wanted, seed=seed))
    report = type(reports[0]).joined(game.name, reports[0].settings | settings, reports)
    if as_json:
        answer_json(report.to_json())
        return
    _say(report)


def _names(against: str) -> list[str]:
    """The models that are named, each once."""
    names = list(dict.fromkeys(part.strip() for part in against.split(",") if part.strip()))
    if not names:
        raise UsageError("which models are to be attacked?", remedy="Give --against knn,ppns,private-item-knn.")
    return names


def _linear(records: Interactions, models: dict[str, Any], *, targets: int | None, seed: int, as_json: bool) -> None:
    """Play the linear attack and say what it got."""
    from discreet.attacks import linear_attack

    if targets is None:
        raise UsageError("the linear attack draws its targets.", remedy="Give --targets N instead of --target.")
    with progressing("linear attack") as progress:
        report = linear_attack(models, records, targets=targets, seed=seed, progress=progress)
    if as_json:
        answer_json(report.to_json())
    else:
        _say_linear(report)


def _game(name: str, *, beta: int, **settings: Any) -> SybilAttack:
    from discreet.attacks import BetaSybilAttack, SybilAttack

    if name == "sybil":
        return SybilAttack(**settings)
    if name == "beta-sybil":
        return BetaSybilAttack(**settings, beta=beta)
    raise UsageError(f"there is no attack {name!r}.", remedy="Choose sybil, beta-sybil or lia.")


def _factory(
    name: str, *, epsilon: str, delta: str, k: int, beta: int, similarity: str, shrinkage: float
) -> Callable[[], Any]:
    """What makes a model in the setting of the attack."""
    from discreet import attacks
    from discreet.neighbors.neighbor_model import NeighborModel
    from discreet.neighbors.similarity import Similarity
    from discreet.recommender import model_class

    libraries = {
        "implicit": attacks.ImplicitModel,
        "lenskit": attacks.LensKitModel,
        "surprise": attacks.SurpriseModel,
    }
    if name in libraries:
        return lambda: libraries[name](k=k)
    kind = model_class(name)
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    if issubclass(kind, NeighborModel):
        given |= {
            "k": k,
            "axis": "user",
            "candidates": "all",
            "centering": None,
            "fallback": None,
            "similarity": Similarity(similarity, shrinkage=shrinkage),  # type: ignore[arg-type]
        }
    if name in ("npns", "ppns"):
        given["beta"] = beta
    if name in USERS_ARE_NEIGHBORS:
        given |= {"k": k, "similarity": similarity, "shrinkage": shrinkage}
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return lambda: kind(**{key: value for key, value in given.items() if key in names})


def _plain_factory(name: str, *, epsilon: str, delta: str) -> Callable[[], Any]:
    """What makes a model in its own setting, with a budget where it has one."""
    from discreet.recommender import model_class

    kind = model_class(name)
    names = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    given = {"epsilon": epsilon, "delta": delta}
    return lambda: kind(**{key: value for key, value in given.items() if key in names})


def _user(users: Any, name: str) -> Any:
    """A user as the data name them: a number where ids are numbers."""
    number = name.lstrip("-").isdecimal() and name not in users
    return int(name) if number else name


def _say_linear(report: LinearReport) -> None:
    names = report.headings()
    answer_table(
        "What the linear attack learns about one secret of a person", names, report.cells(), numbers=names[3:8]
    )
    answer_text(
        f"right: share of {report.rows[0].games} games in which the secret was guessed, with its interval; blind: what "
        "a guess without any answer gets; at most: what the model's proved promise leaves to any attacker who sees "
        "what others are shown. No promise covers one's own screen: it is made from one's own records."
    )


def _say(report: AttackReport) -> None:
    first = report.rows[0]
    answer_table(
        f"What sybils learn about a target; attacked: {first.targets}",
        report.headings(),
        report.cells(),
        numbers=report.headings()[1:-1],
    )
    lists = (
        ""
        if all(row.sees == "ratings" for row in report.rows)
        else ", or hidden items found where only lists are shown"
    )
    answer_text(
        f"exact: share of all {first.hidden:,} hidden ratings guessed right{lists}, with the target among the data and "
        "without; what is guessed without the target, the target's records did not give away. ε at least: what one "
        f"rating of each target proves about the whole history of one user, with confidence "
        f"{report.settings['confidence']:.0%}; more than {first.epsilon_ceiling:.2f} cannot be shown with "
        f"{first.targets} targets, and 0 proves nothing."
    )
