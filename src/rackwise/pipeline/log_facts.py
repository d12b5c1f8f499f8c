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

All of this but the duplicates is settled batch by batch, in numpy, by binary search in tables that
fit in memory: the listeners and addresses of brokers, the addresses of group members, the subnets.

What this does not do: tell the topic (`traffic.apportion` spreads bytes over topics).
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    BooleanType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from rackwise.pipeline.addresses import NONE, AddressReader, PairIndex
from rackwise.pipeline.clock import DAY_S, HOUR_S, day_number, day_of
from rackwise.pipeline.files import file_named, read_files, with_file_numbers
from rackwise.pipeline.flow_logs import NO_DATA, SKIP_DATA, Reasons, Words, read_rows
from rackwise.pipeline.listeners import Lookup, by_address, by_listener, chosen
from rackwise.pipeline.members import member_racks
from rackwise.pipeline.packing import key_names, packed_arrays, unpacked
from rackwise.pipeline.racks import RackLookup
from rackwise.pipeline.schemas import FLOW_FACT, KINDS, SOURCES
from rackwise.pipeline.sides import day_key, logged_addresses, with_direction, with_duplicates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import date

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from rackwise.pipeline.fleet import Fleet
    from rackwise.pipeline.flow_logs import LogRows
    from rackwise.pipeline.listeners import Seen
    from rackwise.pipeline.racks import Buckets
    from rackwise.pipeline.sides import Side

Once: TypeAlias = "Callable[[DataFrame, str], DataFrame]"

TCP = 6
PRODUCE, FETCH, REPLICATE = (KINDS.index(kind) for kind in ("produce", "fetch", "replicate"))
MEASURED, ESTIMATED = 0, 2
KEPT = "kept"
LONGS = ("client_ip", "bytes", "packets")
"""Columns of a fact that are large."""
PLACE = ("source_file", "row_offset", "raw")
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
    """`schemas.FLOW_FACT`, `reason` and `PLACE` of every row of `schemas.BRONZE_VPC`.

    `days`: first and last day, both kept. `is_told`: every row with data says its direction.
    `is_exact`: there is also `same`, equal for rows to keep that are equal in interface, ends,
    times, direction, bytes and packets. `once`: see `flows.flow_facts`.
    """
    bits = _bits(fleet)
    further = [*SEEN, *(() if is_told else OWN), *(SAME if is_exact else ())]
    columns = StructType(
        [
            *(StructField(name, LongType()) for name in (*key_names(bits), *LONGS)),
            StructField("reason", StringType()),
            StructField("file", IntegerType()),
            *(StructField(name, bronze.schema[name].dataType) for name in PLACE[:2]),
            StructField("raw", StringType()),
            StructField("is_egress", BooleanType()),
            *(StructField(name, LongType()) for name in dict.fromkeys(further)),
        ]
    )
    members = member_racks(fleet)
    judge = _Judge(
        listeners=by_listener(fleet),
        addresses=by_address(fleet),
        members=PairIndex((ip for ip, _ in members), (cluster for _, cluster in members)),
        member_racks=np.array(list(members.values()), dtype=np.int64),
        subnets=RackLookup(buckets),
        days=None if days is None else (day_number(days[0]), day_number(days[1])),
        bits=bits,
        schema=to_arrow_schema(columns, timezone="UTC"),
    )
    uris = read_files(bronze)
    rows = once(with_file_numbers(bronze, uris).mapInArrow(judge, columns), "row")
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


def as_planned(df: DataFrame, name: str) -> DataFrame:  # noqa: ARG001 (the shape of `Once`)
    """Nothing is stored: Spark plans, and computes, the rows wherever they are needed."""
    return df


def _bits(fleet: Fleet) -> dict[str, int]:
    """What of a fact is small and travels in one long or two."""
    racks, brokers = len(fleet.names.racks).bit_length(), len(fleet.names.brokers).bit_length()
    return {
        "kind": (len(KINDS) - 1).bit_length(),
        "quality": ESTIMATED.bit_length(),
        "window_s": DAY_S.bit_length(),
        "cluster": len(fleet.names.clusters).bit_length(),
        "broker": brokers,
        "broker_rack": racks,
        "peer": brokers,
        "peer_rack": racks,
        "client_rack": racks,
    }


def _facts(bits: Mapping[str, int]) -> list[Column]:
    """The columns of `schemas.FLOW_FACT`; of a row that talks no Kafka most are null."""
    at = F.col("start")
    made = unpacked(bits) | {
        "window_start": F.timestamp_seconds(at),
        "day": day_of(at),
        "source": F.lit(SOURCES.index("flow log")),
        "client": F.lit(0),
        "topic": F.lit(0),
        "partition": F.lit(None),
    }
    return [
        made.get(field.name, F.col(field.name)).cast(field.dataType).alias(field.name)
        for field in FLOW_FACT.fields
    ]


def _with_duplicates(rows: DataFrame, bits: Mapping[str, int], side: Side, once: Once) -> DataFrame:
    if side != "auto":
        return with_duplicates(rows.withColumn("kind", unpacked(bits)["kind"]), side)
    key = F.when(~F.col("is_egress"), day_key(F.col("src_ip"), F.col("start")))
    logged = once(logged_addresses(rows), "logged").withColumn("is_duplicate", F.lit(1) == 1)
    return rows.withColumn("_logged", key).join(F.broadcast(logged), "_logged", "left")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    """What turns batches of bronze rows into batches of `schema`; it travels to the workers."""

    listeners: Lookup
    addresses: Lookup
    members: PairIndex
    member_racks: NDArray[np.int64]
    subnets: RackLookup
    days: tuple[int, int] | None
    bits: Mapping[str, int]
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = AddressReader()
        for batch in batches:
            yield self._judged(batch, reader)

    def _judged(self, batch: pa.RecordBatch, reader: AddressReader) -> pa.RecordBatch:
        rows = read_rows(batch, reader)
        reasons = _before_lookup(rows)
        places, facts = self._placed(rows, np.flatnonzero(reasons.is_open))
        is_placed = np.zeros(len(rows), dtype=np.bool_)
        is_placed[places] = True
        reasons.add("not-kafka", ~is_placed)
        if self.days is not None:
            day = rows.numbers["start"] // DAY_S
            reasons.add("other-day", (day < self.days[0]) | (day > self.days[1]))
        made = _sides(rows) | {
            "bytes": _nullable(rows.numbers["bytes"]),
            "reason": reasons.words().strings(),
            "raw": rows.raw,
            **{name: batch.column(name) for name in ("file", *PLACE[:2])},
        }
        for name, values in facts.items():
            whole = np.zeros(len(rows), dtype=np.int64)
            whole[places] = values
            made[name] = pa.array(whole, mask=~is_placed | (whole == NONE))
        return pa.RecordBatch.from_arrays(
            [_cast(made.get(field.name), field, len(rows)) for field in self.schema],
            schema=self.schema,
        )

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
            "client_rack": np.where(is_copy, 0, self._client_rack(ip, prefix, near)),
            "broker": sender.broker,
            "broker_rack": sender.rack,
            "peer": np.where(is_copy, receiver.broker, 0),
            "peer_rack": np.where(is_copy, receiver.rack, 0),
        }
        return places, packed_arrays(made, self.bits) | {
            "client_ip": np.where(is_copy, NONE, ip),
            "packets": rows.numbers["packets"][places],
        }

    def _client_rack(
        self, ip: NDArray[np.int64], prefix: NDArray[np.int64], near: Seen
    ) -> NDArray[np.int64]:
        racks = self.subnets.find(ip, prefix).astype(np.int64)
        rows = self.members.find(ip, near.cluster)
        racks[rows >= 0] = self.member_racks[rows[rows >= 0]]
        return racks


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
        **{name: _nullable(values) for name, values in (addresses | ports).items()},
    }


def _digests(words: Words) -> NDArray[np.int64]:
    """A long of each text, 0 where none is given."""
    digests = [blake2b(name.encode(), digest_size=8).digest() for name in words.names]
    numbers = [int.from_bytes(digest, signed=True) for digest in digests]
    return np.array([*numbers, 0], dtype=np.int64)[words.codes]


def _nullable(values: NDArray[np.int64]) -> pa.Array:
    return pa.array(values, mask=values == NONE)


def _cast(column: pa.Array | None, field: pa.Field, rows: int) -> pa.Array:
    return pa.nulls(rows, field.type) if column is None else column.cast(field.type)
