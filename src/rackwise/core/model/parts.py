"""The parts of a cluster besides its partitions: brokers, topics, groups, configs and notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.json.declare import (
        LATER,
        MAX_ID,
        OMITTED,
        Between,
        BrokerId,
        Bytes,
        Count,
        IpAddress,
        Milliseconds,
        NameOrNull,
        NameText,
        Once,
        PartitionNumber,
        Port,
        Says,
        TopicName,
    )
    from rackwise.core.racks import Rack


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDir:
    """One log folder of a broker. Source: DescribeLogDirs (KIP-827)."""

    path: str
    total_bytes: Bytes | None = None
    """Size of the file system."""
    usable_bytes: Bytes | None = None
    """Free bytes that Kafka can use."""
    error: str | None = None
    """Kafka's name of the error; None for a healthy folder."""
    is_cordoned: bool = False
    """Whether the folder accepts no new replicas (KIP-1066)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """One broker as the cluster describes it."""

    id: BrokerId
    rack: Rack | None = None
    is_live: bool = True
    """Listed and not fenced."""
    is_fenced: bool | None = None
    """None where the protocol does not say (ZooKeeper mode)."""
    host: NameOrNull = None
    port: Port | None = None
    addresses: tuple[IpAddress, ...] = ()
    """IP addresses of `host`; flow logs name brokers by address."""
    log_dirs: tuple[LogDir, ...] = ()

    @property
    def is_cordoned(self) -> bool:
        """Whether the broker takes no new replicas: all its healthy log folders are cordoned.

        False where no log folder was read. Source: KIP-1066.
        """
        healthy = [each.is_cordoned for each in self.log_dirs if each.error is None]
        return bool(healthy) and all(healthy)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogTail:
    """The last record batches of one partition: how many bytes an offset takes there."""

    partition: PartitionNumber
    bytes: Annotated[int, Between(1, wanted="a size in bytes from 1")]
    """Bytes of the batches, as stored."""
    offsets: Annotated[int, Between(1, wanted="a number of offsets from 1")]
    """Offsets that the batches span."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One topic."""

    name: TopicName
    id: NameOrNull = None
    """Kafka's topic id, as base64 text."""
    is_internal: bool = False
    min_insync_replicas: Annotated[
        int | None, Between(1, wanted="a number of replicas from 1, or null")
    ] = None
    retention_bytes: Annotated[
        int | None, Between(-1, wanted="a size in bytes, -1 for no limit, or null")
    ] = None
    """-1: no limit."""
    cleanup_policy: Annotated[NameOrNull, OMITTED] = None
    """`cleanup.policy`: `delete`, `compact` or both, separated by a comma."""
    retention_ms: Annotated[
        int | None, Between(-1, wanted="milliseconds, -1 for no limit, or null"), OMITTED
    ] = None
    """-1: no limit."""
    tails: Annotated[tuple[LogTail, ...], Once("partition", by="partition"), OMITTED] = ()
    """Ends of logs that were read, where offsets alone do not give bytes (compacted topics)."""

    @property
    def is_compacted(self) -> bool:
        """Whether the log cleaner removes records of the topic."""
        return "compact" in (self.cleanup_policy or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMember:
    """One member of a consumer group as the cluster describes it."""

    member_id: str
    client_id: str
    address: str | None = None
    rack: Rack | None = None
    instance_id: Annotated[str | None, LATER] = None
    """`group.instance.id`; None for a dynamic member as well."""
    topics: Annotated[
        tuple[Annotated[str, Says("a topic")], ...] | None, Says("a list of topics"), LATER
    ] = None
    """The topics that it subscribes to."""
    generation: Annotated[int | None, Between(-1, MAX_ID, "a generation"), LATER] = None
    """The generation since which it has its partitions."""
    partitions: tuple[
        Annotated[tuple[TopicName, PartitionNumber], Says("a pair of topic and partition")], ...
    ] = ()
    """(topic, partition) pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One consumer group; None means not known."""

    group: Annotated[str, Says("a group")]
    protocol: NameOrNull = None
    """`classic`, `consumer`, `share` or `streams`."""
    assignor: Annotated[str | None, LATER] = None
    """Kafka's name, such as `range`."""
    state: Annotated[NameOrNull, LATER] = None
    """Kafka's name, such as `Stable`."""
    members: Annotated[tuple[GroupMember, ...], Once("member", by="member_id")] = ()
    committed: Annotated[
        Mapping[
            TopicName, Annotated[tuple[Count | None, ...], Says("a list of offsets and nulls")]
        ],
        OMITTED,
    ] = field(default_factory=lambda: MappingProxyType({}))
    """Topic -> committed offset by partition number; None where nothing is committed."""
    committed_at_ms: Annotated[Milliseconds | None, OMITTED] = None
    """When the coordinator answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configs:
    """Throttle keys and `replica.selector.class`, exactly as read: an absent key is not `""`.

    A broker whose configs were read is present even if none of the keys is set.
    """

    brokers: Mapping[BrokerId, Mapping[str, str]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    topics: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerTimes:
    """When each broker answered, by the clock of the reader: rates need both ends of a span."""

    offsets: Mapping[BrokerId, Milliseconds] = field(default_factory=lambda: MappingProxyType({}))
    """Broker -> when it answered with offsets."""
    sizes: Mapping[BrokerId, Milliseconds] = field(default_factory=lambda: MappingProxyType({}))
    """Broker -> when it answered with sizes of logs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """Something that the reader of a cluster could not see, or could not interpret."""

    kind: NameText
    """`torn`, `not-visible`, `no-configs`, `rates` or `client-rack`."""
    text: str
