"""Hypothesis strategies for the domain types, registered so that `st.from_type(Cluster)` works."""

from __future__ import annotations

from hypothesis import reject
from hypothesis import strategies as st

from rackwise.core.assignors.members import Member, Members, ReplicaRacks, TopicPartition
from rackwise.core.errors import InvalidPolicy
from rackwise.core.model import (
    AnswerTimes,
    Broker,
    Cluster,
    Configs,
    FairLoads,
    Group,
    GroupMember,
    LogDir,
    LogTail,
    Note,
    Partition,
    PartitionTable,
    Topic,
)
from rackwise.core.partitioner import PartitionerConfig, PartitionLoad, TopicView
from rackwise.core.policy import (
    AtLeast,
    AuditPolicy,
    BalancePolicy,
    BrokerPolicy,
    Policy,
    RackCount,
    RackPolicy,
    Spread,
    TopicBlock,
    check_policy,
)
from rackwise.core.racks import Rack, level_names, prefix
from rackwise.core.rules import RULES

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
"""What clients call themselves: anything that has a UTF-8."""

NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=6)
"""Names without control characters; hostile all the same."""

TOPIC_NAMES = st.text("abcABC019._-", min_size=1, max_size=5)
SIZES = st.none() | st.integers(0, 2**63 - 1)
COUNTS = st.integers(1, 2**63 - 1)
MOMENTS = st.integers(0, 2**63 - 1)

PATHS = st.lists(st.sampled_from(["eu", "us", "a", "b", "r7"]), min_size=1, max_size=4).map(
    lambda levels: Rack("/" + "/".join(levels))
)
PLAIN_RACKS = st.sampled_from(["use1-az1", "use1-az2", "a", "b"]).map(Rack)


@st.composite
def log_dirs(draw: st.DrawFn) -> LogDir:
    """A log folder; sizes may be unknown."""
    return LogDir(
        path=draw(TEXTS),
        total_bytes=draw(SIZES),
        usable_bytes=draw(SIZES),
        error=draw(st.none() | TEXTS),
        is_cordoned=draw(st.booleans()),
    )


@st.composite
def brokers(draw: st.DrawFn, racks: st.SearchStrategy[Rack | None]) -> tuple[Broker, ...]:
    """Brokers in id order, one form of rack."""
    ids = draw(st.lists(st.integers(0, 12) | st.just(2**31 - 1), max_size=7, unique=True))
    return tuple(
        Broker(
            id=id_,
            rack=draw(racks),
            is_live=draw(st.booleans()),
            is_fenced=draw(st.none() | st.booleans()),
            host=draw(st.none() | NAMES),
            port=draw(st.none() | st.integers(0, 65535)),
            addresses=tuple(draw(st.lists(st.ip_addresses().map(str), max_size=2))),
            log_dirs=tuple(draw(st.lists(log_dirs(), max_size=2))),
        )
        for id_ in sorted(ids)
    )


@st.composite
def partitions(draw: st.DrawFn, topic: str, number: int) -> Partition:
    """A partition whose leader, ISR, adding and removing replicas are of its replicas."""
    replicas = tuple(draw(st.lists(st.integers(0, 12), min_size=1, max_size=5, unique=True)))
    some = st.lists(st.sampled_from(replicas), max_size=3, unique=True).map(tuple)
    return Partition(
        topic=topic,
        partition=number,
        replicas=replicas,
        leader=draw(st.none() | st.sampled_from(replicas)),
        isr=draw(some),
        adding=draw(some),
        removing=draw(some),
        bytes=draw(SIZES),
        bytes_in_per_s=draw(SIZES),
        start_offset=draw(SIZES),
        end_offset=draw(SIZES),
        leader_epoch=draw(st.none() | st.integers(0, 2**31 - 1)),
    )


@st.composite
def groups(draw: st.DrawFn) -> Group:
    """A consumer group of hostile clients."""
    members = st.builds(
        GroupMember,
        member_id=TEXTS,
        client_id=TEXTS,
        address=st.none() | TEXTS,
        rack=st.none() | TEXTS.map(Rack),
        instance_id=st.none() | TEXTS,
        topics=st.none() | st.lists(TEXTS, max_size=2).map(tuple),
        generation=st.none() | st.integers(-1, 9),
        partitions=st.lists(st.tuples(TOPIC_NAMES, st.integers(0, 9)), max_size=3).map(tuple),
    )
    return Group(
        group=draw(TEXTS),
        protocol=draw(st.sampled_from([None, "classic", "consumer"])),
        assignor=draw(st.none() | TEXTS),
        state=draw(st.sampled_from([None, "Stable", "Empty"])),
        members=tuple(draw(st.lists(members, max_size=2, unique_by=lambda each: each.member_id))),
        committed=draw(
            st.dictionaries(TOPIC_NAMES, st.lists(SIZES, max_size=3).map(tuple), max_size=2)
        ),
        committed_at_ms=draw(st.none() | MOMENTS),
    )


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Any cluster that a snapshot may hold: dead brokers, unknown replicas, nothing at all."""
    racks = draw(st.sampled_from([PATHS, PLAIN_RACKS, st.none(), st.none() | PATHS]))
    names = draw(st.lists(TOPIC_NAMES, max_size=4, unique=True))
    configs = st.dictionaries(NAMES, TEXTS, max_size=2)
    return Cluster(
        cluster_id=draw(st.none() | NAMES),
        taken_at=draw(st.sampled_from(["2026-11-21T08:30:00Z", "2026-01-01T00:00:00.250Z"])),
        brokers=draw(brokers(racks)),
        topics={
            name: Topic(
                name=name,
                id=draw(st.none() | NAMES),
                is_internal=draw(st.booleans()),
                min_insync_replicas=draw(st.none() | st.integers(1, 5)),
                retention_bytes=draw(st.none() | st.integers(-1, 2**63 - 1)),
                cleanup_policy=draw(st.sampled_from([None, "delete", "compact", "compact,delete"])),
                retention_ms=draw(st.none() | st.integers(-1, 2**63 - 1)),
                tails=tuple(
                    LogTail(partition=number, bytes=draw(COUNTS), offsets=draw(COUNTS))
                    for number in range(draw(st.integers(0, 2)))
                ),
            )
            for name in names
        },
        partitions=PartitionTable.of(
            draw(partitions(name, number))
            for name in names
            for number in range(draw(st.integers(0, 3)))
        ),
        groups=tuple(draw(st.lists(groups(), max_size=2, unique_by=lambda each: each.group))),
        configs=Configs(
            brokers=draw(st.dictionaries(st.integers(0, 12), configs, max_size=2)),
            topics=draw(st.dictionaries(TOPIC_NAMES, configs, max_size=2)),
        ),
        notes=tuple(draw(st.lists(st.builds(Note, kind=NAMES, text=TEXTS), max_size=2))),
        source=draw(st.sampled_from(["kafka", "reassignment", "suppose"])),
        name=draw(st.none() | NAMES),
        answered=AnswerTimes(
            offsets=draw(st.dictionaries(st.integers(0, 12), MOMENTS, max_size=2)),
            sizes=draw(st.dictionaries(st.integers(0, 12), MOMENTS, max_size=2)),
        ),
    )


st.register_type_strategy(Cluster, clusters())


SMALL_TREES = st.sampled_from(
    [
        ("a", "b", "c"),
        ("/a", "/b", "/c", "/d"),
        ("/e/a", "/e/b", "/w/a"),
        ("/e/a", "/e/b", "/w/a", "/w/b", "/w"),
        ("/e/a/1", "/e/a/2", "/e/b/1", "/w/a/1", "/w/a/2"),
    ]
)
"""Racks that collide: few of them, one to three levels, one path too short."""


@st.composite
def crowded_partitions(draw: st.DrawFn, topic: str, number: int, ids: list[int]) -> Partition:
    """A partition on some of the brokers, perhaps on an unlisted one, perhaps being reassigned."""
    replicas = draw(st.lists(st.sampled_from([*ids, 99]), min_size=1, max_size=4, unique=True))
    some = st.lists(st.sampled_from(replicas), unique=True).map(tuple)
    is_moving = draw(st.integers(0, 5)) == 0
    isr = draw(st.just(tuple(replicas)) | some)
    return Partition(
        topic=topic,
        partition=number,
        replicas=tuple(replicas),
        leader=draw(st.sampled_from([None, *isr, *isr, *isr])),
        isr=isr,
        adding=draw(some) if is_moving else (),
        removing=draw(some) if is_moving else (),
        bytes=draw(st.none() | st.integers(0, 2**40)),
    )


@st.composite
def crowded_clusters(draw: st.DrawFn) -> Cluster:
    """A cluster in which rules collide: few brokers and racks, dead ones, rackless ones."""
    tree = draw(SMALL_TREES)
    rackless = draw(st.sampled_from([0, 0, 0, 1, 4]))
    racks = st.sampled_from([*tree * 2, *[None] * rackless])
    ids = draw(st.lists(st.integers(0, 9), min_size=1, max_size=7, unique=True))
    names = draw(st.lists(st.sampled_from(["a", "a.log", "b"]), min_size=1, unique=True))
    throttle = st.sampled_from(["", "7:1", "1000"])
    keys = ["leader.replication.throttled.", "follower.replication.throttled.", "retention."]
    return Cluster(
        cluster_id="crowded",
        taken_at="2026-11-21T08:30:00Z",
        brokers=tuple(
            Broker(
                id=id_,
                rack=None if (rack := draw(racks)) is None else Rack(rack),
                is_live=draw(st.integers(0, 5)) > 0,
                log_dirs=draw(LOG_DIRS),
            )
            for id_ in sorted(ids)
        ),
        topics={
            name: Topic(name=name, min_insync_replicas=draw(st.sampled_from([None, 1, 2, 2, 3])))
            for name in names
        },
        partitions=PartitionTable.of(
            draw(crowded_partitions(name, number, ids))
            for name in names
            for number in range(draw(st.integers(0, 4)))
        ),
        configs=Configs(
            brokers={
                id_: {f"{key}rate": draw(throttle) for key in draw(st.lists(st.sampled_from(keys)))}
                for id_ in draw(st.lists(st.sampled_from(ids), max_size=2))
            },
            topics={
                name: {
                    f"{key}replicas": draw(throttle)
                    for key in draw(st.lists(st.sampled_from(keys)))
                }
                for name in draw(st.lists(st.sampled_from(names), max_size=2))
            },
        ),
        notes=tuple(
            Note(kind=kind, text=f"{kind} here")
            for kind in draw(st.lists(st.sampled_from(["torn", "not-visible", "no-configs"])))
        ),
    )


LOG_DIRS = st.lists(
    st.sampled_from(
        [
            LogDir(path="/a"),
            LogDir(path="/b", is_cordoned=True),
            LogDir(path="/c", error="KafkaStorageError"),
        ]
    ),
    max_size=2,
    unique=True,
).map(tuple)
"""Log folders of a broker."""


def racks_of(cluster: Cluster) -> list[str]:
    """Texts of all racks of a crowded cluster, every level."""
    paths = [broker.rack.levels for broker in cluster.brokers if broker.rack is not None]
    deepest = max([1, *map(len, paths)])
    is_path = any(broker.rack is not None and broker.rack.is_path for broker in cluster.brokers)
    full = [(*path, *[path[-1]] * (deepest - len(path))) for path in paths]
    heads = {path[: depth + 1] for path in full for depth in range(deepest)}
    return sorted(prefix(head, len(head), is_path=is_path) for head in heads)


@st.composite
def topic_blocks(draw: st.DrawFn, cluster: Cluster, levels: tuple[str, ...]) -> TopicBlock:
    """A block that names only what the cluster has."""
    ids = sorted({*(broker.id for broker in cluster.brokers)})
    racks = racks_of(cluster)
    usual: list[Spread] = ["even", "distinct", "off"]
    distances: list[Spread] = ["off", AtLeast(1), AtLeast(2), AtLeast(3)]
    rule = st.sampled_from(draw(st.sampled_from([usual, distances])))
    has_count = bool(racks) and draw(st.integers(0, 3)) == 0
    counted = draw(st.lists(st.sampled_from(racks), max_size=2, unique=True)) if has_count else []
    limits = [(low, high) for low in range(3) for high in (low, low + 1, None)]
    return TopicBlock(
        match=(draw(st.sampled_from(["*", "a*", "?", "*.log", "z"])),),
        spread={level: draw(rule) for level in levels if draw(st.booleans())},
        topic_spread=draw(st.sampled_from([None, "off", "even"])),
        replication=draw(st.sampled_from([None, None, 2, 3])),
        count=tuple(
            RackCount(rack=rack, min=low, max=high)
            for rack in counted
            for low, high in [draw(st.sampled_from(limits))]
        )
        or None,
        count_others=draw(st.sampled_from([None, "none", "any"])),
        pin=draw(
            st.none()
            | st.dictionaries(
                st.integers(0, 2),
                st.lists(st.sampled_from(ids), max_size=2, unique=True).map(tuple),
            )
        ),
        leader_racks=tuple(draw(st.lists(st.sampled_from(racks), max_size=2, unique=True)))
        if racks
        else None,
    )


@st.composite
def policies(draw: st.DrawFn, cluster: Cluster) -> Policy:
    """A policy that can judge the cluster; impossible combinations are discarded."""
    paths = [broker.rack.levels for broker in cluster.brokers if broker.rack is not None]
    depth = max([1, *map(len, paths)])
    names = draw(st.sampled_from([(), ("one", "two", "three", "four")[:depth]]))
    levels = level_names(depth, names)
    ids = [broker.id for broker in cluster.brokers]
    some = st.lists(st.sampled_from(ids), max_size=2, unique=True).map(lambda x: tuple(sorted(x)))
    policy = Policy(
        racks=RackPolicy(
            levels=names, missing=draw(st.sampled_from(["error", "one-rack", "unaware"]))
        ),
        brokers=BrokerPolicy(drain=draw(some), no_lead=draw(some)),
        balance=BalancePolicy(
            replicas=draw(st.sampled_from(["even", "off"])),
            leaders=draw(st.sampled_from(["even", "keep", "off"])),
        ),
        audit=AuditPolicy(
            rack_loss=draw(st.none() | st.lists(st.sampled_from(levels), unique=True).map(tuple)),
            ignore=tuple(draw(st.lists(st.sampled_from(list(RULES)), max_size=1))),
        ),
        topics=tuple(draw(st.lists(topic_blocks(cluster, levels), max_size=3))),
    )
    try:
        check_policy(policy, cluster)
    except InvalidPolicy:
        reject()
    return policy


@st.composite
def fair_loads(draw: st.DrawFn, cluster: Cluster) -> FairLoads:
    """Ranges around small loads, some of them left out."""
    ids = [broker.id for broker in cluster.brokers]
    numbers = st.dictionaries(st.sampled_from(ids), st.integers(0, 3), max_size=4)
    topics = st.sampled_from(sorted(cluster.topics))
    return FairLoads(
        low=draw(numbers),
        high=draw(numbers),
        leader_low=draw(numbers),
        leader_high=draw(numbers),
        topic_caps=draw(st.dictionaries(topics, numbers, max_size=2)),
    )


st.register_type_strategy(Rack, PATHS | PLAIN_RACKS)
st.register_type_strategy(Broker, brokers(PATHS).filter(bool).map(lambda found: found[0]))
st.register_type_strategy(Policy, crowded_clusters().flatmap(policies))


SEGMENTS = ("a", "b", "c")


@st.composite
def racked_brokers(
    draw: st.DrawFn, *, most: int = 9, depths: tuple[int, int] = (0, 4), one_depth: bool = False
) -> tuple[Broker, ...]:
    """Brokers on a rack tree of some depth, 0 = no racks; `one_depth`: no path is shorter.

    Otherwise some may stand at the root.
    """
    depth = draw(st.integers(*depths))
    ids = draw(st.lists(st.integers(0, 40), min_size=1, max_size=most, unique=True))
    segments = st.sampled_from(SEGMENTS[: draw(st.integers(2, 3))])
    least = depth if one_depth else 0
    paths = st.lists(segments, min_size=least, max_size=max(depth, 1))
    return tuple(
        Broker(id=id_, rack=Rack("/" + "/".join(draw(paths))) if depth else None) for id_ in ids
    )


MEMBER_IDS = st.text("abm019-\u00e9\uffee\U0001f600", min_size=1, max_size=4)
"""Member ids that sort one way as code points and another way as UTF-16."""


@st.composite
def consumer_groups(
    draw: st.DrawFn, *, owned: bool = False, most: int = 6
) -> tuple[Members, ReplicaRacks]:
    """A group that joins, and the racks of what it may read; few racks, so that they collide.

    Some racks are missing, some topics unknown, some members static; `owned`: members claim some
    partitions, perhaps the same ones, of one generation or of several.
    """
    some_racks = draw(st.sampled_from([("a", "b"), ("a", "b", "c"), ("a", None), ("a", "", None)]))
    racks = st.sampled_from(some_racks)
    names = draw(st.lists(st.sampled_from(["t", "u", "v", "w"]), min_size=1, unique=True))
    sizes = st.integers(0, 7) if draw(st.booleans()) else st.just(draw(st.integers(1, 7)))
    replicas = st.lists(racks, max_size=3)
    topics = {
        name: [draw(replicas) for _ in range(draw(sizes))] for name in names if draw(st.booleans())
    }
    lists = st.lists(st.sampled_from(names), max_size=5)
    same = draw(st.none() | lists)
    ids = draw(st.lists(MEMBER_IDS, min_size=1, max_size=most, unique=True))
    instances = draw(st.permutations(ids))
    claims = st.lists(
        st.builds(TopicPartition, st.sampled_from(names), st.integers(0, 7)), max_size=5
    )
    return {
        member: Member(
            topics=tuple(draw(lists) if same is None else same),
            rack=draw(st.sampled_from([*some_racks, "z"])),
            instance_id=instance if draw(st.integers(0, 2)) == 0 else None,
            owned=tuple(draw(claims)) if owned else (),
            generation=draw(st.integers(-1, 2)) if owned else -1,
        )
        for member, instance in zip(ids, instances, strict=True)
    }, topics


@st.composite
def few_partitions(draw: st.DrawFn, *, same: bool = False) -> tuple[Members, ReplicaRacks]:
    """A group of at most 4 members and 8 partitions, so that every assignment can be tried.

    Racks of one to three levels, some too short, some missing. `same`: all subscribe to the same
    topics.
    """
    trees = [("a", "b", "c"), ("/e/a", "/e/b", "/w/a"), ("/e", "/e/b", "/w/a/1", "/w/b/1")]
    tree = draw(st.sampled_from(trees))
    racks = st.sampled_from(draw(st.sampled_from([tree, (*tree, None)])))
    names = draw(st.lists(st.sampled_from(["t", "u", "v"]), min_size=1, unique=True))
    sizes = st.just(draw(st.integers(0, 8 // len(names))))
    if draw(st.booleans()):
        sizes = st.integers(0, 8 // len(names))
    replicas = st.lists(racks, max_size=3)
    topics = {name: [draw(replicas) for _ in range(draw(sizes))] for name in names}
    ids = draw(st.lists(MEMBER_IDS, min_size=1, max_size=4, unique=True))
    claims = st.builds(TopicPartition, st.sampled_from(names), st.integers(0, 7))
    listed = tuple(names) if same or draw(st.booleans()) else None
    return {
        member: Member(
            topics=listed or tuple(draw(st.lists(st.sampled_from(names), max_size=3))),
            rack=draw(racks),
            owned=tuple(draw(st.lists(claims, max_size=5))),
            generation=draw(st.integers(-1, 2)),
        )
        for member in ids
    }, topics


CLIENT_RACKS = st.sampled_from(["a", "b", "/eu/a", "/eu/a/r7", "/us/b", "z"])
"""Few, so that they meet; of one to three levels."""
LEADER_RACKS = CLIENT_RACKS | st.sampled_from([None, "", "/eu/b/r7"])


@st.composite
def topic_views(
    draw: st.DrawFn, *, racks: st.SearchStrategy[str | None] = LEADER_RACKS
) -> TopicView:
    """A topic of some partitions on few nodes; leaders and racks may be missing."""
    nodes = st.none() | st.integers(0, 5)
    leaders = tuple(draw(st.lists(nodes, min_size=1, max_size=12)))
    return TopicView(leaders, draw(st.dictionaries(st.integers(0, 5), racks)))


@st.composite
def partition_loads(draw: st.DrawFn) -> PartitionLoad:
    """Windows of some partitions, perhaps of others than the topic has, and slow nodes."""
    windows = draw(st.dictionaries(st.integers(0, 13), st.integers(0, 9)))
    return PartitionLoad(windows, draw(st.frozensets(st.integers(0, 6), max_size=3)))


@st.composite
def partitioner_configs(draw: st.DrawFn) -> PartitionerConfig:
    """Semantics `kip`, small windows, a cap that is reached."""
    rack = draw(st.none() | st.just(" ") | CLIENT_RACKS)
    return PartitionerConfig(
        rack_aware=draw(st.booleans()),
        rack=rack,
        adaptive=draw(st.booleans()),
        sticky_bytes=draw(st.integers(1, 200)),
        rack_depth=draw(st.none() | st.just(1)),
        backlog_cap_windows=draw(st.sampled_from([0, 2, 64])),
        draws=draw(st.sampled_from(["random", "even"])),
    )


st.register_type_strategy(TopicView, topic_views())
st.register_type_strategy(PartitionLoad, partition_loads())
st.register_type_strategy(PartitionerConfig, partitioner_configs())
