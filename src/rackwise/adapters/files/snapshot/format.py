"""The format `rackwise.snapshot/1`: how the classes of a cluster become a document and back.

The fields are declared in `core.model`. Here is what a declaration does not say: racks as texts,
and the partitions of a topic, which stay in the document until they become columns.
"""

# ruff: noqa: D102 (what Form says of a method holds in every form)

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rackwise.adapters.files.snapshot.partitions import PARTITIONS, TopicRows
from rackwise.core.errors import InvalidSnapshot
from rackwise.core.json.codec import Codec, ObjectRules
from rackwise.core.json.declare import OMITTED, NameOrNull, Once, UtcTime
from rackwise.core.json.faults import Faults
from rackwise.core.json.forms import Form, ObjectMember, object_schema, read_members
from rackwise.core.json.node import JsonNode
from rackwise.core.model import AnswerTimes, Broker, Configs, Group, Note, Topic
from rackwise.core.override import override
from rackwise.core.racks import Rack

if TYPE_CHECKING:
    from rackwise.core.json.forms import Definitions, ObjectForm, Schema
    from rackwise.core.json.strict import Json

FORMAT = "rackwise.snapshot/1"


class RackForm(Form):
    """A rack as its text, whatever it says: members of groups call theirs as they like."""

    wanted = "a rack"
    hint = None

    @override
    def read(self, node: JsonNode) -> Rack:
        if isinstance(node.value, str):
            return Rack(node.value)
        self.wrong(node)
        return self.stand_in

    @property
    @override
    def stand_in(self) -> Rack:
        return Rack("")

    @override
    def write(self, value: Rack) -> Json:
        return value.text

    @override
    def schema(self, definitions: Definitions) -> Schema:  # noqa: ARG002 (a leaf)
        return {"type": "string"}


class PartitionsForm(Form):
    """The list of a topic's partitions, as the node of the document."""

    wanted = PARTITIONS.wanted
    hint = None

    @override
    def read(self, node: JsonNode) -> JsonNode:
        if not isinstance(node.value, list):
            self.wrong(node)
        return node

    @property
    @override
    def stand_in(self) -> JsonNode:
        return JsonNode([], Faults("", InvalidSnapshot))

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return PARTITIONS.schema(definitions)


class TopicForm(Form):
    """A topic with its partitions."""

    wanted = "an object"
    hint = None

    def __init__(self, topic: ObjectForm) -> None:
        self._topic = topic
        self._members = (
            *topic.members,
            ObjectMember("partitions", "partitions", PartitionsForm()),
        )

    @override
    def read(self, node: JsonNode) -> TopicRows:
        values = read_members(node, self._members, is_open=False)
        partitions = values.pop("partitions")
        return TopicRows(Topic(**values), partitions)

    @property
    @override
    def stand_in(self) -> TopicRows:
        return TopicRows(self._topic.stand_in, PartitionsForm().stand_in)

    @override
    def schema(self, definitions: Definitions) -> Schema:
        return object_schema(self._members, definitions, docs=definitions.describe(Topic))


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotDocument:
    """A cluster at one moment."""

    brokers: Annotated[tuple[Broker, ...], Once("broker", by="id", is_sorted=True)]
    cluster_id: NameOrNull
    configs: Configs
    groups: Annotated[tuple[Group, ...], Once("group", by="group")]
    notes: tuple[Note, ...]
    source: Literal["kafka", "reassignment", "suppose"]
    """`suppose`: a what-if change of another cluster."""
    taken_at: UtcTime
    """UTC."""
    tool: str | None
    """The tool that wrote the snapshot."""
    topics: Annotated[tuple[TopicRows, ...], Once("topic", by="name")]
    answered: Annotated[AnswerTimes, OMITTED] = field(default_factory=AnswerTimes)
    name: Annotated[NameOrNull, OMITTED] = None
    """The name that people call the cluster by."""


_PARTS = Codec(names={"Rack": Rack}, forms={Rack: RackForm()})
TOPIC = _PARTS.object(Topic)
BROKER = _PARTS.object(Broker)
GROUP = _PARTS.object(Group)
CONFIGS = _PARTS.object(Configs)
NOTE = _PARTS.object(Note)
ANSWERED = _PARTS.object(AnswerTimes)

_FORMS: dict[Any, Form] = {
    AnswerTimes: ANSWERED,
    Broker: BROKER,
    Configs: CONFIGS,
    Group: GROUP,
    Note: NOTE,
    TopicRows: TopicForm(TOPIC),
}
SNAPSHOT = Codec(
    forms=_FORMS, rules={SnapshotDocument: ObjectRules(constants={"format": FORMAT})}
).object(SnapshotDocument)
"""The form of a snapshot."""
