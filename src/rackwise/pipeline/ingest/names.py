"""Names in flow rows that need codes: racks, zones, client groups and topics.

Tasks that open the files look at the codes that Parquet has for texts, and read each distinct name
of a batch once. Of files that Spark reads, Spark finds the distinct names.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)
from pyspark.sql.types import StringType, StructField, StructType

from rackwise.core.racks import Rack
from rackwise.pipeline.columns.arrays import as_batch, filled, nullable, read_texts
from rackwise.pipeline.columns.groups import Groups
from rackwise.pipeline.ingest.facts import short_texts
from rackwise.pipeline.ingest.splits import SplitReader, crash_in, dealt_splits, with_named_damage
from rackwise.pipeline.schemas import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame

    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.runtime.engine import Engine

NAMED = ("client_rack", "client_group", "topic")
_KEYS = ("cluster", *NAMED)
_NAME = StructType([StructField(name, StringType()) for name in ("what", "cluster", "name")])


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundNames:
    """Names in flow rows; snapshots may not have them. All are sorted."""

    racks: tuple[Rack, ...] = ()
    groups: tuple[str, ...] = ()
    topics: tuple[tuple[str, str], ...] = ()
    """(cluster, topic)."""
    zones: tuple[str, ...] = ()
    """Zones of the ends of flows, as the log names them."""


def find_names(bronze: DataFrame) -> FoundNames:
    """The names in bronze rows; an action.

    Texts that are not racks are left out; their rows become malformed later.
    """
    return _found((row.what, row.cluster, row.name) for row in distinct_names(bronze).collect())


def names_by_task(
    engine: Engine, files: Sequence[FlowFile], columns: Collection[str]
) -> FoundNames:
    """The same for files that tasks can open; `columns`: those that the files have.

    An action if names are among the columns. Raises `InvalidFlows` for a damaged file.
    """
    needed = StructType([StructField(name, StringType()) for name in _KEYS if name in columns])
    if not {*NAMED} & {*needed.names}:
        return FoundNames()
    reader = SplitReader(needed=needed, coded=tuple(needed.names), work=_names)
    with with_named_damage(*engine.failures, crash=partial(crash_in, engine, files)):
        found = engine.collect(engine.map(dealt_splits(engine, files, ()), reader, _NAME))
    return _found({*zip(*map(read_texts, found.columns), strict=True)})


def _names(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of a task: rows in, each of their names once out."""
    keys = {what: ["cluster", what] if what == "topic" else [what] for what in NAMED}
    found = {what: Groups(own) for what, own in keys.items()}
    for batch in batches:
        for what, own in keys.items():
            if {*own} <= {*batch.schema.names}:
                found[what].add(_distinct({name: batch.column(name) for name in own}))
    for what, groups in found.items():
        for part in groups.take():
            columns = dict(zip(keys[what], part.columns, strict=True))
            columns |= {"what": pa.repeat(what, part.num_rows), "name": columns[what]}
            rows = as_batch(columns, arrow_schema(_NAME), part.num_rows)
            yield rows.filter(pc.is_valid(rows.column("name")))


def _distinct(columns: Mapping[str, pa.Array]) -> pa.Table:
    """The different rows of columns of texts, by their codes; the last code is that of a null."""
    coded = {name: column.dictionary_encode() for name, column in columns.items()}
    keys = np.zeros(1, dtype=np.int64)
    for column in coded.values():
        most = len(column.dictionary)
        keys = keys * (most + 1) + filled(column.indices, most)
    rest = pc.unique(pa.array(keys)).to_numpy()
    found = {}
    for name, column in reversed(coded.items()):
        most = len(column.dictionary)
        rest, codes = np.divmod(rest, most + 1)
        found[name] = column.dictionary.take(nullable(codes, codes < most))
    return pa.table(found)


def _found(rows: Iterable[tuple[str, str | None, str]]) -> FoundNames:
    found: dict[str, list[tuple[str | None, str]]] = {}
    for what, cluster, name in rows:
        found.setdefault(what, []).append((cluster, name))
    racks = (Rack(name) for name in sorted(name for _, name in found.get("client_rack", ())))
    return FoundNames(
        racks=tuple(rack for rack in racks if rack.is_sound),
        groups=tuple(sorted(name for _, name in found.get("client_group", ()))),
        topics=tuple(
            sorted((cluster, name) for cluster, name in found.get("topic", ()) if cluster)
        ),
    )


def find_zones(bronze: DataFrame) -> FoundNames:
    """The zones in rows of `schemas.BRONZE_VPC`, without texts that are no racks; an action."""
    ends = [F.col(name) for name in ("src_zone", "dst_zone")]
    zones = short_texts(bronze.select(*ends)).distinct()
    found = zones.select(F.explode(F.array(*ends)).alias("zone")).distinct()
    texts = found.where(F.col("zone").isNotNull()).select(F.make_valid_utf8("zone")).collect()
    is_zone = {row[0]: not Rack(row[0]).is_path and Rack(row[0]).is_sound for row in texts}
    return FoundNames(zones=tuple(sorted(zone for zone, is_sound in is_zone.items() if is_sound)))


def distinct_names(bronze: DataFrame) -> DataFrame:
    """Each name in the rows once: `what, cluster, name`.

    `what` is client_rack, client_group or topic; `cluster` is set for topics only.
    """
    named = [name for name in _KEYS if name in bronze.columns]
    none = F.lit(None).cast("string")
    # A column that no file has is null, so that the array has a type without any of them.
    columns = {name: F.col(name) if name in named else none for name in _KEYS}
    found = F.array(
        *(
            F.struct(
                F.lit(what).alias("what"),
                (columns["cluster"] if what == "topic" else none).alias("cluster"),
                columns[what].alias("name"),
            )
            for what in NAMED
        )
    )
    return (
        short_texts(bronze.select(*named))
        .distinct()
        .select(*(F.make_valid_utf8(name).alias(name) for name in named))
        .select(F.explode(found).alias("found"))
        .select("found.*")
        .where(F.col("name").isNotNull())
        .distinct()
    )
