"""Facts from canonical flows: names become codes, and every row gets a reason.

The reason is the `outcome` that the source has set, if any; else it is the first of these that
holds: `malformed:<column>`, `other-day`, `superseded`, `kept`. A row is malformed, in this order,
when

- the cluster is not in the fleet;
- window_start is missing, or not from 1970-01-01 to 2149-06-06;
- window_s is below zero or above a day;
- kind is not produce, fetch, replicate or other;
- client_address is not an IP address; client_rack is not a rack;
- the cluster has no broker of the broker id or the peer broker id;
- partition is below zero or above 2^31 - 1; bytes or packets are below zero;
- the source is unknown.

An emitter may send a window again with a higher revision. The higher revision replaces all rows of
the lower ones: those are superseded. A missing revision is 0. Tasks that read files find these rows
with a first pass over the files (`revisions`), Spark finds them in a frame with a join.

The client's rack is the first of these that is known: the row's own, the table of clients (by
client id, then by group, then by principal), the address table, a group member at the client's
address, its subnet.

```
client_rack    client id        group          principal    member at 10.1.5.20    subnet
missing   ->   not listed  ->   has /eu/b      -            -                      -
```

All of this except that join happens in numpy, batch by batch. Each name of a batch is looked up
once, for all rows that have it.

What this does not do: create codes for names that the fleet lacks; `names` lists them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import BooleanType, LongType, StructField, StructType

from rackwise.core.override import override
from rackwise.core.racks import Rack
from rackwise.pipeline.columns.addresses import NONE, AddressReader, PairIndex
from rackwise.pipeline.columns.arrays import (
    Reasons,
    TextColumn,
    flags,
    longs,
    nullable,
    read_texts,
    texts_at,
)
from rackwise.pipeline.columns.clock import DAY_S, LAST_SECOND, day_of
from rackwise.pipeline.columns.packing import packed_arrays
from rackwise.pipeline.fleet.listeners import BrokerLookup, by_code
from rackwise.pipeline.fleet.members import ClientRacks
from rackwise.pipeline.ingest.facts import (
    PLACE,
    FactBuilder,
    FactInput,
    fact_bits,
    packed_columns,
    short_texts,
)
from rackwise.pipeline.ingest.files import file_named, read_files, with_file_numbers
from rackwise.pipeline.ingest.revisions import BestRevisions, best_revisions
from rackwise.pipeline.ingest.row_outcomes import KEPT, MALFORMED
from rackwise.pipeline.schemas import (
    BRONZE_INPUT,
    ESTIMATED,
    FLOW_INPUT,
    KINDS,
    LONGEST_TEXT,
    MEASURED,
    REPLICATE,
    SOURCES,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets
    from rackwise.pipeline.ingest.facts import Persist
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.runtime.engine import Engine

SECOND_US = 1_000_000
DEFAULT_SOURCE = "telemetry"
GREATEST = {"window_s": DAY_S, "partition": 2**31 - 1}
TEXTS = ("outcome", "cluster", "kind", "topic", "source")
CLIENT_TEXTS = ("client_rack", "client_id", "client_group", "principal")
"""Columns that give a client's rack, in order of precedence."""
CODED_TEXTS = ("client_rack", "client_group")
"""Those of them that every row is judged by."""
NUMBERS = ("window_s", "broker_id", "peer_broker_id", "partition", "bytes", "packets")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def canonical_input(
    bronze: DataFrame | None,
    fleet: Fleet,
    buckets: Buckets,
    *,
    days: tuple[date, date] | None,
    clients: Mapping[str, Mapping[str, Rack]],
    is_exact: bool,
    uris: Sequence[str] = (),
) -> FactInput:
    """What turns rows of `schemas.BRONZE_INPUT` into facts.

    A column that `bronze` lacks is null in all rows. With `is_exact`, facts also have `same`, which
    is equal for rows that are equal in all columns. `bronze` is None where tasks read all files;
    `uris` are these then. For the other arguments, see `formats.flow_facts`.
    """
    uris = tuple(uris) if bronze is None else read_files(bronze)
    more = [StructField("window_start", LongType()), StructField("partition", LongType())]
    needed: DataFrame | None = None
    if bronze is not None:
        numbered = with_file_numbers(_with_revisions(short_texts(bronze)), uris)
        instant = F.unix_micros("window_start").alias("window_start")
        needed = numbered.select(*(instant if n == "window_start" else n for n in numbered.columns))
        if is_exact:
            own = [name for name in FLOW_INPUT.names if name in needed.columns]
            needed = needed.withColumn("same", F.struct(*own))
            more.append(needed.schema["same"])
    codes = fleet.codes
    bits = fact_bits(fleet) | {
        "source": (len(SOURCES) - 1).bit_length(),
        "client": len(codes.clients).bit_length(),
        "topic": len(codes.topics).bit_length(),
    }
    columns = packed_columns(bits, more)
    builder = _CanonicalBuilder(
        names={
            "cluster": fleet.cluster_codes,
            "topic": codes.topics,
            "client_group": codes.clients,
        },
        rack_columns=(
            (CLIENT_TEXTS[0], codes.racks),
            *(
                (what, {name: codes.rack(rack) for name, rack in clients.get(what, {}).items()})
                for what in CLIENT_TEXTS[1:]
            ),
        ),
        broker_ids=_BrokerIds(fleet),
        brokers=by_code(fleet),
        client_racks=ClientRacks(fleet, buckets),
        days=days,
        bits=bits,
        needed=StructType([*BRONZE_INPUT.fields, StructField("is_old", BooleanType())]),
        columns=columns,
        has_revisions=bronze is None or _has_revisions(bronze.columns),
    )
    return FactInput(
        rows=needed,
        builder=builder,
        uris=uris,
        constants={},
        compares_rows=is_exact,
    )


def canonical_facts(given: FactInput, *, store: Persist) -> DataFrame:
    """`schemas.FLOW_FACT`, `reason` and `PLACE` of every row of `canonical_input`, and `same`."""
    columns = given.builder.columns
    facts = store(given.rows.mapInArrow(given.builder, columns), "row")
    at = F.timestamp_micros("window_start")
    return facts.select(
        *given.columns({"window_start": at, "day": day_of(F.unix_seconds(at))}),
        "reason",
        file_named(given.uris).alias("source_file"),
        *PLACE[1:],
        *(["same"] if given.compares_rows else ()),
    )


def _with_revisions(bronze: DataFrame) -> DataFrame:
    """Adds `is_old`: whether the row's emitter sent its window again with a higher revision.

    Where rows have no emitter and revision, none is old.
    """
    if not _has_revisions(bronze.columns):
        return bronze
    window = F.xxhash64("emitter", F.unix_micros("window_start"))
    best = (
        bronze.where((F.col("revision") > 0) & F.col("emitter").isNotNull())
        .groupBy(window.alias("_window"))
        .agg(F.max("revision").alias("_best"))
    )
    key = F.when(F.col("emitter").isNotNull(), window)
    is_old = F.coalesce("revision", F.lit(0)) < F.col("_best")
    found = bronze.withColumn("_window", key).join(F.broadcast(best), "_window", "left")
    return found.withColumn("is_old", is_old).drop("_window", "_best")


def _has_revisions(columns: Iterable[str]) -> bool:
    """Whether emitters can have sent windows again, in rows with these columns."""
    return {"emitter", "revision"} <= {*columns}


class _BrokerIds:
    """Codes of brokers by cluster code and id."""

    def __init__(self, fleet: Fleet) -> None:
        codes = fleet.codes
        places = [(codes.clusters[cluster], id_) for cluster, id_ in codes.brokers]
        self._index = PairIndex((id_ for _, id_ in places), (cluster for cluster, _ in places))
        self._codes = np.array([*codes.brokers.values(), 0], dtype=np.int64)

    def find(self, cluster: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The code of each broker, 0 where it does not exist; shape (n,)."""
        return self._codes[self._index.find(ids, cluster)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _CanonicalBuilder(FactBuilder):
    """Builds facts from canonical rows."""

    coded: ClassVar[tuple[str, ...]] = (*TEXTS, *CLIENT_TEXTS, "client_address", "emitter")
    names: Mapping[str, Mapping[str, int]]
    """Column -> name -> code."""
    rack_columns: tuple[tuple[str, Mapping[str, int]], ...]
    """Columns that give a client's rack, in order of precedence, each with name -> rack code."""
    broker_ids: _BrokerIds
    brokers: BrokerLookup
    """Brokers by code and cluster."""
    has_revisions: bool
    """Whether emitters can have sent windows again."""
    best: BestRevisions | None = None
    """The windows that were sent again; None if rows have `is_old`."""

    @override
    def after_first_pass(self, engine: Engine, files: Sequence[FlowFile]) -> FactBuilder:
        """The builder with the windows that were sent again."""
        return replace(self, best=best_revisions(engine, files)) if self.has_revisions else self

    @override
    def build(self, batch: pa.RecordBatch, reader: AddressReader) -> dict[str, pa.Array]:
        """The columns of the facts."""
        rows = self._parse(batch, reader)
        reasons = _malformed(rows)
        is_sound = reasons.is_open
        self.add_other_day(reasons, rows.start)
        is_old = flags(batch.column("is_old")) if self.best is None else self.best.are_higher(batch)
        reasons.add("superseded", is_old)
        reasons.add(KEPT, reasons.is_open)
        texts = reasons.column()
        is_copy = rows.codes["kind"] == REPLICATE
        ip = np.where(is_copy, NONE, rows.ip)
        facts = {name: values * is_sound for name, values in self._packed_values(rows).items()}
        facts_of_batch = {
            **{n: nullable(v, is_sound) for n, v in packed_arrays(facts, self.bits).items()},
            **{n: nullable(rows.numbers[n]) for n in ("bytes", "packets")},
            "partition": nullable(
                rows.numbers["partition"], is_sound & rows.is_present["partition"]
            ),
            **{n: batch.column(n) for n in ("window_start", "file", *PLACE[:2])},
            "client_ip": nullable(ip),
            "reason": texts.coded(),
            "raw": _raw(batch, texts),
        }
        if "same" in self.columns.names:
            facts_of_batch["same"] = batch.column("same")
        return facts_of_batch

    @override
    def starts(self, facts: Mapping[str, pa.Array]) -> pa.Array:
        """The start of each of these facts, in epoch seconds; null if it is not known."""
        return pc.divide(facts["window_start"], SECOND_US)

    def _parse(self, batch: pa.RecordBatch, reader: AddressReader) -> _CanonicalRows:
        used = {name for name, known in self.rack_columns if known}
        names = (*TEXTS, *CODED_TEXTS, *(used - {*CODED_TEXTS}))
        texts = {name: TextColumn.of(batch.column(name)) for name in names}
        numbers = {name: longs(batch.column(name)) for name in NUMBERS}
        is_present = {
            name: flags(pc.is_valid(batch.column(name))) for name in (*NUMBERS, "client_address")
        }
        codes = {name: texts[name].numbers(known) for name, known in self.names.items()}
        kinds = {kind: code for code, kind in enumerate(KINDS)}
        codes["kind"] = texts["kind"].numbers(kinds, unknown=-1)
        sources = {source: code for code, source in enumerate(SOURCES) if source}
        codes["source"] = np.where(
            texts["source"].is_present, texts["source"].numbers(sources), sources[DEFAULT_SOURCE]
        )
        for name, into in (("broker_id", "broker"), ("peer_broker_id", "peer")):
            codes[into] = self.broker_ids.find(codes["cluster"], numbers[name])
        reader.begin_batch()
        addresses = reader.codes(batch.column("client_address"))
        return _CanonicalRows(
            texts=texts,
            numbers=numbers,
            is_present=is_present,
            codes=codes,
            start=longs(batch.column("window_start")) // SECOND_US,
            ip=reader.ip.take(addresses),
            subnet_rack=reader.by_code("subnet", self.client_racks.by_subnet).take(addresses),
        )

    def _packed_values(self, rows: _CanonicalRows) -> dict[str, NDArray[np.int64]]:
        """The fields of the packed key, shape (n,) each; arbitrary for malformed rows."""
        cluster, start_s = rows.codes["cluster"], np.maximum(rows.start, 0)
        is_copy = rows.codes["kind"] == REPLICATE
        # `near` is the broker of the row, `far` the receiver of a replicate flow.
        near = self.brokers.find(rows.codes["broker"], cluster, start_s)
        far = self.brokers.find(np.where(is_copy, rows.codes["peer"], 0), cluster, start_s)
        is_guess = near.is_estimated(start_s) | (is_copy & far.is_estimated(start_s))
        client_rack = np.zeros_like(cluster)  # shape (n,), filled in order of precedence
        for name, known in self.rack_columns:
            if not known:
                continue
            found = rows.texts[name].numbers(known)
            client_rack = np.where(client_rack == 0, found, client_rack)
        window_s = np.maximum(rows.numbers["window_s"], 0)
        found = self.client_racks.by_member(rows.ip, cluster, rows.subnet_rack)
        found = self.client_racks.by_address(rows.ip, start_s, start_s + window_s, found)
        client_rack = np.where(client_rack == 0, found, client_rack)
        return {
            "kind": rows.codes["kind"],
            "quality": np.where(is_guess, ESTIMATED, MEASURED),
            "window_s": window_s,
            "cluster": cluster,
            "broker": rows.codes["broker"],
            "broker_rack": near.rack,
            "peer": np.where(is_copy, rows.codes["peer"], 0),
            "peer_rack": far.rack,
            "client_rack": np.where(is_copy, 0, client_rack),
            "source": rows.codes["source"],
            "client": rows.codes["client_group"],
            "topic": rows.codes["topic"],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class _CanonicalRows:
    """A batch of n rows; every array has shape (n,)."""

    texts: Mapping[str, TextColumn]
    numbers: Mapping[str, NDArray[np.int64]]
    """From 0, in the column's unit; -1 for a negative or missing value, see `is_present`."""
    is_present: Mapping[str, NDArray[np.bool_]]
    """Whether the column has a value."""
    codes: Mapping[str, NDArray[np.int64]]
    """0 where a name is unknown; an unknown `kind` is -1."""
    start: NDArray[np.int64]
    """Epoch second of the window; -1 where it is missing or negative."""
    ip: NDArray[np.int64]
    """The client's address, as in `addresses`."""
    subnet_rack: NDArray[np.int64]
    """Rack code of the client's subnet; 0 where no subnet holds the address."""


def _malformed(rows: _CanonicalRows) -> Reasons:
    """The outcome that the row has, else the first column that is wrong."""
    codes, is_present = rows.codes, rows.is_present

    def is_out_of_range(name: str) -> NDArray[np.bool_]:
        number = rows.numbers[name]
        return is_present[name] & ((number < 0) | (number > GREATEST.get(name, number)))

    racks = rows.texts["client_rack"]
    reasons = Reasons(rows.texts["outcome"])
    for column, is_wrong in (
        ("cluster", codes["cluster"] == 0),
        ("window_start", (rows.start < 0) | (rows.start > LAST_SECOND)),
        ("window_s", is_out_of_range("window_s")),
        ("kind", codes["kind"] < 0),
        ("client_address", is_present["client_address"] & (rows.ip == NONE)),
        ("client_rack", racks.is_any(*(name for name in racks.names if not Rack(name).is_sound))),
        ("broker_id", codes["broker"] == 0),
        ("peer_broker_id", is_present["peer_broker_id"] & (codes["peer"] == 0)),
        ("partition", is_out_of_range("partition")),
        ("bytes", rows.numbers["bytes"] < 0),
        ("packets", is_out_of_range("packets")),
        ("source", codes["source"] == 0),
    ):
        reasons.add(f"{MALFORMED}{column}", is_wrong)
    return reasons


def _raw(batch: pa.RecordBatch, reasons: TextColumn) -> pa.Array:
    """Malformed rows as text: the line where there is one, else the columns as JSON."""
    is_malformed = [name.startswith(MALFORMED) for name in reasons.names]
    places = np.flatnonzero(np.array(is_malformed, dtype=np.bool_)[reasons.codes])
    if not len(places):
        return pa.nulls(batch.num_rows, pa.string())
    bad = batch.take(pa.array(places))
    lines = read_texts(bad.column("raw"))
    cells = zip(*(read_texts(bad.column(name)) for name in FLOW_INPUT.names), strict=True)
    shown = [
        line if line is not None else _as_json(row) for line, row in zip(lines, cells, strict=True)
    ]
    return texts_at(places, shown, batch.num_rows)


def _as_json(cells: Iterable[str | int | None]) -> str:
    row = {n: cell for n, cell in zip(FLOW_INPUT.names, cells, strict=True) if cell is not None}
    if isinstance(at := row.get("window_start"), int):
        row["window_start"] = _instant(at)
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))[:LONGEST_TEXT]


def _instant(micros: int) -> str | int:
    """The instant as text, or as its number where no calendar has it."""
    try:
        return (EPOCH + timedelta(microseconds=micros)).isoformat()
    except OverflowError:
        return micros
