"""Formats numbers and names for people: binary bytes, dollars and cents, shares, shortened names.

No function here raises an error for `None`: it is an unknown number and is shown as `not known`.
These functions return only the short form; the caller shows the exact value beside it.
"""

from __future__ import annotations

import unicodedata
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from rackwise.core.text import escaped, plural

if TYPE_CHECKING:
    from collections.abc import Iterable

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
NOT_KNOWN = "not known"
NOT_THERE = "-"
ELLIPSIS = ".."
_STEP = 1024
_CENT = Decimal("0.01")
_PER_CENT = Decimal("0.1")
_DURATIONS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def count_text(count: int | None) -> str:
    """`12345` -> `12,345`.

    >>> count_text(12345)
    '12,345'
    """
    return NOT_KNOWN if count is None else f"{count:,}"


def count_of(count: int | None, noun: str, many: str | None = None) -> str:
    """A count with separators, and its noun in the singular or the plural.

    >>> count_of(1, "partition"), count_of(1200, "partition")
    ('1 partition', '1,200 partitions')
    """
    return f"{count_text(count)} {plural(count, noun, many)}"


def byte_unit(largest: int) -> tuple[str, int]:
    """The unit that keeps `largest` bytes below 1024 after rounding, and its size in bytes.

    >>> byte_unit(3 * 2**30)
    ('GiB', 1073741824)
    """
    power = 0
    while power < len(UNITS) - 1 and _rounded(largest, power) >= _STEP:
        power += 1
    return UNITS[power], _STEP**power


def bytes_text(count: int | None) -> str:
    """A byte count in a binary unit, with about three digits.

    >>> bytes_text(0), bytes_text(1), bytes_text(1536), bytes_text(2**40 - 1)
    ('0 bytes', '1 byte', '1.50 KiB', '1.00 TiB')
    """
    if count is None:
        return NOT_KNOWN
    unit, size = byte_unit(abs(count))
    if size == 1:
        return f"{count_text(count)} {plural(abs(count), 'byte')}"
    return f"{_rounded(count, UNITS.index(unit)):,} {unit}"


def sizes_text(known: int, unknown: int, noun: str = "partition") -> str:
    """A sum of bytes, and how many sizes are not known and not in it. `noun`: what has a size.

    >>> sizes_text(0, 0), sizes_text(13314398618, 3)
    ('0 bytes', '12.4 GiB and 3 partitions of unknown size')
    >>> sizes_text(0, 1, "move")
    'not known (1 move of unknown size)'
    """
    if not unknown:
        return bytes_text(known)
    without = f"{count_of(unknown, noun)} of unknown size"
    return f"{bytes_text(known)} and {without}" if known else f"{NOT_KNOWN} ({without})"


def _rounded(count: int, power: int) -> Decimal:
    value = Decimal(count) / Decimal(_STEP**power)
    whole_digits = len(str(int(abs(value))))
    places = max(0, 3 - whole_digits) if power else 0
    return value.quantize(Decimal(10) ** -places, rounding=ROUND_HALF_UP)


def usd_text(usd: str | Decimal | None) -> str:
    """Dollars to the cent; an amount that is not zero but rounds to zero cents becomes `<$0.01`.

    >>> usd_text("1234.565000000"), usd_text("0.000000001"), usd_text("0.000000000")
    ('$1,234.57', '<$0.01', '$0.00')
    >>> usd_text("-0.02"), usd_text("-0.001")
    ('-$0.02', '-<$0.01')
    """
    if usd is None:
        return NOT_KNOWN
    exact = Decimal(usd)
    cents = exact.quantize(_CENT, rounding=ROUND_HALF_UP)
    if not cents and exact:
        return "<$0.01" if exact > 0 else "-<$0.01"
    return f"-${-cents:,}" if cents < 0 else f"${cents:,}"


def change_text(usd: str | Decimal | None) -> str:
    """A change in dollars to the cent, with its sign.

    >>> change_text("1234.565"), change_text("-0.02"), change_text("0.000000000")
    ('+$1,234.57', '-$0.02', '$0.00')
    >>> change_text("-0.000000001"), change_text(None)
    ('-<$0.01', 'not known')
    """
    if usd is None:
        return NOT_KNOWN
    exact = Decimal(usd)
    return ("+" if exact > 0 else "") + usd_text(exact)


def bytes_change_text(count: int | None) -> str:
    """A change in bytes in a binary unit, with its sign.

    >>> bytes_change_text(2048), bytes_change_text(-3), bytes_change_text(0)
    ('+2.00 KiB', '-3 bytes', '0 bytes')
    """
    return ("+" if count is not None and count > 0 else "") + bytes_text(count)


def share_text(share: str | float | Decimal | None) -> str:
    """A share of 1 in per cent with one decimal; never rounded to 0 % or to 100 %.

    >>> share_text("0.381"), share_text(0.00001), share_text(0.99999), share_text(1)
    ('38.1 %', '<0.1 %', '>99.9 %', '100 %')
    """
    if share is None:
        return NOT_KNOWN
    exact = Decimal(str(share)) * 100
    if exact in {0, 100}:
        return f"{int(exact)} %"
    if 0 < exact < _PER_CENT:
        return "<0.1 %"
    if 100 - _PER_CENT < exact < 100:  # noqa: PLR2004 (per cent)
        return ">99.9 %"
    return f"{exact.quantize(_PER_CENT, rounding=ROUND_HALF_UP):,} %"


def share_of(part: int | None, whole: int | None) -> Decimal | None:
    """The share of `part` in `whole`; None if either is unknown or `whole` is zero."""
    return None if part is None or not whole else Decimal(part) / whole


def duration_text(seconds: int) -> str:
    """A duration in days, hours, minutes or seconds: the largest unit that it has one of.

    >>> duration_text(86400), duration_text(604800), duration_text(5400), duration_text(129600)
    ('1 day', '7 days', '1.5 hours', '1.5 days')
    >>> duration_text(1800), duration_text(1)
    ('30 minutes', '1 second')
    """
    size, noun = next((unit for unit in _DURATIONS if seconds >= unit[0]), _DURATIONS[-1])
    amount = (Decimal(seconds) / size).quantize(_CENT, rounding=ROUND_HALF_UP).normalize()
    return f"{amount:,f} {noun if amount == 1 else noun + 's'}"


def columns(text: str) -> int:
    """The width of the text in terminal columns: a wide character takes two, a mark takes none."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def cut(text: str, width: int) -> str:
    """The text in at most `width` columns; a longer text keeps its start and its end.

    >>> cut("payments.settled.v1", 12)
    'payme..ed.v1'
    """
    if columns(text) <= width:
        return text
    room = width - len(ELLIPSIS)
    tail = _taken(reversed(text), room // 2)
    head = _taken(text, room - columns(tail))
    return f"{head}{ELLIPSIS}{tail[::-1]}"


def _taken(characters: Iterable[str], width: int) -> str:
    taken: list[str] = []
    used = 0
    for character in characters:
        used += _columns(character)
        if used > width:
            break
        taken.append(character)
    return "".join(taken)


def name_text(name: str | None) -> str:
    """A name from a cluster or a file, safe to show; an absent or empty name is marked as such."""
    if name is None:
        return NOT_THERE
    return escaped(name) or "(empty)"
