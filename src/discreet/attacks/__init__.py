"""Attacks on recommenders and releases: the audit of a guarantee, sybil and linear attacks, the risk of an epsilon."""

from discreet.attacks.engine.audit import audit
from discreet.attacks.engine.bounds import (
    epsilon_ceiling,
    epsilon_lower_bound,
    mu_lower_bound,
    one_run_lower_bound,
    rho_lower_bound,
)
from discreet.attacks.engine.queries import Asked
from discreet.attacks.engine.report import AuditReport
from discreet.attacks.games.game import Game, NeighboringData
from discreet.attacks.games.linear import PurchaseAdversary, RatingAdversary
from discreet.attacks.games.linear_attack import linear_attack
from discreet.attacks.games.registry import ATTACKS
from discreet.attacks.games.reports import AttackReport, LinearReport
from discreet.attacks.games.sybil import BetaSybilAttack, SybilAttack
from discreet.attacks.games.sybil_adaptive import AdaptiveSybilAttack
from discreet.attacks.games.sybil_items import ItemSybilAttack
from discreet.attacks.games.two_releases import TwoReleasesAttack
from discreet.attacks.risk import RiskReport, risk_report
from discreet.models.foreign.libraries import (
    ImplicitModel,
    LensKitModel,
    RecToolsModel,
    ScoreModel,
    SurpriseModel,
)
from discreet.models.foreign.recbole import RecBoleModel

__all__ = [
    "ATTACKS",
    "AdaptiveSybilAttack",
    "Asked",
    "AttackReport",
    "AuditReport",
    "BetaSybilAttack",
    "Game",
    "ImplicitModel",
    "ItemSybilAttack",
    "LensKitModel",
    "LinearReport",
    "NeighboringData",
    "PurchaseAdversary",
    "RatingAdversary",
    "RecBoleModel",
    "RecToolsModel",
    "RiskReport",
    "ScoreModel",
    "SurpriseModel",
    "SybilAttack",
    "TwoReleasesAttack",
    "audit",
    "epsilon_ceiling",
    "epsilon_lower_bound",
    "linear_attack",
    "mu_lower_bound",
    "one_run_lower_bound",
    "rho_lower_bound",
    "risk_report",
]
