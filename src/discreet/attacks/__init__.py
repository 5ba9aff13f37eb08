"""Games that an adversary plays against a recommender, and what their score proves."""

from discreet.attacks.adapters import ImplicitModel, LensKitModel, ScoreModel, SurpriseModel
from discreet.attacks.audit import ATTACKS, AuditReport
from discreet.attacks.bounds import (
    epsilon_ceiling,
    epsilon_lower_bound,
    mu_lower_bound,
    one_run_lower_bound,
    rho_lower_bound,
)
from discreet.attacks.linear import PurchaseAdversary, RatingAdversary
from discreet.attacks.linear_report import LinearReport, LinearRow, linear_attack
from discreet.attacks.report import AttackReport, AttackRow
from discreet.attacks.risk import RiskCurve, RiskReport, risk_report
from discreet.attacks.sybil import BetaSybilAttack, SybilAttack

__all__ = [
    "ATTACKS",
    "AttackReport",
    "AttackRow",
    "AuditReport",
    "BetaSybilAttack",
    "ImplicitModel",
    "LensKitModel",
    "LinearReport",
    "LinearRow",
    "PurchaseAdversary",
    "RatingAdversary",
    "RiskCurve",
    "RiskReport",
    "ScoreModel",
    "SurpriseModel",
    "SybilAttack",
    "epsilon_ceiling",
    "epsilon_lower_bound",
    "linear_attack",
    "mu_lower_bound",
    "one_run_lower_bound",
    "rho_lower_bound",
    "risk_report",
]
