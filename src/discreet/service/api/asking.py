"""Asking releases: recommendations, similar items, ratings, tags, answers to queries. All of it costs nothing."""

from __future__ import annotations

from typing import Annotated, Any

import orjson
from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StrictInt, StringConstraints, model_validator

from discreet.service.access import Caller
from discreet.service.api.quick import plain_batch
from discreet.service.api.shared import Body, Cursor, Limit, TheCaller, TheHub, caller_of, json_body, parsed, problems
from discreet.service.asking import MOST_BATCH, MOST_HISTORY, MOST_ITEMS, MOST_LETTERS, MOST_ROWS, Asked
from discreet.service.hub import Hub
from discreet.service.problems import Problem

__all__ = ["add_quick", "router"]

router = APIRouter(tags=["asking"])

Text = Annotated[str, StringConstraints(max_length=MOST_LETTERS)]
Item = Annotated[Text | StrictInt, Field(union_mode="left_to_right")]
Items = Annotated[list[Item], Field(max_length=MOST_ITEMS, examples=[["film-3"]])]
History = Annotated[
    list[Item] | dict[Text, FiniteFloat],
    Field(
        max_length=MOST_HISTORY,
        examples=[["film-3", "film-17"], {"film-3": 5, "film-17": 2}],
        description="Items, or items with ratings. Never logged, and not kept.",
    ),
]
User = Annotated[
    Text | StrictInt,
    Field(
        examples=["u17"],
        description="In the place of a history: somebody among the records, where the curator allowed it for the "
        "dataset and the key names this user. The answer is for that person alone.",
    ),
]
Many = Annotated[int, Field(ge=1, le=MOST_ITEMS)]
Release = str
NAMED = {"name": "release", "in": "path", "required": True, "schema": {"type": "string", "title": "Release"}}


class Person(Body):
    """Whom an answer is for: somebody with a history, or one of the users."""

    history: History | None = None
    user: User | None = None

    @model_validator(mode="after")
    def _one(self) -> Person:
        if (self.history is None) == (self.user is None):
            raise ValueError("give either history or user")
        return self


class Question(Person):
    model_config = ConfigDict(cache_strings="none")  # histories are all different

    n: Many = 10
    context: Annotated[
        dict[Text, Text] | None,
        Field(max_length=10, examples=[{"weekday": "Tuesday"}], description="For models of counts by context."),
    ] = None
    exclude_seen: Annotated[bool, Field(description="Leave out what is in the history.")] = True
    items: Annotated[list[Item] | None, Field(max_length=10_000, description="Recommend from these only.")] = None


class Batch(Body):
    histories: Annotated[list[History] | None, Field(max_length=MOST_BATCH, examples=[[["film-3"], ["film-17"]]])] = (
        None
    )
    users: Annotated[list[User] | None, Field(max_length=MOST_BATCH, description="In the place of histories.")] = None
    n: Many = 10

    @model_validator(mode="after")
    def _one(self) -> Batch:
        if (self.histories is None) == (self.users is None):
            raise ValueError("give either histories or users")
        return self


class Ratings(Person):
    items: Items


class Likeness(Body):
    items: Items
    n: Many = 10


class OwnTag(Body):
    resource: Item
    tag: Text


class TagQuestion(Body):
    resources: Annotated[list[Item], Field(max_length=MOST_ITEMS, examples=[["page-9"]])]
    own: Annotated[
        list[OwnTag],
        Field(
            max_length=10_000,
            description="What the person who asks has tagged before. Never logged, and not kept.",
            examples=[[{"resource": "page-2", "tag": "python"}]],
        ),
    ] = Field(default_factory=list)
    user: Annotated[User | None, Field(description="In the place of own: somebody among the records.")] = None
    n: Many = 10


class Queries(Body):
    queries: Annotated[
        list[dict[str, Any]] | dict[str, Any],
        Field(examples=[[{"age": [18, 29], "gender": "F"}]], description="As for a run of answers."),
    ]


class Ranked(BaseModel):
    item_id: Item
    score: float | None
    rank: int | None = None
    title: str | None = None


class Answer(BaseModel):
    items: list[Ranked]
    ignored: Annotated[list[Item], Field(description="What the model does not know.")]


class Answers(BaseModel):
    entries: list[Answer]


async def recommend(request: Request) -> Response:
    """The best items for somebody with this history, or for a user. Unknown items are ignored and named.

    A user among the records is asked for with a key that may (``users`` of the key). An unknown user is answered like
    an empty history. A key that may ask for all users counts as the curator's side.
    """
    hub, caller, release = request.app.state.hub, await caller_of(request), request.path_params["release"]
    caller.require("ask")
    body = await request.body()
    row = hub.releases.known(caller, release) or await run_in_threadpool(hub.releases.recent, caller, release)
    name, known = hub.asking.known(caller.key, row.id, b"recommend", body)
    if known is not None:
        return json_answer(known)
    asked = await parsed(request, Question)
    model = await run_in_threadpool(hub.asking.model, row) if (loaded := hub.asking.loaded(row)) is None else loaded
    if asked.user is None and asked.context is None:
        return json_answer(hub.asking.remember(name, orjson.dumps(_recommended(model, asked, asked.history))))
    history = await run_in_threadpool(_history, hub, caller, row, asked)
    return json_answer(orjson.dumps(await run_in_threadpool(_recommended, model, asked, history), default=str))


def add_quick(app: FastAPI) -> None:
    """Add the route that is asked most: tried before all others, and without dependencies to be resolved."""
    app.post(
        "/v1/releases/{release}/recommend",
        tags=["asking"],
        response_model=Answer,
        responses=problems(404, 409, 415),
        openapi_extra={**json_body(Question), "parameters": [NAMED]},
    )(recommend)


def _recommended(model: Asked, asked: Question, history: Any) -> dict[str, Any]:
    return model.recommend(history, asked.n, context=asked.context, exclude_seen=asked.exclude_seen, items=asked.items)


def _history(hub: Hub, caller: Caller, row: Any, asked: Person) -> Any:
    """The posted history, or that of the user."""
    if asked.user is None:
        return asked.history
    hub.asking.own.require(caller, row, [asked.user])
    return hub.asking.own.history(row, asked.user)


@router.post(
    "/releases/{release}/recommend/batch",
    response_model=Answers,
    responses=problems(404, 409, 415),
    openapi_extra=json_body(Batch),
)
async def recommend_batch(request: Request, hub: TheHub, caller: TheCaller, release: Release) -> Response:
    """The same for many histories, or many users, at once and in their order."""
    caller.require("ask")
    asked = await _batch(request)
    require_rows(len(asked.histories if asked.histories is not None else asked.users or ()), asked.n)

    def answer() -> bytes:
        row = hub.releases.recent(caller, release)
        model = hub.asking.model(row)
        if asked.histories is not None:
            entries = model.recommend_many(asked.histories, asked.n)
        else:
            users = asked.users or []
            hub.asking.own.require(caller, row, users)
            entries = model.recommend_rows(hub.asking.own.rows(row, users, model.model.items_), {}, asked.n)
        return b'{"entries":%b}' % entries

    return json_answer(await run_in_threadpool(answer))


def require_rows(lists: int, n: int) -> None:
    """Refuse an answer that no memory would hold."""
    if lists * n > MOST_ROWS:
        text = f"{lists:,} lists of {n:,} items are more than {MOST_ROWS:,} lines."
        raise Problem(422, "request", text, remedy="Ask for fewer at a time.")


async def _batch(request: Request) -> Batch:
    """The body: one without a mistake is not looked at item by item."""
    plain = plain_batch(await request.body()) if request.headers.get("content-type") == "application/json" else None
    if plain is None:
        return await parsed(request, Batch)
    histories, users, n = plain
    return Batch.model_construct(histories=histories, users=users, n=n)


@router.get("/releases/{release}/similar/{item}", response_model=Answer, responses=problems(404, 409))
def similar(
    hub: TheHub, caller: TheCaller, release: Release, item: str, n: Annotated[int, Query(ge=1, le=MOST_ITEMS)] = 10
) -> dict[str, Any]:
    """The items most like one."""
    caller.require("ask")
    return hub.asking.model(hub.releases.recent(caller, release)).similar(item, n)


@router.post("/releases/{release}/similar", response_model=Answers, responses=problems(404, 409))
def similar_many(hub: TheHub, caller: TheCaller, release: Release, body: Likeness) -> dict[str, Any]:
    """The items most like each of these, in their order, each once."""
    caller.require("ask")
    return {"entries": hub.asking.model(hub.releases.recent(caller, release)).similar_many(body.items, body.n)}


@router.post("/releases/{release}/predict", response_model=Answer, responses=problems(404, 409))
def predict(hub: TheHub, caller: TheCaller, release: Release, body: Ratings) -> dict[str, Any]:
    """Predicted ratings of items for somebody with this history, or for a user; null where the model has none."""
    caller.require("ask")
    row = hub.releases.recent(caller, release)
    model = hub.asking.model(row)
    return model.predict(body.items, _history(hub, caller, row, body))


@router.get("/releases/{release}/items", responses=problems(404, 409))
def complete(
    hub: TheHub, caller: TheCaller, release: Release, text: Annotated[str, Query(max_length=200)] = ""
) -> dict[str, Any]:
    """Items of a model whose id or title has the text in it."""
    caller.require("ask")
    return {"entries": hub.asking.model(hub.releases.recent(caller, release)).complete(text)}


@router.get("/releases/{release}/top", responses=problems(404, 409))
def show_top(
    hub: TheHub,
    caller: TheCaller,
    release: Release,
    k: Annotated[int, Query(ge=1, le=MOST_ITEMS)] = 10,
    where: Annotated[list[str] | None, Query(description="NAME=VALUE of a context; repeatable.", max_length=10)] = None,
) -> dict[str, Any]:
    """The most popular items of a release of counts, in all or in a context."""
    caller.require("ask")
    named = {name: value for name, _, value in (one.partition("=") for one in where or [])}
    return {"entries": hub.asking.top(hub.releases.recent(caller, release), k, named)}


@router.post("/releases/{release}/tags", responses=problems(404, 409))
def recommend_tags(hub: TheHub, caller: TheCaller, release: Release, body: TagQuestion) -> dict[str, Any]:
    """Tags for resources, from a release of tags and from what the person who asks has tagged before."""
    caller.require("ask")
    row = hub.releases.recent(caller, release)
    model = hub.asking.tags(row)
    own = [(one.resource, one.tag) for one in body.own]
    if body.user is not None:
        if own:
            raise Problem(422, "request", "own and user exclude each other.", remedy="Give one of them.")
        hub.asking.own.require(caller, row, [body.user])
        own = hub.asking.own.triples(row, body.user)
    return model.recommend(body.resources, own, body.n)


@router.get("/releases/{release}/answers", responses=problems(404, 409))
def list_answers(
    hub: TheHub, caller: TheCaller, release: Release, cursor: Cursor = None, limit: Limit = 50
) -> dict[str, Any]:
    """The answers of a release of answers, in the order of its queries."""
    caller.require("ask")
    start = cursor or 0
    found = hub.asking.answers(hub.releases.recent(caller, release)).listed(start=start, limit=limit)
    return {"entries": found, "next": start + limit if len(found) == limit else None}


@router.post("/releases/{release}/answers", responses=problems(404, 409))
def ask_queries(hub: TheHub, caller: TheCaller, release: Release, body: Queries) -> dict[str, Any]:
    """Answers to other queries about the same table, where the release has a histogram or a tree for them."""
    caller.require("ask")
    return {"entries": hub.asking.answers(hub.releases.recent(caller, release)).ask(body.queries)}


def json_answer(content: bytes) -> Response:
    return Response(content, media_type="application/json")
