r"""One object of JSON that others wrote, read strictly: what can be meant two ways is refused.

Goals, in order: hostile bytes end in one error; nothing ambiguous is let through; a topic node of
10 000 partitions costs a few times what the standard parser takes; an error names the byte.

Refused are: any encoding but UTF-8, a byte order mark, a key twice, NaN and infinities (also as
1e400), integers over 64 bit, half a surrogate pair, depth over 64, a document that is no object.
The depth is known before the parser recurses. Few brackets cannot be deep; of many, escaped quotes
go, then what stands between quotes, then what is no bracket; each round of deleting `[]` takes one
level off.

The standard parser does not say where a value stood. So what it reads is looked at afterwards, and
only where something is wrong are the tokens walked once more, in linear time, to find the place:

```
{"rack":"a","x":[7,{"rack":1}],"rack":"b"}
                               ^ offset 31: the second "rack" of its own object
```

What this does not do: know the fields of an object.
Source: RFC 8259, RFC 7493 (I-JSON).
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MAX_DEPTH = 64

_WIDEST = 2**63
_DIGITS = 20
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_LEVELS = bytes.maketrans(b"{}", b"[]")
_NINES = bytes.maketrans(b"012345678", b"9" * 9)
_LONG = b"9" * 19
_SURROGATE = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)
_NUMBER = re.compile(r"(-?(?:0|[1-9][0-9]*))((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")
_NO_NUMBER = re.compile(r"NaN|-?Infinity")
_SHOWN = 60

_ONE_OBJECT = "one JSON object"
_ONCE = "every key once"
_NARROW = "an integer of 64 bits"
_FINITE = "a finite number"
_PAIRS = "a whole surrogate pair"
_WHOLE = f"whole JSON of at most {MAX_DEPTH} levels"


class NotStrict(ValueError):
    """Bytes that are no object of strict JSON. `offset`: in bytes; `wanted`: what is, there."""

    def __init__(self, told: str, *, wanted: str, offset: int) -> None:
        super().__init__(told)
        self.told = told
        self.wanted = wanted
        self.offset = offset


class _Odd(ValueError):
    """The message says what is wanted instead."""


def read_object(data: bytes, *, most: int) -> dict[str, Any]:
    """The one object of a document of at most `most` bytes. Raises `NotStrict`."""
    if len(data) > most:
        raise _not_strict(f"at most {most} bytes", most)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _not_strict("UTF-8", error.start) from None
    try:
        _check_depth(data)
        return _parsed(data, text)
    except json.JSONDecodeError as error:
        raise _not_strict(_ONE_OBJECT, _bytes_before(text, error.pos)) from None
    except _Odd as odd:
        raise _placed(text, str(odd)) from None


def offset_of(data: bytes, steps: Sequence[str | int]) -> int:
    """Where a value begins, in bytes, of a document that was read; of its parent where it is not.

    `steps`: keys and indexes from the outermost object inwards.
    """
    text = data.decode()
    wanted = tuple(steps)
    best, depth = 0, -1
    for token in _tokens(text):
        if not token.is_value:
            continue
        if depth < len(token.steps) <= len(wanted) and wanted[: len(token.steps)] == token.steps:
            best, depth = token.start, len(token.steps)
            if depth == len(wanted):
                break
    return _bytes_before(text, best)


def _parsed(data: bytes, text: str) -> dict[str, Any]:
    value = (_WARY if _LONG in data.translate(_NINES) else _DECODER).decode(text)
    if not isinstance(value, dict):
        raise _Odd(_ONE_OBJECT)
    if "\\u" in text:
        _check_texts(value)
    return value


def _check_depth(data: bytes) -> None:
    if data.count(b"{") + data.count(b"[") <= MAX_DEPTH:
        return
    if b"\\" in data:
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    brackets = b"".join(data.split(b'"')[::2]).translate(_LEVELS, _NO_BRACKETS)
    for _ in range(MAX_DEPTH):
        if not brackets:
            return
        brackets = brackets.replace(b"[]", b"")
    if brackets:
        raise _Odd(_WHOLE)


def _check_texts(value: object) -> None:
    """Half a surrogate pair has no UTF-8: only an escape can bring one in."""
    if isinstance(value, dict):
        for key, item in value.items():
            _check_texts(key)
            _check_texts(item)
    elif isinstance(value, list):
        for item in value:
            _check_texts(item)
    elif isinstance(value, str) and _SURROGATE.search(value):
        raise _Odd(_PAIRS)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Odd(_ONCE)
    return members


def _integer(text: str) -> int:
    if len(text) <= _DIGITS and -_WIDEST <= int(text) < _WIDEST:
        return int(text)
    raise _Odd(_NARROW)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _Odd(_FINITE)
    return number


_DECODER = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_float=_finite, parse_constant=_finite
)
_WARY = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_int=_integer, parse_float=_finite, parse_constant=_finite
)
"""Looks at every integer too: for what has long ones."""


def _not_strict(wanted: str, offset: int) -> NotStrict:
    return NotStrict(f"expected {wanted}", wanted=wanted, offset=offset)


def _bytes_before(text: str, characters: int) -> int:
    return len(text[:characters].encode())


@dataclass(slots=True)
class _Frame:
    """An object or array that is not closed yet, and where in it the walk is."""

    is_object: bool
    at_key: bool
    key: str = ""
    index: int = 0
    keys: set[str] = field(default_factory=set)

    @property
    def step(self) -> str | int:
        return self.key if self.is_object else self.index


@dataclass(frozen=True, slots=True)
class _Token:
    """One token. `steps`: of the value it begins; `again`: a key that stood there before."""

    text: str
    start: int
    steps: tuple[str | int, ...]
    is_value: bool
    again: bool = False


def _tokens(text: str) -> Iterator[_Token]:
    """All tokens of a text that is JSON as far as they are asked for."""
    frames: list[_Frame] = []
    for found in _TOKEN.finditer(text):
        piece, start = found[0], found.start()
        steps = tuple(frame.step for frame in frames)
        if piece in "{[":
            yield _Token(piece, start, steps, is_value=True)
            frames.append(_Frame(is_object=piece == "{", at_key=piece == "{"))
        elif piece in "}]":
            frames.pop()
        elif piece == ",":
            frames[-1].at_key = frames[-1].is_object
            frames[-1].index += 1
        elif piece != ":":
            if frames and frames[-1].at_key:
                yield _key(frames[-1], piece, start, steps)
            else:
                yield _Token(piece, start, steps, is_value=True)


def _key(frame: _Frame, piece: str, start: int, steps: tuple[str | int, ...]) -> _Token:
    key = str(_DECODER.decode(piece))
    again = key in frame.keys
    frame.keys.add(key)
    frame.key, frame.at_key = key, False
    return _Token(piece, start, (*steps[:-1], key), is_value=False, again=again)


def _placed(text: str, wanted: str) -> NotStrict:
    """What is said of a text in which something is not as wanted, and where it stands."""
    if wanted == _WHOLE:
        return _not_strict(wanted, _bytes_before(text, _too_deep(text)))
    if wanted == _ONE_OBJECT:
        return _not_strict(wanted, 0)
    token = next(filter(_IS_ODD[wanted], _tokens(text)))
    offset = _bytes_before(text, token.start)
    if wanted == _ONCE:
        key = escaped(str(token.steps[-1]))[:_SHOWN]
        return NotStrict(f'key "{key}" appears twice', wanted=wanted, offset=offset)
    return _not_strict(wanted, offset)


def _too_deep(text: str) -> int:
    """Where the level begins that is one too many, or the end that comes too early."""
    depth = 0
    for found in _TOKEN.finditer(text):
        depth += (found[0] in "{[") - (found[0] in "}]")
        if not 0 <= depth <= MAX_DEPTH:
            return found.start()
    return len(text)


def _is_wide(token: _Token) -> bool:
    found = _NUMBER.match(token.text)
    if found is None or found[2]:
        return False
    return len(found[1]) > _DIGITS or not -_WIDEST <= int(found[1]) < _WIDEST


def _is_infinite(token: _Token) -> bool:
    found = _NUMBER.match(token.text)
    if found is None:
        return _NO_NUMBER.match(token.text) is not None
    return bool(found[2]) and not math.isfinite(float(found[0]))


def _is_half(token: _Token) -> bool:
    return token.text.startswith('"') and bool(_SURROGATE.search(_DECODER.decode(token.text)))


_IS_ODD: dict[str, Callable[[_Token], bool]] = {
    _ONCE: lambda token: token.again,
    _NARROW: _is_wide,
    _FINITE: _is_infinite,
    _PAIRS: _is_half,
}
