r"""Strict JSON: the one reader of every JSON text, from files and from nodes of ZooKeeper.

Goals, in order: a text with two meanings is rejected; a fault is named by its JSON path, or by its
line and byte offset where the text has no tree; hostile input ends in one error, in time linear in
its size; a clean text costs little more than the standard parser.

The standard parser accepts what this reader rejects: a key that appears twice in one object, NaN
and infinities (also as 1e400), integers of more than 64 bits, lone surrogates, more than 64 levels,
a byte order mark, and any encoding but UTF-8.

Algorithm. There are two passes, and a clean text sees only the first:

```
bytes ── UTF-8? BOM? depth? ──> C parser, a hook compares the number of keys ──> value
                                   │ a syntax error, or something suspicious
                                   └> walk over the tokens: the path and offset of each fault
```

The depth is known before the parser recurses. All bytes but brackets and quotes are deleted, then
everything between quotes, and each round of deleting `[]` removes one level:

```
{"a":["]",{}]}  ->  [""["]"[]]]  ->  [[[]]]  ->  [[]]  ->  []  ->  (empty): depth 3
```

An integer of more than 64 bits has at least 19 digits. All digits are mapped to one byte, then a
search finds such a run at memory speed. Only a text with such a run calls Python for each integer.

The walk visits each token once and keeps the keys and indexes of the open objects and lists:

```
{"rack":"a","x":[7,{"rack":1}],"rack":"b"}
                               ^ offset 31, path $: the second "rack" of the same object
```

It stops where the parser stopped, so every token that it sees is valid JSON.

Limits: this module does not know the fields of a format (see `codec`) and reads no files (see
`adapters.files.bounded_read`). Sources: RFC 8259, RFC 7493 (I-JSON).
"""

from __future__ import annotations

import gc
import json
import math
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from rackwise.core.json.faults import Fault, Faults, quoted, shown_value
from rackwise.core.text import SURROGATE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rackwise.core.errors import InputError

Json: TypeAlias = Any
"""dict, list, str, int, float, bool or None."""

Members: TypeAlias = "list[tuple[str, Any]]"
"""The keys and values of an object in the order of the text; a key may appear twice."""

Hook: TypeAlias = "Callable[[Members], Json]"
"""Members -> the value that represents the object in the document."""

MAX_DEPTH = 64
MAX_INTEGER = 2**63 - 1
MIN_INTEGER = -(2**63)

_LARGE = 2**20
"""The collector of cycles is off while a text of this many bytes or more is parsed."""

_MAX_DIGITS = len(str(MIN_INTEGER))
_SHOWN_DIGITS = 40
_BOM = b"\xef\xbb\xbf"
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b'[]{}"'))
_DIGITS = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else 32 for byte in range(256))  # noqa: PLR2004 (ASCII)
_LONG = b"0" * 19
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'  # also one that does not end, or time is quadratic
_BRACKET = re.compile(_STRING + r"|[{}\[\]]", re.DOTALL)
_TOKEN = re.compile(
    _STRING + r"|[{}\[\],]|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
    r"|true|false|null|NaN|-?Infinity",
    re.DOTALL,
)
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NUMBER_MARKS = frozenset("-0123456789NI")
_ONE_OBJECT = "one JSON object"
_FINITE = "a finite number"
_NARROW = "an integer of 64 bits"
_NUMBERS = frozenset({_FINITE, _NARROW})
_ONCE = "every key once"
_TEXT = "text without a lone surrogate"
_KEY = "a key without a lone surrogate"
_NAME_HINT = "a lone surrogate has no UTF-8; write the name as the cluster has it"
_HINTS = {
    _FINITE: "write null for an unknown number",
    _NARROW: f"integers run from {MIN_INTEGER} to {MAX_INTEGER}",
    _ONCE: "remove one of the two; Rackwise cannot know which one is meant",
    _TEXT: _NAME_HINT,
    _KEY: _NAME_HINT,
}


class NotStrict(ValueError):
    """A text that is not strict JSON, with its first fault.

    `told`: the sentence without a place; `wanted`: what is expected there; `offset`: in bytes.
    """

    def __init__(self, told: str, *, wanted: str, offset: int) -> None:
        super().__init__(told)
        self.told = told
        self.wanted = wanted
        self.offset = offset


class _Suspicious(Exception):
    """The C parser met something that the walk has to look at."""


class _Rejected(Exception):
    """The first fault of a text, its offset in bytes, and the number of further faults."""

    def __init__(self, fault: Fault, offset: int, *, prefix: str = "", others: int = 0) -> None:
        super().__init__(fault.sentence)
        self.fault = fault
        self.offset = offset
        self.prefix = prefix  # the place within the file, for a fault without a path
        self.others = others


def distinct(members: Members) -> dict[str, Any]:
    """The object of these members; a key that appears twice makes the text suspicious."""
    value = dict(members)
    if len(value) != len(members):
        raise _Suspicious
    return value


def parse(data: bytes, *, where: str, error: type[InputError], hook: Hook = distinct) -> Json:
    """The one document in the content of a file.

    `where` names the file in messages. Raises only `error`; its `where` is the JSON path, or the
    file's name where only an offset is known. `hook` is called for each object, inner ones first.
    """
    try:
        return _value(data, hook)
    except _Rejected as rejected:
        fault = rejected.fault
        faults = Faults(where, error)
        raise faults.last(
            Fault(
                place=fault.place,
                sentence=f"{rejected.prefix}{fault.sentence}",
                wanted=fault.wanted,
                had=fault.had,
                hint=fault.hint,
            ),
            others=rejected.others,
        ) from None


def read_object(data: bytes, *, most: int) -> dict[str, Any]:
    """The one object of a document of at most `most` bytes. Raises `NotStrict`."""
    if len(data) > most:
        wanted = f"at most {most} bytes"
        raise NotStrict(f"expected {wanted}", wanted=wanted, offset=most)
    try:
        value = _value(data, distinct)
    except _Rejected as rejected:
        fault = rejected.fault
        if fault.place.startswith(":"):
            raise _no_object(rejected.offset) from None
        raise NotStrict(fault.sentence, wanted=str(fault.wanted), offset=rejected.offset) from None
    if not isinstance(value, dict):
        raise _no_object(0)
    return value


def _no_object(offset: int) -> NotStrict:
    return NotStrict(f"expected {_ONE_OBJECT}", wanted=_ONE_OBJECT, offset=offset)


def offset_of(data: bytes, steps: Sequence[str | int]) -> int:
    """The offset in bytes of a value of a valid text, or of the nearest parent that exists.

    `steps`: keys and indexes from the outermost object inwards.
    """
    text = data.decode()
    wanted = tuple(steps)
    walk = _Walk()
    best, depth = 0, -1
    for match, is_key in walk.tokens(text, len(text)):
        size = len(walk.frames)
        if is_key or not depth < size <= len(wanted):
            continue
        if all(frame.step == step for frame, step in zip(walk.frames, wanted, strict=False)):
            best, depth = match.start(), size
            if depth == len(wanted):
                break
    return _bytes_before(text, best)


def key_path(path: str, key: str) -> str:
    """The path of a member: `$.moves` for a plain key, `$["a b"]` for any other.

    >>> key_path("$", "moves"), key_path("$.topics", "a.b")
    ('$.moves', '$.topics["a.b"]')
    """
    return f"{path}.{key}" if _PLAIN_KEY.fullmatch(key) else f"{path}[{quoted(key)}]"


@contextmanager
def collector_held_back(size: int) -> Iterator[None]:
    """Do not search for cycles while a tree is built from `size` bytes of JSON: it has none."""
    if size < _LARGE:
        yield
        return
    with collector_off():
        yield


@contextmanager
def collector_off() -> Iterator[None]:
    """Do not search for cycles, as where millions of values live to the end of a command."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _value(data: bytes, hook: Hook) -> Json:
    """The value of a text. Raises `_Rejected`."""
    text = _decoded(data)
    _check_depth(data, text)
    parse_int = _narrow if _LONG in data.translate(_DIGITS) else None
    decoder = json.JSONDecoder(
        object_pairs_hook=hook,
        parse_float=_finite,
        parse_int=parse_int,
        parse_constant=_suspect,
    )
    with collector_held_back(len(data)):
        try:
            value = decoder.decode(text)
            if _ESCAPED_SURROGATE.search(data):
                _check_texts(value)
        except (_Suspicious, ValueError, RecursionError):
            raise _rejected(text) from None
    return value


def _decoded(data: bytes) -> str:
    if data.startswith(_BOM):
        wanted = "JSON without a byte order mark"
        fault = Fault(
            place="",
            sentence=f"expected {wanted}, got one",
            wanted=wanted,
            had="EF BB BF",
            hint="save the file as UTF-8 without a byte order mark",
        )
        raise _Rejected(fault, 0, prefix="offset 0: ")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        had = f"0x{data[error.start]:02x}"
        fault = Fault(
            place="",
            sentence=f"expected UTF-8, got byte {had}",
            wanted="UTF-8",
            had=had,
            hint="save the file as UTF-8",
        )
        raise _Rejected(fault, error.start, prefix=f"offset {error.start}: ") from None


def _check_depth(data: bytes, text: str) -> None:
    if data.count(b"{") + data.count(b"[") <= MAX_DEPTH:
        return
    if b"\\" in data:
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    brackets = data.translate(_BRACKETS, _ALL_BUT_BRACKETS).replace(b'""', b"")
    if b'"' in brackets:
        brackets = b"".join(brackets.split(b'"')[::2])
    for _ in range(MAX_DEPTH):
        if not brackets:
            return
        brackets = brackets.replace(b"[]", b"")
    depth = 0
    for match in _BRACKET.finditer(text):
        depth += (match[0] in "{[") - (match[0] in "}]")
        if depth > MAX_DEPTH:
            raise _too_deep(_bytes_before(text, match.start()))


def _too_deep(offset: int) -> _Rejected:
    wanted = f"at most {MAX_DEPTH} levels of nesting"
    fault = Fault(
        place="",
        sentence=f"expected {wanted}, got more",
        wanted=wanted,
        had=MAX_DEPTH + 1,
        hint="no file of Rackwise is nested so deep; is it the right file?",
    )
    return _Rejected(fault, offset, prefix=f"offset {offset}: ")


def _bytes_before(text: str, position: int) -> int:
    return len(text[:position].encode())


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _Suspicious
    return number


def _narrow(text: str) -> int:
    if _is_wide(text):
        raise _Suspicious
    return int(text)


def _is_wide(text: str) -> bool:
    return len(text) > _MAX_DIGITS or not MIN_INTEGER <= int(text) <= MAX_INTEGER


def _suspect(_constant: str) -> None:
    raise _Suspicious


def _check_texts(value: Json) -> None:
    """Look for lone surrogates: only an escape can bring one in."""
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            if SURROGATE.search(item):
                raise _Suspicious
        elif isinstance(item, list):
            rest.extend(item)
        elif isinstance(item, dict):
            rest.extend(item)
            rest.extend(item.values())


def _nothing(_: object) -> None:
    """Stands for every value, where only the syntax is of interest."""


_SYNTAX = json.JSONDecoder(
    object_pairs_hook=_nothing, parse_float=_nothing, parse_int=_nothing, parse_constant=_nothing
)


def _rejected(text: str) -> _Rejected:
    """What to raise for a text that is not strict JSON: its first fault, the others counted."""
    end, syntax = len(text), None
    try:
        _SYNTAX.decode(text)
    except json.JSONDecodeError as error:
        end, syntax = error.pos, error
    except RecursionError:
        return _too_deep(0)
    first: _Rejected | None = None
    count = 0
    walk = _Walk()
    for oddity in _oddities(walk, text, end):
        if first is None:
            first = _placed(oddity, walk.frames, text)
        count += 1
    if first is None:
        # The walk finds whatever the parser suspects, so without a fault there is a syntax error.
        return _syntax_fault(text, syntax or json.JSONDecodeError("no JSON", text, 0))
    first.others = count - 1 + (syntax is not None)
    return first


def _syntax_fault(text: str, error: json.JSONDecodeError) -> _Rejected:
    offset = _bytes_before(text, error.pos)
    if error.msg == "Extra data":
        sentence = "expected one document, got a second one"
        wanted, had, hint = "one document", "2", "keep one document in the file"
    elif not text[error.pos :].strip() or error.msg.startswith("Unterminated string"):
        sentence = "expected a whole JSON document, got the end of the file"
        wanted, had = "a whole JSON document", f"{len(text.encode())} bytes"
        hint = "the file is cut off; write or fetch it again"
    else:
        reason = f"{error.msg[0].lower()}{error.msg[1:]}"
        sentence = f"expected JSON, got a syntax error: {reason}"
        wanted, had = "JSON", error.msg
        hint = "fix the file there; strict JSON has no comments, trailing commas or bare words"
    fault = Fault(place=f":{error.lineno}", sentence=sentence, wanted=wanted, had=had, hint=hint)
    return _Rejected(fault, offset, prefix=f"column {error.colno}, offset {offset}: ")


@dataclass(slots=True)
class _Frame:
    """An open object or list, and the place of the walk in it."""

    is_object: bool
    at_key: bool  # whether the next text is a key
    key: str = ""
    index: int = 0
    keys: set[str] = field(default_factory=set)

    @property
    def step(self) -> str | int:
        return self.key if self.is_object else self.index


class _Walk:
    """One pass over the tokens of a text that is valid JSON up to `end`."""

    def __init__(self) -> None:
        self.frames: list[_Frame] = []

    def tokens(self, text: str, end: int) -> Iterator[tuple[re.Match[str], bool]]:
        """Keys and values (for lists and objects: their opening), each with whether it is a key.

        While the caller looks at a token, `frames` leads to it.
        """
        frames = self.frames
        for match in _TOKEN.finditer(text):
            if match.end() > end:
                return
            mark = match[0][0]
            if mark in "{[":
                yield match, False
                frames.append(_Frame(is_object=mark == "{", at_key=mark == "{"))
            elif mark in "}]":
                frames.pop()
            elif mark == ",":
                frames[-1].index += 1
                frames[-1].at_key = frames[-1].is_object
            elif frames and frames[-1].at_key:
                frames[-1].key = _unquoted(match[0])
                frames[-1].at_key = False
                yield match, True
            else:
                yield match, False


def _path(frames: Sequence[_Frame]) -> str:
    path = "$"
    for frame in frames:
        path = key_path(path, frame.key) if frame.is_object else f"{path}[{frame.index}]"
    return path


class _Oddity(NamedTuple):
    """A fault of the tree; only the first one gets its path, as paths may be long."""

    start: int  # characters before it
    wanted: str
    had: str


def _oddities(walk: _Walk, text: str, end: int) -> Iterator[_Oddity]:
    """All faults of the tree, in the order of the text."""
    for match, is_key in walk.tokens(text, end):
        piece, start = match[0], match.start()
        if is_key:
            frame = walk.frames[-1]
            if "\\u" in piece and SURROGATE.search(frame.key):
                yield _Oddity(start, _KEY, frame.key)
            if frame.key in frame.keys:
                yield _Oddity(start, _ONCE, frame.key)
            frame.keys.add(frame.key)
        elif piece[0] == '"':
            if "\\u" in piece and SURROGATE.search(content := _unquoted(piece)):
                yield _Oddity(start, _TEXT, content)
        elif piece[0] in _NUMBER_MARKS and (wanted := _wanted_number(piece)):
            yield _Oddity(start, wanted, piece)


def _wanted_number(piece: str) -> str | None:
    """What is expected in the place of a number; None where it is as expected."""
    if piece[-1] in "Ny" or (not piece.lstrip("-").isdigit() and not math.isfinite(float(piece))):
        return _FINITE
    is_integer = "." not in piece and "e" not in piece and "E" not in piece
    if is_integer and len(piece) >= len(_LONG) and _is_wide(piece):
        return _NARROW
    return None


def _unquoted(piece: str) -> str:
    return str(_SYNTAX.decode(piece)) if "\\" in piece else piece[1:-1]


def _placed(oddity: _Oddity, frames: Sequence[_Frame], text: str) -> _Rejected:
    """The fault with its path, and its offset in bytes."""
    wanted, offset = oddity.wanted, _bytes_before(text, oddity.start)
    path = _path(frames[:-1] if wanted in {_ONCE, _KEY} else frames)
    if wanted == _ONCE:
        sentence, had = f"key {quoted(oddity.had)} appears twice", "2"
    else:
        had = _shown_number(oddity.had) if wanted in _NUMBERS else shown_value(oddity.had)
        sentence = f"expected {wanted}, got {had}"
    fault = Fault(place=path, sentence=sentence, wanted=wanted, had=had, hint=_HINTS[wanted])
    return _Rejected(fault, offset, prefix=f"offset {offset}: " if wanted == _NARROW else "")


def _shown_number(text: str) -> str:
    return text if len(text) <= _SHOWN_DIGITS else f"{text[:_SHOWN_DIGITS]}..."
