"""IP addresses as integers, by column expressions: one long to join on, one to look subnets up by.

Goals, in order: a text is an address exactly when Python's `ipaddress` says so; every join is one
of integers; no Python per row; little generated code. Spark makes one Java method of a step, and
Java leaves methods of more than 8,000 bytes uncompiled, some ten times slower: what only IPv6 needs
is therefore evaluated as it stands, not generated.

An IPv4 text is cut at its dots into numbers. It is an address when the numbers, each of 0..255,
written with dots between give the text again: leading zeros, signs, blanks and further parts fall
out.

```
10.0.0.1     10 0 0 1 -> "10.0.0.1"   the same      167772161
010.0.0.1    10 0 0 1 -> "10.0.0.1"   another       no address
```

In an IPv6 text `::` becomes as many zero groups as are missing, and each group is brought to four
hexadecimal digits. Its end may be written as IPv4; that is read as above and stands for two groups.

```
2001:db8::7       2001:db8:0:0:0:0:0:7    2001 0db8 0000 0000   0000 0000 0000 0007
::ffff:1.2.3.4    ::ffff:0:0              0000 0000 0000 0000   0000 ffff 0000 0000 | 1.2.3.4
```

The upper 64 bits are looked up in subnets. The long of an IPv6 address is a digest of all 128 bits
with the sign set, so that it never equals an IPv4 number; two of a million distinct addresses share
a digest once in ten million runs.

What this does not do: zone indices (`fe80::1%eth0`); networks, see `racks`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import Column, DataFrame

GROUPS = 8
PORT_BITS = 16

_GROUP = "[0-9A-Fa-f]{1,4}"
_V6 = rf"^({_GROUP}(:{_GROUP}){{7}}|({_GROUP}(:{_GROUP})*)?::({_GROUP}(:{_GROUP})*)?)\z"
_HALF_DIGITS = 16


def with_addresses(df: DataFrame, texts: Mapping[str, Column]) -> DataFrame:
    """Adds for each name of `texts` the columns `<name>_ip` and `<name>_prefix`, both bigint.

    `_ip`: 0..2^32-1 for IPv4, negative for IPv6, null for a text that is no address. `_prefix`: the
    upper 64 bits of an IPv6 address, as a signed long; null for all else.
    """
    kept = df.columns
    named = df.select("*", *(c for name, text in texts.items() for c in _families(name, text)))
    read = named.select(
        *kept,
        *(_four(F.col(f"_{name}_v4")).alias(f"_{name}_v4") for name in texts),
        *(_six(F.col(f"_{name}_v6")).alias(f"_{name}_v6") for name in texts),
    )
    return read.select(*kept, *(column for name in texts for column in _parts(name)))


def keyed(ip: Column, small: Column, bits: int) -> Column:
    """One long of an address and a number of at most `bits` bits (up to 31), to join on.

    Of IPv4 the two lie side by side; of IPv6 it is a digest of both with the sign set.
    """
    beside = F.shiftleft(ip, bits).bitwiseOR(small.cast("long"))
    return F.when(ip >= 0, beside).otherwise(_digest(ip, small.cast("long")))


def never_null(key: Column) -> Column:
    """A key for the looked-up side of a left join; -1 where there is none.

    Of a key that can be null Spark drops the nulls first, by a filter that it pushes through all
    the expressions above and so writes each of them out many times.
    """
    return F.coalesce(key, F.lit(-1).cast("long"))


def _digest(*numbers: Column) -> Column:
    return F.xxhash64(*numbers).bitwiseOR(F.shiftleft(F.lit(1).cast("long"), 63))


def _families(name: str, text: Column) -> list[Column]:
    """A text that is an address of one family is none of the other.

    Apart, because a cast that fails costs as much as a hundred that do not.
    """
    is_six = text.contains(":")
    return [
        F.when(~is_six, text).alias(f"_{name}_v4"),
        F.when(is_six, text).alias(f"_{name}_v6"),
    ]


def _parts(name: str) -> list[Column]:
    four, six = F.col(f"_{name}_v4"), F.col(f"_{name}_v6")
    return [
        F.coalesce(four, six.getField("ip")).alias(f"{name}_ip"),
        six.getField("prefix").alias(f"{name}_prefix"),
    ]


def _four(text: Column) -> Column:
    """The number of an IPv4 address; null for other texts."""
    halves = [F.substring_index(text, ".", count) for count in (2, -2)]
    octets = [
        F.substring_index(half, ".", count).try_cast("int") for half in halves for count in (1, -1)
    ]
    is_same = F.concat_ws(".", *octets) == text
    number = octets[0].cast("long")
    for octet in octets[1:]:
        number = number * 2**8 + octet
    return F.when(is_same & (F.least(*octets) >= 0) & (F.greatest(*octets) < 2**8), number)


def _six(text: Column) -> Column:
    """The struct of an IPv6 address, whose end may be written as IPv4; null for other texts."""
    end = F.substring_index(text, ":", -1)
    head = F.substring(text, F.lit(1), F.length(text) - F.length(end))
    plain = F.struct(text.alias("groups"), F.lit(0).cast("long").alias("four"))
    mixed = F.struct(F.concat(head, F.lit("0:0")).alias("groups"), _four(end).alias("four"))
    parts = F.when(text.contains("."), mixed).otherwise(plain)
    read = _let(parts, lambda part: _let(_digits(part), lambda digits: _numbers(digits, part)))
    return F.when(text.isNotNull(), read)


def _digits(part: Column) -> Column:
    """Groups as 32 hexadecimal digits; null where they are no IPv6 address."""
    groups = part.getField("groups")
    written = F.regexp_count(groups, F.lit("[0-9A-Fa-f]+"))
    zeros = F.concat(F.lit(":"), F.repeat(F.lit("0:"), GROUPS - written))
    whole = F.btrim(F.replace(groups, F.lit("::"), zeros), F.lit(":"))
    padded = F.regexp_replace(whole, "(^|:)", "$1000")
    is_six = groups.rlike(_V6) & ((written < GROUPS) | ~groups.contains("::"))
    is_six &= part.getField("four").isNotNull()
    return F.when(is_six, F.regexp_replace(padded, "[0-9A-Fa-f]*([0-9A-Fa-f]{4})(:|$)", "$1"))


def _numbers(digits: Column, part: Column) -> Column:
    high, low = (_half(digits, first) for first in (1, 1 + _HALF_DIGITS))
    ip = _digest(high, low.bitwiseOR(part.getField("four")))
    return F.when(digits.isNotNull(), F.struct(ip.alias("ip"), high.alias("prefix")))


def _half(digits: Column, first: int) -> Column:
    """64 bits out of hexadecimal digits, as a signed long."""
    return F.conv(F.substring(digits, first, _HALF_DIGITS), 16, -10).cast("long")


def _let(value: Column, body: Callable[[Column], Column]) -> Column:
    """`body` of a value that is computed once, however often `body` names it."""
    return F.get(F.transform(F.array(value), body), F.lit(0))
