"""Snapshots of one cluster or of hundreds, as frames with integer codes.

Goals, in order: the same snapshots give the same codes whatever their order; a snapshot that cannot
be read stops itself and not the others; a million partitions go to Spark as columns, never as rows.

A cluster is known by its cluster id, else by the stem of its file. Several snapshots of one cluster
are its history. A snapshot speaks for the hours that begin at or after it was taken, up to the next
one; hours before the first take the first, and what is concluded there is an estimate:

```
hour           07   08   09   10   11   12   13
taken                 08:20      10:00 10:40
speaks         A    A    A    B    C    C    C       A before 09: estimated
                                  (B: 10:00 is at or before hour 10, 10:40 is not)
```

Codes are dense from 1 in sorted order of the names, 0 = unknown. The table of racks also holds
every ancestor prefix, so that "differs at level 2" is a comparison of two integers:

```
code path     depth l1 l2        /eu/a (2) against /eu/b (3): l1 equal, l2 differs -> level 2
1    /eu      1     1  0
2    /eu/a    2     1  2
3    /eu/b    2     1  3
```

Members, groups and topics are those of a cluster's last snapshot that has them.

What this does not do: read files (the caller brings their content and the parser); ask DNS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rackwise.core.errors import InvalidSnapshot
from rackwise.core.text import escaped
from rackwise.pipeline.fleet.fleet_columns import Codes, Names, tables
from rackwise.pipeline.fleet.snapshots import read_snapshots

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from rackwise.core.model import Cluster
    from rackwise.core.racks import Rack
    from rackwise.pipeline.fleet.snapshots import Snapshot


class FleetBroker(NamedTuple):
    """A broker as one snapshot has it: codes, and the first hour that the snapshot speaks for."""

    cluster: int
    broker: int
    rack: int
    addresses: tuple[str, ...]
    ports: tuple[int, ...]
    since: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Frames of all clusters; each has the schema of its name in `schemas`.

    `brokers` and `partitions` hold one row per snapshot that speaks for some hour. The driver has
    its own copy of the codes in `names` and `codes`; of the brokers in `seen_brokers`; in
    `speaking` of the first hours (since 1970-01-01 UTC, ascending) that the snapshots of a cluster
    code speak for; in `latest` each cluster's last snapshot in order of the cluster names.
    """

    brokers: DataFrame
    topics: DataFrame
    partitions: DataFrame
    members: DataFrame
    snapshots: DataFrame
    racks: DataFrame
    clusters: DataFrame
    clients: DataFrame
    seen_brokers: tuple[FleetBroker, ...]
    speaking: Mapping[int, Sequence[int]]
    names: Names
    codes: Codes
    latest: tuple[Snapshot, ...]

    @property
    def has_history(self) -> bool:
        """Whether several snapshots of one cluster speak."""
        return any(len(hours) > 1 for hours in self.speaking.values())


def fleet_frames(
    spark: SparkSession,
    contents: Sequence[tuple[str, bytes]],
    parse: Callable[[bytes], Cluster],
) -> Fleet:
    """Frames from path -> content of snapshot files.

    Raises the first file's `InvalidSnapshot` or `InvalidRack`, and `InvalidSnapshot` when one name
    stands for two clusters.
    """
    read, failed = read_snapshots(contents, parse)
    if failed:
        raise failed[0].error
    return frames(spark, read)


def frames(
    spark: SparkSession,
    snapshots: Sequence[Snapshot],
    *,
    racks: Iterable[Rack] = (),
    groups: Iterable[str] = (),
    topics: Iterable[tuple[str, str]] = (),
    keep: Callable[[str, pa.Table, StructType], None] = lambda _name, _table, _schema: None,
) -> Fleet:
    """Frames of parsed snapshots; further racks, groups and (cluster, topic) get codes as well.

    `keep`: is given each table, under its name in `schemas` in lower case; it may store it.

    Raises `InvalidSnapshot` when one name stands for two clusters or nothing is given,
    `InvalidRack` for a rack of more than four levels.
    """
    spoken = histories(snapshots)
    names = Names.of(
        [snapshot for history in spoken.values() for snapshot in history],
        racks=racks,
        groups=groups,
        topics=topics,
    )
    codes = Codes.of(names)
    made = {}
    for name, (table, schema) in tables(spoken, names, codes).items():
        keep(name.removesuffix("s"), table, schema)
        made[name] = spark.createDataFrame(table, schema)
    return Fleet(
        **made,
        seen_brokers=tuple(
            FleetBroker(
                cluster=codes.clusters[name],
                broker=codes.brokers[name, broker.id],
                rack=codes.rack(broker.rack),
                addresses=broker.addresses,
                ports=() if broker.port is None else (broker.port,),
                since=snapshot.first_hour,
            )
            for name, history in spoken.items()
            for snapshot in history
            for broker in snapshot.cluster.brokers
        ),
        speaking={
            codes.clusters[name]: tuple(snapshot.first_hour for snapshot in history)
            for name, history in spoken.items()
        },
        names=names,
        codes=codes,
        latest=tuple(spoken[name][-1] for name in sorted(spoken)),
    )


def histories(snapshots: Sequence[Snapshot]) -> Mapping[str, tuple[Snapshot, ...]]:
    """Cluster name -> the snapshots that speak for at least one hour, oldest first."""
    if not snapshots:
        raise InvalidSnapshot(
            "expected at least one readable snapshot, got none",
            wanted=1,
            had=0,
            hint="create one with `rackwise snapshot --bootstrap-server HOST:PORT --out FILE`",
        )
    by_name: dict[str, list[Snapshot]] = {}
    for snapshot in sorted(snapshots, key=lambda s: (s.name, s.taken_at, s.fingerprint)):
        by_name.setdefault(snapshot.name, []).append(snapshot)
    return {name: _covering(name, history) for name, history in by_name.items()}


def _by_file(item: tuple[str | None, str]) -> str:
    return item[1]


def _covering(name: str, history: Sequence[Snapshot]) -> tuple[Snapshot, ...]:
    ids = {snapshot.cluster.cluster_id: snapshot.file for snapshot in reversed(history)}
    if len(ids) > 1:
        (first, first_file), (second, second_file), *_ = sorted(ids.items(), key=_by_file)
        raise InvalidSnapshot(
            f"expected one cluster id for the name {escaped(name)}, got {escaped(str(first))} in "
            f"{escaped(first_file)} and {escaped(str(second))} in {escaped(second_file)}",
            wanted=first,
            had=second,
            hint="rename one of the two files, or analyze the two clusters separately",
            where=second_file,
        )
    by_hour = {snapshot.first_hour: snapshot for snapshot in history}
    return tuple(by_hour[hour] for hour in sorted(by_hour))
