"""Clusters for examples: racks of brokers, replica lists, and the deviations from a plain one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.model import Broker, Cluster, Configs, Note, Partition, PartitionTable, Topic
from rackwise.core.racks import Rack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.core.findings import Finding

NOTHING: Mapping[str, Sequence[int]] = {}


def small_cluster(
    racks: Mapping[int, str | None],
    lists: Mapping[str, Sequence[int]],
    *,
    dead: Sequence[int] = (),
    leaders: Mapping[str, int | None] | None = None,
    isr: Mapping[str, Sequence[int]] = NOTHING,
    adding: Mapping[str, Sequence[int]] = NOTHING,
    removing: Mapping[str, Sequence[int]] = NOTHING,
    sizes: Mapping[str, int | None] | None = None,
    min_isr: int | None = 1,
    configs: Configs | None = None,
    notes: Sequence[Note] = (),
) -> Cluster:
    """`racks`: broker id -> rack; `lists`: `orders-0` -> brokers, preferred leader first.

    By default the first replica leads, all replicas are in sync, and each has one byte.
    """
    rows = []
    for name, replicas in lists.items():
        topic, _, number = name.rpartition("-")
        rows.append(
            Partition(
                topic=topic,
                partition=int(number),
                replicas=tuple(replicas),
                leader=(leaders or {}).get(name, next(iter(replicas), None)),
                isr=tuple(isr.get(name, replicas)),
                adding=tuple(adding.get(name, ())),
                removing=tuple(removing.get(name, ())),
                bytes=(sizes or {}).get(name, 1),
            )
        )
    return Cluster(
        cluster_id="small",
        taken_at="2026-11-21T08:30:00Z",
        brokers=tuple(
            Broker(id=id_, rack=None if rack is None else Rack(rack), is_live=id_ not in dead)
            for id_, rack in sorted(racks.items())
        ),
        topics={row.topic: Topic(name=row.topic, min_insync_replicas=min_isr) for row in rows},
        partitions=PartitionTable.of(rows),
        configs=configs or Configs(),
        notes=tuple(notes),
    )


def messages(findings: Iterable[Finding], rule: str) -> list[str]:
    """The messages of one rule, without the rule's name."""
    return [f.message.replace(f": {rule}", "", 1) for f in findings if f.rule == rule]
