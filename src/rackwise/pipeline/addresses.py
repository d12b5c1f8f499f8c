"""IP addresses as integers, by column expressions: one long to join on, one to look subnets up by.

Goals, in order: a text is an address exactly when Python's `ipaddress` says so; every join is one
of integers; no Python per row; few expressions, for Spark's planner looks at each of them often.

The end of an IPv4 text, which is all of it, is split at its dots into numbers. It is an address
when the numbers, each of 0..255, written with dots between give the text again: leading zeros,
signs, blanks and further parts fall out.

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
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

OCTETS = 4
GROUPS = 8
PORT_BITS = 16

_GROUP = "[0-9A-Fa-f]{1,4}"
_V6 = f"^({_GROUP}(:{_GROUP}){{7}}|({_GROUP}(:{_GROUP})*)?::({_GROUP}(:{_GROUP})*)?)$"
_HALF_DIGITS = 16


def with_addresses(df: DataFrame, texts: Mapping[str, Column]) -> DataFrame:
    """Adds for each name of `texts` the columns `<name>_ip` and `<name>_prefix`, both bigint.

    `_ip`: 0..2^32-1 for IPv4, negative for IPv6, null for a text that is no address. `_prefix`: the
    upper 64 bits of an IPv6 address, as a signed long; null for all else.
    """
    kept = df.columns
    steps = (_texts, _parts, _numbers)
    made = df.select("*", *(text.alias(f"{name}_text") for name, text in texts.items()))
    for step in steps:
        made = made.select(*kept, *(column for name in texts for column in step(name)))
    return made


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


def _texts(name: str) -> list[Column]:
    """The end as IPv4 would have it, and the whole as IPv6 with two zero groups for such an end."""
    text = F.col(f"{name}_text")
    end = F.substring_index(text, ":", -1)
    head = F.substring(text, F.lit(1), F.length(text) - F.length(end))
    six = F.when(text.contains("."), F.concat(head, F.lit("0:0"))).otherwise(text)
    return [
        end.alias(f"{name}_end"),
        F.split(end, "\\.", -1).alias(f"{name}_octets"),
        F.when(text.contains(":"), six).alias(f"{name}_six"),
    ]


def _parts(name: str) -> list[Column]:
    """Octets as numbers, the long of IPv4 if they make one, and IPv6 as 32 hexadecimal digits."""
    octets, six = F.col(f"{name}_octets"), F.col(f"{name}_six")
    written = F.regexp_count(six, F.lit("[0-9A-Fa-f]+"))
    zeros = F.concat(F.lit(":"), F.repeat(F.lit("0:"), GROUPS - written))
    whole = F.btrim(F.replace(six, F.lit("::"), zeros), F.lit(":"))
    padded = F.regexp_replace(whole, "(^|:)", "$1000")
    is_six = six.rlike(_V6) & ((written < GROUPS) | ~six.contains("::"))
    return [
        *(F.get(octets, F.lit(i)).try_cast("int").alias(f"{name}_{i}") for i in range(OCTETS)),
        F.col(f"{name}_end"),
        six.isNull().alias(f"{name}_is_plain"),
        (F.size(octets) > 1).alias(f"{name}_has_dots"),
        F.when(is_six, F.regexp_replace(padded, "[0-9A-Fa-f]*([0-9A-Fa-f]{4})(:|$)", "$1")).alias(
            f"{name}_hex"
        ),
    ]


def _numbers(name: str) -> list[Column]:
    octets = [F.col(f"{name}_{i}") for i in range(OCTETS)]
    is_byte = (F.least(*octets) >= 0) & (F.greatest(*octets) < 2**8)
    is_same = F.concat_ws(".", *octets) == F.col(f"{name}_end")
    is_four = octets[-1].isNotNull() & is_byte & is_same
    four = octets[0].cast("long")
    for octet in octets[1:]:
        four = four * 2**8 + octet
    digits, has_dots = F.col(f"{name}_hex"), F.col(f"{name}_has_dots")
    high, low = (_half(digits, first) for first in (1, 1 + _HALF_DIGITS))
    low = F.when(has_dots, low.bitwiseOR(four)).otherwise(low)
    is_six = digits.isNotNull() & (~has_dots | is_four)
    return [
        F.when(is_six, _digest(high, low))
        .when(F.col(f"{name}_is_plain") & is_four, four)
        .alias(f"{name}_ip"),
        F.when(is_six, high).alias(f"{name}_prefix"),
    ]


def _half(digits: Column, first: int) -> Column:
    """64 bits out of hexadecimal digits, as a signed long."""
    return F.conv(F.substring(digits, first, _HALF_DIGITS), 16, -10).cast("long")
