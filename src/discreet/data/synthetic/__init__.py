"""Worlds whose truth is known: films, check-ins, tags and a survey, from a hundred rows to tens of millions.

Each world comes in two ways: ``films(seed=7)`` gives the data, ``film_world(seed=7)`` the same data and what made them.
"""

from discreet.data.synthetic.audience import listener_world, listeners
from discreet.data.synthetic.cinema import FilmTruth, film_world, films
from discreet.data.synthetic.city import CheckinTruth, checkin_world, checkins
from discreet.data.synthetic.folksonomy import TagTruth, tag_world, tags
from discreet.data.synthetic.households import SurveyTruth, survey, survey_world

__all__ = [
    "CheckinTruth",
    "FilmTruth",
    "SurveyTruth",
    "TagTruth",
    "checkin_world",
    "checkins",
    "film_world",
    "films",
    "listener_world",
    "listeners",
    "survey",
    "survey_world",
    "tag_world",
    "tags",
]
