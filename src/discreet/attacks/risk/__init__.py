"""Risk and utility of epsilon: curves, the best point for given weights, and what a guarantee leaves to an attacker."""

from discreet.attacks.engine.claims import limit_of, success_limit
from discreet.attacks.risk.answers import Ceiling, OperatingPoint, RiskPoint
from discreet.attacks.risk.curve import RiskCurve
from discreet.attacks.risk.report import RiskReport, risk_report

__all__ = [
    "Ceiling",
    "OperatingPoint",
    "RiskCurve",
    "RiskPoint",
    "RiskReport",
    "limit_of",
    "risk_report",
    "success_limit",
]
