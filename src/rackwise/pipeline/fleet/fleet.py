"""Snapshots of one cluster or of hundreds, as tables with integer codes.

Goals, in order: the same snapshots give the same codes in any order; a snapshot that cannot be read
does not stop the others; a million partitions are columns, never rows.

Several snapshots of one cluster are its history. A cluster has the name that people call it by (see
`cluster_names`). A snapshot covers the hours that begin when it was taken
or later, up to the first hour of the next snapshot. Hours before the first snapshot use the first
snapshot, and results for the time before it was taken are estimates:

```
hour           07   08   09   10   11   12   13
taken                 08:20      10:00 10:40
snapshot       A    A    A    B    C    C    C       A before 08:20: estimated
                                  (B: 10:00 is at or before hour 10, 10:40 is not)
```

Of several snapshots of one hour, the last one covers. A broker that an earlier one of them has as
well, with the same rack and address, is known from then on.

Codes are dense from 1 in sorted order of the names; 0 means unknown. The table of racks also holds
every ancestor prefix, so that "differs at level 2" is a comparison of two integers:

```
code path     depth l1 l2        /eu/a (2) against /eu/b (3): l1 equal, l2 differs -> level 2
1    /eu      1     1  0
2    /eu/a    2     1  2
3    /eu/b    2     1  3
```

Members, groups and topics come from the last snapshot of the cluster that has them.

What this does not do: read files (the caller passes their content and the parser); query DNS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rackwise.core.errors import InvalidSnapshot
from rackwise.core.text import escaped
from rackwise.pipeline.fleet.cluster_names import names_by_text
from rackwise.pipeline.fleet.fleet_columns import Codes, Names, tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from rackwise.core.model import Broker
    from rackwise.core.racks import Rack
    from rackwise.pipeline.fleet.snapshots import Snapshot


class FleetBroker(NamedTuple):
    """A broker in one snapshot."""

    cluster: int
    """Cluster code."""
    broker: int
    """Broker code."""
    rack: int
    """Rack code; 0 for a broker without rack."""
    addresses: tuple[str, ...]
    ports: tuple[int, ...]
    since: int
    """First hour that the snapshot covers, in hours since 1970-01-01 UTC."""
    seen_s: int
    """When a snapshot of that hour had it first as it is, in seconds since 1970-01-01 UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """All clusters as tables, and codes, brokers and snapshots as Python objects.

    The schema of each table has the table's name in `schemas`.
    """

    brokers: pa.Table
    """One row per broker and snapshot that covers at least one hour."""
    topics: pa.Table
    members: pa.Table
    snapshots: pa.Table
    racks: pa.Table
    clusters: pa.Table
    clients: pa.Table
    seen_brokers: tuple[FleetBroker, ...]
    """The brokers of all snapshots that cover at least one hour."""
    first_hours: Mapping[int, Sequence[int]]
    """Cluster code -> the first hour that each snapshot covers, in hours since 1970-01-01 UTC;
    ascending."""
    names: Names
    codes: Codes
    latest: tuple[Snapshot, ...]
    """The last snapshot of each cluster, in order of the cluster names."""
    history: tuple[Snapshot, ...]
    """All snapshots that cover at least one hour, oldest first per cluster."""

    @property
    def cluster_codes(self) -> Mapping[str, int]:
        """Cluster name or id -> cluster code; a name takes precedence over an equal id."""
        names = names_by_text(self.latest)
        return {text: self.codes.clusters[name] for text, name in names.items()}

    @property
    def has_history(self) -> bool:
        """Whether several snapshots of one cluster cover hours."""
        return any(len(hours) > 1 for hours in self.first_hours.values())


def fleet_of_snapshots(
    snapshots: Sequence[Snapshot],
    *,
    racks: Iterable[Rack] = (),
    groups: Iterable[str] = (),
    topics: Iterable[tuple[str, str]] = (),
    keep: Callable[[str, pa.Table, StructType], None] = lambda _name, _table, _schema: None,
) -> Fleet:
    """The fleet of parsed snapshots; racks, groups and (cluster, topic) arguments also get codes.

    A cluster in `topics` is a name or an id.

    `keep`: called with each table and its name, which is its name in `schemas` in lower case; it
    may store the table.

    Raises `InvalidSnapshot` if two clusters have the same name or there is no snapshot, and
    `InvalidRack` for a rack that is malformed.
    """
    covering = histories(snapshots)
    same_hour: dict[tuple[str, int], list[Snapshot]] = {}
    for snapshot in sorted(snapshots, key=lambda one: (one.taken_at, one.fingerprint)):
        same_hour.setdefault((snapshot.name, snapshot.first_hour), []).append(snapshot)
    known = names_by_text(snapshots)
    names = Names.of(
        [snapshot for history in covering.values() for snapshot in history],
        racks=racks,
        groups=groups,
        topics=((known.get(cluster, cluster), topic) for cluster, topic in topics),
    )
    codes = Codes.of(names)
    created = {}
    for name, (table, schema) in tables(covering, names, codes).items():
        keep(name.removesuffix("s"), table, schema)
        created[name] = table
    del created["partitions"]  # as large as the snapshots, and only written
    return Fleet(
        **created,
        seen_brokers=tuple(
            FleetBroker(
                cluster=codes.clusters[name],
                broker=codes.brokers[name, broker.id],
                rack=codes.rack(broker.rack),
                addresses=broker.addresses,
                ports=() if broker.port is None else (broker.port,),
                since=snapshot.first_hour,
                seen_s=seen_s[broker.id],
            )
            for name, history in covering.items()
            for snapshot in history
            for seen_s in [_seen_s(same_hour[name, snapshot.first_hour])]
            for broker in snapshot.cluster.brokers
        ),
        first_hours={
            codes.clusters[name]: tuple(snapshot.first_hour for snapshot in history)
            for name, history in covering.items()
        },
        names=names,
        codes=codes,
        latest=tuple(covering[name][-1] for name in sorted(covering)),
        history=tuple(one for name in sorted(covering) for one in covering[name]),
    )


def _seen_s(same_hour: Sequence[Snapshot]) -> Mapping[int, int]:
    """Broker of the last of these snapshots -> when it was seen first as it is, without a gap.

    `same_hour`: oldest first.
    """
    *earlier, last = same_hour
    found = {broker.id: int(last.taken_at.timestamp()) for broker in last.cluster.brokers}
    same = {broker.id: _listener(broker) for broker in last.cluster.brokers}
    for snapshot in reversed(earlier):
        then = {broker.id: _listener(broker) for broker in snapshot.cluster.brokers}
        same = {id_: listener for id_, listener in same.items() if then.get(id_) == listener}
        found |= dict.fromkeys(same, int(snapshot.taken_at.timestamp()))
    return found


def _listener(broker: Broker) -> tuple[object, ...]:
    """What traffic of a broker is recognized by, and its rack."""
    return broker.rack, broker.addresses, broker.port


def histories(snapshots: Sequence[Snapshot]) -> Mapping[str, tuple[Snapshot, ...]]:
    """Cluster name -> the snapshots that cover at least one hour, oldest first."""
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
            hint="rename one of the two files, or use `rackwise snapshot --name`",
            where=second_file,
        )
    by_hour = {snapshot.first_hour: snapshot for snapshot in history}
    return tuple(by_hour[hour] for hour in sorted(by_hour))
