"""See an attack: step by step, for people who never heard of differential privacy."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from discreet.service.pages import charts
from discreet.service.pages.attack_story import ASKS, EPSILON, Story, StoryKeeper
from discreet.service.pages.shared import TheVisitor
from discreet.service.pages.words import odds, success

__all__ = ["router"]

router = APIRouter(include_in_schema=False)


@router.get("/attack")
def attack_page(request: Request, visitor: TheVisitor) -> Response:
    """The attack; while it is being played, a page that says so and looks again."""
    visitor.caller.require("read methods")
    keeper: StoryKeeper = request.app.state.story
    story = keeper.story()
    if story is None:
        return visitor.page("attack_wait.html", failed=keeper.failed)
    return visitor.page(
        "attack.html", story=story, steps=_steps(story), bound=success(EPSILON), odds=odds(EPSILON), asks=ASKS
    )


def _steps(story: Story) -> list[dict[str, Any]]:
    """What is seen at each number of invented accounts, for all recommenders side by side."""
    count = len(next(iter(story.stages.values())))
    truth = story.ratings.index(story.truth)
    found = []
    for place in range(count):
        panels = []
        for name, stages in story.stages.items():
            stage = stages[place]
            drawn = [
                charts.Bar(f"{'★' * round(rating)}", belief, marked=number == truth)
                for number, (rating, belief) in enumerate(zip(story.ratings, stage.beliefs, strict=True))
            ]
            chances = ", ".join(f"{r:g} stars {b:.0%}" for r, b in zip(story.ratings, stage.beliefs, strict=True))
            panels.append(
                {
                    "name": name,
                    "words": story.words[name],
                    "belief": stage.beliefs[truth],
                    "answer": stage.answer,
                    "draws": name not in story.fixed,
                    "chart": charts.beliefs(drawn, f"{name}: {chances}"),
                }
            )
        found.append({"sybils": next(iter(story.stages.values()))[place].sybils, "panels": panels})
    return found
