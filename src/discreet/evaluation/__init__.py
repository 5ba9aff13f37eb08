"""Metrics of recommendations, ratings and counts, whole evaluations of models, and tests of differences."""

from discreet.evaluation.catalog import evaluate_catalog
from discreet.evaluation.counts import evaluate_counts
from discreet.evaluation.evaluation import Evaluation
from discreet.evaluation.protocols import evaluate
from discreet.evaluation.ranking import evaluate_ranking
from discreet.evaluation.ratings import evaluate_ratings
from discreet.evaluation.scores import Scores
from discreet.evaluation.significance import bootstrap_interval, compare, paired_t_test, wilcoxon_test
from discreet.evaluation.tags import (
    PostQuestions,
    evaluate_tags,
    leave_one_post_out,
    release_semantic_loss,
    semantic_loss,
)

__all__ = [
    "Evaluation",
    "PostQuestions",
    "Scores",
    "bootstrap_interval",
    "compare",
    "evaluate",
    "evaluate_catalog",
    "evaluate_counts",
    "evaluate_ranking",
    "evaluate_ratings",
    "evaluate_tags",
    "leave_one_post_out",
    "paired_t_test",
    "release_semantic_loss",
    "semantic_loss",
    "wilcoxon_test",
]
