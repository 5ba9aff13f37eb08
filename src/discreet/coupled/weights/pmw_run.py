"""One run of private multiplicative weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from discreet.coupled.bounds import NONE, single_sum
from discreet.coupled.query_method import QuerySetting
from discreet.coupled.weights.learned_histogram import LearnedHistogram, on_grid
from discreet.coupled.weights.pmw_plan import PMWPlan
from discreet.coupled.weights.threshold_stream import ThresholdStream
from discreet.coupled.workloads.workload import GRID, Workload

__all__ = ["ESTIMATED", "MEASURED", "PMWRun"]

LEAST_BLOCK, MOST_BLOCK = 64, 8192
ESTIMATED, MEASURED = "estimate", "measured"


class PMWRun:
    """Charge the ledger before making one.

    Parameters
    ----------
    plan
        Tests and measurements.
    setting
        The public side.
    learned
        The estimate to begin with.
    truth
        True answers of a workload in grid steps: the only access to the data. It is dropped when the cap is reached.

    Attributes
    ----------
    updates_left : int
        How many more answers can be measured; at 0 no data are touched any more.
    """

    def __init__(
        self,
        plan: PMWPlan,
        setting: QuerySetting,
        learned: LearnedHistogram,
        truth: Callable[[Workload], NDArray[np.int64]],
    ) -> None:
        self.learned = learned
        self.updates_left = plan.updates
        self._plan, self._setting = plan, setting
        self._truth: Callable[[Workload], NDArray[np.int64]] | None = truth
        self._stream = self._new_stream()
        self._block = LEAST_BLOCK

    def answer(self, workload: Workload) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Answers in records, in the order of the queries, and which of them were measured."""
        answers = np.empty(len(workload), dtype=np.int64)
        measured = np.zeros(len(workload), dtype=bool)
        done = 0
        while done < len(workload):
            # Blocks shrink where updates make estimates of the rest of a block worthless, and grow where they do not.
            size = self._block if self._truth is not None else MOST_BLOCK
            block = slice(done, min(done + size, len(workload)))
            before = self.updates_left
            self._answer_block(workload[block], answers[block], measured[block])
            self._block = min(2 * size, MOST_BLOCK) if self.updates_left == before else max(size // 2, LEAST_BLOCK)
            done = block.stop
        return answers / GRID, measured

    def stop(self) -> None:
        """Drop the data: from now on answers come from the estimate."""
        self._truth = None

    def _answer_block(self, block: Workload, answers: NDArray[np.int64], measured: NDArray[np.bool_]) -> None:
        """Fill in the answers of a block: from the estimate up to the first test that passes, and on from there."""
        truth = None if self._truth is None else self._truth(block)
        answers[:] = self._estimates(block)
        done = 0
        while self._truth is not None and truth is not None and self.updates_left > 0 and done < len(block):
            gaps = np.abs(truth[done:] - answers[done:])
            place = self._stream.first_pass(single_sum(gaps, self._setting))
            if place is None:
                return
            done += place
            # Counted before it is measured: whatever fails from here on, the cap holds.
            self.updates_left -= 1
            noisy = self._plan.answers.release(single_sum(truth[done : done + 1], self._setting))
            # No table gives less than 0 or more than all rows.
            answers[done] = min(max(int(noisy[0]), 0), self._setting.n_rows * GRID)
            measured[done] = True
            self._update(block[done : done + 1], answers[done] / GRID)
            done += 1
            if done < len(block):
                answers[done:] = self._estimates(block[done:])

    def _update(self, query: Workload, answer: float) -> None:
        self.learned.learn(query, answer)
        if not self.updates_left:
            self._truth = None
        elif not self._stream.passes_left:
            self._stream = self._new_stream()

    def _estimates(self, block: Workload) -> NDArray[np.int64]:
        """What the estimate gives, on the grid: tests compare whole numbers, and these are what is released."""
        return on_grid(block, self.learned.estimate, self._setting.n_rows)

    def _new_stream(self) -> ThresholdStream:
        return ThresholdStream(self._plan.tests, single_sum(NONE, self._setting))
