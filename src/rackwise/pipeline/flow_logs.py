"""Rows of VPC flow logs read as numbers, and what is wrong with those that cannot be.

A value is missing where the log has `-` or nothing. Rows with data (log status OK) need all
columns; NODATA and SKIPDATA rows have none and are not malformed for it. The first fault in this
order gives the reason, `malformed:<column>`:

```
columns             the line has more or fewer values than the header (see `lines`)
srcaddr dstaddr     no address, or missing where there is data
pkt_srcaddr ..      no address
srcport dstport     not in 0..65535                  protocol   not in 0..255
packets bytes       no number or below zero          start      no second of the years 1970 to 9999
end                 before start, or more than a day after it
log_status          none of OK, NODATA, SKIPDATA     flow_direction   neither egress nor ingress
```

`srcaddr` and `dstaddr` are addresses of the interface; what the packet carries (`pkt_*`) wins where
it is given, as behind NAT and for pods. `bytes` is kept for every row in which it is a number.

What this does not do: ask who is a broker (`log_facts`), or which side logged a flow (`sides`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import StringType

from rackwise.pipeline.addresses import with_addresses
from rackwise.pipeline.clock import DAY_S
from rackwise.pipeline.schemas import VPC_NUMBERS, VPC_REQUIRED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame

LAST_SECOND = 253_402_300_799
"""Of the year 9999, where timestamps end."""
GREATEST = {"srcport": 2**16 - 1, "dstport": 2**16 - 1, "protocol": 2**8 - 1, "start": LAST_SECOND}
LARGEST = 2**63 - 1
ALWAYS = ("start", "end")
"""Numbers that rows without data have, too."""
ADDRESSES = ("srcaddr", "dstaddr", "pkt_srcaddr", "pkt_dstaddr")
OWN = ("own_src_ip", "own_dst_ip")
RAW_CHARACTERS = 4096
MISSING = "-"
NO_DATA = ("NODATA", "SKIPDATA")


def read_rows(bronze: DataFrame) -> DataFrame:
    """The rows of `schemas.BRONZE_VPC` as numbers.

    `malformed`: reason or null; `raw`: the row as text where it is malformed. `src_ip dst_ip
    src_prefix dst_prefix`: the packet's addresses, see `addresses`; `own_src_ip own_dst_ip`: those
    of the interface. `srcport dstport protocol packets bytes start end`: bigint, null where no
    number, `start` and `bytes` also where out of range. `interface`: digest of its id.
    """
    src, dst, packet_src, packet_dst = (F.col(name) for name in ADDRESSES)
    texts = {
        "src": F.coalesce(packet_src, src),
        "dst": F.coalesce(packet_dst, dst),
        "own_src": F.when(src != packet_src, src),
        "own_dst": F.when(dst != packet_dst, dst),
    }
    numbers = with_addresses(bronze.select(*_values(bronze)), texts)
    own = {
        end: F.when(F.col(f"{end}addr") != F.col(f"pkt_{end}addr"), F.col(f"own_{end}_ip"))
        .otherwise(F.col(f"{end}_ip"))
        .alias(f"own_{end}_ip")
        for end in ("src", "dst")
    }
    judged = numbers.select(
        *(name for name in numbers.columns if name not in {"malformed", *OWN}),
        *own.values(),
        _reason(own).alias("malformed"),
    )
    return judged.select(
        *("source_file", "row_offset", "malformed"),
        F.when(F.col("malformed").isNotNull(), F.coalesce("raw", _as_line())).alias("raw"),
        F.xxhash64("interface_id").alias("interface"),
        *("flow_direction", "action", "log_status"),
        *("src_ip", "dst_ip", "src_prefix", "dst_prefix", *OWN),
        *("srcport", "dstport", "protocol", "packets", "end"),
        F.when(F.col("start").between(0, LAST_SECOND), F.col("start")).alias("start"),
        F.when(F.col("bytes") >= 0, F.col("bytes")).alias("bytes"),
    )


def _values(bronze: DataFrame) -> list[Column | str]:
    """Missing values as nulls, numbers as numbers; -1 is text where a number belongs."""
    words = (*ADDRESSES, "interface_id", "action", "log_status", "flow_direction")
    has_data = ~F.coalesce(_present(bronze, "log_status").isin(*NO_DATA), F.lit(0) == 1)
    return [
        *("source_file", "row_offset", "malformed", "raw"),
        *(_present(bronze, name).alias(name) for name in words),
        *(_number(bronze, name).alias(name) for name in VPC_NUMBERS),
        has_data.alias("has_data"),
    ]


def _number(bronze: DataFrame, name: str) -> Column:
    value = _present(bronze, name)
    return F.when(value.isNotNull(), F.coalesce(value.try_cast("bigint"), F.lit(-1)))


def _as_line() -> Column:
    """The columns used as a line of a log; a dash also stands for text where a number belongs."""
    cells = (F.coalesce(F.col(name).cast("string"), F.lit(MISSING)) for name in VPC_REQUIRED)
    return F.left(F.concat_ws(" ", *cells), F.lit(RAW_CHARACTERS))


def _present(bronze: DataFrame, name: str) -> Column:
    is_text = isinstance(bronze.schema[name].dataType, StringType)
    return F.nullif(F.col(name), F.lit(MISSING)) if is_text else F.col(name)


def _reason(own: Mapping[str, Column]) -> Column:
    has_data = F.col("has_data")
    reason = F.when(F.col("malformed").isNotNull(), F.col("malformed"))
    for end, ip in own.items():
        is_bad = F.when(F.col(f"{end}addr").isNull(), has_data).otherwise(ip.isNull())
        reason = reason.when(is_bad, f"malformed:{end}addr")
    for end in own:
        is_bad = F.col(f"pkt_{end}addr").isNotNull() & F.col(f"{end}_ip").isNull()
        reason = reason.when(is_bad, f"malformed:pkt_{end}addr")
    for name in VPC_NUMBERS:
        is_needed = F.lit(1) == 1 if name in ALWAYS else has_data
        is_bad = F.coalesce(~F.col(name).between(0, GREATEST.get(name, LARGEST)), is_needed)
        reason = reason.when(is_bad, f"malformed:{name}")
    lasts = F.col("end") - F.col("start")
    direction = F.col("flow_direction")
    status = F.col("log_status")
    return (
        reason.when(~lasts.between(0, DAY_S), "malformed:end")
        .when(F.coalesce(~status.isin("OK", *NO_DATA), F.lit(1) == 1), "malformed:log_status")
        .when(has_data & ~direction.isin("egress", "ingress"), "malformed:flow_direction")
    )
