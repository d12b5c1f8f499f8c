"""IP addresses as integers, by column expressions: one long to join on, one to look subnets up by.

Goals, in order: a text is an address exactly when Python's `ipaddress` says so; every join is one
of integers; no Python per row; few expressions, for Spark's planner looks at each of them many
times.

The end of an IPv4 text, which is all of it, is split at its dots. Its octets become numbers, and
the whole counts when the digits that they would be written with are as many as the text has:
leading zeros, signs and blanks fall out.

```
10.0.0.1     octets 10 0 0 1 -> 167772161, digits 2+1+1+1, dots 3 -> 8 = length     an address
010.0.0.1    octets 10 0 0 1,              digits 2+1+1+1, dots 3 -> 8 < 9          none
```

In an IPv6 text `::` becomes as many zero groups as are missing, and the groups are put together in
hexadecimal. Its end may be written as IPv4; that is read as above and stands for two groups.

```
2001:db8::7       2001:db8:0:0:0:0:0:7      upper 64 bits 2001 0db8 0000 0000
::ffff:1.2.3.4    0::ffff:0:0, and 1.2.3.4
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
HALF = 4
PORT_BITS = 16

_GROUP = "[0-9A-Fa-f]{1,4}"
_V6 = f"^({_GROUP}(:{_GROUP}){{7}}|({_GROUP}(:{_GROUP})*)?::({_GROUP}(:{_GROUP})*)?)$"
_DOT, _COLON, _GAP = "\\.", ":", "::"


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
    end = F.substring_index(text, _COLON, -1)
    head = F.substring(text, F.lit(1), F.length(text) - F.length(end))
    six = F.when(text.contains("."), F.concat(head, F.lit("0:0"))).otherwise(text)
    return [
        F.split(end, _DOT, -1).alias(f"{name}_octets"),
        F.length(end).alias(f"{name}_length"),
        F.when(text.contains(_COLON), six).alias(f"{name}_six"),
    ]


def _parts(name: str) -> list[Column]:
    """Octets as numbers, the groups of IPv6, and how many of them `::` may stand beside."""
    octets, six = F.col(f"{name}_octets"), F.col(f"{name}_six")
    begins, ends = six.startswith(_GAP), six.endswith(_GAP)
    edged = F.concat(F.when(begins, "0").otherwise(""), six, F.when(ends, "0").otherwise(""))
    colons = F.length(edged) - F.length(F.replace(edged, F.lit(_COLON), F.lit("")))
    zeros = F.concat(F.lit(_COLON), F.repeat(F.lit("0:"), GROUPS - colons))
    written = colons - begins.cast("int") - ends.cast("int")
    return [
        *(F.get(octets, F.lit(i)).try_cast("int").alias(f"{name}_{i}") for i in range(OCTETS)),
        F.size(octets).alias(f"{name}_count"),
        F.col(f"{name}_length"),
        six.isNull().alias(f"{name}_is_plain"),
        F.when(
            six.rlike(_V6) & (~six.contains(_GAP) | (written < GROUPS)),
            F.split(F.replace(edged, F.lit(_GAP), zeros), _COLON, -1),
        ).alias(f"{name}_groups"),
    ]


def _numbers(name: str) -> list[Column]:
    octets = [F.col(f"{name}_{i}") for i in range(OCTETS)]
    four = octets[0].cast("long")
    for octet in octets[1:]:
        four = four * 2**8 + octet
    is_four = _is_ipv4(octets, F.col(f"{name}_length"), F.col(f"{name}_count"))
    groups, has_dots = F.col(f"{name}_groups"), F.col(f"{name}_count") > 1
    high, low = _half(groups, 0), _half(groups, HALF)
    low = F.when(has_dots, low.bitwiseOR(four)).otherwise(low)
    is_six = groups.isNotNull() & (~has_dots | is_four)
    return [
        F.when(is_six, _digest(high, low))
        .when(is_four & F.col(f"{name}_is_plain"), four)
        .alias(f"{name}_ip"),
        F.when(is_six, high).alias(f"{name}_prefix"),
    ]


def _is_ipv4(octets: list[Column], length: Column, count: Column) -> Column:
    """Whether octets are four of 0..255 and are written in `length` characters with their dots."""
    digits = F.lit(OCTETS - 1)
    is_small = count == OCTETS
    for octet in octets:
        is_small = is_small & octet.between(0, 2**8 - 1)
        digits = digits + F.when(octet >= 100, 3).when(octet >= 10, 2).otherwise(1)  # noqa: PLR2004
    return is_small & (digits == length)


def _half(groups: Column, first: int) -> Column:
    """Four groups from `first` on, as a signed long."""
    padded = [F.lpad(F.get(groups, F.lit(i)), HALF, "0") for i in range(first, first + HALF)]
    return F.conv(F.concat(*padded), 16, -10).cast("long")
