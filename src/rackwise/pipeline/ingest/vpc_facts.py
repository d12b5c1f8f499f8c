"""Facts out of VPC flow logs: who talked to whom, in which racks, and the fate of every row.

The fate is the first that holds, and every row has one:

```
malformed:<column>           see flow_logs                                   (quarantine)
nodata skipdata rejected     log status NODATA; SKIPDATA; action not ACCEPT
not-kafka                    neither end is a listener of a broker, over TCP
other-day                    starts outside the days asked for
duplicate-side               the other side has logged it too, see sides
kept                         else
```

The kind follows from who is who. A listener is an address and port of a broker; the other end is a
broker when its address is one of the same cluster:

```
other end -> listener     produce       or replicate, sender = the other broker
listener -> other end     fetch         or replicate, sender = the listener's broker
```

Bytes are wire bytes, so what clients send with fetch requests counts as produce. The client's rack
is that of a group member at its address, else that of its subnet, else unknown.

All of this but the duplicates is settled batch by batch, in numpy, by lookups in tables that fit in
memory: the listeners and addresses of brokers, the addresses of group members, the subnets.

What this does not do: tell the topic (`traffic.apportion` spreads bytes over topics).
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import (
    BooleanType,
    LongType,
    StructField,
)

from rackwise.core.override import override
from rackwise.pipeline.columns.addresses import NONE, AddressReader
from rackwise.pipeline.columns.arrays import Reasons, Words, nullable
from rackwise.pipeline.columns.clock import HOUR_S, day_of
from rackwise.pipeline.columns.packing import packed_arrays, unpacked
from rackwise.pipeline.fleet.listeners import Lookup, by_address, by_listener, chosen
from rackwise.pipeline.fleet.members import ClientRacks
from rackwise.pipeline.ingest.facts import (
    PLACE,
    Judge,
    fact_bits,
    fact_columns,
    judged_columns,
    short_texts,
)
from rackwise.pipeline.ingest.files import file_named, read_files, with_file_numbers
from rackwise.pipeline.ingest.row_outcomes import KEPT
from rackwise.pipeline.ingest.vpc_duplicates import (
    day_key,
    logged_addresses,
    with_direction,
    with_duplicates,
)
from rackwise.pipeline.ingest.vpc_rows import NO_DATA, SKIP_DATA, read_rows
from rackwise.pipeline.schemas import (
    BRONZE_VPC,
    ESTIMATED,
    FETCH,
    MEASURED,
    PRODUCE,
    REPLICATE,
    SOURCES,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets
    from rackwise.pipeline.ingest.facts import Once
    from rackwise.pipeline.ingest.vpc_duplicates import Side
    from rackwise.pipeline.ingest.vpc_rows import LogRows

TCP = 6
SEEN = ("start", "src_ip", "own_ip")
"""What tells on which side a row was logged, and when."""
OWN = ("interface", "own_src_ip", "own_dst_ip", "dst_ip")
"""What tells whose an interface is, where rows do not say their direction."""
SAME = ("interface", "src_ip", "dst_ip", "srcport", "dstport", "protocol", "start")
"""What rows to keep have in common when they are equal; `same` holds more."""


def log_facts(
    bronze: DataFrame,
    fleet: Fleet,
    buckets: Buckets,
    *,
    side: Side,
    days: tuple[date, date] | None,
    is_told: bool,
    is_exact: bool,
    once: Once,
) -> DataFrame:
    """`schemas.FLOW_FACT`, `reason` and `PLACE` of every row of `tables.bronze`.

    `days`: first and last day, both kept. `is_told`: every row with data says its direction.
    `is_exact`: there is also `same`, equal for rows to keep that are equal in interface, ends,
    times, direction, bytes and packets. `once`: see `flows.flow_facts`.
    """
    bits = fact_bits(fleet)
    further = [*SEEN, *(() if is_told else OWN), *(SAME if is_exact else ())]
    columns = judged_columns(
        bits,
        [
            StructField("is_egress", BooleanType()),
            *(StructField(name, LongType()) for name in dict.fromkeys(further)),
        ],
    )
    judge = _Judge(
        listeners=by_listener(fleet),
        addresses=by_address(fleet),
        client_racks=ClientRacks(fleet, buckets),
        days=days,
        bits=bits,
        asked=BRONZE_VPC,
        columns=columns,
    )
    uris = read_files(bronze)
    rows = once(with_file_numbers(short_texts(bronze), uris).mapInArrow(judge, columns), "row")
    if not is_told:
        rows = once(with_direction(rows, fleet), "row_of_side")
    judged = _with_duplicates(rows, bits, side, once)
    reason = F.when(F.col("is_duplicate"), "duplicate-side").otherwise(KEPT)
    same = F.struct(*SAME, unpacked(bits)["window_s"], "is_egress", "bytes", "packets").alias(
        "same"
    )
    return judged.select(
        *_facts(bits),
        F.coalesce("reason", reason).alias("reason"),
        file_named(uris).alias("source_file"),
        *PLACE[1:],
        *([same] if is_exact else ()),
    )


def _facts(bits: Mapping[str, int]) -> list[Column]:
    """The columns of `schemas.FLOW_FACT`; of a row that talks no Kafka most are null."""
    at = F.col("start")
    made = {
        "window_start": F.timestamp_seconds(at),
        "day": day_of(at),
        "source": F.lit(SOURCES.index("flow log")),
        "client": F.lit(0),
        "topic": F.lit(0),
        "partition": F.lit(None),
    }
    return fact_columns(bits, made)


def _with_duplicates(rows: DataFrame, bits: Mapping[str, int], side: Side, once: Once) -> DataFrame:
    if side != "auto":
        return with_duplicates(rows.withColumn("kind", unpacked(bits)["kind"]), side)
    key = F.when(~F.col("is_egress"), day_key(F.col("src_ip"), F.col("start")))
    logged = once(logged_addresses(rows), "logged").withColumn("is_duplicate", F.lit(1) == 1)
    return rows.withColumn("_logged", key).join(F.broadcast(logged), "_logged", "left")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge(Judge):
    """Judges flow logs."""

    listeners: Lookup
    addresses: Lookup

    @override
    def judged(self, batch: pa.RecordBatch, reader: AddressReader) -> dict[str, pa.Array]:
        """The columns of the facts."""
        rows = read_rows(batch, reader)
        reasons = _before_lookup(rows)
        places, facts = self._placed(rows, np.flatnonzero(reasons.is_open))
        is_placed = np.zeros(len(rows), dtype=np.bool_)
        is_placed[places] = True
        reasons.add("not-kafka", ~is_placed)
        self.add_other_day(reasons, rows.numbers["start"])
        made = _sides(rows) | {
            "bytes": nullable(rows.numbers["bytes"]),
            "reason": reasons.words().strings(),
            "raw": rows.raw,
            **{name: batch.column(name) for name in ("file", *PLACE[:2])},
        }
        for name, values in facts.items():
            whole = np.zeros(len(rows), dtype=np.int64)
            whole[places] = values
            made[name] = pa.array(whole, mask=~is_placed | (whole == NONE))
        return made

    def _placed(
        self, rows: LogRows, places: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        """Of the rows at `places` those that talk Kafka, and their facts."""
        places = places[rows.numbers["protocol"][places] == TCP]
        hours = rows.numbers["start"][places] // HOUR_S
        to, from_ = (
            self.listeners.find(
                rows.addresses[f"{end}_ip"][places], rows.numbers[f"{end}port"][places], hours
            )
            for end in ("dst", "src")
        )
        heard = np.flatnonzero(to.is_there | from_.is_there)
        places, hours, near = places[heard], hours[heard], to.or_else(from_).at(heard)
        is_to = to.is_there[heard]
        ip, prefix = (
            np.where(is_to, rows.addresses[f"src_{n}"][places], rows.addresses[f"dst_{n}"][places])
            for n in ("ip", "prefix")
        )
        far = self.addresses.find(ip, near.cluster, hours)
        is_copy = far.is_there & (far.broker != near.broker)
        sender, receiver = chosen(is_copy & is_to, far, near), chosen(is_to, near, far)
        is_guess = near.is_estimated(hours) | (is_copy & far.is_estimated(hours))
        made = {
            "window_s": rows.numbers["end"][places] - rows.numbers["start"][places],
            "cluster": near.cluster,
            "kind": np.where(is_copy, REPLICATE, np.where(is_to, PRODUCE, FETCH)),
            "quality": np.where(is_guess, ESTIMATED, MEASURED),
            "client_rack": np.where(is_copy, 0, self.client_racks.find(ip, prefix, near.cluster)),
            "broker": sender.broker,
            "broker_rack": sender.rack,
            "peer": np.where(is_copy, receiver.broker, 0),
            "peer_rack": np.where(is_copy, receiver.rack, 0),
        }
        return places, packed_arrays(made, self.bits) | {
            "client_ip": np.where(is_copy, NONE, ip),
            "packets": rows.numbers["packets"][places],
        }


def _before_lookup(rows: LogRows) -> Reasons:
    """Malformed, without data, rejected: what a row says of itself."""
    status, action = rows.words["log_status"], rows.words["action"]
    reasons = Reasons(rows.malformed)
    reasons.add("nodata", status.is_any(NO_DATA))
    reasons.add("skipdata", status.is_any(SKIP_DATA))
    reasons.add("rejected", ~action.is_any("ACCEPT"))
    return reasons


def _sides(rows: LogRows) -> dict[str, pa.Array]:
    """Columns that tell who has logged a row, null where it does not say so."""
    direction = rows.words["flow_direction"]
    is_egress, is_ingress = direction.is_any("egress"), direction.is_any("ingress")
    source, target = rows.addresses["src_ip"], rows.addresses["dst_ip"]
    own = np.where(is_egress, source, np.where(is_ingress, target, NONE))
    addresses = {"src_ip": source, "dst_ip": target, "own_ip": own} | {
        name: rows.addresses[name] for name in ("own_src_ip", "own_dst_ip")
    }
    ports = {name: rows.numbers[name] for name in ("srcport", "dstport", "protocol", "start")}
    return {
        "is_egress": pa.array(is_egress, mask=~direction.is_given),
        "interface": pa.array(_digests(rows.words["interface_id"])),
        **{name: nullable(values) for name, values in (addresses | ports).items()},
    }


def _digests(words: Words) -> NDArray[np.int64]:
    """A long of each text as it is read, 0 where none is given."""
    digests = [blake2b(name.encode(), digest_size=8).digest() for name in words.names]
    numbers = [int.from_bytes(digest, signed=True) for digest in digests]
    return np.array([*numbers, 0], dtype=np.int64)[words.codes]
