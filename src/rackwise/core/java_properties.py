r"""Properties files by Java's rules: `server.properties`, `meta.properties`.

Goals, in order: the keys and values are those that `java.util.Properties.load(InputStream)` gives;
hostile bytes end in one error, in time linear in their number.

Algorithm. Bytes are ISO-8859-1. Natural lines end at `\n`, `\r` or `\r\n` and lose the blanks
(space, tab, form feed) before their text. Where no logical line is open, an empty one and one that
begins with `#` or `!` are nothing. An odd number of backslashes at its end leaves the logical line
open for the next one. A logical line is cut at the first `=`, `:` or blank that no backslash
stands before; blanks and one separator after it belong to neither side.

```
broker.id = 7            ->  broker.id: 7
log.dirs=/a,\            ->  log.dirs: /a,/b
         /b
a\ b\=c:d\u0065 \t       ->  a b=c: "de \t"
! nothing \
version                  ->  version: ""
```

What this does not do: look into values; keep comments or order when it writes. Where Java's text is
UTF-16 and may hold half a pair, this one refuses: half a pair has no UTF-8.
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
    r"""Keys and values; of a key that appears twice the last value.

    Raises `InvalidProperties` over 64 KiB, for a `\u` without four hex digits, for half a
    surrogate pair.

    >>> parse_properties(b"broker.id = 7\nlog.dirs=/a,\\\n  /b\n")
    {'broker.id': '7', 'log.dirs': '/a,/b'}
    """
    return dict(property_pairs(data))


def property_pairs(data: bytes) -> list[tuple[str, str]]:
    """`parse_properties` with every pair in its order, also those of a key that appears twice."""
    if len(data) > MAX_BYTES:
        raise InvalidProperties(
            f"expected properties of at most {MAX_BYTES} bytes, got {len(data)}",
            wanted=MAX_BYTES,
            had=len(data),
            hint="is it a properties file?",
        )
    return [(key, value) for _, key, value in property_entries(data.decode("latin-1"))]


def property_entries(text: str) -> list[tuple[int, str, str]]:
    """Line number, key and value of each pair of a text, in its order; the text may be of any size.

    Raises `InvalidProperties` as `parse_properties` does.
    """
    entries = []
    for number, line in _logical_lines(text):
        key, value = _LOGICAL.findall(line)[0]
        entries.append((number, _unescaped(key), _unescaped(value)))
    return entries


def format_properties(properties: Mapping[str, str]) -> bytes:
    """A file that `parse_properties` reads back: one line a key, in the mapping's order, ASCII."""
    lines = [f"{_written(key, ' ')}={_written(value)}\n" for key, value in properties.items()]
    return "".join(lines).encode("ascii")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """First line number and text of each line after continuation, with its inner backslashes."""
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
        yield first, logical  # Java takes a backslash alone before the end for a line: an empty key


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_character, text)
    try:
        return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise InvalidProperties(
            f"expected text without half a surrogate pair, got {plain!a}",
            wanted="whole surrogate pairs",
            had=ascii(plain),
            hint="mend the escape",
        ) from None


def _character(escape: re.Match[str]) -> str:
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


def _written(text: str, blank: str = "") -> str:
    r"""Escaped as Java writes it; in a key (`blank` is a blank) every blank, else a leading one."""
    escaped = _SPECIAL.sub(_escape, text)
    if blank:
        return escaped.replace(" ", r"\ ")
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _escape(special: re.Match[str]) -> str:
    character = special[0]
    if character in _WRITTEN:
        return _WRITTEN[character]
    if " " <= character <= "~":
        return f"\\{character}"
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[i]:02X}{units[i + 1]:02X}" for i in range(0, len(units), 2))
