"""Synthetic data with known parameters: films, check-ins, tags and a survey, from a hundred rows to tens of millions.

``films(seed=7)`` returns the data, ``film_world(seed=7)`` the same data and the parameters that they were drawn with.
"""

from discreet.data.synthetic.audience import listener_world, listeners
from discreet.data.synthetic.cinema import FilmTruth, film_world, films
from discreet.data.synthetic.city import CheckinTruth, checkin_world, checkins
from discreet.data.synthetic.folksonomy import TagTruth, tag_world, tags
from discreet.data.synthetic.households import SurveyTruth, survey, survey_world
from discreet.data.synthetic.questionnaires import census, connections, disabilities
from discreet.data.synthetic.traces import friendships, net_trace, search_logs

__all__ = [
    "CheckinTruth",
    "FilmTruth",
    "SurveyTruth",
    "TagTruth",
    "census",
    "checkin_world",
    "checkins",
    "connections",
    "disabilities",
    "film_world",
    "films",
    "friendships",
    "listener_world",
    "listeners",
    "net_trace",
    "search_logs",
    "survey",
    "survey_world",
    "tag_world",
    "tags",
]
