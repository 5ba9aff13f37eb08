"""Independent noise for every run: generators that a copied model would share with its copies get a new state.

A model that holds a generator, as in ``self.rng = np.random.default_rng()``, is copied with that generator's state.
Without a new state every run would draw the same noise, and a correct model would look like one without noise.
Generators that the author gave a fixed seed keep it: noise that is the same in every fit is a fault of the model.
"""

from __future__ import annotations

import random
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from types import BuiltinMethodType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

__all__ = ["fixed_seeds", "is_generator", "reseed", "reseed_modules"]

MOST_OBJECTS = 50_000
"""More objects than this are not searched for generators."""
CHOSEN_SEEDS = 2**64
"""A seed below this was chosen by somebody: numpy draws 128 bits where it is given none."""
SEED_NAMES = ("seed", "random_state", "random_seed", "rng")

_LEAVES = (str, bytes, int, float, complex, bool, type(None), np.ndarray, np.generic, ModuleType)


def reseed(thing: Any, *, fixed_too: bool = False) -> None:
    """Give every generator inside an object, however deep, a new state; those with a fixed seed ``fixed_too``.

    Examples
    --------
    >>> import copy
    >>> generator = np.random.default_rng()
    >>> other = copy.deepcopy({"noise": [generator]})
    >>> reseed(other)
    >>> bool(other["noise"][0].random() == generator.random())
    False
    """
    for _, found in _reached(thing):
        if is_generator(found) and (fixed_too or not _is_fixed(found)):
            _renew(found)


def reseed_modules(names: Iterable[str]) -> None:
    """The same for generators that modules keep, and for the global ones: for a process that has just imported them."""
    np.random.seed()  # noqa: NPY002 - models may use the global generator
    random.seed()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.seed()
    for name in names:
        module = sys.modules.get(name)
        if module is not None:
            reseed(dict(vars(module)), fixed_too=True)


def fixed_seeds(thing: Any) -> list[str]:
    """Where an object has a fixed seed: generators that were given one, and settings that are named like one.

    Examples
    --------
    >>> class Model:
    ...     def __init__(self, seed=7):
    ...         self.seed, self.rng = seed, np.random.default_rng(seed)
    >>> fixed_seeds(Model())
    ['seed = 7', 'rng']
    """
    found = []
    for path, one in _reached(thing):
        if is_generator(one):
            if _is_fixed(one):
                found.append(path)
        elif _named_like_a_seed(path) and isinstance(one, int | np.integer) and not isinstance(one, bool):
            found.append(f"{path} = {one}")
    return sorted(found, key=lambda one: "=" not in one)  # settings say most


def _named_like_a_seed(path: str) -> bool:
    name = path.rpartition(".")[2]
    return name in SEED_NAMES or name.endswith("_seed")


def is_generator(thing: Any) -> bool:
    if isinstance(thing, np.random.Generator | np.random.RandomState | np.random.BitGenerator | random.Random):
        return True
    torch = sys.modules.get("torch")
    return isinstance(thing, np.random.SeedSequence) or (torch is not None and isinstance(thing, torch.Generator))


def _is_fixed(generator: Any) -> bool:
    """Whether somebody chose the seed; ``random.Random`` does not tell."""
    if isinstance(generator, random.Random):
        return False
    if isinstance(generator, np.random.SeedSequence):
        entropy: Any = generator.entropy
        return not isinstance(entropy, int) or entropy < CHOSEN_SEEDS
    bits: Any = generator
    if isinstance(generator, np.random.Generator):
        bits = generator.bit_generator
    elif isinstance(generator, np.random.RandomState):
        bits = generator._bit_generator
    if isinstance(bits, np.random.BitGenerator):
        sequence = getattr(bits, "seed_seq", None)
        # Legacy seeding with a number leaves no sequence.
        return not isinstance(sequence, np.random.SeedSequence) or _is_fixed(sequence)
    return False


def _renew(generator: Any) -> None:
    if isinstance(generator, random.Random):
        generator.seed()
    elif isinstance(generator, np.random.Generator):
        _renew(generator.bit_generator)
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(np.random.RandomState().get_state())
    elif isinstance(generator, np.random.BitGenerator):
        new: Any = type(generator)()
        # The sequence goes along: generators are spawned from it.
        generator.__setstate__((new.state, new.seed_seq))  # type: ignore[attr-defined]
    elif isinstance(generator, np.random.SeedSequence):
        generator.__setstate__(np.random.SeedSequence().__reduce__()[2])  # type: ignore[attr-defined]
    else:
        generator.seed()  # of torch


def _reached(thing: Any) -> Iterator[tuple[str, Any]]:
    """Everything inside an object, with the attributes that lead there; each object once."""
    left, met = deque([("", thing)]), set()
    while left and len(met) < MOST_OBJECTS:
        path, one = left.popleft()
        yield path, one
        if isinstance(one, _LEAVES) or is_generator(one) or id(one) in met:
            continue
        met.add(id(one))
        left.extend(_parts(path, one))


def _parts(path: str, one: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(one, Mapping):
        yield from ((f"{path}.{key}".lstrip("."), value) for key, value in list(one.items()))
    elif isinstance(one, list | tuple | set | frozenset):
        yield from ((f"{path}[{place}]", value) for place, value in enumerate(one) if not isinstance(value, _LEAVES))
    elif isinstance(one, partial):
        yield from ((f"{path}.{name}", value) for name, value in (("args", one.args), ("keywords", one.keywords)))
        yield path, one.func
    elif isinstance(one, MethodType | BuiltinMethodType):
        yield path, one.__self__
    elif isinstance(one, FunctionType):
        cells = [cell.cell_contents for cell in one.__closure__ or () if _full(cell)]
        kept = [one.__defaults__, one.__kwdefaults__, cells]
        yield from ((path, part) for part in kept if part)
    elif isinstance(one, type):
        if not _built_in(one):
            yield from ((f"{path}.{name}".lstrip("."), value) for name, value in list(vars(one).items()))
    elif not _built_in(type(one)):
        yield from ((f"{path}.{name}".lstrip("."), value) for name, value in list(getattr(one, "__dict__", {}).items()))
        for kind in type(one).__mro__:
            slots = vars(kind).get("__slots__", ())
            for name in [slots] if isinstance(slots, str) else slots:
                if hasattr(one, name):
                    yield f"{path}.{name}".lstrip("."), getattr(one, name)


def _built_in(kind: type) -> bool:
    """Types of Python, of numpy and of tables, which hold no generators of a model."""
    return kind.__module__.partition(".")[0] in ("builtins", "numpy", "polars", "pandas", "pyarrow", "scipy", "numba")


def _full(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True
