"""Names in flow rows that need codes: racks, zones, client groups and topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 (its name in every Spark text)

from rackwise.core.racks import Rack
from rackwise.pipeline.columns.arrays import read_texts
from rackwise.pipeline.columns.groups import Groups
from rackwise.pipeline.ingest.facts import short_texts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame

NAMED = ("client_rack", "client_group", "topic")


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


def named_by(rows: Iterable[pa.RecordBatch]) -> FoundNames:
    """The same for batches with all or some of the columns `cluster` and `NAMED`."""
    groups = Groups(("cluster", *NAMED))
    for batch in rows:
        texts = {
            name: batch.column(name) if name in batch.schema.names else pa.nulls(len(batch))
            for name in ("cluster", *NAMED)
        }
        groups.add(pa.table({name: text.cast(pa.string()) for name, text in texts.items()}))
    found = set()
    for part in groups.take():
        cluster, *others = (read_texts(part.column(name)) for name in ("cluster", *NAMED))
        for what, names in zip(NAMED, others, strict=True):
            found |= {
                (what, own if what == "topic" else None, name)
                for own, name in zip(cluster, names, strict=True)
                if name is not None
            }
    return _found(found)


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
    named = [name for name in ("cluster", *NAMED) if name in bronze.columns]
    none = F.lit(None).cast("string")
    # A column that no file has is null, so that the array has a type without any of them.
    columns = {name: F.col(name) if name in named else none for name in ("cluster", *NAMED)}
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
