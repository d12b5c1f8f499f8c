r"""Properties files by Java's rules: `server.properties`, `meta.properties`.

Goals, in order: the keys and values are those that `java.util.Properties.load(InputStream)` gives;
hostile bytes end in one error, in time linear in their number.

Algorithm. Bytes are ISO-8859-1. Natural lines end at `\n`, `\r` or `\r\n`. The blanks (space, tab,
form feed) before their text are dropped. A natural line that ends with an odd number of backslashes
continues on the next natural line; together they are one logical line. An empty line, and a line
that begins with `#` or `!`, is ignored unless it continues another one. The key of a logical line
ends at the first `=`, `:` or blank without a backslash before it. Blanks after the key, one `=` or
`:`, and the blanks after it belong to neither key nor value.

```
broker.id = 7            ->  broker.id: 7
log.dirs=/a,\            ->  log.dirs: /a,/b
         /b
a\ b\=c:d\u0065 \t       ->  a b=c: "de \t"
! nothing \
version                  ->  version: ""
```

What this does not do: interpret values, or keep comments. Java accepts half of a surrogate pair,
because its text is UTF-16. This module rejects it, because it cannot be written as UTF-8.
Source: java.util.Properties, JDK 17.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidProperties

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MAX_BYTES = 64 * 2**10
"""The largest file that is read."""

_BLANKS = " \t\f"
_LINE_END = re.compile("\r\n|\r|\n")
_LOGICAL = re.compile(
    r"([^\\=: \t\f]*+(?:\\.[^\\=: \t\f]*+)*+)[ \t\f]*+(?:[=:][ \t\f]*+)?+(.*)", re.DOTALL
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNITS = 6
_SPECIAL = re.compile(r"[\\\t\n\r\f=:#!]|[^ -~]")
_WRITTEN = {"\t": r"\t", "\n": r"\n", "\r": r"\r", "\f": r"\f"}


def parse_properties(data: bytes) -> dict[str, str]:
    r"""The keys and values; if a key appears twice, its last value counts.

    Raises `InvalidProperties` for more than 64 KiB, a `\u` without four hex digits, or half of
    a surrogate pair.

    >>> parse_properties(b"broker.id = 7\nlog.dirs=/a,\\\n  /b\n")
    {'broker.id': '7', 'log.dirs': '/a,/b'}
    """
    return dict(property_pairs(data))


def property_pairs(data: bytes) -> list[tuple[str, str]]:
    """All pairs in their order; a key that appears twice has two pairs.

    Raises `InvalidProperties` as `parse_properties` does.
    """
    if len(data) > MAX_BYTES:
        raise InvalidProperties(
            f"expected properties of at most {MAX_BYTES} bytes, got {len(data)}",
            wanted=MAX_BYTES,
            had=len(data),
            hint="check that this is a properties file",
        )
    return [(key, value) for _, key, value in property_entries(data.decode("latin-1"))]


def property_entries(text: str) -> list[tuple[int, str, str]]:
    """Line number, key and value of each pair of a text of any size, in order.

    Raises `InvalidProperties` as `parse_properties` does.
    """
    entries = []
    for number, line in _logical_lines(text):
        key, value = _LOGICAL.findall(line)[0]
        entries.append((number, _unescape(key), _unescape(value)))
    return entries


def format_properties(properties: Mapping[str, str]) -> bytes:
    """An ASCII file that `parse_properties` reads back, one line per key in the given order."""
    lines = [f"{_to_java(key, ' ')}={_to_java(value)}\n" for key, value in properties.items()]
    return "".join(lines).encode("ascii")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """First line number and text of each logical line; escapes are kept."""
    logical = ""
    is_open = False
    first = 1
    for number, line in enumerate(_LINE_END.split(text), start=1):
        natural = line.lstrip(_BLANKS)
        if not logical and (not natural or natural[0] in "#!"):
            continue
        if not logical:
            first = number
        backslashes = len(natural) - len(natural.rstrip("\\"))
        is_open = backslashes % 2 == 1
        logical += natural[:-1] if is_open else natural
        if not is_open:
            yield first, logical
            logical = ""
    if logical or (is_open and text.endswith(("\\", "\\\n", "\\\r"))):
        yield first, logical  # In Java, a single backslash at the end of the file is an empty key.


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_decode_escape, text)
    try:
        return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise InvalidProperties(
            f"expected text without half a surrogate pair, got {plain!a}",
            wanted="whole surrogate pairs",
            had=ascii(plain),
            hint="write both halves of the pair, such as \\ud83d\\ude00",
        ) from None


def _decode_escape(escape: re.Match[str]) -> str:
    code = escape[1]
    if code == "u":
        had = escape.string[escape.start() : escape.start() + _UNITS]
        raise InvalidProperties(
            f"expected four hex digits after \\u, got {had!a}",
            wanted="\\uXXXX",
            had=ascii(had),
            hint="double the backslash if it is meant to be one",
        )
    return chr(int(code[1:], 16)) if code[0] == "u" else _LETTERS.get(code, code)


def _to_java(text: str, blank: str = "") -> str:
    r"""The text escaped as Java writes it.

    `blank`: a space for keys, in which every space is escaped; empty for values, in which only a
    leading space is escaped.
    """
    escaped = _SPECIAL.sub(_escape_character, text)
    if blank:
        return escaped.replace(" ", r"\ ")
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _escape_character(special: re.Match[str]) -> str:
    character = special[0]
    if character in _WRITTEN:
        return _WRITTEN[character]
    if " " <= character <= "~":
        return f"\\{character}"
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))
