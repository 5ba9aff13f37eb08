"""Damaging valid input: bytes, JSON documents and words, changed by a seeded generator."""

from __future__ import annotations

import json
from copy import deepcopy
from random import Random
from typing import Any

__all__ = ["WORDS", "damaged_bytes", "damaged_json", "odd_text"]

PIECES = [
    b"", b"\n", b"\r\n", b",", b";", b"\t", b"::", b"|", b'"', b'""', b"\\", b"0", b"99", b"-", b"+7", b"007", b" ",
    b"nan", b"inf", b"1e400", b"99999999999999999999", b"\x00", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"\x1f",
    b"x", b"\n\n", b"1:\n", b"NULL", b"\\N", b"2010-02-30T00:00:00Z", b"\x1f\x8b", b"PAR1", b"ARROW1", b"\xff" * 9,
    b"\x80\x00\x00\x00\x7f", b"[" * 2000,
]  # fmt: skip

WORDS = [
    "", " ", "0", "1", "-1", "1_0", "1e999999999", "1e-999999999", "9" * 5000, "1/0", "0/1", "1/3", "nan",
    "inf", "-inf", "NaN", "Infinity", "0x10", "٣", "1e", ".", "+", "1.5.2", "½", "1,5", "true", "null", "[]",
    "{}", "[[[[", "[" * 5000, '{"a":' * 500, "user", "record", "group:4", "group/replace:4", "user/value",
    "group:0", "group:²", "rating/value", "age=<25,25-44,45+", "age=", "=x", "age=,", "weekday",
    "weekday=Monday", "age=1e999999999-2", "a" * 3000, "\x00", "\n", "é", "🙂", "../..", "/", ".", "..",
    "/dev/null", "/dev/zero/x", "~", "--json", "-", "1:5", "5:1", "1:5:0", "1:1e99999", "1:5:none", "x=y",
    "k=1e999", "k=[[1]]", "users=1_0", "exponent=nan", "cap=-1", "1e400", "1e-400", "0.1", "1e-6", "\ud800",
    "2147483648", "-0",
]  # fmt: skip

VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**70), 10**30, 0.5, -0.0, 1e308, "", "x", "../x",
    "/etc/passwd", "1/0", "1e999999999", "9" * 5000, [], [[]], {}, {"a": {}}, ["x"] * 3, [None], {"": None},
    "\u0000", "é", [1, "a", None], "\ud800", float("nan"), float("inf"),
]  # fmt: skip


def damaged_bytes(data: bytes, random: Random) -> bytes:
    """A few places cut out, overwritten, doubled or flipped."""
    for _ in range(random.randint(1, 3)):
        begin = random.randint(0, len(data))
        end = min(len(data), begin + random.choice((0, 0, 1, 1, 3, 20)))
        how = random.choice(("replace", "replace", "truncate", "double", "swap", "flip", "flip", "number"))
        if how == "replace":
            data = data[:begin] + random.choice(PIECES) + data[end:]
        elif how == "truncate":
            data = data[:begin]
        elif how == "double":
            data = data[:end] + data[begin:]
        elif how == "swap":
            data = data.replace(random.choice(PIECES[1:8]), random.choice(PIECES[:-1]), 1000)
        elif how == "number":
            data = data[:begin] + random.randbytes(random.choice((1, 4, 8))) + data[end:]
        elif data:
            place = min(begin, len(data) - 1)
            data = data[:place] + bytes([data[place] ^ (1 << random.randint(0, 7))]) + data[place + 1 :]
    return data


def damaged_json(data: bytes, random: Random) -> bytes:
    """The same document with a value changed, removed, renamed or moved; sometimes only its bytes are damaged."""
    if random.random() < 0.2:
        return damaged_bytes(data, random)
    document = json.loads(data)
    for _ in range(random.randint(1, 2)):
        holder, key = random.choice(list(_places(document)) or [(None, None)])
        if holder is None:
            return json.dumps(random.choice(VALUES)).encode()
        how = random.choice(("value", "value", "remove", "rename", "word"))
        if how == "value":
            holder[key] = deepcopy(random.choice(VALUES))  # it may be changed in its turn
        elif how == "word":
            holder[key] = random.choice(WORDS)
        elif how == "remove":
            del holder[key]
        elif isinstance(holder, dict):
            holder[random.choice(WORDS)] = holder.pop(key)
    return json.dumps(document).encode()


def odd_text(random: Random) -> str:
    """A word from the list, two of them together, or one with a letter changed."""
    word = random.choice(WORDS)
    how = random.randint(0, 3)
    if how == 0:
        return word + random.choice(WORDS)
    if how == 1 and word:
        place = random.randrange(len(word))
        return (
            word[:place]
            + chr(random.choice((32, 45, 46, 47, 48, 49, 57, 58, 61, 95, 101, 0x663, 0x1F600)))
            + word[place + 1 :]
        )
    return word


def _places(document: Any) -> Any:
    """Every place in a document that holds a value: its container and key."""
    waiting = [document]
    while waiting:
        holder = waiting.pop()
        if isinstance(holder, dict | list):
            for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
                yield holder, key
                waiting.append(holder[key])
