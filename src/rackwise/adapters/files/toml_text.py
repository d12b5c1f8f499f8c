"""Reads the text of a TOML file, and finds the line of each key, for errors.

The TOML parser of the standard library returns values without lines. So after an error, and only
then, the text is read again by tokens to find the line of every key and item:

```
3  [[topics]]                       ("topics", 0)                    3
4  match = ["*"]                    ("topics", 0, "match")           4
5  spread = { zone = "evn" }        ("topics", 0, "spread", "zone")  5
```

This second pass requires valid TOML, which the parser has checked.

The parser needs time quadratic in the parts of a key, such as `a.a.a`. A key of more than 128 parts
is therefore rejected before: parts with a point between them, by tokens. No file of ours needs one.

What this does not do: know what the keys mean (see `core.policy`, `core.fleet_file`).
Source: TOML 1.0.
"""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any

from rackwise.core.json.toml_faults import json_path
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.errors import InputError
    from rackwise.core.json.toml_faults import KeyPath

_TOKEN = re.compile(
    r'"""(?:\\.|[^"\\]|"(?!""))*+(?:"{3,5})?'  # also a text without an end, or time is quadratic
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5})?"
    r'|"(?:\\.|[^"\\])*+"?'
    r"|'[^']*+'?"
    r"|\#[^\n]*"
    r"|[A-Za-z0-9_+:-]+"
    r"|[\[\]{}=,.\n]",
    re.DOTALL,
)
_PARSER_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_MAX_INTEGER = 2**63
_MAX_PARTS = 128


def parse_toml(data: bytes, *, where: str, error: type[InputError]) -> tuple[str, dict[str, Any]]:
    """The text and the table of a TOML file. Raises `error`, whose `where` is `file:line`."""
    text = _decoded(data, where, error)
    return text, _table(text, where, error)


def toml_place(text: str, name: str, path: str) -> str:
    """The file and the line of a JSON path, `policy.toml:14`; the file for an unknown path."""
    lines = {json_path(keys): line for keys, line in lines_of(text).items()}
    return f"{name}:{lines[path]}" if path in lines else name


def _decoded(data: bytes, where: str, error: type[InputError]) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as cause:
        line = data.count(b"\n", 0, cause.start) + 1
        raise error(
            f"invalid {escaped(where)}:{line}: expected UTF-8, got byte 0x{data[cause.start]:02x}",
            wanted="UTF-8",
            had=f"0x{data[cause.start]:02x}",
            hint="save the file as UTF-8",
            where=f"{where}:{line}",
        ) from None


def _table(text: str, where: str, error: type[InputError]) -> dict[str, Any]:
    try:
        _check_keys(text)
        table = tomllib.loads(text)
        _check_integers(table)
    except (ValueError, RecursionError) as cause:
        said = "nested too deep" if isinstance(cause, RecursionError) else str(cause)
        found = _PARSER_PLACE.search(said)
        line = found[1] if found and found[1] else None
        if found:
            said = said[: found.start()]
            line = line or str(text.rstrip("\n").count("\n") + 1)
        place = f"{where}:{line}" if line else where
        raise error(
            f"invalid {escaped(place)}: expected TOML, got a syntax error: {escaped(said)}",
            wanted="TOML",
            had=said,
            hint="fix the file there; put texts in quotes and table names in brackets",
            where=place,
        ) from None
    return table


def _check_keys(text: str) -> None:
    """Raises `ValueError` for a key of too many parts, in a text that may not be TOML."""
    points, is_after_point = 0, False
    for token in _TOKEN.finditer(text):
        if token[0] == ".":
            points, is_after_point = points + 1, True
        elif is_after_point:
            is_after_point = False
        else:
            points = 0
        if points >= _MAX_PARTS:
            line = text.count("\n", 0, token.start()) + 1
            raise ValueError(
                f"expected keys of at most {_MAX_PARTS} parts (at line {line}, column 1)"
            )


def _check_integers(value: object) -> None:
    if isinstance(value, dict):
        for item in value.values():
            _check_integers(item)
    elif isinstance(value, list):
        for item in value:
            _check_integers(item)
    elif isinstance(value, int) and not -_MAX_INTEGER <= value < _MAX_INTEGER:
        raise ValueError("expected an integer of 64 bits")


def lines_of(text: str) -> dict[KeyPath, int]:
    r"""The line, from 1, of each key, table and item of a TOML text.

    >>> lines_of("a = 1\n[[b]]\nc = [1,\n 2]")[("b", 0, "c", 1)]
    4
    """
    return _Walk(text).lines


class _Walk:
    """One pass over the tokens; recursion follows the nesting of inline values."""

    def __init__(self, text: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._sizes: dict[KeyPath, int] = {}
        self._tokens = _tokens(text)
        self._token = ("\n", 1)
        self._next()
        table: KeyPath = ()
        while self._token[0]:
            if self._token[0] == "\n":
                self._next()
            elif self._token[0] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _next(self) -> str:
        """Go to the next token; give the one left."""
        left = self._token[0]
        self._token = next(self._tokens, ("", self._token[1]))
        return left

    def _keys(self) -> Iterator[str]:
        while self._token[0] not in {"=", "]", ""}:
            if (text := self._next()) != ".":
                yield _key(text)

    def _header(self) -> KeyPath:
        line = self._token[1]
        self._next()
        is_item = self._token[0] == "["
        if is_item:
            self._next()
        path: KeyPath = ()
        for key in self._keys():
            path = (*self._entered(path), key)
        while self._token[0] == "]":
            self._next()
        if is_item:
            self._sizes[path] = self._sizes.get(path, 0) + 1
            self.lines.setdefault(path, line)
        path = self._entered(path)
        self.lines[path] = line
        return path

    def _entered(self, path: KeyPath) -> KeyPath:
        """The path, into the last item where it is an array of tables."""
        return (*path, self._sizes[path] - 1) if path in self._sizes else path

    def _pair(self, path: KeyPath) -> None:
        line = self._token[1]
        for key in self._keys():
            path = (*path, key)
            self.lines.setdefault(path, line)
        self._next()
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        if self._token[0] == "[":
            self._list(path)
        elif self._token[0] == "{":
            self._next()
            while self._token[0] not in {"}", ""}:
                if self._token[0] in {",", "\n"}:
                    self._next()
                else:
                    self._pair(path)
            self._next()
        else:
            while self._token[0] not in {",", "]", "}", "\n", ""}:
                self._next()

    def _list(self, path: KeyPath) -> None:
        self._next()
        index = 0
        while self._token[0] not in {"]", ""}:
            if self._token[0] in {",", "\n"}:
                self._next()
                continue
            self.lines[(*path, index)] = self._token[1]
            self._value((*path, index))
            index += 1
        self._next()


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Tokens that are no comments, with their lines."""
    line, seen = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        if not match[0].startswith("#"):
            yield match[0], line


def _key(text: str) -> str:
    """The key that a text spells, bare or quoted."""
    if text[0] in "\"'":
        return str(next(iter(tomllib.loads(f"{text} = 0"))))
    return text
