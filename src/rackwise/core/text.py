"""Text for people: names made safe to show, as all are hostile until escaped, and plurals."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LATIN_1_END = 0x100
_BMP_END = 0x10000


def escaped(text: str) -> str:
    r"""The text with all that is not printable (C0, C1, ESC, bidi, separators) as `\xNN`, `\uNNNN`.

    >>> escaped("a\x1b[31mb\u202ec")
    'a\\x1b[31mb\\u202ec'
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else _code(ord(character)) for character in text
    )


def counted(number: int, noun: str) -> str:
    """A number with its noun, which takes an s in the plural.

    >>> counted(1, "rack"), counted(2, "rack")
    ('1 rack', '2 racks')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def alternatives(words: Sequence[str]) -> str:
    """Words as a choice.

    >>> alternatives(["vpc"]), alternatives(["auto", "egress", "broker"])
    ('vpc', 'auto, egress or broker')
    """
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def are(number: int) -> str:
    """The verb that goes with a number.

    >>> are(1), are(2)
    ('is', 'are')
    """
    return "is" if number == 1 else "are"


def _code(point: int) -> str:
    if point < _LATIN_1_END:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < _BMP_END else f"\\U{point:08x}"
