"""Facts out of the canonical format: names become codes, and every row has its fate.

The fate is what the source has settled, else the first that holds: `malformed:<column>`,
`other-day`, `superseded`, `kept`. Malformed are, in this order: a cluster that is none of the
fleet; a window_start that is missing or not from 1970-01-01 to 2149-06-06; a window_s below zero or
above a day; a kind other than produce, fetch, replicate, other; a client_address that is no
address; a client_rack that is no rack; a broker or peer broker id that the cluster does not have; a
partition below zero or above 2^31 - 1; bytes or packets below zero; an unknown source.

What an emitter said of a window it may say again with a higher revision. That replaces all it said
before, so rows of a lower revision than the highest are superseded; a missing one is 0.

The client's rack is the first that answers: the fact's own, the table of clients (by client id,
then by group, then by principal), a group member at its address, its subnet.

```
client_rack    client id    group           principal    member at 10.1.5.20    subnet
none      ->   untold  ->   told /eu/b      -            -                      -
```

All of this but the revisions is settled batch by batch, in numpy: each name is looked up once for
all rows of a batch that have it.

What this does not do: make codes for names that the fleet does not have; `names` lists them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

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
    Words,
    flags,
    longs,
    nullable,
    read_texts,
    texts_at,
)
from rackwise.pipeline.columns.clock import DAY_S, HOUR_S, LAST_SECOND, day_of
from rackwise.pipeline.columns.packing import packed_arrays
from rackwise.pipeline.fleet.listeners import Lookup, by_code
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
    from collections.abc import Iterable, Mapping
    from datetime import date

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.subnet_racks import Buckets
    from rackwise.pipeline.ingest.facts import Once

SECOND_US = 1_000_000
DEFAULT_SOURCE = "telemetry"
GREATEST = {"window_s": DAY_S, "partition": 2**31 - 1}
WORDS = ("fate", "cluster", "kind", "topic", "source")
WORDS_OF_CLIENTS = ("client_rack", "client_id", "client_group", "principal")
"""What tells a client's rack, in this order."""
NUMBERS = ("window_s", "broker_id", "peer_broker_id", "partition", "bytes", "packets")
NAMED = ("client_rack", "client_group", "topic")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def input_facts(
    bronze: DataFrame,
    fleet: Fleet,
    buckets: Buckets,
    *,
    days: tuple[date, date] | None,
    clients: Mapping[str, Mapping[str, Rack]],
    is_exact: bool,
    once: Once,
) -> DataFrame:
    """`schemas.FLOW_FACT`, `reason` and `PLACE` of every row of `schemas.BRONZE_INPUT`.

    A column of it that `bronze` does not have is null in all rows.

    `days`: first and last day, both kept. `clients`: `client_id`, `client_group` or `principal` ->
    name -> rack. `is_exact`: there is also `same`, equal for rows that are equal in all columns.
    `once`: see `flows.flow_facts`.
    """
    uris = read_files(bronze)
    numbered = with_file_numbers(_with_revisions(short_texts(bronze)), uris)
    instant = F.unix_micros("window_start").alias("window_start")
    asked = numbered.select(*(instant if n == "window_start" else n for n in numbered.columns))
    more = [StructField("window_start", LongType()), StructField("partition", LongType())]
    if is_exact:
        own = [name for name in FLOW_INPUT.names if name in asked.columns]
        asked = asked.withColumn("same", F.struct(*own))
        more.append(asked.schema["same"])
    codes = fleet.codes
    bits = fact_bits(fleet) | {
        "source": (len(SOURCES) - 1).bit_length(),
        "client": len(codes.clients).bit_length(),
        "topic": len(codes.topics).bit_length(),
    }
    columns = judged_columns(bits, more)
    judge = _Judge(
        names={
            "cluster": codes.clusters,
            "topic": codes.topics,
            "client_group": codes.clients,
        },
        told_racks=(
            (WORDS_OF_CLIENTS[0], codes.racks),
            *(
                (what, {name: codes.rack(rack) for name, rack in clients.get(what, {}).items()})
                for what in WORDS_OF_CLIENTS[1:]
            ),
        ),
        broker_ids=_BrokerIds(fleet),
        brokers=by_code(fleet),
        client_racks=ClientRacks(fleet, buckets),
        days=days,
        bits=bits,
        asked=StructType([*BRONZE_INPUT.fields, StructField("is_old", BooleanType())]),
        columns=columns,
    )
    judged = once(asked.mapInArrow(judge, columns), "row")
    return judged.select(
        *_facts(bits),
        "reason",
        file_named(uris).alias("source_file"),
        *PLACE[1:],
        *(["same"] if is_exact else ()),
    )


def names(bronze: DataFrame) -> DataFrame:
    """The names in rows that need codes, each once: `what, cluster, name`.

    `what` is client_rack, client_group or topic; `cluster` is set for topics alone.
    """
    none = F.lit(None).cast("string")
    found = F.array(
        *(
            F.struct(
                F.lit(what).alias("what"),
                (F.col("cluster") if what == "topic" else none).alias("cluster"),
                F.col(what).alias("name"),
            )
            for what in NAMED
            if what in bronze.columns
        )
    )
    named = [name for name in ("cluster", *NAMED) if name in bronze.columns]
    return (
        short_texts(bronze.select(*named))
        .distinct()
        .select(*(F.make_valid_utf8(name).alias(name) for name in named))
        .select(F.explode(found).alias("found"))
        .select("found.*")
        .where(F.col("name").isNotNull())
        .distinct()
    )


def _with_revisions(bronze: DataFrame) -> DataFrame:
    """Adds `is_old`: what a row is part of was said again with a higher revision.

    Where nobody tells emitters and revisions, no row is.
    """
    if not {"emitter", "revision"} <= {*bronze.columns}:
        return bronze
    said = F.xxhash64("emitter", F.unix_micros("window_start"))
    best = (
        bronze.where((F.col("revision") > 0) & F.col("emitter").isNotNull())
        .groupBy(said.alias("_said"))
        .agg(F.max("revision").alias("_best"))
    )
    key = F.when(F.col("emitter").isNotNull(), said)
    is_old = F.coalesce("revision", F.lit(0)) < F.col("_best")
    found = bronze.withColumn("_said", key).join(F.broadcast(best), "_said", "left")
    return found.withColumn("is_old", is_old).drop("_said", "_best")


def _facts(bits: Mapping[str, int]) -> list[Column]:
    """The columns of `schemas.FLOW_FACT`; of a row that is malformed most are null."""
    at = F.timestamp_micros("window_start")
    return fact_columns(bits, {"window_start": at, "day": day_of(F.unix_seconds(at))})


class _BrokerIds:
    """Codes of brokers by cluster code and id."""

    def __init__(self, fleet: Fleet) -> None:
        codes = fleet.codes
        places = [(codes.clusters[cluster], id_) for cluster, id_ in codes.brokers]
        self._index = PairIndex((id_ for _, id_ in places), (cluster for cluster, _ in places))
        self._codes = np.array([*codes.brokers.values(), 0], dtype=np.int64)

    def find(self, cluster: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The code of each, 0 where there is no such broker; shape (n,)."""
        return self._codes[self._index.find(ids, cluster)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge(Judge):
    """Judges canonical rows.

    `names`: column -> name -> code. `told_racks`: columns by which racks are told, in their order,
    each with name -> rack code.
    """

    names: Mapping[str, Mapping[str, int]]
    told_racks: tuple[tuple[str, Mapping[str, int]], ...]
    broker_ids: _BrokerIds
    brokers: Lookup

    @override
    def judged(self, batch: pa.RecordBatch, reader: AddressReader) -> dict[str, pa.Array]:
        """The columns of the facts."""
        rows = self._read(batch, reader)
        reasons = _malformed(rows)
        is_sound = reasons.is_open
        self.add_other_day(reasons, rows.start)
        reasons.add("superseded", flags(batch.column("is_old")))
        reasons.add(KEPT, reasons.is_open)
        words = reasons.words()
        is_copy = rows.codes["kind"] == REPLICATE
        ip = np.where(is_copy, NONE, rows.ip)
        facts = {name: np.where(is_sound, values, 0) for name, values in self._placed(rows).items()}
        made = {
            **{n: nullable(v, is_sound) for n, v in packed_arrays(facts, self.bits).items()},
            **{n: nullable(rows.numbers[n]) for n in ("bytes", "packets")},
            "partition": nullable(rows.numbers["partition"], is_sound & rows.is_given["partition"]),
            **{n: batch.column(n) for n in ("window_start", "file", *PLACE[:2])},
            "client_ip": nullable(ip),
            "reason": words.strings(),
            "raw": _raw(batch, words),
        }
        if "same" in self.columns.names:
            made["same"] = batch.column("same")
        return made

    def _read(self, batch: pa.RecordBatch, reader: AddressReader) -> _Rows:
        words = {name: Words.of(batch.column(name)) for name in (*WORDS, *WORDS_OF_CLIENTS)}
        numbers = {name: longs(batch.column(name)) for name in NUMBERS}
        is_given = {
            name: flags(pc.is_valid(batch.column(name))) for name in (*NUMBERS, "client_address")
        }
        codes = {name: words[name].numbers(known) for name, known in self.names.items()}
        kinds = {kind: code for code, kind in enumerate(KINDS)}
        codes["kind"] = words["kind"].numbers(kinds, unknown=-1)
        sources = {source: code for code, source in enumerate(SOURCES) if source}
        codes["source"] = np.where(
            words["source"].is_given, words["source"].numbers(sources), sources[DEFAULT_SOURCE]
        )
        for name, into in (("broker_id", "broker"), ("peer_broker_id", "peer")):
            codes[into] = self.broker_ids.find(codes["cluster"], numbers[name])
        ip, prefix, places = reader.read_distinct(batch.column("client_address"))
        return _Rows(
            words=words,
            numbers=numbers,
            is_given=is_given,
            codes=codes,
            start=longs(batch.column("window_start")) // SECOND_US,
            ip=ip[places],
            subnet_rack=self.client_racks.by_subnet(ip, prefix)[places],
        )

    def _placed(self, rows: _Rows) -> dict[str, NDArray[np.int64]]:
        """What of the facts is packed; of rows that are not sound no matter what."""
        cluster, hours = rows.codes["cluster"], np.maximum(rows.start, 0) // HOUR_S
        is_copy = rows.codes["kind"] == REPLICATE
        near = self.brokers.find(rows.codes["broker"], cluster, hours)
        far = self.brokers.find(np.where(is_copy, rows.codes["peer"], 0), cluster, hours)
        is_guess = near.is_estimated(hours) | (is_copy & far.is_estimated(hours))
        client_rack = np.zeros_like(cluster)
        for name, known in self.told_racks:
            if not known:
                continue
            found = rows.words[name].numbers(known)
            client_rack = np.where(client_rack == 0, found, client_rack)
        found = self.client_racks.by_member(rows.ip, cluster, rows.subnet_rack)
        client_rack = np.where(client_rack == 0, found, client_rack)
        return {
            "kind": rows.codes["kind"],
            "quality": np.where(is_guess, ESTIMATED, MEASURED),
            "window_s": np.maximum(rows.numbers["window_s"], 0),
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
class _Rows:
    """Rows as arrays of shape (n,).

    `numbers`: from 0; -1 where one is below or missing, which `is_given` tells. `codes`: 0 where a
    name is unknown, of `kind` -1. `start`: epoch second, -1 where it is missing or below 0. `ip`:
    of the client, as in `addresses`. `subnet_rack`: code of its subnet's rack, 0 of none.
    """

    words: Mapping[str, Words]
    numbers: Mapping[str, NDArray[np.int64]]
    is_given: Mapping[str, NDArray[np.bool_]]
    codes: Mapping[str, NDArray[np.int64]]
    start: NDArray[np.int64]
    ip: NDArray[np.int64]
    subnet_rack: NDArray[np.int64]


def _malformed(rows: _Rows) -> Reasons:
    """What the source has settled, else the first column that is wrong."""
    codes, is_given = rows.codes, rows.is_given

    def is_out(name: str) -> NDArray[np.bool_]:
        number = rows.numbers[name]
        return is_given[name] & ((number < 0) | (number > GREATEST.get(name, number)))

    racks = rows.words["client_rack"]
    reasons = Reasons(rows.words["fate"])
    for column, is_wrong in (
        ("cluster", codes["cluster"] == 0),
        ("window_start", (rows.start < 0) | (rows.start > LAST_SECOND)),
        ("window_s", is_out("window_s")),
        ("kind", codes["kind"] < 0),
        ("client_address", is_given["client_address"] & (rows.ip == NONE)),
        ("client_rack", racks.is_any(*(name for name in racks.names if not Rack(name).is_sound))),
        ("broker_id", codes["broker"] == 0),
        ("peer_broker_id", is_given["peer_broker_id"] & (codes["peer"] == 0)),
        ("partition", is_out("partition")),
        ("bytes", rows.numbers["bytes"] < 0),
        ("packets", is_out("packets")),
        ("source", codes["source"] == 0),
    ):
        reasons.add(f"{MALFORMED}{column}", is_wrong)
    return reasons


def _raw(batch: pa.RecordBatch, reasons: Words) -> pa.Array:
    """Of malformed rows the line where there is one, else the columns as JSON."""
    is_malformed = [name.startswith(MALFORMED) for name in reasons.names]
    places = np.flatnonzero(np.array(is_malformed, dtype=np.bool_)[reasons.codes])
    bad = batch.take(pa.array(places))
    lines = read_texts(bad.column("raw"))
    cells = zip(*(read_texts(bad.column(name)) for name in FLOW_INPUT.names), strict=True)
    made = [
        line if line is not None else _as_json(row) for line, row in zip(lines, cells, strict=True)
    ]
    return texts_at(places, made, batch.num_rows)


def _as_json(cells: Iterable[str | int | None]) -> str:
    row = {n: cell for n, cell in zip(FLOW_INPUT.names, cells, strict=True) if cell is not None}
    if isinstance(at := row.get("window_start"), int):
        row["window_start"] = _instant(at)
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))[:LONGEST_TEXT]


def _instant(micros: int) -> str | int:
    """As text; as the number where no calendar holds it."""
    try:
        return (EPOCH + timedelta(microseconds=micros)).isoformat()
    except OverflowError:
        return micros
