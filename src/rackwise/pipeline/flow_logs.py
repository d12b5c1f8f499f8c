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
    from pyspark.sql import Column, DataFrame

LAST_SECOND = 253_402_300_799
"""Of the year 9999, where timestamps end."""
GREATEST = {"srcport": 2**16 - 1, "dstport": 2**16 - 1, "protocol": 2**8 - 1, "start": LAST_SECOND}
LAST_CHECKED = ("start", "end")
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
    texts = bronze.select(*_texts(bronze))
    packet = {
        "src": F.coalesce("pkt_srcaddr", "srcaddr"),
        "dst": F.coalesce("pkt_dstaddr", "dstaddr"),
        "own_src": F.when(F.col("srcaddr") != F.col("pkt_srcaddr"), F.col("srcaddr")),
        "own_dst": F.when(F.col("dstaddr") != F.col("pkt_dstaddr"), F.col("dstaddr")),
    }
    numbers = with_addresses(texts, packet)
    own = {
        f"own_{end}_ip": F.when(
            F.col(f"{end}addr") != F.col(f"pkt_{end}addr"), F.col(f"own_{end}_ip")
        ).otherwise(F.col(f"{end}_ip"))
        for end in ("src", "dst")
    }
    judged = numbers.withColumns(own).withColumn("malformed", _reason())
    return judged.select(
        *("source_file", "row_offset", "malformed"),
        F.when(F.col("malformed").isNotNull(), F.coalesce("raw", _as_line())).alias("raw"),
        F.xxhash64("interface_id").alias("interface"),
        *("flow_direction", "action", "log_status"),
        *("src_ip", "dst_ip", "src_prefix", "dst_prefix", "own_src_ip", "own_dst_ip"),
        *("srcport", "dstport", "protocol", "packets", "end"),
        F.when(F.col("start").between(0, LAST_SECOND), F.col("start")).alias("start"),
        F.when(F.col("bytes") >= 0, F.col("bytes")).alias("bytes"),
    )


def _texts(bronze: DataFrame) -> list[Column | str]:
    """Missing values as nulls, numbers as numbers, and whether a number's text was there at all."""
    addresses = ("srcaddr", "dstaddr", "pkt_srcaddr", "pkt_dstaddr")
    words = (*addresses, "action", "log_status", "flow_direction")
    value = {name: _present(bronze, name) for name in (*words, *VPC_NUMBERS, "interface_id")}
    return [
        *("source_file", "row_offset", "malformed", "raw"),
        *(value[name].alias(name) for name in words),
        *(value[name].try_cast("bigint").alias(name) for name in VPC_NUMBERS),
        *(value[name].isNotNull().alias(f"has_{name}") for name in VPC_NUMBERS),
        value["interface_id"].alias("interface_id"),
    ]


def _as_line() -> Column:
    """The columns used as a line of a log; a dash also stands for text where a number belongs."""
    cells = (F.coalesce(F.col(name).cast("string"), F.lit(MISSING)) for name in VPC_REQUIRED)
    return F.left(F.concat_ws(" ", *cells), F.lit(RAW_CHARACTERS))


def _present(bronze: DataFrame, name: str) -> Column:
    is_text = isinstance(bronze.schema[name].dataType, StringType)
    return F.nullif(F.col(name), F.lit(MISSING)) if is_text else F.col(name)


def _reason() -> Column:
    has_data = ~F.coalesce(F.col("log_status").isin(*NO_DATA), F.lit(0) == 1)
    reason = F.when(F.col("malformed").isNotNull(), F.col("malformed"))
    for end in ("src", "dst"):
        name = f"{end}addr"
        is_bad = F.when(F.col(name).isNull(), has_data).otherwise(F.col(f"own_{end}_ip").isNull())
        reason = reason.when(is_bad, f"malformed:{name}")
    for end in ("src", "dst"):
        name = f"pkt_{end}addr"
        is_bad = F.col(name).isNotNull() & F.col(f"{end}_ip").isNull()
        reason = reason.when(is_bad, f"malformed:{name}")
    for name in VPC_NUMBERS:
        is_needed = F.lit(1) == 1 if name in LAST_CHECKED else has_data
        reason = reason.when(_is_bad_number(name, is_needed), f"malformed:{name}")
    lasts = F.col("end") - F.col("start")
    direction = F.col("flow_direction")
    status = F.col("log_status")
    return (
        reason.when((lasts < 0) | (lasts > DAY_S), "malformed:end")
        .when(status.isNull() | ~status.isin("OK", *NO_DATA), "malformed:log_status")
        .when(has_data & ~direction.isin("egress", "ingress"), "malformed:flow_direction")
    )


def _is_bad_number(name: str, is_needed: Column) -> Column:
    number = F.col(name)
    is_outside = number < 0
    if name in GREATEST:
        is_outside = is_outside | (number > GREATEST[name])
    return F.when(number.isNull(), F.col(f"has_{name}") | is_needed).otherwise(is_outside)
