"""Games that an adversary plays against a recommender, and what their score proves."""

from discreet.attacks.adapters import ImplicitModel, LensKitModel, SurpriseModel
from discreet.attacks.bounds import epsilon_ceiling, epsilon_lower_bound, mu_lower_bound
from discreet.attacks.report import AttackReport, AttackRow
from discreet.attacks.sybil import BetaSybilAttack, SybilAttack

__all__ = [
    "AttackReport",
    "AttackRow",
    "BetaSybilAttack",
    "ImplicitModel",
    "LensKitModel",
    "SurpriseModel",
    "SybilAttack",
    "epsilon_ceiling",
    "epsilon_lower_bound",
    "mu_lower_bound",
]
