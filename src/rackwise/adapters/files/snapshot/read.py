"""Snapshot files, format `rackwise.snapshot/1`: a cluster at one moment, read strictly.

Goals, in order: `read(write(x)) == x`; whatever is wrong is named by its JSON path, wanted and had,
with the number of further faults; a million partitions cost little more than parsing their text.

Strings that clients choose (client id, member id, group) may hold anything that has a UTF-8; names
that Kafka checks (topics, racks, ids) and host names hold no control character. Partitions have no
number in the file: they stand in order from 0, so no gap can be written. Topics and brokers may
stand in any order; the cluster has them in canonical order.

What this does not do: judge the cluster; guess what is missing (null is "not known"); write (see
`snapshot_text`).
"""

from __future__ import annotations

from datetime import datetime
from ipaddress import ip_address
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.snapshot.partitions import RowTaker, TopicRows, are_in_place, table_of
from rackwise.core.errors import InvalidRack, InvalidSnapshot
from rackwise.core.json.declare import MAX_ID
from rackwise.core.json.faults import Fault, Faults
from rackwise.core.json.node import JsonNode, check_format
from rackwise.core.json.strict import collector_held_back, parse
from rackwise.core.model import Broker, Cluster, Configs, Group, GroupMember, LogDir, Note, Topic
from rackwise.core.racks import Rack, check_one_form
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FORMAT = "rackwise.snapshot/1"
SOURCES = ("kafka", "reassignment", "suppose")

_KEYS = (
    "brokers",
    "cluster_id",
    "configs",
    "format",
    "groups",
    "notes",
    "source",
    "taken_at",
    "tool",
    "topics",
)
_BROKER = ("addresses", "host", "id", "is_fenced", "is_live", "log_dirs", "port", "rack")
_LOG_DIR = ("error", "is_cordoned", "path", "total_bytes", "usable_bytes")
_TOPIC = ("id", "is_internal", "min_insync_replicas", "name", "partitions", "retention_bytes")
_GROUP = ("group", "members", "protocol")
_GROUP_LATER = ("assignor", "state")
_MEMBER = ("address", "client_id", "member_id", "partitions", "rack")
_MEMBER_LATER = ("generation", "instance_id", "topics")
"""Keys that older snapshots do not have: not known there."""
_PAIR = 2
_MAX_PORT = 65535


def read_snapshot(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Cluster:
    """The cluster in a snapshot file, `.gz` too.

    Raises `InvalidConfig` where the path is no readable regular file within `max_bytes` (after
    unpacking), `InvalidSnapshot` where the content is no snapshot, `InvalidRack` for a broker's
    rack.
    """
    data = read_bytes(path, error=InvalidSnapshot, max_bytes=max_bytes)
    return parse_snapshot(data, where=str(path))


def parse_snapshot(data: bytes, *, where: str) -> Cluster:
    """The cluster in the content of a snapshot file; `where` names the file in messages.

    Raises `InvalidSnapshot`, `InvalidRack`.
    """
    with collector_held_back(len(data)):
        taker = RowTaker()
        value = parse(data, where=where, error=InvalidSnapshot, hook=taker.hook())
        if taker.columns() is None or not are_in_place(taker, value):
            taker = RowTaker()
            value = parse(data, where=where, error=InvalidSnapshot)
        return _cluster(JsonNode(value, Faults(where, InvalidSnapshot)), taker)


def _cluster(root: JsonNode, taker: RowTaker) -> Cluster:
    check_format(root, FORMAT)
    fields = root.members(_KEYS)
    fields["tool"].optional_text()
    brokers = _brokers(fields["brokers"])
    nodes = _topic_nodes(fields["topics"])
    cluster = Cluster(
        cluster_id=fields["cluster_id"].optional_name(),
        taken_at=_time(fields["taken_at"]),
        brokers=tuple(sorted(brokers, key=lambda broker: broker.id)),
        topics=MappingProxyType({topic.name: topic for topic, _ in nodes}),
        partitions=table_of(
            [TopicRows(topic.name, partitions) for topic, partitions in nodes], taker, root.faults
        ),
        groups=_groups(fields["groups"]),
        configs=_configs(fields["configs"]),
        notes=tuple(_note(node) for node in fields["notes"].items()),
        source=_source(fields["source"]),
    )
    root.faults.raise_if_any()
    check_racks(cluster.brokers, root.faults.file)
    return cluster


def check_racks(brokers: Iterable[Broker], where: str) -> None:
    """Refuse broker racks that are no racks, or mix two forms, with `InvalidRack`."""
    try:
        check_one_form((broker.id, broker.rack) for broker in brokers)
    except InvalidRack as error:
        raise InvalidRack(
            f"invalid {escaped(where)}: {error.message}",
            wanted=error.wanted,
            had=error.had,
            hint=error.hint,
            where=error.where or where,
        ) from None


def _brokers(node: JsonNode) -> list[Broker]:
    brokers = []
    seen: set[int] = set()
    for item in node.items("a list of brokers"):
        broker = _broker(item)
        if broker.id in seen and isinstance(item.value, dict):
            _twice(item, "id", "broker", str(broker.id))
        seen.add(broker.id)
        brokers.append(broker)
    return brokers


def _twice(item: JsonNode, key: str, what: str, had: str) -> None:
    item.faults.add(
        Fault(
            place=f"{item.path}.{key}",
            sentence=f"expected each {what} once, got {had} twice",
            wanted=1,
            had=2,
            hint="keep one of the two",
        )
    )


def _broker(node: JsonNode) -> Broker:
    fields = node.members(_BROKER)
    is_fenced, port, rack = fields["is_fenced"], fields["port"], fields["rack"]
    return Broker(
        id=fields["id"].broker_id(),
        rack=None if rack.value is None else Rack(rack.text("a rack or null")),
        is_live=fields["is_live"].flag(),
        is_fenced=None if is_fenced.value is None else is_fenced.flag(),
        host=fields["host"].optional_name(),
        port=None if port.value is None else port.integer("a port or null", 0, _MAX_PORT),
        addresses=tuple(_address(item) for item in fields["addresses"].items()),
        log_dirs=tuple(_log_dir(item) for item in fields["log_dirs"].items()),
    )


def _address(node: JsonNode) -> str:
    text = node.text("an IP address")
    try:
        ip_address(text)
    except ValueError:
        node.wrong("an IP address", hint="rackwise snapshot --resolve writes them")
    return text


def _log_dir(node: JsonNode) -> LogDir:
    fields = node.members(_LOG_DIR)
    return LogDir(
        path=fields["path"].text(),
        total_bytes=fields["total_bytes"].size(),
        usable_bytes=fields["usable_bytes"].size(),
        error=fields["error"].optional_text(),
        is_cordoned=fields["is_cordoned"].flag(),
    )


def _topic_nodes(node: JsonNode) -> list[tuple[Topic, JsonNode]]:
    """Topics in the order of the file, each with the node of its partitions."""
    topics: list[tuple[Topic, JsonNode]] = []
    seen: set[str] = set()
    for item in node.items("a list of topics"):
        fields = item.members(_TOPIC)
        least, retention = fields["min_insync_replicas"], fields["retention_bytes"]
        topic = Topic(
            name=fields["name"].name("a topic name"),
            id=fields["id"].optional_name(),
            is_internal=fields["is_internal"].flag(),
            min_insync_replicas=least.size("a number of replicas from 1, or null", 1),
            retention_bytes=retention.size("a size in bytes, -1 for no limit, or null", -1),
        )
        if topic.name in seen and isinstance(item.value, dict):
            _twice(item, "name", "topic", f'"{escaped(topic.name)}"')
        seen.add(topic.name)
        topics.append((topic, fields["partitions"]))
    return topics


def _groups(node: JsonNode) -> tuple[Group, ...]:
    groups = []
    seen: set[str] = set()
    for item in node.items("a list of groups"):
        fields = item.members(_GROUP, _GROUP_LATER)
        group = Group(
            group=fields["group"].text("a group"),
            protocol=fields["protocol"].optional_name(),
            assignor=fields["assignor"].optional_text(),
            state=fields["state"].optional_name(),
            members=_members(fields["members"]),
        )
        if group.group in seen and isinstance(item.value, dict):
            _twice(item, "group", "group", f'"{escaped(group.group)}"')
        seen.add(group.group)
        groups.append(group)
    return tuple(groups)


def _members(node: JsonNode) -> tuple[GroupMember, ...]:
    members = []
    seen: set[str] = set()
    for item in node.items():
        member = _member(item)
        if member.member_id in seen and isinstance(item.value, dict):
            _twice(item, "member_id", "member", f'"{escaped(member.member_id)}"')
        seen.add(member.member_id)
        members.append(member)
    return tuple(members)


def _member(node: JsonNode) -> GroupMember:
    fields = node.members(_MEMBER, _MEMBER_LATER)
    rack, topics, generation = fields["rack"], fields["topics"], fields["generation"]
    return GroupMember(
        member_id=fields["member_id"].text(),
        client_id=fields["client_id"].text(),
        address=fields["address"].optional_text(),
        rack=None if rack.value is None else Rack(rack.text("a rack or null")),
        instance_id=fields["instance_id"].optional_text(),
        topics=None
        if topics.value is None
        else tuple(item.text("a topic") for item in topics.items("a list of topics or null")),
        generation=None
        if generation.value is None
        else generation.integer("a generation or null", -1, MAX_ID),
        partitions=tuple(_pair(item) for item in fields["partitions"].items()),
    )


def _pair(node: JsonNode) -> tuple[str, int]:
    pair = node.items("a pair of topic and partition")
    if len(pair) != _PAIR:
        if isinstance(node.value, list):
            node.wrong("a pair of topic and partition")
        return ("", 0)
    return (pair[0].name("a topic name"), pair[1].integer("a partition number", 0, MAX_ID))


def _configs(node: JsonNode) -> Configs:
    fields = node.members(("brokers", "topics"))
    brokers: dict[int, Mapping[str, str]] = {}
    for key, entry in fields["brokers"].entries():
        is_id = key.isascii() and key.isdigit() and str(int(key[:20])) == key
        if is_id and int(key) <= MAX_ID:
            brokers[int(key)] = _config(entry)
        else:
            node.faults.wrong(fields["brokers"].path, "a broker id as key", key)
    return Configs(
        brokers=MappingProxyType(dict(sorted(brokers.items()))),
        topics=MappingProxyType(
            {name: _config(entry) for name, entry in fields["topics"].entries()}
        ),
    )


def _config(node: JsonNode) -> Mapping[str, str]:
    return MappingProxyType({key: value.text() for key, value in node.entries()})


def _note(node: JsonNode) -> Note:
    fields = node.members(("kind", "text"))
    return Note(kind=fields["kind"].name(), text=fields["text"].text())


def _time(node: JsonNode) -> str:
    text = node.text("a time in UTC")
    try:
        is_time = text.endswith("Z") and text[10:11] == "T" and bool(datetime.fromisoformat(text))
    except ValueError:
        is_time = False
    if not is_time:
        node.wrong("a time such as 2026-11-21T08:30:00Z")
    return text


def _source(node: JsonNode) -> str:
    if node.value not in SOURCES:
        node.wrong("one of " + ", ".join(SOURCES))
    return str(node.value)
