"""The report for a board: what was promised to whom, what was spent, what is left, and how long it will last."""

from discreet.board.report import BoardReport, board_report

__all__ = ["BoardReport", "board_report"]
