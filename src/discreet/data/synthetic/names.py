"""Titles of films and names of places, composed by rule and all different."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

import numpy as np
import polars as pl

from discreet.common.arrays import AnyIntegers

__all__ = ["GENRES", "PLACE_KINDS", "film_titles", "place_names"]

# A noun belongs to one genre or kind, so names of different genres differ.
_GENRE_NOUNS: Mapping[str, str] = {
    "Action": "Bullet, Chase, Hunter, Outlaw, Strike, Rider, Target, Storm, Vendetta, Convoy, Falcon, Siege",
    "Adventure": "Voyage, Island, Compass, Caravan, Summit, Jungle, Treasure, Trail, Horizon, Glacier, Atlas, Corsair",
    "Animation": "Fox, Lantern, Puppet, Acorn, Dragon, Teapot, Comet, Owl, Snowman, Whale, Carousel, Sparrow",
    "Comedy": "Wedding, Neighbor, Holiday, Waiter, Picnic, Landlord, Cousin, Umbrella, Barber, Suitcase, Hotel, Parrot",
    "Crime": "Alibi, Witness, Heist, Informer, Safe, Verdict, Detective, Ransom, Forger, Precinct, Cellmate, Getaway",
    "Documentary": "Archive, Harvest, Orchestra, Glasshouse, River, Factory, Census, Vineyard, Marathon, Loom, Mine",
    "Drama": "Harbor, Letter, Daughter, Garden, Promise, Winter, Piano, Orchard, Silence, Bridge, Farewell, Estate",
    "Fantasy": "Crown, Sorcerer, Kingdom, Raven, Enchanter, Labyrinth, Oracle, Prophet, Tower, Amulet, Griffin, Throne",
    "Horror": "Cellar, Crypt, Whisper, Asylum, Shadow, Mirror, Scarecrow, Coven, Fog, Attic, Grave, Swarm",
    "Mystery": "Riddle, Key, Stranger, Portrait, Lighthouse, Manor, Cipher, Footprint, Pendulum, Secret, Clock, Guest",
    "Romance": "Kiss, Café, Serenade, Rendezvous, Balcony, Summer, Dancer, Rose, Moonlight, Valentine, Waltz, Bouquet",
    "Science Fiction": "Orbit, Android, Signal, Colony, Paradox, Nebula, Machine, Planet, Clone, Ark, Reactor",
}
GENRES: tuple[str, ...] = tuple(_GENRE_NOUNS)
"""Genres of the films, in the order of the dimensions of taste."""

PLACE_KINDS: Mapping[str, str] = {
    "Bar": "Tap Room, Cellar Bar, Saloon, Cocktail Bar, Beer Garden",
    "Cafe": "Café, Coffee House, Tea Room, Espresso Bar, Bakery",
    "Church": "Chapel, Church, Abbey, Minster, Priory",
    "Cinema": "Picture House, Cinema, Film Theater, Playhouse, Drive-in",
    "Gym": "Gym, Sports Club, Climbing Hall, Swimming Pool, Fitness Loft",
    "Market": "Market Hall, Grocery, Delicatessen, Corner Shop, Arcade",
    "Museum": "Museum, Gallery, Science Center, Planetarium, Collection",
    "Office": "Tower, Offices, Business Park, Studios, Works",
    "Park": "Park, Gardens, Green, Lakeside, Playground",
    "Restaurant": "Kitchen, Grill, Bistro, Noodle House, Trattoria",
    "Stadium": "Arena, Stadium, Ballpark, Racecourse, Ice Rink",
    "Station": "Station, Tram Stop, Bus Terminal, Ferry Pier, Airport Hall",
}
"""Kinds of places, with the nouns of their names."""

_ADJECTIVES = (
    "Silent, Crimson, Forgotten, Golden, Distant, Broken, Hidden, Burning, Gentle, Hollow, Iron, Velvet, Lonely, "
    "Midnight, Northern, Painted, Restless, Scarlet, Curious, Silver, Sleeping, Stolen, Sudden, Wandering, White, "
    "Wild, Winding, Wooden, Ancient, Blue, Borrowed, Careless, Clever, Crooked, Electric, Emerald, Faithful, Final, "
    "Frozen, Glass, Honest, Invisible, Last, Little, Paper, Quiet, Reluctant, Vanishing"
)

_TOWNS = (
    "Alder, Amberley, Avalon, Birchwood, Calder, Carrow, Cedar Point, Cormorant Bay, Dunmore, Eastmere, Elmstead, "
    "Fairhaven, Fernhill, Glenrock, Greystone, Halden, Harrow, Hazelton, Ivyford, Kestrel Rock, Larkspur, Linden, "
    "Marlow, Meridian, Mistral, Newbridge, Oakham, Orchid Hill, Penrose, Quarry Lane, Ravenna, Redcliff, Rosewater, "
    "Sable, Shelby, Sorrel, Thornbury, Umber, Verona, Westfall"
)


def film_titles(genre: AnyIntegers) -> pl.Series:
    """A title for each film, by the number of its first genre; all different.

    Examples
    --------
    >>> film_titles(np.array([6, 6, 8])).to_list()
    ['The Crooked Piano', 'The Painted Winter', 'The Paper Fog']
    """
    patterns = ("The {adjective} {noun}", "{noun} of {town}", "The {adjective} {noun} of {town}")
    return _named(genre, list(_GENRE_NOUNS.values()), patterns)


def place_names(kind: AnyIntegers) -> pl.Series:
    """A name for each place, by the number of its kind; all different."""
    return _named(kind, list(PLACE_KINDS.values()), ("{town} {noun}", "{adjective} {town} {noun}"))


def _named(group: AnyIntegers, nouns: Sequence[str], patterns: Sequence[str]) -> pl.Series:
    names = np.empty(group.size, dtype=object)
    for number, own in enumerate(nouns):
        members = np.flatnonzero(group == number)
        names[members] = _combined(members.size, own.split(", "), patterns, skip=5 * number)
    return pl.Series(names.tolist(), dtype=pl.String)


def _combined(n: int, nouns: Sequence[str], patterns: Sequence[str], *, skip: int) -> list[str]:
    """``n`` names of one group: short patterns first, then long ones, then numbered ones.

    ``skip`` keeps the groups apart: otherwise each would begin with the same adjective.
    """
    names: list[str] = []
    for pattern in patterns:
        adjectives = _ADJECTIVES.split(", ") if "{adjective}" in pattern else [""]
        towns = _TOWNS.split(", ") if "{town}" in pattern else [""]
        every = len(adjectives) * len(towns) * len(nouns)
        stride = _stride(every)
        for number in range(min(every, n - len(names))):
            rest, noun = divmod((number + skip) * stride % every, len(nouns))
            adjective, town = divmod(rest, len(towns))
            names.append(pattern.format(adjective=adjectives[adjective], noun=nouns[noun], town=towns[town]))
    plain = len(names)
    return names + [f"{names[number % plain]} {number // plain + 1}" for number in range(plain, n)]


def _stride(every: int) -> int:
    """A step that visits all of ``every`` positions once, far apart: near the golden ratio."""
    stride = round(every * 0.618)
    while gcd(stride, every) != 1:
        stride += 1
    return stride
