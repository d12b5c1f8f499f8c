"""Strict JSON: one reader for every file that Rackwise takes.

Goals, in order: nothing ambiguous is let through; a fault is named by its JSON path (or its byte
offset, where there is no tree yet); hostile input ends in one error, in time linear in its size;
a clean document costs little more than the standard parser.

What the standard parser lets pass and this one refuses: a key that stands twice, NaN and
infinities (also as 1e400), integers over 64 bit, lone surrogates, depth over 64, a byte order
mark, any encoding but UTF-8.

Algorithm. Two passes, of which a clean document sees only the first:

```
bytes ── UTF-8? BOM? depth? ──> fast pass: the C parser, a hook counts keys ──> value
                                   │ something is suspicious
                                   └> slow pass: the same parser keeps pairs and odd numbers as
                                      marks, a walk gives each its path: all faults, or the value
```

The depth is known before the parser recurses: all bytes but brackets and quotes are deleted, what
stands between quotes is dropped, and each round of deleting `[]` takes one level off:

```
{"a":["]",{}]}  ->  [""["]"[]]]  ->  [[[]]]  ->  [[]]  ->  []  ->  (empty): depth 3
```

An integer over 64 bit has 19 digits or more: with all digits mapped to one byte, a search finds
such a run at memory speed.

What this does not do: know the fields of a format (see `node`); read the file (see `reading`).
Sources: RFC 8259, RFC 7493 (I-JSON).
"""

from __future__ import annotations

import gc
import json
import math
import re
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from rackwise.core.json.faults import Fault, Faults, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rackwise.core.errors import InputError

Json: TypeAlias = Any
"""dict, list, str, int, float, bool or None."""

Members: TypeAlias = "list[tuple[str, Any]]"
"""An object as it stands in the text: its keys and values in order, perhaps with a key twice."""

Hook: TypeAlias = "Callable[[Members], Json]"
"""Members -> what shall stand for the object in the document."""

MAX_DEPTH = 64
MAX_INTEGER = 2**63 - 1
MIN_INTEGER = -(2**63)

_LARGE = 2**20
"""Bytes from which on the collector of cycles is held back."""

_BOM = b"\xef\xbb\xbf"
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_ALL_BUT_BRACKETS = bytes(set(range(256)) - set(b'[]{}"'))
_DIGITS = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else 32 for byte in range(256))  # noqa: PLR2004 (ASCII)
_LONG = b"0" * 19
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_TOKEN = re.compile(
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|[\[\]{}]', re.DOTALL
)
_INDEX = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class _Suspicious(Exception):
    """The fast pass met something that the slow pass has to look at."""


@dataclass(frozen=True, slots=True)
class _Odd:
    """A number that the slow pass keeps as its own text."""

    text: str
    wanted: str


class _Pairs(list[tuple[str, Any]]):
    """An object of the slow pass, before its keys are known to be distinct."""


def distinct(members: Members) -> dict[str, Any]:
    """The object of these members; one with a key twice makes the document suspicious."""
    value = dict(members)
    if len(value) != len(members):
        raise _Suspicious
    return value


def parse(data: bytes, *, where: str, error: type[InputError], hook: Hook = distinct) -> Json:
    """The one document in `data`.

    `where` names the file in messages; `error` is the class that speaks for it. Raises only that
    class; its `where` is the JSON path, or the file's name where only an offset is known. `hook`
    is asked for each object, inner ones first; what it gave for a document that turns out to be
    suspicious is thrown away.
    """
    faults = Faults(where, error)
    text = _decoded(data, faults)
    _check_depth(data, text, faults)
    is_suspicious = bool(_ESCAPED_SURROGATE.search(data)) or _LONG in data.translate(_DIGITS)
    with collector_held_back(len(data)):
        if not is_suspicious:
            with suppress(_Suspicious, ValueError, RecursionError):
                return _fast(hook).decode(text)
        return _parse_slowly(text, faults)


def key_path(path: str, key: str) -> str:
    """The path of a member: `$.moves` for a plain key, `$["a b"]` for any other.

    >>> key_path("$", "moves"), key_path("$.topics", "a.b")
    ('$.moves', '$.topics["a.b"]')
    """
    return f"{path}.{key}" if _INDEX.fullmatch(key) else f"{path}[{quoted(key)}]"


@contextmanager
def collector_held_back(size: int) -> Iterator[None]:
    """No search for cycles while a tree is built from `size` bytes of JSON: it has none."""
    if size < _LARGE or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _decoded(data: bytes, faults: Faults) -> str:
    if data.startswith(_BOM):
        raise faults.last(
            Fault(
                place="",
                sentence="offset 0: expected JSON without a byte order mark, got one",
                wanted="no byte order mark",
                had="EF BB BF",
                hint="save the file as UTF-8 without a byte order mark",
            )
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise faults.last(
            Fault(
                place="",
                sentence=f"offset {error.start}: expected UTF-8, got "
                f"byte 0x{data[error.start]:02x}",
                wanted="UTF-8",
                had=f"0x{data[error.start]:02x}",
                hint="save the file as UTF-8",
            )
        ) from None


def _check_depth(data: bytes, text: str, faults: Faults) -> None:
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
    for token in _TOKEN.finditer(text):
        if token[0] in {"[", "{"}:
            depth += 1
        elif token[0] in {"]", "}"}:
            depth -= 1
        if depth > MAX_DEPTH:
            raise faults.last(_too_deep(_offset(text, token.start())))


def _too_deep(offset: int) -> Fault:
    return Fault(
        place="",
        sentence=f"offset {offset}: expected at most {MAX_DEPTH} levels of nesting, got more",
        wanted=MAX_DEPTH,
        had=MAX_DEPTH + 1,
        hint="no file of Rackwise is nested so deep; is it the right file?",
    )


def _offset(text: str, position: int) -> int:
    """Bytes before a position of the text."""
    return len(text[:position].encode())


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _Suspicious
    return number


def _suspect(_constant: str) -> None:
    raise _Suspicious


def _fast(hook: Hook) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=hook, parse_float=_finite, parse_constant=_suspect)


def _odd_float(text: str) -> float | _Odd:
    number = float(text)
    return number if math.isfinite(number) else _Odd(text, "a finite number")


def _odd_constant(name: str) -> _Odd:
    return _Odd(name, "a finite number")


def _odd_integer(text: str) -> int | _Odd:
    if len(text) <= len("-9223372036854775808"):
        number = int(text)
        if MIN_INTEGER <= number <= MAX_INTEGER:
            return number
    return _Odd(text, "an integer of 64 bits")


_SLOW = json.JSONDecoder(
    object_pairs_hook=_Pairs,
    parse_float=_odd_float,
    parse_constant=_odd_constant,
    parse_int=_odd_integer,
)


def _parse_slowly(text: str, faults: Faults) -> Json:
    try:
        tree = _SLOW.decode(text)
    except json.JSONDecodeError as error:
        raise faults.last(_syntax(text, error)) from None
    except RecursionError:
        raise faults.last(_too_deep(0)) from None
    value = _walked(tree, "$", text, faults)
    faults.raise_if_any()
    return value


def _syntax(text: str, error: json.JSONDecodeError) -> Fault:
    offset = _offset(text, error.pos)
    place = f":{error.lineno}"
    at = f"column {error.colno}, offset {offset}"
    if error.msg == "Extra data":
        return Fault(
            place=place,
            sentence=f"{at}: expected one document, got a second one",
            wanted=1,
            had=2,
            hint="keep one document in the file",
        )
    if not text[error.pos :].strip() or error.msg.startswith("Unterminated string"):
        return Fault(
            place=place,
            sentence=f"{at}: expected a whole JSON document, got the end of the file",
            wanted="a whole document",
            had=f"{len(text.encode())} bytes",
            hint="the file is cut off; write or fetch it again",
        )
    return Fault(
        place=place,
        sentence=f"{at}: expected JSON, got a syntax error: {error.msg[0].lower()}{error.msg[1:]}",
        wanted="JSON",
        had=error.msg,
        hint="fix the file there; strict JSON has no comments, trailing commas or bare words",
    )


def _walked(value: Json, path: str, text: str, faults: Faults) -> Json:
    """The value without marks; each mark is a fault, recorded with its path."""
    if isinstance(value, _Pairs):
        return _walked_object(value, path, text, faults)
    if isinstance(value, list):
        return [_walked(item, f"{path}[{index}]", text, faults) for index, item in enumerate(value)]
    if isinstance(value, _Odd):
        return _odd_number(value, path, text, faults)
    if isinstance(value, str) and _SURROGATE.search(value):
        faults.wrong(path, "text without a lone surrogate", value, hint=_MEND_NAME)
    return value


_MEND_NAME = "a lone surrogate has no UTF-8; write the name as the cluster has it"


def _walked_object(pairs: _Pairs, path: str, text: str, faults: Faults) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, item in pairs:
        if _SURROGATE.search(key):
            faults.wrong(path, "a key without a lone surrogate", key, hint=_MEND_NAME)
        if key in members:
            faults.add(
                Fault(
                    place=path,
                    sentence=f"key {quoted(key)} appears twice",
                    wanted=1,
                    had=2,
                    hint="remove one of the two; Rackwise cannot know which one is meant",
                )
            )
        members[key] = _walked(item, key_path(path, key), text, faults)
    return members


def _odd_number(number: _Odd, path: str, text: str, faults: Faults) -> int:
    is_integer = number.wanted == "an integer of 64 bits"
    at = f"offset {_offset_of_number(text, number.text)}: " if is_integer else ""
    had = number.text if len(number.text) <= 40 else f"{number.text[:40]}..."  # noqa: PLR2004 (a line)
    faults.add(
        Fault(
            place=path,
            sentence=f"{at}expected {number.wanted}, got {had}",
            wanted=number.wanted,
            had=had,
            hint=f"integers run from {MIN_INTEGER} to {MAX_INTEGER}"
            if is_integer
            else "write null where a number is not known",
        )
    )
    return 0


def _offset_of_number(text: str, number: str) -> int:
    position = next(token.start() for token in _TOKEN.finditer(text) if token[0] == number)
    return _offset(text, position)
