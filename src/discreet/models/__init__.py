"""The interface of recommenders, what models share, and the registry of everything that has a name."""

from discreet.models.recommender import Recommender, load_model
from discreet.models.reference_model import ReferenceModel
from discreet.models.registry import create, names, register, registered
from discreet.models.released_model import ReleasedModel

__all__ = ["Recommender", "ReferenceModel", "ReleasedModel", "create", "load_model", "names", "register", "registered"]
