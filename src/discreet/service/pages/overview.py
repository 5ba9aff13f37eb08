"""The first page: budgets, warnings, running jobs, latest releases."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from discreet.privacy.ledger import Statement
from discreet.service.jobs import ENDED
from discreet.service.pages.budgets import budget_of
from discreet.service.pages.jobs import shown_jobs
from discreet.service.pages.shared import TheVisitor, Visitor
from discreet.service.releases import release_for

__all__ = ["population_cards", "router"]

router = APIRouter(include_in_schema=False)

LATEST = 6


@router.get("/")
def overview(visitor: TheVisitor) -> Response:
    """Everything at a glance, as far as the person may see it."""
    me, hub = visitor.caller, visitor.hub
    cards = population_cards(visitor)
    rows = hub.releases.listed(me, limit=LATEST)
    jobs = shown_jobs(visitor, limit=5)
    return visitor.page(
        "overview.html",
        cards=cards,
        warnings=[(card["name"], text) for card in cards for text in card["warnings"]],
        missed=[(card["name"], text) for card in cards for text in card["missed"]],
        releases=[release_for(row, me) for row in rows],
        jobs=jobs,
        busy=any(job["state"] not in ENDED for job in jobs),
    )


def population_cards(visitor: Visitor) -> list[dict[str, Any]]:
    """The populations that a person may know of: for those who may read statements with the course of the budget."""
    me, hub = visitor.caller, visitor.hub
    if not me.may("read populations"):
        return []
    return [
        _card(visitor, one["name"], hub.populations.statement(me, one["name"])) for one in hub.populations.listed(me)
    ]


def _card(visitor: Visitor, name: str, statement: Statement) -> dict[str, Any]:
    me = visitor.caller
    budget = budget_of(statement) if me.may("read statements") else None
    return {
        "name": name,
        "account": statement.account,
        "statement": statement,
        "budget": budget,
        "allowance": visitor.hub.populations.allowance(me, name) if me.role == "analyst" else None,
        "warnings": list(statement.warnings if budget is None else budget.warnings),
        "missed": [] if budget is None else list(budget.missed),
    }
