"""Topic nodes, the data of `/brokers/topics/T`: versions 1 to 3, read and written.

```
1  version partitions                       {"0":[0,1]}                           to 2.3
2  + adding_replicas removing_replicas      of partitions that move alone         2.4, KIP-455
3  + topic_id                               22 characters of base64url            2.8, KIP-516
```

During a reassignment `partitions` holds the union of old and new replicas. The other two name the
replicas that are added and removed:

```
{"partitions":{"10":[2,3,1]},"adding_replicas":{"10":[1]},"removing_replicas":{"10":[2]}}
before 2,3    after 3,1
```

Reading: the version is kept and not checked, absent maps are empty, unknown fields go to `extra`. A
partition that is only in one of the two maps has no `replicas`. Writing: this order, partitions by
number. Anything that the version would lose silently is rejected.

What this does not do: say which ids are used (see `core.identity.topics`); touch ZooKeeper.

Source: kafka.zk.TopicZNode, KIP-455, KIP-516.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

from rackwise.core.constants import GREATEST_ID
from rackwise.core.errors import LocalProtocolError
from rackwise.core.json.codec import Codec, ObjectRules
from rackwise.core.json.declare import REST, Matching
from rackwise.core.json.faults import Fault
from rackwise.core.json.forms import Form
from rackwise.core.override import override
from rackwise.core.text import escaped
from rackwise.core.wire.endpoints import INT32, as_checked, fits
from rackwise.core.wire.zookeeper_json import ReceivedNode, write_node

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.json.forms import Definitions, Schema
    from rackwise.core.json.node import JsonNode

TOPIC_BYTES = 4 * 2**20
NEWEST = 3
"""The newest version that is written."""

REASSIGNMENTS_SINCE = 2
TOPIC_ID_SINCE = 3
NO_VERSION = 0

_PARTITIONS, _ADDING, _REMOVING = "partitions", "adding_replicas", "removing_replicas"
_FIELDS = ("version", _PARTITIONS, _ADDING, _REMOVING, "topic_id")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,9}")
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaSet:
    """Broker ids of one partition, preferred leader first, with those being added and removed.

    Raises `LocalProtocolError` for a value that is not a broker id, and for an id that appears
    twice in a list.
    """

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("replicas", "adding", "removing"):
            ids = getattr(self, name)
            if not _are_ids(ids):
                raise LocalProtocolError(
                    f"invalid {name}: expected broker ids, each once, got {ids}",
                    wanted="broker ids, each once",
                    had=str(ids),
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicNode:
    """The node of one topic."""

    topic: str
    version: int = NEWEST
    """As read; 0 for an invalid one."""
    topic_id: str | None = None
    partitions: Mapping[int, ReplicaSet]
    """Number -> replicas."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """Members that are not known here."""


class PartitionIdsForm(Form):
    """An object of partitions and their broker ids.

    One form for the whole object: a topic may have 100,000 partitions, and a form for each list
    would double the time.
    """

    wanted = "an object of partitions and their broker ids"
    hint = None
    stand_in: Mapping[int, tuple[int, ...]] = MappingProxyType({})

    @override
    def read(self, node: JsonNode) -> Mapping[int, tuple[int, ...]]:
        """The ids by partition; records faults."""
        if not isinstance(node.value, dict):
            self.wrong(node)
            return self.stand_in
        found: dict[int, tuple[int, ...]] = {}
        for number, ids in node.value.items():
            if not _NUMBER.fullmatch(number) or int(number) > GREATEST_ID:
                shown = escaped(number)[:_SHOWN]
                node.faults.add(
                    Fault(
                        place=node.path,
                        sentence=f'partition "{shown}" is not a number from 0 to {GREATEST_ID}',
                        wanted=f"partitions from 0 to {GREATEST_ID}",
                    )
                )
            elif not isinstance(ids, list) or not _are_ids(ids):
                node.at(number).wrong("a list of broker ids, each once")
            else:
                found[int(number)] = tuple(ids)
        return found

    @override
    def schema(self, definitions: Definitions) -> Schema:  # noqa: ARG002
        """An object of lists of integers."""
        ids: Schema = {"type": "array", "items": {"type": "integer", "minimum": 0}}
        return {"type": "object", "additionalProperties": ids}


class PartitionIds(dict[int, tuple[int, ...]]):
    """Partition -> broker ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedTopicNode:
    """The members of a topic node, as Kafka writes them."""

    version: object
    """Kept and not checked."""
    topic_id: Annotated[str | None, Matching(_TOPIC_ID, "22 characters of base64url or null")]
    partitions: PartitionIds
    adding_replicas: PartitionIds | None
    removing_replicas: PartitionIds | None
    extra: Annotated[dict[str, object], REST]


RECEIVED = Codec(
    rules={ReceivedTopicNode: ObjectRules(reads_absent_as_null=True)},
    forms={PartitionIds: PartitionIdsForm()},
).object(ReceivedTopicNode)


def read_topic_node(topic: str, data: bytes) -> TopicNode:
    """Read a topic node of any version. Raises `RemoteProtocolError` with the JSON path."""
    node = ReceivedNode(f"/brokers/topics/{topic}", data, most=TOPIC_BYTES)
    read: ReceivedTopicNode = node.read(RECEIVED)
    replicas = read.partitions
    adding = read.adding_replicas or PartitionIds()
    removing = read.removing_replicas or PartitionIds()
    numbers = (
        replicas
        if adding.keys() | removing.keys() <= replicas.keys()
        else sorted(replicas.keys() | adding.keys() | removing.keys())
    )
    return TopicNode(
        topic=topic,
        version=read.version if fits(read.version, INT32) and read.version > 0 else NO_VERSION,
        topic_id=read.topic_id,
        partitions={
            number: as_checked(
                ReplicaSet,
                replicas=replicas.get(number, ()),
                adding=adding.get(number, ()),
                removing=removing.get(number, ()),
            )
            for number in numbers
        },
        extra=read.extra,
    )


def dropped_topic_fields(t: TopicNode, *, version: int) -> tuple[str, ...]:
    """Return what that version of `t` omits by design: `("topic_id",)` or nothing.

    Raises `LocalProtocolError` for a version that is not 1 to 3.
    """
    _check_version(version)
    return ("topic_id",) if version < TOPIC_ID_SINCE and t.topic_id is not None else ()


def write_topic_node(t: TopicNode, *, version: int) -> bytes:
    """Write the node in a version from 1 to 3, without its `dropped_topic_fields`.

    Raises `LocalProtocolError` for reassignments in version 1, and for what could not be read
    again.
    """
    _check_writable(t, version)
    by_number = sorted(t.partitions.items())
    members: dict[str, object] = {
        "version": version,
        _PARTITIONS: {str(number): each.replicas for number, each in by_number},
    }
    if version >= REASSIGNMENTS_SINCE:
        members[_ADDING] = {str(number): each.adding for number, each in by_number if each.adding}
        members[_REMOVING] = {
            str(number): each.removing for number, each in by_number if each.removing
        }
    if version >= TOPIC_ID_SINCE and t.topic_id is not None:
        members["topic_id"] = t.topic_id
    return write_node(members | {name: t.extra[name] for name in sorted(t.extra)}, most=TOPIC_BYTES)


def _check_writable(t: TopicNode, version: int) -> None:
    _check_version(version)
    moving = sorted(number for number, each in t.partitions.items() if each.adding or each.removing)
    if version < REASSIGNMENTS_SINCE and moving:
        raise LocalProtocolError(
            f"version 1 holds no reassignment; partition {moving[0]} has one",
            wanted="no adding or removing replicas",
            had=moving[0],
            hint="write version 2 or 3",
        )
    odd = [number for number in t.partitions if not fits(number, INT32) or number < 0]
    if odd:
        raise LocalProtocolError(
            f"invalid partition: expected a number from 0 to {GREATEST_ID}, got {odd[0]}",
            wanted=f"0 to {GREATEST_ID}",
            had=odd[0],
        )
    if t.topic_id is not None and not _TOPIC_ID.fullmatch(t.topic_id):
        raise LocalProtocolError(
            "invalid topic_id: expected 22 characters of base64url, "
            f"got {escaped(t.topic_id)[:_SHOWN]}",
            wanted="22 characters of base64url",
            had=t.topic_id[:_SHOWN],
        )
    known = sorted(set(t.extra) & set(_FIELDS))
    if known:
        raise LocalProtocolError(
            f"invalid extra field: expected a name that no known field has, got {known[0]}",
            wanted="other names",
            had=known[0],
        )


def _check_version(version: int) -> None:
    if not fits(version, INT32) or not 1 <= version <= NEWEST:
        raise LocalProtocolError(
            f"invalid topic node version: expected 1 to {NEWEST}, got {version}",
            wanted=f"1 to {NEWEST}",
            had=version,
        )


def _are_ids(ids: tuple[object, ...] | list[object]) -> bool:
    if not ids:
        return True
    if set(map(type, ids)) != {int} or len(set(ids)) != len(ids):
        return False
    numbers = [number for number in ids if isinstance(number, int)]
    return min(numbers) >= 0 and max(numbers) <= GREATEST_ID
