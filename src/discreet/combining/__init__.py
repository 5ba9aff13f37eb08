"""Several curators: releases of disjoint people become one, without anybody else's records."""

from discreet.combining.combine import combine
from discreet.combining.rounds import release_round

__all__ = ["combine", "release_round"]
