"""The audit: many fits with a secret and without, and what telling them apart proves about epsilon."""

from discreet.attacks.audit.asked import Asked, Request
from discreet.attacks.audit.engine import audit
from discreet.attacks.audit.game import Attack, Game, View, Worlds
from discreet.attacks.audit.one_run import OneRun
from discreet.attacks.audit.registry import ATTACKS
from discreet.attacks.audit.report import AuditReport
from discreet.attacks.audit.targets import Fitted, Target
from discreet.attacks.audit.verdicts import Score

__all__ = [
    "ATTACKS",
    "Asked",
    "Attack",
    "AuditReport",
    "Fitted",
    "Game",
    "OneRun",
    "Request",
    "Score",
    "Target",
    "View",
    "Worlds",
    "audit",
]
