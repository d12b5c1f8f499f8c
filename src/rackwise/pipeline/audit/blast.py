"""The effect of the loss of each rack, for a whole fleet as one table.

The table has one row per rack with a broker, at every level. `core.blast` and `core.restore`
compute the rows on the driver: a few rows per cluster, from array passes over its partitions.

What this does not do: lose more than one rack at a time.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rackwise.core.blast import blast_radius as losses_of
from rackwise.core.restore import rack_restores
from rackwise.core.traffic import usd_of
from rackwise.pipeline.schemas import BLAST, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.core.blast import RackLoss
    from rackwise.core.policy import Policy
    from rackwise.core.restore import RackRestore
    from rackwise.core.traffic import Price
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.fleet.layouts import RackOf


def blast_rows(
    fleet: Fleet,
    policy: Policy,
    *,
    prices: Sequence[Price],
    day: date,
    rack_of: RackOf,
) -> list[dict[str, Any]]:
    """Rows of BLAST, by cluster name, then rack path.

    `prices`: rows of one provider; `day`: the day whose prices apply; `rack_of`: the rack of a
    member of a group. Raises `InvalidPrices` for an ambiguous price and for a day that no row
    covers.
    """
    rows: list[dict[str, Any]] = []
    for snapshot in fleet.latest:
        cluster = snapshot.cluster
        restores = rack_restores(
            cluster, policy, prices=prices, day=day, rack_of=partial(rack_of, cluster)
        )
        leaders = int((cluster.partitions.leader >= 0).sum())
        rows += [
            {"cluster": snapshot.name, **_row(loss, restores[loss.rack], leaders)}
            for loss in losses_of(cluster, policy)
        ]
    return rows


def _row(loss: RackLoss, restore: RackRestore, leaders: int) -> dict[str, Any]:
    is_known = loss.unknown_sizes == 0
    top = loss.top_survivor[1] if loss.top_survivor else None
    return {
        "rack": loss.rack,
        "level": loss.level,
        "partitions_offline": len(loss.offline),
        "partitions_below_min_isr": len(loss.under_min_isr),
        "leaders_lost": loss.leaders_lost,
        "top_survivor_leader_share": top / (leaders - len(loss.offline)) if top else None,
        "replicas_lost": loss.replicas_lost,
        "bytes_to_restore": loss.bytes_to_restore if is_known else None,
        "cross_bytes_to_restore": restore.cross_bytes if is_known else None,
        "usd_to_restore": usd_of(restore.usd_nano) if is_known else None,
        "groups_lost": restore.groups_lost,
        "member_share_lost": restore.members_lost / restore.members if restore.members else None,
    }


def blast_radius(spark: SparkSession, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """BLAST of the rows."""
    return spark.createDataFrame(blast_table(rows), BLAST)


def blast_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """The rows as Arrow columns of BLAST."""
    schema = arrow_schema(BLAST)
    return pa.Table.from_pylist(list(rows), schema=schema)
