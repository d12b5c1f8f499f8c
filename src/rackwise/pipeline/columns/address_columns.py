r"""Column expressions that turn address texts into the integers of `addresses.address_number`.

Goals, in order: each text gets exactly the same number as in Python; no Python runs; texts of IPv4,
which are nearly all texts, cost nothing for IPv6.

IPv4 has four octets. IPv6 has eight groups. `::` replaces groups of zeros, so the groups before and
after it are split separately. The last 32 bits may be written as IPv4:

```
2001:DB8::10.0.0.1   ->   2001:DB8::a00:1     the IPv4 end becomes two groups
before  [2001 DB8]        after [a00 1]       group n is before[n], else after[n - 8 + 2], else 0
hex     20010db8000000000000000000000000 0a000001
prefix  the first 16 digits, a signed long    ip  from the SHA-256 of the hex, see `addresses`
```

A text is an address if it matches a pattern. IPv6 also needs the right number of groups: eight
without `::`, and at most seven with it.

What this does not do: look up racks or brokers (see `subnet_racks`, `listeners`).
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
    """Adds the columns `<name>_ip` and `<name>_prefix`, both bigint, for each name of `texts`.

    Both are null if the text is not an address. `_prefix` is also null for IPv4.
    """
    kept = df.columns
    for name, text in texts.items():
        df = _with_lists(df, name, text).select(*kept, *_numbers(name, text))
        kept = [*kept, f"{name}_ip", f"{name}_prefix"]
    return df


def _with_lists(df: DataFrame, name: str, text: Column) -> DataFrame:
    """Adds the groups before and after `::`, and the 32 digits; null if the text is not IPv6."""
    six = F.when(text.contains(":"), _without_ipv4_end(text))
    checked = df.withColumn(f"_{name}_six", F.when(six.rlike(SIX), six))
    six = F.col(f"_{name}_six")
    lists = checked.withColumns(
        {
            f"_{name}_before": F.split(F.split_part(six, F.lit("::"), F.lit(1)), ":"),
            f"_{name}_after": F.split(F.split_part(six, F.lit("::"), F.lit(2)), ":"),
        }
    )
    return lists.withColumn(f"_{name}_digits", _digits(six, f"_{name}_before", f"_{name}_after"))


def _without_ipv4_end(text: Column) -> Column:
    """The text, with two groups instead of an IPv4 address at its end."""
    end = F.substring_index(text, ":", -1)
    start = F.left(text, F.length(text) - F.length(end))
    four = _four(end)
    high, low = F.hex(F.shiftright(four, 16)), F.hex(four.bitwiseAND(0xFFFF))
    whole = F.concat(start, high, F.lit(":"), low)
    return F.when(text.rlike(ENDS_IN_FOUR), whole).otherwise(text)


def _digits(six: Column, before: str, after: str) -> Column:
    """32 hexadecimal digits; null if there are too many or too few groups."""
    first, second = _length(before), _length(after)
    count = first + second
    is_whole = F.when(six.contains("::"), count < GROUPS).otherwise(count == GROUPS)
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
    """The number of groups. An empty text is split into one empty group, which does not count."""
    return F.when(F.get(groups, F.lit(0)) == "", 0).otherwise(F.size(groups))


def _numbers(name: str, text: Column) -> tuple[Column, Column]:
    digits = F.col(f"_{name}_digits")
    digest = F.substring(F.sha2(digits, 256), 1, DIGEST_DIGITS)
    six = NONE - 1 - F.conv(digest, 16, 10).try_cast("long")
    four = _four(
        F.when(text.rlike(FOUR), text)
    )  # without the condition, Spark splits every text four times
    prefix = F.conv(F.substring(digits, 1, HALF_DIGITS), 16, -10).try_cast("long")
    return F.coalesce(four, six).alias(f"{name}_ip"), prefix.alias(f"{name}_prefix")


def _four(text: Column) -> Column:
    """The number of an IPv4 text; any value or null for other texts."""
    octets = [
        F.split_part(text, F.lit("."), F.lit(place)).try_cast("long") for place in range(1, 5)
    ]
    number = octets[0]
    for octet in octets[1:]:
        number = F.shiftleft(number, 8).bitwiseOR(octet)
    return number
