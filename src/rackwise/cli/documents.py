"""The codec of the documents that commands print with `--json`, and the parts that they share.

Each document is a frozen dataclass in a module called `documents` beside its command. The field
`format` names the document, and its default is the only value:

```
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedDocument:
    format: Literal["rackwise.checked/1"] = "rackwise.checked/1"
    moves: int

shell.document(CheckedDocument(moves=3))   ->   {"format": "rackwise.checked/1", "moves": 3}
```

`docs/reference/generate.py` finds these classes and writes their JSON Schemas and their page.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from rackwise.core.json.codec import Codec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rackwise.core.findings import Finding
    from rackwise.core.json.strict import Json
    from rackwise.core.model import Cluster, Note


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteDocument:
    """A remark about a cluster that was read."""

    kind: str
    """Kind of the note."""
    text: str
    """The note, as a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDocument:
    """What a document says of the cluster that was read."""

    cluster_id: str | None
    """Id of the cluster; null if it is not known."""
    taken_at: str
    """Time at which the cluster was read, UTC."""
    source: str
    """How the cluster was read."""
    brokers: int
    """Number of brokers."""
    topics: int
    """Number of topics."""
    partitions: int
    """Number of partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingDocument:
    """One broken rule in one place; null where a field does not apply."""

    rule: str
    """Name of the rule."""
    severity: Literal["error", "warning", "info"]
    """How bad the finding is."""
    topic: str | None
    """Topic of the finding."""
    partition: int | None
    """Number of the partition."""
    broker: int | None
    """Id of the broker."""
    level: str | None
    """Rack level at which the rule was checked."""
    wanted: str
    """What the rule expects."""
    had: str
    """What was found."""
    message: str
    """The whole finding as one line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HintedFindingDocument(FindingDocument):
    """A finding that says what to do."""

    hint: str | None
    """What to do, as an imperative sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingFindingDocument(HintedFindingDocument):
    """A finding about the clients that read a cluster."""

    group: str | None
    """Name of the consumer group."""
    client_rack: str | None
    """The `client.rack` of the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxBrokerDocument:
    """One broker of a sandbox."""

    id: int
    """Id of the broker."""
    rack: str | None
    """Rack of the broker; null for none."""
    host: str | None
    """Host on which the broker listens."""
    port: int | None
    """Port on which the broker listens."""
    pid: int | None
    """Id of its process; null while the broker is down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxDocument:
    """A running sandbox."""

    format: Literal["rackwise.sandbox/1"] = "rackwise.sandbox/1"
    bootstrap_server: str
    """Addresses of the brokers, separated by commas."""
    zookeeper_connect: str | None
    """Address of ZooKeeper; null in KRaft mode."""
    folder: str
    """Folder of logs and data."""
    brokers: tuple[SandboxBrokerDocument, ...]
    """The brokers."""


_SHARED: Final = (
    NoteDocument,
    FindingDocument,
    HintedFindingDocument,
    ReadingFindingDocument,
    SandboxBrokerDocument,
)

DOCUMENTS: Final = Codec(names={each.__name__: each for each in _SHARED})
"""The codec of documents whose parts are declared as dataclasses, too."""


def as_json(document: object, codec: Codec = DOCUMENTS) -> dict[str, Json]:
    """A declared document as plain JSON, keys in the order of the declaration.

    >>> as_json(NoteDocument(kind="offline", text="broker 4 is down"))
    {'kind': 'offline', 'text': 'broker 4 is down'}
    """
    return cast("dict[str, Json]", codec.object(type(document)).write(document))


def cluster_fields(cluster: Cluster) -> dict[str, Any]:
    """The fields of a `ClusterDocument`, by name."""
    return {
        "cluster_id": cluster.cluster_id,
        "taken_at": cluster.taken_at,
        "source": cluster.source,
        "brokers": len(cluster.brokers),
        "topics": len(cluster.topics),
        "partitions": len(cluster.partitions),
    }


def note_rows(notes: Iterable[Note]) -> tuple[NoteDocument, ...]:
    """The notes of a cluster as rows of a document."""
    return tuple(NoteDocument(kind=note.kind, text=note.text) for note in notes)


def finding_rows(findings: Sequence[Finding]) -> tuple[FindingDocument, ...]:
    """Findings as rows of a document.

    A `Finding` has every field of its row, and an audit may have a million of them: they are
    written as they are, without a copy of any.
    """
    return cast("tuple[FindingDocument, ...]", findings)


def hinted_finding_rows(findings: Iterable[Finding]) -> tuple[HintedFindingDocument, ...]:
    """Findings with their hints as rows of a document."""
    return cast("tuple[HintedFindingDocument, ...]", tuple(findings))


def reading_finding_rows(findings: Iterable[Finding]) -> tuple[ReadingFindingDocument, ...]:
    """Findings about clients as rows of a document."""
    return cast("tuple[ReadingFindingDocument, ...]", tuple(findings))
