"""How released steps are kept: whole numbers of a sixteenth of the noise, compressed."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import discreet as dc
from discreet.privacy.gram import BoundedGram
from discreet.privacy.noise import discrete_gaussian
from discreet.privacy.series import Factorization, SeriesNoise
from discreet.privacy.units import Unit
from discreet.series import Series
from discreet.series.folder import _compressed, _expanded
from discreet.series.steps import _unpacked, packed, stored_unit


def nobody(head: int, largest: int = 2**16) -> BoundedGram:
    zero = np.zeros((head, head), dtype=np.int64)
    return BoundedGram((zero,), Fraction(1, 2**16), Fraction(largest**2), Unit("user"), ())


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
def test_compressed_arrays_come_back(kind: type[np.signedinteger]) -> None:
    ends = np.iinfo(kind)
    for values in ([], [0], [ends.min, -1, 0, 1, ends.max], list(range(-100, 100))):
        array = np.array(values, dtype=kind)
        again = _expanded(_compressed(array))
        assert again.dtype == array.dtype
        assert np.array_equal(again, array)


def test_what_is_kept_is_finer_than_the_noise_and_takes_about_a_byte() -> None:
    noise, sums = SeriesNoise(Factorization(365), Fraction(1)), nobody(80)
    unit = stored_unit(noise, sums)
    step, deviation = noise.grid(sums)
    assert unit <= step * deviation / 16
    released = noise.release([(0, sums)])[0]
    kept = packed(released, unit)
    assert np.abs(_unpacked(kept.astype(np.float64) * float(unit)) - released).max() <= float(unit) / 2 * 1.001
    assert len(_compressed(kept)) < 1.1 * kept.size


def test_without_noise_to_speak_of_nothing_is_rounded() -> None:
    noise, sums = SeriesNoise(Factorization(4), Fraction(10**12)), nobody(3, largest=2)
    assert stored_unit(noise, sums) == noise.grid(sums)[0]
    values = discrete_gaussian(6, Fraction(10**6)).astype(np.float64) * float(noise.grid(sums)[0])
    assert np.array_equal(packed(values, stored_unit(noise, sums)) * float(noise.grid(sums)[0]), values)


def test_a_night_of_a_model_takes_about_a_byte_a_pair(tmp_path: Path) -> None:
    films = dc.synthetic.films(users=200, items=120, seed=7)
    series = Series(dc.PrivateItemKNN(epsilon=2, head=100), steps=365, enter_after=1, folder=tmp_path / "s")
    series.advance(films)
    sizes = sorted(path.stat().st_size for path in (tmp_path / "s").glob("step-*.z"))
    assert sizes[-1] < 1.2 * 100 * 101 / 2
