"""Facts from VPC flow logs: the broker, the client or second broker, their racks, and a reason.

Every row has a reason, the first of these that holds:

```
malformed:<column>           see vpc_rows                                    (quarantine)
nodata skipdata rejected     log status NODATA; SKIPDATA; action not ACCEPT
not-kafka                    neither end is a TCP listener of a broker
other-day                    starts outside the days to keep
duplicate-side               the other side logged the same flow, see vpc_duplicates
kept                         else
```

The kind follows from the two ends. A listener is an address and port of a broker; the other end is
a broker when its address belongs to the same cluster:

```
other end -> listener     produce       or replicate, sender = the other broker
listener -> other end     fetch         or replicate, sender = the listener's broker
```

Bytes are wire bytes, so what clients send with fetch requests counts as produce. The client's rack
is that of its address in the address table at that time, else that of a group member at its
address, else that of its subnet, else that of the zone that the row names (for the interface, the
zone of the end that has its address), else unknown.

All of this except the duplicates happens in numpy, batch by batch, by lookups in tables that fit in
memory: the listeners and addresses of brokers, the address table, group members, subnets.

What this does not do: find the topic (`traffic.apportion` spreads bytes over topics).
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar

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
from rackwise.pipeline.columns.arrays import Reasons, TextColumn, chosen, nullable
from rackwise.pipeline.columns.clock import day_of
from rackwise.pipeline.columns.equal_rows import equal_rows
from rackwise.pipeline.columns.packing import packed_arrays, place_of, unpacked
from rackwise.pipeline.fleet.listeners import BrokerLookup, by_address, by_listener
from rackwise.pipeline.fleet.members import ClientRacks, zone_codes
from rackwise.pipeline.ingest.facts import (
    PLACE,
    FactBuilder,
    FactInput,
    fact_bits,
    packed_columns,
    short_texts,
)
from rackwise.pipeline.ingest.files import file_named, read_files, with_file_numbers
from rackwise.pipeline.ingest.row_outcomes import KEPT
from rackwise.pipeline.ingest.vpc_duplicates import (
    DUPLICATE,
    day_key,
    logged_addresses,
    with_direction,
    with_duplicates,
)
from rackwise.pipeline.ingest.vpc_files import has_direction_in_all
from rackwise.pipeline.ingest.vpc_rows import (
    ADDRESSES,
    DIRECTIONS,
    MISSING,
    NO_DATA,
    SKIP_DATA,
    TEXTS,
    ZONES,
    parse_rows,
)
from rackwise.pipeline.schemas import (
    BRONZE_VPC,
    ESTIMATED,
    FETCH,
    MEASURED,
    PRODUCE,
    REPLICATE,
    SOURCES,
    VPC_NUMBERS,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import date

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.listeners import BrokersAt
    from rackwise.pipeline.fleet.subnet_racks import Buckets
    from rackwise.pipeline.ingest.facts import Persist
    from rackwise.pipeline.ingest.vpc_duplicates import Side
    from rackwise.pipeline.ingest.vpc_rows import VpcRows

TCP = 6
SIDE = ("start", "src_ip", "own_ip")
"""Columns that give the side on which a row was logged, and the time."""
OWN = ("interface", "own_src_ip", "own_dst_ip", "dst_ip")
"""Columns that identify the address of an interface, where rows have no direction."""
SAME = ("interface", "src_ip", "dst_ip", "srcport", "dstport", "protocol", "start")
"""Columns in which equal rows agree; `same` has more."""
_SIDED = ("start", "srcport", "dstport", "protocol")
"""Numbers among these columns."""


def vpc_input(
    bronze: DataFrame | None,
    fleet: Fleet,
    buckets: Buckets,
    *,
    side: Side,
    days: tuple[date, date] | None,
    has_direction: bool | None,
    is_exact: bool,
    is_estimate: bool = False,
    has_packets: bool = True,
    is_by_file: bool = True,
    uris: Sequence[str] = (),
) -> FactInput:
    """What turns rows of `schemas.BRONZE_VPC` into facts; one without a reason may be a duplicate.

    `has_direction`: whether every row with data has a direction; None = only the rows can tell.
    With `is_exact`, facts also have the columns `SAME`. `is_estimate`: whether all bytes are
    estimates. `has_packets`: whether rows with data must have packets. `is_by_file`: whether the
    files have the columns of the rows. `bronze` is None where tasks read all files; `uris` are
    these then.
    """
    bits = fact_bits(fleet)
    further = [*SIDE, *(() if has_direction else OWN), *(SAME if is_exact else ())]
    columns = packed_columns(
        bits,
        [
            StructField("is_egress", BooleanType()),
            *(StructField(name, LongType()) for name in dict.fromkeys(further)),
        ],
    )
    builder = _VpcBuilder(
        listeners=by_listener(fleet),
        addresses=by_address(fleet),
        client_racks=ClientRacks(fleet, buckets),
        zones=zone_codes(fleet),
        is_estimate=is_estimate,
        optional=() if has_packets else ("packets",),
        days=days,
        bits=bits,
        needed=BRONZE_VPC,
        columns=columns,
    )
    uris = tuple(uris) if bronze is None else read_files(bronze)
    return FactInput(
        rows=None if bronze is None else with_file_numbers(short_texts(bronze), uris),
        builder=builder,
        uris=uris,
        constants={
            "source": SOURCES.index("flow log"),
            "client": 0,
            "topic": 0,
            "partition": None,
        },
        side=side,
        has_directions=has_direction,
        compares_rows=is_exact,
        is_by_file=is_by_file,
        deals_text=is_by_file,
    )


def vpc_facts(given: FactInput, fleet: Fleet, *, store: Persist) -> DataFrame:
    """`schemas.FLOW_FACT`, `reason` and `PLACE` of every row of `vpc_input`.

    If facts have the columns `SAME`, the result also has `same`, which is equal for kept rows of
    equal interface, ends, times, direction, bytes and packets.
    """
    bits = given.builder.bits
    rows = store(given.rows.mapInArrow(given.builder, given.builder.columns), "row")
    has_directions = given.has_directions
    if has_directions is None:
        has_directions = has_direction_in_all(given.rows)
    if not has_directions:
        rows = store(with_direction(rows, fleet), "row_of_side")
    marked = _with_duplicates(rows, bits, given.side or "auto", store)
    reason = F.when(F.col("is_duplicate"), DUPLICATE).otherwise(KEPT)
    same = F.struct(*SAME, unpacked(bits)["window_s"], "is_egress", "bytes", "packets").alias(
        "same"
    )
    at = F.col("start")
    return marked.select(
        *given.columns({"window_start": F.timestamp_seconds(at), "day": day_of(at)}),
        F.coalesce("reason", reason).alias("reason"),
        file_named(given.uris).alias("source_file"),
        *PLACE[1:],
        *([same] if given.compares_rows else ()),
    )


def _with_duplicates(
    rows: DataFrame, bits: Mapping[str, int], side: Side, store: Persist
) -> DataFrame:
    if side != "auto":
        return with_duplicates(rows.withColumn("kind", unpacked(bits)["kind"]), side)
    key = F.when(~F.col("is_egress"), day_key(F.col("src_ip"), F.col("start")))
    logged = store(logged_addresses(rows), "logged").withColumn("is_duplicate", F.lit(1) == 1)
    return rows.withColumn("_logged", key).join(F.broadcast(logged), "_logged", "left")


@dataclass(frozen=True, slots=True, kw_only=True)
class _VpcBuilder(FactBuilder):
    """Builds facts from flow logs."""

    coded: ClassVar[tuple[str, ...]] = ("interface_id", *TEXTS, *ADDRESSES)
    numbers: ClassVar[tuple[str, ...]] = VPC_NUMBERS
    listeners: BrokerLookup
    """Brokers by address and port."""
    addresses: BrokerLookup
    """Brokers by address and cluster."""
    zones: Mapping[str, int]
    """Zone -> rack code."""
    is_estimate: bool
    """Whether the bytes of all rows are estimates."""
    optional: tuple[str, ...]
    """Numbers that rows with data may lack."""

    @override
    def build(self, batch: pa.RecordBatch, reader: AddressReader) -> dict[str, pa.Array]:
        """The columns of the facts."""
        rows = parse_rows(batch, reader, optional=self.optional)
        reasons = _before_lookup(rows)
        # `places`: indices of the rows that are Kafka traffic; `facts` has one value for each.
        places, facts = self._lookup(rows, reasons.is_open)
        is_placed = np.zeros(len(rows), dtype=np.bool_)
        is_placed[places] = True
        reasons.add("not-kafka", ~is_placed)
        self.add_other_day(reasons, rows.numbers["start"])
        columns = _side_columns(batch, rows, self.columns.names) | {
            "bytes": nullable(rows.numbers["bytes"]),
            "reason": reasons.column().coded(),
            "raw": rows.raw,
            **{name: batch.column(name) for name in ("file", *PLACE[:2])},
        }
        for name, values in facts.items():
            whole = np.zeros(len(rows), dtype=np.int64)
            whole[places] = values
            columns[name] = nullable(whole, is_placed & (whole != NONE))
        return columns

    @override
    def starts(self, facts: Mapping[str, pa.Array]) -> pa.Array:
        """The start of each of these facts, in epoch seconds; null if it is not known."""
        return facts["start"]

    def _lookup(
        self, rows: VpcRows, is_open: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], dict[str, NDArray[np.int64]]]:
        """The indices of the rows that are Kafka traffic, of those that are open, and their facts.

        Each array has one element per remaining row.
        """
        known, start_s = rows.known, rows.numbers["start"]
        is_open = is_open & (rows.numbers["protocol"] == TCP)
        spans, is_to = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.bool_)
        for end in ("src", "dst"):  # a listener at the destination takes precedence
            codes = known.by_code("listener", self.listeners.codes).take(rows.codes[end])
            places = np.flatnonzero((codes >= 0) & is_open)
            ports = rows.numbers[f"{end}port"]
            listeners = self.listeners.find_coded(
                codes.take(places), ports.take(places), start_s.take(places)
            )
            found = np.flatnonzero(listeners.is_found)
            places = places.take(found)
            spans[places], is_to[places] = listeners.places.take(found), end == "dst"
        # Shape (rows with a listener at one end,) from here on. `near` is the listener's broker,
        # `far` the broker at the other end, if that end is another broker of the same cluster.
        places = np.flatnonzero(spans)
        start_s, is_to = start_s.take(places), is_to.take(places)
        near = self.listeners.at(spans.take(places))
        cluster = near.cluster
        ends = chosen(is_to, *(rows.codes[end].take(places) for end in ("src", "dst")))
        far = self._far(known, ends, near.broker, cluster, start_s)
        is_copy = far.is_found
        is_guess = near.is_estimated(start_s) | far.is_estimated(start_s) | self.is_estimate
        ip = known.ip.take(ends)
        client_rack = known.by_code("subnet", self.client_racks.by_subnet).take(ends)
        client_rack = self.client_racks.by_member(ip, cluster, client_rack)
        end_s = rows.numbers["end"].take(places)
        client_rack = self.client_racks.by_address(ip, start_s, end_s, client_rack)
        is_unknown = (client_rack == 0) & ~is_copy
        if is_unknown.any() and any(rows.texts[name].names for name in ZONES):
            client_rack[is_unknown] = self._zone_rack(rows, places[is_unknown], is_to[is_unknown])
        client_rack *= ~is_copy
        packed = self._packed(near, far, client_rack, is_to, is_guess)
        window_s = end_s - start_s
        key, shift, _ = place_of(self.bits, "window_s")
        packed[key] |= window_s << shift
        return places, packed | {
            "client_ip": chosen(is_copy, np.full(len(ip), NONE), ip),
            "packets": rows.numbers["packets"].take(places),
        }

    def _far(
        self,
        known: AddressReader,
        ends: NDArray[np.int64],
        broker: NDArray[np.int64],
        cluster: NDArray[np.int64],
        start_s: NDArray[np.int64],
    ) -> BrokersAt:
        """The broker at the other end of each row, given by codes, if it is not `broker`."""
        codes = known.by_code("address", self.addresses.codes).take(ends)
        places = np.flatnonzero(codes >= 0)
        found = self.addresses.find_coded(
            codes.take(places), cluster.take(places), start_s.take(places)
        )
        spans = np.zeros(len(ends), dtype=np.int64)
        spans[places] = found.places * (found.broker != broker.take(places))
        return self.addresses.at(spans)

    def _packed(
        self,
        near: BrokersAt,
        far: BrokersAt,
        client_rack: NDArray[np.int64],
        is_to: NDArray[np.bool_],
        is_guess: NDArray[np.bool_],
    ) -> dict[str, NDArray[np.int64]]:
        """The packed fields of each row, without the window; equal rows are packed once."""
        racks = int(client_rack.max(initial=0)) + 1
        ends = (near.places * far.spans.size + far.places) * racks + client_rack
        whole = (ends << 2) + (is_to.astype(np.int64) << 1) + is_guess
        groups, rows = equal_rows([whole], len(whole))
        near, far, client_rack = near.at(rows), far.at(rows), client_rack[rows]
        is_to, is_guess, is_copy = is_to[rows], is_guess[rows], far.is_found
        is_from_far = is_copy & is_to
        values = {
            "window_s": np.zeros_like(client_rack),
            "cluster": near.cluster,
            "kind": np.where(is_copy, REPLICATE, np.where(is_to, PRODUCE, FETCH)),
            "quality": np.where(is_guess, ESTIMATED, MEASURED),
            "client_rack": client_rack,
            "broker": np.where(is_from_far, far.broker, near.broker),
            "broker_rack": np.where(is_from_far, far.rack, near.rack),
            "peer": np.where(is_copy, np.where(is_to, near.broker, far.broker), 0),
            "peer_rack": np.where(is_copy, np.where(is_to, near.rack, far.rack), 0),
        }
        return {name: key.take(groups) for name, key in packed_arrays(values, self.bits).items()}

    def _zone_rack(
        self, rows: VpcRows, places: NDArray[np.int64], is_to: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Rack code of the zone of the end that is no listener; 0 = the row names none we know.

        The zone of the interface is that of the end whose address the interface has: not that of a
        packet behind NAT.
        """
        interface, *ends = (rows.texts[name].numbers(self.zones)[places] for name in ZONES)
        direction = rows.texts["flow_direction"]
        found = []
        for end, word, zone in zip(("src", "dst"), DIRECTIONS, ends, strict=True):
            ips = (rows.known.ip[rows.codes[name][places]] for name in (end, f"own_{end}"))
            is_own = direction.is_any(word)[places] & np.equal(*ips)
            found.append(np.where((zone == 0) & is_own, interface, zone))
        return np.where(is_to, *found)


def _before_lookup(rows: VpcRows) -> Reasons:
    """The reasons that need no lookup: malformed, without data, rejected."""
    status, action = rows.texts["log_status"], rows.texts["action"]
    reasons = Reasons(rows.malformed)
    reasons.add("nodata", status.is_any(NO_DATA))
    reasons.add("skipdata", status.is_any(SKIP_DATA))
    reasons.add("rejected", ~action.is_any("ACCEPT"))
    return reasons


def _side_columns(
    batch: pa.RecordBatch, rows: VpcRows, names: Collection[str]
) -> dict[str, pa.Array]:
    """Those of `names` that give the end that logged a row; null if the row does not have it."""
    direction, codes = rows.texts["flow_direction"], rows.codes
    is_egress, is_ingress = direction.is_any("egress"), direction.is_any("ingress")
    # The code of no address is 0.
    ends = codes | {"own": codes["src"] * is_egress + codes["dst"] * is_ingress}
    ips = {f"{end}_ip": own for end, own in ends.items() if f"{end}_ip" in names}
    columns = {name: nullable(rows.known.ip.take(own)) for name, own in ips.items()}
    columns |= {name: nullable(rows.numbers[name]) for name in _SIDED if name in names}
    columns["is_egress"] = nullable(is_egress, direction.is_present)
    if "interface" in names:
        interfaces = TextColumn.of(batch.column("interface_id"), missing=MISSING)
        columns["interface"] = pa.array(_digests(interfaces))
    return columns


def _digests(column: TextColumn) -> NDArray[np.int64]:
    """A 64-bit digest of each text, 0 where the row has none; shape (n,)."""
    digests = [blake2b(name.encode(), digest_size=8).digest() for name in column.names]
    numbers = [int.from_bytes(digest, signed=True) for digest in digests]
    return np.array([*numbers, 0], dtype=np.int64)[column.codes]
