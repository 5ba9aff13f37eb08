"""Metrics, what they say about two systems, and how sure that is."""

from discreet.evaluation.catalog import catalog_coverage, evaluate_catalog, gini, popularity_percentiles
from discreet.evaluation.counts import (
    count_mse,
    evaluate_counts,
    kl_original_to_released,
    kl_released_to_original,
    top_k_precision,
)
from discreet.evaluation.evaluation import Evaluation
from discreet.evaluation.matches import Matches, match
from discreet.evaluation.protocols import evaluate
from discreet.evaluation.ranking import (
    average_precision_at_k,
    evaluate_ranking,
    hit_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank_at_k,
    truncated_recall_at_k,
)
from discreet.evaluation.ratings import (
    evaluate_ratings,
    mae,
    mae_by_user,
    prediction_coverage,
    rmse,
    rmse_by_user,
)
from discreet.evaluation.scores import Scores
from discreet.evaluation.semantic_loss import js_divergence, release_semantic_loss, semantic_loss
from discreet.evaluation.significance import (
    BootstrapInterval,
    PairedTTest,
    WilcoxonTest,
    bootstrap_interval,
    compare,
    paired_t_test,
    wilcoxon_test,
)
from discreet.evaluation.tag_protocol import PostQuestions, evaluate_tags, leave_one_post_out

__all__ = [
    "BootstrapInterval",
    "Evaluation",
    "Matches",
    "PairedTTest",
    "PostQuestions",
    "Scores",
    "WilcoxonTest",
    "average_precision_at_k",
    "bootstrap_interval",
    "catalog_coverage",
    "compare",
    "count_mse",
    "evaluate",
    "evaluate_catalog",
    "evaluate_counts",
    "evaluate_ranking",
    "evaluate_ratings",
    "evaluate_tags",
    "gini",
    "hit_at_k",
    "js_divergence",
    "kl_original_to_released",
    "kl_released_to_original",
    "leave_one_post_out",
    "mae",
    "mae_by_user",
    "match",
    "ndcg_at_k",
    "paired_t_test",
    "popularity_percentiles",
    "precision_at_k",
    "prediction_coverage",
    "recall_at_k",
    "reciprocal_rank_at_k",
    "release_semantic_loss",
    "rmse",
    "rmse_by_user",
    "semantic_loss",
    "top_k_precision",
    "truncated_recall_at_k",
    "wilcoxon_test",
]
