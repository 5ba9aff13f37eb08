"""Tagging: private releases of tags and topics, recommenders of tags, and PriTop as published."""

from discreet.tagging.pritop.pritop import PriTop
from discreet.tagging.ptr_j import PTRJ
from discreet.tagging.ptr_s import PTRS
from discreet.tagging.ptr_t import PTRT
from discreet.tagging.recommenders.base import TagRecommender
from discreet.tagging.recommenders.baselines import OwnTags, PopularTags
from discreet.tagging.recommenders.folk_rank import FolkRank
from discreet.tagging.recommenders.local_tags import recommender
from discreet.tagging.tag_suppression import TagSuppression
from discreet.tagging.topics.model import TopicModel
from discreet.tagging.topics.private_topics import PrivateTopics, topics_of_release
from discreet.tagging.vocabulary import discover_resources, discover_tags

__all__ = [
    "PTRJ",
    "PTRS",
    "PTRT",
    "FolkRank",
    "OwnTags",
    "PopularTags",
    "PriTop",
    "PrivateTopics",
    "TagRecommender",
    "TagSuppression",
    "TopicModel",
    "discover_resources",
    "discover_tags",
    "recommender",
    "topics_of_release",
]
