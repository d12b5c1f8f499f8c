"""Text for people: escaped names, plurals, shortened lists.

Names of topics, groups, racks and hosts come from outside; escape them before they are shown.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SHOWN_NAMES = 3
"""How many names `names_text` lists by default before it counts the rest."""
MOST_WORD = 300
"""Characters of a word in an error; a topic has 249, a path is rarely longer."""
SURROGATE = re.compile(r"[\ud800-\udfff]")
"""A lone surrogate: what Python has for a byte that is not UTF-8. No UTF-8 file can hold one."""
MOST_LINE = 4_000
"""Characters of a line of such text; a name from outside may have spaces in it."""
_LONG_WORD = re.compile(rf"[^\s,/]{{{MOST_WORD + 1},}}")
_WORD_END = 20
"""Characters that are kept at either end of a word."""
_LATIN_1_END = 0x100
"""Code points below it are written as `\\xNN`."""
_BMP_END = 0x10000
"""Code points below it are written as `\\uNNNN`, others as `\\UNNNNNNNN`."""


def escaped(text: str) -> str:
    r"""The text with every character that is not printable written as `\xNN` or `\uNNNN`.

    That is C0, C1, ESC, bidirectional marks and separators.

    >>> escaped("a\x1b[31mb\u202ec")
    'a\\x1b[31mb\\u202ec'
    """
    return _replaced(text, _code)


def escaped_json(text: str) -> str:
    r"""One line of JSON with every character that is not printable as `\uNNNN`; its value is equal.

    JSON itself escapes C0 only. A terminal also obeys C1 and bidirectional marks, and some tools
    take U+2028 for the end of a line. In a line of JSON such characters are in strings only.

    >>> escaped_json('{"topic": "a\u202eb\U000e0001é"}')
    '{"topic": "a\\u202eb\\udb40\\udc01é"}'
    """
    return _replaced(text, _units)


def escaped_name(text: str) -> str:
    r"""The escaped text of a name, with the middle left out beyond 300 characters.

    >>> escaped_name("a\x1b"), len(escaped_name("\x1b" * 30_000))
    ('a\\x1b', 64)
    """
    shown = escaped(text)
    return shown if len(shown) <= MOST_WORD else _shortened(shown, _WORD_END)


def counted(number: int, noun: str) -> str:
    """A number with its noun, which takes an s in the plural.

    >>> counted(1, "rack"), counted(2, "rack")
    ('1 rack', '2 racks')
    """
    return f"{number} {plural(number, noun)}"


def plural(number: int | None, noun: str, many: str | None = None) -> str:
    """A noun in the form that goes with a number; `many`: the plural where it is not noun + s.

    >>> plural(1, "rack"), plural(2, "rack"), plural(2, "axis", "axes")
    ('rack', 'racks', 'axes')
    """
    return noun if number == 1 else many or f"{noun}s"


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


def names_text(names: Sequence[object], *, most: int = SHOWN_NAMES, of: int | None = None) -> str:
    r"""The first names or ids, escaped, and how many more there are.

    `most`: how many are listed; `of`: how many there are, if `names` holds only the first ones.

    >>> names_text(["a", "b\u202e"]), names_text(["a", "b", "c", "d", "e"])
    ('a, b\\u202e', 'a, b, c and 2 more')
    >>> names_text(range(9), most=6), names_text(["a", "b", "c"], of=5)
    ('0, 1, 2, 3, 4, 5 and 3 more', 'a, b, c and 2 more')
    """
    more = (len(names) if of is None else of) - most
    shown = ", ".join(escaped(str(name)) for name in names[:most])
    return f"{shown} and {more} more" if more > 0 else shown


def with_short_words(text: str, most_line: int = MOST_LINE) -> str:
    """Shortens each word of more than 300 characters, and each line of more than `most_line`.

    Commas and slashes end a word, so that a path or a list of addresses that people paste stays
    whole, unless its line is too long.

    >>> with_short_words("invalid GOAL: got " + "x" * 5000 + ", hint")
    'invalid GOAL: got xxxxxxxxxxxxxxxxxxxx..(4,960 characters)..xxxxxxxxxxxxxxxxxxxx, hint'
    """
    if max(map(len, text.split("\n"))) <= MOST_WORD:
        return text
    lines = _LONG_WORD.sub(lambda word: _shortened(word[0], _WORD_END), text).split("\n")
    return "\n".join(
        line if len(line) <= most_line else _shortened(line, most_line // 3) for line in lines
    )


def _shortened(text: str, end: int) -> str:
    return f"{text[:end]}..({len(text) - 2 * end:,} characters)..{text[-end:]}"


def _replaced(text: str, code: Callable[[str], str]) -> str:
    """The text with each character that is not printable replaced by its code."""
    if text.isprintable():
        return text
    # One code for each different character: a name from outside may have thousands of one.
    codes = {ord(each): code(each) for each in set(text) if not each.isprintable()}
    return text.translate(codes)


def _units(character: str) -> str:
    data = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[at : at + 2].hex()}" for at in range(0, len(data), 2))


def _code(character: str) -> str:
    point = ord(character)
    if point < _LATIN_1_END:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < _BMP_END else f"\\U{point:08x}"
