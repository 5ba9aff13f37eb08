"""Tagging: topics, PriTop, FolkRank, and tagging releases that keep their promise."""

from discreet.tagging.baselines import CoOccurringTags, OwnTags, PopularTags, ResourceTags
from discreet.tagging.channel import Channel
from discreet.tagging.folk_rank import FolkRank
from discreet.tagging.local_tags import LocalTags
from discreet.tagging.own_triples import OwnTriples
from discreet.tagging.pritop import PriTop
from discreet.tagging.private_topics import PrivateTopics, Topics, topics_of_gram, topics_of_release
from discreet.tagging.ptr_j import PTRJ
from discreet.tagging.ptr_l import PTRL
from discreet.tagging.ptr_s import PTRS
from discreet.tagging.ptr_t import PTRT
from discreet.tagging.released import recommender
from discreet.tagging.tag_recommender import TagRecommender
from discreet.tagging.tag_release import TagMethod
from discreet.tagging.tag_suppression import TagSuppression
from discreet.tagging.topic_model import TopicModel
from discreet.tagging.vocabulary import discover_resources, discover_tags

__all__ = [
    "PTRJ",
    "PTRL",
    "PTRS",
    "PTRT",
    "Channel",
    "CoOccurringTags",
    "FolkRank",
    "LocalTags",
    "OwnTags",
    "OwnTriples",
    "PopularTags",
    "PriTop",
    "PrivateTopics",
    "ResourceTags",
    "TagMethod",
    "TagRecommender",
    "TagSuppression",
    "TopicModel",
    "Topics",
    "discover_resources",
    "discover_tags",
    "recommender",
    "topics_of_gram",
    "topics_of_release",
]
