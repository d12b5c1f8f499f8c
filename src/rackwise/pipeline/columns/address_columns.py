r"""Address texts to integers as column expressions: what `addresses.address_number` says, in Spark.

Goals, in order: the same number for the same text, to the bit; no Python; texts of IPv4, nearly all
there are, pay nothing for IPv6.

IPv4 is four octets. IPv6 is what stands before and after `::`, eight groups in all, and its last 32
bits may be written as IPv4:

```
2001:DB8::10.0.0.1   ->   2001:DB8::a00:1     the end as two groups
before  [2001 DB8]        after [a00 1]       group n is before[n], else after[n - 8 + 2], else 0
hex     20010db8000000000000000000000000 0a000001
prefix  the first 16 digits, a signed long    ip  from the SHA-256 of the hex, see `addresses`
```

Whether a text is an address at all is a pattern, and of IPv6 a count: eight groups without `::`, at
most seven with it.

What this does not do: look anything up; see `racks`, `listeners`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.pipeline.columns.addresses import DIGEST_DIGITS, NONE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_FOUR = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_GROUP = "[0-9A-Fa-f]{1,4}"
_LIST = f"{_GROUP}(?::{_GROUP}){{0,7}}"
FOUR = rf"\A{_FOUR}\z"
SIX = rf"\A(?:{_LIST}|(?:{_LIST})?::(?:{_LIST})?)\z"
ENDS_IN_FOUR = rf":{_FOUR}\z"
GROUPS, GROUP_DIGITS = 8, 4
HALF_DIGITS = 16


def with_addresses(df: DataFrame, texts: Mapping[str, Column]) -> DataFrame:
    """Adds for each name of `texts` the columns `<name>_ip` and `<name>_prefix`, both bigint.

    Null where the text is no address; `_prefix` also for IPv4.
    """
    kept = df.columns
    for name, text in texts.items():
        df = _with_lists(df, name, text).select(*kept, *_numbers(name, text))
        kept = [*kept, f"{name}_ip", f"{name}_prefix"]
    return df


def _with_lists(df: DataFrame, name: str, text: Column) -> DataFrame:
    """Adds the groups of IPv6 before and after `::`, and then its 32 digits; null of all others."""
    six = F.when(text.contains(":"), _ended_in_groups(text))
    sides = df.withColumn(f"_{name}_six", F.when(six.rlike(SIX), six))
    six = F.col(f"_{name}_six")
    lists = sides.withColumns(
        {
            f"_{name}_before": F.split(F.split_part(six, F.lit("::"), F.lit(1)), ":"),
            f"_{name}_after": F.split(F.split_part(six, F.lit("::"), F.lit(2)), ":"),
        }
    )
    return lists.withColumn(f"_{name}_digits", _digits(six, f"_{name}_before", f"_{name}_after"))


def _ended_in_groups(text: Column) -> Column:
    """The text with an IPv4 at its end as two groups."""
    end = F.substring_index(text, ":", -1)
    start = F.left(text, F.length(text) - F.length(end))
    four = _four(end)
    high, low = F.hex(F.shiftright(four, 16)), F.hex(four.bitwiseAND(0xFFFF))
    whole = F.concat(start, high, F.lit(":"), low)
    return F.when(text.rlike(ENDS_IN_FOUR), whole).otherwise(text)


def _digits(six: Column, before: str, after: str) -> Column:
    """32 hexadecimal digits; null where there are too many groups or too few."""
    first, second = _length(before), _length(after)
    written = first + second
    is_whole = F.when(six.contains("::"), written < GROUPS).otherwise(written == GROUPS)
    groups = [
        F.coalesce(
            F.when(first > place, F.get(before, F.lit(place))),
            F.when(F.lit(place) >= GROUPS - second, F.get(after, F.lit(place - GROUPS) + second)),
            F.lit("0"),
        )
        for place in range(GROUPS)
    ]
    digits = F.concat(*(F.lpad(group, GROUP_DIGITS, "0") for group in groups))
    return F.when(is_whole, F.lower(digits))


def _length(groups: str) -> Column:
    """Number of groups; a text without any is split into one that is empty."""
    return F.when(F.get(groups, F.lit(0)) == "", 0).otherwise(F.size(groups))


def _numbers(name: str, text: Column) -> tuple[Column, Column]:
    digits = F.col(f"_{name}_digits")
    digest = F.substring(F.sha2(digits, 256), 1, DIGEST_DIGITS)
    six = NONE - 1 - F.conv(digest, 16, 10).try_cast("long")
    four = _four(F.when(text.rlike(FOUR), text))  # else the text is split for each octet
    prefix = F.conv(F.substring(digits, 1, HALF_DIGITS), 16, -10).try_cast("long")
    return F.coalesce(four, six).alias(f"{name}_ip"), prefix.alias(f"{name}_prefix")


def _four(text: Column) -> Column:
    """The number of four octets; of another text no matter what."""
    octets = [
        F.split_part(text, F.lit("."), F.lit(place)).try_cast("long") for place in range(1, 5)
    ]
    number = octets[0]
    for octet in octets[1:]:
        number = F.shiftleft(number, 8).bitwiseOR(octet)
    return number
