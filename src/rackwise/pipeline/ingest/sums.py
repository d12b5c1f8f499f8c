"""Adds up facts in the tasks that read their rows, so that no row leaves Python.

Goals, in order: the sums equal those of row-level facts to the byte; a task keeps only its sums in
memory; one pass over the files.

```
a task      rows -> facts of a batch -> sums of the batch -> sums of the task
SUM         bytes and rows of kept facts by day, kind, ends, client; of other rows by reason
LOGGED      addresses whose interfaces are logged, by day
BAD         malformed rows, one by one
COUNT       rows and bytes that the task read, counted apart from the facts
```

Whether a flow was logged by the other side, too, depends on all files. So the sums of such rows
have the address of the other side (`side_ip`), and Spark compares it with LOGGED afterwards:

```
K -> broker  ingress rows of source K    SUM with side_ip K    K is in LOGGED: duplicate-side
U -> broker  ingress rows of source U    SUM with side_ip U    U is not: kept
```

A fact has the address of a client only if members of a group are there, because only those
addresses decide about topics (`bill.traffic`). Times, packets and partitions are not kept.

Limits: rows without a direction, and `--dedupe exact`, compare rows with each other. They become
row-level facts first (`summed_facts`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import ByteType, IntegerType, LongType, StringType, StructField, StructType

from rackwise.pipeline.columns.addresses import AddressReader, PairIndex
from rackwise.pipeline.columns.arrays import (
    Reasons,
    TextColumn,
    as_batch,
    flags,
    is_valid,
    keep_freed_memory,
    nullable,
    with_nulls,
)
from rackwise.pipeline.columns.clock import DAY_S
from rackwise.pipeline.columns.groups import Groups, whole_longs
from rackwise.pipeline.columns.packing import key_names, place_of, unpacked_arrays
from rackwise.pipeline.fleet.members import member_places
from rackwise.pipeline.ingest.facts import packed_columns
from rackwise.pipeline.ingest.row_outcomes import KEPT, MALFORMED
from rackwise.pipeline.ingest.splits import SplitReader, are_dealt, dealt_splits
from rackwise.pipeline.ingest.vpc_duplicates import DUPLICATE
from rackwise.pipeline.ingest.vpc_rows import OK
from rackwise.pipeline.schemas import FLOW_FACT, FLOW_SUM, KINDS, QUARANTINE, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.ingest.facts import FactBuilder, FactInput
    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.ingest.formats.base import FactOptions
    from rackwise.pipeline.ingest.vpc_duplicates import Side
    from rackwise.pipeline.runtime.engine import Engine, Rows

SUM, LOGGED, BAD, COUNT = range(4)
"""The values of `what`."""
HALF_BITS = 32
"""Bits of each half of a long in exact sums; 2^31 rows do not overflow them."""
LOW = (1 << HALF_BITS) - 1
NUMBER = r"^[0-9]+$"
LONGEST_NUMBER = 18
"""Every number of this many digits fits into a long."""
GREATEST = 2**63 - 1

OUTCOME = ("file", "source_file", "reason")
"""Columns by which the rows of all outcomes are counted."""
MEASURES = ("rows", "high", "low", "first", "last")
SIDE_FACTS = ("is_egress", "start", "src_ip", "own_ip")
"""Further columns of a fact that sums need; see `vpc_facts`."""
NOT_SUMMED = ("window_start", "window_s", "partition", "packets")
"""Columns of FLOW_FACT that sums do not have."""
SUMMED = StructType(
    [
        *(field for field in FLOW_SUM.fields if field.name != "rows"),
        StructField("source_file", StringType()),
        StructField("reason", StringType()),
        *(StructField(name, LongType()) for name in MEASURES),
    ]
)
"""Sums of rows of all outcomes: FLOW_SUM, the file, the reason and `MEASURES`."""
OUTCOME_SUM = StructType(
    [field for field in SUMMED if field.name in {"source_file", "reason", *MEASURES}]
)
"""The measures of a file and a reason."""
LOGGED_ADDRESS = StructType(
    [StructField("client_ip", LongType()), StructField("day", IntegerType())]
)
_COUNTS = StructType([StructField(name, LongType()) for name in ("rows", "high", "low", "lacking")])


def halves(number: Column) -> tuple[Column, Column]:
    """The sum of longs from 0 as two longs, `high` and `low`."""
    long = number.cast("long")
    low = long.bitwiseAND(F.lit(LOW))
    return F.sum(F.shiftright(long, HALF_BITS)).alias("high"), F.sum(low).alias("low")


def task_columns(bits: Mapping[str, int]) -> StructType:
    """The columns that leave a task; a column that a row does not need is null."""
    longs = (*key_names(bits), "client_ip", "side_ip", *MEASURES, "row_offset", "bytes", "lacking")
    return StructType(
        [
            StructField("what", ByteType()),
            StructField("file", IntegerType()),
            StructField("source_file", StringType()),
            StructField("reason", StringType()),
            StructField("day", IntegerType()),
            *(StructField(name, LongType()) for name in longs),
            StructField("raw", StringType()),
        ]
    )


def sums_by_task(
    engine: Engine, given: FactInput, fleet: Fleet, options: FactOptions, files: Sequence[FlowFile]
) -> Rows:
    """`task_columns` of all tasks; `files`: the flow files."""
    places = member_places(fleet)
    further = [field for field in given.builder.columns if field.name in SIDE_FACTS]
    builder = SumBuilder(
        facts=replace(given.builder, columns=packed_columns(given.builder.bits, further)),
        side=given.side,
        members=PairIndex((ip for _, ip in places), (cluster for cluster, _ in places)),
        columns=task_columns(given.builder.bits),
        count_rows=options.count_rows,
    )
    if not given.is_by_file or not are_dealt(files, deals_text=given.deals_text):
        return engine.map(given.rows, builder, builder.columns)
    builder = replace(builder, facts=builder.facts.after_first_pass(engine, files))
    reader = SplitReader(
        needed=given.builder.needed,
        coded=given.builder.coded,
        numbers=given.builder.numbers,
        work=builder,
    )
    return engine.map(dealt_splits(engine, files, given.uris), reader, builder.columns)


def flow_sums(engine: Engine, by_task: Rows, given: FactInput) -> tuple[Rows, Rows]:
    """SUMMED and OUTCOME_SUM of `sums_by_task`. The reason is final.

    A key, or a file and reason, may have several rows: those of several tasks, and parts of a task.
    """
    places: set[tuple[int, int]] = set()
    if given.side == "auto":
        rows = engine.where(by_task, "what", LOGGED)
        logged = engine.collect(engine.map(rows, distinct_logged, LOGGED_ADDRESS))
        places |= {*zip(*logged.to_pydict().values(), strict=True)}
    final = FinalSums(
        bits=given.builder.bits,
        constants={name: value or 0 for name, value in given.constants.items()},
        uris=given.uris,
        logged=PairIndex((ip for ip, _ in places), (day for _, day in places)),
    )
    sums = engine.where(by_task, "what", SUM)
    return engine.map(sums, final, SUMMED), engine.map(sums, final.by_outcome, OUTCOME_SUM)


def outcome_sums(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of a task: rows of OUTCOME_SUM in, each file and reason once out."""
    groups = Groups(["source_file", "reason"], MEASURES)
    for found in batches:
        groups.add(pa.table({name: found.column(name) for name in OUTCOME_SUM.names}))
    yield from groups.take()


def distinct_logged(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of a task: rows LOGGED in, LOGGED_ADDRESS out."""
    groups = Groups(LOGGED_ADDRESS.names)
    for found in batches:
        groups.add(pa.table({name: found.column(name) for name in LOGGED_ADDRESS.names}))
    yield from groups.take()


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalSums:
    """The work of a task: rows SUM in, SUMMED out."""

    bits: Mapping[str, int]
    constants: Mapping[str, int]
    """Columns of FLOW_SUM that are no fields of the key, and their value."""
    uris: tuple[str, ...]
    """The files with a number."""
    logged: PairIndex
    """Addresses and days that are logged."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The sums, with names of files and final reasons."""
        schema = arrow_schema(SUMMED)
        uris = pa.array(self.uris, pa.string())
        for found in batches:
            keys = {name: whole_longs(found.column(name)) for name in key_names(self.bits)}
            fields = unpacked_arrays(keys, self.bits)
            fields |= {
                name: np.full(found.num_rows, value) for name, value in self.constants.items()
            }
            high, low = (whole_longs(found.column(name)) for name in ("high", "low"))
            columns = {
                **{name: found.column(name) for name in ("day", "client_ip", *MEASURES)},
                **{name: pa.array(values) for name, values in fields.items()},
                "source_file": pc.coalesce(uris.take(found.column("file")), found["source_file"]),
                "reason": pc.coalesce(found.column("reason"), self._open_reasons(found)),
                "bytes": pa.array((high << HALF_BITS) + low),
            }
            yield as_batch(columns, schema, found.num_rows)

    def by_outcome(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The work of a task: rows SUM in, OUTCOME_SUM out."""
        return outcome_sums(self(batches))

    def _open_reasons(self, found: pa.RecordBatch) -> pa.Array:
        """Whether the other side logged each row, too, as a reason."""
        ips, days = (whole_longs(found.column(name)) for name in ("side_ip", "day"))
        is_sided = is_valid(found.column("side_ip"))
        is_duplicate = is_sided & (self.logged.find(ips, days) >= 0)
        return pa.array([KEPT, DUPLICATE], pa.string()).take(pa.array(is_duplicate.astype(int)))


@dataclass(frozen=True, slots=True)
class RowCounts:
    """What the files hold, counted apart from the facts."""

    rows: int
    bytes: int
    """Sum of the bytes that are a number from 0."""
    lacking: int = 0
    """Rows with data that do not say which side logged them, if the format has sides."""


def task_counts(engine: Engine, by_task: Rows) -> RowCounts:
    """The counts of all tasks."""
    counted = engine.where(by_task, "what", COUNT)
    rows = engine.collect(engine.map(counted, _counts, _COUNTS)).to_pylist()
    sums = {name: sum(row[name] for row in rows) for name in _COUNTS.names}
    return RowCounts(sums["rows"], (sums["high"] << HALF_BITS) + sums["low"], sums["lacking"])


def _counts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield batch.select(_COUNTS.names)


def bad_rows(engine: Engine, by_task: Rows, given: FactInput) -> Rows:
    """QUARANTINE of `sums_by_task`."""
    bad = engine.where(by_task, "what", BAD)
    return engine.map(bad, BadRows(uris=given.uris), QUARANTINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRows:
    """The work of a task: rows BAD in, QUARANTINE out."""

    uris: tuple[str, ...]
    """The files with a number."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The malformed rows, with names of files."""
        uris = pa.array(self.uris, pa.string())
        for found in batches:
            names = ("row_offset", "reason", "bytes", "raw")
            columns = {name: found.column(name) for name in names}
            name = pc.coalesce(uris.take(found.column("file")), found.column("source_file"))
            yield as_batch(columns | {"source_file": name}, arrow_schema(QUARANTINE), len(name))


def summed_facts(facts: DataFrame, fleet: Fleet) -> DataFrame:
    """The same columns as `flow_sums` from row-level facts with reasons."""
    places = facts.sparkSession.createDataFrame(
        member_places(fleet), "_cluster int, _ip long"
    ).withColumn("_is_member", F.lit(1) == 1)
    is_there = (F.col("cluster") == F.col("_cluster")) & (F.col("client_ip") == F.col("_ip"))
    found = facts.join(F.broadcast(places), is_there, "left").withColumn(
        "client_ip", F.when(F.col("_is_member"), F.col("client_ip"))
    )
    start = F.unix_seconds("window_start")
    kept = F.col("reason") == KEPT
    names = [name for name in FLOW_FACT.names if name not in {*NOT_SUMMED, "bytes"}]
    keys = [F.when(kept, F.col(name)).alias(name) for name in names]
    return (
        found.groupBy("source_file", "reason", *keys)
        .agg(
            F.count("*").alias("rows"),
            *halves(F.col("bytes")),
            F.min(F.when(kept, start)).alias("first"),
            F.max(F.when(kept, start + F.coalesce("window_s", F.lit(0)))).alias("last"),
        )
        .withColumn("bytes", F.shiftleft("high", HALF_BITS) + F.col("low"))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SumBuilder:
    """Turns batches of rows into sums; Spark sends it to the workers."""

    facts: FactBuilder
    side: Side | None
    """Which of two logs of a flow counts; None if a flow has one log."""
    members: PairIndex
    """Addresses and clusters of group members."""
    columns: StructType
    """The columns of the result, see `task_columns`."""
    count_rows: Callable[[int], None] | None = None
    """Receives the number of rows of each batch."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The malformed rows of each batch, then all sums."""
        keep_freed_memory()
        reader = AddressReader()
        needed, result = (arrow_schema(columns) for columns in (self.facts.needed, self.columns))
        sums = Groups(
            [*OUTCOME, "day", *key_names(self.facts.bits), "client_ip", "side_ip"], MEASURES
        )
        logged = Groups(["client_ip", "day"])
        rows = high = low = lacking = 0
        for batch in batches:
            whole = with_nulls(batch, needed)
            rows += batch.num_rows
            if self.count_rows is not None:
                self.count_rows(batch.num_rows)
            high_part, low_part = raw_bytes(whole.column("bytes"))
            high, low = high + high_part, low + low_part
            facts = self.facts.build(whole, reader)
            starts = self.facts.starts(facts)
            sums.add(self._keyed(facts, starts))
            if self.side is not None:
                lacking += _lacking(whole.column("log_status"), facts["is_egress"])
            if self.side == "auto":
                logged.add(_own(facts["own_ip"], starts))
            if (bad := _bad(facts)) is not None:
                yield as_batch(bad, result, len(bad["reason"]))
            for groups, what in ((sums, SUM), (logged, LOGGED)):
                if groups.is_full:
                    yield from _batches(groups, what, result)
        counts = {"rows": rows, "high": high, "low": low, "lacking": lacking, "what": COUNT}
        yield as_batch({name: pa.array([n]) for name, n in counts.items()}, result, 1)
        for groups, what in ((sums, SUM), (logged, LOGGED)):
            yield from _batches(groups, what, result)

    def _keyed(self, facts: Mapping[str, pa.Array], starts: pa.Array) -> pa.Table:
        """The keys and measures of each fact of a batch; the key of a row that is not kept is 0."""
        reasons = Reasons(TextColumn.of(facts["reason"]))
        keys = {name: whole_longs(facts[name]) for name in key_names(self.facts.bits)}
        is_open = reasons.is_open | reasons.column().is_any(KEPT)
        side_ip = pa.nulls(len(is_open), pa.int64())
        if self.side is not None:
            is_egress = flags(facts["is_egress"])
            is_other = self._is_other_side(keys, is_egress)
            is_other &= is_open & is_valid(facts["is_egress"])
            if self.side == "auto":  # the other side decides
                ips = facts["src_ip"]
                side_ip = nullable(whole_longs(ips), is_other & is_valid(ips))
            else:
                reasons.add(DUPLICATE, is_other)
                is_open &= ~is_other
        window_s, cluster = (self._field(keys, name) for name in ("window_s", "cluster"))
        client_ip = pa.nulls(len(is_open), pa.int64())
        if len(self.members):
            ip, is_member = whole_longs(facts["client_ip"]), np.zeros(len(is_open), dtype=np.bool_)
            clients = np.flatnonzero(is_open & is_valid(facts["client_ip"]))
            found = self.members.find(ip.take(clients), cluster.take(clients))
            is_member[clients] = found >= 0
            client_ip = nullable(ip, is_member)
        key, shift, mask = place_of(self.facts.bits, "window_s")
        keys[key] = keys[key] & ~(mask << shift)
        start, bytes_ = whole_longs(starts), whole_longs(facts["bytes"])
        has_bytes = is_valid(facts["bytes"])
        return pa.table(
            {
                **{name: facts[name] for name in ("file", "source_file")},
                "reason": reasons.column().coded(),
                "day": nullable((start // DAY_S).astype(np.int32), is_open),
                **{name: values * is_open for name, values in keys.items()},
                "client_ip": client_ip,
                "side_ip": side_ip,
                "rows": np.ones(len(is_open), dtype=np.int64),
                "high": nullable(bytes_ >> HALF_BITS, has_bytes),
                "low": nullable(bytes_ & LOW, has_bytes),
                "first": nullable(start, is_open),
                "last": nullable(start + window_s, is_open),
            }
        )

    def _is_other_side(
        self, keys: Mapping[str, NDArray[np.int64]], is_egress: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Whether the row is of the side that may not count, if it has a direction."""
        if self.side != "broker":
            return ~is_egress
        is_produce = self._field(keys, "kind") == KINDS.index("produce")
        is_other: NDArray[np.bool_] = is_egress == is_produce
        return is_other

    def _field(self, keys: Mapping[str, NDArray[np.int64]], name: str) -> NDArray[np.int64]:
        key, shift, mask = place_of(self.facts.bits, name)
        return (keys[key] >> shift) & mask


def _batches(groups: Groups, what: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """All groups as rows of `task_columns`."""
    for part in groups.take():
        columns = dict(zip(part.schema.names, part.columns, strict=True))
        columns["what"] = pa.array(np.full(part.num_rows, what), pa.int8())
        yield as_batch(columns, schema, part.num_rows)


def _own(ips: pa.Array, starts: pa.Array) -> pa.Table:
    """The addresses of interfaces and their days; a row without address or time has none."""
    rows = np.flatnonzero(is_valid(ips) & is_valid(starts))
    days = whole_longs(starts).take(rows) // DAY_S
    return pa.table({"client_ip": whole_longs(ips).take(rows), "day": days.astype(np.int32)})


def _lacking(log_status: pa.Array, is_egress: pa.Array) -> int:
    """Rows with data but without a direction."""
    if is_egress.null_count == 0:
        return 0
    return int((TextColumn.of(log_status).is_any(OK) & ~is_valid(is_egress)).sum())


def _bad(facts: Mapping[str, pa.Array]) -> dict[str, pa.Array] | None:
    """The malformed rows of a batch; None if it has none."""
    reason = TextColumn.of(facts["reason"])
    malformed = [name for name in reason.names if name.startswith(MALFORMED)]
    places = pa.array(np.flatnonzero(reason.is_any(*malformed)))
    if not len(places):
        return None
    names = (*OUTCOME, "row_offset", "bytes", "raw")
    kind = pa.array(np.full(len(places), BAD), pa.int8())
    return {"what": kind} | {name: facts[name].take(places) for name in names}


def raw_bytes(column: pa.Array) -> tuple[int, int]:
    """The halves of the sum of the bytes that are a number from 0 and fit into a long."""
    if pa.types.is_string(column.type):
        is_number = pc.match_substring_regex(column, NUMBER)
        column = column.filter(pc.fill_null(is_number, False))  # noqa: FBT003 (the value)
        is_short = pc.less_equal(pc.binary_length(column), LONGEST_NUMBER)
        rest = [int(text) for text in column.filter(pc.invert(is_short)).to_pylist()]
        more = sum(number for number in rest if number <= GREATEST)
        column = column.filter(is_short)
    else:
        more = 0
    numbers = np.maximum(whole_longs(column), 0)
    high = int((numbers >> HALF_BITS).sum()) + (more >> HALF_BITS)
    return high, int((numbers & LOW).sum()) + (more & LOW)
