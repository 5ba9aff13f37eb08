"""Compiled loops of the similarities. Import it inside the function that needs it: numba is heavy.

Every similarity ends in ``pair_similarity``, from sums that were added in rising order of the raters. Whichever loop
computes it, from whichever side and with however many threads, it has the same bits.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic

from discreet.common.arrays import AnyFloats, AnyIntegers, Codes
from discreet.neighbors.profiles import GHOST, Profiles, Values

__all__ = [
    "Rule",
    "Wanted",
    "add_row",
    "count",
    "look_ahead",
    "pair_similarity",
    "sensitivities_into",
    "similarities_into",
    "similarity_at",
    "sort_by_entity",
    "sort_by_rater",
]

# What is summed over the co-raters of two entities i and j, in this order: 1, v_i·v_j, v_i², v_j².
SUMS = 4

AHEAD = 4  # raters whose lists are on their way from memory while an earlier one is added


class Rule(NamedTuple):
    """What a similarity is made of, in numbers.

    Attributes
    ----------
    whole
        Norms over all ratings of the two entities, not over the co-rated ones.
    overlap
        Fewer co-raters make no similarity.
    prior
        Added to both squared norms.
    shrinkage
        The similarity is multiplied by n/(n + shrinkage) for n co-raters.
    """

    whole: bool
    overlap: int
    prior: float
    shrinkage: float


def _prefetch(typing_context, array, index):
    """Ask for an array element before it is needed; numba itself has no word for it."""

    def generate(context, builder, signature, arguments):
        from llvmlite import ir

        kind = signature.args[0]
        whole = context.make_array(kind)(context, builder, arguments[0])
        place = cgutils.get_item_pointer(context, builder, kind, whole, [arguments[1]])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [byte], shape)
        builder.call(function, [builder.bitcast(place, byte), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


prefetch: Any = intrinsic(_prefetch)


@njit(cache=True, nogil=True)
def pair_similarity(rule: Rule, count: float, product: float, left: float, right: float) -> float:
    """Similarity from the number of co-raters, the inner product and two squared norms; 0 where a norm is 0.

    One root of the product of both norms, not a product of roots: vectors that are multiples of each other then have
    similarity 1, and not nearly 1.
    """
    if count < rule.overlap:
        return 0.0
    norms = (left + rule.prior) * (right + rule.prior)
    if norms <= 0.0:
        return 0.0
    if count == 1 and not rule.whole and rule.prior == 0.0:
        cosine = np.sign(product)  # what rounding would only nearly give
    else:
        cosine = min(1.0, max(-1.0, product / math.sqrt(norms)))
    return cosine * (count / (count + rule.shrinkage))


@njit(cache=True, nogil=True)
def similarity_at(profiles: Profiles, rule: Rule, sums: AnyFloats, i: int, j: int) -> float:
    """Similarity of the entities at two positions, from the sums of the first."""
    if rule.whole:
        return pair_similarity(rule, sums[j, 0], sums[j, 1], profiles.squares[i], profiles.squares[j])
    return pair_similarity(rule, sums[j, 0], sums[j, 1], sums[j, 2], sums[j, 3])


@njit(cache=True, nogil=True)
def look_ahead(profiles: Profiles, record: int, end: int) -> None:
    """Ask for the list of a rater who comes a little later."""
    if record + AHEAD < end:
        ahead = np.intp(profiles.place[record + AHEAD])
        prefetch(profiles.entity, ahead)
        prefetch(profiles.value, ahead)


@njit(cache=True, nogil=True)
def add_row(profiles: Profiles, i: int, everyone: bool, sums: AnyFloats) -> None:
    """Sums over the co-raters of the entity at position ``i`` and each other: everyone, or only later positions."""
    number = sums.dtype.type
    one = number(1)
    end = profiles.starts[i + 1]
    for record in range(profiles.starts[i], end):
        look_ahead(profiles, record, end)
        place, rater = profiles.place[record], profiles.rater[record]
        first = profiles.rater_starts[rater] if everyone else place
        last = profiles.rater_starts[rater + 1]
        # Slices spare the check for negative indices in the innermost loop.
        others, values = profiles.entity[first:last], profiles.value[first:last]
        mine = number(profiles.value[place])
        square = mine * mine
        for other in range(others.size):
            j, theirs = others[other], number(values[other])
            sums[j, 0] += one
            sums[j, 1] += mine * theirs
            sums[j, 2] += square
            sums[j, 3] += theirs * theirs


# Dense rows


class Wanted(NamedTuple):
    """Which rows of a matrix are written, and from which positions.

    With ``mirror`` each pair is computed once, from its lower position, and written to both sides; the matrix is then
    square. Otherwise row ``rows[r]`` belongs to ``positions[r]``.
    """

    rows: AnyIntegers
    mirror: bool
    positions: AnyIntegers


@njit(cache=True, nogil=True)
def similarities_into(out: AnyFloats, wanted: Wanted, profiles: Profiles, rule: Rule, sums: AnyFloats) -> None:
    """Write the similarities of the entities at some positions to all others."""
    rows, mirror, positions = wanted
    for r in range(positions.size):
        i = positions[r]
        sums[:] = 0
        add_row(profiles, i, not mirror, sums)
        for j in range(i if mirror else 0, profiles.code.size):
            similarity = similarity_at(profiles, rule, sums, i, j)
            out[rows[r], profiles.code[j]] = similarity
            if mirror:
                out[profiles.code[j], rows[r]] = similarity


@njit(cache=True, nogil=True)
def sensitivities_into(
    similarities: AnyFloats,
    lemmas: AnyFloats,
    exacts: AnyFloats,
    overlaps: Codes,
    wanted: Wanted,
    profiles: Profiles,
    rule: Rule,
    sums: AnyFloats,
    found: AnyFloats,
) -> None:
    """Write similarities and what one co-rater less would make of them; arguments as in ``similarities_into``.

    ``found`` has room for the similarity, the lemma's and the exact sensitivity of one row.
    """
    rows, mirror, positions = wanted
    for r in range(positions.size):
        i, row = positions[r], rows[r]
        sums[:] = 0
        found[:] = 0
        add_row(profiles, i, not mirror, sums)
        begin = i if mirror else 0
        for j in range(begin, profiles.code.size):
            found[j, 0] = similarity_at(profiles, rule, sums, i, j)
        for record in range(profiles.starts[i], profiles.starts[i + 1]):
            place, rater = profiles.place[record], profiles.rater[record]
            mine = float(profiles.value[place])
            for other in range(place if mirror else profiles.rater_starts[rater], profiles.rater_starts[rater + 1]):
                j = profiles.entity[other]
                _remove_one(profiles, rule, sums, i, j, mine, float(profiles.value[other]), found)
        for j in range(begin, profiles.code.size):
            column = profiles.code[j]
            similarities[row, column], lemmas[row, column], exacts[row, column] = found[j, 0], found[j, 1], found[j, 2]
            overlaps[row, column] = int(sums[j, 0])
            if mirror:
                similarities[column, row], lemmas[column, row] = found[j, 0], found[j, 1]
                exacts[column, row], overlaps[column, row] = found[j, 2], int(sums[j, 0])


@njit(cache=True, nogil=True)
def _remove_one(
    profiles: Profiles, rule: Rule, sums: AnyFloats, i: int, j: int, mine: float, theirs: float, found: AnyFloats
) -> None:
    """Raise the sensitivities of a pair to what the leaving of one co-rater asks for."""
    count = sums[j, 0]
    if count < rule.overlap:
        return
    if count == 1:
        found[j, 1] = found[j, 2] = 1.0
        return
    left, right = (profiles.squares[i], profiles.squares[j]) if rule.whole else (sums[j, 2], sums[j, 3])
    product, similarity = sums[j, 1], found[j, 0]
    left_rest, right_rest = _rest(left, mine), _rest(right, theirs)
    rest = pair_similarity(rule, count - 1, product - mine * theirs, left_rest, right_rest)
    found[j, 2] = max(found[j, 2], abs(similarity - rest))

    # Equation 3.3.5: s = product/length; a weight n/(n + shrinkage) lengthens the length.
    length = math.sqrt((left + rule.prior) * (right + rule.prior)) * (1 + rule.shrinkage / count)
    shorter = math.sqrt((left_rest + rule.prior) * (right_rest + rule.prior)) * (1 + rule.shrinkage / (count - 1))
    lemma = 1.0
    if shorter > 0.0 and count > rule.overlap:
        lemma = max(abs(mine * theirs), abs(product) * abs(length - shorter) / length) / shorter
    found[j, 1] = max(found[j, 1], lemma)


@njit(cache=True, nogil=True)
def _rest(squares: float, value: float) -> float:
    """Sum of squares without one of them, and without a ghost of it."""
    rest = squares - value * value
    return rest if rest > GHOST * squares else 0.0


# Laying out


@njit(cache=True, nogil=True)
def count(group: Codes, counts: AnyIntegers) -> None:
    """Count how often each code occurs."""
    for one in group:
        counts[one] += 1


@njit(cache=True, nogil=True)
def sort_by_entity(
    entity: Codes, rater: Codes, value: Values, position: Codes, fill: AnyIntegers, raters: Codes, values: Values
) -> None:
    """Put records where ``fill`` says for the position of their entity."""
    for record in range(entity.size):
        at = position[entity[record]]
        place = fill[at]
        fill[at] = place + 1
        raters[place], values[place] = rater[record], value[record]


@njit(cache=True, nogil=True)
def sort_by_rater(first: int, last: int, values: Values, fill: AnyIntegers, profiles: Profiles) -> None:
    """Put the ratings of the entities at positions from ``first`` to ``last`` where ``fill`` says for their rater."""
    for i in range(first, last):
        square = 0.0
        for record in range(profiles.starts[i], profiles.starts[i + 1]):
            rater, value = profiles.rater[record], values[record]
            place = fill[rater]
            fill[rater] = place + 1
            profiles.entity[place], profiles.value[place], profiles.place[record] = i, value, place
            square += float(value) * float(value)
        profiles.squares[i] = square
