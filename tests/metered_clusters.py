"""A small Kafka whose records are known one by one, to take snapshots of and to check a meter."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from rackwise.core.model import (
    AnswerTimes,
    Broker,
    Cluster,
    Configs,
    Group,
    GroupMember,
    LogTail,
    Partition,
    PartitionTable,
    Topic,
)
from rackwise.core.racks import Rack

SELECTOR = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
RACKS = {1: "a", 2: "b", 3: "c"}
MINUTE_MS = 60_000


@dataclass
class Log:
    """One partition: the sizes of its records, and where its log starts."""

    topic: str
    partition: int
    replicas: tuple[int, ...] = (1, 2, 3)
    leader: int = 1
    isr: tuple[int, ...] = (1, 2, 3)
    epoch: int = 0
    sizes: list[int] = field(default_factory=list)
    start: int = 0
    kept: dict[int, int] | None = None
    """Offset -> bytes of the records that compaction left; None without compaction."""
    cleaned: int = 0
    """Offset up to which the log was compacted."""

    @property
    def end(self):
        return len(self.sizes)

    @property
    def bytes(self):
        if self.kept is not None:
            return sum(self.kept.values())
        return sum(self.sizes[self.start :])


@dataclass
class World:
    """Logs, groups and their commits."""

    logs: list[Log]
    ids: dict[str, str]
    policies: dict[str, str | None] = field(default_factory=dict)
    commits: dict[str, dict[tuple[str, int], int | None]] = field(default_factory=dict)
    owners: dict[str, dict[tuple[str, int], str]] = field(default_factory=dict)
    """Group -> partition -> rack of the member that owns it."""
    dead: set[int] = field(default_factory=set)
    selects: bool = False
    reads_tails: bool = False
    cluster_id: str = "c"

    def look(self, minute=0, **other):
        """A snapshot, a minute after the one before."""
        at_ms = 1_790_000_000_000 + minute * MINUTE_MS
        alive = [id_ for id_ in RACKS if id_ not in self.dead]
        return Cluster(
            cluster_id=self.cluster_id,
            taken_at=f"2026-09-21T14:{13 + minute:02d}:20Z",
            brokers=tuple(
                Broker(id=id_, rack=Rack(rack), is_live=id_ not in self.dead)
                for id_, rack in RACKS.items()
            ),
            topics={name: self._topic(name) for name in sorted({log.topic for log in self.logs})},
            partitions=PartitionTable.of(
                Partition(
                    topic=log.topic,
                    partition=log.partition,
                    replicas=log.replicas,
                    leader=log.leader,
                    isr=log.isr,
                    bytes=log.bytes,
                    start_offset=log.start,
                    end_offset=log.end,
                    leader_epoch=log.epoch,
                )
                for log in self.logs
            ),
            groups=tuple(self._group(name) for name in sorted(self.commits)),
            configs=Configs(brokers={id_: SELECTOR if self.selects else {} for id_ in RACKS}),
            answered=AnswerTimes(
                offsets=dict.fromkeys(alive, at_ms), sizes=dict.fromkeys(alive, at_ms)
            ),
            **other,
        )

    def _topic(self, name):
        policy = self.policies.get(name, "delete")
        tails = [
            LogTail(partition=log.partition, bytes=sum(log.sizes[-8:]), offsets=len(log.sizes[-8:]))
            for log in self.logs
            if log.topic == name and log.sizes and self.reads_tails and sum(log.sizes[-8:])
        ]
        return Topic(name=name, id=self.ids[name], cleanup_policy=policy, tails=tuple(tails))

    def _group(self, name):
        counts = {}
        for topic, partition in self.commits[name]:
            counts[topic] = max(counts.get(topic, 0), partition + 1)
        racks = sorted(set(self.owners.get(name, {}).values()))
        return Group(
            group=name,
            protocol="consumer",
            members=tuple(
                GroupMember(
                    member_id=f"{name}-{rack}",
                    client_id="x",
                    address=f"10.0.0.{number + 1}",
                    rack=Rack(rack),
                    partitions=tuple(
                        place for place, its in sorted(self.owners[name].items()) if its == rack
                    ),
                )
                for number, rack in enumerate(racks)
            ),
            committed={
                topic: tuple(self.commits[name].get((topic, number)) for number in range(count))
                for topic, count in counts.items()
            },
        )


def own_rack(_group, member):
    """The rack that a member reports."""
    return member.rack


def orders(**changes):
    """A world of one partition with ten records of 100 bytes, led by broker 1 in rack a."""
    log = Log("orders", 0, sizes=[100] * 10)
    return World(logs=[log], ids={"orders": "id-1"}, **changes), log


@st.composite
def changed_worlds(draw):  # noqa: C901 (one draw after another)
    """Two snapshots, the bytes written to each (topic, partition), and each group's bytes read.

    Between the two: records of any size, retention, compaction, leader changes, recreated and new
    topics, resets, members that move, brokers that die. Reads are None where nobody can know them.
    """
    names = draw(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True))
    size = st.integers(1, draw(st.sampled_from([1, 50, 10_000])))
    sizes = st.lists(size, max_size=20)
    logs = [
        Log(name, number, sizes=draw(sizes), leader=draw(st.integers(1, 3)))
        for name in names
        for number in range(draw(st.integers(1, 2)))
    ]
    world = World(
        logs=logs,
        ids={name: f"{name}-1" for name in names},
        policies={
            name: draw(st.sampled_from(["delete", "delete", "compact", None])) for name in names
        },
        selects=draw(st.booleans()),
        reads_tails=draw(st.booleans()),
    )
    places = [(log.topic, log.partition) for log in logs]
    for group in draw(st.lists(st.sampled_from("gh"), unique=True)):
        world.commits[group] = {
            (log.topic, log.partition): draw(st.none() | st.just(log.end) | st.integers(0, log.end))
            for log in logs
        }
        owned = draw(st.lists(st.sampled_from(places), unique=True))
        world.owners[group] = {place: draw(st.sampled_from("abc")) for place in owned}
    for log in logs:
        log.start = draw(st.integers(0, log.end))
    _compact(draw, world)
    first = world.look()
    written = {}
    for name in names:
        if draw(st.integers(0, 5)) == 0:
            world.ids[name] = f"{name}-2"
            for log in logs:
                if log.topic == name:
                    log.sizes, log.start, log.kept, log.cleaned = [], 0, None, 0
    for log in logs:
        added = draw(sizes)
        log.sizes += added
        written[log.topic, log.partition] = sum(added)
        if draw(st.booleans()):
            log.start = draw(st.integers(log.start, log.end))
        if draw(st.integers(0, 3)) == 0:
            log.leader, log.epoch = draw(st.integers(1, 3)), log.epoch + 1
    read = {}
    by_place = {(log.topic, log.partition): log for log in logs}
    for group, commits in world.commits.items():
        for place, before in commits.items():
            log = by_place[place]
            after = draw(st.none() | st.just(log.end) | st.integers(0, log.end))
            commits[place] = after
            is_known = before is not None and after is not None and after >= before
            read[group, *place] = sum(log.sizes[before:after]) if is_known else None
    _compact(draw, world)
    return first, world.look(minute=1), written, read


def _compact(draw, world):
    for log in world.logs:
        if world.policies[log.topic] in {"compact", None}:
            left = draw(st.sets(st.integers(log.start, max(log.start, log.end - 1))))
            before = log.kept if log.kept is not None else {}
            # What the cleaner has removed does not come back.
            log.kept = {
                at: log.sizes[at]
                for at in range(log.start, log.end)
                if (at in left or at % 2) and (at >= log.cleaned or at in before)
            }
            log.cleaned = log.end
